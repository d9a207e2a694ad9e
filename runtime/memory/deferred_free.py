"""Deferred frees: a dropped or closed buffer's block is freed when the queued work that may use it is done."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Any

from npuhal.changed import try_lock
from npuhal.late import logger
from runtime import errors
from runtime.errors.closing import NOTHING, Again, Once
from runtime.memory.fences import Fence

if TYPE_CHECKING:
    from runtime.memory.buffer import Buffer

Release = Callable[[], None]

_LOG = logger(__name__)


def _passed() -> bool:
    """Answer as a fence behind which nothing runs."""
    return True


class PendingFree(weakref.ref["Buffer"]):
    """A weak reference to a buffer with what frees its block: all that is left when the buffer is dropped.

    Attributes:
        number: its key among the pending frees; never used twice.
        address: first address of the block.
        free: frees the block by its address.
        rows: what is held, by address: where the block's row is gone, it was freed.
    """

    __slots__ = ("address", "free", "number", "rows")
    number: int
    address: int
    free: Callable[[int], None]
    rows: Mapping[int, object] | None

    def once(self) -> Release:
        """Return what gives the block back, and does nothing where it was; for blocks that are held now."""
        return self.release if self.rows is None else Once(self.rows, self.address, self.release)

    def release(self) -> None:
        """Give the block back."""
        self.free(self.address)


class DeferredFrees:
    """The frees of a device that wait: for a buffer to be dropped, or for the work that may use its block.

    A kernel does not keep its arguments alive, so a dropped buffer may still be in use. Each one waits behind a fence
    put up after it was dropped: everything submitted until then must be done.

    Attributes:
        pending: by number, for buffers that were neither closed nor found dropped by a sweep.
    """

    def __init__(self, fence: Callable[[], Fence]) -> None:
        self._fence = fence
        self.pending: dict[int, PendingFree] = {}
        self._numbers = itertools.count(1)
        self.dropped: deque[PendingFree | Release] = deque()
        """What finalizers have left: entries of dropped buffers, and functions."""
        self._drop = self.dropped.append
        """What the collector calls with the `PendingFree` of a dropped buffer; runs no code of ours, takes no lock."""
        self.waiting: deque[tuple[Fence, list[PendingFree | Release]]] = deque()
        """What is given back as soon as work is done, in the order of the fences behind it."""
        self._sweeping = threading.RLock()
        self._calling = False
        """Whether releases are being called: what they do may wait, and whoever waits sweeps."""

    def adopt(
        self, buffer: Buffer, free: Callable[[int], None], rows: Mapping[int, object] | None = None
    ) -> PendingFree:
        """Watch a buffer, and call `free` with its address some time after it was dropped without `close`.

        Args:
            rows: see `PendingFree`.

        Returns what stands for the buffer from now on.
        """
        entry = PendingFree(buffer, self._drop)
        entry.number = buffer.pending_free = number = next(self._numbers)
        entry.address, entry.free, entry.rows = buffer.address, free, rows
        self.pending[number] = entry
        return entry

    def buffers(self) -> dict[int, Buffer]:
        """Return what is alive and was not closed, by address."""
        found = ((entry.address, entry()) for entry in list(self.pending.values()))
        return {address: buffer for address, buffer in found if buffer is not None}

    def leave(self, release: Release) -> None:
        """Call a function when everything that is queued is done; for finalizers: this takes no lock and calls nothing.
        """
        self.dropped.append(release)

    def wait(self, fence: Fence, release: Release) -> None:
        """Take one that was closed while work was queued; `fence` is behind that work."""
        with self._sweeping:
            self.waiting.append((fence, [release]))

    def sweep(self) -> None:
        """Free what is over, and put a fence behind what was dropped since; one thread at a time is enough."""
        if self._calling or not (self.dropped or self.waiting):
            return
        for taken in try_lock(self._sweeping):
            if not taken:
                return
            try:
                self._calling = True
                if self.dropped:
                    self._take(len(self.dropped))
                self._free_passed()
            finally:
                self._calling = False
                self._sweeping.release()

    def _free_passed(self, *, all_of_them: bool = False) -> None:
        """Free what is behind fences that have passed; the loop is in no `try`, see `npuhal.changed` on interrupts."""
        while self.waiting and (all_of_them or self.waiting[0][0]()):  # they pass in the order they were put up in
            self._call_all(self.waiting[0][1])
            del self.waiting[0]

    def close(self) -> None:
        """Free everything; nothing runs any more."""
        with self._sweeping:
            self._calling = True
            self._free_passed(all_of_them=True)
            self._take(len(self.dropped), _passed)
            self._free_passed(all_of_them=True)

    def _take(self, count: int, fence: Fence | None = None) -> None:
        """Put at most so many that were dropped behind a fence, by default one behind all that is queued now.

        They are moved by one call, before which the list waits already: an interrupt comes before or behind it. A close
        of another thread takes out what it has brought to an end itself.
        """
        releases: list[PendingFree | Release] = []
        self.waiting.append((self._fence() if fence is None else fence, releases))
        with suppress(IndexError):
            releases.extend(starmap(self.dropped.popleft, repeat((), count)))
        self._forget(releases)

    def _forget(self, releases: list[PendingFree | Release]) -> None:
        """Put what frees its block in the place of each dropped buffer's entry, and forget the buffer."""
        for index, entry in enumerate(releases):
            if isinstance(entry, PendingFree):
                releases[index] = entry.once() if entry.number in self.pending else NOTHING  # a close has done so
                self.pending.pop(entry.number, None)

    def _call_all(self, releases: list[Any]) -> None:
        """Call functions once each; what the driver refuses is tried again at the next sweep."""
        refused: list[Release] = []
        try:
            self._call_each(releases, refused)
        finally:
            self.dropped.extend(refused)

    def _call_each(self, releases: list[Any], refused: list[Release]) -> None:
        """Call them; the loop is in no `try`, see `npuhal.changed` on interrupts. What can be called again stays."""
        while releases:
            release = releases[-1]
            if isinstance(release, PendingFree):  # an interrupt came when it was taken
                self._forget(releases)
                release = releases[-1]
            if not isinstance(release, Again):
                del releases[-1]
            try:
                release()
            except errors.RuntimeFault as fault:
                refused.append(release)
                _LOG.warning("what was dropped could not be given back, and will be tried again: %s", fault)
            if releases and releases[-1] is release:
                del releases[-1]
