"""Blocks left to the garbage collector: freed once, behind a fence, and never by two threads."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from runtime.memory.fences import Fence
from runtime.memory.orphans import Orphans


class Bench:
    """Orphans whose fences a test opens by hand."""

    def __init__(self) -> None:
        self.freed: list[int] = []
        self.fences: list[bool] = []
        self.orphans = Orphans(self.fence)

    def drop(self, number: int) -> None:
        self.orphans.drop(partial(self.freed.append, number))

    def fence(self) -> Fence:
        number = len(self.fences)
        self.fences.append(False)
        return lambda: self.fences[number]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_nothing_to_do_asks_for_no_fence(bench: Bench) -> None:
    bench.orphans.sweep()
    assert bench.fences == []


def test_a_block_waits_for_what_was_submitted_before_the_sweep(bench: Bench) -> None:
    bench.drop(1)
    bench.orphans.sweep()
    bench.orphans.sweep()
    assert bench.freed == []
    bench.fences[0] = True
    bench.orphans.sweep()
    bench.orphans.sweep()
    assert bench.freed == [1]


def test_later_blocks_get_a_fence_of_their_own(bench: Bench) -> None:
    bench.drop(1)
    bench.orphans.sweep()
    bench.drop(2)
    bench.fences[0] = True
    bench.orphans.sweep()
    assert bench.freed == [1]
    bench.fences[1] = True
    bench.orphans.sweep()
    assert bench.freed == [1, 2]


def test_close_frees_everything_at_once(bench: Bench) -> None:
    bench.drop(1)
    bench.orphans.sweep()
    bench.drop(2)
    bench.orphans.close()
    assert sorted(bench.freed) == [1, 2]
    bench.orphans.close()
    assert len(bench.freed) == 2


def test_a_failing_free_is_not_repeated_and_loses_nothing() -> None:
    freed: list[int] = []

    def free(address: int) -> None:
        freed.append(address)
        if address == 2:
            raise OSError

    orphans = Orphans(lambda: lambda: True)
    for address in (1, 2, 3):
        orphans.drop(partial(free, address))
    with pytest.raises(OSError):  # noqa: PT011
        orphans.sweep()
    orphans.drop(partial(free, 4))
    orphans.close()
    assert sorted(freed) == sorted(set(freed))
    assert 4 in freed


def test_two_threads_never_free_a_block_twice() -> None:
    freed: list[int] = []
    inside, go_on = threading.Event(), threading.Event()

    def passed() -> bool:
        inside.set()
        assert go_on.wait(30)
        return True

    orphans = Orphans(lambda: passed)
    orphans.drop(partial(freed.append, 1))
    thread = threading.Thread(target=orphans.sweep)
    thread.start()
    assert inside.wait(30)
    orphans.sweep()  # the other thread is at it: this one goes on with its allocation
    assert freed == []
    go_on.set()
    thread.join()
    assert freed == [1]


def test_a_block_dropped_during_a_sweep_waits_for_the_next_one() -> None:
    freed: list[int] = []

    def free(address: int) -> None:
        freed.append(address)
        if address == 1:
            orphans.drop(partial(free, 2))  # the collector may run at any time

    orphans = Orphans(lambda: lambda: True)
    orphans.drop(partial(free, 1))
    orphans.sweep()
    assert freed == [1]
    orphans.sweep()
    assert freed == [1, 2]
