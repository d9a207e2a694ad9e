"""Ways into the queue: copied by the driver or built in the mapped ring; flips of the ids; tasks that are too large."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace

import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Kernel, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.submission import submit
from runtime.core.submission.ring import NO_TASK, RingV100
from runtime.driver.queues import MappedRing

OpenMachine = Callable[[str], Runtime]
MAPPED, COPIED = "fake://ascend950pr_9599?seed=1&kernels=noop", "fake://ascend950pr_9599?seed=2&kernels=noop"


def launches(machine: Runtime) -> tuple[Stream, Kernel]:
    device = machine.device(0)
    return device.create_stream(), device.load(minimal_kernel("k", 1), name="k").only


def test_both_ways_bring_every_launch_to_the_device_over_the_end_of_the_ring(open_machine: OpenMachine) -> None:
    paths = set()
    for url in (MAPPED, COPIED):
        stream, kernel = launches(open_machine(url))
        paths.add(stream.sq_path)
        launch = kernel.bind(stream, 1)
        for number in range(stream.ring.depth + 100):
            launch(number)
            if number % 1000 == 0:
                stream.submit(Nop())
        stream.synchronize(10_000)
        queue = stream.device.hal.fake.device(0).by_stream[stream.stream_id]
        assert queue.done == stream.ring.submitted
        if stream.senders.ring is not None:
            assert stream.senders.ring.tail == stream.ring.tail == queue.tail
    assert paths == {"hardware SQ, built in the mapped ring", "hardware SQ, copied by the driver"}


class Info:
    """Stands for halTaskSendInfo."""

    sqe_addr = 0
    sqe_num = 2


def test_entries_that_wrap_are_left_to_the_driver() -> None:
    memory = ctypes.create_string_buffer(4 * 64)
    staging = bytearray(b"\xab" * 128)
    ring, info = MappedRing(ctypes.addressof(memory), 4), Info()
    seen: list[int] = []
    codes = [0, 1, 0, 0]

    def driver(_device: int, _reference: object) -> int:
        seen.append(info.sqe_addr)
        return codes.pop(0)

    send = ring.through(driver, info, staging)
    base, source = ring.base, ctypes.addressof(ctypes.c_char.from_buffer(staging))
    assert (send(0, None), ring.tail) == (0, 2)
    assert memory.raw[:128] == b"\xab" * 128
    assert (send(0, None), ring.tail) == (1, 2)  # refused: the same place again
    assert (send(0, None), ring.tail) == (0, 0)
    ring.tail = 3
    assert (send(0, None), ring.tail) == (0, 1)
    assert seen == [base, base + 128, base + 128, source]


@pytest.mark.parametrize("way", ["submit", "launch"])
def test_the_profiler_hears_of_ids_that_start_again(open_machine: OpenMachine, way: str) -> None:
    machine = open_machine("fake://ascend910b1?kernels=noop&seed=1")
    stream, kernel = launches(machine)
    assert isinstance(stream.ring, RingV100)
    stream.change_environment(task_profiling=True)
    stream.ring.next_id = NO_TASK - 1
    if way == "submit":
        stream.submit(Nop())
    else:
        kernel.bind(stream, 1)(0)
    stream.synchronize(30_000)
    kinds = [entry.kind for entry in machine.hal.fake.log if entry.stream == stream.stream_id]
    assert kinds == ["nop" if way == "submit" else "kernel", "flip"]
    assert (stream.ring.flips, stream.ring.next_id) == (1, 1)


def test_without_a_profiler_nothing_is_added(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b1?seed=1")
    stream = machine.device(0).create_stream()
    assert isinstance(stream.ring, RingV100)
    stream.ring.next_id = NO_TASK - 1
    stream.submit(Nop())
    stream.synchronize(30_000)
    assert stream.ring.submitted == 1


def test_a_task_of_too_many_entries_is_refused(stream: Stream) -> None:
    limits = replace(stream.env.chip.limits, max_sqe_per_task=0)
    stream.env = replace(stream.env, chip=replace(stream.env.chip, limits=limits))
    ended: list[int] = []
    with pytest.raises(errors.RuntimeFault, match="at most 0"):
        stream.submit(Nop(), finished=lambda: ended.append(1))
    assert ended == [1]
    assert stream.ring.submitted == 0


def test_each_thread_has_a_last_task(stream: Stream) -> None:
    stream.submit(Nop())
    first = submit.last_task_id()
    stream.submit(Nop())
    assert submit.last_task_id() == first + 1
