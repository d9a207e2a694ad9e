"""Models and their parts: who keeps their tasks, their streams, what starts and executes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.core.ports import BoundModel

if TYPE_CHECKING:
    import threading

    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.device.device import Device
    from runtime.core.ports import StreamPort
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import EpochFlag
    from runtime.core.submission.ring import TaskInfo
    from runtime.core.submission.two_tasks import TrySend
    from runtime.core.sync.notify import Notify
    from runtime.feature.graph.execution.rings import DeviceRings
    from runtime.feature.graph.recording.node import Node
    from runtime.feature.graph.recording.node_list import NodeList
    from runtime.memory.arguments import ArgumentBlock


class TaskRecorder(Protocol):
    """Keeps what is put into the streams of a model."""

    def admit(self, stream: Stream, info: TaskInfo) -> None:
        """Refuse a task that a stream cannot take now."""

    def note(
        self, stream: Stream, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep a task that was put into a stream."""

    def spoil(self, failure: BaseException) -> None:
        """Learn that a task could not be put."""


class FurtherStreams(Protocol):
    """The streams that take what a full stream of a model cannot."""

    @property
    def streams(self) -> list[Stream]:
        """The further streams, in the order in which each starts the next."""

    def next_for(self, count: int = ...) -> Stream:
        """Return the stream that takes a task of `count` entries next."""


class QueueProgram(Protocol):
    """A task whose program names queues of other streams."""

    def refresh(self) -> None:
        """Write program and entry again: the streams were lent other queues."""


class Streams(Protocol):
    """The streams of one model (`runtime.feature.graph.model.model_streams`)."""

    @property
    def lock(self) -> threading.RLock:
        """Held while an execution is queued, and while queues change."""

    @property
    def bound(self) -> list[Stream]:
        """The streams, the newest first."""

    @property
    def links(self) -> list[QueueProgram]:
        """Tasks that start other streams."""

    def add(self, stream: Stream, *, head: bool) -> None:
        """Make a stream the model's."""

    def heads(self) -> list[Stream]:
        """Return the streams that start with the model, the oldest first."""

    def known(self) -> list[Stream]:
        """Return the streams that the task scheduler executes, the newest first."""

    def counter(self, stream: StreamPort) -> int:
        """Return the address of the word that counts how often a stream was started."""

    def rewrite(self, stream: Stream, position: int, sqes: bytes) -> None:
        """Put other entries in the place of a task; only for software SQs."""

    def use_rings(self, rings: DeviceRings) -> None:
        """Keep the entries of software SQs in what the whole tree of models has."""

    def announce(self) -> None:
        """Let the task scheduler know the streams that it executes."""

    def retract(self) -> None:
        """Let the task scheduler forget the streams that it knows."""

    @property
    def sender(self) -> Stream:
        """The stream for messages about the model."""


class Launcher(Protocol):
    """What starts a model (`runtime.feature.graph.execution.model_launcher`)."""

    @property
    def epoch(self) -> EpochFlag:
        """Blocked while executions have to take the slow path."""

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""

    def runs_in(self, stream: StreamPort) -> bool:
        """Whether a stream waits for an execution."""

    def forget(self) -> None:
        """Prepare everything again for the next execution: queues or the notify of the end have changed."""

    def look(self) -> None:
        """Let the next execution in each stream take the slow path."""

    def settled(self) -> bool:
        """Let each execution take the slow path from now on; returns whether all that were queued before are over."""

    def __call__(self, stream: Stream) -> None:
        """Execute the model once in a stream; the caller holds the model's lock."""

    def close(self) -> None:
        """Free what starts the model."""


class Execution(Protocol):
    """The executions of one model (`runtime.feature.graph.execution.model_execution`)."""

    @property
    def launcher(self) -> Launcher:
        """What starts the model."""

    @property
    def before(self) -> list[Callable[[], None]]:
        """What is done on the host before each execution."""

    @property
    def ready(self) -> dict[Stream, TrySend]:
        """What queues an execution at once, by stream."""

    @property
    def complete(self) -> bool:
        """Whether executions were prepared, or will be by the first one."""

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""

    def start_by(self, launcher: Launcher) -> None:
        """Let something else start the model from now on."""

    def leave_to_aicpu(self, stream: Stream) -> None:
        """Let the AICPU schedule the model, for the sake of a stream."""


class Model(BoundModel, Protocol):
    """The model that a part belongs to."""

    @property
    def context(self) -> Context:
        """The context that it was made in."""

    @property
    def device(self) -> Device:
        """The device that executes it."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    @property
    def captured(self) -> bool:
        """Whether a capture has made it."""

    @property
    def executor(self) -> int:
        """Who executes it, in messages to the task scheduler."""

    @property
    def texts(self) -> dict[Node, str]:
        """What was said of tasks, for the debug output."""

    @property
    def root(self) -> Model:
        """The model whose executions execute it: itself, but for branches of conditional nodes."""

    @property
    def streams(self) -> list[Stream]:
        """Its streams, the newest first."""

    @property
    def stream_set(self) -> Streams:
        """The part that its streams are."""

    @property
    def nodes(self) -> list[Node]:
        """What its streams hold, in the order in which it was submitted."""

    @property
    def node_list(self) -> NodeList:
        """The part that its nodes are."""

    @property
    def recorder(self) -> TaskRecorder:
        """What keeps the tasks of its streams."""

    @property
    def execution(self) -> Execution:
        """The part that starts it."""

    @property
    def end_notify(self) -> Notify | None:
        """What its last task sets; there once the model has an end."""

    def tree(self) -> Sequence[Model]:
        """Return the model and those that it starts itself."""

    def check_open(self) -> None:
        """Raise where it was closed."""

    def clean(self, stream: Stream) -> None:
        """Empty one of its streams, so that other tasks can be put into it."""
