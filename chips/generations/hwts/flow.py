"""Events, models, labels and streams of chips without STARS.

No recorded bytes exist for these chips; every builder follows the rule of the runtime's toCommand callback for its type
(ToCommandBodyForEventRecordTask, ...ModelExecuteTask, ...StreamSwitchTask, ...CreateStreamTask and neighbours).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.generations.hwts.tasks import (
    CreateStream,
    LabelGoto,
    LabelSwitch,
    ModelExit,
    QueueMaintenance,
    RemoteEventWait,
    SetStreamMode,
    StreamLabelGoto,
    StreamSwitchN,
    TimedEventRecord,
)
from chips.tasks import (
    EndGraph,
    EventRecord,
    EventReset,
    EventWait,
    LabelSet,
    LabelSwitchByIndex,
    Maintenance,
    MaintenanceKind,
    ModelExecute,
    ModelMaintenance,
    ModelTaskUpdate,
    ModelToAicpu,
    NotifyRecord,
    NotifyRecordIpc,
    NotifyWait,
    StreamActive,
    StreamSwitch,
)

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_EVENT_FLAGS = 0x0E  # synchronise, time line, stream mark
_EVENT_TIMED = 0x01
_FORCE_RECYCLE = 0x67
_MORE_LABELS = 2  # scheduler version from which labels have a place in memory


def _event_record(task: EventRecord, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {"event_id": task.event_id, "flag": _EVENT_FLAGS, "thread_id": facts.thread_id}


def _timed_event_record(task: TimedEventRecord, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    fields = _event_record(task, env, facts)
    if task.timeline:
        fields |= {
            "flag": _EVENT_FLAGS | _EVENT_TIMED,
            "timeline_base": task.timeline_base,
            "timeline_offset": task.timeline_offset,
        }
    if task.wait_cq_id is not None:
        fields |= {"wait_cq": 1, "wait_cq_id": task.wait_cq_id}
    return fields


def _remote_event_wait(task: RemoteEventWait, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "src_mailbox": task.src_mailbox,
        "src_doorbell": task.src_doorbell,
        "dst_doorbell": task.dst_doorbell,
        "src_event_id": task.event_id,
        "src_device_id": task.src_device_id,
        "dst_device_id": task.dst_device_id,
        "channel": task.channel,
    }


def _maintenance(task: Maintenance, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    forced = task.flag and task.kind == MaintenanceKind.STREAM_RECYCLE
    return {
        "goal": task.kind,
        "target_id": task.target_id,
        "thread_id": facts.thread_id,
        "flag": _FORCE_RECYCLE if forced else 0,
    }


def _queue_maintenance(task: QueueMaintenance, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return _maintenance(task, env, facts) | {"terminal": task.terminal, "wait_cq_id": task.wait_cq_id}


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


def _end_graph(task: EndGraph, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func_name": task.func_name,
        "args": task.args,
        "model_id": task.model_id,
        "executor": task.executor_flag,
        "priority": facts.priority,
        "dump": task.flags,
    }


def _model_task_update(task: ModelTaskUpdate, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    # the command has room for the descriptor and the executing stream; the runtime leaves them out
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


def _create_stream(task: CreateStream, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "pid": task.pid,
        "l2_base": facts.l2_base,
        "asid_base": facts.asid_base,
        "runtime_version": facts.runtime_version,
        "logic_cq_id": facts.logic_cq_id,
        "thread_id": facts.thread_id,
        "asid": facts.asid,
        "ssid": env.ssid,
        "priority": facts.priority,
        "attributes": task.attributes,
        "group_id": facts.group_id,
        "device_id": env.device_id,
        "log_to_host": facts.log_to_host,
    }


RULES = (
    Rule(EventRecord, _event_record),
    Rule(TimedEventRecord, _timed_event_record),
    Rule(EventWait, named("event_id", timeout="timeout_s")),
    Rule(EventReset, named("event_id")),
    Rule(RemoteEventWait, _remote_event_wait),
    Rule(NotifyWait, named("notify_id", timeout="timeout_s"), quiet=True),
    Rule(NotifyRecord, lambda task, env, facts: {"notify_id": task.notify_id, "device_id": env.device_id}, quiet=True),
    Rule(NotifyRecordIpc, named("notify_id", device_id="phy_id"), quiet=True),
    Rule(Maintenance, _maintenance),
    Rule(QueueMaintenance, _queue_maintenance),
    Rule(ModelMaintenance, _model_maintenance),
    Rule(ModelExecute, _model_execute),
    Rule(EndGraph, _end_graph, ends_graph=True),
    Rule(ModelExit, named("model_id", target_stream_id="stream_id"), ends_graph=True),
    Rule(ModelToAicpu, named("info", "model_id", "command", executor="executor_flag")),
    Rule(ModelTaskUpdate, _model_task_update),
    Rule(StreamSwitch, _stream_switch),
    Rule(StreamSwitchN, _stream_switch_n),
    Rule(StreamActive, named("active_stream_id")),
    Rule(LabelSet, _label_set),
    Rule(LabelSwitch, named("addr", "condition", "value", "true_label_id")),
    Rule(LabelGoto, named("label_id")),
    Rule(LabelSwitchByIndex, named(index="index_addr", labels="labels_addr", count="max_index")),
    Rule(StreamLabelGoto, named("label_id", "model_id")),
    Rule(CreateStream, _create_stream),
    Rule(SetStreamMode, named("mode")),
)
