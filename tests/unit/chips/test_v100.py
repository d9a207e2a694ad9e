"""Fill rules of STARS v1 that no recorded vector shows, and the templates of its hot kinds."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from chips import find_chip
from chips.env import CoreQos, EncodeEnv, TaskIds
from chips.generations.v100 import memory
from chips.generations.v100.media import BadCommand
from chips.generations.v100.tables import LAYOUTS, BadFunction
from chips.layout import FieldOverflow
from chips.registry import plugin
from chips.tasks import (
    AicKernel,
    AicpuKernel,
    AivKernel,
    BareTask,
    Barrier,
    CaptureCondition,
    CaptureRecordExternal,
    CaptureWaitExternal,
    Cmo,
    ConditionKind,
    CopyKind,
    DvppPart,
    EventRecord,
    EventWait,
    FftsPlus,
    GetStarsVersion,
    HostCallback,
    KernelFlag,
    Maintenance,
    MemcpyAsync,
    MemcpyDescriptor,
    MemWaitValue,
    MemWriteValue,
    MixKernel,
    MixKind,
    MultipleTask,
    Nop,
    NotifyRecord,
    NotifyWait,
    SqeUpdate,
    StarsCommon,
    StreamActive,
    Task,
    TaskType,
    TimeoutSet,
    WriteValue,
    WriteValuePointer,
)

CHIP = find_chip("Ascend910B1")
LITE = find_chip("Ascend310B1")
ENV = EncodeEnv(
    chip=CHIP, stream_id=0x11, stack_base_32k=0x3200_0000, stack_base_16k=0x1600_0000, custom_stack_base=0xC0_0000,
    custom_stack_size=65536, separate_recycle=True,
)  # fmt: skip
IDS = TaskIds(0x22, 0, 5)
KERNEL = AicKernel(pc=0x1122_3344_5566, args=0xA1B2_C3D4_E500, block_dim=8)


def fields(task: Task, row: int = 0, **env: Any) -> dict[str, int]:
    """Decode one SQE of a task."""
    plug = plugin(env.get("chip", CHIP))
    rows = plug.encode(task, dataclasses.replace(ENV, **env), IDS)
    found = plug.decode(rows[row * 64 : row * 64 + 64])
    return {**found.fields, "layout": found.layout}  # type: ignore[dict-item]


def layouts(task: Task, **env: Any) -> list[str]:
    """Names of the layouts of all SQEs of a task."""
    plug = plugin(CHIP)
    rows = plug.encode(task, dataclasses.replace(ENV, **env), IDS)
    return [plug.decode(rows[at : at + 64]).layout for at in range(0, len(rows), 64)]


# ---------------------------------------------------------------- kernels


def test_a_large_stack_takes_the_custom_pool_and_states_its_level() -> None:
    found = fields(dataclasses.replace(KERNEL, min_stack_size=32769))
    assert (found["stack_base"], found["stack_level"]) == (0xC0_0000, 65536 // 16384 - 2)
    assert (found["param"], found["pc"]) == (KERNEL.args, KERNEL.pc)
    found = fields(dataclasses.replace(KERNEL, min_stack_size=32768))
    assert (found["stack_base"], found["stack_level"]) == (0x3200_0000, 0)


def test_chips_with_one_kind_of_core_have_their_own_type() -> None:
    assert fields(KERNEL, chip=LITE)["layout"] == "kernel_one_core"
    assert fields(AivKernel(pc=1, args=2, block_dim=3), chip=LITE)["layout"] == "kernel_aiv"


def test_configured_qos_replaces_what_the_kernel_asks_for() -> None:
    asked = dataclasses.replace(KERNEL, qos=1, part_id=2)
    found = fields(asked, aic_qos=CoreQos(7, 8, 3), aiv_qos=CoreQos(9, 9, 1))
    assert (found["qos"], found["part_id"], found["pmg"]) == (7, 8, 3)
    found = fields(asked)
    assert (found["qos"], found["part_id"], found["pmg"]) == (1, 2, 0)


@pytest.mark.parametrize(
    ("changes", "env", "expected"),
    [
        ({}, {}, (0, 0, 0)),
        ({"flags": KernelFlag.DUMP}, {}, (0, 1, 1)),
        ({"flags": KernelFlag.DUMP}, {"overflow_enabled": True}, (1, 1, 1)),
        ({"biu_perf": True}, {}, (1, 1, 2)),
        ({"biu_perf": True}, {"bound": True}, (0, 0, 0)),
        ({"biu_perf": True, "l2_cache_perf": True}, {}, (0, 1, 4)),
        ({}, {"debug_registered": True}, (0, 1, 0)),
        ({}, {"debug_registered": True, "bound": True}, (0, 0, 0)),
    ],
)
def test_who_looks_before_and_after_a_kernel(
    changes: dict[str, Any], env: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    found = fields(dataclasses.replace(KERNEL, **changes), **env)
    assert (found["pre_p"], found["post_p"], found["feature_flag"]) == expected


def test_schedule_modes_above_batch_are_not_told() -> None:
    assert [fields(dataclasses.replace(KERNEL, schem_mode=mode))["schem"] for mode in (0, 1, 2)] == [0, 1, 0]


def test_a_mix_kernel_points_to_its_context() -> None:
    mix = MixKernel(pc=1, pc2=2, args=3, block_dim=4, mix=MixKind.MAIN_AIV, context=0x4000, small_stack=True)
    found = fields(mix, overflow_enabled=True)
    assert (found["layout"], found["contexts"], found["overflow"]) == ("kernel_mix_aiv", 0x4000, 1)
    assert found["stack_base"] == 0x1600_0000
    assert fields(dataclasses.replace(mix, dcache_lock=True))["sub_type"] == 0x0A
    assert fields(dataclasses.replace(mix, dcache_lock=True))["post_p"] == 1
    assert fields(dataclasses.replace(mix, context_failed=True))["type"] == 63


def test_an_ffts_graph_keeps_the_callers_words() -> None:
    graph = FftsPlus(contexts=0x8000, total_contexts=3, sub_type=0x5A, timeout=0, aic_prefetch=(1, 2))
    found = fields(graph)
    assert (found["kernel_credit"], found["timeout"]) == (254, 0)
    assert (found["aic_prefetch_lower"], found["aic_prefetch_upper"]) == (1, 2)
    waiting = frozenset({"FFTSPLUS_TIMEOUT"})
    assert fields(graph, ts_features=waiting)["kernel_credit"] == 255
    assert fields(graph, ts_features=waiting)["timeout"] == 1770
    assert fields(dataclasses.replace(graph, timeout=0xFFFF), ts_features=waiting)["timeout"] == 0
    assert fields(graph, ts_features=waiting, bound=True)["kernel_credit"] == 254
    assert fields(graph, info_log=True)["schedule_dfx"] == 1


def test_a_dumped_graph_stands_between_two_messages() -> None:
    graph = FftsPlus(contexts=0x8000, total_contexts=3, dump=True)
    assert layouts(graph) == ["dump_load_info", "ffts_plus", "dump_load_info"]
    assert [fields(graph, row)["reload"] for row in (0, 2)] == [0, 0x20]
    assert plugin(CHIP).ops(graph).count(graph, ENV) == 3


# ---------------------------------------------------------------- AICPU


def test_an_offline_callback_goes_to_the_process() -> None:
    task = HostCallback(function=0x1_FFFF_0000_0001_0002, data=3, event_id=0x1_0004, block=True)
    found = fields(task, online=False, host_pid=77, callback_cq_id=5, callback_group_id=6)
    assert (found["topic_type"], found["dest_pid"], found["cq_id"], found["group_id"]) == (6, 77, 5, 6)
    assert (found["function"], found["event_id"], found["block"]) == (0xFFFF_0000_0001_0002 & (1 << 48) - 1, 4, 1)
    assert fields(task)["dest_pid"] == 0


def test_an_aicpu_kernel_of_a_model_dumps_for_the_debugger() -> None:
    task = AicpuKernel(so_name=1, func_name=2, args=3, flags=KernelFlag.DUMP)
    found = fields(task, debug_registered=True, bound=True)
    assert (found["debug_dump_en"], found["post_p"], found["dump_en"], found["kernel_credit"]) == (1, 0, 1, 254)
    assert fields(task, debug_registered=True)["post_p"] == 1


def test_time_limits_are_set_one_by_one() -> None:
    found = fields(TimeoutSet(execute_s=0))
    assert (found["wait_en"], found["execute_en"], found["execute"]) == (0, 1, 28)
    assert fields(TimeoutSet(wait_s=4), flat_addresses=True)["kernel_credit"] == 16


# ---------------------------------------------------------------- copies and writes


def test_a_host_on_the_device_copies_with_sdma() -> None:
    copy = MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.HOST_TO_DEVICE)
    assert fields(copy)["layout"] == "pcie_dma"
    assert fields(copy, online=False)["layout"] == "sdma"


def test_a_converted_copy_names_its_descriptors() -> None:
    copy = MemcpyAsync(
        src=1, dst=2, size=3, kind=CopyKind.DEVICE_TO_HOST, kernel_convert=False, dma_queue=0x9000, dma_count=2
    )
    found = fields(copy)
    assert (found["converted"], found["sq_addr"], found["sq_tail"], found["src"]) == (1, 0x9000, 2, 0)
    assert found["wr_cqe"] == 0


def test_a_copy_without_descriptor_is_invalid() -> None:
    assert fields(MemcpyDescriptor(descriptor=0))["type"] == 63


def test_an_update_of_any_sqe_keeps_its_offset() -> None:
    found = fields(SqeUpdate(src=1, size=40, target_sq=7, target_position=9, offset=24, dsa=False))
    assert (found["sqe_update"], found["dsa_update"], found["offset"]) == (1, 0, 24)
    assert found["dst"] == 7 << 32 | 9


def test_a_long_copy_keeps_its_low_word() -> None:
    assert fields(MemcpyAsync(src=1, dst=2, size=0x1_0000_0005))["length"] == 5


@pytest.mark.parametrize("kind", [CopyKind.SDMA, CopyKind.ADD])
def test_data_types_without_a_reduction_are_marked(kind: CopyKind) -> None:
    expected = 0xF0 if kind is CopyKind.ADD else 0
    assert memory.reduction_opcode(kind, 3) == expected


def test_cache_operations_of_other_chips_are_ffts_entries() -> None:
    task = Cmo(op_code=6, src=0x1000, length=64, cmo_type=2, logic_id=3, num_inner=4, stride_outer=5)
    found = fields(task, chip=LITE, ssid=9)
    assert (found["layout"], found["cmo_type"], found["cmo_id"], found["src_sub_stream_id"]) == ("cmo", 2, 3, 9)
    assert fields(task)["layout"] == "sdma"


def test_a_barrier_takes_six_ids_at_most() -> None:
    assert fields(Barrier(ids=((1, 2),) * 6))["cmo_bitmap"] == 63
    with pytest.raises(KeyError):
        fields(Barrier(ids=((1, 2),) * 7))


def test_a_value_write_without_address_is_invalid() -> None:
    assert fields(MemWriteValue(addr=0, value=1))["type"] == 63


def test_external_records_do_nothing_until_attached() -> None:
    assert layouts(CaptureRecordExternal()) == ["nop"]
    assert layouts(CaptureRecordExternal(addr=8)) == ["write_value"]
    assert layouts(CaptureRecordExternal(pointer=8)) == ["write_value_pointer"]
    attached = CaptureWaitExternal(addr=8, flag_addr=16, function=0x100, function_bytes=8)
    assert layouts(CaptureWaitExternal()) == ["nop"] * 3
    assert layouts(attached) == ["nop", "write_value", "memory_wait"]


def test_a_memory_wait_says_where_to_go_on() -> None:
    wait = MemWaitValue(addr=8, value=1, function=0x100, function_bytes=8, flag_addr=16)
    assert layouts(wait) == ["nop", "write_value", "memory_wait", "memory_wait_end"]
    assert fields(wait, 3, sq_depth=6)["position"] == 0
    assert fields(wait, 3)["position"] == IDS.position + 1


# ---------------------------------------------------------------- condition entries


def test_a_while_node_jumps_back() -> None:
    block = {"function": 0x100, "function_bytes": 8}
    node = CaptureCondition(kind=ConditionKind.IF, notify_id=5, timeout_s=6, **block)
    assert layouts(node) == ["capture_condition", "notify_wait"]
    assert (fields(node, 1)["notify_id"], fields(node, 1)["timeout"]) == (5, 6)
    loop = dataclasses.replace(node, kind=ConditionKind.WHILE, jump_function=0x200, jump_function_bytes=4)
    assert layouts(loop) == ["capture_condition", "notify_wait", "capture_jump_back"]
    assert plugin(CHIP).ops(loop).count(loop, ENV) == 3


@pytest.mark.parametrize(("address", "size"), [(0x80, 8), (0x100, 6), (0x100, 0)])
def test_a_function_block_must_be_aligned_and_whole(address: int, size: int) -> None:
    with pytest.raises(BadFunction, match=r"stream_active: function block of \d+ bytes at 0x"):
        fields(StreamActive(active_sq_id=1, function=address, function_bytes=size))


# ---------------------------------------------------------------- messages and the caller's own entries


def test_tasks_the_caller_waits_for_are_marked_without_a_recycle_thread() -> None:
    for task in (Maintenance(), GetStarsVersion(), EventRecord(event_id=1, synchronous=True)):
        assert fields(task)["stream_id"] == 0x11
        assert fields(task, separate_recycle=False)["stream_id"] == 0x8011
    assert fields(EventRecord(event_id=1), separate_recycle=False)["stream_id"] == 0x11


def test_bare_types_ask_for_a_completion_entry() -> None:
    found = fields(BareTask(TaskType.CREATE_STREAM))
    assert (found["layout"], found["wr_cqe"], found["kernel_credit"]) == ("bare", 1, 254)


def test_the_callers_entry_keeps_its_words() -> None:
    words = bytes([13, 0xFF, 7, 0, 1, 2, 3, 4]) + bytes(range(56))
    plug = plugin(CHIP)
    row = plug.encode(StarsCommon(sqe=words), ENV, IDS)
    assert row[8:] == words[8:]
    found = plug.decode(row).fields
    assert (found["type"], found["ie"], found["pre_p"], found["post_p"], found["wr_cqe"]) == (13, 0, 0, 0, 0)
    assert (found["stream_id"], found["task_id"], found["block_dim"]) == (0x11, 0x22, 7)
    assert fields(StarsCommon(sqe=words, flags=KernelFlag.DUMP))["post_p"] == 1


def test_the_credit_of_a_command_is_cut() -> None:
    command = DvppPart(sqe=bytes([12, 0x40]) + bytes(12) + b"\xff\1" + bytes(48), position=3)
    found = fields(MultipleTask(parts=(command,)))
    assert (found["kernel_credit"], found["task_pos"], found["ptr_mode"], found["wr_cqe"]) == (254, 3, 1, 1)


def test_a_callers_entry_of_another_size_is_refused() -> None:
    with pytest.raises(BadCommand, match="STARS_COMMON: the caller's entry has 63 bytes"):
        fields(StarsCommon(sqe=bytes(63)))


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(FieldOverflow, match="block_dim = 0x10000 does not fit 16 bits"):
        fields(dataclasses.replace(KERNEL, block_dim=1 << 16))
    with pytest.raises(FieldOverflow, match=r"notify_wait\.notify_id"):
        fields(NotifyWait(notify_id=1 << 13))


# ---------------------------------------------------------------- what the driver refuses


def problems(layout: str, **values: int) -> tuple[str, ...]:
    return plugin(CHIP).decode(LAYOUTS[layout].encode(**values)).problems


def test_entries_the_driver_makes_invalid_are_flagged() -> None:
    assert problems("sdma") == ()
    assert "sub-streams" in problems("sdma", sssv=0)[0]
    assert "descriptor" in problems("sdma_pointer")[0]
    assert problems("sdma_pointer", descriptor=64) == ()
    assert "credit 255" in problems("event_record", kernel_credit=255)[0]
    assert problems("event_wait") == problems("kernel_aic", kernel_credit=255) == ()
    assert "SQE error" in problems("invalid")[0]


# ---------------------------------------------------------------- templates

HOT: dict[str, tuple[Task, tuple[str, ...], dict[str, int]]] = {
    "aic": (KERNEL, ("task_id", "args"), {"args": 0x7788_99AA}),
    "aiv": (AivKernel(pc=1, args=2, block_dim=3, min_stack_size=40000), ("task_id", "args"), {"args": 0x77}),
    "mix": (
        MixKernel(pc=1, args=2, block_dim=3, mix=MixKind.AIC, context=128),
        ("task_id", "context"),
        {"context": 256},
    ),
    "aicpu": (
        AicpuKernel(so_name=1, func_name=2, args=3, head_offset=64),
        ("task_id", "args", "task_id_copy"),
        {"args": 0x1000},
    ),
    "sdma": (
        MemcpyAsync(src=1, dst=2, size=3),
        ("task_id", "size", "src", "dst"),
        {"src": 7, "dst": 8, "size": 9},
    ),
    "pcie": (
        MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.HOST_TO_DEVICE),
        ("task_id", "src", "dst", "size"),
        {"src": 7, "dst": 8, "size": 9},
    ),
    "event record": (EventRecord(event_id=1), ("task_id", "event_id"), {"event_id": 0xFFFF}),
    "event wait": (EventWait(event_id=1), ("task_id", "event_id"), {"event_id": 0xFFFF}),
    "notify record": (NotifyRecord(notify_id=1), ("task_id", "notify_id"), {"notify_id": 0x1FFF}),
    "notify wait": (
        NotifyWait(notify_id=1),
        ("task_id", "notify_id", "timeout_s"),
        {"notify_id": 5, "timeout_s": 6},
    ),
    "write value": (WriteValue(addr=8, size_code=3, data=b"12345678"), ("task_id", "addr"), {"addr": 1 << 48}),
    "write 64 bits": (
        MemWriteValue(addr=8, value=1),
        ("task_id", "addr", "value"),
        {"addr": 16, "value": 2**64 - 1},
    ),
    "write pointer": (WriteValuePointer(pointer=8), ("task_id", "pointer"), {"pointer": 1 << 48}),
    "nop": (Nop(), ("task_id",), {}),
}


@pytest.mark.parametrize("name", HOT)
def test_a_template_writes_what_the_builder_does(name: str) -> None:
    task, words, values = HOT[name]
    plug = plugin(CHIP)
    template = plug.template(task, ENV)
    assert template is not None
    assert template.names == words
    expected = plug.encode(dataclasses.replace(task, **values), ENV, TaskIds(0xBEEF))
    filled = {word: 0xBEEF if word.startswith("task_id") else values.get(word) for word in words}
    assert template.render(**filled) == expected
    assert template.render_many(2, **filled).tobytes() == expected * 2


def test_tasks_of_several_sqes_have_no_template() -> None:
    wait = MemWaitValue(addr=8, value=1, function=0x100, function_bytes=8, flag_addr=16)
    assert plugin(CHIP).template(wait, ENV) is None


def test_every_layout_fills_an_entry_or_is_a_frame() -> None:
    assert {layout.size for layout in LAYOUTS.values()} == {8, 16, 64}
    assert all(layout.size == 64 for layout in LAYOUTS.values() if layout.task)
