"""Fusion tasks (STARS v2): one task over several entries whose parts start together when all their engines are free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import NotModelled, TaskFault
from fakes.executor import aicpu, kernel
from fakes.faults import Effect
from fakes.scheduler import AICPU

if TYPE_CHECKING:
    from fakes.executor import Task


def fused(task: Task) -> int:
    """Run the AICPU part of the first entry and the parts behind it; the gang takes as long as its longest part."""
    aicpu.perform(task, task.fields)
    engines, cost, names = [AICPU], aicpu.KERNEL_NS, [task.detail]
    following = task.fields["sqe_length"]
    for index in range(1, following + 1):
        raw = task.following(index)
        layout = task.machine.executor.identify(raw)
        name = "" if layout is None else layout.name
        fields = {} if layout is None else layout.decode(raw)
        if name in ("aicpu", "aicpu_host"):
            aicpu.perform(task, fields)
            part_cost: int | None = aicpu.KERNEL_NS
        elif name.startswith("kernel_"):
            pc, args, cores = kernel.part_v2(fields, mix=name.endswith("_mix"))
            part_cost = kernel.perform(task, pc, args, fields["block_dim"], cores)
            engines += [engine for engine in cores if engine not in engines]
        else:
            raise TaskFault(f"entry {index} of a fusion task is {name or 'nothing the scheduler knows'}",
                            Effect.SQE_ERROR.value)  # fmt: skip
        cost = max(cost, part_cost or 0)
        names.append(task.detail)
    task.occupy(cost, *engines)
    task.detail = " + ".join(names)
    return 1 + following


def mission(task: Task) -> int:
    """A mission of the collective communication unit: its programs are microcode."""
    raise NotModelled("CCU mission", "collective communication is outside of what the fake executes")


Handler = Callable[["Task"], int]

_MISSIONS = ("ccu", "ccu_fused", "ccu_aic_fused", "ccu_double_fused", "ccu_double_aic_fused")

V1: Mapping[str, tuple[str, Handler]] = {}
V2: Mapping[str, tuple[str, Handler]] = {
    "aicpu_fused": ("fusion", fused), **dict.fromkeys(_MISSIONS, ("ccu", mission)),
}  # fmt: skip
