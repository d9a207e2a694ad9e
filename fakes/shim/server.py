"""The process that a program's fake lives in (`npuhal serve`), and what it says when the program ends."""

from __future__ import annotations

import array
import ctypes
import faulthandler
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fakes import open_fake
from fakes.checkers import CheckFailed, Report
from fakes.shim.caller import CallerMemory
from fakes.shim.calls import Service
from fakes.shim.exports import exports
from fakes.shim.naming import ProgramNames
from fakes.shim.region import ENDED, FREE_RUN, Region
from fakes.shim.tracing import CallTrace
from npuhal import constants as c
from npuhal import shim_settings
from npuhal.changed import start_thread
from npuhal.errors import BadUrl, NpuhalError
from npuhal.loader import HalUrl

if TYPE_CHECKING:
    from fakes.tiers.direct import FakeApi

DEFAULT_URL = "fake://ascend910b3"
"""The machine where neither NPUHAL_SHIM_URL nor NPUHAL_URL names one."""
_END = 0xFFFFFFFF
_EXIT_FINDINGS = 1
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint32)


class Server:
    """One machine, for one program at the other end of a socket."""

    def __init__(self, wire: socket.socket, library: str, url: str) -> None:
        """Open the machine and tell the program where the shared memory is.

        Raises:
            BadUrl, UnknownChip, FakeError: there is no such machine.
        """
        self._wire, self._begun = wire, False
        self._pid = _peer(wire)
        self._strict = shim_settings.strict()
        self.api = open_machine(url)
        self.machine = machine = self.api.fake
        machine.program, machine.raises = self._pid, False
        machine.memory.caller = CallerMemory(self._pid)
        self.region = Region(
            machine.memory.base, machine.memory.end - machine.memory.base, c.DRV_ERROR_NOT_SUPPORT,
            c.DRV_ERROR_BUS_DOWN, machine.checks is not None,
        )  # fmt: skip
        machine.memory.mirror(self.region.mapped)
        made = exports(machine.chip.traits.driver_tree)
        self.service = Service(self.api, made, self.region, self._trace())
        loaded = ctypes.CDLL(library)
        self._serve, self._await_posts = loaded.npuhal_shim_serve, loaded.npuhal_shim_await_posts
        self._check(library, [each.prototype.name for each in made])
        self._kept: list[Any] = []
        self._report = self._file("NPUHAL_SHIM_REPORT")
        self._reports: list[Report] = []
        if machine.checks is not None:
            machine.checks.listener = self._found
            if names := self._file("NPUHAL_SHIM_NAMES"):
                machine.checks.names = ProgramNames(names)
        self._write((), "running")
        if (set_up := shim_settings.setup()) is not None:
            set_up(machine)

    def run(self) -> None:
        """Serve until the program ends, however it does."""
        self._begun = True
        text = str(self.region.size).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [self.region.fd]))]
        self._wire.sendmsg([text], rights)
        if self.region.header.flags & FREE_RUN:
            start_thread(self._listen, "npuhal-shim-posts")
        while word := self._wire.recv(4):
            number = int.from_bytes(word, "little")
            if number == _END:
                break
            self._start(number)
        status = self.finish(killed=not word)
        if word:
            self._wire.send(status.to_bytes(4, "little"))

    def _listen(self) -> None:
        """Wake the thread that the cards run in when the program has posted a send while that thread slept."""
        header = ctypes.addressof(self.region.header)
        while True:
            self._await_posts(ctypes.c_void_p(header))
            with self.machine.lock:
                self.service.take()

    def _start(self, number: int) -> None:
        slot = self.region.slot(number)
        call = _CALL(self.service.serve(slot))
        self._kept.append(call)
        address = ctypes.c_void_p(ctypes.addressof(slot))
        start_thread(self._serve, f"npuhal-shim-{number}", address, call)

    def finish(self, killed: bool) -> int:
        """Close the machine and tell what was found; returns the exit status that the program is to have."""
        self.service.finish()
        self.region.header.flags |= ENDED
        reports: tuple[Report, ...] = ()
        try:
            self.machine.close(release=False)  # the process ends, and threads may be in calls
        except CheckFailed as failed:
            reports = failed.reports
        for report in reports:
            print(f"npuhal: {report}", file=sys.stderr)
        self._write(reports, "killed" if killed else "exit")
        sys.stderr.flush()
        return _EXIT_FINDINGS if self._strict and (reports or self.service.errors) else 0

    def _found(self, report: Report) -> None:
        """Write a report down when it is made: it is to survive this process, too."""
        self._reports.append(report)
        self._write(self._reports, "running")

    def _write(self, reports: Sequence[Report], ended: str) -> None:
        if self._report is None:
            return
        found = [
            {"check": each.check, "message": each.message, "cure": each.cure, "parties": list(each.parties)}
            for each in reports
        ]
        text = json.dumps(
            {
                "url": self.api.url, "pid": self._pid, "ended": ended,
                "cpu_s": time.process_time(), "reports": found, "errors": self.service.errors,
                "problems": list(self.machine.problems),
            }, indent=1,
        )  # fmt: skip
        try:
            self._report.write_text(text + "\n", encoding="utf-8")
        except OSError as problem:
            text = f"NPUHAL_SHIM_REPORT={self._report}: {problem.strerror}"
            if not self._begun:
                raise NpuhalError(text) from None
            print(f"npuhal shim: {text}", file=sys.stderr)

    def _trace(self) -> CallTrace | None:
        path = self._file("NPUHAL_SHIM_TRACE")
        return CallTrace(self.api, self.region, path) if path else None

    def _file(self, variable: str) -> Path | None:
        """Return the file that a variable names, there or not; %p in it is the process id of the program."""
        text = os.environ.get(variable, "")
        if not text:
            return None
        path = Path(text.replace("%p", str(self._pid)))
        if path.is_dir() or not path.parent.is_dir():
            raise NpuhalError(f"{variable}={path}: {'is a folder' if path.is_dir() else 'its folder is not there'}")
        return path

    def _check(self, library: str, names: list[str]) -> None:
        """Refuse a library that was written for another generation, or by another version."""
        loaded = ctypes.CDLL(library)
        count = ctypes.c_uint32.in_dll(loaded, "npuhal_shim_count").value
        table = (_Function * count).in_dll(loaded, "npuhal_shim_functions")
        if [entry.name.decode() for entry in table] != names:
            raise NpuhalError(
                f"{library} was written for another machine, or by another version of npuhal, than {self.api.url}: "
                f"write it again by `npuhal shim driver --out {os.path.dirname(library)} --url {self.api.url}`"
            )


