"""Where a task goes: the sink of a stream, behind which models, captures and updates keep tasks (core_spec 7).

A stream has one sink in force. Its own is the last one: the hardware queue, or what stands in its place. Features lay
theirs over it with `stream.lay_sink`. Prepared sends and launchers are made for a sink, and made again when it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from chips.env import TaskIds
from chips.tasks import TaskType
from runtime import errors
from runtime.core.submission import submit
from runtime.core.submission.repair import was_sent
from runtime.core.submission.ring import TaskInfo

if TYPE_CHECKING:
    from chips.tasks import CoreKernel, Task
    from runtime.core.stream.stream import Stream
    from runtime.core.sync.event import Event
    from runtime.memory.arguments import ArgumentBlock


class Target(NamedTuple):
    """What takes a task: the stream whose numbers and environment it gets, and the sink that puts it there."""

    stream: Stream
    sink: TaskSink


class TaskSink(Protocol):
    """How one task gets a place, leaves, or is undone. All but `admit` and `spoil` run under the stream's lock."""

    @property
    def name(self) -> str:
        """What it is called in messages and traces."""

    @property
    def immediate(self) -> bool:
        """Whether a committed task reaches the device at once (False while recording)."""

    @property
    def branch(self) -> CaptureBranch | None:
        """The part of a capture that takes the stream's tasks; None where none does."""

    @property
    def model(self) -> BoundModel | None:
        """The model that the stream is bound to by this sink, or None."""

    def stream_for(self, stream: Stream) -> Stream:
        """Return the stream whose queue takes the next task: itself, or one of a graph or model."""

    def admit(self, stream: Stream, task: Task, info: TaskInfo, count: int) -> Target | None:
        """Refuse a task of `count` SQEs, or say what takes it; None: it is done with, and nothing of it is kept."""

    def alloc(self, stream: Stream, count: int, info: TaskInfo) -> TaskIds:
        """Take `count` consecutive positions."""

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Send what was encoded for the positions just taken."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Undo `alloc` when encoding or sending failed; False where the task has left all the same."""

    def record(
        self, stream: Stream, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep what was committed, for who looks at it later."""

    def spoil(self, failure: BaseException) -> None:
        """Take note that a task could not be put."""


class Closable(Protocol):
    """Something that tasks use until it is closed."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""


class CaptureGraph(Protocol):
    """The graph that a capture makes, as those see it who do not make graphs."""

    @property
    def model_id(self) -> int:
        """The device's number of the graph."""

    @property
    def handle(self) -> int:
        """The number by which the C API knows it."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""


class EventInGraph(Protocol):
    """What stands for an event in the graph that it was last recorded into, while that is captured."""

    @property
    def capturing(self) -> bool:
        """Whether the graph is still being captured."""

    def wait(self, stream: Stream) -> None:
        """Let a stream wait for the record; one that is not captured joins the capture."""

    def reset(self, stream: Stream) -> None:
        """Take the record back when the graph gets there."""


class CaptureBranch(Protocol):
    """One stream's part of a capture, as those see it who do not make graphs."""

    @property
    def graph(self) -> CaptureGraph:
        """The graph that it is part of."""

    def ready(self) -> Stream:
        """Return the graph's stream for the next task."""

    def take_arguments(self, size_bytes: int) -> ArgumentBlock:
        """Return memory of the graph for arguments, filled on the host and brought over with all of it."""

    def prepared_launch(
        self, program: Closable, task: CoreKernel, info: TaskInfo, slow: Callable[[int], object] | None = None
    ) -> Callable[[int], Any] | None:
        """Return what puts launches into the graph by the address of their block; None where each is looked at."""

    def record(self, event: Event) -> None:
        """Record an event in the graph."""

    def wait_outside(self, event: Event, *, recorded: bool) -> None:
        """Answer a wait for an event that is not part of the graph."""

    def reset_outside(self, event: Event, *, recorded: bool) -> None:
        """Answer a reset of an event that is not part of the graph."""


class BoundModel(Protocol):
    """The model that a stream is bound to, as those see it who do not make graphs."""

    @property
    def model_id(self) -> int:
        """The device's number of the model."""

    @property
    def handle(self) -> int:
        """The number by which the C API knows it."""

    @property
    def cache_ids(self) -> dict[int, int]:
        """The device's ids of cache operations, by those that tasks of the model name them by."""

    @property
    def root(self) -> object:
        """The model whose executions execute it: itself, but for branches of conditional nodes."""

    def counter(self, stream: Stream) -> int:
        """Return the address of the word that counts how often a stream was started."""


class OwnSink:
    """What sinks have in common that end in the stream itself."""

    __slots__ = ()
    branch: ClassVar[CaptureBranch | None] = None
    model: ClassVar[BoundModel | None] = None

    def stream_for(self, stream: Stream) -> Stream:
        """Return the stream itself."""
        return stream

    def record(
        self, stream: Stream, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep nothing: the task is where it belongs."""

    def spoil(self, failure: BaseException) -> None:
        """Take no note: whoever submitted the task is told."""


class HardwareSink(OwnSink):
    """Straight to the stream's own hardware queue."""

    __slots__ = ()
    name = "hardware SQ"
    immediate = True

    def admit(self, stream: Stream, task: Task, info: TaskInfo, count: int) -> Target:
        """Take everything."""
        return Target(stream, self)

    def alloc(self, stream: Stream, count: int, info: TaskInfo) -> TaskIds:
        """Take ring positions, waiting for the device while the ring is full; see `submit.make_room`."""
        ring = stream.ring
        if not ring.fits(count):
            submit.make_room(stream, count)
        return ring.take(count, stream.device.next_serial(), info)

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
        taken, ring.in_flight_start = ring.submitted != ring.in_flight_start, None
        left = taken and was_sent(stream, ring.submitted)
        if taken and not left:
            ring.give_back(count)
        stream.senders.seek(ring.tail)
        return not left


class ClosedSink(OwnSink):
    """No way out: streams that only the device feeds, or that exist on the host only."""

    __slots__ = ("_reason", "immediate", "name")

    def __init__(self, name: str, reason: str, *, immediate: bool = True) -> None:
        self.name, self._reason, self.immediate = name, reason, immediate

    def admit(self, stream: Stream, task: Task, info: TaskInfo, count: int) -> Target:
        """Answer in `alloc`, when the stream is known to be open."""
        return Target(stream, self)

    def alloc(self, stream: Stream, count: int, info: TaskInfo) -> TaskIds:
        """Raise NotSupported 207000: the host cannot send here."""
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{info}: stream {stream.stream_id} takes no tasks: {self._reason}",
            hint="use a stream without that flag",
        )

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Never reached."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Undo nothing: nothing was taken."""
        return True


class AicpuSink(OwnSink):
    """To nobody yet: the stream's model keeps what the AICPU scheduler is told when the model is loaded."""

    __slots__ = ()
    name = "a model that the AICPU schedules"
    immediate = False

    def admit(self, stream: Stream, task: Task, info: TaskInfo, count: int) -> Target:
        """Answer in `alloc`, when the stream is known to be open."""
        return Target(stream, self)

    def alloc(self, stream: Stream, count: int, info: TaskInfo) -> TaskIds:
        """Take the next places of the stream.

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
            raise stream_full(stream, info)
        return stream.ring.take(count, stream.device.next_serial(), info)

    def commit(self, stream: Stream, sqes: bytes) -> None:
        """Keep no SQEs: the model's node says all that the AICPU scheduler needs."""

    def rollback(self, stream: Stream, count: int) -> bool:
        """Give the places back."""
        stream.ring.give_back(count)
        return True


_OF_AICPU = frozenset({TaskType.KERNEL_AICPU, TaskType.MODEL_END_GRAPH})

HARDWARE = HardwareSink()
AICPU = AicpuSink()
DEVICE_FED = ClosedSink("fed by the device", "only device code submits to it (DEVICE_USE_ONLY)")
HOST_ONLY = ClosedSink("host only", "it is a mere placeholder (FORBIDDEN_DEFAULT)")
NOWHERE = ClosedSink("a description", "what is submitted is only described", immediate=False)
"""The sink of what stands for a stream where a launch is only described."""


def stream_full(stream: Stream, info: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of a stream that keeps its tasks and has no room for another one."""
    return errors.fault(
        "RT_ERROR_STREAM_FULL", f"{info}: stream {stream.stream_id} keeps its tasks and all {stream.ring.depth - 1} "
        "places are taken", ee="EE1019", params=(str(info), "the stream is full"),
        hint="spread the tasks over several streams of the model",
    )


def group_exhausted(stream: Stream, info: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of an update that sends more tasks than its group has."""
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_UPDATE", f"{info}: the task group that stream {stream.stream_id} updates has no "
        "further task, or the next one is gone", hint="update exactly the tasks that the group was recorded with",
    )


def group_interrupted(stream: Stream, info: TaskInfo | str) -> errors.RuntimeFault:
    """Return the fault of a task that comes between two parts of a task group being recorded."""
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_INTR", f"{info}: a task group is open on another stream of the capture",
        hint=f"end the task group before stream {stream.stream_id} goes on",
    )
