"""Blocks left to the garbage collector: freed once, behind a fence, and never by two threads."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from runtime.errors.closing import Again, Steps
from runtime.memory.deferred_free import DeferredFrees
from runtime.memory.device import DeviceBuffer
from runtime.memory.fences import Fence
from tests.tools.interrupts import Interrupter


def drop(deferred_frees: DeferredFrees, number: int, free: Callable[[int], None]) -> None:
    """Adopt a buffer whose address is a number, and drop it."""
    deferred_frees.adopt(DeviceBuffer(SimpleNamespace(owner_tag=0), number, 64), free)


class Bench:
    """DeferredFrees whose fences a test opens by hand."""

    def __init__(self) -> None:
        self.freed: list[int] = []
        self.fences: list[bool] = []
        self.deferred_frees = DeferredFrees(self.fence)

    def drop(self, number: int) -> None:
        drop(self.deferred_frees, number, self.freed.append)

    def fence(self) -> Fence:
        number = len(self.fences)
        self.fences.append(False)
        return lambda: self.fences[number]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_to_do_asks_for_no_fence(bench: Bench) -> None:
    bench.deferred_frees.sweep()
    assert bench.fences == []


def test_a_block_waits_for_what_was_submitted_before_the_sweep(bench: Bench) -> None:
    bench.drop(1)
    bench.deferred_frees.sweep()
    bench.deferred_frees.sweep()
    assert bench.freed == []
    bench.fences[0] = True
    bench.deferred_frees.sweep()
    bench.deferred_frees.sweep()
    assert bench.freed == [1]


def test_later_blocks_get_a_fence_of_their_own(bench: Bench) -> None:
    bench.drop(1)
    bench.deferred_frees.sweep()
    bench.drop(2)
    bench.fences[0] = True
    bench.deferred_frees.sweep()
    assert bench.freed == [1]
    bench.fences[1] = True
    bench.deferred_frees.sweep()
    assert bench.freed == [1, 2]


def test_close_frees_everything_at_once(bench: Bench) -> None:
    bench.drop(1)
    bench.deferred_frees.sweep()
    bench.drop(2)
    bench.deferred_frees.close()
    assert sorted(bench.freed) == [1, 2]
    bench.deferred_frees.close()
    assert len(bench.freed) == 2


def test_a_failing_free_is_not_repeated_and_loses_nothing() -> None:
    freed: list[int] = []

    def free(address: int) -> None:
        freed.append(address)
        if address == 2:
            raise OSError

    deferred_frees = DeferredFrees(lambda: lambda: True)
    for address in (1, 2, 3):
        drop(deferred_frees, address, free)
    with pytest.raises(OSError):  # noqa: PT011
        deferred_frees.sweep()
    drop(deferred_frees, 4, free)
    deferred_frees.close()
    assert sorted(freed) == sorted(set(freed))
    assert 4 in freed


def test_two_threads_never_free_a_block_twice() -> None:
    freed: list[int] = []
    inside, go_on = threading.Event(), threading.Event()

    def passed() -> bool:
        inside.set()
        assert go_on.wait(30)
        return True

    deferred_frees = DeferredFrees(lambda: passed)
    drop(deferred_frees, 1, freed.append)
    thread = threading.Thread(target=deferred_frees.sweep)
    thread.start()
    assert inside.wait(30)
    deferred_frees.sweep()  # the other thread is at it: this one goes on with its allocation
    assert freed == []
    go_on.set()
    thread.join()
    assert freed == [1]


def test_a_block_dropped_during_a_sweep_waits_for_the_next_one() -> None:
    freed: list[int] = []

    def free(address: int) -> None:
        freed.append(address)
        if address == 1:
            drop(deferred_frees, 2, free)  # the collector may run at any time

    deferred_frees = DeferredFrees(lambda: lambda: True)
    drop(deferred_frees, 1, free)
    deferred_frees.sweep()
    assert freed == [1]
    deferred_frees.sweep()
    assert freed == [1, 2]


def test_a_buffer_in_a_cycle_is_found_by_the_collector(bench: Bench) -> None:
    class Holder:
        pass

    holder, buffer = Holder(), DeviceBuffer(SimpleNamespace(owner_tag=0), 1, 64)
    holder.itself, holder.buffer = holder, buffer  # type: ignore[attr-defined]
    bench.deferred_frees.adopt(buffer, bench.freed.append)
    seen = weakref.ref(buffer)
    del holder, buffer
    gc.collect()
    assert seen() is None
    bench.deferred_frees.sweep()
    bench.fences[0] = True
    bench.deferred_frees.sweep()
    assert bench.freed == [1]


def test_what_is_alive_and_open_is_known(bench: Bench) -> None:
    device = SimpleNamespace(deferred_frees=bench.deferred_frees, owner_tag=0)
    buffers = [DeviceBuffer(device, number, 64, bench.freed.append) for number in (1, 2, 3)]
    for buffer in buffers:
        bench.deferred_frees.adopt(buffer, bench.freed.append)
    buffers[0].close()
    assert bench.deferred_frees.buffers() == {2: buffers[1], 3: buffers[2]}
    del buffers, buffer
    assert bench.deferred_frees.buffers() == {}
    assert bench.freed == [1]  # the others wait for a sweep and its fence


def test_closing_from_two_threads_at_once_frees_once(bench: Bench) -> None:
    buffer = DeviceBuffer(SimpleNamespace(deferred_frees=bench.deferred_frees, owner_tag=0), 1, 64, bench.freed.append)
    bench.deferred_frees.adopt(buffer, bench.freed.append)
    buffer.close()
    buffer.closed = False  # as another thread has seen it
    buffer.close()
    del buffer
    bench.deferred_frees.sweep()
    assert (bench.freed, bench.fences) == ([1], [])


def test_an_interrupt_of_a_close_leaves_a_block_that_somebody_else_has_by_then(bench: Bench) -> None:
    theirs, rows = object(), {1: object(), 2: object()}

    def release(address: int) -> None:
        if address == 1:  # freed, and taken by another thread, before the interrupt is raised
            bench.freed.append(address)
            rows[address] = theirs
        raise KeyboardInterrupt

    for address in (1, 2):
        buffer = DeviceBuffer(SimpleNamespace(deferred_frees=bench.deferred_frees, owner_tag=0), address, 64, release)
        bench.deferred_frees.adopt(buffer, bench.freed.append, rows)
        with pytest.raises(KeyboardInterrupt):
            buffer.close()
        buffer.close()
        del buffer
    bench.deferred_frees.sweep()
    bench.fences = [True] * len(bench.fences)
    bench.deferred_frees.sweep()
    assert bench.freed == [1, 2]
    assert rows[1] is theirs


def test_an_interrupt_of_a_sweep_loses_nothing_and_frees_nothing_twice() -> None:
    freed: list[int] = []
    left: list[int] = []
    deferred_frees = DeferredFrees(lambda: lambda: True)
    rows = {number: object() for number in range(3000)}

    def free(address: int) -> None:
        del rows[address]
        freed.append(address)

    def drop_some() -> None:
        for number in range(len(freed), len(freed) + 3):
            deferred_frees.adopt(DeviceBuffer(SimpleNamespace(owner_tag=0), number, 64), free, rows)
        deferred_frees.leave(Again(lambda: left.append(1)))

    def check(place: int) -> None:
        deferred_frees.sweep()
        deferred_frees.sweep()
        assert sorted(freed) == list(range(3 * (place + 1))), interrupter.at
        assert len(left) >= place + 1, interrupter.at
        drop_some()

    drop_some()
    interrupter = Interrupter("memory/deferred_free.py")
    assert interrupter.everywhere(deferred_frees.sweep, check, 200) >= 20
    assert len(deferred_frees.pending) <= 6


def test_a_close_that_ends_while_a_sweep_counts_takes_its_own_steps_out() -> None:
    freed: list[int] = []
    closed = Steps([lambda: freed.append(1)])

    def fence() -> Fence:
        closed.finish(deferred_frees.dropped)  # in another thread
        return lambda: True

    deferred_frees = DeferredFrees(fence)
    for others in (0, 1):
        deferred_frees.leave(closed)
        for _ in range(others):
            drop(deferred_frees, 2, freed.append)
        deferred_frees.sweep()
    assert freed == [1, 2]
    assert not deferred_frees.dropped
    assert not deferred_frees.waiting
