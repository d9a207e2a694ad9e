"""Completion entries: the logic CQE both STARS generations share, and what it says about a task.

The driver turns hardware completion entries into 32-byte logic reports (rtLogicCqReport_t in the runtime's
task_info_base.hpp; hal_semantics 4.9).  Which error means what differs per generation and stands there.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

from npuhal.records import dataclass, field
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.tasks import TaskType

LOGIC_CQE_BYTES = 32
"""Size of one logic completion entry."""

ERROR_BITS = 0x3F
"""Bits of ``error_type`` that mean a failed task."""

WARNING_BIT = 0x40
"""Bit of ``error_type`` that means a warning only."""

_LOGIC = struct.Struct("<HHIBBHHHQQ")


class Error(enum.IntEnum):
    """Bit numbers of ``error_type``; the lowest one set decides."""

    EXCEPTION = 0
    TRAP = 1
    TIMEOUT = 2
    SQE_ERROR = 3
    CONFLICT = 4
    SW_STATUS = 5


class OutcomeKind(enum.Enum):
    """What a completion entry means for its task."""

    SUCCESS = "success"
    WARNING = "warning"
    OVERFLOW = "overflow"
    END_OF_SEQUENCE = "end of sequence"
    ABORTED = "aborted"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Cqe:
    """One logic completion entry.

    ``sq_head`` is the ring position the queue stopped at or moved to.  v100 finds the task by stream and task id, v2 by
    ``sq_head``; ``task_sn`` is the v2 serial number.
    """

    stream_id: int
    task_id: int
    error_code: int
    error_type: int
    sqe_type: int
    sq_id: int
    sq_head: int
    match: bool
    drop: bool
    error: bool
    acc_error: bool
    next_valid: bool
    notify_attached: bool
    timestamp: int
    enqueue_timestamp: int

    @property
    def task_sn(self) -> int:
        """Serial number a v2 report carries in the two id fields."""
        return self.task_id << 16 | self.stream_id

    @property
    def failed(self) -> bool:
        """Whether any error bit is set."""
        return bool(self.error_type & ERROR_BITS)

    @property
    def first_error(self) -> Error | None:
        """The error that decides: the lowest bit set."""
        bits = self.error_type & ERROR_BITS
        return Error((bits & -bits).bit_length() - 1) if bits else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a task: ``code`` is the task scheduler's error code, ``head_advance`` the SQEs a resume skips."""

    kind: OutcomeKind
    code: int = 0
    head_advance: int = 0


def parse_logic_cqe(raw: bytes) -> Cqe:
    """Read one 32-byte logic completion entry; ValueError for any other size."""
    if len(raw) != LOGIC_CQE_BYTES:
        raise ValueError(f"a logic CQE has {LOGIC_CQE_BYTES} bytes, got {len(raw)}")
    stream, task, code, error_type, sqe_type, sq, head, flags, stamp, queued = _LOGIC.unpack(raw)
    return Cqe(
        stream,
        task,
        code,
        error_type,
        sqe_type,
        sq,
        head,
        bool(flags & 1),
        bool(flags & 2),
        bool(flags & 4),
        bool(flags & 8),
        bool(flags & 16),
        bool(flags & 32),
        stamp,
        queued,
    )


def pack_logic_cqe(cqe: Cqe) -> bytes:
    """Return the 32 bytes of a logic completion entry (what a driver, or a stand-in for one, writes)."""
    flags = sum(
        bool(bit) << number
        for number, bit in enumerate(
            (cqe.match, cqe.drop, cqe.error, cqe.acc_error, cqe.next_valid, cqe.notify_attached)
        )
    )
    return _LOGIC.pack(
        cqe.stream_id,
        cqe.task_id,
        cqe.error_code,
        cqe.error_type,
        cqe.sqe_type,
        cqe.sq_id,
        cqe.sq_head,
        flags,
        cqe.timestamp,
        cqe.enqueue_timestamp,
    )


# -- what is said of commands (chips without STARS) --------------------------------------------------------------------

STATUS_ROW = struct.Struct("<8I")
"""Row of a stream in the table that scheduler and host share (struct rtShmQuery_t): last task, code and task of the
first failure, code and task of the last one, what there is to say about each, `STATUS_VALID`."""
STATUS_VALID = 0x5A5A5A5A
TASK_REPORT = struct.Struct("<HHIHH")
"""Report of a task (struct tagTsTaskReportMsg): parts, kind and low bits of the stream; task; payload; SQ; head and
high bit of the stream."""
_LOGIC_REPORT = struct.Struct("<HHHBxII")
_WHOLE_REPORT = 0b1010  # begin (SOP) and end (EOP)
_FIRST_PART, _LAST_PART = 1, 4
_PARTS_BITS, _LOW_BITS, _HIGH_BIT = 6, 10, 0x4000
_SQ_MASK, _HEAD_MASK = 0x1FF, 0x3FFF


class TaskReport(NamedTuple):
    """What a report says of where it belongs: the parts of one task's report come one behind the other."""

    stream_id: int
    task_id: int
    first: bool
    last: bool


def split_task_report(raw: bytes) -> TaskReport:
    """Read where a task report of 12 bytes belongs."""
    start, task_id, _, _, end = TASK_REPORT.unpack(raw)
    stream_id = start >> _PARTS_BITS & (1 << _LOW_BITS) - 1 | bool(end & _HIGH_BIT) << _LOW_BITS
    return TaskReport(stream_id, task_id, bool(start & _FIRST_PART), bool(start & _LAST_PART))


