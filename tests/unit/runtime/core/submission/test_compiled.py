"""The compiled sends: what the driver gets, and what the ring is afterwards, is what the Python functions give."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import inspect
import pickle
import struct
import sys
import threading
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
CAPTURED = 25
"""The last step of a `Side`."""
Send = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(s.halTaskSendInfo))


class Side:
    """One of two machines that do the same, and all that its driver was given."""

    __match_args__ = ("url", "compiled_sends")

    def __init__(self, url: str, *, compiled_sends: bool) -> None:
        self.url, self.compiled_sends = url, compiled_sends
        self.sent: list[tuple[int, bytes]] = []
        self.kinds: set[str] = set()
        self._drivers: list[Any] = []
        held = NullApi.raw_held


        def raw_held(api: NullApi, name: str) -> Any:
            return self._driver(held(api, name)) if name == "halSqTaskSend" else held(api, name)

        NullApi.raw_held = raw_held
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
            (a, np.float32("nan"), np.int8(-3), np.uint64(value)), (a, b, x),
            (np.bool_(True), np.float16(2), 1 << 64, y),
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
            lambda: self.captured(value),
        ]  # fmt: skip
        try:
            return repr(steps[kind % len(steps)]())
        except (errors.RuntimeFault, TypeError, struct.error) as failure:
            return f"{type(failure).__name__}: {failure}"

    def captured(self, value: int) -> list[Any]:
        """Capture launches, a wrong one among them now and then; returns what nodes were made of them."""
        stream = self.streams[value % 2]
        with stream.capture() as graph:
            put = self.four.bind_device_arguments(stream, 8)
            for number in range(value + 1):
                put(8 * number)
            self.four[2](*self.buffers[:4], stream=stream)
            if value % 5 == 4:
                put(-1)
            put(np.uint64(value))  # type: ignore[arg-type]  # taken all the same
        graph.launch(stream)
        found = [(tuple(node.ids), node.task.args) for node in graph.kernels]  # type: ignore[attr-defined]
        found[value + 1] = (found[value + 1][0], 0)  # in memory of the graph
        graph.close(force=True)
        return found

    def state(self) -> list[Any]:
        """Return what rings and pools are."""
        found: list[Any] = []
        for stream in self.streams:
            ring: Any = stream.ring
            found.append((
                ring.submitted, ring.reclaimed, ring.limit, getattr(ring, "next_id", 0), getattr(ring, "flips", 0),
                getattr(ring, "allocations", 0), list(getattr(ring, "ids", ()) or ring.firsts),
                [str(owner) for owner in ring.owners], [block and block.address - self.base
                                                   for block in ring.arguments],
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


PROGRAMS = st.lists(st.tuples(st.integers(0, CAPTURED), st.integers(0, 40)), max_size=30)


@given(program=PROGRAMS)
def test_the_driver_gets_the_same_bytes(sides: tuple[Side, Side], program: list[tuple[int, int]]) -> None:
    compare(sides, program)


def test_captured_launches_become_the_same_nodes(sides: tuple[Side, Side]) -> None:
    compare(sides, [(CAPTURED, value) for value in (0, 1, 4, 17, 40, 9, 41)])


def kinds(side: Side) -> set[str]:
    return {type(send).__name__ for stream in side.streams for kept in (stream.launchers, stream.sends)
            for send in kept.values()}  # fmt: skip


def test_what_is_compared_is_compiled(sides: tuple[Side, Side]) -> None:
    fast, slow = sides
    compare(sides, [(kind, kind) for kind in range(CAPTURED)])  # a capture lets what was prepared go
    assert {"Send", "Grid"} <= kinds(fast)
    assert ("Launch" in kinds(fast)) is (fast.device.arguments.way != "ub")
    assert kinds(slow) == {"function"}
    captured = "function" if fast.device.arguments.way == "ub" else "Send"
    for side, kind in zip(sides, (captured, "function"), strict=True):
        with side.in_force(), side.streams[0].capture() as graph:  # of both, which stay the same
            assert type(side.four.bind_device_arguments(side.streams[0], 8)).__name__ == kind
        graph.close()


@pytest.mark.soak
def test_a_million_tasks_are_the_same(sides: tuple[Side, Side]) -> None:
    drawn = np.random.default_rng(1)
    for _ in range(1200):
        steps = drawn.integers((0, 0), (CAPTURED + 1, 41), (200, 2))
        compare(sides, [(int(kind), int(value)) for kind, value in steps])


# -- the lock, and what may happen around a send ----------------------------------------------------------------------


def in_thread(call: Callable[[], Any]) -> Any:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    thread.join(60)
    return answers[0]


def refused(lock: Any) -> bool:
    with pytest.raises(RuntimeError, match="does not hold"):
        lock.release()
    return True


def test_the_lock_is_its_owners() -> None:
    lock = compiled.stream_lock()
    with lock, lock:
        assert in_thread(lambda: lock.acquire(blocking=False)) is False
        assert in_thread(lambda: refused(lock)) is True
    assert in_thread(lambda: lock.acquire(False) and lock.release() is None) is True
    assert refused(lock)


@pytest.fixture
def null(open_machine: OpenMachine) -> Runtime:
    """A machine that accepts everything."""
    return open_machine(f"null://{V100}")


def one_argument(runtime: Runtime) -> tuple[Any, Kernel]:
    device = runtime.device(0)
    return device.create_stream(), device.load(minimal_kernel("k", 1)).only


def test_a_launch_waits_for_the_lock_of_another_thread(null: Runtime) -> None:
    stream, kernel = one_argument(null)
    launch = kernel.bind(stream, 1)
    launch(1)
    held, waiting = threading.Event(), threading.Event()

    def hold() -> int:
        with stream.lock:
            held.set()
            waiting.wait(60)
            return int(stream.ring.submitted)

    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(hold()))
    thread.start()
    held.wait(60)
    launcher = threading.Thread(target=launch, args=(2,))
    launcher.start()
    launcher.join(0.02)  # it must not be done by then
    assert launcher.is_alive()
    waiting.set()
    thread.join(60)
    launcher.join(60)
    assert (answers, stream.ring.submitted) == ([1], 2)


def test_threads_share_a_stream(null: Runtime) -> None:
    stream, kernel = one_argument(null)
    launch, at = kernel.bind(stream, 1), kernel.bind_device_arguments(stream, 1)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda: [(launch(1), at(64)) for _ in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    stream.synchronize()
    assert stream.ring.submitted == stream.ring.reclaimed == 4 * 500 * 2


class Dropped:
    """Asks, when it is dropped, whether another thread can take a lock."""

    def __init__(self, lock: Any, answers: list[bool]) -> None:
        self.lock, self.answers = lock, answers

    def __del__(self) -> None:
        self.answers.append(in_thread(lambda: self.lock.acquire(False) and self.lock.release() is None))


def test_what_is_dropped_is_dropped_when_the_lock_is_free(null: Runtime) -> None:
    stream, kernel = one_argument(null)
    launch = kernel.bind(stream, 1)
    answers: list[bool] = []
    for column in (stream.ring.owners, stream.ring.arguments):
        column[stream.ring.tail] = Dropped(stream.lock, answers)
        launch(1)
    assert answers == [True, True]


def test_a_driver_that_raises_leaves_nothing(open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, kernel = one_argument(open_machine(f"fake://{V200}"))
    buffer = stream.device.alloc(64)
    stream.device.hal.fake.attach(kernel.code, lambda context: None)

    def broken(*_: Any) -> int:
        raise KeyError("broken")

    with monkeypatch.context() as breaking:
        breaking.setattr(stream.senders[1], "send", broken)
        launch = kernel.bind(stream, 1)
        free = len(stream.device.arguments.pools[0].free)
        with pytest.raises(KeyError, match="broken"):
            launch(buffer)
    assert len(stream.device.arguments.pools[0].free) == free
    assert stream.ring.pending == 0
    assert in_thread(lambda: stream.lock.acquire(False) and stream.lock.release() is None) is True
    kernel.bind(stream, 1)(buffer)
    stream.synchronize()


def test_cycles_through_a_compiled_launch_are_collected(open_machine: OpenMachine) -> None:
    runtime = open_machine(f"null://{V100}")
    stream, kernel = one_argument(runtime)
    kernel[2](1, stream=stream)
    launch = kernel.bind(stream, 1)
    gone = weakref.ref(launch)
    stream.launchers["cycle"] = launch
    stream.close()
    del stream, launch
    gc.collect()
    assert gone() is None


def test_facts_that_do_not_belong_together_are_refused(null: Runtime) -> None:
    extension: Any = compiled.extension
    with pytest.raises(TypeError, match="member of __slots__"):
        extension.subscript(len, 1)
    with pytest.raises(TypeError, match=r"at most 0 arguments|takes no"):
        extension.Lock(1)
    with pytest.raises(ValueError, match="do not belong together"):
        extension.Launch(len, (None,) * 4, (None,) * 2, mover=0, flag=0, copied=0, count=1, before=0, image=b"", unit=1)


def test_what_is_returned_is_taken_for_a_function(null: Runtime) -> None:
    stream, kernel = one_argument(null)
    for made in (kernel[2], kernel.bind(stream, 2), kernel.bind_device_arguments(stream, 2)):
        python: Any = getattr(made, "__wrapped__")  # noqa: B009
        assert copy.copy(made) is copy.deepcopy(made) is made
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(made, name) == getattr(python, name)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            pickle.dumps(made)
        bound: Any = type("Net", (), {"forward": made})().forward
        assert bound.__func__ is made
        assert inspect.signature(made) == inspect.signature(python)


class Scaled(np.float32):
    """A scalar whose constructor takes something else than the value."""

    def __new__(cls, value: float, unit: str) -> Scaled:
        return super().__new__(cls, value)


class Told(np.int32):
    """A scalar that says something else than its bytes."""

    def __index__(self) -> int:
        return 5


@pytest.mark.parametrize("sends", ["as they are", "python"])
def test_scalars_of_derived_types_are_their_bytes(
    sends: str, request: pytest.FixtureRequest, open_machine: OpenMachine
) -> None:
    if sends == "python":
        request.getfixturevalue("python_sends")
    stream, kernel = one_argument(open_machine(f"fake://{V200}"))
    ran: list[int] = []
    stream.device.hal.fake.attach(kernel.code, lambda context: ran.append(context.args[0]))
    for value in (Scaled(1.0, "m"), Told(7), Scaled(1.0, "m")):
        kernel[1](value, stream=stream)
    stream.synchronize(10_000)
    assert ran == [0x3F800000, 7, 0x3F800000]
