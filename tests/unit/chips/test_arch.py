"""Builders of arch9201 (an overlay of v200) and of arch5162 (a small generation of its own)."""

from __future__ import annotations

import pytest

from chips import find_chip
from chips import tasks as t
from chips.registry import UnsupportedTask, plugin
from chips.tasks import TaskType
from tests.unit.chips.v2_samples import COPY, IDS, KERNEL, MIX, Sample, environment, expected

CLOUD = find_chip("Arch9201")
CLOUD_PLUGIN = plugin(CLOUD)
SMALL = find_chip("Ascend5162A")
SMALL_PLUGIN = plugin(SMALL)
SMALL_ENV = environment(SMALL)

ARCH9201 = (
    Sample("nop", t.Nop(), ("03800000efcdab89000000006700fd00",)),
    Sample(
        "cube kernel",
        t.AicKernel(**KERNEL),
        (
            "00801900efcdab8902000d000000fe0500000000000300003820090200000001"
            "6655443300000000221100000000040000e5d4c3b2a1",
        ),
    ),
    Sample(
        "prefetch",
        t.Cmo(op_code=6, cmo_type=2, length=4096, src=0xAAAA11112222, qos=4, part_id=5),
        ("0f800000efcdab89920000000000fd00060f000000000520000000000000000022221111aaaa0000000000000000000000100000",),
    ),
    Sample(
        "caller's entry",
        t.StarsCommon(sqe=bytes((12,)) + bytes(7) + b"\x5a" * 56),
        ("0c000000efcdab89" + "5a" * 56,),
    ),
)

ARCH5162 = (
    Sample(
        "kernel",
        t.AicKernel(pc=0x112233445566, args=0xA1B2C3D4E500, block_dim=24),
        ("0000180023016745000000000000000000000000000000000090785634120000665544332211000000e5d4c3b2a1",),
    ),
    Sample(
        "kernel with a limit",
        t.AivKernel(pc=0x112233445566, args=0xA1B2C3D4E500, block_dim=24, timeout_us=10_000_000),
        ("0000180023016745000000000000040000000000000000000090785634120000665544332211000000e5d4c3b2a1",),
    ),
    Sample("notify wait", t.NotifyWait(notify_id=0x155, timeout_s=600), ("070000002301674500000000000000805501",)),
    Sample(
        "notify record",
        t.NotifyRecord(notify_id=0x155),
        ("0900000023016745001f000055010000000000000000022000000000000000000100080000",),
    ),
    Sample("event wait", t.EventWait(event_id=77, timeout_s=5), ("070000002301674500000000000000804d",)),
    Sample(
        "event record",
        t.EventRecord(event_id=100, timeline=True),
        ("0908000023016745001f00006400000000000000000002200000000000000000ff0008",),
    ),
    Sample("event nobody waits for", t.EventRecord(event_id=1, waited=False), ("0300000023016745",)),
    Sample(
        "event reset",
        t.EventReset(event_id=77),
        ("0900000023016745001f00004d000000000000000000022000000000000000000000080000",),
    ),
    Sample(
        "copy",
        t.MemcpyAsync(**COPY, host_pid=0x1FA0),
        ("0302140023016745000000000000000022221111aaaa000044443333bbbb000056341200a01f",),
    ),
    Sample("housekeeping", t.Maintenance(), ("030aff0023016745",)),
    Sample(
        "stream active",
        t.StreamActive(active_sq_id=0, active_stream_id=0x44),
        ("0302030023016745000000000000000044",),
    ),
    Sample("label", t.LabelSet(label_id=0x66), ("0300050023016745000000000000000066",)),
    Sample(
        "host callback",
        t.HostCallback(function=0x12345678ABCDEF01, data=0x87654321FEDCBA98, event_id=3, block=True),
        (
            "030818002301674500000000000000000000000000002301030001006745000001efcdab7856341298badcfe2143658700000000"
            "00000000" + "00002c",
        ),
    ),
    Sample("profiling", t.ProfilingEnable(pid=0), ("0302320023016745",)),
    Sample(
        "stream switch",
        t.StreamSwitch(
            addr=0xAAAA1111, value_addr=0xBBBB2222, condition=2, true_sq_id=0, true_stream_id=5, data_type=1
        ),
        ("030202002301674500000000000000001111aaaa000000002222bbbb00000000020000000500000001",),
    ),
    Sample("model", t.ModelExecute(model_id=8), ("0302010023016745000000000000000008",)),
    Sample(
        "model prepared",
        t.ModelMaintenance(
            operation=t.ModelOperation.PRE_PROCESS,
            model_id=8,
            first_task_id=0xFFFF,
            endgraph_notify_id=0x38,
            executor_flag=3,
        ),
        ("030219002301674500000000000000000800000004000000ffff380003",),
    ),
)


