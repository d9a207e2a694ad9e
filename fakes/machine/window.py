"""The address slice of one card, or of pinned host memory, and the bytes behind it."""

from __future__ import annotations

import ctypes
import mmap

from fakes.machine.address_space import BackingFile, Extents, Reservation

LARGE = 1 << 20
"""Bytes of a copy from which on it is worth looking for zeros."""
_STEP = 1 << 16
_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Window:
    """Addresses and bytes of one device, or of pinned host memory."""

    def __init__(self, name: str, reservation: Reservation, base: int, size: int) -> None:
        self.name = name
        self.base = base
        self.size = size
        self.end = base + size
        self._reservation = reservation
        self._extents = Extents(base, base + size)
        self._file: BackingFile | None = None

    @property
    def file(self) -> BackingFile:
        """The backing file, made on first use so that an idle card costs nothing."""
        if self._file is None:
            self._file = BackingFile(self.name, self.size)
        return self._file

    def take(self, span: int, align: int, guard: int) -> int | None:
        """Return the base of a free range of `span` bytes followed by `guard` unused ones."""
        return self._extents.take(span + guard, align)

    def take_at(self, base: int, span: int) -> bool:
        """Take a range at a wanted address."""
        return self._extents.take_at(base, span)

    def give(self, base: int, span: int) -> None:
        """Return a range taken before, guard included."""
        self._extents.give(base, span)

    def pointer(self, base: int) -> int:
        """Where the bytes of a window address really are."""
        return self.file.address + (base - self.base)

    def expose(self, base: int, span: int, pointer: int) -> None:
        """Let the host use the bytes at `pointer` under the address `base` (pinned memory, BAR)."""
        self._reservation.map_file(base, span, self.file.fd, pointer - self.file.address)

    def hide(self, base: int, span: int) -> None:
        """Take the direct access away."""
        self._reservation.unmap(base, span)

    def drop(self, base: int, span: int) -> None:
        """Release the bytes of a freed range to the system."""
        if self._file is not None:
            self._file.drop(base - self.base, span)

    def leave_zeros(self, target: int, source: int, size: int) -> int:
        """Make a target zero without writing as far as its source is; returns how many bytes that are.

        A runtime that opens a card writes images of megabytes that are nearly empty; the pages were most of its time.
        """
        if self._file is None or not self._file.holds(target) or target % mmap.PAGESIZE or abs(target - source) < size:
            return 0
        zeros, blank = 0, bytes(_STEP)
        while zeros + _STEP <= size and not _compare(source + zeros, blank, _STEP):
            zeros += _STEP
        if zeros:
            self._file.drop(target - self._file.address, zeros)
        return zeros

    def blank(self) -> None:
        """Release all bytes; they read as zero."""
        self.drop(self.base, self.size)

    def close(self) -> None:
        """Close the backing file."""
        if self._file is not None:
            self._file.close()
