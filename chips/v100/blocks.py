"""Blocks in device memory that STARS v1 entries point to: mix contexts and function-call programs."""

from __future__ import annotations

from chips import ffts
from chips.cond import label as label_program
from chips.cond import model as model_program
from chips.cond import stream as stream_program
from chips.cond import wait as wait_program
from chips.env import EncodeEnv, TaskIds
from chips.registry import Block
from chips.tasks import (
    CoreKernel,
    LabelSwitchByIndex,
    MemWaitValue,
    MixKernel,
    ModelExecute,
    StreamActive,
    StreamSwitch,
)

_GENERATION = "v100"


def mix_context(task: CoreKernel, env: EncodeEnv, ids: TaskIds) -> tuple[Block, ...]:
    """Return the context of a mix kernel; other kernels have none."""
    if not isinstance(task, MixKernel):
        return ()
    return (Block("ffts_context_128B", task.context, ffts.mix_context(task, env)),)


def stream_active(task: StreamActive, env: EncodeEnv, ids: TaskIds) -> tuple[Block, ...]:
    """Return the program that activates a stream."""
    return (Block("func_call", task.function, b""),)


def stream_switch(task: StreamSwitch, env: EncodeEnv, ids: TaskIds) -> tuple[Block, ...]:
    """Return the program that activates a stream if a condition holds."""
    return (Block("func_call", task.function, b""),)


def label_switch(task: LabelSwitchByIndex, env: EncodeEnv, ids: TaskIds) -> tuple[Block, ...]:
    """Return the program that jumps to a label."""
    return (Block("func_call", task.function, b""),)


def model_execute(task: ModelExecute, env: EncodeEnv, ids: TaskIds) -> tuple[Block, ...]:
    """Return the program that starts a model's streams, with its tables."""
    return (Block("func_call", task.function, b""),)


def memory_wait(task: MemWaitValue, env: EncodeEnv, ids: TaskIds) -> tuple[Block, ...]:
    """Return the program that polls, and the flag it owns."""
    return (Block("fc_mem2", task.function, b""),)


_ = (label_program, model_program, stream_program, wait_program)
