"""Memory of this process by bare address, asked of the system: a wrong address is an answer, not a signal."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from typing import Any

__all__ = ["can_be_tried", "fetch", "readable", "store"]

_END = 1 << 64
_MS_ASYNC = 1


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
_sync = _libc.msync
_sync.argtypes = [ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int]


def _copy(how: Any, own: Any, address: int, size: int) -> bool:
    return bool(how(os.getpid(), _Piece(ctypes.addressof(own), size), 1, _Piece(address, size), 1, 0) == size)


@cache
def can_be_tried() -> bool:
    """Whether the system copies within a process and says what went wrong; some containers forbid the call."""
    word = ctypes.c_uint64(1)
    return _copy(_read, ctypes.c_uint64(), ctypes.addressof(word), 8)


def readable(address: int, size: int) -> bool:
    """Whether a range is mapped, and its first and last byte can be read."""
    end, start = address + size, address // mmap.PAGESIZE * mmap.PAGESIZE
    if not 0 < address < end < _END or _sync(start, end - start, _MS_ASYNC):
        return False
    byte = ctypes.c_char()
    return not can_be_tried() or (_copy(_read, byte, address, 1) and _copy(_read, byte, end - 1, 1))


def fetch(address: int, size: int) -> bytes | None:
    """Return a copy of `size` bytes, or None where there are none to read."""
    block = ctypes.create_string_buffer(size)
    return block.raw if _copy(_read, block, address, size) else None


def store(address: int, data: bytes) -> bool:
    """Write bytes; False where that is not possible, and some of them may be written."""
    return _copy(_write, ctypes.create_string_buffer(data, len(data)), address, len(data))
