"""Sending: the general path for any task, and what happens when the ring or the driver's credit is used up."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from npuhal import constants as c
from runtime import errors
from runtime.core import completion
from runtime.core.ring import Finished, Label, tell

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.stream import Stream
    from runtime.driver.queues import Sender

RECLAIM_EVERY = 64
"""SQEs between two looks at what is done (core_spec 11.1)."""

_TRIES_PER_CHECK = 1000
"""Refused sends between two looks at the device's state."""

_PAUSE_S = 50e-6

_GONE = 2  # drvDeviceStatus: exception; larger values are worse


def submit(
    stream: Stream, task: Task, *, owner: Label | str = "", finished: Callable[[], None] | None = None,
    reported: Callable[[Any], None] | None = None, arguments: Any = None,
    prepare: Callable[[TaskIds], None] | None = None,
) -> TaskIds:
    """Encode one task and send it; returns the numbers it got.

    Args:
        owner: what the task is called when it fails; its type name by default.
        finished: called exactly once: by whoever reclaims the task, or by this call when the task was not sent.
        reported: called with the task's CQE; only for tasks whose SQE asks for one.
        arguments: an argument block; it goes back to its pool when `finished` is called.
        prepare: called with the task's numbers before it is sent: writes the device memory that its SQEs point to.

    Raises:
        RuntimeFault: the stream is closed or has failed for good, or the device went away. Nothing is left behind.
    """
    unsent: list[Finished] = [] if finished is None else [finished]
    if arguments is not None:
        unsent.append(partial(stream.device.release_arguments, [arguments]))
    told = unsent
    try:
        stream.check_open()
        operations = stream.plugin.ops(task)
        count = operations.count(task, stream.env)
        if not isinstance(owner, Label):
            owner = Label(task.type, owner or task.type.name.lower().replace("_", " "))
        with stream.lock:
            stream.check_open()
            route, ring = stream.route, stream.ring
            ids = route.alloc(stream, count, owner)
            told = []
            ring.arguments[ids.position] = arguments
            if finished is not None:
                ring.specials.append((ring.submitted, finished))
            try:
                if prepare is not None:
                    prepare(ids)
                sqes = operations.encode(task, stream.env, ids)
                if reported is not None:
                    stream.expected[stream.report_key(ids)] = reported
                route.commit(stream, sqes)
            except BaseException:
                if route.rollback(stream, count):
                    stream.expected.pop(stream.report_key(ids), None)
                    told = unsent
                raise
            if ring.submitted // RECLAIM_EVERY != (ring.submitted - count) // RECLAIM_EVERY:
                told = stream.reclaim_locked()
    finally:
        if told:
            tell(told)
    return ids


def make_room(stream: Stream, count: int) -> None:
    """Wait until `count` positions are free; called with the stream's lock held, which is let go in between."""
    if count >= stream.ring.depth:
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{count} SQEs never fit into a ring of {stream.ring.depth}", layer="core"
        )
    tries = 0
    while not stream.ring.fits(count):
        told = stream.reclaim_locked()
        if told:
            stream.lock.release()
            try:
                tell(told)
            finally:
                stream.lock.acquire()
            continue
        if stream.ring.fits(count):
            return
        tries += 1
        if tries % _TRIES_PER_CHECK == 0:
            check_device(stream)
        stream.lock.release()
        try:
            stream.drain()
            if tries > _TRIES_PER_CHECK:
                time.sleep(_PAUSE_S)
        finally:
            stream.lock.acquire()
        stream.check_open()


def send_again(stream: Stream, sender: Sender, rc: int) -> None:
    """Repeat a refused send until it passes (core_spec 6.5, 9.1, 9.2); the stream's lock is held.

    Missing credit is flow control. v200 treats any other code as final, v100 repeats every code as long as the
    device lives. A queue that stands still behind a failed task gets no credit, so completions are taken meanwhile.
    """
    final_codes = stream.env.chip.generation != "v100"
    tries = 0
    while rc:
        if final_codes and rc != c.DRV_ERROR_NO_RESOURCES:
            raise stream.device.driver.memory.fault(rc, "halSqTaskSend", f"stream id {stream.stream_id}")
        tries += 1
        if tries % _TRIES_PER_CHECK == 0:
            check_device(stream)
            completion.drain(stream)
            time.sleep(_PAUSE_S)
        rc = sender.send(sender.device_id, sender.reference)


def was_sent(stream: Stream, submitted: int) -> bool:
    """Whether the driver has taken SQEs up to an absolute count; asked when a send was broken off.

    An interrupt (Ctrl-C) can come after the driver's answer and before it is looked at.
    """
    try:
        return stream.device.queues.tail(stream.queues.sq_id) == submitted % stream.ring.depth
    except errors.RuntimeFault:
        return False


def check_device(stream: Stream) -> None:
    """Raise where the device can never make room again."""
    status = stream.device.driver.info.status()
    if status >= _GONE:
        raise errors.fault(
            "RT_ERROR_DRV_ERR", f"device {stream.device.user_id} no longer answers (drvDeviceStatus {status})",
            hint="look at `npu-smi info` and dmesg; reset the device",
        )
