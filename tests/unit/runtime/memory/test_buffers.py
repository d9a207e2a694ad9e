"""Device and host buffers: views, ends, refusals."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.memory.buffer import Buffer
from tests.tools.interrupts import Interrupter
from tests.unit.runtime.machines import holdings


def test_a_view_is_a_part_of_the_block(device: Device) -> None:
    buffer = device.upload(bytes(range(64)))
    view = buffer.view(8, 4)
    assert (view.address, view.size, len(view)) == (buffer.address + 8, 4, 4)
    assert device.download(view).tolist() == [8, 9, 10, 11]
    assert device.download(buffer + 60).tolist() == [60, 61, 62, 63]
    assert device.download((buffer + 4) + 4, "u1")[0] == 8


@pytest.mark.parametrize(("offset", "size"), [(-1, 4), (0, 65), (60, 5), (65, None), (0, -1)])
def test_views_outside_the_block(device: Device, offset: int, size: int | None) -> None:
    with pytest.raises(errors.InvalidArgument, match="does not fit a buffer of 64 bytes"):
        device.alloc(64).view(offset, size)


def test_a_view_ends_with_its_block_but_not_the_block_with_a_view(device: Device) -> None:
    buffer = device.alloc(64)
    view = buffer.view(8)
    buffer.view(16).close()
    assert device.download(buffer).size == 64
    buffer.close()
    for use in (view.check_open, lambda: view.view(1), lambda: device.download(view)):
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            use()


@pytest.mark.parametrize("again", [True, False])
def test_an_interrupted_close_of_a_pooled_buffer_gives_nobody_what_somebody_has(
    device: Device, stream: Stream, again: bool
) -> None:
    """It is closed again, or dropped, when somebody else has got the block."""

    def take() -> Buffer:
        return device.pool.alloc(5000, stream)

    def close() -> None:
        buffer.close()

    def check(_place: int) -> None:
        nonlocal buffer
        before, taken = buffer.address, take()
        reused.append(before == taken.address)
        if again:
            buffer.close()
        buffer = take()  # what was there is dropped
        device.synchronize()
        last = take()
        assert len({taken.address, buffer.address, last.address}) == 3, interrupter.at
        taken.close()
        last.close()

    buffer, reused = take(), list[bool]()
    interrupter = Interrupter("runtime/api/pool.py", "memory/buffer.py", "memory/pool.py", "memory/device.py")
    assert interrupter.everywhere(close, check, 100) > 5
    assert any(reused)


def test_closing_twice_frees_once(machine: Runtime, device: Device) -> None:
    before = holdings(machine)["memory"]
    buffer, host = device.alloc(64), device.alloc_host(64)
    for thing in (buffer, buffer, host, host):
        thing.close()
    assert holdings(machine)["memory"] == before


def test_buffers_are_context_managers(device: Device) -> None:
    with device.alloc(64) as buffer, device.alloc_host(64) as host:
        assert len(buffer) == len(host) == 64
    assert buffer.closed
    assert host.closed
    with pytest.raises(errors.InvalidArgument, match="was freed"), buffer:
        pass


@pytest.mark.parametrize(
    "use", [np.asarray, bytes, lambda buffer: buffer[0], lambda buffer: buffer.__setitem__(0, 1)],
    ids=["array", "bytes", "read", "write"],
)  # fmt: skip
def test_the_host_cannot_look_into_device_memory(device: Device, use: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="the host cannot read it") as caught:
        use(device.alloc(64))
    assert "download" in caught.value.hint


def test_host_memory_is_an_array_without_a_copy(device: Device) -> None:
    host = device.alloc_host(64)
    host.numpy("f4", (4, 4))[1, 1] = 2.5
    assert host.numpy("f4")[5] == 2.5
    assert np.asarray(host)[20:24].view("f4")[0] == 2.5
    host.close()
    for use in (host.numpy, lambda: np.asarray(host)):
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            use()


def test_dropped_host_memory_goes_back(machine: Runtime, device: Device) -> None:
    before = len(holdings(machine)["memory"])
    for _ in range(4):
        device.alloc_host(64)
    gc.collect()
    device.alloc(64).close()
    assert len(holdings(machine)["memory"]) == before


def test_a_dropped_buffer_stays_until_the_work_that_may_use_it_is_done(machine: Runtime, device: Device) -> None:
    fake = device.hal.fake.device(0)
    with device.create_stream() as stream:
        fake.hold()
        used = device.alloc(64)  # a launch would take its address and keep nothing of it
        address = hex(used.address)
        stream.submit(Nop())
        del used
        gc.collect()
        device.alloc(64).close()
        assert address in holdings(machine)["memory"]
        fake.release()
        stream.synchronize()
        device.alloc(64).close()
        assert address not in holdings(machine)["memory"]
