"""Allocation and copies."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device
from tests.contract.holdings import tasks_sent

COMMANDS = True

pytestmark = pytest.mark.hardware_safe


def test_upload_download_round_trip(device: Device) -> None:
    data = np.random.default_rng(1).integers(0, 256, 100_003, dtype=np.uint8)
    buffer = device.upload(data)
    assert buffer.size == data.nbytes
    assert np.array_equal(device.download(buffer), data)


def test_views_share_the_block(device: Device) -> None:
    buffer = device.upload(np.arange(16, dtype=np.uint32))
    part = buffer + 16
    assert device.download(part, "u4").tolist() == list(range(4, 16))
    assert device.download(buffer.view(8, 8), "u4").tolist() == [2, 3]
    with pytest.raises(errors.InvalidArgument, match="does not fit a buffer of 64 bytes"):
        buffer.view(60, 8)
    buffer.close()
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        device.download(part)


def test_copy_device_to_device_now_and_in_a_stream(device: Device) -> None:
    data = np.arange(1000, dtype=np.float64)
    source, first, second = device.upload(data), device.alloc(data.nbytes), device.alloc(data.nbytes)
    device.copy(first, source)
    with device.create_stream() as stream:
        stream.copy(second, first)
        stream.synchronize()
    assert np.array_equal(device.download(second, "f8"), data)


def test_pinned_copies_in_a_stream_are_asynchronous_and_in_order(device: Device) -> None:
    data = np.arange(1 << 16, dtype=np.uint32)
    host, back = device.alloc_host(data.nbytes), device.alloc_host(data.nbytes)
    host.numpy("u4")[:] = data
    buffer = device.alloc(data.nbytes)
    with device.create_stream() as stream:
        stream.copy(buffer, host)
        stream.copy(back, buffer)
        stream.synchronize()
        assert stream.query()
    assert np.array_equal(back.numpy("u4"), data)


def test_pageable_copy_in_a_stream_waits_and_copies(device: Device) -> None:
    data = np.arange(100, dtype=np.int16)
    buffer, back = device.alloc(data.nbytes), np.empty_like(data)
    with device.create_stream() as stream:
        stream.copy(buffer, data)
        stream.copy(back, buffer)
    assert np.array_equal(back, data)


def test_fill(device: Device) -> None:
    buffer = device.alloc(1000)
    device.fill(buffer, 0xA5)
    device.fill(buffer, 0, 10)
    assert device.download(buffer).tobytes() == bytes(10) + b"\xa5" * 990


def test_zero_length_copy_does_nothing(device: Device) -> None:
    buffer = device.upload(b"abc")
    device.copy(buffer, b"")
    with device.create_stream() as stream:
        stream.copy(buffer, device.alloc(8), 0)
        assert tasks_sent(stream) == 0
    assert device.download(buffer).tobytes() == b"abc"


@pytest.mark.parametrize("size", [0, -1, 1 << 70])
def test_impossible_sizes_are_refused(device: Device, size: int) -> None:
    with pytest.raises(errors.InvalidArgument, match=r"alloc\("):
        device.alloc(size)


def test_out_of_memory_says_how_much_is_left(device: Device) -> None:
    _, total = device.memory_info()
    with pytest.raises(errors.OutOfMemory, match="are free") as caught:
        device.alloc(total * 2)
    assert caught.value.code == 207001
    device.alloc(4096)


def test_target_smaller_than_source_is_refused_before_anything_moves(device: Device) -> None:
    target = device.upload(bytes(8))
    with pytest.raises(errors.InvalidArgument, match="copy of 16 bytes") as caught:
        device.copy(target, b"x" * 16)
    assert caught.value.code == 107000
    assert device.download(target).tobytes() == bytes(8)


def test_freed_buffers_are_refused(device: Device) -> None:
    buffer, other = device.alloc(64), device.alloc(64)
    buffer.close()
    buffer.close()
    for use in (lambda: device.copy(other, buffer), lambda: device.copy(buffer, other), lambda: device.fill(buffer, 0)):
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            use()


def test_host_access_to_device_memory_is_refused_with_the_copy_to_use(device: Device) -> None:
    buffer = device.alloc(64)
    for use in (lambda: np.asarray(buffer), lambda: buffer[0], lambda: bytes(buffer)):
        with pytest.raises(errors.InvalidArgument, match="download"):
            use()


def test_read_only_target_and_foreign_objects_are_refused(device: Device) -> None:
    buffer = device.alloc(64)
    with pytest.raises(errors.InvalidArgument, match="read-only"):
        device.copy(b"x" * 64, buffer)
    with pytest.raises(errors.InvalidArgument, match="cannot copy from or to 'dict'"):
        device.copy({}, buffer)
    with pytest.raises(errors.InvalidArgument, match="not contiguous"):
        device.copy(np.zeros((8, 16), np.uint8)[:, ::2], buffer)


def test_dropped_buffers_are_freed_when_their_work_is_done(device: Device) -> None:
    before, _ = device.memory_info()
    for _ in range(4):
        device.alloc(32 << 20)
        gc.collect()
    keep = device.alloc(32 << 20)  # sweeps what was dropped before
    now, _ = device.memory_info()
    assert before - now <= 2 * (32 << 20) + (4 << 20)
    keep.close()
