"""Counters of a pool against counters that are kept one by one."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.memory.statistics import Counter, Statistics
from tests.tools.examples import examples

NAMES = ("allocation", "active", "allocated_bytes", "active_bytes", "requested_bytes")
Block = tuple[int, int]


def amounts(block: Block) -> Iterator[tuple[str, int]]:
    size, requested = block
    yield from zip(NAMES, (1, 1, size, size, requested), strict=True)


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 900)), max_size=60))
def test_folded_counters_say_what_single_ones_do(steps: list[tuple[int, int]]) -> None:
    statistics, naive = Statistics(), {name: Counter() for name in NAMES}
    used: list[Block] = []
    pending: list[Block] = []

    def free(block: Block, active: bool, whole: bool) -> None:
        for name, amount in amounts(block):
            if active if name.startswith("active") else whole:
                naive[name].take(amount)

    for what, number in steps:
        if what <= 1:
            used.append((number * 512, number))
            statistics.took(*used[-1])
            for name, amount in amounts(used[-1]):
                naive[name].add(amount)
        elif what in (2, 3) and used:
            block = used.pop(number % len(used))
            statistics.gave(*block)
            free(block, active=what == 2, whole=True)
            if what == 3:
                statistics.pends(block[0])
                pending.append(block)
        elif what == 4 and pending:
            block = pending.pop(number % len(pending))
            statistics.rested(block[0])
            free(block, active=True, whole=False)
        elif what == 5:
            statistics.reset_peaks()
            for counter in naive.values():
                counter.peak = counter.current
            if number % 2:
                statistics.reset_accumulated()
                for counter in naive.values():
                    counter.allocated = counter.freed = 0
        found = dict(statistics.counters())
        assert {name: found[name] for name in NAMES} == naive
