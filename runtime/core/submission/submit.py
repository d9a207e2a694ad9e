"""Sending: the slow path for any task, and what happens when the ring or the driver's credit is used up."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from chips.env import TaskIds
from chips.registry import UnsupportedTask
from chips.tasks import Flip
from npuhal import constants as c
from npuhal.errors import HalError
from runtime import errors
from runtime.core.callbacks import inside
from runtime.core.submission import completion
from runtime.core.submission.reclaim import reclaim
from runtime.core.submission.ring import TICK, Finished, RingV100, TaskInfo, run_callbacks

if TYPE_CHECKING:
    from chips.completion import Cqe
    from chips.registry import TaskOps
    from chips.tasks import Task
    from runtime.core.ports import StreamPort, TaskSink
    from runtime.core.submission.epoch import Epoch
    from runtime.driver.queues import Sender
    from runtime.memory.arguments import ArgumentBlock

_TRIES_PER_CHECK = 1000
"""Refused sends between two checks of the device's state."""

_FREE_TRIES = 1000
"""Looks for space before the first pause."""

_PAUSE_S = 50e-6


class Receipt:
    """Says whether a task has left: for who sends several that belong together, and may be interrupted between them."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = False


def submit(
    stream: StreamPort, task: Task, *, owner: TaskInfo | str = "", finished: Callable[[], None] | None = None,
    reported: Callable[[Cqe | None], None] | None = None, arguments: ArgumentBlock | None = None,
    prepare: Callable[[TaskIds], Task | None] | None = None, sink: TaskSink | None = None,
    receipt: Receipt | None = None,
) -> TaskIds:
    """Encode one task and send it; returns the numbers it got.

    Args:
        owner: what the task is called when it fails; its type name by default.
        finished: called exactly once: by whoever reclaims the task, or by this call when the task was not sent.
        reported: called with the task's CQE, or with None when there will be none: at once where no SQE asks for one.
        arguments: an argument block; it goes back to its pool when `finished` is called.
        prepare: called with the task's numbers before it is sent, under the stream's lock: writes the device memory
            that its SQEs point to. It may return the task that is sent instead.
        sink: where it goes; by default to the stream's sink in force.
        receipt: is told that the task has left, also where this call is interrupted after that.

    Raises:
        RuntimeFault: the stream is closed or has failed for good, or the device went away. Nothing is left behind.
    """
    unsent = _if_unsent(stream, finished, arguments)
    sink = stream.sink if sink is None else sink
    try:
        operations = operations_of(stream, task)
        count = operations.count(task, stream.env)
        if count > stream.env.chip.limits.max_sqe_per_task:
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"a task of {count} SQEs: {stream.env.chip.soc} takes at most "
                f"{stream.env.chip.limits.max_sqe_per_task} per task", layer="core",
            )
        info = owner if isinstance(owner, TaskInfo) else TaskInfo(
            task.type, owner or task.type.name.lower().replace("_", " ")
        )
        target = sink.admit(stream, task, info, count)
        if target is None:
            return TaskIds(0)
        if target[0] is not stream:
            count = operations.count(task, target[0].env)
        stream, sink = target
        with stream.lock:
            if stream.blocked:
                stream.check_send(task.type)
            ring, ids = stream.ring, None
            try:
                ids = sink.alloc(stream, count, info)
                ring.arguments[ids.position] = arguments
                if finished is not None:
                    ring.completion_callbacks.append((ring.submitted, finished))
                if prepare is not None:
                    task = prepare(ids) or task
                sqes = operations.encode(task, stream.env, ids)
                if reported is not None and stream.plugin.asks_report(sqes):
                    stream.reports.expect(ids, ring.submitted, reported)
                    reported = None
                sink.commit(stream, sqes)
            except BaseException:
                if (ids is not None or ring.in_flight_start is not None) and not sink.rollback(stream, count):
                    if receipt is not None:
                        receipt.left = True
                    unsent.clear()
                elif ids is not None:
                    stream.reports.forget(ids)
                raise
            ring.in_flight_start = None
            if receipt is not None:
                receipt.left = True
            unsent.clear()
            crossed = not stream.keeps_tasks and ring.submitted // TICK != (ring.submitted - count) // TICK
            if isinstance(ring, RingV100) and ring.next_id == 0 and sink.immediate:
                flip(stream)
            sink.record(stream, task, info, ids, count, arguments)
        _last.task_id = ids.task_id
    except BaseException as failure:
        sink.spoil(failure)
        raise
    finally:
        if unsent:
            run_callbacks(unsent)
    if reported is not None:
        reported(None)
    if crossed:
        stream.tick()
    return ids


def operations_of(stream: StreamPort, task: Task) -> TaskOps:
    """Return how a task becomes entries on the stream's chip; NotSupported 207000 where it has no such task."""
    try:
        return stream.plugin.ops(task)
    except UnsupportedTask as gap:
        name, soc = task.type.name.lower().replace("_", " "), stream.env.chip.soc
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{soc} has no task {name} ({int(task.type)})", layer="core",
            hint="use a chip that has it: `npuhal validate` lists the tasks of each",
        ) from gap


