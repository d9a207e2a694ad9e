"""Fusion tasks (STARS v2): one task over several entries whose parts start together when all their engines are free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import NotModelled, TaskFault
from fakes.executor import aicpu, kernel, together
from fakes.faults import Effect
from fakes.scheduler import AICPU

if TYPE_CHECKING:
    from fakes.executor import Task


def fused(task: Task) -> int:
    """Run the AICPU part of the first entry and the parts behind it; the gang takes as long as its longest part.

    The gang starts when all its engines are free, and none of them is kept before.
    """
    following = task.fields["sqe_length"]
    parts = [_part(task, index) for index in range(1, following + 1)]
    engines = tuple(dict.fromkeys((AICPU, *(engine for name, fields in parts for engine in _engines(name, fields)))))
    begun = together.resumed(task)
    if begun is None and together.taken(task.device, engines):
        return 0
    cost = _perform(task, parts) if begun is None else begun.cost
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


def _perform(task: Task, parts: list[tuple[str, Mapping[str, int]]]) -> int:
    """Start all parts; returns what the longest one costs."""
    aicpu.perform(task, task.fields)
    cost, names = aicpu.KERNEL_NS, [task.detail]
    for name, fields in parts:
        if name in _CPU:
            aicpu.perform(task, fields)
        else:
            pc, args, cores = kernel.part_v2(fields, mix=name.endswith("_mix"))
            cost = max(cost, kernel.perform(task, pc, args, fields["block_dim"], cores) or 0)
        names.append(task.detail)
    task.detail = " + ".join(names)
    return cost


def mission(task: Task) -> int:
    """A mission of the collective communication unit: its programs are microcode."""
    raise NotModelled("CCU mission", "collective communication is outside of what the fake executes")


Handler = Callable[["Task"], int]

_CPU = ("aicpu", "aicpu_host")
_CORES = "kernel_"
_MISSIONS = ("ccu", "ccu_fused", "ccu_aic_fused", "ccu_double_fused", "ccu_double_aic_fused")

V1: Mapping[str, tuple[str, Handler]] = {}
V2: Mapping[str, tuple[str, Handler]] = {
    "aicpu_fused": ("fusion", fused), **dict.fromkeys(_MISSIONS, ("ccu", mission)),
}  # fmt: skip
