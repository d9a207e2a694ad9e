"""Sending: the general path for any task, and what happens when the ring or the driver's credit is used up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from npuhal import constants as c
from runtime import errors
from runtime.core.ring import Label

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.stream import Stream
    from runtime.driver.queues import Sender

_TRIES_PER_CHECK = 1000
"""Refused sends between two looks at the device's state."""

_PAUSE_S = 50e-6

_GONE = 2  # drvDeviceStatus: exception; larger values are worse


def submit(
    stream: Stream, task: Task, *, owner: Label | str = "", finished: Callable[[], None] | None = None,
    reported: Callable[[Any], None] | None = None, arguments: Any = None,
) -> TaskIds:
    """Encode one task and send it; returns the numbers it got.

    Args:
        owner: what the task is called when it fails; its type name by default.
        finished: called once, by whoever reclaims the task.
        reported: called with the task's CQE; only for tasks whose SQE asks for one.
        arguments: an argument block that goes back to its pool when the task is reclaimed.

    Raises:
        RuntimeFault: the stream is closed or has failed for good, or the device went away. Nothing is left behind.
    """
    stream.check_open()
    label = owner if isinstance(owner, Label) else Label(task.type, owner or task.type.name.lower().replace("_", " "))
    operations = stream.plugin.ops(task)
    count = operations.count(task, stream.env)
    told: list[Callable[[], None]] = []
    with stream.lock:
        route = stream.route
        ids = route.alloc(stream, count, label)
        try:
            sqes = operations.encode(task, stream.env, ids)
            if reported is not None:
                stream.expected[stream.report_key(ids)] = reported
            route.commit(stream, sqes)
        except BaseException:
            stream.expected.pop(stream.report_key(ids), None)
            route.rollback(stream, count)
            raise
        ring = stream.ring
        if arguments is not None:
            ring.arguments[ids.position] = arguments
        if finished is not None:
            ring.specials.append((ring.submitted, finished))
        if ring.submitted & 63 == 0:
            told = stream.reclaim_locked()
    for callback in told:
        callback()
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
                for callback in told:
                    callback()
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
    device lives.
    """
    final_codes = stream.env.chip.generation != "v100"
    tries = 0
    while rc:
        if final_codes and rc != c.DRV_ERROR_NO_RESOURCES:
            raise stream.device.driver.memory.fault(rc, "halSqTaskSend", f"stream id {stream.stream_id}")
        tries += 1
        if tries % _TRIES_PER_CHECK == 0:
            check_device(stream)
            time.sleep(_PAUSE_S)
        rc = sender.send(sender.device_id, sender.reference)


def check_device(stream: Stream) -> None:
    """Raise where the device can never make room again."""
    status = stream.device.driver.info.status()
    if status >= _GONE:
        raise errors.fault(
            "RT_ERROR_DRV_ERR", f"device {stream.device.user_id} no longer answers (drvDeviceStatus {status})",
            hint="look at `npu-smi info` and dmesg; reset the device",
        )