SAME_ENTRY = {TaskType.KERNEL_AIVEC: TaskType.KERNEL_AICORE, TaskType.STREAM_WAIT_EVENT: TaskType.NOTIFY_WAIT}


@pytest.mark.parametrize("sample", ARCH9201, ids=lambda sample: sample.name)
def test_recorded_entries_of_arch9201(sample: Sample) -> None:
    assert CLOUD_PLUGIN.encode(sample.task, environment(CLOUD), IDS).hex() == expected(sample).hex()


def log_of(task: t.Task, *, profiling: bool) -> int:
    return CLOUD_PLUGIN.decode(CLOUD_PLUGIN.encode(task, environment(CLOUD, task_profiling=profiling), IDS)).fields[
        "log_en"
    ]


def test_profiling_leaves_only_the_logs_that_are_wanted() -> None:
    wanted, unwanted = t.AicKernel(**KERNEL, profile=True), t.AicKernel(**KERNEL)
    assert [log_of(task, profiling=False) for task in (t.Nop(), wanted, unwanted)] == [1, 1, 1]
    assert [log_of(task, profiling=True) for task in (t.Nop(), wanted, unwanted)] == [0, 1, 0]


def test_kernels_of_arch9201_prefetch_their_arguments_on_the_cores_that_run() -> None:
    def fields(task: t.Task) -> tuple[int, int, int, int]:
        row = CLOUD_PLUGIN.decode(CLOUD_PLUGIN.encode(task, environment(CLOUD), IDS)).fields
        return (
            row["aic_dcache_prefetch"],
            row["aiv_dcache_prefetch"],
            row["aic_pre_allocate_disable"],
            row["aiv_pre_allocate_disable"],
        )

    assert fields(t.AicKernel(**KERNEL)) == (3, 0, 0, 1)
    assert fields(t.AivKernel(**{**KERNEL, "args_size": 1 << 16})) == (0, 64, 1, 0)
    assert fields(MIX) == (3, 3, 0, 0)


def test_an_early_start_gives_way_to_a_stop() -> None:
    def ost(flags: int) -> int:
        task = t.AicKernel(**KERNEL, early_start=True, flags=flags)
        return CLOUD_PLUGIN.decode(CLOUD_PLUGIN.encode(task, environment(CLOUD), IDS)).fields["ost"]

    assert (ost(0), ost(t.KernelFlag.DUMP)) == (1, 0)


@pytest.mark.parametrize("sample", ARCH5162, ids=lambda sample: sample.name)
def test_recorded_entries_of_arch5162(sample: Sample) -> None:
    row = SMALL_PLUGIN.encode(sample.task, SMALL_ENV, IDS)
    assert row.hex() == expected(sample).hex()
    decoded = SMALL_PLUGIN.decode(row)
    assert not decoded.problems
    assert decoded.type == SAME_ENTRY.get(sample.task.type, sample.task.type)
    assert SMALL_PLUGIN.layouts[decoded.layout].encode(**decoded.fields) == row


def test_arch5162_has_no_aicpu_builder() -> None:
    with pytest.raises(UnsupportedTask, match="KERNEL_AICPU"):
        SMALL_PLUGIN.ops(TaskType.KERNEL_AICPU)


@pytest.mark.parametrize(("stack", "base", "level"), [(0, 0x123456789000, 0), (40000, 0x2222ABCD0000, 6)])
def test_large_stacks_of_arch5162_come_from_the_custom_pool(stack: int, base: int, level: int) -> None:
    env = environment(SMALL, custom_stack_size=8 * 16384)
    task = t.AicKernel(pc=1, args=2, block_dim=1, min_stack_size=stack)
    fields = SMALL_PLUGIN.decode(SMALL_PLUGIN.encode(task, env, IDS)).fields
    assert (fields["stack_base"], fields["stack_level"], fields["param"]) == (base, level, 2)


@pytest.mark.parametrize(
    ("timeout_us", "process_us", "credit"),
    [(0, None, 0), (t.NEVER_TIMEOUT_US, None, 255), (1, None, 0), (10**12, None, 255), (0, 10_000_000, 4), (0, 0, 255)],
)
def test_limits_of_arch5162_count_from_0(timeout_us: int, process_us: int | None, credit: int) -> None:
    env = environment(SMALL, op_timeout_us=process_us)
    task = t.AicKernel(pc=1, args=2, block_dim=1, timeout_us=timeout_us)
    assert SMALL_PLUGIN.decode(SMALL_PLUGIN.encode(task, env, IDS)).fields["kernel_credit"] == credit
