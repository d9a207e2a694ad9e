"""Completion reports of chips without STARS: 16-byte logic reports, or the 12-byte ones they are made from.

Sources: struct rtLogicReport_t (driver interface), struct tagTsTaskReportMsg (task reports), ProcLogicReport
(direct_hwts_engine.cc).
"""

from __future__ import annotations

from enum import IntEnum

from chips.completion import ERROR_BITS, Cqe, Error, Outcome, OutcomeKind
from chips.generations.v100.completion import CODES
from chips.layout import make_layout
from chips.tasks import TaskType
from npuhal.records import replace

_LOGIC = make_layout(
    "logic_report",
    {
        "struct": "rtLogicReport_t",
        "fields": "phase:1 sop:1 mop:1 eop:1 cq_id:12 stream_id:16 task_id:16 kind:8 -:8 error_code:32 payload:32",
    },
)
_TASK = make_layout(
    "task_report",
    {
        "struct": "tagTsTaskReportMsg",
        "fields": "sop:1 mop:1 eop:1 package:3 stream_low:10 task_id:16 payload:32 sq_id:9 fault_task_high:6 phase:1 "
        "sq_head:14 stream_high:1 fault_stream_high:1",
    },
)
_ERROR_PACKAGE = 1
_CODE_BITS = 0xFFF  # of the payload of a task report; the rest names the task that failed in a model
_VERSION_SHIFT = 12  # of the payload of a report about a new stream; below is an error code
_END_OF_SEQUENCE = 0x95
_MODEL_ABORT_NORMAL = 0x99


class ReportKind(IntEnum):
    """Kinds of logic report (``logicCqType``); carried in ``Cqe.error_type``."""

    SUCCESS = 0
    TERMINAL = 1
    TASK_ERROR = 2
    MODEL_ERROR = 3
    TSCH_VERSION = 4
    OVERFLOW_ERROR = 5
    EVENT_DESTROY = 6
    BLOCKING_OPERATOR = 7
    AICPU_ERR_MSG_REPORT = 8


_PARTS = 2  # of the report of an event record, whose payloads are the two halves of its time stamp

_FAILURES = frozenset({ReportKind.TASK_ERROR, ReportKind.MODEL_ERROR, ReportKind.BLOCKING_OPERATOR})


def parse_cqe(raw: bytes) -> Cqe:
    """Read one report of 16 or 12 bytes, or two of 12 that carry a time stamp; ValueError for any other size.

    ``error_type`` is the ``ReportKind``; a model or blocking-operator report names the failed task in ``timestamp``
    (task id in bits 31..16, stream id in bits 15..0).  ``enqueue_timestamp`` is the payload of a task report as it is.
    """
    if len(raw) == _LOGIC.size:
        fields = _LOGIC.decode(raw)
        kind, code, payload = fields["kind"], fields["error_code"], fields["payload"]
        stream, sq_id, sq_head, whole = fields["stream_id"], 0, 0, payload
    elif len(raw) == _TASK.size:
        fields = _TASK.decode(raw)
        kind = ReportKind.TASK_ERROR if fields["package"] == _ERROR_PACKAGE else ReportKind.SUCCESS
        code = fields["payload"] & _CODE_BITS
        task = fields["payload"] >> 22 | fields["fault_task_high"] << 10
        payload = task << 16 | fields["payload"] >> 12 & 0x3FF | fields["fault_stream_high"] << 10
        whole = fields["payload"]
        stream = fields["stream_high"] << 10 | fields["stream_low"]
        sq_id, sq_head = fields["sq_id"], fields["sq_head"]
    elif len(raw) == _PARTS * _TASK.size:
        return replace(
            parse_cqe(raw[_TASK.size :]), error_code=0, error_type=ReportKind.SUCCESS, error=False,
            timestamp=_TASK.decode(raw[: _TASK.size])["payload"] | _TASK.decode(raw[_TASK.size :])["payload"] << 32,
        )
    else:
        raise ValueError(f"a report has {_LOGIC.size} or {_TASK.size} bytes, got {len(raw)}")
    return Cqe(
        stream_id=stream,
        task_id=fields["task_id"],
        error_code=code,
        error_type=kind,
        sqe_type=0,
        sq_id=sq_id,
        sq_head=sq_head,
        match=False,
        drop=False,
        error=kind in _FAILURES,
        acc_error=False,
        next_valid=False,
        notify_attached=False,
        timestamp=payload,
        enqueue_timestamp=whole,
    )


def classify(cqe: Cqe, task_type: TaskType) -> Outcome:
    """Return what became of a task: its code is the reported one; a resume skips the one command it had."""
    if cqe.error_type == ReportKind.OVERFLOW_ERROR:
        return Outcome(OutcomeKind.OVERFLOW, cqe.error_code, 1)
    if cqe.error_code == _END_OF_SEQUENCE:
        return Outcome(OutcomeKind.END_OF_SEQUENCE, cqe.error_code, 1)
    if cqe.error_code == _MODEL_ABORT_NORMAL:
        return Outcome(OutcomeKind.ABORTED, cqe.error_code, 1)
    if cqe.error_type in _FAILURES or cqe.error_code:
        return Outcome(OutcomeKind.ERROR, cqe.error_code, 1)
    return Outcome(OutcomeKind.SUCCESS)


def failure(error_type: int, task_type: TaskType) -> int:
    """Return the code by which the scheduler reports an error bit of a task; those of STARS v1 by their meaning."""
    bits = error_type & ERROR_BITS
    first = Error((bits & -bits).bit_length() - 1)
    return CODES.get(task_type, CODES[None])[first]


def version(cqe: Cqe) -> int:
    """Return the scheduler's version: a logic report of its own, or the upper bits of the task report."""
    return cqe.timestamp if cqe.error_type == ReportKind.TSCH_VERSION else cqe.enqueue_timestamp >> _VERSION_SHIFT
