"""What the checkers are built of, against plain models: clocks, the history of bytes, arrays that tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.checkers.order import Actor
from fakes.checkers.shadow import Shadow, Work
from fakes.checkers.tracked import Tracked, track
from tests.tools.examples import examples

ACTORS = 4


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, ACTORS - 1), st.integers(0, ACTORS - 1)), max_size=40))
def test_clocks_know_exactly_what_happened_before(edges: list[tuple[int, int]]) -> None:
    """Against the sets of steps that really lie before: a pair (a, b) lets b go on after all that a has done."""
    actors = [Actor(index) for index in range(ACTORS)]
    before: list[set[tuple[int, int]]] = [{(index, 1)} for index in range(ACTORS)]
    for source, target in edges:
        if source != target:
            actors[target].join(actors[source].stamp())
            before[target] |= before[source]
        for index in {source, target}:
            actors[index].tick += 1
            before[index].add((index, actors[index].tick))
    for mine in range(ACTORS):
        for other in range(ACTORS):
            for tick in range(1, actors[other].tick + 1):
                assert actors[mine].knows(other, tick) == ((other, tick) in before[mine] or other == mine)


def work(number: int) -> Work:
    return Work(number, 1, number, "", 0, 0, 0, None)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), st.booleans()), max_size=30))
def test_the_history_of_bytes_is_that_of_each_byte(steps: list[tuple[int, int, bool]]) -> None:
    shadow, model = Shadow(), dict.fromkeys(range(100), 0)
    for number, (low, size, forget) in enumerate(steps, 1):
        high = low + size
        if forget:
            shadow.forget(low, high)
            model.update(dict.fromkeys(range(low, high), 0))
            continue
        segments = shadow.cover(low, high)
        assert sum(1 for _ in segments) >= 1
        segments[0].write = work(number)
        shadow.unite(low, high, segments[0])
        model.update(dict.fromkeys(range(low, high), number))
    for at, number in model.items():
        found = shadow.within(at, at + 1)
        assert [segment.write.actor for segment in found if segment.write] == ([number] if number else [])


Touches = list[tuple[int, int, bool]]


@pytest.fixture
def touches() -> Touches:
    return []


@pytest.fixture
def array(touches: Touches) -> Tracked:
    """Sixteen float32 at device address 0x1000."""
    return track(np.arange(16, dtype=np.float32), 0x1000, lambda *touch: touches.append(touch))


def assign(array: Any, key: Any, value: Any) -> None:
    array[key] = value


@pytest.mark.parametrize(("action", "read", "written"), [
    (lambda a: a[2:4], (), ()),
    (lambda a: a[0] + 1, [(0, 4)], ()),
    (lambda a: a[2:4] + a[8:10], [(8, 8), (32, 8)], ()),
    (lambda a: a[:4].sum(), [(0, 16)], ()),
    (lambda a: np.concatenate([a[:1], a[3:4]]), [(0, 4), (12, 4)], ()),
    (lambda a: a[:2].copy(), [(0, 8)], ()),
    (lambda a: a[:2].tobytes(), [(0, 8)], ()),
    (lambda a: float(a[:1].reshape(())), [(0, 4)], ()),
    (lambda a: a[[1, 2, 5]], [(4, 8), (20, 4)], ()),
    (lambda a: a[::-1][:2] * 2, [(56, 8)], ()),
    (lambda a: repr(a[:1]), [(0, 4)], ()),
    (lambda a: assign(a, slice(0, 2), 1), (), [(0, 8)]),
    (lambda a: assign(a, slice(0, 2), a[4:6]), [(16, 8)], [(0, 8)]),
    (lambda a: assign(a, [1, 2, 5], 0), (), [(4, 8), (20, 4)]),
    (lambda a: assign(a.reshape(4, 4), (slice(None), 0), 0), (), [(0, 4), (16, 4), (32, 4), (48, 4)]),
    (lambda a: np.copyto(a[:2], a[4:6]), [(16, 8)], [(0, 8)]),
    (lambda a: np.add(a[:2], 1, out=a[4:6]), [(0, 8)], [(16, 8)]),
    (lambda a: np.add.at(a, [1, 3], 1), (), [(4, 4), (12, 4)]),
    (lambda a: a[:2].fill(0), (), [(0, 8)]),
    (lambda a: (a[:2].copy() + 1).sum(), [(0, 8)], ()),
])  # fmt: skip
def test_arrays_tell_what_is_done_to_them(
    array: Tracked, touches: Touches, action: Any, read: Any, written: Any
) -> None:
    action(array)
    assert sorted((at - 0x1000, size) for at, size, write in touches if not write) == sorted(read)
    assert sorted((at - 0x1000, size) for at, size, write in touches if write) == sorted(written)


def test_results_are_those_of_ordinary_arrays(array: Tracked) -> None:
    plain = np.arange(16, dtype=np.float32)
    array[:4] *= 2
    plain[:4] *= 2
    array.reshape(4, 4)[:] = array.reshape(4, 4) @ array.reshape(4, 4)
    plain.reshape(4, 4)[:] = plain.reshape(4, 4) @ plain.reshape(4, 4)
    assert np.asarray(array).tolist() == plain.tolist()
    assert type(array + array) is np.ndarray
