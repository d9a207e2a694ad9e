"""Completion entries: 32-byte logic CQEs and what they mean on STARS v1."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.completion import Cqe, Error, ModelStatus, Outcome, OutcomeKind, pack_logic_cqe, parse_logic_cqe
from chips.generations.v100.completion import classify
from chips.generations.v200.completion import classify as classify_v200
from chips.tasks import TaskType

CLEAN = Cqe(0x11, 0x22, 0, 0, 1, 3, 9, False, False, False, False, False, False, 100, 200)
WORDS = st.integers(0, 0xFFFF)


def failed(bits: int, code: int = 0) -> Cqe:
    return dataclasses.replace(CLEAN, error_type=bits, error_code=code, error=True)


@given(st.binary(min_size=32, max_size=32))
def test_any_entry_survives_but_for_reserved_bits(raw: bytes) -> None:
    kept = raw[:14] + bytes([raw[14] & 0x3F, 0]) + raw[16:]
    assert pack_logic_cqe(parse_logic_cqe(raw)) == kept


def test_fields_stand_where_the_driver_puts_them() -> None:
    raw = bytes.fromhex("0500 0100 26000000 01 02 0300 0900 0400") + (7).to_bytes(8, "little") + bytes(8)
    cqe = parse_logic_cqe(raw)
    assert (cqe.stream_id, cqe.task_id, cqe.error_code, cqe.error_type) == (5, 1, 0x26, 1)
    assert (cqe.sqe_type, cqe.sq_id, cqe.sq_head, cqe.error, cqe.timestamp) == (2, 3, 9, True, 7)
    assert cqe.task_sn == 0x10005


def test_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="a logic CQE has 32 bytes, got 16"):
        parse_logic_cqe(bytes(16))


def test_the_lowest_error_bit_decides() -> None:
    assert failed(0b101000).first_error is Error.SQE_ERROR
    assert CLEAN.first_error is None
    assert dataclasses.replace(CLEAN, error_type=0x40).first_error is None


@pytest.mark.parametrize(
    ("task", "bit", "code"),
    [
        (TaskType.KERNEL_AICORE, 0, 0x26),
        (TaskType.KERNEL_AICORE, 1, 0x27),
        (TaskType.KERNEL_AICORE, 2, 0x25),
        (TaskType.KERNEL_AIVEC, 0, 0x31),
        (TaskType.KERNEL_AIVEC, 2, 0x30),
        (TaskType.KERNEL_AIVEC, 4, 0x31),
        (TaskType.KERNEL_AICPU, 0, 0x2A),
        (TaskType.KERNEL_AICPU, 2, 0x28),
        (TaskType.MEMCPY, 0, 0x103),
        (TaskType.MEMCPY, 2, 0x105),
        (TaskType.NOTIFY_WAIT, 3, 0x106),
        (TaskType.EVENT_RECORD, 5, 0x75),
    ],
)
def test_the_code_by_task_and_bit(task: TaskType, bit: int, code: int) -> None:
    assert classify(failed(1 << bit), task) == Outcome(OutcomeKind.ERROR, code, 1)


def test_kernels_ignore_the_reported_code_but_for_a_software_status() -> None:
    assert classify(failed(1, 0x1D), TaskType.KERNEL_AIVEC).code == 0x31
    assert classify(failed(1 << 5, 0x1D), TaskType.KERNEL_AIVEC).code == 0x1D
    assert classify(failed(1 << 5), TaskType.KERNEL_AIVEC).kind is OutcomeKind.SUCCESS


@pytest.mark.parametrize(("code", "meant"), [(1000, 0x224), (1001, 0x222)])
def test_codes_of_communication_on_the_aicpu_have_names_of_their_own(code: int, meant: int) -> None:
    assert classify(failed(1, code), TaskType.KERNEL_AICPU).code == meant
    assert classify(failed(1, code), TaskType.KERNEL_AICORE).code == 0x26


def test_other_tasks_take_the_reported_code() -> None:
    assert classify(failed(1, 0x218), TaskType.MEMCPY).code == 0x218


def test_a_model_skips_two_entries() -> None:
    assert classify(failed(1), TaskType.MODEL_EXECUTE).head_advance == 2


@pytest.mark.parametrize(
    ("task", "code", "kind"),
    [
        (TaskType.NOTIFY_WAIT, 0x95, OutcomeKind.END_OF_SEQUENCE),
        (TaskType.NOTIFY_WAIT, 0x99, OutcomeKind.ABORTED),
        (TaskType.STREAM_WAIT_EVENT, 0x95, OutcomeKind.END_OF_SEQUENCE),
        (TaskType.KERNEL_AICORE, 0x2F, OutcomeKind.OVERFLOW),
        (TaskType.MEMCPY, 0x35, OutcomeKind.OVERFLOW),
        (TaskType.GET_STARS_VERSION, 7, OutcomeKind.SUCCESS),
        (TaskType.MEMCPY, 0x95, OutcomeKind.ERROR),
    ],
)
def test_reports_that_are_no_failure(task: TaskType, code: int, kind: OutcomeKind) -> None:
    assert classify(failed(1, code), task).kind is kind


def test_success_and_warning() -> None:
    assert classify(CLEAN, TaskType.NOP) == Outcome(OutcomeKind.SUCCESS)
    assert classify(dataclasses.replace(CLEAN, error_type=0x40), TaskType.NOP).kind is OutcomeKind.WARNING


def test_the_wait_for_the_end_of_a_model_names_the_task_inside() -> None:
    """Word of rtStarsModelExecuteError_t: task id, 12 bits of stream or queue, 4 bits of result."""
    status = ModelStatus(0x1234, 0xABC, 1)
    assert status.pack() == 0x1ABC1234
    assert ModelStatus.parse(0x1ABC1234) == status
    assert ModelStatus.parse(0x0ABC1234) is None


@pytest.mark.parametrize("classify", [classify, classify_v200])
@pytest.mark.parametrize(
    ("result", "kind", "code"),
    [(1, OutcomeKind.ERROR, 0x91), (2, OutcomeKind.END_OF_SEQUENCE, 0x95), (3, OutcomeKind.ABORTED, 0x10E),
     (4, OutcomeKind.ABORTED, 0x28), (9, OutcomeKind.ERROR, 0x91)],
)  # fmt: skip
def test_how_an_execution_ended(
    classify: Callable[[Cqe, TaskType], Outcome], result: int, kind: OutcomeKind, code: int
) -> None:
    outcome = classify(failed(0x20, ModelStatus(7, 3, result).pack()), TaskType.NOTIFY_WAIT)
    assert (outcome.kind, outcome.code) == (kind, code)
    assert classify(failed(0x20, 0x95), TaskType.NOTIFY_WAIT).kind is OutcomeKind.END_OF_SEQUENCE
