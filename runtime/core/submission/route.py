"""Where a task goes: the protocol behind which capture, update and splitting install their own way (core_spec 7).

A stream holds the routes that are in force, at most one per `RouteRank`, and asks them in the order of the ranks. The
normal route is always the last: it takes a slot of the stream's ring and hands the SQEs to the driver. Features
install theirs with `stream.install_route`; launchers read `stream.route`, the first in order, once, when they are
built, and are built again when it changes.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol

from chips.env import TaskIds
from chips.tasks import TaskType
from runtime import errors
from runtime.core.submission import submit
from runtime.core.submission.repair import was_sent
from runtime.core.submission.ring import TaskInfo

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream


class RouteRank(enum.IntEnum):
    """The fixed order in which a task is offered to routes."""

    UPDATE = 1
    """The stream re-fills the tasks of a recorded task group."""
    SPLIT = 2
    """The stream collects tasks in host memory and chains slave streams when it is full."""
    CAPTURE = 3
    """The stream is being captured into a graph."""
    NORMAL = 4


class Verdict(enum.Enum):
    """What a route says about a kind of task."""

    TAKES = "takes it"
    SKIPS = "leaves it to the next route"
    REFUSES = "cannot be done with such a task"


class Route(Protocol):
    """How one task gets a place, leaves, or is undone. All of it runs under the stream's lock."""

    @property
    def name(self) -> str:
        """What it is called in messages and traces."""

    @property
    def rank(self) -> RouteRank:
        """Its place in the order."""

    @property
    def immediate(self) -> bool:
        """Whether a committed task reaches the device at once (False while recording)."""

    def verdict(self, task_type: TaskType) -> Verdict:
        """Say whether the route is responsible for a kind of task."""

    def alloc(self, stream: Stream, count: int, owner: TaskInfo) -> TaskIds:
        """Take `count` consecutive places."""

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Send what was encoded for the places just taken."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Undo `alloc` when encoding or sending failed; False where the task has left all the same."""


class NormalRoute:
    """Straight to the stream's own hardware queue."""

    __slots__ = ()
    name = "hardware SQ"
    rank = RouteRank.NORMAL
    immediate = True

    def verdict(self, task_type: TaskType) -> Verdict:
        """Take everything."""
        return Verdict.TAKES

    def alloc(self, stream: Stream, count: int, owner: TaskInfo) -> TaskIds:
        """Take ring positions, waiting for the device while the ring is full; see `submit.make_room`."""
        ring = stream.ring
        if not ring.fits(count):
            submit.make_room(stream, count)
        return ring.take(count, stream.device.next_serial(), owner)

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Copy the SQEs to the staging buffer and ring the driver."""
        count = len(sqes) // 64
        sender = stream.senders[count]
        sender.buffer[:] = sqes
        if rc := sender.send(sender.device_id, sender.reference):
            submit.send_again(stream, sender, rc)

    def rollback(self, stream: Stream, count: int) -> bool:
        """Give the places back, unless an interrupt came before they were taken or after the driver had the SQEs."""
        ring = stream.ring
        taken, ring.mark = ring.submitted != ring.mark, None
        left = taken and was_sent(stream, ring.submitted)
        if taken and not left:
            ring.give_back(count)
        stream.senders.seek(ring.tail)
        return not left


class ClosedRoute:
    """No way out: streams that only the device feeds, or that exist on the host only."""

    __slots__ = ("_reason", "immediate", "name", "rank")

    def __init__(
        self, name: str, reason: str, rank: RouteRank = RouteRank.NORMAL, *, immediate: bool = True
    ) -> None:
        self.name, self._reason = name, reason
        self.rank, self.immediate = rank, immediate

    def verdict(self, task_type: TaskType) -> Verdict:
        """Answer for everything, in `alloc`."""
        return Verdict.TAKES

    def alloc(self, stream: Stream, count: int, owner: TaskInfo) -> TaskIds:
        """Raise NotSupported 207000: the host cannot send here."""
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{owner}: stream {stream.stream_id} takes no tasks: {self._reason}",
            hint="use a stream without that flag",
        )

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Never reached."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Undo nothing: nothing was taken."""
        return True


