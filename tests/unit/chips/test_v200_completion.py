"""What error reports mean on STARS v2."""

from __future__ import annotations

import dataclasses

import pytest

from chips.completion import Cqe, Outcome, OutcomeKind
from chips.generations.v200.completion import WHOLE_TASK, classify
from chips.tasks import TaskType

FINE = Cqe(
    stream_id=1,
    task_id=2,
    error_code=0,
    error_type=0,
    sqe_type=0,
    sq_id=3,
    sq_head=4,
    match=False,
    drop=False,
    error=False,
    acc_error=False,
    next_valid=False,
    notify_attached=False,
    timestamp=0,
    enqueue_timestamp=0,
)


def outcome(task_type: TaskType, error_type: int, code: int = 0) -> Outcome:
    return classify(dataclasses.replace(FINE, error_type=error_type, error_code=code), task_type)


# [seen]: the code of a failed vector kernel follows the error bit, whatever code the report carries
@pytest.mark.parametrize(("bits", "code"), [(1, 0x31), (2, 0x112), (4, 0x30), (8, 0x106), (16, 0x31), (3, 0x31)])
@pytest.mark.parametrize("reported", [0, 0x1D, 0x100])
def test_vector_kernels(bits: int, code: int, reported: int) -> None:
    assert outcome(TaskType.KERNEL_AIVEC, bits, reported) == Outcome(OutcomeKind.ERROR, code, 1)


def test_a_software_status_without_a_code_is_no_failure() -> None:
    assert outcome(TaskType.KERNEL_AIVEC, 32).kind is OutcomeKind.SUCCESS
    assert outcome(TaskType.KERNEL_AIVEC, 32, 0x26) == Outcome(OutcomeKind.ERROR, 0x26, 1)
    assert outcome(TaskType.NOTIFY_RECORD, 32) == Outcome(OutcomeKind.ERROR, 0x114, 1)


def test_other_tasks_prefer_the_reported_code() -> None:
    assert outcome(TaskType.MEMCPY, 1).code == 0x103
    assert outcome(TaskType.MEMCPY, 1, 0x217).code == 0x217


def test_warnings_do_not_fail() -> None:
    assert outcome(TaskType.MEMCPY, 0x40).kind is OutcomeKind.WARNING
    assert outcome(TaskType.MEMCPY, 0).kind is OutcomeKind.SUCCESS


@pytest.mark.parametrize(
    ("task_type", "code", "kind"),
    [
        (TaskType.NOTIFY_WAIT, 0x95, OutcomeKind.END_OF_SEQUENCE),
        (TaskType.NOTIFY_WAIT, 0x99, OutcomeKind.ABORTED),
        (TaskType.KERNEL_AICPU, 0x95, OutcomeKind.END_OF_SEQUENCE),
        (TaskType.KERNEL_AICORE, 0x2F, OutcomeKind.OVERFLOW),
        (TaskType.KERNEL_AICPU, 0x34, OutcomeKind.ERROR),  # an AICPU overflow is a failure here, not on v1
    ],
)
def test_reports_that_look_like_failures(task_type: TaskType, code: int, kind: OutcomeKind) -> None:
    assert outcome(task_type, 1, code).kind is kind


@pytest.mark.parametrize(
    ("task_type", "skipped"),
    [
        (TaskType.MODEL_EXECUTE, 2),
        (TaskType.MODEL_SERIAL_SCHED_PREPROC, 5),
        (TaskType.MODEL_SERIAL_SCHED_NOTIFY_WAIT, 4),
        (TaskType.FUSION_KERNEL, WHOLE_TASK),
        (TaskType.KERNEL_AICORE, 1),
    ],
)
def test_what_a_resume_skips(task_type: TaskType, skipped: int) -> None:
    assert outcome(task_type, 1).head_advance == skipped


def test_reports_carry_the_serial_number() -> None:
    assert dataclasses.replace(FINE, stream_id=0xCDEF, task_id=0x89AB).task_sn == 0x89ABCDEF
