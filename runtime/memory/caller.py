"""Memory of the calling program by bare address, as C functions take it: structures, arrays and names to read or write.

A wrong address ends a C program. Where the device is a fake, addresses are tried by the system itself first, so that a
wrong one is a fault that names it; so are pieces from 64 KiB on everywhere, whose copying costs more than the question.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from struct import Struct
from typing import Any

from npuhal import process_memory
from runtime.errors.faults import RuntimeFault
from runtime.errors.raising import fault

__all__ = [
    "MOST_ROWS", "address_of", "array", "at", "check_count", "check_writable", "octets", "read", "rows", "take_care",
    "text", "view", "write",
]  # fmt: skip

_LARGE = 1 << 16
_PAGE = 4096
_MOST = 1 << 47
"""Bytes that a process can have."""
MOST_ROWS = 1 << 16
"""Numbers or structures that a list can have: no function takes more, and walking millions would take minutes."""
_careful = False


class _Lent(threading.local):
    """Texts whose addresses a thread has been given, the latest ones."""

    def __init__(self) -> None:
        self.texts: deque[Any] = deque(maxlen=64)


_lent = _Lent()


def octets(content: str) -> bytes:
    """Return text as C has it: in UTF-8, and bytes that are none as they came from there.

    Raises:
        UnicodeEncodeError: it has a character that is no character (half of a pair).
    """
    return content.encode(errors="surrogateescape")


def address_of(content: str | bytes) -> int:
    """Return the address of a copy of text (in UTF-8) or bytes, with a zero byte behind; it lasts for the call."""
    data = octets(content) if isinstance(content, str) else content
    copy = ctypes.create_string_buffer(data, len(data) + _PAGE)  # whoever writes there hits nothing else
    _lent.texts.append(copy)
    return ctypes.addressof(copy)


def take_care(careful: bool) -> None:
    """Choose whether small pieces are tried before they are touched, too: where the device is a fake."""
    global _careful
    _careful = careful and process_memory.can_be_tried()


def _nothing_there(address: int, size: int) -> RuntimeFault:
    return fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{size} bytes at {address:#x}: this process has no memory there that it may use",
        hint="pass the address of host memory that is at least as long, not one of device memory",
    )


def _try(address: int, size: int) -> None:
    if (_careful or size >= _LARGE) and size and not process_memory.readable(address, size):
        raise _nothing_there(address, size)


def check_writable(address: int, size: int) -> None:
    """Refuse a range of host memory that cannot be written throughout, before a part of it is.

    Raises:
        InvalidArgument 107000: a byte of it is not there or read-only, where that is looked at.
    """
    if _careful and not process_memory.writable(address, size):
        raise _nothing_there(address, size)


def read(address: int, size: int) -> bytes:
    """Return a copy of `size` bytes.

    Raises:
        InvalidArgument 107000: there is no memory at the address, where that is looked at.
    """
    _try(address, size)
    if not _careful or not size:
        return ctypes.string_at(address, size)
    found = process_memory.fetch(address, size)
    if found is None:
        raise _nothing_there(address, size)
    return found


def text(address: int) -> bytes:
    """Return the string at an address, up to its zero byte; for faults see `read`."""
    if not _careful:
        return ctypes.string_at(address)
    found = b""
    while True:
        found += read(address + len(found), _PAGE - (address + len(found)) % _PAGE)
        if (end := found.find(b"\0")) >= 0:
            return found[:end]


def write(address: int, data: Any, size: int) -> None:
    """Write the first `size` bytes of bytes or of a ctypes object; for faults see `read`."""
    _try(address, size)
    if not _careful or not size:
        ctypes.memmove(address, data, size)
    elif not process_memory.store(address, bytes(data)[:size]):
        raise _nothing_there(address, size)


def check_count(count: int) -> None:
    """Refuse a list of more than `MOST_ROWS` before any of it is read.

    Raises:
        InvalidArgument 107000: it is longer.
    """
    if not 0 <= count <= MOST_ROWS:
        raise fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"a list of {count}: at most {MOST_ROWS} are taken at once",
            hint="count what is in the list, or pass it in several calls",
        )


def array(kind: Any, count: int, address: int) -> Any:
    """Return a copy of `count` numbers of a ctypes kind as an array; for faults see `check_count` and `read`."""
    check_count(count)
    made = kind * count
    return made.from_buffer_copy(read(address, ctypes.sizeof(made))) if count else made()


def rows(layout: Struct, count: int, address: int) -> list[tuple[Any, ...]]:
    """Return the `count` structures of a layout at an address, unpacked; for faults see `check_count` and `read`."""
    check_count(count)
    return list(layout.iter_unpack(read(address, count * layout.size)))


def view(kind: Any, count: int, address: int) -> Any:
    """Return the `count` objects of a ctypes kind at an address in place; for faults see `read`."""
    if not 0 <= count < _MOST:
        raise fault("ACL_ERROR_RT_PARAM_INVALID", f"{count} values: no memory has so many", hint="count them")
    made = kind * count
    _try(address, ctypes.sizeof(made))
    return made.from_address(address)


def at(kind: Any, address: int) -> Any:
    """Return the object of a ctypes kind at an address in place; for faults see `read`."""
    return view(kind, 1, address)[0] if issubclass(kind, ctypes.Structure) else _Number(kind, address)


class _Number:
    """A number in place: `value` reads and writes it."""

    __slots__ = ("_address", "_kind")

    def __init__(self, kind: Any, address: int) -> None:
        self._kind, self._address = kind, address

    @property
    def value(self) -> Any:
        """What is there now."""
        return self._kind.from_buffer_copy(read(self._address, ctypes.sizeof(self._kind))).value

    @value.setter
    def value(self, value: Any) -> None:
        write(self._address, bytes(self._kind(value)), ctypes.sizeof(self._kind))
