"""Models: condition entries, which call programs in device memory, and messages about models.

Sources: RtDavidStarsFunctionCallSqe and its neighbours, RtDavidPlaceHolderSqe.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from chips.generations.v200.generation import Generation, Rule, direct
from chips.programs.body import function_call
from chips.tasks import (
    CaptureCondition,
    ConditionKind,
    LabelSet,
    LabelSwitchByIndex,
    ModelExecute,
    ModelMaintenance,
    ModelOperation,
    ModelTaskUpdate,
    StreamActive,
    StreamSwitch,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_PROGRAM = struct.Struct("<12I")
_SINGLE_WAIT = 1  # notify sub type
_WORDS = tuple(f"program[{index}]" for index in range(12))
_STOPPING = frozenset(
    {ModelOperation.STREAM_ADD, ModelOperation.STREAM_DELETE, ModelOperation.PRE_PROCESS, ModelOperation.ABORT}
)


def program(code: bytes) -> dict[str, int]:
    """Return the fields of a condition entry that hold its twelve instruction words."""
    return dict(zip(_WORDS, _PROGRAM.unpack(code), strict=True))


@lru_cache(maxsize=256)  # a model is executed many times, its program stays where it is
def _call_words(function: int, function_bytes: int) -> dict[str, int]:
    return program(function_call(function, function_bytes))


def call(
    at: Generation,
    layout: str,
    env: EncodeEnv,
    ids: TaskIds,
    function: int,
    function_bytes: int,
    **fields: int,
) -> bytes:
    """Encode the call of a program of ``function_bytes`` at the 256-byte aligned device address ``function``."""
    return at.encode(layout, env, ids, **fields, **_call_words(function, function_bytes))


def model_execute(at: Generation, task: ModelExecute, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the start of a model."""
    return call(at, "model_execute", env, ids, task.function, task.function_bytes, model_id=task.model_id)


def stream_switch(at: Generation, task: StreamSwitch, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the conditional activation of a stream."""
    layout = "stream_switch_ex" if task.extended else "stream_switch"
    return call(at, layout, env, ids, task.function, task.function_bytes)


def stream_active(at: Generation, task: StreamActive, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the activation of a stream."""
    return call(at, "stream_active", env, ids, task.function, task.function_bytes)


def label_switch(at: Generation, task: LabelSwitchByIndex, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the jump to one of several labels."""
    return call(at, "label_switch_by_index", env, ids, task.function, task.function_bytes)


def capture_condition(at: Generation, task: CaptureCondition, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a conditional node: the choice, the wait for the chosen graph's end, for loops the jump back."""
    rows = call(at, "capture_condition", env, ids, task.function, task.function_bytes)
    rows += at.encode(
        "notify_wait",
        env,
        ids,
        notify_id=task.notify_id,
        clr_flag=1,
        sub_type=_SINGLE_WAIT,
        timeout=task.timeout_s,
    )
    if task.kind == ConditionKind.WHILE:
        rows += call(at, "capture_jump_back", env, ids, task.jump_function, task.jump_function_bytes)
    return rows


def _condition_sqes(task: CaptureCondition, env: EncodeEnv) -> int:
    return 3 if task.kind == ConditionKind.WHILE else 2


_BLOCK: dict[str, Any] = {"function": 0x1000, "function_bytes": 64}
_JUMP: dict[str, Any] = {"jump_function": 0x2000, "jump_function_bytes": 64}


def model_maintenance(at: Generation, task: ModelMaintenance, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a step in the life of a model."""
    prepares = task.operation == ModelOperation.PRE_PROCESS
    return at.encode(
        "model_maintain",
        env,
        ids,
        pre_p=task.operation in _STOPPING,
        model_id=task.model_id,
        stream_id=task.stream_id,
        operation=task.operation,
        stream_type=task.stream_type,
        first_task_id=task.first_task_id,
        endgraph_notify_id=task.endgraph_notify_id if prepares else 0,
        executor_flag=task.executor_flag if prepares else 0,
        exec_times_addr=task.exec_times_addr,
        op_sq_id=task.sq_id,
        sq_id=env.sq_id,
    )


RULES = (
    Rule(ModelExecute, model_execute, ("model_execute",), samples=(ModelExecute(model_id=1, **_BLOCK),)),
    Rule(
        StreamSwitch,
        stream_switch,
        ("stream_switch", "stream_switch_ex"),
        samples=(
            StreamSwitch(addr=8, condition=0, true_sq_id=1, **_BLOCK),
            StreamSwitch(addr=8, condition=0, true_sq_id=1, extended=True, **_BLOCK),
        ),
    ),
    Rule(StreamActive, stream_active, ("stream_active",), samples=(StreamActive(active_sq_id=1, **_BLOCK),)),
    Rule(
        LabelSwitchByIndex,
        label_switch,
        ("label_switch_by_index",),
        samples=(LabelSwitchByIndex(index_addr=8, max_index=1, labels_addr=16, **_BLOCK),),
    ),
    Rule(
        CaptureCondition,
        capture_condition,
        ("capture_condition", "notify_wait", "capture_jump_back"),
        verified="rule",
        sqes=_condition_sqes,
        samples=(
            CaptureCondition(kind=ConditionKind.IF, notify_id=1, **_BLOCK),
            CaptureCondition(kind=ConditionKind.WHILE, notify_id=1, **_BLOCK, **_JUMP),
        ),
    ),
    Rule(ModelMaintenance, model_maintenance, ("model_maintain",)),
    direct(LabelSet, "label_set"),
    direct(
        ModelTaskUpdate,
        "model_task_update",
        verified="rule",
        tiling_key_addr="tiling_key_offset",
        block_dim_addr="block_dim_offset",
        tiling_table_addr="tiling_table_offset",
        tiling_table_length="tiling_table_length",
        des_stream_id="target_stream_id",
        des_task_id="target_task_id",
        exe_stream_id="execute_stream_id",
    ),
)
"""Builders of this module."""
