"""What completion entries mean on STARS v2 (core_spec 10.4 to 10.6, v200 columns; TS codes of appendix A.4)."""

from __future__ import annotations

from chips.completion import Error, Meaning, OutcomeKind
from chips.completion import parse_logic_cqe as parse_cqe
from chips.tasks import TaskType

__all__ = ["WHOLE_TASK", "classify", "parse_cqe"]

WHOLE_TASK = 0
"""``Outcome.head_advance`` of failed tasks whose entries are skipped together, however many they are."""

_COMMON = {
    Error.EXCEPTION: 0x103,
    Error.TRAP: 0x112,  # a bus error; v1 calls this bit a trap
    Error.TIMEOUT: 0x105,
    Error.SQE_ERROR: 0x106,
    Error.CONFLICT: 0x113,
    Error.SW_STATUS: 0x114,
}
_END_OF_SEQUENCE = {0x95: OutcomeKind.END_OF_SEQUENCE}
_MODEL_ENDS = {
    **_END_OF_SEQUENCE,
    0x99: OutcomeKind.ABORTED,  # MODEL_ABORT_NORMAL
    0x10E: OutcomeKind.ABORTED,  # MODEL_ABORTED
    0x28: OutcomeKind.ABORTED,  # AICPU_TIMEOUT
}
_WHOLE = (
    TaskType.DIRECT_SEND,
    TaskType.MEMCPY,
    TaskType.CCU_LAUNCH,
    TaskType.FUSION_KERNEL,
    TaskType.IPC_WAIT,
    TaskType.MULTIPLE_TASK,
)

_MEANING = Meaning(
    common=_COMMON,
    kernels={
        TaskType.KERNEL_AICORE: {**_COMMON, Error.EXCEPTION: 0x26, Error.TIMEOUT: 0x25, Error.CONFLICT: 0x26},
        TaskType.KERNEL_AIVEC: {**_COMMON, Error.EXCEPTION: 0x31, Error.TIMEOUT: 0x30, Error.CONFLICT: 0x31},
        TaskType.KERNEL_AICPU: {**_COMMON, Error.EXCEPTION: 0x2A, Error.TIMEOUT: 0x28, Error.CONFLICT: 0x2A},
        TaskType.MODEL_TO_AICPU: {**dict.fromkeys(_COMMON, 0x2C), Error.TIMEOUT: 0x28},  # AICPU_MODEL_RSP_ERR
    },
    overflows=frozenset({0x2F, 0x33, 0x35}),  # AICORE, AIVEC, SDMA
    ends=frozenset({TaskType.NOTIFY_WAIT}),
    harmless={TaskType.NOTIFY_WAIT: _MODEL_ENDS, TaskType.KERNEL_AICPU: _END_OF_SEQUENCE},
    advance={
        TaskType.MODEL_EXECUTE: 2,
        TaskType.MODEL_SERIAL_SCHED_PREPROC: 5,
        TaskType.MODEL_SERIAL_SCHED_NOTIFY_WAIT: 4,
        **dict.fromkeys(_WHOLE, WHOLE_TASK),
    },
)

classify = _MEANING.classify
"""Return what became of a task; see `chips.completion.Meaning`."""
