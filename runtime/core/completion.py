"""What the device reported: reading CQEs, naming the failed task, and letting the queue run again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chips.completion import Cqe, Outcome, OutcomeKind
from chips.tasks import TaskType
from runtime import errors
from runtime.core.ring import Label, RingV100

if TYPE_CHECKING:
    from runtime.core.stream import Stream

_DISABLE_WAIT_S = 300.0
"""How long the hardware may take to stop a queue with a failed task (core_spec 10.4)."""

_POLL_S = 20e-6


_FAILURES = frozenset({OutcomeKind.ERROR, OutcomeKind.OVERFLOW})


def drain(stream: Stream) -> None:
    """Take all completion entries of a stream and act on them; returns at once when there are none."""
    if stream.closed or not stream.device.queues.has_cqe(stream.queues.sq_id):
        return
    receive, cq_id, stream_id = stream.device.queues.receive, stream.queues.logic_cq_id, stream.stream_id
    while raw_entries := receive(cq_id, stream_id):
        for raw in raw_entries:
            _take(stream, stream.plugin.parse_cqe(raw))


def _take(stream: Stream, cqe: Cqe) -> None:
    """Deliver one report to whoever expects it, and handle it as an error if it is one."""
    taker = stream.expected.pop(_key(stream, cqe), None)
    if taker is not None:
        taker(cqe)
    position = _position(stream, cqe)
    owner = stream.ring.owners[position] if position is not None else None
    outcome = stream.plugin.classify(cqe, owner.type if owner is not None else TaskType.NOP)
    if outcome.kind in _FAILURES:
        stream.failure.keep(_fault(stream, cqe, outcome, owner, position))
        _resume(stream, cqe, outcome)


def _key(stream: Stream, cqe: Cqe) -> int:
    return cqe.task_id if isinstance(stream.ring, RingV100) else cqe.task_sn


def _position(stream: Stream, cqe: Cqe) -> int | None:
    """Find the task: by (stream, id) on v100, by the reported head on v2."""
    if isinstance(stream.ring, RingV100):
        return stream.ring.position_of(cqe.task_id)
    return cqe.sq_head % stream.ring.depth


def _fault(
    stream: Stream, cqe: Cqe, outcome: Outcome, owner: Label | None, position: int | None
) -> errors.RuntimeFault:
    what = str(owner) if owner is not None else "a task"
    return errors.fault(
        errors.device_code(outcome.code).public,
        f"{what} failed on stream {stream.stream_id} of device {stream.device.user_id} "
        f"(task id {cqe.task_id}, ring position {position}, error type {cqe.error_type:#x}, "
        f"error code {cqe.error_code:#x})",
        details={"stream_id": stream.stream_id, "task_id": cqe.task_id, "position": position, "task": what,
                 "error_type": cqe.error_type, "error_code": cqe.error_code},
    )


def _resume(stream: Stream, cqe: Cqe, outcome: Outcome) -> None:
    """Move the head over the failed task and enable the queue, once the hardware has stopped it."""
    queues, sq_id = stream.device.queues, stream.queues.sq_id
    deadline = time.monotonic() + _DISABLE_WAIT_S
    while queues.enabled(sq_id):
        if time.monotonic() > deadline:
            stream.failure.keep(errors.fault(
                "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
                f"the queue of stream {stream.stream_id} reported a failed task but was not stopped by the hardware",
                hint="close the stream with force=True or reset the device",
            ))
            return
        time.sleep(_POLL_S)
    if queues.head(sq_id) == queues.tail(sq_id):
        return  # the queue is being torn down: there is nothing to go on with
    queues.set_head(sq_id, (cqe.sq_head + outcome.head_advance) % stream.queues.depth)
    queues.enable(sq_id)
