"""What a completion entry of STARS v2 means for its task (core_spec 10.4 and 10.5, v200 columns)."""

from __future__ import annotations

from chips.completion import WARNING_BIT, Cqe, Error, Outcome, OutcomeKind, common_code, kernel_code
from chips.completion import parse_logic_cqe as parse_cqe
from chips.tasks import TaskType

__all__ = ["WHOLE_TASK", "classify", "parse_cqe"]

WHOLE_TASK = 0
"""``Outcome.head_advance`` of tasks whose failure skips all their entries, however many they are."""

_END_OF_SEQUENCE = 0x95
_MODEL_ABORT_NORMAL = 0x99
_MODEL_ABORTED = 0x10E
_AICPU_TIMEOUT = 0x28
_OVERFLOWS = frozenset({0x2F, 0x33, 0x35})  # AICORE, AIVEC, SDMA

_COMMON = {
    Error.EXCEPTION: 0x103,
    Error.TRAP: 0x112,  # the trap bit of v100 reports bus errors here
    Error.TIMEOUT: 0x105,
    Error.SQE_ERROR: 0x106,
    Error.CONFLICT: 0x113,
    Error.SW_STATUS: 0x114,
}
_AICORE = {**_COMMON, Error.EXCEPTION: 0x26, Error.TIMEOUT: 0x25, Error.CONFLICT: 0x26}
_AIVEC = {**_COMMON, Error.EXCEPTION: 0x31, Error.TIMEOUT: 0x30, Error.CONFLICT: 0x31}
_AICPU = {**_COMMON, Error.EXCEPTION: 0x2A, Error.TIMEOUT: 0x28, Error.CONFLICT: 0x2A}
_KERNELS = {TaskType.KERNEL_AICORE: _AICORE, TaskType.KERNEL_AIVEC: _AIVEC, TaskType.KERNEL_AICPU: _AICPU}

_HARMLESS_WAIT = {
    _END_OF_SEQUENCE: OutcomeKind.END_OF_SEQUENCE,
    _MODEL_ABORT_NORMAL: OutcomeKind.ABORTED,
    _MODEL_ABORTED: OutcomeKind.ABORTED,
    _AICPU_TIMEOUT: OutcomeKind.ABORTED,
}

_ADVANCE = {
    TaskType.MODEL_EXECUTE: 2,
    TaskType.MODEL_SERIAL_SCHED_PREPROC: 5,
    TaskType.MODEL_SERIAL_SCHED_NOTIFY_WAIT: 4,
    **dict.fromkeys(
        (
            TaskType.DIRECT_SEND,
            TaskType.MEMCPY,
            TaskType.CCU_LAUNCH,
            TaskType.FUSION_KERNEL,
            TaskType.IPC_WAIT,
            TaskType.MULTIPLE_TASK,
        ),
        WHOLE_TASK,
    ),
}


def classify(cqe: Cqe, task_type: TaskType) -> Outcome:
    """Return what became of a task: its code by the rule of its type, and what a resume of its queue skips.

    ``head_advance`` is 0 for a task that goes on by itself and, with kind ERROR, ``WHOLE_TASK``.
    """
    kernels = _KERNELS.get(task_type)
    code = common_code(cqe, _COMMON) if kernels is None else kernel_code(cqe, kernels)
    if not cqe.failed:
        kind = OutcomeKind.WARNING if cqe.error_type & WARNING_BIT else OutcomeKind.SUCCESS
        return Outcome(kind, code)
    if cqe.error_code in _OVERFLOWS:
        return Outcome(OutcomeKind.OVERFLOW, cqe.error_code)
    if task_type == TaskType.NOTIFY_WAIT and cqe.error_code in _HARMLESS_WAIT:
        return Outcome(_HARMLESS_WAIT[cqe.error_code], cqe.error_code)
    if task_type == TaskType.KERNEL_AICPU and cqe.error_code == _END_OF_SEQUENCE:
        return Outcome(OutcomeKind.END_OF_SEQUENCE, cqe.error_code)
    if not code:
        # a software status without a code: the report names no failure
        return Outcome(OutcomeKind.SUCCESS)
    return Outcome(OutcomeKind.ERROR, code, _ADVANCE.get(task_type, 1))
