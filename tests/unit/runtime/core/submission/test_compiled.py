"""The compiled sends: what the driver gets, and what the ring is afterwards, is what the Python functions give."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fakes.tiers.null import NullApi
from npuhal import constants as c
from npuhal import structs as s
from runtime import errors
from runtime.api import Event, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.submission import compiled
from runtime.core.submission.ring import NO_TASK, RingV100
from tests.unit.runtime.machines import V100, V200, OpenMachine

pytestmark = pytest.mark.skipif(compiled.extension is None, reason=f"sends are {compiled.told()}")

MACHINES = (f"{V100}?args=dma", f"{V100}?swsq=0&args=bar", f"{V200}?swsq=1&args=dma", f"{V200}?swsq=0&args=bar",
            f"{V200}?swsq=1&args=ub")  # fmt: skip
REFUSED_EVERY = 41
Send = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(s.halTaskSendInfo))


class Side:
    """One of two machines that do the same, and all that its driver was given."""

    def __init__(self, url: str, *, compiled_sends: bool) -> None:
        self.sent: list[tuple[int, bytes]] = []
        self.kinds: set[str] = set()
        self._drivers: list[Any] = []
        held = NullApi.raw_held
        NullApi.raw_held = lambda api, name: self._driver(held(api, name)) if name == "halSqTaskSend" else held(api, name)
        extension = compiled.extension
        compiled.extension = extension if compiled_sends else None
        try:
            self.runtime = Runtime(f"null://{url}")
            device = self.device = self.runtime.device(0)
            self.base = device.hal.fake.memory.base
            self.streams = [device.create_stream() for _ in range(2)]
            for stream in self.streams:
                if isinstance(stream.ring, RingV100):
                    stream.ring.next_id = NO_TASK - 500
            self.four, self.eight = (device.load(minimal_kernel(f"k{n}", n)).only for n in (4, 8))
            self.buffers = [device.alloc(4096) for _ in range(8)]
            self.events = [Event(device, Event(device).flags.SYNC, renewed=False), device.create_event()]
            self.notify = device.create_notify()
            self.bound = [self.eight.bind(stream, 8) for stream in self.streams]
            self.at = [self.four.bind_device_arguments(stream, 8) for stream in self.streams]
            with self.streams[0].capture() as self.graph:
                self.four[1](*self.buffers[:4], stream=self.streams[0])
            for step in range(40):  # everything is prepared once
                self.step(step, step)
        finally:
            compiled.extension = extension
            NullApi.raw_held = held
        self.extension = extension if compiled_sends else None

    def _driver(self, send: Callable[..., int]) -> Any:
        """Return a C function in front of the backend's, which is what the compiled sends call."""
        calls = 0

        def take(device: int, info: Any) -> int:
            nonlocal calls
            calls += 1
            if calls % REFUSED_EVERY == 0:
                return int(c.DRV_ERROR_NO_RESOURCES)
            found = info.contents
            self.sent.append((found.sqId, ctypes.string_at(found.sqe_addr, 64 * found.sqe_num)))
            return send(device, ctypes.byref(found))

        self._drivers.append(Send(take))
        return self._drivers[-1]

    def step(self, kind: int, value: int) -> str:
        """Do one thing; returns what it answers, or its error."""
        stream, other = self.streams[value % 2], self.streams[1 - value % 2]
        a, b, x, y = (self.buffers[(value + n) % 8] for n in range(4))
        rows: list[tuple[Any, ...]] = [
            (a, b, x, y), (a, b, value, np.float32(0.5)), (a, value, value * value, True), (a, b, -value, y),
            (a, np.float32("nan"), np.int8(-3), np.uint64(value)), (a, b, x), (np.bool_(True), np.float16(2), 1 << 64, y),
            (a, b"12345678", x, y), (a.view(64), None, x, y), (np.float64("inf"), np.int32(-value), np.int16(9), a),
        ]  # fmt: skip
        steps: list[Callable[[], object]] = [
            lambda: self.at[value % 2](a.address + 8 * value),
            *(lambda row=row: self.four[1 + value % 3](*row, stream=stream) for row in rows),
            lambda: self.bound[value % 2](*self.buffers),
            lambda: self.bound[value % 2](*self.buffers[:7], value),
            lambda: self.events[value % 3 // 2].record(stream) and None,
            lambda: stream.wait(self.events[value % 3 // 2]),
            lambda: other.wait(self.events[value % 3 // 2]),
            lambda: self.notify.record(stream),
            lambda: self.notify.wait(other),
            lambda: stream.copy(a, b, value + 1),
            lambda: stream.copy(a, b),
            lambda: self.graph.launch(stream),
            lambda: self.at[value % 2](-1),
            lambda: self.four[value % 3](a, b, x, y),
            lambda: [self.at[value % 2](8 * n) for n in range(100)] and None,
            lambda: stream.synchronize(),
        ]  # fmt: skip
        try:
            return repr(steps[kind % len(steps)]())
        except (errors.RuntimeFault, TypeError, struct.error) as failure:
            return f"{type(failure).__name__}: {failure}"

    def state(self) -> list[Any]:
        """Return what rings and pools are."""
        found: list[Any] = []
        for stream in self.streams:
            ring: Any = stream.ring
            found.append((
                ring.submitted, ring.reclaimed, ring.limit, getattr(ring, "next_id", 0), getattr(ring, "flips", 0),
                getattr(ring, "allocations", 0), list(getattr(ring, "ids", ()) or ring.firsts),
                [str(owner) for owner in ring.owners], [block and block.address - self.base for block in ring.arguments],
                [end for end, _ in ring.completion_callbacks], [kept is not None for kept in ring.kept or ()],
            ))  # fmt: skip
        pools = self.device.arguments.pools
        return [*found, [[block.address - self.base for block in pool.free] for pool in pools]]

    def bytes_sent(self) -> NDArray[np.uint32]:
        """Return all entries, each behind the number of its queue; and what is in the blocks of arguments."""
        blocks = [block for pool in self.device.arguments.pools for block in pool.free]
        images = [bytes(block.view[block.offset : block.offset + 128]) for block in blocks]
        sent = [sq.to_bytes(4, "little") + entries for sq, entries in self.sent]
        return np.frombuffer(b"".join((*sent, *images)), np.uint32)

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Prepare what is prepared now as this side does."""
        before, compiled.extension = compiled.extension, self.extension
        try:
            yield
        finally:
            compiled.extension = before


@pytest.fixture(scope="module", params=MACHINES)
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    """The same machine twice: with compiled sends, and with Python functions."""
    both = Side(request.param, compiled_sends=True), Side(request.param, compiled_sends=False)
    yield both
    for side in both:
        side.runtime.close(force=True)


def compare(sides: tuple[Side, Side], program: list[tuple[int, int]]) -> None:
    answers = []
    for side in sides:
        side.sent.clear()
        with side.in_force():
            answers.append([side.step(*step) for step in program])
    fast, slow = sides
    assert answers[0] == answers[1]
    ours, theirs = fast.bytes_sent(), slow.bytes_sent()
    assert len(ours) == len(theirs)
    # The memory of the two machines lies a multiple of 4 GiB apart: the upper halves of its addresses differ by that,
    # also where they begin in the upper half of a word, and where instructions of the scheduler's programs have them.
    apart = slow.base - fast.base
    moved = np.isin(theirs.astype(np.int64) - ours, (apart >> 32, apart >> 16, apart >> 17))
    assert list(np.flatnonzero((ours != theirs) & ~moved)) == []
    assert fast.state() == slow.state()


PROGRAMS = st.lists(st.tuples(st.integers(0, 24), st.integers(0, 40)), max_size=30)


@given(program=PROGRAMS)
def test_the_driver_gets_the_same_bytes(sides: tuple[Side, Side], program: list[tuple[int, int]]) -> None:
    compare(sides, program)


def test_what_is_compared_is_compiled(sides: tuple[Side, Side]) -> None:
    fast, slow = sides
    kinds = {type(send).__name__ for stream in fast.streams for send in (*stream.launchers.values(),
                                                                        *stream.sends.values())}  # fmt: skip
    assert {"Send", "Grid"} <= kinds
    assert ("Launch" in kinds) is (fast.device.arguments.way != "ub")
    assert {type(send).__name__ for stream in slow.streams for send in (*stream.launchers.values(),
                                                                        *stream.sends.values())} == {"function"}  # fmt: skip


@pytest.mark.soak
def test_a_million_tasks_are_the_same(sides: tuple[Side, Side]) -> None:
    drawn = np.random.default_rng(1)
    for _ in range(1200):
        compare(sides, [(int(kind), int(value)) for kind, value in drawn.integers((0, 0), (25, 41), (200, 2))])
