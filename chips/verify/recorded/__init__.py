"""Translates recorded SQE vectors into task descriptions and environments.

The inputs of a vector name what the recording program set; what its stand-in driver decided stands in
``machines.yaml``. Only tools that check recorded bytes import this.
"""

from __future__ import annotations

from chips import tasks as t
from chips.verify.recorded import control, engines
from chips.verify.recorded.cases import builder_case
from chips.verify.recorded.engines import CONTEXT_BLOCK
from chips.verify.recorded.fusion import fusion
from chips.verify.recorded.machine import Inputs, Machine, UnknownMachine, env, ids, machine, machine_in

__all__ = [
    "CONTEXT_BLOCK",
    "Inputs",
    "Machine",
    "UnknownMachine",
    "builder_case",
    "env",
    "ids",
    "machine",
    "machine_in",
    "task",
]

_MAKERS = {**engines.MAKERS, **control.MAKERS}

_BARE = frozenset(
    {
        "ACTIVE_AICPU_STREAM",
        "ADCPROF",
        "CREATE_STREAM",
        "FUSIONDUMP_ADDR_SET",
        "LABEL_GOTO",
        "LABEL_SWITCH",
        "MODEL_EXIT_GRAPH",
        "PROFILER_TRACE",
        "RDMA_SEND",
        "REDUCE_ASYNC_V2",
        "SET_STREAM_MODE",
        "STREAM_LABEL_GOTO",
    }
)
"""Recorded tasks that no STARS chip knows: their inputs do not show in the bytes."""


def task(name: str, number: int, variant: str, inputs: Inputs, at: Machine) -> t.Task | None:
    """Task description of a vector; None if its kind has none here."""
    if name == "FUSION_KERNEL":
        return fusion(variant, inputs)
    if name in _BARE:
        return t.BareTask(t.TaskType(number))
    make = _MAKERS.get(name)
    return make(inputs, at) if make else None
