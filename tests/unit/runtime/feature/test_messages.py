"""Channels and message queues: what goes through, what a message looks like, and what is refused."""

from __future__ import annotations

import contextlib
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runtime import errors
from runtime.api import Device
from runtime.feature.messages import Item, ItemKind, packed, unpacked
from tests.tools.examples import examples

TYPES = st.sampled_from([np.dtype(name) for name in ("f4", "f2", "i1", "i4", "u1", "i2", "u2", "u4", "i8", "u8", "?")])
ARRAYS = TYPES.flatmap(lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=5)))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(ARRAYS, min_size=1, max_size=4))
def test_arrays_come_out_of_a_message_as_they_went_in(given_arrays: list[np.ndarray]) -> None:
    message = packed([Item.of(array) for array in given_arrays])
    name, items = unpacked(message)
    assert name == ""
    for before, item in zip(given_arrays, items, strict=True):
        after = item.array()
        assert (after.dtype, after.shape, after.tobytes()) == (before.dtype, before.shape, before.tobytes())


def test_the_data_of_each_item_begins_at_a_multiple_of_64_bytes() -> None:
    tensor = Item.of(np.arange(3, dtype="u1"))
    message = packed([tensor, Item(ItemKind.END_OF_SEQUENCE), Item.of(np.ones((2, 2), "f4"))])
    heads = [struct.unpack_from("<iiIIiII", message, at) for at in (0, 131)]
    assert heads[0] == (0, ItemKind.TENSOR, 0, 3, 4, 1, 64)
    assert message[128:131] == bytes([0, 1, 2])
    assert heads[1][:5] == (0, ItemKind.END_OF_SEQUENCE, 1, 3, -1)


def test_a_message_may_bring_a_name_and_slices() -> None:
    head = struct.Struct("<iiIIiIIHH24xQ")
    named = head.pack(1, 0, 0, 2, 0, 0, 0, 0, 0, 5) + b"batch"
    part = head.pack(0, ItemKind.SLICE_TENSOR, 1, 2, 4, 1, 0, 3, 2, 2) + struct.pack("<q", 2) + b"xy"
    name, items = unpacked(named + part)
    assert (name, items) == ("batch", [Item(ItemKind.SLICE_TENSOR, 4, (2,), b"xy", 3, 2)])


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_fail(message: bytes) -> None:
    with contextlib.suppress(errors.InternalError):
        unpacked(message)


def test_types_that_numpy_lacks_come_as_bytes() -> None:
    assert Item(ItemKind.TENSOR, 27, (1,), b"\x80\x3f").array().tolist() == [0x80, 0x3F]


def test_a_queue_keeps_bytes_and_what_is_beside_them(device: Device) -> None:
    with device.create_message_queue("bytes", depth=3) as queue:
        queue.put(b"one", b"aside")
        queue.put(b"x" * 100_000)
        assert (len(queue), queue.state()) == (2, ("bytes", 3, 2))
        assert queue.next_size() == 3
        contents, context = queue.get()
        assert (contents, context.rstrip(b"\0")) == (b"one", b"aside")
        assert queue.get()[0] == b"x" * 100_000
    assert repr(queue) == "<MessageQueue 0 'bytes' of device 0, 3 messages at most>"


def test_what_is_refused(device: Device) -> None:
    with pytest.raises(errors.InvalidArgument, match="names have up to 127 bytes"):
        device.create_channel("x" * 128)
    with pytest.raises(errors.InvalidArgument, match="space for 2 messages"):
        device.create_channel("c", 1)
    with device.create_channel("c", 2) as channel:
        with pytest.raises(errors.InvalidArgument, match="complex128"):
            channel.send([np.ones(2, "c16")])
        with pytest.raises(errors.InvalidArgument, match="without tensors"):
            channel.send([])
        with pytest.raises(errors.InvalidArgument, match="up to 96"):
            channel.put(b"x", bytes(97))
        channel.send([1.0])
        channel.send([2.0])
        with pytest.raises(errors.ResourceExhausted):
            channel.send([3.0], timeout_ms=1)
        assert [channel.receive(), channel.receive()] == [[1.0], [2.0]]
        with pytest.raises(errors.StreamError, match="207013"):
            channel.receive(timeout_ms=0)
    with pytest.raises(errors.InvalidHandle):
        channel.clear()
    channel.close()


def test_channels_go_with_their_device(device: Device) -> None:
    channel = device.create_channel("c")
    device.close()
    with pytest.raises(errors.RuntimeFault):
        channel.receive(timeout_ms=0)
    channel.close()
