"""Fused tasks and missions (STARS v2): tasks of several entries whose parts start together when engines are free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.executor import aicpu, kernel, missions, together
from fakes.faults import Effect
from fakes.schedule.scheduler import AICPU

if TYPE_CHECKING:
    from fakes.executor import Task
    from fakes.machine.missions import Mission


def fused(task: Task) -> int:
    """Run all parts of a task; the gang takes as long as its longest part.

    The gang starts when all its engines are free, and none of them is kept before.
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
    return (AICPU,) if name in _CPU else kernel.part_v2(fields, mix=name.endswith("_mix"))[2]


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
            pc, args, cores = kernel.part_v2(fields, mix=name.endswith("_mix"))
            cost = max(cost, kernel.perform(task, pc, args, fields["block_dim"], cores) or 0)
        names.append(task.detail)
    task.detail = " + ".join(names)
    return cost


Handler = Callable[["Task"], int]

_CPU = ("aicpu", "aicpu_host")
_CORES = "kernel_"
_MISSIONS = "ccu"
_SUB_TYPES = (8, 12, 16, 20, 24, 28)
"""Bits of the engines in a fused task that begins with missions."""

STARS: Mapping[str, tuple[str, Handler]] = {}
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "aicpu_fused": ("fusion", fused), "ccu": ("ccu", fused),
    **{f"ccu_fused_{bits}": ("fusion", fused) for bits in _SUB_TYPES},
}  # fmt: skip
