"""What completion entries mean on STARS v1 (core_spec 10.4 to 10.6, v100 columns; TS codes of appendix A.4)."""

from __future__ import annotations

from collections.abc import Mapping

from chips.completion import Error, Meaning, OutcomeKind
from chips.completion import parse_logic_cqe as parse_cqe
from chips.tasks import TaskType

__all__ = ["classify", "parse_cqe"]

_COMMON = {
    Error.EXCEPTION: 0x103,
    Error.TRAP: 0x104,
    Error.TIMEOUT: 0x105,
    Error.SQE_ERROR: 0x106,
    Error.CONFLICT: 0x109,
    Error.SW_STATUS: 0x75,
}
_AICORE = {Error.EXCEPTION: 0x26, Error.TRAP: 0x27, Error.TIMEOUT: 0x25, Error.CONFLICT: 0x26}
_AIVEC = {Error.EXCEPTION: 0x31, Error.TRAP: 0x32, Error.TIMEOUT: 0x30, Error.CONFLICT: 0x31}
_AICPU = {Error.EXCEPTION: 0x2A, Error.TIMEOUT: 0x28, Error.CONFLICT: 0x2A}
_AICPU_MODEL = {
    **dict.fromkeys(_COMMON, 0x2C), Error.TIMEOUT: 0x28  # AICPU_MODEL_RSP_ERR, AICPU_TIMEOUT
}  # fmt: skip
CODES: Mapping[TaskType | None, Mapping[Error, int]] = {
    None: _COMMON,
    TaskType.KERNEL_AICORE: {**_COMMON, **_AICORE},
    TaskType.KERNEL_AIVEC: {**_COMMON, **_AIVEC},
    TaskType.KERNEL_AICPU: {**_COMMON, **_AICPU},
    TaskType.MODEL_TO_AICPU: _AICPU_MODEL,
}
"""By task type, the scheduler's code for each error; None: of all types that have no codes of their own."""
_END_OF_SEQUENCE = {0x95: OutcomeKind.END_OF_SEQUENCE}
_MODEL_ENDS = {
    **_END_OF_SEQUENCE,
    0x99: OutcomeKind.ABORTED,  # MODEL_ABORT_NORMAL
    0x10E: OutcomeKind.ABORTED,  # MODEL_ABORTED
    0x28: OutcomeKind.ABORTED,  # AICPU_TIMEOUT
}

_MEANING = Meaning(
    common=_COMMON,
    kernels={kind: codes for kind, codes in CODES.items() if kind is not None},
    overflows=frozenset({0x2F, 0x33, 0x34, 0x35}),  # AICORE, AIVEC, AICPU, SDMA
    ends=frozenset({TaskType.NOTIFY_WAIT}),
    harmless={TaskType.NOTIFY_WAIT: _MODEL_ENDS, TaskType.STREAM_WAIT_EVENT: _END_OF_SEQUENCE},
    advance={TaskType.MODEL_EXECUTE: 2},
    answers=frozenset({TaskType.GET_STARS_VERSION}),
    # communication operators on the AICPU: retries are used up, the copy engine reaches nothing over a link
    renamed={TaskType.KERNEL_AICPU: {1000: 0x224, 1001: 0x222}, TaskType.NOTIFY_WAIT: {1001: 0x222}},
)

classify = _MEANING.classify
"""Return what became of a task; see `chips.completion.Meaning`."""
