"""Where a task goes: the sink of a stream, behind which models, captures and updates keep tasks (core_spec 7).

A stream has one sink in force. Its own is the last one: the hardware queue, or what stands in its place. Features lay
theirs over it (`SinkStack.lay`). Prepared sends and launchers are made for a sink, and made again when it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from chips.env import TaskIds
from chips.tasks import TaskType
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.core.submission import submit
from runtime.core.submission.repair import was_sent
from runtime.core.submission.ring import TaskInfo

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.ports import BoundModel, CaptureBranch, StreamPort, TaskSink
    from runtime.memory.arguments import ArgumentBlock


class Target(NamedTuple):
    """What takes a task: the stream whose numbers and environment it gets, and the sink that puts it there."""

    stream: StreamPort
    sink: TaskSink


class OwnSink:
    """What sinks have in common that end in the stream itself."""

    __slots__ = ()
    branch: ClassVar[CaptureBranch | None] = None
    model: ClassVar[BoundModel | None] = None

    def stream_for(self, stream: StreamPort) -> StreamPort:
        """Return the stream itself."""
        return stream

    def record(
        self, stream: StreamPort, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep nothing: the task is where it belongs."""

    def spoil(self, failure: BaseException) -> None:
        """Do nothing: the caller of submit gets the error."""


class HardwareSink(OwnSink):
    """Straight to the stream's own hardware queue."""

    __slots__ = ()
    name = "hardware SQ"
    immediate = True

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> Target:
        """Take everything."""
        return Target(stream, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Take ring positions, waiting for the device while the ring is full; see `submit.make_space`."""
        ring = stream.ring
        if not ring.fits(count):
            submit.make_space(stream, count)
        return ring.take(count, stream.device.next_serial(), info)

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Copy the SQEs to the staging buffer and ring the driver."""
        count = len(sqes) // 64
        sender = stream.senders[count]
        sender.buffer[:] = sqes
        if rc := sender.send(sender.device_id, sender.reference):
            submit.send_again(stream, sender, rc)

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Give the positions back, unless an interrupt came before they were taken or after the driver had the SQEs."""
        ring = stream.ring
        taken, ring.in_flight_start = ring.submitted != ring.in_flight_start, None
        left = taken and was_sent(stream, ring.submitted)
        if taken and not left:
            ring.give_back(count)
        stream.senders.seek(ring.tail)
        return not left


class ClosedSink(OwnSink):
    """Refuses all tasks: for streams that only the device feeds, or that exist on the host only."""

    __slots__ = ("_reason", "immediate", "name")

    def __init__(self, name: str, reason: str, *, immediate: bool = True) -> None:
        self.name, self._reason, self.immediate = name, reason, immediate

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> Target:
        """Answer in `alloc`, when the stream is known to be open."""
        return Target(stream, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Raise NotSupported 207000: the host cannot send here."""
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{info}: stream {stream.stream_id} takes no tasks: {self._reason}",
            hint="use a stream without that flag",
        )

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Never reached."""

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Undo nothing: nothing was taken."""
        return True


class AicpuSink(OwnSink):
    """Sends nothing: the stream's model keeps the tasks, and the AICPU scheduler gets them when the model is loaded."""

    __slots__ = ()
    name = "a model that the AICPU schedules"
    immediate = False

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> Target:
        """Answer in `alloc`, when the stream is known to be open."""
        return Target(stream, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Take the next positions of the stream.

        Raises:
            NotSupported 207000: the task is no kernel of the AICPU (EE1006).
            RuntimeFault 507000: the stream is bound to no model (EE1018).
            StreamError 507002: the stream is full (EE1019).
        """
        if info.type not in _OF_AICPU:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{info}: stream {stream.stream_id} takes no tasks but "
                "kernels of the AICPU, which schedules it (CPU_SCHEDULE)", ee="EE1006",
                params=(str(info), info.type.name, "not on the AICPU"),
                hint="submit it to a stream without that flag",
            )
        if stream.bound is None:
            raise errors.fault(
                "RT_ERROR_MODEL_NULL", f"{info}: stream {stream.stream_id} is scheduled by the AICPU (CPU_SCHEDULE) "
                "and bound to no model", ee="EE1018", params=(str(info), "the stream is bound to no model"),
                hint="bind the stream to a model first",
            )
        if not stream.ring.fits(count):
            raise submit.stream_full(stream, info)
        return stream.ring.take(count, stream.device.next_serial(), info)

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Keep no SQEs: the model's node says all that the AICPU scheduler needs."""

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Give the positions back, if an interrupt has not come before they were taken."""
        stream.ring.undo(count)
        return True


_OF_AICPU = frozenset({TaskType.KERNEL_AICPU, TaskType.MODEL_END_GRAPH})

HARDWARE = HardwareSink()
AICPU = AicpuSink()
DEVICE_FED = ClosedSink("fed by the device", "only device code submits to it (DEVICE_USE_ONLY)")
HOST_ONLY = ClosedSink("host only", "it is a mere placeholder (FORBIDDEN_DEFAULT)")
NOWHERE = ClosedSink("a description", "what is submitted is only described", immediate=False)
"""The sink of what stands for a stream where a launch is only described."""


def group_exhausted(stream: StreamPort, info: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of an update that sends more tasks than its group has."""
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_UPDATE", f"{info}: the task group that stream {stream.stream_id} updates has no "
        "further task, or the next one is gone", hint="update exactly the tasks that the group was recorded with",
    )


def group_interrupted(stream: StreamPort, info: TaskInfo | str, group: str) -> errors.RuntimeFault:
    """Return the fault of a task that comes between two parts of a task group being recorded.

    Args:
        group: the group in words.
    """
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_INTR", f"{info}: {group} is open on another stream of the capture",
        hint=f"end the task group before stream {stream.stream_id} goes on",
    )
