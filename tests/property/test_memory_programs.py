"""Random programs of allocations, frees, fills and copies on each chip and link, against plain byte arrays."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chips.memory_rules import rounded_size
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.memory.blocks import UNIT
from runtime.memory.buffer import Buffer
from runtime.memory.device import PooledBuffer
from runtime.testing.script import ATTRIBUTE, Script
from tests.tools.examples import examples

MACHINES = ("fake://ascend910b1", "fake://ascend910_9391?args=bar", "fake://ascend950pr_9599",
            "fake://ascend950pr_9599?args=ub", "fake-abi://ascend910b1")  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["device", "host", "pool", "free", "fill", "copy", "copy", "now", "rows", "reduce", "sync", "limit"]
        ),
        st.integers(0, 1 << 30), st.integers(0, 1 << 30), st.integers(1, 5000),
    ),
    max_size=30,
)  # fmt: skip


class Program:
    """Buffers and what must be in them; everything queued goes to one stream, so the order is that of the steps."""

    def __init__(self, device: Device, stream: Stream, script: Script) -> None:
        self.device, self.stream, self.script = device, stream, script
        self.held: list[tuple[Buffer, np.ndarray[Any, Any]]] = []
        self.next_number = itertools.count().__next__
        self.numbers: dict[int, int] = {}
        """What buffers and their contents are called in the script, by the identity of the buffer."""

    def name(self, pair: tuple[Buffer, np.ndarray[Any, Any]]) -> tuple[str, str]:
        """Return the names of a buffer and of what must be in it."""
        number = self.numbers[id(pair[0])]
        return f"b{number}", f"w{number}"

    def wait(self) -> None:
        self.script.add("stream.synchronize()")
        self.stream.synchronize()

    def run(self, what: str, one: int, two: int, size: int) -> None:
        if what in ("device", "host", "pool"):
            self.allocate(what, size)
        elif what == "limit":
            self.bound(one)
        elif what == "sync":
            self.check()
        elif self.held:
            left, right = self.held[one % len(self.held)], self.held[two % len(self.held)]
            getattr(self, what)(left, right, size)

    def bound(self, number: int) -> None:
        """Limit the pool to what is in use and a little more, or not at all."""
        pool = self.device.pool
        limit = None if number % 3 == 0 else pool.memory_allocated() + number % (3 << 20)
        self.script.add("with contextlib.suppress(errors.InvalidArgument):", f"    device.pool.limit = {limit}")
        try:
            pool.limit = limit
        except errors.InvalidArgument:
            assert pool.memory_reserved() > pool.memory_allocated()  # blocks in use hold whole segments

    def take(self, size: int) -> Buffer | None:
        """Return a block of the pool, None where its limit forbids; the limit is kept in any case."""
        pool, made = self.device.pool, None
        with contextlib.suppress(errors.OutOfMemory):
            made = pool.alloc(size, self.stream)
        if pool.limit is None:
            assert made is not None
        else:
            assert pool.memory_reserved() <= pool.limit
            padded = rounded_size(size, self.device.chip.padding_size)
            full = pool.memory_reserved() + -(-padded // UNIT) * UNIT > pool.limit
            assert made is not None or full
        assert pool.memory_allocated() <= pool.memory_reserved()
        return made

    def allocate(self, what: str, size: int) -> None:
        made: Buffer | None
        if what == "device":
            made = self.device.alloc(size)
            block = self.device.hal.fake.memory.find(made.address)  # type: ignore[attr-defined]
            assert block.size == rounded_size(size, self.device.chip.padding_size)
            assert made.address % 64 == 0
        else:
            made = self.device.alloc_host(size) if what == "host" else self.take(size)
            if made is None:
                return
            assert made.address % 64 == 0
        for other, _ in self.held:
            assert made.address + size <= other.address or other.address + other.size <= made.address
        self.numbers[id(made)] = number = self.next_number()
        call = {"device": f"alloc({size})", "host": f"alloc_host({size})", "pool": f"pool.alloc({size}, stream)"}[what]
        self.script.add(f"b{number} = device.{call}")
        self.wait()  # what follows is written by the host, at once
        self.script.add(
            f"w{number} = np.arange({size}, dtype=np.uint32).astype(np.uint8) ^ {size & 0xFF}",
            f"device.copy(b{number}, w{number})",
        )
        content = np.arange(size, dtype=np.uint32).astype(np.uint8) ^ (size & 0xFF)
        self.device.copy(made, content)
        self.held.append((made, content))

    def free(self, left: Any, _right: Any, size: int) -> None:
        if not isinstance(left[0], PooledBuffer):  # only blocks of the pool may be given back while they are in use
            self.wait()
        self.script.add(f"{self.name(left)[0]}.close()")
        left[0].close()
        self.held = [pair for pair in self.held if pair[0] is not left[0]]

    def fill(self, left: Any, _right: Any, size: int) -> None:
        count = min(size, left[0].size)
        if not left[0].location:  # host memory is filled at once
            self.wait()
        buffer, content = self.name(left)
        self.script.add(f"stream.fill({buffer}, {size & 0xFF}, {count})", f"{content}[:{count}] = {size & 0xFF}")
        self.stream.fill(left[0], size & 0xFF, count)
        left[1][:count] = size & 0xFF

    def copy(self, left: Any, right: Any, size: int) -> None:
        if not left[0].location and not right[0].location:
            return
        count = min(size, left[0].size, right[0].size)
        (target, content), (source, other) = self.name(left), self.name(right)
        self.script.add(f"stream.copy({target}, {source}, {count})", f"{content}[:{count}] = {other}[:{count}].copy()")
        self.stream.copy(left[0], right[0], count)
        left[1][:count] = right[1][:count].copy()

    def now(self, left: Any, right: Any, size: int) -> None:
        count = min(size, left[0].size, right[0].size)
        self.wait()
        (target, content), (source, other) = self.name(left), self.name(right)
        self.script.add(f"device.copy({target}, {source}, {count})", f"{content}[:{count}] = {other}[:{count}].copy()")
        self.device.copy(left[0], right[0], count)
        left[1][:count] = right[1][:count].copy()

    def rows(self, left: Any, right: Any, size: int) -> None:
        if left[0] is right[0] or (not left[0].location and not right[0].location):
            return
        width, height = size % 40 + 1, size % 5 + 1
        pitches = (width + size % 7, width + size % 3)
        for (buffer, _), pitch in zip((left, right), pitches, strict=True):
            if (height - 1) * pitch + width > buffer.size:
                return
        (target, content), (source, other) = self.name(left), self.name(right)
        self.script.add(
            f"stream.copy_rows({target}, {pitches[0]}, {source}, {pitches[1]}, {width}, {height})",
            f"for row in range({height}):",
            f"    {content}[row * {pitches[0]} :][:{width}] = {other}[row * {pitches[1]} :][:{width}]",
        )
        self.stream.copy_rows(left[0], pitches[0], right[0], pitches[1], width, height)
        for row in range(height):
            to, origin = row * pitches[0], row * pitches[1]
            left[1][to : to + width] = right[1][origin : origin + width]

    def reduce(self, left: Any, right: Any, size: int) -> None:
        count = min(left[0].size, right[0].size) // 2 * 2
        if not count or left[0] is right[0] or not (left[0].location and right[0].location):
            return
        (target_name, content), (source_name, other) = self.name(left), self.name(right)
        kind = ("add", "max", "min")[size % 3]
        numpy_kind = ("add", "maximum", "minimum")[size % 3]
        self.script.add(
            f"stream.reduce({target_name}, {source_name}.view(0, {count}), {kind!r}, 'int16')",
            f"view = {content}[:{count}].view(np.int16)",
            f"view[:] = np.{numpy_kind}(view, {other}[:{count}].view(np.int16))",
        )
        self.stream.reduce(left[0], right[0].view(0, count), ("add", "max", "min")[size % 3], "int16")
        operation = (np.add, np.maximum, np.minimum)[size % 3]
        target, source = left[1][:count].view(np.int16), right[1][:count].view(np.int16)
        target[:] = operation(target, source)

    def check(self) -> None:
        self.wait()
        for pair in self.held:
            buffer, wanted = self.name(pair)
            self.script.add(
                f"found = np.empty({buffer}.size, np.uint8)", f"device.copy(found, {buffer})",
                f"assert np.array_equal(found, {wanted}), {buffer}",
            )
        for buffer, content in self.held:
            found = np.empty(buffer.size, np.uint8)
            self.device.copy(found, buffer)
            assert np.array_equal(found, content), buffer


@pytest.mark.parametrize("url", MACHINES)
@settings(max_examples=examples(12))
@given(STEPS)
def test_memory_holds_what_the_program_says(url: str, steps: list[tuple[str, int, int, int]]) -> None:
    machine, script = Runtime(url), Script(url, "import contextlib", "from runtime import errors")
    try:
        device = machine.device()
        before = {block.base for block in machine.hal.fake.memory.blocks}  # type: ignore[attr-defined]
        with script.written(), device.create_stream() as stream:
            program = Program(device, stream, script)
            for step in steps:
                program.run(*step)
            program.check()
            for buffer, _ in program.held:
                buffer.close()
            stream.synchronize()
        device.pool.empty_cache()
        left = {block.base for block in machine.hal.fake.memory.blocks} - before  # type: ignore[attr-defined]
        assert not left
        assert len(device.ledger) == 0
    finally:
        machine.close(force=True)


def test_a_program_that_fails_is_a_script_that_fails_by_itself() -> None:
    url = "fake://ascend910b1?fault=task:2:LOST:kind=copy"  # a machine that does not do what it was asked
    machine, script = Runtime(url), Script(url, "import contextlib", "from runtime import errors")

    def run() -> None:
        device = machine.device()
        program = Program(device, device.create_stream(), script)
        for step in [("device", 0, 0, 100), ("host", 0, 0, 50), ("fill", 0, 0, 7), ("copy", 0, 1, 50)]:
            program.run(*step)
        program.check()

    with pytest.raises(AssertionError) as failed, script.written():
        run()
    machine.close(force=True)
    text = getattr(failed.value, ATTRIBUTE)
    assert "stream.fill(b0, 7, 7)" in text
    again = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert again.returncode == 1
    assert "AssertionError: <100 bytes of device 0" in again.stderr
