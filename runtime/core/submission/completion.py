"""What the device reported: reading CQEs, naming the failed task, and letting the queue run again.

The hardware stops a queue at every report with an error bit, also where the report names no failure (an overflow, the
end of a sequence). It may take a while; nobody waits for that under a lock: the queue is noted as `Halted`, and each
look at the stream tries again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from chips.completion import Cqe, ModelStatus, Outcome, OutcomeKind
from chips.tasks import TaskType
from npuhal.records import replace
from runtime import errors
from runtime.core.callbacks.exceptions import ExceptionInfo, ExceptionKind
from runtime.core.diagnostics.fault_attribution import decide
from runtime.core.stream.blocking import blocks
from runtime.core.submission.reports import Halted
from runtime.core.submission.ring import Finished, InnerTask, TaskInfo, run_callbacks

if TYPE_CHECKING:
    from runtime.core.ports import DvppGroupPort, StreamPort

_DISABLE_WAIT_S = 300.0
"""How long the hardware may take to stop a queue with a failed task (core_spec 10.4)."""

_LATE_REPORT_S = 1.0
"""How long after the head the report of a task may come; hardware needs microseconds."""
_LATE_REPORT_LOOKS = 50
"""The same where the machine moves with each look (`HalApi.stepped`)."""

_NOTHING: deque[Finished] = deque(maxlen=0)
"""The callbacks of a stream that has no entries: stays empty, whatever is done with it."""

NO_STREAM = 0xFFFFFFFF
"""Stream id of a receiver that takes the entries of all streams."""

_RESULTS = frozenset({OutcomeKind.ERROR, OutcomeKind.OVERFLOW, OutcomeKind.END_OF_SEQUENCE, OutcomeKind.ABORTED})
"""Outcomes that the next synchronize raises."""

_SILENT = frozenset({OutcomeKind.END_OF_SEQUENCE, OutcomeKind.ABORTED})
"""Those of them that no exception callback is told of (core_spec 18.4)."""


def drain(stream: StreamPort) -> None:
    """Take all completion entries of a stream and act on them; returns at once when there are none.

    Callbacks for failed tasks run here, when no lock is held any more.
    """
    if callbacks := take(stream):
        run_callbacks(callbacks)


def take(stream: StreamPort, timeout_ms: int = 0) -> deque[Finished]:
    """Take all completion entries; returns the callbacks that have to run when no lock is held.

    One thread at a time, in the order of the entries. A stream that is being closed waits for it, because the id of
    a CQ that was given back may be another stream's a moment later.

    Args:
        timeout_ms: wait for a first entry so long.
    """
    reports = stream.reports
    with reports.lock:
        if stream.closed or not stream.sink.immediate or stream.wanted_queues is not None:
            return _NOTHING
        if reports.halted is not None:
            _resume(stream, reports.halted)
        if not (timeout_ms or reports.arrived()):
            return _NOTHING
        callbacks: deque[Finished] = deque()
        _take_all(stream, timeout_ms, callbacks)  # a function: see `npuhal.changed` on loops and interrupts
    return callbacks


def _take_all(stream: StreamPort, timeout_ms: int, callbacks: deque[Finished]) -> None:
    """Take the entries that are there, and what is called for them."""
    receive, cq_id, stream_id = stream.device.queues.receive, stream.queues.logic_cq_id, stream.stream_id
    while raw_entries := receive(cq_id, stream_id, timeout_ms) or _matched(stream):
        timeout_ms = 0
        for raw in raw_entries:
            cqe = stream.plugin.parse_cqe(raw)
            of = stream if stream.group is None else stream.group.member(cqe.stream_id, cqe.sq_id)
            if of is not None:
                _take(of, cqe, callbacks)


def _matched(stream: StreamPort) -> list[bytes]:
    """Take an entry with the match flag, which goes only to who names its task.

    Tasks ask for such entries where recycling does not run separately (older schedulers); elsewhere there are none.
    """
    if stream.counts_ids and not stream.env.separate_recycle:
        for task_id in list(stream.reports.expected):
            if entries := stream.device.queues.receive(stream.queues.logic_cq_id, stream.stream_id, 0, task_id):
                return entries
    return []


def reports_taken(stream: StreamPort) -> Callable[[], bool]:
    """Return what tells, each time it is asked, whether the reports of all tasks that are done were taken.

    The head may be seen to move before the report is there. One that does not come within a second was lost, and is
    given up: nobody waits for it without end. Where the machine moves only during calls, some looks are enough.
    """
    reports, give_up_at, looks = stream.reports, 0.0, 0
    stepped = stream.device.hal.stepped

    def taken() -> bool:
        nonlocal give_up_at, looks
        if not (reports.expected and reports.is_due(stream.ring.reclaimed)):
            return True
        looks += 1
        now = time.monotonic()
        give_up_at = give_up_at or now + _LATE_REPORT_S
        if now < give_up_at and not (stepped and looks > _LATE_REPORT_LOOKS):
            return False
        reports.give_up(stream.ring.reclaimed)
        return True

    return taken


def take_reports(group: DvppGroupPort, timeout_ms: int) -> int:
    """Take what a DVPP group's queue holds, waiting at most `timeout_ms`; returns how many entries came."""
    callbacks: deque[Finished] = deque()
    plugin, queues = group.device.plugin, group.device.queues
    raw_entries = queues.receive(group.logic_cq_id, NO_STREAM, timeout_ms)
    for raw in raw_entries:
        cqe = plugin.parse_cqe(raw)
        stream = group.member(cqe.stream_id, cqe.sq_id)
        if stream is not None:
            with stream.reports.lock:
                _take(stream, cqe, callbacks)
    run_callbacks(callbacks)
    return len(raw_entries)


