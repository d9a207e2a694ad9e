"""Ending tasks by force: of one stream, or of a whole device (core_spec 4.2 and 5.8).

While that goes on nothing can be sent, and waits are answered with an error. The task scheduler is asked by control
message, and polled until it has ended everything; then the queues are created again under the same ids, empty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from chips.tasks import StreamClear
from npuhal.records import replace
from runtime import errors
from runtime.core.device.time_limits import STREAM_LIMIT_S
from runtime.core.stream import queues
from runtime.core.submission.ring import run_callbacks
from runtime.driver.queues import NO_ID
from runtime.driver.queues.scheduler import AbortState, SchedulerMessages
from runtime.errors.arguments import whole
from runtime.errors.closing import each

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort
    from runtime.driver.queues import QueuePair

LONGEST_DEVICE_MS = 2_160_000
_STOP = 0
"""Step of a stream clear that ends the running task only (rt_stream.h, rtClearStep_t)."""
_POLL_S = 5e-3
_RETRY_S = 1e-3
_AGAIN_S = 0.5
"""How long an abort that an interrupt has broken off waits for the scheduler once more."""


class AbortPhase(IntEnum):
    """What observers of a device abort get (rtDeviceTaskAbort callbacks): before, and after, tasks are killed."""

    PRE = 0
    POST = 1


# -- one stream ----------------------------------------------------------------------------------------------------


def abort_stream(stream: StreamPort) -> None:
    """End a stream's running task and drop what is queued; it is empty and usable afterwards.

    Raises:
        InternalError 507000: the stream is bound to a model (EE1016).
        NotSupported 207000: the task scheduler cannot do it (EE1001).
        Timeout: the scheduler has not ended the task after 60 s.
    """
    stream.check_open()
    device, call = stream.device, "Stream.abort"
    if stream.bound is not None:
        raise errors.fault(
            "RT_ERROR_STREAM_INVALID", f"{call}: stream {stream.stream_id} is bound to a model",
            ee="EE1016" if stream.counts_ids else "EE1006",
            params=(call, *(() if stream.counts_ids else ("stream",)), "the stream is bound to a model"),
            hint="abort the model instead",
        )
    _need_capability(device, "STREAM_ABORT", call)
    if device.aborting or stream.never_waited:
        return
    try:
        stream.aborting = True
        _through(lambda limit_s: _end_and_restart(stream, call, limit_s), STREAM_LIMIT_S)
    finally:
        stream.aborting = False
        stream.update_blocked()
    queues.announce(stream)


def _end_and_restart(stream: StreamPort, call: str, limit_s: float) -> None:
    """End a stream's tasks and make its queues again; done again where an interrupt has broken it off."""
    _block([stream])
    if stream.has_queue:  # else an abort has failed at making it again
        messages = SchedulerMessages(stream.device.driver)
        deadline = time.monotonic() + limit_s
        _until(lambda: messages.abort_stream(stream.queues.sq_id), _RETRY_S, deadline, call)
        _until(lambda: messages.stream_ended(stream.queues.sq_id), _POLL_S, deadline, call)
    _start_anew(stream)


def _through(abort: Callable[[float], None], limit_s: float) -> None:
    """Make an abort; where an interrupt breaks it off, once more, for a moment: queues may be gone already.

    Args:
        abort: is given how many seconds the scheduler may take.
    """
    try:
        abort(limit_s)
    except errors.RuntimeFault:
        raise
    except BaseException:
        with suppress(errors.RuntimeFault):  # the stream says at the next send that it has no queue
            abort(min(limit_s, _AGAIN_S))
        raise


def stop_stream(stream: StreamPort) -> None:
    """Stop a stream's running task and keep what is queued behind it; the next synchronize reports the stopped task.

    Raises:
        DeviceAborted 107023: the stream, or all of its device, is being aborted (EE1018).
        InternalError 507000: the stream is bound to a model (EE1016).
        NotSupported 207000: the task scheduler of this chip cannot do it.
        Timeout: the scheduler has not stopped the task after 60 s.
    """
    stream.check_open()
    device, call = stream.device, "Stream.stop"
    if stream.aborting or device.aborting:
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_ABORT", f"stream {stream.stream_id} is being aborted", ee="EE1018",
            params=(call, "the stream is being aborted"), hint="wait until the abort has returned",
        )
    if stream.bound is not None:
        raise errors.fault(
            "RT_ERROR_STREAM_INVALID", f"{call}: stream {stream.stream_id} is bound to a model", ee="EE1016",
            params=(call, "the stream is bound to a model"), hint="abort the model instead",
        )
    if device.chip.traits.stops_by_task:
        _stop_by_task(stream, call)
    else:
        messages = SchedulerMessages(device.driver)
        deadline = time.monotonic() + STREAM_LIMIT_S
        _until(lambda: messages.stop_stream(stream.queues.sq_id), _RETRY_S, deadline, call)
        _until(lambda: messages.stream_ended(stream.queues.sq_id), _POLL_S, deadline, call)


def _stop_by_task(stream: StreamPort, call: str) -> None:
    """Ask by a task in the control stream, as firmware of STARS v1 is asked."""
    device = stream.device
    if not device.scheduler_has("MC2_ENHANCE"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: this task scheduler has no MC2_ENHANCE",
            hint="update driver and firmware, or end task and queue with abort()",
        )
    control = device.control_stream
    control.submit(StreamClear(stream_id=stream.stream_id, step=_STOP), owner="stop of a stream")
    control.settle(int(STREAM_LIMIT_S * 1000))