def send(
    stream: StreamPort, task: Task, *, owner: TaskInfo | str = "", finished: Callable[[], None] | None = None,
) -> TaskIds:
    """Encode one task and send it in this very stream, whatever sink is laid over its own; see `submit`."""
    return submit(stream, task, owner=owner, finished=finished, sink=stream.own_sink)


def _if_unsent(stream: StreamPort, finished: Finished | None, arguments: ArgumentBlock | None) -> deque[Finished]:
    """Return what has to be called when a task is not sent."""
    callbacks: deque[Finished] = deque(() if finished is None else (finished,))
    if arguments is not None:
        callbacks.append(partial(stream.device.release_arguments, [arguments]))
    return callbacks


def flip(stream: StreamPort) -> None:
    """Tell the profiler that the stream's ids start again, when it listens (core_spec 9.1); the lock is held."""
    ring, env = stream.ring, stream.env
    if not env.task_profiling or stream is stream.device.control_stream or not stream.device.scheduler_has("FLIPTASK"):
        return
    assert isinstance(ring, RingV100)
    task = Flip(flip_number=ring.flips & 0xFFFF)
    sink = stream.own_sink
    try:
        ids = sink.alloc(stream, 1, TaskInfo(task.type, "flip"))
        sink.commit(stream, stream.plugin.ops(task).encode(task, env, ids))
    except BaseException:
        if ring.in_flight_start is not None:
            sink.rollback(stream, 1)
        raise
    ring.in_flight_start = None


class _LastTask(threading.local):
    """The id of the last task that each thread sent, as far as it was noted; no task has this one."""

    task_id = 0xFFFFFFFF


_last = _LastTask()


def last_task_id() -> int:
    """Return the id of the calling thread's last task, or 0xFFFFFFFF if it has sent none (aclrtGetThreadLastTaskId)."""
    return _last.task_id


def note_last(stream: StreamPort) -> None:
    """Make the newest task of a stream the thread's last one: for callers of prepared sends, which note nothing."""
    ring = stream.ring
    if stream.branch is None and ring.submitted:
        _last.task_id = ring.id_at((ring.submitted - 1) % ring.depth)