def _take(stream: StreamPort, cqe: Cqe, callbacks: deque[Finished]) -> None:
    """Deliver one report to whoever expects it, and handle it as an error if it is one."""
    stream.reports.take(cqe)
    position = _position(stream, cqe)
    owner = stream.ring.owners[position] if position is not None else None
    if (tracer := stream.tracer) is not None:
        tracer.reported(stream, position, cqe.timestamp)
    kind = owner.type if owner is not None else TaskType.NOP
    outcome = stream.plugin.classify(cqe, kind)
    goes_on = True
    if outcome.kind in _RESULTS:
        outcome = replace(outcome, code=decide(stream.device, kind, outcome.code))
        inner = _inside(owner, cqe) if outcome.kind is OutcomeKind.ERROR else None
        fault = _fault(stream, cqe, outcome, owner, position, inner)
        stream.failure.keep(fault)
        if outcome.kind not in _SILENT:
            event = _event(stream, cqe, fault, position, inner)
            callbacks.append(partial(stream.device.runtime.exceptions.notify, event))
        if outcome.kind is OutcomeKind.ERROR:
            goes_on = stream.context.failure.enter(stream, fault)
    if cqe.failed and stream.env.chip.traits.halts_at_failures:
        advance = outcome.head_advance or _entries_of(stream, cqe.sq_head)
        head = (cqe.sq_head + advance) % stream.queues.depth
        stream.reports.halted = Halted(head, goes_on, time.monotonic() + _DISABLE_WAIT_S)
        _resume(stream, stream.reports.halted)


_MAY_BE_ARGUMENTS = ("RT_ERROR_TSFW_AICORE_EXCEPTION", "RT_ERROR_TSFW_VECTOR_CORE_EXCEPTION")


def _position(stream: StreamPort, cqe: Cqe) -> int | None:
    """Find the task: by (stream, id) on the older chips, by the reported head on v2."""
    if stream.counts_ids:
        position = stream.ring.position_of(cqe.task_id)
        behind = cqe.sq_head % stream.ring.depth  # a model that fails was passed, and reclaimed, when it was started
        return behind if position is None and stream.ring.id_at(behind) == cqe.task_id else position
    return cqe.sq_head % stream.ring.depth


def _inside(owner: TaskInfo | None, cqe: Cqe) -> InnerTask | None:
    """Return the task of a model that made an execution fail, where the report names one that is known."""
    if owner is None or owner.inside is None or (status := ModelStatus.parse(cqe.error_code)) is None:
        return None
    return owner.inside.failed(status)


