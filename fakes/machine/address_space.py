"""Address ranges as the driver lays them out: reserved without access, backed by shareable files mapped elsewhere.

The host must not be able to touch device memory through a device address, and must be able to through a pinned or a
BAR-mapped one. So each range is one PROT_NONE reservation; a block that the host may touch gets the backing file mapped
over its part of it, every other access ends in SIGSEGV, as on a machine with a card.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import resource
from bisect import bisect_right
from collections.abc import Callable

from fakes.errors import FakeError, HostRefused

_PROT_NONE = 0
_MAP_FIXED = 0x10
_MAP_FIXED_NOREPLACE = 0x100000
_MAP_NORESERVE = 0x4000
_MADV_REMOVE = 9
_FAILED = ctypes.c_void_p(-1).value
_BEYOND = 1 << 64
"""Behind every address."""


class _Libc:
    """The calls that Python's mmap module does not offer with a fixed address."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.mmap = libc.mmap
        self.mmap.restype = ctypes.c_void_p
        self.mmap.argtypes = [
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
        ]  # fmt: skip
        self.munmap = libc.munmap
        self.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.madvise = libc.madvise
        self.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


_libc = _Libc()


def addresses_limited() -> bool:
    """Whether this process may not have as many addresses as it likes (RLIMIT_AS, `ulimit -v`)."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


class Extents:
    """Next-fit allocator over the numbers `start`..`end`; neighbours join when they are given back.

    A range that was given back is taken again as late as possible, so that a stale address shows. Each change is made
    ready first and then made by one assignment to a slice: an interrupt comes before or behind it.
    """

    def __init__(self, start: int, end: int) -> None:
        self._free = [(start, end)]
        """Free ranges by their start."""
        self._next = start

    def take(self, size: int, align: int) -> int | None:
        """Return an aligned start with space for `size`, or None."""
        free = self._free
        first = max(self._index(self._next), 0)
        count = len(free)
        for step in range(count + 1):
            index = (first + step) % count if count else 0
            if index >= count:
                break
            start, end = free[index]
            low = max(start, self._next) if step == 0 else start
            aligned = -(-low // align) * align
            if aligned + size <= end:
                self._carve(index, aligned, size)
                self._next = aligned + size
                return aligned
        return None

    def take_at(self, wanted: int, size: int) -> bool:
        """Take exactly `wanted`..`wanted + size`; False when part of it is in use."""
        index = self._index(wanted)
        if index < 0 or wanted + size > self._free[index][1]:
            return False
        self._carve(index, wanted, size)
        return True

    def give(self, start: int, size: int) -> None:
        """Put a range back."""
        free, end = self._free, start + size
        first = last = self._index(start) + 1
        if first and free[first - 1][1] == start:
            first -= 1
            start = free[first][0]
        if last < len(free) and free[last][0] == end:
            end = free[last][1]
            last += 1
        free[first:last] = [(start, end)]

    def _index(self, number: int) -> int:
        """Return the position of the last free range that begins at a number or before, -1 if none does."""
        return bisect_right(self._free, (number, _BEYOND)) - 1

    def _carve(self, index: int, at: int, size: int) -> None:
        start, end = self._free[index]
        pieces = [piece for piece in ((start, at), (at + size, end)) if piece[0] < piece[1]]
        self._free[index : index + 1] = pieces


class Reservation:
    """A range of addresses that belongs to us and that nobody may touch until part of it is mapped."""

    def __init__(self, base: int, size: int, step: int) -> None:
        """Reserve `size` bytes at `base`, or at the next free `base + k * step` when another machine is there."""
        for attempt in range(64):
            wanted = base + attempt * step
            got = _libc.mmap(
                wanted, size, _PROT_NONE,
                mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE, -1, 0,
            )  # fmt: skip
            if got == wanted:
                break
            if got != _FAILED:
                _libc.munmap(got, size)
            elif ctypes.get_errno() == errno.ENOMEM:
                raise HostRefused(f"cannot reserve {size >> 20} MiB of addresses for the fake's memory", errno.ENOMEM)
        else:
            raise FakeError(
                f"no free range of {size >> 20} MiB of addresses near {base:#x}: too many fake machines are open at "
                "once; close some"
            )
        self.base = wanted
        self.size = size
        self.end = wanted + size
        self.mirror: Callable[[int, int, int, int], None] | None = None
        """Told of each change: address, bytes, file descriptor (-1: no access any more) and offset."""

    def map_file(self, address: int, size: int, fd: int, offset: int) -> None:
        """Make part of the range real memory: `size` bytes of `fd` from `offset`, readable and writable."""
        got = _libc.mmap(
            address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED, fd, offset
        )
        if got != address:
            raise HostRefused(f"cannot map {size} bytes at {address:#x}", ctypes.get_errno())
        if self.mirror is not None:
            self.mirror(address, size, fd, offset)

    def unmap(self, address: int, size: int) -> None:
        """Take the access away again; the range stays reserved."""
        _libc.mmap(
            address, size, _PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED, -1, 0
        )
        if self.mirror is not None:
            self.mirror(address, size, -1, 0)

    def close(self) -> None:
        """Give the range back to the process."""
        if self.size:
            _libc.munmap(self.base, self.size)
            self.size = 0


_opened: dict[int, int] = {}
_openings = itertools.count(1)


def opening(fd: int) -> int:
    """Return which of the files of this process, counted from 1, a descriptor of a `BackingFile` stands for now."""
    return _opened[fd]


class BackingFile:
    """The bytes behind one range: a memory file of its full size, committed page by page when touched.

    The system takes such a file back when the last process that has it mapped is gone, however it ended.
    """

    def __init__(self, name: str, size: int) -> None:
        fd = -1
        try:
            fd = os.memfd_create(name, os.MFD_CLOEXEC)
            os.ftruncate(fd, size)
        except OSError as problem:
            if fd >= 0:
                os.close(fd)
            raise HostRefused(f"cannot make the memory file {name} of {size >> 20} MiB", problem) from None
        self._map(name, fd, 0, size)
        self.owned = True

    @classmethod
    def open(cls, path: str, offset: int, size: int) -> BackingFile | None:
        """Map part of a file that another process has made; None where the process or the file is gone."""
        file = cls.__new__(cls)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError as problem:
            raise HostRefused(f"cannot open {path}", problem) from None
        file._map(path, fd, offset, size)
        file.owned = False
        return file

    def _map(self, name: str, fd: int, offset: int, size: int) -> None:
        got = _libc.mmap(
            None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_NORESERVE, fd, offset
        )
        if got == _FAILED:
            number = ctypes.get_errno()
            os.close(fd)
            raise HostRefused(f"cannot map {size >> 20} MiB of the memory file {name}", number)
        self.fd, self.size, self.start = fd, size, offset
        _opened[fd] = next(_openings)
        self.address: int = got

    def holds(self, pointer: int) -> bool:
        """Whether these bytes are at a pointer."""
        return 0 <= pointer - self.address < self.size

    def drop(self, offset: int, size: int) -> None:
        """Return the memory of a part to the system; it reads as zero afterwards."""
        if size <= mmap.PAGESIZE:  # to give it back, and to get another one, costs more than to keep it
            ctypes.memset(self.address + offset, 0, size)
            return
        _libc.madvise(self.address + offset, size, _MADV_REMOVE)

    def close(self) -> None:
        """Unmap and close."""
        if self.size:
            _libc.munmap(self.address, self.size)
            os.close(self.fd)
            self.size = 0


def mapped_together(parts: list[tuple[int, int, int]]) -> int:
    """Map parts of files side by side, for reading and writing; each is file descriptor, offset and bytes, in pages."""
    size = sum(part[2] for part in parts)
    start: int = _libc.mmap(None, size, _PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, -1, 0)
    at, access = start, mmap.PROT_READ | mmap.PROT_WRITE
    for fd, offset, span in parts:
        if start == _FAILED or _libc.mmap(at, span, access, mmap.MAP_SHARED | _MAP_FIXED, fd, offset) != at:
            raise HostRefused(f"cannot map {size} bytes side by side", ctypes.get_errno())
        at += span
    return start


def unmapped(address: int, size: int) -> None:
    """Undo `mapped_together`."""
    _libc.munmap(address, size)
