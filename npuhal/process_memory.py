"""Memory of this process by bare address, asked of the system: a wrong address is an answer, not a signal."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from typing import Any

__all__ = ["blank", "can_be_tried", "fetch", "readable", "store", "writable"]

_END = 1 << 64
_POPULATE_READ, _POPULATE_WRITE = 22, 23
"""Advice of madvise (Linux 5.14) that touches every page as a read or a write does, and says what went wrong."""
_MANY = 8 << 20
"""Bytes from which on mappings are looked up first: touching all pages would cost a good part of a copy."""


class _Piece(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_uint64), ("size", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)
_Copy = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.POINTER(_Piece), ctypes.c_ulong, ctypes.POINTER(_Piece), ctypes.c_ulong,
    ctypes.c_ulong, use_errno=True,
)  # fmt: skip
_read = _Copy(("process_vm_readv", _libc))
_write = _Copy(("process_vm_writev", _libc))
_advise = _libc.madvise
_advise.argtypes = [ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int]


def _copy(how: Any, own: Any, address: int, size: int) -> bool:
    return bool(how(os.getpid(), _Piece(ctypes.addressof(own), size), 1, _Piece(address, size), 1, 0) == size)


@cache
def can_be_tried() -> bool:
    """Whether the system copies within a process and says what went wrong; some containers forbid the call."""
    word = ctypes.c_uint64(1)
    return _copy(_read, ctypes.c_uint64(), ctypes.addressof(word), 8)


@cache
def _can_touch() -> bool:
    """Whether the system touches pages for a process."""
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        word = ctypes.c_char.from_buffer(page)
        address = ctypes.addressof(word)
        del word
        return not _advise(address, mmap.PAGESIZE, _POPULATE_WRITE)


def blank(size: int) -> memoryview:
    """Return zero bytes that can be written to, one at least; a page of them takes no memory until it is touched."""
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def readable(address: int, size: int) -> bool:
    """Whether every byte of a range can be read."""
    return _usable(address, size, "r", _POPULATE_READ)


def writable(address: int, size: int) -> bool:
    """Whether every byte of a range can be written."""
    return _usable(address, size, "w", _POPULATE_WRITE)


def _usable(address: int, size: int, mode: str, advice: int) -> bool:
    end = address + size
    if not 0 < address < end < _END:
        return False
    start = address // mmap.PAGESIZE * mmap.PAGESIZE
    if size < _MANY and _can_touch():
        return not _advise(start, end - start, advice)
    return _mapped(start, end, mode, advice)


def _mapped(start: int, end: int, mode: str, advice: int) -> bool:
    """Whether mappings that allow an access lie side by side over a range, and files under them are not cut short."""
    with open("/proc/self/maps", "rb", buffering=0) as file:
        lines = file.readall().splitlines()
    for line in lines:
        span, allowed = line.split(b" ", 2)[:2]
        first, last = (int(number, 16) for number in span.split(b"-"))
        if last <= start:
            continue
        if first > start or mode not in allowed.decode():
            return False
        start = min(last, end)
        tail = (start - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        if _can_touch() and _advise(tail, mmap.PAGESIZE, advice):
            return False
        if start == end:
            return True
    return False


def fetch(address: int, size: int) -> bytes | None:
    """Return a copy of `size` bytes, or None where there are none to read."""
    block = ctypes.create_string_buffer(size)
    return block.raw if _copy(_read, block, address, size) else None


def store(address: int, data: bytes) -> bool:
    """Write bytes; False where that is not possible, and some of them may be written."""
    return _copy(_write, ctypes.create_string_buffer(data, len(data)), address, len(data))
