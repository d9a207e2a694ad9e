"""What completion entries mean on STARS v1 (core_spec 10.4 and 10.5, v100 columns; TS codes of appendix A.4)."""

from __future__ import annotations

from chips.completion import WARNING_BIT, Cqe, Error, Outcome, OutcomeKind, common_code, kernel_code
from chips.completion import parse_logic_cqe as parse_cqe
from chips.tasks import TaskType

__all__ = ["classify", "parse_cqe"]

_END_OF_SEQUENCE = 0x95
_MODEL_ABORT_NORMAL = 0x99
_MODEL_ABORTED = 0x10E
_AICPU_TIMEOUT = 0x28
_OVERFLOWS = frozenset({0x2F, 0x33, 0x34, 0x35})  # AICORE, AIVEC, AICPU, SDMA

_COMMON = {
    Error.EXCEPTION: 0x103,
    Error.TRAP: 0x104,
    Error.TIMEOUT: 0x105,
    Error.SQE_ERROR: 0x106,
    Error.CONFLICT: 0x109,
    Error.SW_STATUS: 0x75,
}
_KERNELS = {
    TaskType.KERNEL_AICORE: {
        Error.EXCEPTION: 0x26,
        Error.TRAP: 0x27,
        Error.TIMEOUT: 0x25,
        Error.SQE_ERROR: 0x106,
        Error.CONFLICT: 0x26,
    },
    TaskType.KERNEL_AIVEC: {
        Error.EXCEPTION: 0x31,
        Error.TRAP: 0x32,
        Error.TIMEOUT: 0x30,
        Error.SQE_ERROR: 0x106,
        Error.CONFLICT: 0x31,
    },
    TaskType.KERNEL_AICPU: {
        Error.EXCEPTION: 0x2A,
        Error.TRAP: 0x104,
        Error.TIMEOUT: 0x28,
        Error.SQE_ERROR: 0x106,
        Error.CONFLICT: 0x2A,
    },
}
_HARMLESS = {
    TaskType.NOTIFY_WAIT: {
        _END_OF_SEQUENCE: OutcomeKind.END_OF_SEQUENCE,
        _MODEL_ABORT_NORMAL: OutcomeKind.ABORTED,
        _MODEL_ABORTED: OutcomeKind.ABORTED,
        _AICPU_TIMEOUT: OutcomeKind.ABORTED,
    },
    TaskType.STREAM_WAIT_EVENT: {_END_OF_SEQUENCE: OutcomeKind.END_OF_SEQUENCE},
}
_ADVANCE = {TaskType.MODEL_EXECUTE: 2}


def classify(cqe: Cqe, task_type: TaskType) -> Outcome:
    """Return what became of a task: its code by the rule of its type, and how many SQEs a resume of its queue skips.

    The version question always succeeds: its answer comes in the error fields.
    """
    kernels = _KERNELS.get(task_type)
    code = common_code(cqe, _COMMON) if kernels is None else kernel_code(cqe, kernels)
    if not cqe.failed:
        return Outcome(OutcomeKind.WARNING if cqe.error_type & WARNING_BIT else OutcomeKind.SUCCESS, code)
    if task_type == TaskType.GET_STARS_VERSION:
        return Outcome(OutcomeKind.SUCCESS, cqe.error_code)
    if cqe.error_code in _OVERFLOWS:
        return Outcome(OutcomeKind.OVERFLOW, cqe.error_code)
    harmless = _HARMLESS.get(task_type, {}).get(cqe.error_code)
    if harmless is not None:
        return Outcome(harmless, cqe.error_code)
    if not code:
        # a software status without a code: the report names no failure
        return Outcome(OutcomeKind.SUCCESS)
    return Outcome(OutcomeKind.ERROR, code, _ADVANCE.get(task_type, 1))
