"""Batches: the driver gets what single calls give it, whatever is in them and however often they are sent."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.tiers.null import NullApi
from npuhal import constants as c
from runtime import errors
from runtime.api import Device, Kernel, LaunchOptions, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.submission import compiled
from runtime.core.submission.ring import NO_TASK, RingV100
from runtime.launch.batch import multi_sqe
from runtime.launch.batch.shape import Shape
from runtime.launch.templates import context_template, launch_template
from tests.tools.examples import examples
from tests.tools.interrupts import Interrupter, all_free
from tests.unit.runtime.launch.test_mix import mix_kernel
from tests.unit.runtime.machines import V100, V200, MakeKernel

MACHINES = (f"{V100}?args=dma", f"{V100}?swsq=0&args=bar", f"{V200}?swsq=1&args=dma", f"{V200}?swsq=0&args=bar",
            f"{V200}?swsq=1&args=ub")  # fmt: skip
REFUSED_EVERY = 23
TIMEOUT_MS = 10_000
Step = tuple[int, int]
Sent = tuple[bytes, bytes]


class Side:
    """One of two machines that do the same; each SQE that its driver was given, and the arguments of launches."""

    def __init__(self, url: str) -> None:
        self.sent: list[Sent] = []
        self.calls, self.sq_id = 0, -1
        held = NullApi.raw_held

        def raw_held(api: NullApi, name: str) -> Any:
            return self._driver(held(api, name)) if name == "halSqTaskSend" else held(api, name)

        NullApi.raw_held = raw_held  # type: ignore[method-assign]
        try:
            self.runtime = Runtime(f"null://{url}")
            device = self.device = self.runtime.device(0)
            self.stream = device.create_stream()
            self.sq_id = self.stream.queues.sq_id
            multi_sqe.batch_sender(self.stream)
        finally:
            NullApi.raw_held = held  # type: ignore[method-assign]
        self.base = device.hal.fake.memory.base
        self.kernels = [device.load(minimal_kernel(f"k{n}", n)).only for n in (4, 4, 2)]
        self.kernels += [mix_kernel(device)]
        self.buffers = [device.alloc(4096) for _ in range(4)]
        self.pinned = device.alloc_host(4096)
        self.event, self.notify = device.create_event(), device.create_notify()
        if isinstance(self.stream.ring, RingV100):
            self.stream.ring.next_id = NO_TASK - 300
        self.blocks = [block for pool in device.arguments.pools for block in pool._blocks]

    def _driver(self, send: Callable[..., int]) -> Callable[[int, Any], int]:
        def take(device: int, reference: Any) -> int:
            self.calls += 1
            if self.calls % REFUSED_EVERY == 0:
                return int(c.DRV_ERROR_NO_RESOURCES)
            info = reference._obj
            if info.sqId == self.sq_id:
                entries = ctypes.string_at(info.sqe_addr, 64 * info.sqe_num)
                self.sent += [self._plain(entries[at : at + 64]) for at in range(0, len(entries), 64)]
            return send(device, reference)

        return take

    def _plain(self, entry: bytes) -> Sent:
        """Return an SQE without the address of its arguments, and what they are."""
        for kernel in self.kernels:
            for blocks in (1, 8):
                template = launch_template(self.stream, kernel.task(blocks))
                if template is None or not _alike(entry, template):
                    continue
                row = bytearray(entry)
                [address] = {_taken_out(row, word) for word in template.words[1:]}
                return bytes(row), self._arguments(address, kernel)
        return entry, b""

    def _arguments(self, address: int, kernel: Kernel) -> bytes:
        """Return what the host has put at an address of the device, as long as the block reaches."""
        for pool in self.device.arguments.pools:
            for block in pool._blocks:
                if block.address <= address < block.address + block.size:
                    at = block.offset + address - block.address
                    found = bytearray(block.view[at : block.offset + block.size])
                    contexts, mix = self.stream.plugin.contexts, kernel is self.kernels[3]
                    lead = contexts.size_bytes if mix and contexts is not None else 0
                    if lead:
                        words = context_template(self.stream, kernel.task(8)).words
                        assert {_taken_out(found, word) for word in words} == {address + lead}
                    return bytes(found[: lead + 8 * (4 if mix else int(kernel.argument_count or 0))])
        raise AssertionError(f"no arguments at {address:#x}")

    def steps(self, program: list[Step]) -> list[tuple[str, tuple[Any, ...]]]:
        """Return the calls of a program: name and arguments."""
        four, other, two, mix = self.kernels
        a, b, x, y = self.buffers
        found: list[tuple[str, tuple[Any, ...]]] = []
        for kind, value in program:
            found.append([
                ("launch", (four, 8, a, b, x, y)),
                ("launch", (four, 8, a, value, np.float32(0.5), y)),
                ("launch", (other, np.int64(1), b, -value, np.int8(-3), True)),
                ("launch", (two, 1, value, a)),
                ("launch", (two, 8, b"\1\2", b"12345678")),
                ("launch", (mix, 8, a, value)),
                ("launch_many", (two, 8, np.arange(2 * value + 2, dtype=np.uint64).reshape(-1, 2))),
                ("launch_many", (mix, 8, [(a, n) for n in range(value % 3 + 1)])),
                ("copy", (a, b, value + 1)),
                ("copy", (x, y)),
                ("copy", (a, self.pinned, np.int32(64))),
                ("copy", (self.pinned, b, 32)),
                ("fill", (x, value, 64)),
                ("record", (self.event,)),
                ("wait", (self.event,)),
                ("record", (self.notify,)),
            ][kind])
        return found

    def singly(self, program: list[Step]) -> None:
        """Do the steps of a program by single calls."""
        for name, arguments in self.steps(program):
            if name == "launch":
                kernel, blocks, *rest = arguments
                kernel[blocks](*rest, stream=self.stream)
            elif name == "launch_many":
                kernel, blocks, rows = arguments
                for row in rows:
                    kernel[blocks](*row, stream=self.stream)
            else:
                getattr(self.stream, name)(*arguments)

    def together(self, program: list[Step], times: int) -> None:
        """Do them in a batch, which is sent so many times."""
        batch = self.stream.batch()
        for name, arguments in self.steps(program):
            getattr(batch, name)(*arguments)
        for _ in range(times):
            batch.send()


def _alike(entry: bytes, template: Any) -> bool:
    """Whether an SQE is of a template, whatever its words are, and whether it asks for the queue's head."""
    holes = {1, *(at for word in template.words for at in range(word.offset, word.offset + word.width // 8))}
    return all(entry[at] == template.row[at] for at in range(64) if at not in holes)


def _taken_out(row: bytearray, word: Any) -> int:
    """Return an address that stands in a word, and make it 0 there."""
    where = slice(word.offset, word.offset + word.width // 8)
    value, mask = int.from_bytes(row[where], "little"), (1 << word.bits) - 1
    row[where] = (value & ~mask).to_bytes(word.width // 8, "little")
    return value & mask


@pytest.fixture(scope="module", params=MACHINES)
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    """The same machine twice."""
    both = Side(request.param), Side(request.param)
    yield both
    for side in both:
        side.runtime.close(force=True)


PROGRAMS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 90)), max_size=24)


@settings(max_examples=examples(12))
@given(programs=st.lists(st.tuples(PROGRAMS, st.integers(1, 2)), min_size=1, max_size=3))
def test_the_driver_gets_the_same_bytes(sides: tuple[Side, Side], programs: list[tuple[list[Step], int]]) -> None:
    one, other = sides
    for program, times in programs:
        for side in sides:
            side.sent.clear()
        for _ in range(times):
            one.singly(program)
        other.together(program, times)
        assert len(one.sent) == len(other.sent)
        for (entry, block), (theirs, their_block) in zip(one.sent, other.sent, strict=True):
            assert _moved(entry + block, other.base - one.base, theirs + their_block)
        assert one.device.counters == other.device.counters
        for side in sides:
            side.stream.synchronize(TIMEOUT_MS)
            assert side.stream.ring.pending == 0
        assert one.stream.ring.submitted == other.stream.ring.submitted


def _moved(ours: bytes, apart: int, theirs: bytes) -> bool:
    """Whether bytes differ by addresses alone: the memories lie multiples of 4 GiB apart."""
    if len(ours) != len(theirs):
        return False
    mine, others = np.frombuffer(ours, np.uint32).astype(np.int64), np.frombuffer(theirs, np.uint32)
    by = apart >> 32, apart >> 16
    return bool(np.isin(others - mine, (0, *by, sum(by))).all())  # in one half of a 32-bit word, or in both


# -- what becomes of it --------------------------------------------------------------------------------------------


@pytest.fixture
def seen() -> list[int]:
    """What the kernel was given, in order."""
    return []


@pytest.fixture
def note(make_kernel: MakeKernel, seen: list[int]) -> Kernel:
    """A kernel that notes its argument."""
    return make_kernel("note", lambda context: seen.append(context.args[0]))


def test_the_shape_of_a_batch_is_found_once(stream: Stream, note: Kernel, seen: list[int],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counted(Shape):
        __slots__ = ()

        def __init__(self, stream: Stream, kinds: Any) -> None:
            made.append(len(kinds))
            super().__init__(stream, kinds)

    monkeypatch.setattr(multi_sqe, "Shape", Counted)
    a, b = stream.device.alloc(64), stream.device.alloc(64)
    for first in (0, 10, 20):
        with stream.batch() as batch:
            batch.launch(note, 1, first)
            batch.copy(a, b, first + 1)
            batch.launch_many(note, 1, [[first + 1], [first + 2]])
            batch.fill(a, 7)
            batch.launch(note, 1, np.int32(first + 3))
    stream.synchronize(TIMEOUT_MS)
    assert seen == [first + n for first in (0, 10, 20) for n in range(4)]
    assert made == [5]
    with stream.batch() as batch:
        batch.launch_many(note, 1, [[1], [2], [3]])
    assert made == [5, 1]


def test_a_change_between_two_pieces_sends_the_rest_one_by_one(stream: Stream, note: Kernel, seen: list[int],
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    space, calls = multi_sqe.BatchSender.space, []

    def changed(sender: Any, *arguments: Any) -> int:
        calls.append(1)
        if len(calls) == 2:  # as where the wait for space has let a capture begin and end
            stream.drop_prepared()
        return int(space(sender, *arguments))

    monkeypatch.setattr(multi_sqe.BatchSender, "space", changed)
    batch = stream.batch()
    batch.launch_many(note, 1, np.arange(300, dtype=np.uint64).reshape(-1, 1))
    for number in range(300, 310):
        batch.launch(note, 1, number)
    batch.send()
    stream.synchronize(TIMEOUT_MS)
    assert seen == list(range(310))
    batch.send()
    stream.synchronize(TIMEOUT_MS)
    assert seen == list(range(310)) * 2


def test_batches_of_several_threads_stay_whole(stream: Stream, note: Kernel, seen: list[int]) -> None:
    rounds, shared = 5, stream.batch()
    for number in range(20):
        shared.launch(note, 1, number)

    def work(first: int) -> None:
        for _ in range(rounds):
            shared.send()
            with stream.batch() as own:
                for number in range(first, first + 20):
                    own.launch(note, 1, number)

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize(TIMEOUT_MS)
    found = sorted(tuple(seen[at : at + 20]) for at in range(0, len(seen), 20))
    assert found == sorted([*[tuple(range(20))] * 2 * rounds, *[tuple(range(100, 120))] * rounds,
                            *[tuple(range(200, 220))] * rounds])  # fmt: skip


def test_a_batch_noted_by_several_threads_has_every_task(stream: Stream, note: Kernel, seen: list[int]) -> None:
    batch = stream.batch()

    def work(first: int) -> None:
        for number in range(first, first + 200):
            batch.launch(note, 1, number)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(batch) == 600
    batch.send()
    stream.synchronize(TIMEOUT_MS)
    assert sorted(seen) == [1000 * n + number for n in range(3) for number in range(200)]


@pytest.mark.parametrize("blocks", [True, 8.0, "8"])
def test_blocks_that_are_no_whole_number_are_refused_at_once(stream: Stream, note: Kernel, blocks: Any) -> None:
    batch = stream.batch()
    batch.launch(note, 1, 1)
    batch.launch(note, 8, 1)
    with pytest.raises(errors.InvalidArgument, match="blocks"):
        batch.launch(note, blocks, 1)
    with pytest.raises(errors.InvalidArgument, match="blocks"):
        batch.launch_many(note, blocks, [[1]])
    batch.launch(note, np.int32(8), 1)
    assert len(batch) == 3


def test_a_launch_on_no_blocks_that_is_allowed_does_nothing(stream: Stream, note: Kernel, seen: list[int]) -> None:
    nothing = LaunchOptions(empty_ok=True)
    with stream.batch() as batch:
        batch.launch(note, 0, 1, options=nothing)
        batch.launch_many(note, 0, [[1], [2]], options=nothing)
        batch.launch(note, 1, 3, options=nothing)
        assert len(batch) == 1
    stream.synchronize(TIMEOUT_MS)
    assert seen == [3]


def test_an_unloaded_program_is_refused_and_let_go(device: Device, stream: Stream, note: Kernel) -> None:
    program = device.load(minimal_kernel("gone", 1))
    kernel = program.only
    device.hal.fake.attach(kernel.code, lambda context: None)
    batch = stream.batch()
    batch.launch(note, 1, 1)
    batch.launch(kernel, 1, 1)
    batch.send()
    stream.synchronize(TIMEOUT_MS)
    program.close()
    sent = stream.ring.submitted
    with pytest.raises(errors.InvalidHandle, match="was unloaded"):
        batch.send()
    assert stream.ring.submitted == sent
    held = weakref.ref(kernel)
    del batch, kernel, program
    stream.ring.forget()
    gc.collect()
    assert held() is None


def test_a_batch_keeps_its_buffers_and_finds_closed_ones(device: Device, stream: Stream, note: Kernel,
                                                         seen: list[int]) -> None:
    batch = stream.batch()
    addresses = []
    for _ in range(3):
        buffer = device.alloc(64)
        addresses.append(buffer.address)
        batch.launch(note, 1, buffer)
    del buffer
    gc.collect()
    batch.send()
    last = device.alloc(64)
    assert last.address not in addresses
    batch.copy(last, bytes(64))  # a pageable end, which no set takes as a member
    batch.launch(note, 1, last + 8)
    batch.send()
    stream.synchronize(TIMEOUT_MS)
    assert seen == [*addresses, *addresses, last.address + 8]
    last.close()
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        batch.send()
    stream.synchronize(TIMEOUT_MS)
    assert len(seen) == 7


@pytest.mark.parametrize("sends", ["compiled", "Python"])
def test_ctrl_c_anywhere_in_a_batch(device: Device, stream: Stream, note: Kernel, seen: list[int], sends: str,
                                    monkeypatch: pytest.MonkeyPatch) -> None:
    if sends == "Python":
        monkeypatch.setattr(compiled, "extension", None)
    a, b = device.alloc(64), device.alloc(64)
    batch = stream.batch()

    def run() -> None:
        batch.launch(note, 1, 3)
        batch.copy(a, b)
        batch.launch_many(note, 1, [[4], [5]])
        batch.send()

    def check(place: int) -> None:
        nonlocal batch
        assert all_free(stream.lock, stream.reports.lock), f"place {place}"
        note[1](place, stream=stream)
        stream.synchronize(TIMEOUT_MS)
        assert stream.ring.pending == 0
        assert device.queues.tail(stream.queues.sq_id) == stream.ring.tail
        assert seen in ([place], [3, 4, 5, place]), f"place {place}"
        seen.clear()
        free = [block.address for pool in device.arguments.pools for block in pool.free]
        assert len(set(free)) == len(free), f"place {place}"
        batch = stream.batch()

    run()
    stream.synchronize(TIMEOUT_MS)
    seen.clear()
    batch = stream.batch()
    files = ("batch/batch.py", "batch/multi_sqe.py", "batch/shape.py", "batch/kinds.py", "submission/runs.py",
             "diagnostics/counters.py", "submission/ring.py", "driver/queues/send.py")  # fmt: skip
    assert Interrupter(*files).everywhere(run, check, 400) > 20