class AicpuRoute:
    """To nobody yet: the stream's model keeps what the AICPU scheduler is told when the model is loaded."""

    __slots__ = ()
    name = "a model that the AICPU schedules"
    rank = RouteRank.NORMAL
    immediate = False

    def verdict(self, task_type: TaskType) -> Verdict:
        """Answer for everything, in `alloc`."""
        return Verdict.TAKES

    def alloc(self, stream: Stream, count: int, owner: TaskInfo) -> TaskIds:
        """Take the next places of the stream.

        Raises:
            NotSupported 207000: the task is no kernel of the AICPU (EE1006).
            RuntimeFault 507000: the stream is bound to no model (EE1018).
            StreamError 507002: the stream is full (EE1019).
        """
        if owner.type not in _OF_AICPU:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{owner}: stream {stream.stream_id} takes no tasks but "
                "kernels of the AICPU, which schedules it (CPU_SCHEDULE)", ee="EE1006",
                params=(str(owner), owner.type.name, "not on the AICPU"),
                hint="submit it to a stream without that flag",
            )
        if stream.bound is None:
            raise errors.fault(
                "RT_ERROR_MODEL_NULL", f"{owner}: stream {stream.stream_id} is scheduled by the AICPU (CPU_SCHEDULE) "
                "and bound to no model", ee="EE1018", params=(str(owner), "the stream is bound to no model"),
                hint="bind the stream to a model first",
            )
        if not stream.ring.fits(count):
            raise stream_full(stream, owner)
        return stream.ring.take(count, stream.device.next_serial(), owner)

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Keep no SQEs: the model's node says all that the AICPU scheduler needs."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Give the places back."""
        stream.ring.give_back(count)
        return True


_OF_AICPU = frozenset({TaskType.KERNEL_AICPU, TaskType.MODEL_END_GRAPH})

NORMAL = NormalRoute()
AICPU = AicpuRoute()
DEVICE_FED = ClosedRoute("fed by the device", "only device code submits to it (DEVICE_USE_ONLY)")
HOST_ONLY = ClosedRoute("host only", "it is a mere placeholder (FORBIDDEN_DEFAULT)")
CAPTURE = ClosedRoute(
    "a capture", "what is submitted goes to a stream of the graph instead (`Stream.branch`)", RouteRank.CAPTURE,
    immediate=False,
)


def choose(stream: Stream, task_type: TaskType, label: TaskInfo) -> Route:
    """Return the route of a task: the first in order that takes it.

    Raises:
        NotSupported 507009: a route that stands in the way cannot be done with such a task (EE1006).
    """
    for route in stream.routes:
        verdict = route.verdict(task_type)
        if verdict is Verdict.TAKES:
            return route
        if verdict is Verdict.REFUSES:
            raise errors.fault(
                "RT_ERROR_TASK_NOT_SUPPORT", f"{label}: stream {stream.stream_id} is in {route.name}, which such a "
                "task cannot be part of", ee="EE1006", params=(str(label), task_type.name, f"not in {route.name}"),
                hint=f"submit it outside of {route.name}",
            )
    return NORMAL


def stream_full(stream: Stream, label: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of a stream that keeps its tasks and has no room for another one."""
    return errors.fault(
        "RT_ERROR_STREAM_FULL", f"{label}: stream {stream.stream_id} keeps its tasks and all {stream.ring.depth - 1} "
        "places are taken", ee="EE1019", params=(str(label), "the stream is full"),
        hint="spread the tasks over several streams of the model",
    )


def group_exhausted(stream: Stream, label: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of an update that sends more tasks than its group has."""
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_UPDATE", f"{label}: the task group that stream {stream.stream_id} updates has no "
        "further task, or the next one is gone", hint="update exactly the tasks that the group was recorded with",
    )


def group_interrupted(stream: Stream, label: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of a task that comes between two parts of a task group being recorded."""
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_INTR", f"{label}: a task group is open on another stream of the capture",
        hint=f"end the task group before stream {stream.stream_id} goes on",
    )
