"""How long encoding and decoding take, in units of one plain struct.pack_into of 64 bytes (73 ns where it was fixed).

The limits are 3 us per encode, 10 us per decode and 60 us per 1,000 rows on that machine.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

import numpy as np
import pytest

from chips import find_chip
from chips.env import EncodeEnv, TaskIds
from chips.registry import plugin
from chips.tasks import AicKernel, AicpuKernel, EventRecord, MemcpyAsync, NotifyWait, Task, WriteValue

pytestmark = pytest.mark.perf

UNIT_NS = 73
CHIP = find_chip("Ascend910B1")
ENV = EncodeEnv(chip=CHIP, stream_id=5, stack_base_32k=0x12C0_C120_0000)
IDS = TaskIds(77)
TASKS: tuple[Task, ...] = (
    AicKernel(pc=0x12C0_C000_0000, args=0x12C0_C100_0000, block_dim=8),
    AicpuKernel(so_name=1, func_name=2, args=3),
    MemcpyAsync(src=1, dst=2, size=3),
    EventRecord(event_id=1),
    NotifyWait(notify_id=1),
    WriteValue(addr=8, size_code=3, data=b"12345678"),
)


PACKER = struct.Struct("<6sH32sQ16s")
BUFFER, RUNS = bytearray(64), (bytes(6), bytes(32), bytes(16))


def pack() -> None:
    """The unit: one pack of constant runs and two words, call included."""
    PACKER.pack_into(BUFFER, 0, RUNS[0], 3, RUNS[1], 7, RUNS[2])


def units(call: Callable[[], object], number: int, rounds: int = 60) -> float:
    """Time of one call in units.

    Both are measured in turns, so that a machine that changes its speed changes it for both, and the shortest counts:
    what disturbs a run only makes it longer.
    """
    shortest = {call: float("inf"), pack: float("inf")}
    for _ in range(rounds):
        for each, count in ((call, number), (pack, 300)):
            start = time.perf_counter_ns()
            for _ in range(count):
                each()
            shortest[each] = min(shortest[each], (time.perf_counter_ns() - start) / count)
    return shortest[call] / shortest[pack]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_one_entry(task: Task) -> None:
    plug = plugin(CHIP)
    row = plug.encode(task, ENV, IDS)
    assert units(lambda: plug.encode(task, ENV, IDS), 100) <= 3_000 / UNIT_NS
    assert units(lambda: plug.decode(row), 50) <= 10_000 / UNIT_NS


def test_a_thousand_kernels() -> None:
    template = plugin(CHIP).template(TASKS[0], ENV)
    assert template is not None
    ids, args = np.arange(1000, dtype=np.uint16), np.arange(1000, dtype=np.uint64) * 64
    rows = template.render_many(1000, task_id=ids, args=args)
    assert rows.shape == (1000, 64)
    assert units(lambda: template.render_many(1000, task_id=ids, args=args), 10) <= 60_000 / UNIT_NS