def _event(
    stream: StreamPort, cqe: Cqe, fault: errors.RuntimeFault, position: int | None, inner: InnerTask | None
) -> ExceptionInfo:
    device_id, thread_id = stream.device.user_id, threading.get_ident()
    if inner is not None:
        return ExceptionInfo(
            ExceptionKind.TASK_FAILURE, device_id, inner.stream_id, inner.task_id, thread_id, fault.code, fault,
            inner.info.kernel, inner.arguments, inner.node,
        )
    owner = block = None
    if position is not None:
        owner, block = stream.ring.owners[position], stream.ring.arguments[position]
    return ExceptionInfo(
        ExceptionKind.TASK_FAILURE, device_id, stream.stream_id, cqe.task_id, thread_id, fault.code, fault,
        None if owner is None else owner.kernel, (0, 0) if block is None else (block.address, block.size),
    )


def _fault(
    stream: StreamPort, cqe: Cqe, outcome: Outcome, owner: TaskInfo | None, position: int | None,
    inner: InnerTask | None,
) -> errors.RuntimeFault:
    what = str(owner) if owner is not None else "a task"
    tracer = stream.tracer
    site = "" if tracer is None else tracer.call_site(stream, position)
    known = stream.device.hal.task_failure(stream.device.device_id, stream.queues.sq_id)
    details = {"stream_id": stream.stream_id, "task_id": cqe.task_id, "position": position, "task": what,
               "error_type": cqe.error_type, "error_code": cqe.error_code, "submitted_at": site}  # fmt: skip
    reported, cure = errors.device_code(outcome.code), known.cure if known else ""
    if not cure and reported.internal in _MAY_BE_ARGUMENTS and (site or blocks(stream)):
        cure = f"check buffer sizes, tiling data and block count of the launch{f' at {site}' if site else ''}"
    if not cure and inner is not None:
        cure = (f"check what {inner.info} was captured with: buffers stay open as long as the graph is executed, and "
                "sizes, tiling data and block count fit them")
    if inner is None:
        failed = f"{what} failed"
    else:
        failed = f"{inner.info} ({inner.where}) failed"
        details |= {"task": str(inner.info), "node": getattr(inner.node, "index", None),
                    "captured_at": inner.captured_at, "inner_stream_id": inner.stream_id,
                    "inner_task_id": inner.task_id}  # fmt: skip
    fault = errors.fault(
        reported.public,
        f"{failed} on stream {stream.stream_id} of device {stream.device.user_id} "
        f"(task id {cqe.task_id}, ring position {position}, error type {cqe.error_type:#x}, "
        f"error code {cqe.error_code:#x}){f', submitted at {site}' if site else ''}"
        f"{f': {known.what}' if known else ''}",
        hint=cure, details=details,
        family="" if owner is None or owner.inside is None else "ModelFault",
    )
    if inner is not None and inner.node is not None and not inner.captured_at:
        fault.hint = f"{fault.hint.rstrip('.')}; with NPUHAL_TRACE_CREATION=1 nodes know the line that made them"
    if known is not None:
        fault.__cause__ = known.cause
    return fault


def _resume(stream: StreamPort, halted: Halted) -> None:
    """Move the head over the task and enable the queue, if the hardware has stopped it by now.

    The queue of a stream that has stopped for good stays disabled.
    """
    queues, sq_id = stream.device.queues, stream.queues.sq_id
    if queues.enabled(sq_id):
        if time.monotonic() > halted.deadline:
            stream.reports.halted = None
            stream.failure.keep(errors.fault(
                "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
                f"the queue of stream {stream.stream_id} reported a failed task but was not stopped by the hardware",
                hint="close the stream with force=True or reset the device",
            ))
        return
    stream.reports.halted = None
    if queues.head(sq_id) == queues.tail(sq_id):
        return  # the queue is being torn down: there is nothing to go on with
    queues.set_head(sq_id, halted.head)
    if halted.enable:
        queues.enable(sq_id)


def _entries_of(stream: StreamPort, head: int) -> int:
    """Return how many entries from the head on belong to the task that stands there."""
    ring = stream.ring
    count, task = 1, ring.id_at(head % ring.depth)
    while count < ring.pending and ring.id_at((head + count) % ring.depth) == task:
        count += 1
    return count