def _start_anew(stream: StreamPort) -> None:
    """Give up all tasks of a stream whose queue is dead, and make its queues again under the same ids.

    Where the driver refuses a step the stream has no queues until another abort has made them.
    """
    try:
        with stream.lock, stream.reports.lock:
            if stream.closed:
                return
            stream.ring.reclaim(stream.ring.pending, stream.device.release_arguments)
            stream.counts.look()
            stream.ring.restart()
            stream.counts.skip()
            stream.reports.give_up(stream.ring.reclaimed)
            stream.wanted_queues = stream.wanted_queues or stream.queues
            stream.failure.take()
            stream.aborts += 1
            _free_queues(stream, stream.wanted_queues)
            _open_queues(stream, stream.wanted_queues)
    finally:
        run_callbacks(stream.ring.pending_callbacks)


def _free_queues(stream: StreamPort, pair: QueuePair) -> None:
    """Give the queues of a stream back, those that are held, but not their numbers.

    What is refused, the table of resources asks for again.
    """
    device = stream.device
    stream.queues = replace(pair, sq_id=NO_ID, cq_id=NO_ID, logic_cq_id=NO_ID)
    steps = [] if pair.logic_cq_id == NO_ID else [device.ids.unbinding(stream.stream_id)]
    if stream.group is None and pair.logic_cq_id != NO_ID:
        steps.append(device.queues.freeing_logic_cq(pair.logic_cq_id, reserve=True))
    each([*steps, device.queues.freeing(pair.sq_id, pair.cq_id, reserve=True)])


def _open_queues(stream: StreamPort, wanted: QueuePair) -> None:
    """Make the queues of a stream under numbers that were kept for it."""
    device = stream.device
    options = queues.options_of(device, stream.stream_id, stream.priority, stream.flags, control=False)
    with queues.Undo() as undo:
        made = queues.open_queues(device, options, wanted.depth, 0, stream.group, undo, keep=wanted)
        stream.senders.restart(made.ring_base)
        # nothing from here on can be interrupted
        stream.queues, stream.wanted_queues, undo.done = made, None, True


# -- a whole device ------------------------------------------------------------------------------------------------


def abort_device(device: DevicePort, timeout_ms: int = 0) -> None:
    """End all tasks of a device and drop everything that is queued on it; contexts that have stopped go on.

    Args:
        timeout_ms: at most 2160000 (36 minutes); 0 is no limit.

    Raises:
        InvalidArgument 107000: the time limit is out of range (EE1003).
        NotSupported 207000: the task scheduler cannot do it (EE1001).
        Timeout: the scheduler did not finish in time.
    """
    call = "device task abort"
    timeout_ms = whole(call, "timeout_ms", timeout_ms)
    if not 0 <= timeout_ms <= LONGEST_DEVICE_MS:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: timeout_ms is {timeout_ms}; allowed are 0 to {LONGEST_DEVICE_MS}",
            ee="EE1003", params=(call, timeout_ms, "timeout", f"[0, {LONGEST_DEVICE_MS}]"), hint="0 is no limit",
        )
    device.check_open()
    _need_capability(device, "TASK_ABORT", call)
    streams = [stream for stream in device.streams() if not (stream.never_waited or stream.closed)]
    try:
        device.aborting = True
        limit_s = timeout_ms / 1000 if timeout_ms else float("inf")
        _through(lambda limit_s: _end_all(device, streams, call, limit_s), limit_s)
    finally:
        device.aborting = False
        for stream in streams:
            stream.update_blocked()
    each(partial(queues.announce, stream) for stream in streams if stream not in device.own_streams)


def _end_all(device: DevicePort, streams: list[StreamPort], call: str, limit_s: float) -> None:
    """End the tasks of streams and make their queues again; done again where an interrupt has broken it off."""
    deadline = time.monotonic() + limit_s
    _block(streams)
    device.runtime.abort_observers.notify(device.user_id, AbortPhase.PRE)
    messages = SchedulerMessages(device.driver)
    _until(messages.abort_all, _RETRY_S, deadline, call)
    _until(lambda: messages.all_reached(AbortState.KILLED), _POLL_S, deadline, call)
    device.runtime.abort_observers.notify(device.user_id, AbortPhase.POST)
    _until(lambda: messages.all_reached(AbortState.ENDED), _POLL_S, deadline, call)
    each(partial(_give_up if stream in device.own_streams else _start_anew, stream) for stream in streams)
    for context in device.contexts():
        context.failure.resume()


def _give_up(stream: StreamPort) -> None:
    """Take back all tasks of a queue that stays: the device's own streams."""
    with stream.lock:
        stream.ring.reclaim(stream.ring.pending, stream.device.release_arguments)
        stream.reports.give_up(stream.ring.reclaimed)
        stream.failure.take()
        stream.aborts += 1
    run_callbacks(stream.ring.pending_callbacks)


def _block(streams: list[StreamPort]) -> None:
    """Let nothing be sent any more: after this every sender has either sent or will see that it must not."""
    for stream in streams:
        stream.blocked = True
        with stream.lock:
            pass


def _need_capability(device: DevicePort, name: str, call: str) -> None:
    if device.chip.traits.abort_by_capability and not device.scheduler_has(name):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: this task scheduler has no {name}", ee="EE1001",
            params=(f"{call} needs the task scheduler's capability {name}",), hint="update driver and firmware",
        )


def _until(done: Callable[[], bool], pause_s: float, deadline: float, call: str) -> None:
    while not done():
        if time.monotonic() >= deadline:
            raise errors.fault(
                "RT_ERROR_WAIT_TIMEOUT", f"{call}: the task scheduler has not ended the tasks in time",
                hint="reset the device",
            )
        time.sleep(pause_s)
