"""Descriptions of recorded events, models and messages."""

from __future__ import annotations

from collections.abc import Callable

from chips import tasks as t
from chips.verify.recorded.machine import Inputs, Machine, constants

_TIMELINE_FLAG = 8
_MODEL_TABLE_ENTRY = 16  # bytes of tables behind a model's program per head stream
_EXECUTOR_UNSET = 3


def _event_record(i: Inputs, at: Machine) -> t.Task:
    return t.EventRecord(
        event_id=i["event_id"],
        waited=not i.get("event_without_wait", 0),
        timeline=bool(i.get("event_flag", 0) & _TIMELINE_FLAG),
        report=bool(i["cqe_need_concern"]),
        synchronous=bool(i.get("wait_cq_flag", 0)),
        counted=bool(i.get("is_cnt_notify", 0)),
    )


def _model_maintenance(i: Inputs, at: Machine) -> t.Task:
    times = i["op_stream_exec_times_addr"]
    return t.ModelMaintenance(
        operation=t.ModelOperation(i["mmt_type"]),
        model_id=i["model_id"],
        stream_id=i["op_stream_id"],
        sq_id=at.sq_id(i["op_stream_id"]),
        stream_type=i["stream_type"],
        first_task_id=i["first_task_id"],
        endgraph_notify_id=i["endgraph_notify_id"],
        executor_flag=_EXECUTOR_UNSET,
        exec_times_addr=at.physical(times) if times else 0,
    )


def _model_execute(i: Inputs, at: Machine) -> t.Task:
    heads = constants()["heads"]
    return t.ModelExecute(
        model_id=i["model_id"],
        first_task_id=i["first_task_id"],
        function=i["fc_mem"],
        function_bytes=i["fc_size"] - heads * _MODEL_TABLE_ENTRY,
        head_sq_ids=tuple(range(i["head_sq_id"], i["head_sq_id"] + heads)),
        exec_times_addrs=tuple(at.exec_times(i["head_stream_id"] + n) for n in range(heads)),
        trace_addr=at.address_of("model_trace"),
    )


def _stream_switch(i: Inputs, at: Machine) -> t.Task:
    return t.StreamSwitch(
        addr=i["ptr"],
        condition=i["condition"],
        true_sq_id=i["true_sq_id"],
        true_stream_id=i["true_stream_id"],
        value=i.get("value", 0),
        value_addr=i.get("value_ptr", 0),
        data_type=i.get("data_type", 0),
        extended="value_ptr" in i or "data_type" in i,
        page=at.page(i["true_stream_id"]),
        exec_times_addr=at.exec_times(i["true_stream_id"]),
        function=i["fc_mem"],
        function_bytes=i["fc_size"],
    )


def _label_switch(i: Inputs, at: Machine) -> t.Task:
    return t.LabelSwitchByIndex(
        index_addr=i["index_ptr"],
        max_index=i["max"],
        labels_addr=i["label_info_ptr"],
        function=i["fc_mem"],
        function_bytes=i["fc_size"],
        trace_addr=i["dfx_ptr"],
        count_addr=at.address_of("label_count"),
    )


def _profiling(kind: type[t.ProfilingEnable]) -> Callable[[Inputs, Machine], t.Task]:
    return lambda i, at: kind(
        pid=i["pid"],
        events=(i["event_id0"],) if "event_id0" in i else (),
        start_cycle=i.get("start_cycle", 0),
        stop_cycle=i.get("stop_cycle", 0),
        task_based=i["is_task_based"],
        soc_log=i["is_hwts_log"],
    )


