"""Where tasks go: what a stream's sinks are asked, and what captures and models are to who makes no graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from contextlib import ExitStack

    from chips.env import TaskIds
    from chips.tasks import CoreKernel, Task
    from runtime.core.ports.events import EventPort
    from runtime.core.ports.streams import StreamPort
    from runtime.core.submission.ring import TaskInfo
    from runtime.memory.arguments import ArgumentBlock


class TaskSink(Protocol):
    """How one task gets positions, leaves, or is undone. All but `admit` and `spoil` run under the stream's lock."""

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

    def stream_for(self, stream: StreamPort) -> StreamPort:
        """Return the stream whose queue takes the next task: itself, or one of a graph or model."""

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> tuple[StreamPort, TaskSink] | None:
        """Refuse a task of `count` SQEs, or say what takes it; None: it is done with, and nothing of it is kept."""

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Take `count` consecutive positions."""

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Send what was encoded for the positions just taken."""

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Undo `alloc` when encoding or sending failed; False where the task has left all the same."""

    def record(
        self, stream: StreamPort, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep what was committed, for those who list or change it later."""

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


class CaptureBranch(Protocol):
    """One stream's part of a capture, as those see it who do not make graphs."""

    @property
    def graph(self) -> CaptureGraph:
        """The graph that it is part of."""

    def told(self) -> str:
        """Return in words the graph, who captures it and how, and how the stream came into the capture."""

    def let_go(self) -> bool:
        """Give the capture up if the block that has begun it is gone; returns whether it is."""

    def ready(self) -> StreamPort:
        """Return the graph's stream for the next task."""

    def take_arguments(self, size_bytes: int) -> ArgumentBlock:
        """Return memory of the graph for arguments, filled on the host and brought over with all of it."""

    def prepared_launch(
        self, program: Closable, task: CoreKernel, info: TaskInfo, slow: Callable[[int], object] | None = None
    ) -> Callable[[int], Any] | None:
        """Return the prepared send of captured launches, by the address of their block; None: slow path only."""

    def record(self, event: EventPort) -> None:
        """Record an event in the graph."""

    def wait_outside(self, event: EventPort, *, recorded: bool) -> None:
        """Answer a wait for an event that is not part of the graph."""

    def reset_outside(self, event: EventPort, *, recorded: bool) -> None:
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
    def name(self) -> str:
        """What its owner calls it, for messages."""

    @property
    def cache_ids(self) -> dict[int, int]:
        """The device's ids of cache operations, by those that tasks of the model name them by."""

    @property
    def resources(self) -> ExitStack:
        """What else goes with the model."""

    @property
    def root(self) -> BoundModel:
        """The model whose executions execute it: itself, but for branches of conditional nodes."""

    def give_up(self) -> None:
        """Close it, as nobody has it any more and no execution is queued."""

    def counter(self, stream: StreamPort) -> int:
        """Return the address of the word that counts how often a stream was started."""

    def idle(self) -> bool:
        """Whether no execution is queued or being queued; False where that is not known yet. Never waits."""

    def runs_in(self, stream: StreamPort) -> bool:
        """Whether a stream waits for an execution."""

    def before_each(self, call: Callable[[], None]) -> None:
        """Call something on the host before each execution."""
