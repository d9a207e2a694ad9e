"""Ctrl-C while tasks are sent: ring, queue, arguments and callbacks agree afterwards, wherever it came."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from chips.tasks import Nop
from runtime.api import Device, Stream
from runtime.core.submission import compiled
from runtime.core.submission.ring import NO_TASK, RingV100
from tests.tools.interrupts import Interrupter, all_free
from tests.unit.runtime.machines import MakeKernel, OpenMachine

SENDING = (
    "launch/launcher.py", "launch/args.py", "launch/compiled.py", "submission/prepared.py", "submission/submit.py",
    "submission/repair.py", "submission/runs.py", "process/handles.py",
    "submission/sink.py", "submission/ring.py", "stream/stream.py", "submission/completion.py",
    "driver/queues/send.py", "driver/queues/pairs.py",
)  # fmt: skip
MOST_PLACES = 400


def free_blocks(device: Device) -> list[int]:
    return [block.address for pool in device.arguments.pools for block in pool.free]


def no_lock_is_held(stream: Stream) -> bool:
    """Whether no thread holds a lock of a stream."""
    return all_free(stream.lock, stream.reports.lock)


@pytest.mark.parametrize("chip", ["ascend910b1"])
def test_the_last_task_before_the_ids_start_again(open_machine: OpenMachine, chip: str) -> None:
    stream = open_machine(f"fake://{chip}?seed=1").device(0).create_stream()
    ring = stream.ring
    assert isinstance(ring, RingV100)
    event = stream.device.create_event()
    stream.record(event)

    def check(place: int) -> None:
        assert ring.next_id in (0, NO_TASK - 1), f"place {place}"  # and never the id of no task
        assert ring.flips == (ring.next_id == 0), f"place {place}"
        before_the_last()

    def before_the_last() -> None:
        stream.synchronize(10_000)
        ring.next_id, ring.flips = NO_TASK - 1, 0

    before_the_last()
    assert Interrupter(*SENDING).everywhere(lambda: stream.record(event), check, MOST_PLACES) >= 2
    assert Interrupter(*SENDING).everywhere(lambda: stream.submit(Nop()), check, MOST_PLACES) >= 7


@pytest.mark.parametrize("submitted", [0, 63], ids=["plain", "with reclaim"])
def test_a_launch(device: Device, stream: Stream, make_kernel: MakeKernel, submitted: int) -> None:
    ran: list[int] = []
    kernel = make_kernel("note", lambda context: ran.append(context.args[0]))
    launch = kernel.bind(stream, 1)
    for _ in range(submitted):
        launch(0)
    blocks = len(free_blocks(device)) + stream.ring.pending
    lost = 0

    def check(place: int) -> None:
        nonlocal lost
        assert no_lock_is_held(stream), f"place {place}"
        launch(place)
        stream.synchronize(10_000)
        assert stream.ring.pending == 0
        assert device.queues.tail(stream.queues.sq_id) == stream.ring.tail
        assert ran[-1] == place, f"place {place}"
        assert ran[:-1] in ([], [7], [0] * submitted, [0] * submitted + [7]), f"place {place}"
        ran.clear()
        free = free_blocks(device)
        assert [address for address, count in Counter(free).items() if count > 1] == [], f"place {place}"
        lost = blocks - len(free)
        while stream.ring.submitted % 64 != submitted % 64:
            stream.submit(Nop())
        stream.synchronize(10_000)

    places = Interrupter(*SENDING).everywhere(lambda: launch(7), check, MOST_PLACES)
    assert places >= (7 if compiled.extension is None else 2)  # a compiled launch is left in the driver alone
    # Between two calls of the launcher a block belongs to nobody. The pool has it again when the device is closed.
    assert lost <= 8, lost


@pytest.mark.parametrize("submitted", [0, 63], ids=["plain", "with reclaim"])
def test_a_task_of_the_general_path(device: Device, stream: Stream, submitted: int) -> None:
    finished: list[str] = []
    for _ in range(submitted):
        stream.submit(Nop())

    def check(place: int) -> None:
        assert no_lock_is_held(stream), f"place {place}"
        stream.submit(Nop())
        stream.synchronize(10_000)
        assert stream.ring.pending == 0
        assert device.queues.tail(stream.queues.sq_id) == stream.ring.tail
        assert finished in ([], ["once"]), f"place {place}"
        told[place] = len(finished)
        finished.clear()
        while stream.ring.submitted % 64 != submitted % 64:
            stream.submit(Nop())
        stream.synchronize(10_000)

    told: dict[int, int] = {}
    places = Interrupter(*SENDING).everywhere(
        lambda: stream.submit(Nop(), finished=lambda: finished.append("once")), check, MOST_PLACES
    )
    assert places >= 10
    never = [place for place, times in told.items() if not times]
    assert never == list(range(len(never)))  # there the call has not begun
    assert len(never) <= 5


@pytest.mark.parametrize("sends", ["as they are", "python"])
def test_a_launch_with_arguments_on_the_device(
    sends: str, request: pytest.FixtureRequest, device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    if sends == "python":
        request.getfixturevalue("python_sends")
    ran: list[int] = []
    kernel = make_kernel("note", lambda context: ran.append(context.args[0]))
    block = device.upload(np.array([7], np.uint64))
    launch = kernel.bind_device_arguments(stream, 1)

    def check(place: int) -> None:
        assert no_lock_is_held(stream), f"place {place}"
        launch(block.address)
        stream.synchronize(10_000)
        assert device.queues.tail(stream.queues.sq_id) == stream.ring.tail
        assert ran in ([7], [7, 7]), f"place {place}"
        ran.clear()

    places = Interrupter(*SENDING).everywhere(lambda: launch(block.address), check, MOST_PLACES)
    assert sends != "python" or places >= 3
