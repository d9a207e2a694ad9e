"""The sink of a stream that is captured: what is submitted to it goes to a stream of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.ports import BoundModel, StreamPort, TaskSink
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.memory.arguments import ArgumentBlock


class CaptureSink:
    """Gives tasks to the graph's stream of a branch, whose own sink takes them."""

    __slots__ = ("branch",)

    name = "a capture"
    immediate = False
    model: ClassVar[BoundModel | None] = None

    def __init__(self, branch: ports.Branch) -> None:
        self.branch = branch

    def stream_for(self, stream: StreamPort) -> StreamPort:
        """Return the graph's stream for the next task."""
        return self.branch.ready()

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> tuple[StreamPort, TaskSink] | None:
        """Let the graph's stream say what takes the task."""
        taken = self.branch.ready()
        return taken.sink.admit(taken, task, info, count)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Never reached: another sink takes the task."""
        raise NotImplementedError

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Never reached."""
        raise NotImplementedError

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Never reached."""
        raise NotImplementedError

    def record(
        self, stream: StreamPort, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Never reached."""
        raise NotImplementedError

    def spoil(self, failure: BaseException) -> None:
        """Let the end of the capture fail: a task could not be put."""
        self.branch.graph.recording.spoil(failure)
