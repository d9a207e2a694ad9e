"""The public stream: values, fills, callbacks, and what each refuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Stream


@pytest.mark.parametrize(("size_bytes", "value"), [(1, 0xFF), (2, 0xABCD), (4, 1 << 31), (8, (1 << 64) - 1), (8, 0)])
def test_values_are_written_in_order(device: Device, stream: Stream, size_bytes: int, value: int) -> None:
    buffer = device.upload(b"\x5a" * 16)
    stream.write_value(buffer, value, size_bytes)
    stream.synchronize()
    written = device.download(buffer).tobytes()
    assert int.from_bytes(written[:size_bytes], "little") == value
    assert written[size_bytes:] == b"\x5a" * (16 - size_bytes)


@pytest.mark.parametrize(
    ("offset", "size_bytes", "value", "message"),
    [
        (0, 3, 0, "sizes are 1, 2, 4 or 8"), (0, 16, 0, "sizes are 1, 2, 4 or 8"), (4, 8, 0, "multiple of the size"),
        (12, 8, 0, "multiple of the size"), (0, 4, 1 << 32, "does not fit 4 bytes"), (0, 8, -1, "does not fit 8 bytes"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_written(device: Device, stream: Stream, offset: int, size_bytes: int, value: int,
                                       message: str) -> None:
    with pytest.raises(errors.InvalidArgument, match=message):
        stream.write_value(device.alloc(16) + offset, value, size_bytes)
    assert stream.ring.submitted == 0


def test_a_stream_waits_for_a_value(device: Device, stream: Stream) -> None:
    flag, target = device.upload(bytes(8)), device.upload(bytes(8))
    stream.wait_value(flag, 5)
    stream.write_value(target, 1)
    with pytest.raises(errors.Timeout):
        stream.synchronize(30)
    with device.create_stream() as other:
        other.write_value(flag, 7)
        other.synchronize()
    stream.synchronize(10_000)
    assert device.download(target, "u8").tolist() == [1]


def test_fills_in_order(device: Device, stream: Stream) -> None:
    buffer = device.alloc(4096)
    stream.fill(buffer, 0x11)
    stream.fill(buffer, 0x22, 100)
    stream.fill(buffer, 0x33, 0)
    stream.synchronize()
    assert device.download(buffer).tolist() == [0x22] * 100 + [0x11] * 3996
    for value, size in ((256, None), (-1, None), (0, 4097), (0, -1)):
        with pytest.raises(errors.InvalidArgument, match="the value is one byte"):
            stream.fill(buffer, value, size)


def test_host_functions_run_in_order_on_another_thread(device: Device, stream: Stream) -> None:
    log: list[object] = []
    buffer, host = device.alloc(8), device.alloc_host(8)
    host.numpy()[:] = 3
    stream.copy(buffer, host)
    main = threading.current_thread()
    stream.host_function(lambda word: log.append((word, threading.current_thread() is main)), "first")
    stream.host_function(log.append, "second")
    stream.synchronize(30_000)
    assert log == [("first", False), "second"]


def test_a_failed_body_closes_its_stream_by_force(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime.core.device import teardown

    monkeypatch.setattr(teardown, "_TRIES", 3)
    stream = device.create_stream()
    device.hal.fake.device(0).hold(stream.stream_id)
    stream.write_value(device.alloc(8), 1)
    with pytest.raises(ZeroDivisionError), stream:
        _ = 1 / 0
    assert stream.closed


def test_streams_say_what_they_are(device: Device, stream: Stream) -> None:
    assert repr(stream) == f"<Stream {stream.stream_id} on device 0>"
    assert repr(device.default_stream).startswith("<Stream 'default' ")
    stream.close()
    assert "closed" in repr(stream)


def test_results_are_there_after_synchronize(device: Device, stream: Stream) -> None:
    host, back = device.alloc_host(1 << 20), device.alloc_host(1 << 20)
    host.numpy()[:] = np.arange(1 << 20) % 256
    with device.alloc(1 << 20) as buffer:
        stream.copy(buffer, host)
        stream.copy(back, buffer)
        stream.synchronize()
    assert np.array_equal(back.numpy(), host.numpy())


def test_limits_of_cores_hold_for_a_stream_or_its_device(device: Device, stream: Stream) -> None:
    there = device.usable_cores
    device.limit_cores(vector=3)
    assert device.usable_cores == stream.usable_cores == (there.cube, 3)
    stream.limit_cores(cube=2)
    assert stream.usable_cores == (2, 3)
    assert device.default_stream.usable_cores == (there.cube, 3)
    with pytest.raises(errors.InvalidArgument, match=f"{there.cube + 1} cube cores: the device has {there.cube}"):
        device.limit_cores(vector=1, cube=there.cube + 1)
    assert device.usable_cores.vector == 3
    device.limit_cores()
    stream.limit_cores()
    assert stream.usable_cores == there


def test_stop_ends_the_running_task_only(device: Device, stream: Stream) -> None:
    flag, target = device.upload(bytes(8)), device.upload(bytes(8))
    stream.wait_value(flag, 1)
    stream.write_value(target, 7)
    device.hal.fake.run_until_idle()  # the wait is what runs now, and not the entry before it
    stream.stop()
    with pytest.raises(errors.InternalError, match="value wait failed"):
        stream.synchronize(timeout_ms=30_000)
    assert device.download(target, "u8").tolist() == [7]
    stream.close(force=True)
