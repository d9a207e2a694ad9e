"""What Python values become in an argument block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device
from runtime.launch.args import all_slots, slots


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (0, [0]), (5, [5]), (-1, [(1 << 64) - 1]), (-(1 << 63), [1 << 63]), ((1 << 64) - 1, [(1 << 64) - 1]),
        (True, [1]), (False, [0]), (b"", []), (b"\x01", [1]), (b"0" * 8, [0x3030303030303030]),
        (b"\x02" + bytes(8), [2, 0]),
        (bytearray(b"\x03"), [3]), (memoryview(b"\x04"), [4]), (np.uint8(255), [255]), (np.int8(-1), [255]),
        (np.int16(-2), [0xFFFE]), (np.int64(-1), [(1 << 64) - 1]), (np.float16(1), [0x3C00]),
        (np.float32(1), [0x3F800000]),
        (np.float64(1), [0x3FF0000000000000]), (np.complex64(1 + 1j), [0x3F8000003F800000]),
        (np.complex128(1), [0x3FF0000000000000, 0]), (np.bool_(True), [1]), (np.array(7, "i4"), [7]),
        (np.datetime64(3, "s"), [3]),
    ],
)  # fmt: skip
def test_words_of_an_argument(argument: Any, words: list[int]) -> None:
    assert slots(argument) == words


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (1 << 64, "does not fit 64 bits"), (-(1 << 63) - 1, "does not fit 64 bits"),
        (1.5, "no fixed size on the device"),
        (None, "NoneType cannot be"), ("text", "str cannot be"), ([1], "list cannot be"),
        (object(), "object cannot be"),
        (np.zeros(3), r"an array of shape \(3,\)"), (np.str_("text"), "cannot be a kernel argument"),
        (np.array(object(), object), "cannot be a kernel argument"), (1j, "complex cannot be"),
    ],
)  # fmt: skip
def test_what_has_no_size_on_the_device(argument: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=message) as caught:
        slots(argument)
    assert caught.value.code == 107000
    assert caught.value.hint


def test_buffers_give_their_addresses(device: Device) -> None:
    buffer = device.alloc(64)
    assert all_slots([buffer, buffer + 8, 1]) == [buffer.address, buffer.address + 8, 1]
    with pytest.raises(errors.InvalidArgument, match="a kernel cannot reach it"):
        slots(device.alloc_host(8))
    buffer.close()
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        slots(buffer)
