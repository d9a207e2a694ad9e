"""Print the driver calls of a recorded program beside ours, step by step.

`python -m tests.tools.hal_calls golden/traces/api_trace_CHIP.log.gz`: exit 1 if a step's calls differ. Polls are left
out: how often a queue head or a device state is read depends on time.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import re
import sys
from collections.abc import Callable, Iterable
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from npuhal.trace import Record
from tests.tools.api_sends.session import SOCS, Session

_STEP = re.compile(r"\d+ \[t\d+\] ##### (.*)")
_CALL = re.compile(r"\d+ \[t(\d+)\] (\w+)\(")
_POLLS = frozenset({"halSqCqQuery", "halCqReportRecv", "drvDeviceStatus", "halReadFaultEvent"})
_SIZE = 4096


def recorded(path: Path) -> list[tuple[str, list[str]]]:
    """Read the steps of a trace and the functions that each called, daemon and polls left out."""
    steps: list[tuple[str, list[str]]] = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if step := _STEP.match(line):
            steps.append((step[1].strip(), []))
        elif (call := _CALL.match(line)) and call[1] == "0" and call[2] not in _POLLS and steps:
            steps[-1][1].append(call[2])
    return steps


def ours(soc: str) -> Iterable[tuple[str, list[Record]]]:
    """Do the steps; yields the name of each and what it called."""
    session = Session(soc, "fake")
    handles = session.handles

    def one(name: str, handle: str = "", **given: Any) -> Callable[[], Any]:
        return lambda: session.call(name, **given, **({handle: handles[handle]} if handle else {}))

    def stream(name: str, which: str = "s1", **given: str) -> Callable[[], Any]:
        return lambda: session.stream_call(name, which, **{key: handles[value] for key, value in given.items()})

    def count() -> int:
        return session.call("aclInit") or session.call("aclrtGetDeviceCount", count="&count")

    pageable = ctypes.create_string_buffer(_SIZE)
    handles["pageable"] = ctypes.addressof(pageable)
    steps: list[tuple[str, Callable[[], Any]]] = [
        ("rtGetDeviceCount", count),
        ("rtSetDevice", one("aclrtSetDevice", deviceId=0)),
        ("rtStreamCreate", one("aclrtCreateStream", stream="&s1")),
        ("rtStreamCreate#2", one("aclrtCreateStream", stream="&s2")),
        ("rtMalloc", one("aclrtMalloc", devPtr="&dev", size=_SIZE, policy=0)),
        ("rtMalloc#2", one("aclrtMalloc", devPtr="&dev2", size=_SIZE, policy=0)),
        ("rtMallocHost", one("aclrtMallocHost", hostPtr="&host", size=_SIZE)),
        ("rtMemcpy H2D sync", lambda: session.copy("dev", "host", _SIZE, now=True)),
        ("rtMemcpy D2H sync", lambda: session.copy("host", "dev", _SIZE, now=True)),
        ("rtMemcpy D2D sync", lambda: session.copy("dev2", "dev", _SIZE, now=True)),
        ("rtMemset", lambda: session.call(
            "aclrtMemset", devPtr=handles["dev"], maxCount=_SIZE, value=0, count=_SIZE)),
        ("rtMemcpyAsync H2D", lambda: session.copy("dev", "host", _SIZE)),
        ("rtMemcpyAsync D2H", lambda: session.copy("host", "dev", _SIZE)),
        ("rtMemcpyAsync D2D", lambda: session.copy("dev2", "dev", _SIZE)),
        ("rtMemcpyAsync H2D_EX (pageable)", lambda: session.copy("dev", "pageable", _SIZE)),
        ("rtDevBinaryRegister", lambda: session.load("aic")),
        ("rtFunctionRegister", lambda: session.programs["aic"].kernel("aic")),
        ("rtKernelLaunch (1st)", lambda: session.launch("s1", "aic", 8)),
        ("rtKernelLaunch (2nd)", lambda: session.launch("s1", "aic", 8)),
        ("rtStreamSynchronize", stream("aclrtSynchronizeStream")),
        ("rtEventCreate", one("aclrtCreateEvent", event="&event")),
        ("rtEventRecord", stream("aclrtRecordEvent", event="event")),
        ("rtStreamWaitEvent", stream("aclrtStreamWaitEvent", "s2", event="event")),
        ("rtEventSynchronize", one("aclrtSynchronizeEvent", "event")),
        ("rtEventReset", stream("aclrtResetEvent", "s2", event="event")),
        ("rtStreamSynchronize#2", stream("aclrtSynchronizeStream", "s2")),
        ("rtEventDestroy", one("aclrtDestroyEvent", "event")),
        ("rtNotifyCreate", one("aclrtCreateNotify", notify="&notify", flag=0)),
        ("rtNotifyRecord", stream("aclrtRecordNotify", notify="notify")),
        ("rtNotifyWait", lambda: session.stream_call(
            "aclrtWaitAndResetNotify", "s2", notify=handles["notify"], timeout=0)),
        ("rtDeviceSynchronize", one("aclrtSynchronizeDevice")),
        ("rtNotifyDestroy", one("aclrtDestroyNotify", "notify")),
        ("rtFree", lambda: session.call("aclrtFree", devPtr=handles["dev"])),
        ("rtFree#2", lambda: session.call("aclrtFree", devPtr=handles["dev2"])),
        ("rtFreeHost", lambda: session.call("aclrtFreeHost", hostPtr=handles["host"])),
        ("rtStreamDestroy", stream("aclrtDestroyStream")),
        ("rtStreamDestroy#2", stream("aclrtDestroyStream", "s2")),
        ("rtDevBinaryUnRegister", lambda: session.programs["aic"].close()),
        ("rtDeviceReset", one("aclrtResetDevice", deviceId=0)),
    ]  # fmt: skip
    try:
        for name, step in steps:
            code = step()
            if isinstance(code, int) and code:
                raise SystemExit(f"{name} answered {code}")
            yield name, session.taken()
        del pageable
    finally:
        session.close()


def _runs(calls: Iterable[str]) -> list[str]:
    counted = ((name, len(list(same))) for name, same in groupby(calls))
    return [name if number == 1 else f"{name} x{number}" for name, number in counted]


def main(arguments: list[str] | None = None) -> int:
    """Compare traces with ours; 1 when a step differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.hal_calls", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="TRACE")
    parser.add_argument("--quiet", action="store_true", help="show steps that differ only")
    parsed = parser.parse_args(arguments)
    wrong = 0
    for path in parsed.files:
        chip = path.name.removeprefix("api_trace_").partition(".")[0]
        if chip not in SOCS:
            parser.error(f"{path}: not an api_trace of {' or '.join(SOCS)}")
        mine, same = dict(ours(SOCS[chip])), 0
        theirs = [(name, calls) for name, calls in recorded(path) if name in mine]
        for name, calls in theirs:
            made = [record.name for record in mine[name] if record.name not in _POLLS and record.thread == 0]
            equal = calls == made
            same += equal
            if equal and parsed.quiet:
                continue
            print(f"{chip} {name}: {'same' if equal else 'DIFFERENT'}")
            for left, right in zip_longest(_runs(calls), _runs(made), fillvalue=""):
                print(f"    {left:40} {right}")
        print(f"{chip}: the same calls in {same} of {len(theirs)} steps")
        wrong += len(theirs) - same
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
