"""Sends that the program has posted (post.c): taken out and carried out before anything else is."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakes.checkers import names
from fakes.checkers.report import SOURCE
from fakes.errors import FakeError
from fakes.executor.memory import COPIES
from fakes.shim.region import FREE_RUN, MOST_PATTERNS, PATTERN_WORDS, POSTS, POSTS_BYTES
from npuhal import constants as c
from npuhal import structs
from npuhal.changed import Changed

if TYPE_CHECKING:
    from chips.layout import Layout
    from fakes.machine.machine import Machine
    from fakes.shim.region import Region, Slot

_HEAD = struct.Struct("<III4x")
_SQE_BYTES = 64
_WORDS = struct.Struct("<QQ")
_SKIP = 0xFFFFFFFF
HARMLESS = frozenset({
    "halSqTaskSend", "halSqCqQuery", "halCqReportRecv", "halMemAlloc", "halMemFree", "drvMemcpy", "halMemcpy",
    "halMemcpySumbit", "halMemcpyWait", "drvMemConvertAddr", "drvMemDestroyAddr", "halMemGetInfo", "drvGetDevNum",
    "drvDeviceStatus", "halGetDeviceInfo", "halResourceIdAlloc", "halResourceIdFree", "halSqTaskArgsAsyncCopy",
})  # fmt: skip
"""Functions that never change what the program knows of queues; every other one does, for all that it is asked."""


class Posts:
    """The ring of posted sends of one region, and what the program knows of the machine's queues."""

    def __init__(self, machine: Machine, region: Region, send: Callable[[int, Any], int]) -> None:
        """Let the program post sends, but for those that a checker has to see when they are made."""
        self._machine, self._send = machine, send
        self._header = self.header = region.header
        self._ring = self._header.base + self._header.posts
        self._bytes = (ctypes.c_char * POSTS_BYTES).from_address(self._ring)
        self._info = structs.halTaskSendInfo()
        self._taken = 0
        self.failed: Callable[[str, BaseException], int] = lambda _what, _error: 0
        self._sites = machine.checks is not None
        self._call_for(_called_for(machine))
        if not machine.options.free_run:
            self._header.flags |= POSTS
            machine.changed = _Changed(self, machine.lock)
            return
        with machine.lock:  # who waits on the old one looks again
            before, machine.changed = machine.changed, _FreeRun(self, machine.lock)
            machine.arrivals = self.take
            self._header.flags |= POSTS | FREE_RUN
            before.notify_all()

    def _call_for(self, layouts: list[Layout]) -> None:
        """Tell the program how to know entries that it has to call for, by their first bytes."""
        if len(layouts) > MOST_PATTERNS:
            raise FakeError(f"{len(layouts)} kinds of entries are called for, of {MOST_PATTERNS} at most")
        header, size = self._header, _WORDS.size
        for index, layout in enumerate(layouts):
            parts = (number.to_bytes(_SQE_BYTES, "little")[:size] for number in layout.signature)
            words = [word for part in parts for word in _WORDS.unpack(part)]
            header.called_for[PATTERN_WORDS * index : PATTERN_WORDS * (index + 1)] = words
        header.patterns = len(layouts)

    @property
    def any(self) -> bool:
        """Whether there are sends that were not taken."""
        return bool(self._header.posted != self._taken)

    @property
    def runs_cards(self) -> bool:
        """Whether the calling thread is the one that the cards run in."""
        return threading.current_thread() is self._machine.runner

    def take(self) -> bool:
        """Carry out what was posted; returns whether there was anything. The machine's lock is held."""
        if self._taken == self._header.posted:
            return False
        if self._sites:
            with names.apart():
                self._take()
        else:
            self._take()
        return True

    def _take(self) -> None:
        header, unpack, send, info = self._header, _HEAD.unpack_from, self._send, self._info
        source, size, copy = ctypes.addressof(info), ctypes.sizeof(info), ctypes.memmove
        end, taken, sites, before = header.posted, self._taken, self._sites, b"?"
        while taken != end:
            at = taken % POSTS_BYTES
            device, count, named = unpack(self._bytes, at)
            if device != _SKIP:
                copy(source, self._ring + at + _HEAD.size, size)
                if sites:
                    begins = at + _HEAD.size + size + _SQE_BYTES * info.sqe_num
                    site = ctypes.string_at(self._ring + begins, named)
                    if site != before:
                        names.elsewhere(site.decode(errors="replace"))
                        before = site
                try:
                    code = send(device, info)
                except BaseException as error:
                    code = self.failed("halSqTaskSend", error)
                if code:
                    self._machine.problem(f"a send to SQ {info.sqId} of device {device} was posted and answers {code}")
                    self.forget()
            taken += count
        self._taken = header.taken = taken

    def sent(self, slot: Slot, device: int, info: Any) -> None:
        """A send that was called for has worked: tell the program what more of it may be posted.

        The machine's lock is held.
        """
        faults = self._machine.faults
        slot.epoch = 0
        if not self._header.flags & POSTS or faults.calls or faults.slow_credit:
            return
        sq = self._machine.devices[device].queues.get(info.sqId)
        if sq is not None and info.type == c.DRV_NORMAL_TYPE:
            slot.credit, slot.tail, slot.depth, slot.epoch = sq.credit, sq.tail, sq.depth, self._header.epoch

    def forget(self) -> None:
        """Let the program ask again about each queue."""
        self._header.epoch += 1

    def waiting(self, change: int) -> None:
        """A call begins (1) or ceases (-1) to wait: meanwhile nothing is posted. The machine's lock is held."""
        self._header.waiting += change


def _called_for(machine: Machine) -> list[Layout]:
    """Return the entries that are not posted.

    These are copies, where a checker compares their sources: the program may write them before it makes another call.
    """
    if machine.checks is None or not machine.checks.on(SOURCE):
        return []
    layouts = machine.plugin.layouts
    return [layouts[name] for name in sorted(COPIES) if name in layouts]


class _Changed(Changed):
    """Condition of a machine that moves at calls only: whoever waits sees to it that nothing stays posted."""

    def __init__(self, posts: Posts, lock: Any) -> None:
        super().__init__(lock)
        self._posts = posts
        self._fence = threading.Lock()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait, unless there is something to do."""
        self._posts.waiting(1)
        with self._fence:  # a barrier: the program looks at `waiting` after it has posted
            pass
        try:
            return self._posts.take() or super().wait(timeout)
        finally:
            self._posts.waiting(-1)


class _FreeRun(_Changed):
    """Condition of a machine whose cards run in a thread of their own: that thread alone takes what was posted."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait; the cards' thread does not while there is something to do."""
        if self._posts.runs_cards:
            return super().wait(timeout)
        return Changed.wait(self, timeout)
