"""Random programs of allocations, frees, fills and copies on each chip and link, against plain byte arrays."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chips.memory_rules import rounded_size
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.memory.buffer import Buffer
from runtime.memory.device import PooledBuffer

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

    def __init__(self, device: Device, stream: Stream) -> None:
        self.device, self.stream = device, stream
        self.held: list[tuple[Buffer, np.ndarray[Any, Any]]] = []

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
        try:
            pool.limit = None if number % 3 == 0 else pool.memory_allocated() + number % (3 << 20)
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
            full = pool.memory_reserved() + rounded_size(size, self.device.chip.padding_size) > pool.limit
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
        self.stream.synchronize()  # what follows is written by the host, at once
        content = np.arange(size, dtype=np.uint32).astype(np.uint8) ^ (size & 0xFF)
        self.device.copy(made, content)
        self.held.append((made, content))

    def free(self, left: Any, _right: Any, size: int) -> None:
        if not isinstance(left[0], PooledBuffer):  # only blocks of the pool may be given back while they are in use
            self.stream.synchronize()
        left[0].close()
        self.held = [pair for pair in self.held if pair[0] is not left[0]]

    def fill(self, left: Any, _right: Any, size: int) -> None:
        count = min(size, left[0].size)
        if not left[0].location:  # host memory is filled at once
            self.stream.synchronize()
        self.stream.fill(left[0], size & 0xFF, count)
        left[1][:count] = size & 0xFF

    def copy(self, left: Any, right: Any, size: int) -> None:
        if not left[0].location and not right[0].location:
            return
        count = min(size, left[0].size, right[0].size)
        self.stream.copy(left[0], right[0], count)
        left[1][:count] = right[1][:count].copy()

    def now(self, left: Any, right: Any, size: int) -> None:
        count = min(size, left[0].size, right[0].size)
        self.stream.synchronize()
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
        self.stream.copy_rows(left[0], pitches[0], right[0], pitches[1], width, height)
        for row in range(height):
            to, origin = row * pitches[0], row * pitches[1]
            left[1][to : to + width] = right[1][origin : origin + width]

    def reduce(self, left: Any, right: Any, size: int) -> None:
        count = min(left[0].size, right[0].size) // 2 * 2
        if not count or left[0] is right[0] or not (left[0].location and right[0].location):
            return
        self.stream.reduce(left[0], right[0].view(0, count), ("add", "max", "min")[size % 3], "int16")
        operation = (np.add, np.maximum, np.minimum)[size % 3]
        target, source = left[1][:count].view(np.int16), right[1][:count].view(np.int16)
        target[:] = operation(target, source)

    def check(self) -> None:
        self.stream.synchronize()
        for buffer, content in self.held:
            found = np.empty(buffer.size, np.uint8)
            self.device.copy(found, buffer)
            assert np.array_equal(found, content), buffer


@pytest.mark.parametrize("url", MACHINES)
@settings(max_examples=12)
@given(STEPS)
def test_memory_holds_what_the_program_says(url: str, steps: list[tuple[str, int, int, int]]) -> None:
    machine = Runtime(url)
    try:
        device = machine.device()
        before = {block.base for block in machine.hal.fake.memory.blocks}  # type: ignore[attr-defined]
        with device.create_stream() as stream:
            program = Program(device, stream)
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
