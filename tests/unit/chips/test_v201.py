"""Builders of MC62CM12A: what v201 writes otherwise than v200, and what only it has."""

from __future__ import annotations

import pytest

from chips import find_chip
from chips import tasks as t
from chips.registry import UnsupportedTask, plugin
from chips.tasks import TaskType
from tests.unit.chips.v2_samples import AICPU, COPY, IDS, KERNEL, SHARED, Sample, environment, expected

CHIP = find_chip("MC62CM12A")
PLUGIN = plugin(CHIP)
ENV = environment(CHIP)

V201 = (
    Sample(
        "cube kernel",
        t.AicKernel(**KERNEL),
        (
            "00001900efcdab8902000d0000000904009078563412000038280900000000016655443300000000221100000000040000e5d4c3"
            "b2a1",
        ),
    ),
    Sample(
        "AICPU kernel",
        t.AicpuKernel(**AICPU, block_dim=4, head_offset=16, flags=t.KernelFlag.HOST_ONLY),
        (
            "05000400efcdab890000023a0000ff00111100003412000010e5d4c3b2a1ffff22220000785600000000000000000000efcdab89"
            "0000000000300028",
        ),
    ),
    Sample(
        "copy from the host",
        t.MemcpyAsync(**COPY, kind=t.CopyKind.HOST_TO_DEVICE),
        ("0b000000efcdab89000000000000fe00000f0000000000001f0001001f00010022221111aaaa000044443333bbbb000056341200",),
    ),
    Sample(
        "prefetch",
        t.Cmo(op_code=6, cmo_type=2, length=4096, src=0xAAAA11112222, qos=4, part_id=5),
        ("0f000000efcdab89920000000000fd00060f000000000520000000000000000022221111aaaa0000000000000000000000100000",),
    ),
    Sample(
        "notify of another device",
        t.NotifyRecordIpc(notify_id=1023),
        ("08000000efcdab89000000000000fd00e0f121b005fc2100000000000300000001",),
    ),
    Sample(
        "model announced",
        t.SerialSchedule(model_id=8, notify_id=57, group_id=0xFF, pid=7099, sq_ids=(1, 6)),
        ("04000100efcdab89000000000000fe005a5a00000100010008003900ff000600bb1b",),
    ),
    Sample(
        "model's turn",
        t.SerialSchedule(type=TaskType.MODEL_SERIAL_SCHED_NOTIFY_WAIT, notify_id=57),
        ("07000000efcdab89390000800a00ff000000000000000000ffffffff",),
    ),
    Sample(
        "model handed on",
        t.SerialSchedule(
            type=TaskType.MODEL_SERIAL_SCHED_POSTPROC,
            model_id=8,
            notify_id=57,
            group_id=0xFF,
            pid=7099,
            sq_ids=(1, 6),
        ),
        ("04000100efcdab89000000000000fe006a6a00000200010008003900ff000600bb1b",),
    ),
)


@pytest.mark.parametrize("sample", SHARED + V201, ids=lambda sample: sample.name)
def test_recorded_entries(sample: Sample) -> None:
    assert PLUGIN.encode(sample.task, ENV, IDS).hex() == expected(sample).hex()


@pytest.mark.parametrize("sample", V201, ids=lambda sample: sample.name)
def test_recorded_entries_decode_and_encode_again(sample: Sample) -> None:
    decoded = PLUGIN.decode(expected(sample))
    assert not decoded.problems
    assert PLUGIN.layouts[decoded.layout].encode(**decoded.fields) == expected(sample)


@pytest.mark.parametrize("kind", [TaskType.MEMSET, TaskType.CAPTURE_RECORD_EXTERNAL, TaskType.CAPTURE_WAIT_EXTERNAL])
def test_types_that_only_v200_has(kind: TaskType) -> None:
    with pytest.raises(UnsupportedTask, match=kind.name):
        PLUGIN.ops(kind)


def test_mixed_cube_kernels_are_not_marked() -> None:
    mix = t.MixKernel(**KERNEL, mix=t.MixKind.AIC)
    assert PLUGIN.decode(PLUGIN.encode(mix, ENV, IDS)).fields["pi_mix"] == 0


def test_self_tests_are_marked_and_get_less_memory() -> None:
    fields = PLUGIN.decode(PLUGIN.encode(t.AivKernel(**KERNEL, self_test=True), ENV, IDS)).fields
    assert (fields["stl"], fields["simt_dcu_size"]) == (1, 204800)


STEPS = [
    (TaskType.DQS_ENQUEUE, 11),
    (TaskType.DQS_DEQUEUE, 12),
    (TaskType.DQS_PREPARE, 13),
    (TaskType.DQS_ZERO_COPY, 14),
    (TaskType.DQS_MBUF_FREE, 16),
    (TaskType.DQS_INTER_CHIP_PREPROC, 17),
    (TaskType.DQS_INTER_CHIP_POSTPROC, 18),
    (TaskType.DQS_ADSPC, 19),
    (TaskType.DQS_BATCH_DEQUEUE, 20),
    (TaskType.DQS_CONDITION_COPY, 21),
    (TaskType.DQS_FRAME_ALIGN, 22),
]


@pytest.mark.parametrize(("kind", "number"), STEPS, ids=lambda value: getattr(value, "name", ""))
def test_data_queue_steps_call_their_program(kind: TaskType, number: int) -> None:
    task = t.DataQueueStep(type=kind, function=0x1200, function_bytes=64)
    decoded = PLUGIN.decode(PLUGIN.encode(task, ENV, IDS))
    assert decoded.type is kind
    assert (decoded.fields["conds_sub_type"], decoded.fields["kernel_credit"]) == (number, 254)
    assert PLUGIN.ops(kind).verified == "rule"


def test_outgoing_zero_copies_have_a_number_of_their_own() -> None:
    task = t.DataQueueStep(type=TaskType.DQS_ZERO_COPY, function=0x1200, function_bytes=64, outgoing=True)
    assert PLUGIN.decode(PLUGIN.encode(task, ENV, IDS)).fields["conds_sub_type"] == 23


def test_the_end_of_a_pipeline_carries_its_program() -> None:
    decoded = PLUGIN.decode(PLUGIN.encode(t.DataQueueEnd(sq_id=3, snapshot=0x1000), ENV, IDS))
    assert decoded.layout == "dqs_sched_end"
    assert decoded.fields["program[8]"] == 0x13  # the rest of the entry is no-ops


def test_the_register_of_a_notify_leads_back_to_it() -> None:
    from chips.addresses import notify_at, register

    numbers = [0, 1, 15, 16, 511, 512, 4095, (1 << 17) - 1]
    assert [notify_at(register(number)) for number in numbers] == numbers
