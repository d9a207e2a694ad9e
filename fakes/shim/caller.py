"""Memory of the program itself, as the machine in the server sees it: read and written across processes.

The fake works with pointers. For an address of the program it gets one into a window of the server that holds a copy of
what is there; what has changed in it goes back to the program when the task, or the call, is done.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os

from fakes.errors import FakeError, MemoryFault, access
from npuhal.records import dataclass

_CHUNK = 30
"""Windows are as large as 1 << this: an address has the same offset in its window every time."""
_LARGE = 1 << 20
"""Copies above this do not stay in the window."""
_PAGE = mmap.PAGESIZE
_MADV_DONTNEED = 4
_MAP_NORESERVE = 0x4000


class _Span(ctypes.Structure):
    __slots__ = ()
    _fields_ = (("base", ctypes.c_void_p), ("len", ctypes.c_size_t))


@dataclass(slots=True, eq=False)
class _Copy:
    """What lies in a window, and what it was when it was brought there."""

    address: int
    size: int
    pointer: int
    before: bytes


class CallerMemory:
    """The memory of one other process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        libc = ctypes.CDLL(None, use_errno=True)
        self._read, self._write = libc.process_vm_readv, libc.process_vm_writev
        for function in (self._read, self._write):
            function.argtypes = [
                ctypes.c_int, ctypes.POINTER(_Span), ctypes.c_ulong, ctypes.POINTER(_Span), ctypes.c_ulong,
                ctypes.c_ulong,
            ]  # fmt: skip
            function.restype = ctypes.c_ssize_t
        self._advise = libc.madvise
        self._advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._windows: dict[tuple[int, int], mmap.mmap] = {}
        self._addresses: dict[tuple[int, int], int] = {}
        self._copies: list[_Copy] = []

    @property
    def dirty(self) -> bool:
        """Whether there are copies that `settle` would look at."""
        return bool(self._copies)

    def pointer(self, address: int, size: int, use: str) -> int:
        """Return where a copy of the program's bytes is; MemoryFault where it has no memory.

        A `use` that ends with " from" only reads. Everything else may write, until `settle`.
        """
        for copy in self._copies:
            if copy.address < address + size and address < copy.address + copy.size:
                self._put_back(copy)
        pointer = self._address_for(address, size)
        self.fetch(pointer, address, size, use)
        before = b"" if use.endswith(" from") and size > _LARGE else ctypes.string_at(pointer, size)
        self._copies.append(_Copy(address, size, pointer, before))
        return pointer

    def settle(self) -> None:
        """Bring what was changed back to the program, and forget the copies."""
        copies, self._copies = self._copies, []
        for copy in copies:
            self._put_back(copy)
            if copy.size > _LARGE:
                start = -(-copy.pointer // _PAGE) * _PAGE
                self._advise(start, (copy.pointer + copy.size - start) // _PAGE * _PAGE, _MADV_DONTNEED)

    def fetch(self, pointer: int, address: int, size: int, use: str) -> None:
        """Copy bytes of the program to `pointer`."""
        self._move(self._read, pointer, address, size, use)

    def store(self, address: int, pointer: int, size: int, use: str) -> None:
        """Copy bytes at `pointer` into the program's memory."""
        self._move(self._write, pointer, address, size, use)

    def _address_for(self, address: int, size: int) -> int:
        first, last = address >> _CHUNK, (address + max(size, 1) - 1) >> _CHUNK
        key = first, last
        if key not in self._windows:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
            window = mmap.mmap(-1, (last - first + 1) << _CHUNK, flags)
            self._windows[key] = window
            self._addresses[key] = ctypes.addressof(ctypes.c_char.from_buffer(window))
        return self._addresses[key] + address - (first << _CHUNK)

    def _put_back(self, copy: _Copy) -> None:
        before = copy.before
        if not before or (now := ctypes.string_at(copy.pointer, copy.size)) == before:
            return
        for start in range(0, copy.size, _PAGE):  # what lies between changes may be changed by the program meanwhile
            new, old = now[start : start + _PAGE], before[start : start + _PAGE]
            if new == old:
                continue
            differing = [at for at in range(len(new)) if new[at] != old[at]]
            first, end = start + differing[0], start + differing[-1] + 1
            self.store(copy.address + first, copy.pointer + first, end - first, "write")
        copy.before = now

    def _move(self, move: ctypes._NamedFuncPointer, pointer: int, address: int, size: int, use: str) -> None:
        done = 0
        while done < size:
            here, there = _Span(pointer + done, size - done), _Span(address + done, size - done)
            count = move(self._pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
            if count <= 0:
                self._fail(ctypes.get_errno() if count < 0 else errno.EFAULT, address, size, use)
            done += count

    def _fail(self, code: int, address: int, size: int, use: str) -> None:
        if code == errno.EPERM:
            raise FakeError(
                "the kernel does not let the server of the fake read the program's memory (process_vm_readv: "
                f"{os.strerror(code)}); containers allow it with --cap-add SYS_PTRACE"
            )
        reason = "the program has ended" if code == errno.ESRCH else "no memory of the program is there"
        raise MemoryFault(f"{access(use, size, address)}: {reason}", use, address, size)
