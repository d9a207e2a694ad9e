"""Tasks of several engines: FFTS+ graphs of contexts (STARS v1), fused tasks whose parts start together (STARS v2)."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.checkers.access import RELEASE
from fakes.errors import NotModelled, TaskFault
from fakes.executor import aicpu, event, kernel, memory, missions, together
from fakes.faults import Effect
from fakes.schedule.scheduler import AIC, AICPU, AIV

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.missions import Mission


def fused(task: Task) -> int:
    """Run all parts of a task; they take together as long as its longest part.

    They start together when all engines are free, and none of them is kept before.
    """
    following = task.fields["sqe_length"]
    pieces = missions.of_task(task) if task.layout.startswith(_MISSIONS) else []
    first = missions.ENTRIES if pieces else 1
    parts = [_part(task, index) for index in range(first, following + 1)]
    engines = tuple(dict.fromkeys((
        *(each.engine for each in pieces), *(() if pieces else (AICPU,)),
        *(engine for name, fields in parts for engine in _engines(name, fields)),
    )))  # fmt: skip
    begun = together.resumed(task)
    if begun is None and together.taken(task.device, engines):
        return 0
    cost = _perform(task, pieces, parts) if begun is None else begun.cost
    if not together.finished(task, engines, cost):
        return 0
    task.occupy(cost, *engines)
    return 1 + following


def _part(task: Task, index: int) -> tuple[str, Mapping[str, int]]:
    """Return layout and fields of an entry behind the first one."""
    raw = task.following(index)
    layout = task.machine.executor.identify(raw)
    name = "" if layout is None else layout.name
    if layout is None or not (name in _CPU or name.startswith(_CORES)):
        raise TaskFault(f"entry {index} of a fusion task is {name or 'nothing the scheduler knows'}",
                        Effect.SQE_ERROR.value)  # fmt: skip
    return name, layout.decode(raw)


def _engines(name: str, fields: Mapping[str, int]) -> tuple[str, ...]:
    return (AICPU,) if name in _CPU else kernel.parts_v2(fields, mix=name.endswith("_mix")).engines


def _perform(task: Task, pieces: list[Mission], parts: list[tuple[str, Mapping[str, int]]]) -> int:
    """Start all parts; returns what the longest one costs."""
    cost, names = 0, []
    for mission in pieces:
        cost = max(cost, missions.perform(task, mission))
        names.append(task.detail)
    if not pieces:
        aicpu.perform(task, task.fields)
        cost = aicpu.KERNEL_NS
        names.append(task.detail)
    for name, fields in parts:
        if name in _CPU:
            aicpu.perform(task, fields)
        else:
            part = kernel.parts_v2(fields, mix=name.endswith("_mix"))
            cost = max(cost, kernel.perform(task, part.pc, fields[part.arguments], part.blocks, part.engines) or 0)
        names.append(task.detail)
    task.detail = " + ".join(names)
    return cost


# -- FFTS+ graphs ------------------------------------------------------------------------------------------------------

_MAX_RUNS = 100_000


def graph(task: Task) -> int:
    """Run the contexts of an FFTS+ task; those without predecessors first, in the order they stand in memory."""
    memory, count = task.machine.memory, task.fields["total_contexts"]
    contexts_are = task.machine.plugin.contexts
    assert contexts_are is not None  # the generation has the entry, so it has contexts
    size, one = count * contexts_are.size_bytes, contexts_are.size_bytes
    data = ctypes.string_at(memory.device_pointer(task.fields["contexts"], size, "context read"), size)
    contexts = [contexts_are.decode(data[at : at + one]) for at in range(0, size, one)]
    missing = [context.fields["pred_count_init"] for context in contexts]
    ready = deque(index for index, number in enumerate(missing) if not number)
    start, ran = -1, 0
    while ready:
        index = ready.popleft()
        ran += 1
        if ran > _MAX_RUNS:
            raise TaskFault(f"the graph did not end after {_MAX_RUNS} contexts", Effect.EXCEPTION.value)
        _run(task, contexts[index].layout, contexts[index].fields)
        start = task.start if start < 0 else start
        for successor in _successors(contexts[index].fields):
            if successor >= count:
                raise TaskFault(f"context {index} names successor {successor} of {count}", Effect.SQE_ERROR.value)
            missing[successor] -= 1
            if not missing[successor]:
                ready.append(successor)
    task.start = start
    task.detail = f"{ran} contexts"
    return 1


def _successors(fields: Mapping[str, int]) -> list[int]:
    return [fields[f"successors[{index}]"] for index in range(fields["successor_count"])]


def _run(task: Task, name: str, fields: Mapping[str, int]) -> None:
    """Run one context."""
    done = 1
    if name in ("aic", "aiv"):
        done = kernel.run(task, fields["pc"], fields["param"], fields["block_dim"], (AIC if name == "aic" else AIV,))
    elif name in ("mix_aic", "mix_aiv"):
        done = kernel.run_mix(task, fields)
    elif name == "sdma":
        header = fields["sdma_header"] & 0xFF
        memory.transfer(task, header, fields["dst"] + fields["dst_offset"], fields["src"] + fields["src_offset"],
                      fields["length"])  # fmt: skip
    elif name == "notify_record":
        number = fields["notify_id_base"]
        event.give(task, task.device.signal(task.device.notifies, number), 1, ("notify", task.device.index, number))
    elif name == "write_value":
        size = 1 << fields["aw_size"]
        data = b"".join(fields[f"values[{index}]"].to_bytes(4, "little") for index in range(4))[:size]
        task.machine.memory.write(fields["address"], data, "value write")
        task.touch(fields["address"], size, RELEASE)
    elif name not in ("label", "flush_data", "invalidate_data", "writeback_data", "persistent_cache"):
        raise NotModelled(f"FFTS+ context {name}")
    if not done:
        raise NotModelled("a kernel that waits inside of an FFTS+ graph")


Handler = Callable[["Task"], int]

_CPU = ("aicpu", "aicpu_host")
_CORES = "kernel_"
_MISSIONS = "ccu"
_SUB_TYPES = (8, 12, 16, 20, 24, 28)
"""Bits of the engines in a fused task that begins with missions."""

STARS: Mapping[str, tuple[str, Handler]] = {"ffts_plus": ("ffts_plus", graph)}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "aicpu_fused": ("fusion", fused), "ccu": ("ccu", fused),
    **{f"ccu_fused_{bits}": ("fusion", fused) for bits in _SUB_TYPES},
}  # fmt: skip
COMMANDS: Mapping[str, tuple[str, Handler]] = {}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {}