MAKERS: dict[str, Callable[[Inputs, Machine], t.Task]] = {
    "EVENT_RECORD": _event_record,
    "STREAM_WAIT_EVENT": lambda i, at: t.EventWait(event_id=i["event_id"], timeout_s=i["timeout"]),
    "EVENT_RESET": lambda i, at: t.EventReset(event_id=i["event_id"]),
    "NOTIFY_RECORD": lambda i, at: t.NotifyRecord(notify_id=i["notify_id"]),
    "NOTIFY_RECORD_IPC": lambda i, at: t.NotifyRecordIpc(
        notify_id=i["notify_id"], phy_id=i["phy_id"], pcie=bool(i["is_pcie"]), pod=bool(i["is_pod"])
    ),
    "NOTIFY_WAIT": lambda i, at: t.NotifyWait(notify_id=i["notify_id"], timeout_s=i["timeout"]),
    "COUNT_NOTIFY_RECORD": lambda i, at: t.CountNotifyRecord(
        notify_id=i["notify_id"], mode=i["mode"], value=i["value"]
    ),
    "COUNT_NOTIFY_WAIT": lambda i, at: t.CountNotifyWait(
        notify_id=i["notify_id"],
        mode=i["mode"],
        value=i["value"],
        timeout_s=i["timeout"],
        clear=bool(i["is_clear"]),
    ),
    "NOP": lambda i, at: t.Nop(),
    "MAINTENANCE": lambda i, at: t.Maintenance(
        kind=t.MaintenanceKind(i["mt_type"]), target_id=i["mt_id"], flag=bool(i["flag"])
    ),
    "GET_STARS_VERSION": lambda i, at: t.GetStarsVersion(),
    "TASK_FLIP": lambda i, at: t.Flip(flip_number=i["flip_num"]),
    "SQ_LOCK_UNLOCK": lambda i, at: t.SqLock(lock=bool(i["is_lock"])),
    "COMMON_CMD_STREAM_CLEAR": lambda i, at: t.StreamClear(stream_id=i["target_stream_id"], step=i["step"]),
    "COMMON_CMD_NOTIFY_RESET": lambda i, at: t.NotifyClear(notify_id=i["notify_id"]),
    "MODEL_MAINTAINCE": _model_maintenance,
    "MODEL_EXECUTE": _model_execute,
    "MODEL_END_GRAPH": lambda i, at: t.EndGraph(
        model_id=i["model_id"], args=i["arg"], func_name=i["end_graph_name"], flags=i["flags"]
    ),
    "MODEL_TO_AICPU": lambda i, at: t.ModelToAicpu(
        model_id=i["model_id"], command=i["control_type"], info=i["model_ptr"]
    ),
    "STREAM_SWITCH": _stream_switch,
    "STREAM_ACTIVE": lambda i, at: t.StreamActive(
        active_sq_id=i["active_sq_id"],
        active_stream_id=i["active_stream_id"],
        page=at.page(i["active_stream_id"]),
        exec_times_addr=at.exec_times(i["active_stream_id"]),
        function=i["fc_mem"],
        function_bytes=i["fc_size"],
    ),
    "LABEL_SET": lambda i, at: t.LabelSet(label_id=i["label_id"], dst=i["dev_dst_addr"]),
    "STREAM_LABEL_SWITCH_BY_INDEX": _label_switch,
    "PROFILING_ENABLE": _profiling(t.ProfilingEnable),
    "PROFILING_DISABLE": _profiling(t.ProfilingDisable),
    "PROFILER_DYNAMIC_ENABLE": lambda i, at: t.ProfilerDynamic(pid=i["pid"]),
    "PROFILER_DYNAMIC_DISABLE": lambda i, at: t.ProfilerDynamic(type=t.TaskType.PROFILER_DYNAMIC_DISABLE, pid=i["pid"]),
    "PROFILER_TRACE_EX": lambda i, at: t.ProfilerTraceEx(trace_id=i["id"], model_id=i["model_id"], tag_id=i["tag_id"]),
    "DATADUMP_LOADINFO": lambda i, at: t.DataDumpLoadInfo(
        info=i["dump_info"], length=i["len"], kernel_kind=i["kernel_type"]
    ),
    "AICPU_INFO_LOAD": lambda i, at: t.AicpuInfoLoad(info=i["aicpu_info"], length=i["len"]),
    "DEBUG_REGISTER": lambda i, at: t.DebugRegister(
        model_id=i["model_id"], addr=at.debug_address(i["addr"]), flag=i["flag"]
    ),
    "DEBUG_UNREGISTER": lambda i, at: t.DebugUnregister(model_id=i["model_id"]),
    "DEBUG_REGISTER_FOR_STREAM": lambda i, at: t.DebugRegisterForStream(
        stream_id=i["target_stream_id"], addr=at.debug_address(i["addr"]), flag=i["flag"]
    ),
    "DEBUG_UNREGISTER_FOR_STREAM": lambda i, at: t.DebugUnregisterForStream(stream_id=i["target_stream_id"]),
    "DEVICE_RINGBUFFER_CONTROL": lambda i, at: t.RingBufferControl(
        addr=i["addr"], length=i["len"], phy_addr=at.physical(i["addr"]), delete=bool(i["del_flag"])
    ),
    "GET_DEVICE_MSG": lambda i, at: t.GetDeviceMessage(
        addr=i["addr"], length=i["size"], phy_addr=at.physical(i["addr"]), kind=i["msg_type"]
    ),
    "NPU_GET_FLOAT_STATUS": lambda i, at: t.GetFloatStatus(
        addr=i["addr"], size=i["size"], check_mode=i["check_mode"], debug=bool(i["debug"])
    ),
    "NPU_CLEAR_FLOAT_STATUS": lambda i, at: t.ClearFloatStatus(check_mode=i["check_mode"], debug=bool(i["debug"])),
    "OVERFLOW_SWITCH_SET": lambda i, at: t.OverflowSwitch(stream_id=i["target_stream_id"], on=bool(i["flags"])),
    "STREAM_TAG_SET": lambda i, at: t.StreamTag(stream_id=i["target_stream_id"], tag=i["ge_op_tag"]),
    "TASK_TIMEOUT_SET": lambda i, at: (
        t.TimeoutSet(execute_s=i["timeout"])
        if i["type"] == t.TimeoutKind.EXECUTE
        else t.TimeoutSet(wait_s=i["timeout"])
    ),
    "CALLBACK_LAUNCH": lambda i, at: t.HostCallback(
        function=i["callback_fn"], data=i["fn_data"], event_id=i["event_id"], block=bool(i["is_block"])
    ),
    "TSFW_AICPU_MSG_VERSION": lambda i, at: t.AicpuMessageVersion(),
}
"""Name of a recorded task -> description."""
