"""Memory of another process: the tests' own stands for it."""

from __future__ import annotations

import ctypes
import os

import pytest

from fakes.errors import MemoryFault
from fakes.shim.caller import CallerMemory


def test_changes_go_back_when_they_are_settled() -> None:
    caller = CallerMemory(os.getpid())
    data = ctypes.create_string_buffer(b"\1" * 20000, 20000)
    address = ctypes.addressof(data)
    pointer = caller.pointer(address + 5, 15000, "copy to")
    assert ctypes.string_at(pointer, 15000) == b"\1" * 15000
    ctypes.memset(pointer + 100, 7, 3)
    ctypes.memset(pointer + 9000, 8, 1)
    data[9500] = b"\5"  # the program changes something else meanwhile
    assert caller.dirty
    caller.settle()
    assert not caller.dirty
    assert data.raw[105:108] == b"\7\7\7"
    assert data.raw[9005:9006] == b"\x08"
    assert data.raw[9500:9501] == b"\5"
    assert data.raw.count(1) == 20000 - 5


def test_a_later_look_sees_what_was_written_before() -> None:
    caller = CallerMemory(os.getpid())
    data = ctypes.create_string_buffer(64)
    pointer = caller.pointer(ctypes.addressof(data), 64, "write")
    ctypes.memset(pointer, 9, 8)
    again = caller.pointer(ctypes.addressof(data) + 4, 8, "read from")
    assert ctypes.string_at(again, 8) == b"\x09" * 4 + bytes(4)
    assert again == pointer + 4, "an address has one place"


def test_large_ones_and_missing_ones() -> None:
    caller = CallerMemory(os.getpid())
    size = 3 << 20
    data, target = ctypes.create_string_buffer(os.urandom(size), size), ctypes.create_string_buffer(size)
    caller.fetch(ctypes.addressof(target), ctypes.addressof(data), size, "copy from")
    assert target.raw == data.raw
    ctypes.memset(target, 3, size)
    caller.store(ctypes.addressof(data), ctypes.addressof(target), size, "copy to")
    assert data.raw == b"\3" * size
    with pytest.raises(MemoryFault, match="copy from 8 bytes at 0x10: no memory of the program is there"):
        caller.pointer(0x10, 8, "copy from")
