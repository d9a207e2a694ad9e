"""Models, labels and the streams they switch of chips without STARS.

Source: ToCommandBodyForModelExecuteTask, ...StreamSwitchTask and neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.tasks import (
    LabelSet,
    LabelSwitchByIndex,
    ModelExecute,
    ModelMaintenance,
    ModelTaskUpdate,
    StreamActive,
    StreamSwitch,
    Task,
    TaskType,
)
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_MORE_LABELS = 2  # scheduler version from which labels lie in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExit(Task):
    """Leave a model from one of its streams."""

    type: ClassVar[TaskType] = TaskType.MODEL_EXIT_GRAPH
    model_id: int
    stream_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSwitchN(Task):
    """Activate one of several streams: by the index of the value at ``addr`` in a list of ``size`` values."""

    type: ClassVar[TaskType] = TaskType.STREAM_SWITCH_N
    addr: int
    values_addr: int
    streams_addr: int
    size: int
    element_size: int
    data_type: int = 0
    translated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSwitch(Task):
    """Go to a label if the variable at ``addr`` compares with ``value`` (condition numbers as in ``StreamSwitch``)."""

    type: ClassVar[TaskType] = TaskType.LABEL_SWITCH
    addr: int
    condition: int
    value: int
    true_label_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelGoto(Task):
    """Go to a label of the stream."""

    type: ClassVar[TaskType] = TaskType.LABEL_GOTO
    label_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLabelGoto(Task):
    """Go to a label of the model."""

    type: ClassVar[TaskType] = TaskType.STREAM_LABEL_GOTO
    label_id: int
    model_id: int


def _model_maintenance(task: ModelMaintenance, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "model_id": task.model_id,
        "target_stream_id": task.stream_id,
        "operation": task.operation,
        "stream_type": task.stream_type,
        "first_task_id": task.first_task_id,
    }


def _model_execute(task: ModelExecute, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "model_id": task.model_id,
        "first_task_id": task.first_task_id,
        "group_id": facts.model_group_id,
        "asid_base": facts.asid_base,
        "tcr": facts.tcr,
        "asid": facts.asid,
        "ssid": env.ssid,
    }


def _model_task_update(task: ModelTaskUpdate, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    # the command has space for the descriptor and the executing stream; the runtime leaves them out
    return {
        "tiling_key_offset": task.tiling_key_offset,
        "block_dim_offset": task.block_dim_offset,
        "tiling_table_offset": task.tiling_table_offset,
        "tiling_table_length": task.tiling_table_length,
        "target_stream_id": task.target_stream_id,
        "target_task_id": task.target_task_id,
    }


def _stream_switch(task: StreamSwitch, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "value": task.value & (1 << 64) - 1,  # a signed number in 64 bits
        "addr": task.addr,
        "value_addr": task.value_addr,
        "condition": task.condition,
        "true_stream_id": task.true_stream_id,
        "extended": task.extended,
        "data_type": task.data_type,
    }


def _stream_switch_n(task: StreamSwitchN, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "addr": task.addr,
        "values": task.values_addr,
        "streams": task.streams_addr,
        "size": task.size,
        "element_size": task.element_size,
        "data_type": task.data_type,
        "translated": task.translated,
    }


def _label_set(task: LabelSet, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {"label_id": task.label_id, "label_addr": task.dst if env.ts_version >= _MORE_LABELS else 0}


RULES = (
    Rule(ModelMaintenance, _model_maintenance),
    Rule(ModelExecute, _model_execute),
    Rule(ModelExit, named("model_id", target_stream_id="stream_id"), ends_graph=True),
    Rule(ModelTaskUpdate, _model_task_update),
    Rule(StreamSwitch, _stream_switch),
    Rule(StreamSwitchN, _stream_switch_n),
    Rule(StreamActive, named("active_stream_id")),
    Rule(LabelSet, _label_set),
    Rule(LabelSwitch, named("addr", "condition", "value", "true_label_id")),
    Rule(LabelGoto, named("label_id")),
    Rule(LabelSwitchByIndex, named(index="index_addr", labels="labels_addr", count="max_index")),
    Rule(StreamLabelGoto, named("label_id", "model_id")),
)
"""Builders of this module."""