def pack_task_report(of: TaskReport, payload: int, sq_id: int, sq_head: int) -> bytes:
    """Return the 12 bytes of a task report (what a scheduler writes)."""
    parts = of.first * _FIRST_PART | of.last * _LAST_PART
    return TASK_REPORT.pack(
        parts | (of.stream_id & (1 << _LOW_BITS) - 1) << _PARTS_BITS, of.task_id, payload, sq_id & _SQ_MASK,
        sq_head & _HEAD_MASK | (_HIGH_BIT if of.stream_id >> _LOW_BITS & 1 else 0),
    )


def pack_logic_report(
    stream_id: int, task_id: int, kind: int, code: int = 0, payload: int = 0, cq_id: int = 0
) -> bytes:
    """Return the 16 bytes of a logic report (struct rtLogicReport_t: what a driver, or a stand-in for one, writes)."""
    return _LOGIC_REPORT.pack(_WHOLE_REPORT | cq_id << 4 & 0xFFFF, stream_id, task_id, kind, code, payload)


# -- what models and errors say ----------------------------------------------------------------------------------------

_MODEL_RESULTS = {
    1: 0x91,  # MODEL_STREAM_EXE_FAILED
    2: 0x95,  # END_OF_SEQUENCE
    3: 0x10E,  # MODEL_ABORTED
    4: 0x28,  # AICPU_TIMEOUT
}
"""How an execution of a model ended (TS_STARS_MODEL_*), and the code that stands for it."""
_MODEL_FAILED = 1


class ModelStatus(NamedTuple):
    """What the wait for a model's end reports when an execution was cut short.

    ``task_id`` is the task inside by which that happened (on STARS v2 its position), ``queue`` the number of its queue
    where queues are lent to streams, else of its stream; 12 bits (stars.hpp, rtStarsModelExecuteError_t and
    rtStarsModelExecuteErrorEx_t).
    """

    task_id: int
    queue: int
    result: int = _MODEL_FAILED

    @classmethod
    def parse(cls, word: int) -> ModelStatus | None:
        """Read the word in a report; None where it is a plain code."""
        result = word >> 28
        return cls(word & 0xFFFF, word >> 16 & 0xFFF, result) if result else None

    def pack(self) -> int:
        """Return the word (what a task scheduler, or a stand-in for one, reports)."""
        return self.task_id & 0xFFFF | (self.queue & 0xFFF) << 16 | self.result << 28

    @property
    def code(self) -> int:
        """The task scheduler's error code for the result; an unknown one is a failure."""
        return _MODEL_RESULTS.get(self.result, _MODEL_RESULTS[_MODEL_FAILED])


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """How one generation reads errors (core_spec 10.4 and 10.5; codes of appendix A.4).

    ``common`` gives the code of each error bit, ``kernels`` the same for kernel types; ``overflows`` and ``harmless``
    (by task type) are reported codes that are no failures; ``answers`` are types whose error fields carry an answer.
    ``renamed`` are codes that software reports for a task type, with those that they stand for.  ``ends`` are types
    that may wait for the end of a model, whose report is a `ModelStatus` then.  ``advance`` is what a resume skips
    after a failure, one entry where a type is not in it.
    """

    common: Mapping[Error, int]
    kernels: Mapping[TaskType, Mapping[Error, int]]
    overflows: frozenset[int]
    harmless: Mapping[TaskType, Mapping[int, OutcomeKind]]
    advance: Mapping[TaskType, int]
    answers: frozenset[TaskType] = frozenset()
    ends: frozenset[TaskType] = frozenset()
    renamed: Mapping[TaskType, Mapping[int, int]] = field(default_factory=dict)

    def classify(self, cqe: Cqe, task_type: TaskType) -> Outcome:
        """Return what became of a task: its code by the rule of its type, and what a resume of its queue skips."""
        code = self._code(cqe, task_type)
        if not cqe.failed:
            return Outcome(OutcomeKind.WARNING if cqe.error_type & WARNING_BIT else OutcomeKind.SUCCESS, code)
        if task_type in self.answers:
            return Outcome(OutcomeKind.SUCCESS, cqe.error_code)
        reported = cqe.error_code
        if task_type in self.ends and (status := ModelStatus.parse(reported)) is not None:
            reported = code = status.code
        if reported in self.overflows:
            return Outcome(OutcomeKind.OVERFLOW, reported)
        harmless = self.harmless.get(task_type, {}).get(reported)
        if harmless is not None:
            return Outcome(harmless, reported)
        if not code:
            # a software status without a code: the report names no failure
            return Outcome(OutcomeKind.SUCCESS)
        return Outcome(OutcomeKind.ERROR, code, self.advance.get(task_type, 1))

    def _code(self, cqe: Cqe, task_type: TaskType) -> int:
        """The reported code, else that of the lowest error bit; kernels only report a code for a software status."""
        first = cqe.first_error
        if first is None:
            return cqe.error_code
        renamed = self.renamed.get(task_type, {}).get(cqe.error_code)
        if renamed is not None:
            return renamed
        kernels = self.kernels.get(task_type)
        if kernels is not None:
            return cqe.error_code if first is Error.SW_STATUS else kernels[first]
        return cqe.error_code or self.common[first]
