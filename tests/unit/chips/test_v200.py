"""Builders of Ascend 950: recorded entries, templates, what asks for a head update, what is refused."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips import find_chip
from chips import tasks as t
from chips.env import TaskIds
from chips.generations.v200.generation import MAX_SQE
from chips.layout import SQE_BYTES, FieldOverflow
from chips.registry import UnsupportedTask, plugin
from chips.tasks import TaskType
from tests.unit.chips.v2_samples import AICPU, COPY, IDS, KERNEL, MIX, SHARED, V200, Sample, environment, expected

CHIP = find_chip("Ascend950PR_9599")
PLUGIN = plugin(CHIP)
ENV = environment(CHIP)
HEAD_UPDATE = 0x40  # bit 6 of byte 1


def head_update(row: bytes) -> bool:
    return bool(row[1] & HEAD_UPDATE)


@pytest.mark.parametrize("sample", SHARED + V200, ids=lambda sample: sample.name)
def test_recorded_entries(sample: Sample) -> None:
    env = environment(CHIP, **sample.env)
    assert PLUGIN.encode(sample.task, env, IDS).hex() == expected(sample).hex()
    assert PLUGIN.ops(sample.task).count(sample.task, env) == len(sample.rows)


@pytest.mark.parametrize("sample", SHARED + V200, ids=lambda sample: sample.name)
def test_recorded_entries_decode_to_their_task_and_back(sample: Sample) -> None:
    row = expected(sample)[:SQE_BYTES]
    decoded = PLUGIN.decode(row)
    assert not decoded.problems
    assert decoded.fields["task_sn"] == IDS.task_sn
    assert PLUGIN.layouts[decoded.layout].encode(**decoded.fields) == row


@pytest.mark.parametrize(
    ("task", "layout", "kind"),
    [
        (t.AicKernel(**KERNEL), "kernel_aic", TaskType.KERNEL_AICORE),
        (MIX, "kernel_aic_mix", TaskType.KERNEL_AICORE),
        (dataclasses.replace(MIX, mix=t.MixKind.MAIN_AIV), "kernel_aiv_mix", TaskType.KERNEL_AICORE),
        (t.MixKernel(**KERNEL, mix=t.MixKind.AIV), "kernel_aiv", TaskType.KERNEL_AIVEC),
        (t.AicpuKernel(**AICPU, flags=t.KernelFlag.HOST_ONLY), "aicpu_host", TaskType.KERNEL_AICPU),
        (t.EventWait(event_id=1, counted=True), "event_wait_counted", TaskType.DAVID_EVENT_WAIT),
        (t.Memset(addr=1, value=2, count=3), "memset", TaskType.MEMSET),
        (t.CmoDescriptor(descriptor=64), "sdma_pointer", TaskType.MEMCPY),
        (t.StreamTag(stream_id=1, tag=2), "stream_tag", TaskType.SET_STREAM_GE_OP_TAG),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_entries_are_recognised(task: t.Task, layout: str, kind: TaskType) -> None:
    decoded = PLUGIN.decode(PLUGIN.encode(task, ENV, IDS))
    assert (decoded.layout, decoded.type) == (layout, kind)


def test_events_are_registered_under_the_types_of_v2() -> None:
    assert PLUGIN.ops(TaskType.EVENT_RECORD).type is TaskType.DAVID_EVENT_RECORD
    assert TaskType.EVENT_RECORD not in PLUGIN.types()


def test_types_without_a_builder_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedTask, match=r"v200 .* COMMON_CMD \(104\)"):
        PLUGIN.encode(t.StreamClear(stream_id=1, step=1), ENV, IDS)


def test_bare_placeholders_ignore_what_the_task_says() -> None:
    bare = PLUGIN.encode(t.BareTask(TaskType.FLIP), ENV, IDS)
    assert PLUGIN.encode(t.Flip(flip_number=7), ENV, IDS) == bare
    assert PLUGIN.ops(TaskType.FLIP).placeholder


# ---------------------------------------------------------------- templates


HOT = {
    "cube": (t.AicKernel(**KERNEL), ("task_sn", "args")),
    "vector": (t.AivKernel(**KERNEL), ("task_sn", "args")),
    "mix": (MIX, ("task_sn", "args", "args2")),
    "AICPU": (t.AicpuKernel(**AICPU, head_offset=16), ("task_sn", "args", "task_sn_copy")),
    "copy": (t.MemcpyAsync(**COPY), ("task_sn", "src", "dst", "size")),
    "event record": (t.EventRecord(event_id=3), ("task_sn", "event_id", "count")),
    "event wait": (t.EventWait(event_id=3), ("task_sn", "event_id", "count", "timeout_s")),
    "notify record": (t.NotifyRecord(notify_id=3), ("task_sn", "notify_id")),
    "notify wait": (t.NotifyWait(notify_id=3, timeout_s=4), ("task_sn", "notify_id", "timeout_s")),
    "write": (t.MemWriteValue(addr=8, value=9), ("task_sn", "addr", "value")),
    "placeholder": (t.Nop(), ("task_sn",)),
}


@pytest.mark.parametrize("name", HOT)
def test_hot_tasks_have_templates(name: str) -> None:
    task, names = HOT[name]
    template = PLUGIN.template(task, ENV)
    assert template is not None
    assert template.names == names
    values = {word: getattr(task, word) for word in names if hasattr(task, word)}
    serials = {word: IDS.task_sn for word in names if word.startswith("task_sn")}
    assert template.render(**values, **serials) == PLUGIN.encode(task, ENV, IDS)


@given(args=st.integers(0, (1 << 48) - 1), serial=st.integers(0, (1 << 32) - 1), stack=st.sampled_from([0, 40000]))
def test_kernel_templates_equal_the_builder(args: int, serial: int, stack: int) -> None:
    env = dataclasses.replace(ENV, custom_stack_size=1 << 20)
    for task in (t.AicKernel(**KERNEL), t.AivKernel(**KERNEL), MIX):
        task = dataclasses.replace(task, min_stack_size=stack)
        template = PLUGIN.template(task, env)
        assert template is not None
        words = {"args": args, "args2": args} if "args2" in template.names else {"args": args}
        built = PLUGIN.encode(dataclasses.replace(task, args=args), env, TaskIds(1, serial))
        assert template.render(task_sn=serial, **words) == built


def test_tasks_of_several_entries_have_no_template() -> None:
    task = t.MemWaitValue(addr=8, value=1, function=0x100, function_bytes=500, flag_addr=0x400)
    assert PLUGIN.template(task, ENV) is None


# ---------------------------------------------------------------- devices connected over UB

UB = environment(CHIP, ub_connected=True)


@pytest.mark.parametrize(("allocation", "asks"), [(0, True), (1, False), (63, False), (64, True), (6400, True)])
def test_every_64th_allocation_asks_for_a_head_update(allocation: int, asks: bool) -> None:
    ids = TaskIds(1, 2, 3, allocation)
    assert head_update(PLUGIN.encode(t.Nop(), UB, ids)) is asks
    assert not head_update(PLUGIN.encode(t.Nop(), ENV, ids))


def test_without_a_count_the_task_id_counts() -> None:
    assert head_update(PLUGIN.encode(t.Nop(), UB, TaskIds(128)))
    assert not head_update(PLUGIN.encode(t.Nop(), UB, TaskIds(127)))


def test_only_the_first_entry_asks() -> None:
    task = t.MemWaitValue(addr=8, value=1, function=0x100, function_bytes=500, flag_addr=0x400)
    rows = PLUGIN.encode(task, UB, TaskIds(0))
    assert [head_update(rows[at:]) for at in range(0, len(rows), SQE_BYTES)] == [True, False, False]


def test_event_records_always_ask_unless_the_stream_is_kept() -> None:
    ids = TaskIds(1, 2, 3, 1)
    assert head_update(PLUGIN.encode(t.EventRecord(event_id=1), UB, ids))
    kept = dataclasses.replace(UB, persistent=True)
    assert not head_update(PLUGIN.encode(t.EventRecord(event_id=1), kept, ids))


@pytest.mark.parametrize("name", HOT)
def test_templates_come_with_a_twin_that_asks(name: str) -> None:
    task, names = HOT[name]
    plain = PLUGIN.template(task, UB)
    assert plain is not None
    values = {word: IDS.task_sn if word.startswith("task_sn") else getattr(task, word) for word in names}
    assert plain.render(**values) == PLUGIN.encode(task, UB, TaskIds(*IDS[:3], allocation=1))
    assert PLUGIN.publishing(plain).render(**values) == PLUGIN.encode(task, UB, TaskIds(*IDS[:3], allocation=64))


def test_copies_over_ub_take_their_work_element_along() -> None:
    job = t.UbJob(jetty_id=0x123, function_id=2, die_id=1, pi=1, wqe=b"\xaa" * 64)
    task = t.MemcpyAsync(**COPY, kind=t.CopyKind.HOST_TO_DEVICE, ub=job)
    rows = PLUGIN.encode(task, UB, TaskIds(1, IDS.task_sn, 0, 1))
    assert rows.hex() == "0a000000efcdab89000000000000fd202301000400000080".ljust(128, "0") + "aa" * 64
    bound = dataclasses.replace(UB, bound=True)
    rows = PLUGIN.encode(task, bound, TaskIds(1, IDS.task_sn, 0, 1))
    assert rows.hex() == "09000000efcdab89030000000000fd002301000401000080000000000000000002".ljust(128, "0")
    assert [PLUGIN.ops(task).count(task, env) for env in (UB, bound, ENV)] == [2, 1, 1]


# ---------------------------------------------------------------- what is refused


def test_values_that_do_not_fit_name_field_value_and_width() -> None:
    task = t.AicKernel(**{**KERNEL, "block_dim": 1 << 16})
    with pytest.raises(FieldOverflow, match=r"kernel_aic\.\w+ = 0x10000 does not fit 16 bits"):
        PLUGIN.encode(task, ENV, IDS)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (t.UbDoorbell(jobs=()), "one entry rings 1 or 2"),
        (t.UbDoorbell(jobs=(t.UbJob(),) * 3), "one entry rings 1 or 2"),
        (t.DirectSend(job=t.UbJob(wqe=bytes(65))), "wqe has 65 bytes; this entry takes 64"),
        (t.DirectSend(job=t.UbJob(), wqe_size=2), "0 stands for 64 bytes, 1 for 128"),
        (t.FusionKernel(sub_type=6, sqe_count=MAX_SQE + 1), "takes 1..5 entries"),
        (t.StarsCommon(sqe=bytes(63)), "sqe has 63 bytes; an entry has 64"),
        (t.CcuLaunch(part=t.CcuPart(mission_id=1, args=(1,) * 14)), "at most 13"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_tasks_say_what_is_wrong(task: t.Task, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PLUGIN.encode(task, ENV, IDS)


def test_a_write_to_address_0_must_not_run() -> None:
    assert PLUGIN.decode(PLUGIN.encode(t.MemWriteValue(addr=0, value=1), ENV, IDS)).layout == "invalid"


# ---------------------------------------------------------------- rules no recorded bytes exist for


def layouts_of(rows: bytes) -> list[str]:
    return [PLUGIN.decode(rows[at : at + SQE_BYTES]).layout for at in range(0, len(rows), SQE_BYTES)]


def test_conditional_nodes() -> None:
    node = t.CaptureCondition(kind=t.ConditionKind.IF, notify_id=9, function=0x100, function_bytes=644)
    assert layouts_of(PLUGIN.encode(node, ENV, IDS)) == ["capture_condition", "notify_wait"]
    loop = dataclasses.replace(node, kind=t.ConditionKind.WHILE, jump_function=0x400, jump_function_bytes=64)
    rows = PLUGIN.encode(loop, ENV, IDS)
    assert layouts_of(rows) == ["capture_condition", "notify_wait", "capture_jump_back"]
    wait = PLUGIN.decode(rows[SQE_BYTES : 2 * SQE_BYTES]).fields
    assert (wait["notify_id"], wait["kernel_credit"], wait["clr_flag"]) == (9, 255, 1)
    assert PLUGIN.ops(loop).verified == "rule"


def test_external_events() -> None:
    record = t.CaptureRecordExternal
    encode = PLUGIN.encode
    assert layouts_of(encode(record(), ENV, IDS)) == ["nop"]
    assert layouts_of(encode(record(addr=0x100), ENV, IDS)) == ["write_value"]
    assert layouts_of(encode(record(pointer=0x100), ENV, IDS)) == ["write_value_pointer"]
    wait = t.CaptureWaitExternal(addr=0x100, function=0x200, function_bytes=176, flag_addr=0x300)
    assert layouts_of(encode(wait, ENV, IDS)) == ["nop", "write_value", "mem_wait"]
    assert layouts_of(encode(t.CaptureWaitExternal(), ENV, IDS)) == ["nop"] * 3


def test_missions_on_both_dies_leave_no_gap_before_the_cores() -> None:
    part = t.CcuPart(mission_id=1, start_id=2, instruction_count=3, key=4, args=(5,) * 13)
    core = t.FusionAic(kernel=t.AicKernel(**KERNEL))
    task = t.FusionKernel(sub_type=0x1C, sqe_count=5, ccu=(part, dataclasses.replace(part, die_id=1)), aic=core)
    rows = PLUGIN.encode(task, ENV, IDS)
    assert layouts_of(rows)[::2] == ["ccu_fused_28", "ccu_fused_28", "kernel_aic"]
    assert PLUGIN.decode(rows[:SQE_BYTES]).fields["sqe_length"] == 4


def test_a_lone_block_of_a_communication_kernel_goes_to_the_communication_cpu() -> None:
    env = environment(CHIP, hcom_cpu=True)
    fields = PLUGIN.decode(PLUGIN.encode(t.AicpuKernel(**AICPU, kind=t.AicpuKind.KFC), env, IDS)).fields
    assert (fields["type"], fields["sub_type"]) == (2, 1)


def test_dump_and_debug_stop_the_queue_for_the_scheduler() -> None:
    dumped = t.AicKernel(**KERNEL, flags=t.KernelFlag.DUMP)

    def stops(task: t.Task, **facts: bool) -> tuple[int, int, int]:
        fields = PLUGIN.decode(PLUGIN.encode(task, environment(CHIP, **facts), IDS)).fields
        return fields["pre_p"], fields["post_p"], fields["feature_flag"]

    assert stops(t.AicKernel(**KERNEL)) == (0, 0, 0)
    assert stops(dumped) == (0, 1, 1)
    assert stops(dumped, overflow_enabled=True) == (1, 1, 1)
    assert stops(t.AicKernel(**KERNEL), debug_registered=True) == (0, 1, 0)
    assert stops(t.AicKernel(**KERNEL), debug_registered=True, bound=True) == (0, 0, 0)
    assert stops(t.AicKernel(**KERNEL, biu_perf=True)) == (0, 1, 2)
    assert stops(dataclasses.replace(MIX, dcache_lock=True)) == (1, 1, 8)