class _Function(ctypes.Structure):
    __slots__ = ()
    _fields_ = (
        ("name", ctypes.c_char_p), ("args", ctypes.c_uint8), ("rules", ctypes.c_uint8), ("first", ctypes.c_uint16),
    )  # fmt: skip


def open_machine(url: str) -> FakeApi:
    """Open the machine of a URL; BadUrl for one that is not a fake's."""
    parsed = HalUrl.parse(url)
    if parsed.scheme not in ("fake", "fake-abi") or parsed.traced:
        raise BadUrl(f"HAL URL {url!r}: a libascend_hal.so made of the fake needs fake://SOC?options")
    text = "fake" + url.removeprefix(parsed.scheme)
    return cast("FakeApi", open_fake(parsed._replace(scheme="fake", text=text)))


def _peer(wire: socket.socket) -> int:
    credentials = wire.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], "little")


def serve(wire: int, library: str) -> int:
    """Serve the program at the other end of a socket until it ends; returns the exit status of the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()  # an attached function may crash: the program hears of nothing but an end
    logging.basicConfig(format="npuhal: %(message)s", level=logging.WARNING)
    # what checkers have to say is said at the end
    logging.getLogger("npuhal.fake.check").addFilter(lambda record: record.levelno < logging.ERROR)
    connection = socket.socket(fileno=wire)
    try:
        url = os.environ.get("NPUHAL_SHIM_URL") or os.environ.get("NPUHAL_URL") or DEFAULT_URL
        server = Server(connection, library, url)
    except Exception as problem:
        own = type(problem).__module__.partition(".")[0] in ("npuhal", "fakes", "chips")
        text = str(problem) if own else f"{type(problem).__name__}: {problem}"
        connection.send(text.encode()[:800])
        return _EXIT_FINDINGS
    server.run()
    sys.stdout.flush()
    os._exit(0)  # threads that serve are still in their calls
