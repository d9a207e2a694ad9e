"""Programs of data queue scheduling (v201): a pipeline of steps that moves message buffers without the host.

The addresses that a step works on stand in the control space the runtime shares with the scheduler; each step's
``Program.parameters`` lists what it takes.  No recorded blocks exist: the programs follow the sources named in each
module, and their sizes equal those of the C structs.
"""

from __future__ import annotations

from enum import Enum

from chips.programs.dqs import buffers, queues, remote
from chips.programs.dqs.fragments import Trace
from chips.programs.isa import CondError
from chips.programs.program import Program, parse

__all__ = ["PipelineStep", "Trace", "assemble", "program"]


class PipelineStep(Enum):
    """Steps of a pipeline; the value is the text of the program."""

    DEQUEUE = queues.DEQUEUE
    BATCH_DEQUEUE = queues.BATCH_DEQUEUE
    ENQUEUE = queues.ENQUEUE
    FREE = queues.FREE
    PREPARE = buffers.PREPARE
    ZERO_COPY = buffers.ZERO_COPY
    ZERO_COPY_HIGH_FIRST = buffers.ZERO_COPY_HIGH_FIRST
    CONDITION_COPY = buffers.CONDITION_COPY
    FRAME_ALIGN = buffers.FRAME_ALIGN
    FRAME_ALIGN_DELAYED = buffers.FRAME_ALIGN_DELAYED
    ADSPC = buffers.ADSPC
    REMOTE_BEFORE = remote.BEFORE
    REMOTE_AFTER = remote.AFTER


def program(step: PipelineStep) -> Program:
    """Return the parsed program of a step; its ``size_bytes`` is the size of the block."""
    return parse(step.value)


def assemble(step: PipelineStep, traces: dict[str, Trace] | None = None, **values: int) -> bytes:
    """Return the block of a step: ``traces`` by the name the program gives them (dequeue, free, ...), the rest by name.

    Raises ``CondError`` for parameters that are missing, unknown or too wide.
    """
    for name, trace in (traces or {}).items():
        overlap = trace.values(name).keys() & values.keys()
        if overlap:
            raise CondError(f"{', '.join(sorted(overlap))}: given by the trace {name!r} as well")
        values |= trace.values(name)
    return program(step).assemble("v201", **values)