def make_space(stream: StreamPort, count: int) -> None:
    """Wait until `count` positions are free; called with the stream's lock held, which is let go in between.

    What a sender is told that waited into an abort or a failure differs by generation (core_spec 6.5): v100 looks at
    the context before it reclaims and sends if that made space, v200 looks afterwards. Both see an abort at once.

    Raises:
        StreamError 507002: the stream keeps its tasks, so that it can never get space (EE1019).
        RuntimeFault: the stream was closed or aborted, the context has stopped, or the device went away.
    """
    if stream.keeps_tasks:
        raise stream_full(stream, "submit")
    aborts, looks_late = stream.aborts, stream.env.chip.traits.drains_when_full
    if count >= stream.ring.depth:
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{count} SQEs never fit into a ring of {stream.ring.depth}", layer="core"
        )
    tries = 0
    while not stream.ring.fits(count):
        if not looks_late:
            stream.context.failure.check(stream)
        tries += 1
        if tries % _TRIES_PER_CHECK == 0:
            check_device(stream)
        try:
            stream.lock.release()
            reclaim(stream)
            if looks_late:
                completion.drain(stream)  # a failure may have come after the reports were read, and before the head was
            if tries % _FREE_TRIES == 1:
                inside.check_wait(stream, "a wait for space in the queue")
            if tries > _FREE_TRIES:
                stream.device.recycler.look_around()
                time.sleep(_PAUSE_S)
        finally:
            stream.lock.acquire()
        stream.check_open()
        if stream.aborting or stream.device.aborting or stream.aborts != aborts:
            raise aborted(stream, "RT_ERROR_STREAM_ABORT_SEND_TASK_FAIL")
        if looks_late:
            stream.context.failure.check(stream)


def stream_full(stream: StreamPort, info: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of a stream that keeps its tasks and has no space for another one."""
    return errors.fault(
        "RT_ERROR_STREAM_FULL", f"{info}: stream {stream.stream_id} keeps its tasks and all {stream.ring.depth - 1} "
        "positions are taken", ee="EE1019", params=(str(info), "the stream is full"),
        hint="spread the tasks over several streams of the model",
    )


def find_space(stream: StreamPort, count: int, epochs: tuple[Epoch, ...]) -> int:
    """Wait as `make_space` does for a prepared send; returns what was submitted, 0 where it must not send any more."""
    make_space(stream, count)
    return 0 if any(epoch.blocked for epoch in epochs) else stream.ring.submitted


def aborted(stream: StreamPort, code: str) -> errors.RuntimeFault:
    """Return the fault for a call that an abort is in the way of, or has overtaken."""
    return errors.fault(
        code, f"stream {stream.stream_id} of device {stream.device.user_id} is being aborted, or was while this call "
        "waited", hint="its tasks are gone; start again when the abort has returned",
    )


def send_again(stream: StreamPort, sender: Sender, rc: int) -> None:
    """Repeat a refused send until it passes (core_spec 6.5, 9.1, 9.2); the stream's lock is held.

    Missing credit is flow control. v200 treats any other code as final, v100 repeats every code as long as the
    device lives. A queue that stands still behind a failed task gets no credit, so completions are taken meanwhile.
    """
    final_codes = not stream.env.chip.traits.retries_every_send
    tries = 0
    while rc:
        if final_codes and rc != c.DRV_ERROR_NO_RESOURCES:
            raise _refused(stream, rc)
        tries += 1
        if tries % _TRIES_PER_CHECK == 0:
            check_device(stream)
            if stream.aborting or stream.device.aborting:
                raise aborted(stream, "RT_ERROR_STREAM_ABORT_SEND_TASK_FAIL")
            for member in stream.device.streams():  # the queue may wait for one that stands still itself
                member.ring.pending_callbacks += completion.take(member)  # for whoever holds no lock
            time.sleep(_PAUSE_S)
        rc = sender.send(sender.device_id, sender.reference)


def _refused(stream: StreamPort, rc: int) -> errors.RuntimeFault:
    """Return the fault of a send that the driver does not take: a general driver error, whatever it says (9.2)."""
    cause = stream.device.driver.memory.fault(rc, "halSqTaskSend", f"stream id {stream.stream_id}")
    below = cause.__cause__
    return errors.fault(
        "RT_ERROR_DRV_ERR", cause.message, hal=below if isinstance(below, HalError) else None, hint=cause.hint
    )


def check_device(stream: StreamPort) -> None:
    """Raise where the device can never make space again."""
    stream.device.health.check()
