"""Commands of chips without STARS: the written rules, and every field of every layout."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.catalog import Catalog
from chips.completion import OutcomeKind
from chips.env import EncodeEnv, TaskIds
from chips.generations.hwts import HwtsEnv, HwtsFacts
from chips.generations.hwts.aicpu import SizedAicpuKernel
from chips.generations.hwts.command import layouts
from chips.generations.hwts.completion import ReportKind, classify, parse_cqe
from chips.generations.hwts.control import CreateStream, OnlineProfiling, QueueMaintenance
from chips.generations.hwts.event import TimedEventRecord
from chips.generations.hwts.memory import DmaAddress, DmaCopy
from chips.generations.hwts.model import ModelExit
from chips.layout import FieldOverflow
from chips.registry import plugin
from chips.tasks import (
    AicKernel,
    AicpuKernel,
    BareTask,
    CopyKind,
    EndGraph,
    EventRecord,
    LabelSet,
    Maintenance,
    MaintenanceKind,
    MemcpyAsync,
    Nop,
    ProfilingEnable,
    StreamSwitch,
    Task,
    TaskType,
    TimeoutSet,
)
from tests.tools.fillings import fillings

CHIP = Catalog().find("Ascend910A")
PLUGIN = plugin(CHIP)
ENV = EncodeEnv(chip=CHIP, stream_id=5, device_id=1)
IDS = TaskIds(task_id=0x1234)

# task types with a toCommand callback in the runtime's v100 library
COMMANDS = """
    KERNEL_AICORE KERNEL_AICPU EVENT_RECORD STREAM_WAIT_EVENT FUSION_ISSUE MEMCPY MAINTENANCE CREATE_STREAM
    REMOTE_EVENT_WAIT CREATE_L2_ADDR MODEL_MAINTAINCE MODEL_EXECUTE NOTIFY_WAIT NOTIFY_RECORD RDMA_SEND
    STREAM_SWITCH STREAM_ACTIVE LABEL_SET LABEL_SWITCH LABEL_GOTO PROFILER_TRACE EVENT_RESET RDMA_DB_SEND
    PROFILER_TRACE_EX PROFILER_DYNAMIC_ENABLE PROFILER_DYNAMIC_DISABLE TASK_SQE_UPDATE PROFILING_ENABLE
    PROFILING_DISABLE KERNEL_AIVEC MODEL_END_GRAPH MODEL_TO_AICPU ACTIVE_AICPU_STREAM DATADUMP_LOADINFO
    STREAM_SWITCH_N HOSTFUNC_CALLBACK ONLINEPROF_START ONLINEPROF_STOP STREAM_LABEL_SWITCH_BY_INDEX
    STREAM_LABEL_GOTO DEBUG_REGISTER DEBUG_UNREGISTER FUSIONDUMP_ADDR_SET MODEL_EXIT_GRAPH ADCPROF
    DEVICE_RINGBUFFER_CONTROL DEBUG_REGISTER_FOR_STREAM DEBUG_UNREGISTER_FOR_STREAM TASK_TIMEOUT_SET
    GET_DEVICE_MSG REDUCE_ASYNC_V2 SET_STREAM_MODE FLIP MODEL_TASK_UPDATE AICPU_INFO_LOAD NOP
