"""Builder cases: descriptions of tasks whose builder was called alone, with a mocked stream and device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chips import tasks as t
from chips.catalog import find_chip
from chips.chip import Chip
from chips.env import EncodeEnv, TaskIds
from chips.verify.recorded.machine import Inputs

_SOCS = {
    "v100_910B": "Ascend910B1",
    "v200_david": "Ascend950PR_9599",
    "v200_arch9201": "Arch9201",
    "v201_mc62": "MC62CM12A",
    "arch5162": "Ascend5162A",
}
_REDUCE = {"add": t.CopyKind.ADD, "max": t.CopyKind.MAX, "min": t.CopyKind.MIN, "equal": t.CopyKind.EQUAL}
_DATA_TYPES = {"fp32": 0, "fp16": 1, "int16": 2, "int8": 4, "int32": 5}
_FUNCTION_SIZES = {"sizeof(RtStarsMemWaitValueLastInstrFc)": 0x67 * 4, "sizeof(RtStarsStreamActiveFc)": 0x5E * 4}
_REPORT = {"default": t.Report.DEFAULT, "never": t.Report.NEVER, "always": t.Report.ALWAYS}
_CCU_FIRST_WORD = 0x1000
_CCU_ARGS = 13


def builder_case(
    group: str, task_type: int, inputs: Inputs, context: Inputs
) -> tuple[Chip, EncodeEnv, TaskIds, t.Task | None]:
    """Return chip, environment, ids and description of a case; the description is None if its kind has none here."""
    chip = find_chip(_SOCS[group])
    env = EncodeEnv(
        chip=chip,
        stream_id=context["stream_id"],
        tsd_qos=context.get("tsd_qos", 0),
        stack_base_32k=context.get("stack32k", 0),
        stack_base_16k=context.get("stack16k", 0),
        custom_stack_base=context.get("custom_stack", 0),
        die_count=context.get("die_num", 1),
        online=context.get("online", True),
        ub_connected=context.get("ub", False),
        task_profiling=context.get("task_level_prof", False),
    )
    ids = TaskIds(context["task_id"], context.get("task_sn", 0), 0, 0)
    if "reduce" in inputs and inputs["copy_type"] == t.CopyKind.SDMA:
        # the mock kept the copy type of a device copy beside the reduction, so the chip's own QoS applied
        inputs = {**inputs, "qos": chip.prop("memcpyAsyncTaskD2DQos")}
    make = _CASES.get(t.TaskType(task_type))
    if make is None:
        return chip, env, ids, t.BareTask(t.TaskType(task_type))
    return chip, env, ids, make(inputs)


def _core(i: Inputs) -> t.Task:
    fields: dict[str, Any] = {
        "pc": i["pc"],
        "args": i["args"],
        "block_dim": i["dim"],
        "args_size": i.get("args_size", 0),
        "timeout_us": i.get("timeout_us", i.get("timeout", 0)),
        "schem_mode": i.get("schem", 0),
        "min_stack_size": i.get("min_stack", 0),
        "qos": i.get("qos", 0),
        "part_id": i.get("part_id", 0),
        "flags": i.get("kernel_flag", 0),
    }
    if "mix" not in i:
        return t.AicKernel(**fields)
    first, second = i["prefetch"]
    return t.MixKernel(
        **fields, mix=t.MixKind(i["mix"]), ratio=i["ratio"], pc2=i["pc1"], prefetch=first, prefetch2=second
    )


def _vector(i: Inputs) -> t.Task:
    made = _core(i)
    return t.AivKernel(**{field: getattr(made, field) for field in t.AivKernel.__dataclass_fields__ if field != "type"})


def _memcpy(i: Inputs) -> t.Task:
    return t.MemcpyAsync(
        src=i["src"],
        dst=i["dst"],
        size=i["size"],
        kind=_REDUCE[i["reduce"]] if "reduce" in i else t.CopyKind(i.get("copy_type", t.CopyKind.SDMA)),
        config=t.CopyConfig(qos=i["qos"], part_id=i["part_id"]) if "qos" in i else None,
        data_type=_DATA_TYPES[i["dtype"]] if "dtype" in i else 0,
        host_pid=i.get("pid", 0),
    )


def _write(i: Inputs) -> t.Task:
    report = _REPORT[i["cqe"]]
    if "ptr" in i:
        return t.WriteValuePointer(pointer=i["ptr"], report=report)
    return t.WriteValue(addr=i["addr"], size_code=i["awsize"], data=bytes.fromhex(i["value"]), report=report)


def _mem_wait(i: Inputs) -> t.Task:
    return t.MemWaitValue(
        addr=i["addr"], value=i["value"], size_code=i["awsize"], flag_addr=i["flag_addr"], **_function(i)
    )


def _function(i: Inputs) -> dict[str, int]:
    size = i.get("func_bytes", 0)
    return {"function": i.get("func", 0), "function_bytes": _FUNCTION_SIZES.get(size, size)}


def _notify_wait(i: Inputs) -> t.Task:
    if "mode" not in i:
        return t.NotifyWait(notify_id=i["notify_id"], timeout_s=i["timeout"])
    return t.CountNotifyWait(
        notify_id=i["notify_id"], mode=i["mode"], value=i["value"], timeout_s=i["timeout"], clear=bool(i["clear"])
    )


def _cmo(i: Inputs) -> t.Task:
    return t.Cmo(
        op_code=i["op"],
        src=i["addr"],
        length=i["len"],
        cmo_type=i.get("cmo_type", 0),
        qos=i.get("qos", 0),
        part_id=i.get("part_id", 0),
    )


def _stream_switch(i: Inputs) -> t.Task:
    return t.StreamSwitch(
        addr=i["left"],
        value_addr=i["right"],
        condition=i["cond"],
        data_type=i["dtype"],
        true_stream_id=i["true_stream"],
        true_sq_id=i["true_stream"],
        extended=True,
    )


def _ccu(i: Inputs) -> t.Task:
    short = i["size"] == 1
    part = t.CcuPart(
        mission_id=i["mission"],
        die_id=i["die"],
        timeout_s=i["timeout_s"],
        start_id=i["start"],
        instruction_count=i["count"],
        key=i["key"],
        args=tuple(_CCU_FIRST_WORD + 2 * n | (_CCU_FIRST_WORD + 2 * n + 1) << 32 for n in range(_CCU_ARGS)),
        short=short,
    )
    return t.CcuLaunch(part=part)


def _model_update(i: Inputs) -> t.Task:
    return t.ModelTaskUpdate(
        descriptor_offset=i["desc"],
        tiling_key_offset=i["key"],
        block_dim_offset=i["dim"],
        tiling_table_offset=i["tab"],
        tiling_table_length=i["len"],
        target_stream_id=i["ds"],
        target_task_id=i["dt"],
        execute_stream_id=i["es"],
    )


def _ub_doorbell(i: Inputs) -> t.Task:
    jobs = tuple(t.UbJob(jetty_id=a, function_id=b, pi=c, die_id=d) for a, b, c, d in i["info"])
    return t.UbDoorbell(jobs=jobs, source=i["source"])


def _direct_send(i: Inputs) -> t.Task:
    job = t.UbJob(
        die_id=i["die"], jetty_id=i["jetty"], function_id=i["func"], wqe=bytes(range(64 * (i["wqe_size"] + 1)))
    )
    return t.DirectSend(job=job, wqe_size=i["wqe_size"])


_T = t.TaskType
_CASES: dict[t.TaskType, Callable[[Inputs], t.Task]] = {
    _T.KERNEL_AICORE: _core,
    _T.KERNEL_AIVEC: _vector,
    _T.KERNEL_AICPU: lambda i: t.AicpuKernel(
        so_name=i["so"],
        func_name=i["name"],
        args=i["args"],
        block_dim=i["dim"],
        head_offset=i["head_offset"],
        kind=i["kind"],
        flags=i["kernel_flag"],
        timeout_us=i["timeout"],
    ),
    _T.MEMCPY: _memcpy,
    _T.MEMSET: lambda i: t.Memset(addr=i["addr"], value=i["value"], count=i["count"]),
    _T.NOTIFY_WAIT: _notify_wait,
    _T.NOTIFY_RECORD: lambda i: t.NotifyRecord(notify_id=i["notify_id"]),
    _T.STREAM_WAIT_EVENT: lambda i: t.EventWait(event_id=i["event_id"], timeout_s=i["timeout"]),
    _T.EVENT_RESET: lambda i: t.EventReset(event_id=i["event_id"]),
    _T.WRITE_VALUE: _write,
    _T.MEM_WRITE_VALUE: lambda i: t.MemWriteValue(addr=i["addr"], value=i["value"], size_code=i["awsize"]),
    _T.MEM_WAIT_VALUE: _mem_wait,
    _T.CMO: _cmo,
    _T.BARRIER: lambda i: t.Barrier(ids=tuple((kind, number) for kind, number in i["ids"])),
    _T.NOP: lambda i: t.Nop(),
    _T.MAINTENANCE: lambda i: t.Maintenance(
        kind=t.MaintenanceKind(i.get("type", 0)), target_id=i.get("target", 0), flag=bool(i.get("flag", 0))
    ),
    _T.STREAM_ACTIVE: lambda i: t.StreamActive(
        active_sq_id=i.get("stream", 0), active_stream_id=i.get("stream", 0), **_function(i)
    ),
    _T.STREAM_SWITCH: _stream_switch,
    _T.LABEL_SET: lambda i: t.LabelSet(label_id=i["label"]),
    _T.NPU_GET_FLOAT_STATUS: lambda i: t.GetFloatStatus(addr=i["addr"], debug=bool(i["debug"])),
    _T.HOSTFUNC_CALLBACK: lambda i: t.HostCallback(
        function=i["func"], data=i["data"], event_id=i["event"], block=bool(i["block"])
    ),
    _T.TASK_TIMEOUT_SET: lambda i: t.TimeoutSet(wait_s=i["wait"], execute_s=i["exec"] if i["exec_en"] else None),
    _T.MODEL_TO_AICPU: lambda i: t.ModelToAicpu(command=i["cmd"], model_id=i["model"], info=i["arg"]),
    _T.MODEL_END_GRAPH: lambda i: t.EndGraph(model_id=0, args=i["arg"], func_name=i["name"]),
    _T.PROFILING_ENABLE: lambda i: t.ProfilingEnable(
        pid=i.get("pid", 0), task_based=i.get("task_based", 0), soc_log=i.get("hwts_log", 0)
    ),
    _T.DATADUMP_LOADINFO: lambda i: t.DataDumpLoadInfo(info=i["info"], length=i["len"], kernel_kind=i["kind"]),
    _T.FLIP: lambda i: t.Flip(flip_number=i["flip"], sub_type=i["sub"], target_stream_id=i["stream"]),
    _T.SET_SQ_LOCK_UNLOCK: lambda i: t.SqLock(lock=bool(i["lock"])),
    _T.MODEL_TASK_UPDATE: _model_update,
    _T.CCU_LAUNCH: _ccu,
    _T.UB_DB_SEND: _ub_doorbell,
    _T.DIRECT_SEND: _direct_send,
    _T.TSFW_AICPU_MSG_VERSION: lambda i: t.AicpuMessageVersion(),
}
"""Task type -> description; every other type had only a placeholder."""
