"""Models on STARS v1: condition entries, most of which call a block in device memory, and messages about models.

Sources: stars_sqe.hpp (RtStarsFunctionCallSqe, RtStarsPhSqe); sqe_fill_rules 6 and 7.  ``chips.programs`` builds the
blocks.
"""

from __future__ import annotations

from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import LAYOUTS, call, head, ops
from chips.registry import Later
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

_ANSWERED = frozenset(
    {ModelOperation.STREAM_ADD, ModelOperation.STREAM_DELETE, ModelOperation.PRE_PROCESS, ModelOperation.ABORT}
)
_LABEL_SET = LAYOUTS["label_set"]
_MODEL = LAYOUTS["model_maintenance"]
_UPDATE = LAYOUTS["model_update"]
_MODEL_EXECUTE = LAYOUTS["model_execute"]
_SWITCH = LAYOUTS["stream_switch"]
_SWITCH_EX = LAYOUTS["stream_switch_ex"]
_ACTIVE = LAYOUTS["stream_active"]
_LABEL = LAYOUTS["label_switch"]
_CONDITION = LAYOUTS["capture_condition"]
_JUMP_BACK = LAYOUTS["capture_jump_back"]
_NOTIFY_WAIT = LAYOUTS["notify_wait"]


def label_set(task: LabelSet, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that stands where a label is."""
    return _LABEL_SET.encode(**head(env, ids))


def model_maintenance(task: ModelMaintenance, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message about a model; what it carries depends on the operation."""
    fields = {}
    if task.operation is ModelOperation.STREAM_ADD:
        fields = {"exec_times_addr": task.exec_times_addr}
    elif task.operation is ModelOperation.PRE_PROCESS:
        fields = {"executor_flag": task.executor_flag, "endgraph_notify_id": task.endgraph_notify_id}
    return _MODEL.encode(
        **head(env, ids),
        pre_p=task.operation in _ANSWERED,
        model_id=task.model_id,
        op_stream_id=task.stream_id,
        operation=task.operation,
        stream_type=task.stream_type,
        first_task_id=task.first_task_id,
        **fields,
    )


def model_update(task: ModelTaskUpdate, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that changes a task of a model."""
    return _UPDATE.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        descriptor_offset=task.descriptor_offset,
        tiling_key_offset=task.tiling_key_offset,
        block_dim_offset=task.block_dim_offset,
        tiling_table_offset=task.tiling_table_offset,
        tiling_table_length=task.tiling_table_length,
        target_stream_id=task.target_stream_id,
        target_task_id=task.target_task_id,
        execute_stream_id=task.execute_stream_id,
    )


def model_execute(task: ModelExecute, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that starts a model; ``function_bytes`` counts its instructions, not the tables behind them."""
    return call(_MODEL_EXECUTE, env, ids, task.function, task.function_bytes, model_id=task.model_id)


def stream_switch(task: StreamSwitch, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a conditional stream activation."""
    return call(_SWITCH_EX if task.extended else _SWITCH, env, ids, task.function, task.function_bytes)


def stream_active(task: StreamActive, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that activates a stream."""
    return call(_ACTIVE, env, ids, task.function, task.function_bytes)


def label_switch(task: LabelSwitchByIndex, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a jump to one of several labels."""
    return call(_LABEL, env, ids, task.function, task.function_bytes)


def capture_condition(task: CaptureCondition, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQEs of a conditional node: choose, wait for the sub-graph's end, and for WHILE jump back."""
    rows = call(_CONDITION, env, ids, task.function, task.function_bytes)
    rows += _NOTIFY_WAIT.encode(
        stream_id=env.stream_id, task_id=ids.task_id, notify_id=task.notify_id, timeout=task.timeout_s
    )
    if task.kind is ConditionKind.WHILE:
        rows += call(_JUMP_BACK, env, ids, task.jump_function, task.jump_function_bytes)
    return rows


def capture_condition_sqes(task: CaptureCondition, env: EncodeEnv) -> int:
    """SQEs of a conditional node: three for WHILE, else two."""
    return 3 if task.kind is ConditionKind.WHILE else 2


_FUNCTION = {"function": 0x100, "function_bytes": 8}

OPS = (
    ops(
        model_execute,
        "model_execute",
        Later(ModelExecute, **_FUNCTION),
    ),
    ops(
        stream_switch,
        "stream_switch stream_switch_ex",
        Later(StreamSwitch, **_FUNCTION),
        Later(StreamSwitch, extended=True, **_FUNCTION),
    ),
    ops(stream_active, "stream_active", Later(StreamActive, **_FUNCTION)),
    ops(
        label_switch,
        "label_switch",
        Later(LabelSwitchByIndex, **_FUNCTION),
    ),
    ops(
        capture_condition,
        "capture_condition notify_wait capture_jump_back",
        Later(CaptureCondition, kind=ConditionKind.IF, **_FUNCTION),
        Later(CaptureCondition, kind=ConditionKind.WHILE, jump_function=0x200, jump_function_bytes=4, **_FUNCTION),
        verified="rule",
        sqes=capture_condition_sqes,
    ),
    ops(label_set, "label_set", LabelSet),
    ops(
        model_maintenance,
        "model_maintenance",
        *(Later(ModelMaintenance, operation=operation) for operation in ModelOperation),
    ),
    ops(model_update, "model_update", ModelTaskUpdate),
)
"""Builders of this module."""
