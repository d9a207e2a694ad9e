"""What the runtime tells the checkers of the fake: what a program goes by, and the blocks of pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakes import kernels
from fakes.checkers import Reports
from runtime.api import Device, Kernel, Runtime

TICKS = 130
"""Launches after which the runtime has looked twice on its own how far a stream is."""
COUNT = 24
SIZE = 4 * COUNT

Make = Callable[..., Kernel]


@pytest.fixture
def reports(machine: Runtime) -> Reports:
    """The reports of the machine."""
    return machine.hal.fake.reports  # type: ignore[no-any-return]


@pytest.mark.parametrize("seen", ["nothing", "query", "synchronize", "wait"])
def test_places_that_the_runtime_takes_back_order_nothing(
    device: Device, make_kernel: Make, reports: Reports, seen: str
) -> None:
    """The ring is looked at while it fills. Only what the program is told of that, it may go by."""
    fill, copy = make_kernel("fill", kernels.fill(1), 1), make_kernel("copy", kernels.copy(), 2)
    first, other, last = device.alloc(SIZE), device.alloc(SIZE), device.alloc(SIZE)
    with device.create_stream() as one, device.create_stream() as two, device.create_event() as event:
        fill[1](first, stream=one)
        one.record(event)
        for _ in range(TICKS):
            fill[1](other, stream=one)
        if seen == "query":
            while not event.query():
                pass
        elif seen == "synchronize":
            event.synchronize()
        elif seen == "wait":
            two.wait(event)
        with reports.expected(*(["race"] if seen == "nothing" else [])):
            copy[1](first, last, stream=two)
            one.synchronize()
            two.synchronize()


def test_a_synchronize_orders_what_the_runtime_has_looked_at_before_it(device: Device, make_kernel: Make) -> None:
    """The entry of a tick may be done, and taken back, before the program waits for it."""
    fill = make_kernel("fill", kernels.fill(1), 1)
    with device.create_stream() as stream, device.alloc(SIZE) as block:
        for _ in range(TICKS):
            fill[1](block, stream=stream)
            stream.synchronize()
            assert device.download(block, "f4").tolist() == [1.0] * COUNT


@pytest.mark.parametrize("mistake", ["none", "bounds", "uaf"])
def test_each_block_of_a_pool_has_bounds_and_an_end(
    device: Device, make_kernel: Make, reports: Reports, mistake: str
) -> None:
    """A block may be closed, and taken by others, while tasks that use it are queued; not before they are submitted."""
    count = COUNT + 1 if mistake == "bounds" else COUNT

    def work(context: Any) -> None:
        context.args.array(0, "f4", count)[:] = 1

    fill = make_kernel("fill", work, 1, grid=True)
    with device.create_stream() as stream, device.pool.alloc(SIZE, stream) as neighbour:
        with reports.expected(*([] if mistake == "none" else [mistake])) as found:
            with device.pool.alloc(SIZE, stream) as block:
                address = block.address
                fill[1](block, stream=stream)
            if mistake == "uaf":
                fill[1](address, stream=stream)
            with device.pool.alloc(SIZE, stream) as again:
                assert again.address == address
            stream.synchronize()
        fill[1](neighbour, stream=stream) if mistake != "bounds" else None
        stream.synchronize()
    text = {"none": "", "bounds": "4 bytes more than block", "uaf": "was given back before the task was submitted"}
    assert text[mistake] in str(found)


def test_a_view_without_a_count_ends_with_its_block(device: Device, make_kernel: Make) -> None:
    seen: list[int] = []
    look = make_kernel("look", lambda context: seen.append(context.args.array(0, "u1").size), 1, grid=True)
    with device.create_stream() as stream, device.pool.alloc(SIZE, stream) as block:
        look[1](block, stream=stream)
        look[1](block.address + 8, stream=stream)
        stream.synchronize()
    assert seen == [SIZE, SIZE - 8]
