"""Streams and events in asyncio programs: other tasks go on, failures and cancelling arrive, nothing burns a core."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any

import pytest

from fakes.kernels import Fail
from runtime import errors
from runtime.api import Device, Stream
from tests.tools.pace import slowness
from tests.unit.runtime.machines import MakeKernel


async def within(seconds: float, thing: Awaitable[Any]) -> None:
    """Await with a limit, as asyncio.timeout does from Python 3.11 on."""

    async def waits() -> None:
        await thing

    await asyncio.wait_for(waits(), seconds)


def test_work_is_done_where_a_stream_or_an_event_was_awaited(device: Device, stream: Stream) -> None:
    buffer = device.upload(bytes(64))

    async def program() -> None:
        stream.fill(buffer, 7)
        await stream.record(device.create_event(timing=True))
        assert device.download(buffer).tolist() == [7] * 64
        stream.fill(buffer, 9)
        await stream
        assert stream.ring.pending == 0
        await stream  # nothing to do
        await device.create_event()  # never recorded

    asyncio.run(program())
    assert device.download(buffer).tolist() == [9] * 64


def test_other_tasks_go_on_while_a_stream_is_awaited(device: Device, stream: Stream) -> None:
    flag = device.upload(bytes(8))
    order = []

    async def waits() -> None:
        stream.wait_value(flag, 1)
        await stream
        order.append("done")

    async def sets() -> None:
        await asyncio.sleep(0)
        order.append("set")
        device.copy(flag, (1).to_bytes(8, "little"))

    async def program() -> None:
        await asyncio.gather(waits(), sets())

    asyncio.run(program())
    assert order == ["set", "done"]


def test_an_awaited_stream_that_stands_still_costs_next_to_nothing(device: Device, stream: Stream) -> None:
    stream.wait_value(device.upload(bytes(8)), 1)
    used = time.thread_time()
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(within(0.3, stream))
    assert time.thread_time() - used < 0.2 * slowness()
    assert not stream.query()
    stream.abort()


def test_failures_reach_whoever_awaits(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    def broken(_context: Any) -> None:
        raise Fail("no")

    make_kernel("broken", broken)[1](0, stream=stream)
    with pytest.raises(errors.DeviceFault):
        asyncio.run(within(10, stream))
    asyncio.run(within(10, stream))  # once


def test_a_stream_is_closed_at_the_end_of_its_block(device: Device) -> None:
    buffer = device.upload(bytes(8))

    async def program() -> Stream:
        async with device.create_stream() as stream:
            stream.write_value(buffer, 5)
        return stream

    assert asyncio.run(program()).closed
    assert device.download(buffer, "u8").tolist() == [5]


def test_an_error_in_the_block_ends_the_work(device: Device) -> None:
    made = []

    async def program() -> None:
        async with device.create_stream() as stream:
            made.append(stream)
            stream.wait_value(device.upload(bytes(8)), 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(program())
    assert made[0].closed


def test_cancelling_a_block_that_waits_for_its_work_closes_the_stream(device: Device) -> None:
    made = []

    async def program() -> None:
        async with device.create_stream() as stream:
            made.append(stream)
            stream.wait_value(device.upload(bytes(8)), 1)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(within(0.05, program()))
    assert made[0].closed