"""


def fields(task: Task, env: EncodeEnv = ENV) -> dict[str, int]:
    raw = PLUGIN.encode(task, env, IDS)
    decoded = PLUGIN.decode(raw)
    assert decoded.type == task.type
    assert decoded.problems == ()
    return decoded.fields


def test_every_command_type_is_registered() -> None:
    assert {kind.name for kind in PLUGIN.types()} == set(COMMANDS.split())
    assert {PLUGIN.ops(kind).verified for kind in PLUGIN.types()} == {"rule"}


@pytest.mark.parametrize("soc", ["Ascend310", "Ascend310P3", "Ascend610"])
def test_all_these_chips_share_the_commands(soc: str) -> None:
    assert plugin(Catalog().find(soc)).types() == PLUGIN.types()


@pytest.mark.parametrize("name", [name for name, table in layouts().items() if "type" in table.when])
def test_every_field_comes_back(name: str) -> None:
    table = layouts()[name]
    for values in fillings({field.name: field.width for field in table.fields if field.name not in table.when}):
        raw = table.encode(**values)
        found = layouts().identify(raw)
        assert found is table
        assert found.decode(raw) == {**values, **table.when}


def test_header_words() -> None:
    raw = PLUGIN.encode(Nop(), ENV, IDS)
    assert struct.unpack("<8H", raw[:16]) == (5, 0x1234, 0xFFFF, 103, 0xFFFF, 0, 0x0800, 0)
    assert raw[16:] == bytes(48)
    quiet = fields(AicKernel(pc=1, args=2, block_dim=3))
    assert (quiet["no_report"], quiet["unsinked"]) == (1, 1)
    env = HwtsEnv(chip=CHIP, bound=True, hwts=HwtsFacts(report=True, profile=3, control_stream=True))
    loud = fields(AicKernel(pc=1, args=2, block_dim=3), env)
    assert (loud["no_report"], loud["unsinked"], loud["profile"], loud["control"]) == (0, 0, 3, 1)
    on_aicpu = HwtsEnv(chip=CHIP, bound=True, hwts=HwtsFacts(aicpu_stream=True))
    assert fields(Nop(), on_aicpu)["unsinked"] == 1


def test_kernels() -> None:
    core = fields(AicKernel(pc=0x1000, args=0x2000, block_dim=8, schem_mode=1, flags=0x17))
    assert (core["func"], core["args"], core["block_dim"], core["schem"]) == (0x1000, 0x2000, 8, 1)
    assert (core["dump"], core["l2_preload_va"], core["literal_size"]) == (6, 0x3FFFFFF, 0)
    aicpu = fields(SizedAicpuKernel(so_name=0x30, func_name=0x40, args=0x50, head_offset=8, kind=4, args_size=24))
    assert (aicpu["func"], aicpu["args"], aicpu["literal_src"]) == (0x40, 0x58, 0x30)
    assert (aicpu["literal_dst"], aicpu["literal_size"]) == (4, 24)
    assert fields(AicpuKernel(so_name=1, func_name=2, args=3))["literal_size"] == 0


def test_kernel_template() -> None:
    task = AicKernel(pc=0x1000, args=0x2000, block_dim=8)
    template = PLUGIN.template(task, ENV)
    assert template is not None
    assert template.names == ("task_id", "args")
    assert template.render(task_id=7, args=0x9000) == PLUGIN.encode(replace(task, args=0x9000), ENV, TaskIds(7))


def test_copies() -> None:
    plain = fields(MemcpyAsync(src=1, dst=2, size=3, data_type=4))
    assert (plain["dir"], plain["convert"], plain["length"], plain["data_type"]) == (2, 0, 3, 4)
    by_address = fields(MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.SDMA_BY_ADDRESS))
    assert (by_address["convert"], by_address["dma_offset"]) == (2, (1 << 64) - 1)
    offsets = fields(
        MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.SDMA_BY_ADDRESS, offsets=(0x1_0000_0002, 0xFFFF_0000_0003))
    )
    assert (offsets["src_offset_low"], offsets["src_offset_high"]) == (2, 1)
    assert (offsets["dst_offset_low"], offsets["dst_offset_high"]) == (3, 0xFFFF)
    dma = DmaCopy(
        src=1, dst=2, size=3, kind=CopyKind.PCIE, dma=DmaAddress(src=10, dst=20, length=30, flag=1, offset=40)
    )
    moved = fields(dma)
    assert (moved["src"], moved["dst"], moved["length"], moved["copy_type"]) == (10, 20, 30, 1)
    assert (moved["convert"], moved["dma_offset"]) == (1, 40)
    with pytest.raises(ValueError, match="needs a prepared transfer"):
        PLUGIN.encode(MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.PCIE), ENV, IDS)
    with pytest.raises(FieldOverflow, match=r"dst_offset_high = 0x10000"):
        fields(MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.SDMA_BY_ADDRESS, offsets=(0, 1 << 48)))


def test_events() -> None:
    env = HwtsEnv(chip=CHIP, hwts=HwtsFacts(thread_id=77))
    plain = fields(EventRecord(event_id=9), env)
    assert (plain["event_id"], plain["flag"], plain["thread_id"]) == (9, 0x0E, 77)
    assert (plain["timeline_base"], plain["timeline_offset"], plain["va"]) == ((1 << 64) - 1, 0xFFFFFFFF, 0xFFFFFFFF)
    timed = fields(TimedEventRecord(event_id=9, timeline=True, timeline_base=100, timeline_offset=8, wait_cq_id=3), env)
    assert (timed["flag"], timed["timeline_base"], timed["timeline_offset"]) == (0x0F, 100, 8)
    assert (timed["wait_cq"], timed["wait_cq_id"]) == (1, 3)


def test_streams_and_models() -> None:
    switch = fields(StreamSwitch(addr=8, condition=4, true_sq_id=0, true_stream_id=6, value=-1))
    assert (switch["value"], switch["condition"], switch["true_stream_id"]) == ((1 << 64) - 1, 4, 6)
    assert (switch["addr_va"], switch["value_va"], switch["extended"]) == (0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert fields(EndGraph(model_id=1, args=2, func_name=3))["end_graph"] == 1
    assert fields(ModelExit(model_id=1, stream_id=2))["end_graph"] == 1
    facts = HwtsFacts(asid=3, asid_base=0x4000, group_id=5, priority=2, runtime_version=7)
    create = fields(CreateStream(pid=100, attributes=1), HwtsEnv(chip=CHIP, ssid=9, device_id=1, hwts=facts))
    assert (create["pid"], create["asid"], create["asid_base"], create["ssid"]) == (100, 3, 0x4000, 9)
    assert (create["group_id"], create["priority"], create["device_id"], create["runtime_version"]) == (5, 2, 1, 7)
    assert fields(LabelSet(label_id=1, dst=0x80))["label_addr"] == 0
    assert fields(LabelSet(label_id=1, dst=0x80), replace(ENV, ts_version=2))["label_addr"] == 0x80
    forced = Maintenance(kind=MaintenanceKind.STREAM_RECYCLE, target_id=4, flag=True)
    assert (fields(forced)["flag"], fields(forced)["goal"]) == (0x67, 2)
    assert fields(QueueMaintenance(terminal=True, wait_cq_id=6))["wait_cq_id"] == 6


def test_messages() -> None:
    profiling = fields(ProfilingEnable(pid=1, events=(1, 2, 3), start_cycle=4, task_log=1))
    assert [profiling[f"events[{index}]"] for index in range(4)] == [1, 2, 3, 0]
    with pytest.raises(ValueError, match="events has 9 entries"):
        PLUGIN.encode(ProfilingEnable(pid=1, events=tuple(range(9))), ENV, IDS)
    limits = fields(TimeoutSet(execute_s=28))
    assert (limits["wait_enable"], limits["execute_enable"], limits["execute"]) == (0, 1, 28)
    assert fields(OnlineProfiling(type=TaskType.ONLINEPROF_STOP, addr=8))["addr"] == 8


def test_a_foreign_description_is_refused() -> None:
    with pytest.raises(TypeError, match="a CREATE_STREAM command is described by CreateStream, not by BareTask"):
        PLUGIN.encode(BareTask(TaskType.CREATE_STREAM), ENV, IDS)


def test_unknown_commands_are_named() -> None:
    raw = bytearray(PLUGIN.encode(Nop(), ENV, IDS))
    raw[6] = 200
    assert PLUGIN.decode(bytes(raw)).problems == ("no entry of hwts has type 200 like this",)


def test_logic_reports() -> None:
    raw = struct.pack("<HHHBBII", 0, 5, 7, ReportKind.TASK_ERROR, 0, 0x26, 0)
    cqe = parse_cqe(raw)
    assert (cqe.stream_id, cqe.task_id, cqe.error_code, cqe.error) == (5, 7, 0x26, True)
    assert classify(cqe, TaskType.KERNEL_AICORE).kind is OutcomeKind.ERROR
    done = parse_cqe(struct.pack("<HHHBBII", 0, 5, 7, ReportKind.SUCCESS, 0, 0, 0))
    assert classify(done, TaskType.KERNEL_AICORE).kind is OutcomeKind.SUCCESS
    over = parse_cqe(struct.pack("<HHHBBII", 0, 5, 7, ReportKind.OVERFLOW_ERROR, 0, 0x2F, 0))
    assert classify(over, TaskType.KERNEL_AICORE).kind is OutcomeKind.OVERFLOW
    end = parse_cqe(struct.pack("<HHHBBII", 0, 5, 7, ReportKind.MODEL_ERROR, 0, 0x95, 0x0007_0005))
    assert classify(end, TaskType.MODEL_EXECUTE).kind is OutcomeKind.END_OF_SEQUENCE
    assert end.timestamp == 0x0007_0005
    with pytest.raises(ValueError, match="16 or 12 bytes, got 32"):
        parse_cqe(bytes(32))


@given(
    stream=st.integers(0, 0x7FF),
    task=st.integers(0, 0xFFFF),
    code=st.integers(1, 0xFFF),
    failed_stream=st.integers(0, 0x7FF),
    failed_task=st.integers(0, 0xFFFF),
)
def test_task_reports(stream: int, task: int, code: int, failed_stream: int, failed_task: int) -> None:
    payload = (failed_task & 0x3FF) << 22 | (failed_stream & 0x3FF) << 12 | code
    tail = 3 | failed_task >> 10 << 9 | 1 << 15  # queue 3, upper bits of the failed task, phase
    high = 0x1234 | stream >> 10 << 14 | failed_stream >> 10 << 15
    raw = struct.pack("<HHIHH", 1 << 3 | (stream & 0x3FF) << 6, task, payload, tail, high)
    cqe = parse_cqe(raw)
    assert (cqe.stream_id, cqe.task_id, cqe.error_code) == (stream, task, code)
    assert (cqe.sq_id, cqe.sq_head) == (3, 0x1234)
    assert cqe.timestamp == failed_task << 16 | failed_stream
    assert cqe.error
