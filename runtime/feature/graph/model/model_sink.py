"""The sink of a stream that is bound to a model: tasks go where those of the stream do, and the model keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runtime.core.stream.stream import as_stream
from runtime.core.submission.sink import Target

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.ports import CaptureBranch, StreamPort
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.memory.arguments import ArgumentBlock


class ModelSink:
    """Puts the tasks of one bound stream; `further` lets other streams go on when it is full."""

    __slots__ = ("_recorder", "further", "immediate", "model", "name")

    branch: ClassVar[CaptureBranch | None] = None

    def __init__(self, model: ports.Model, stream: Stream) -> None:
        self.model, self._recorder = model, model.recorder
        self.name, self.immediate = stream.own_sink.name, stream.own_sink.immediate
        self.further: ports.FurtherStreams | None = None

    def stream_for(self, stream: StreamPort) -> StreamPort:
        """Return the stream that takes the next task."""
        return stream if self.further is None else self.further.next_for()

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> Target:
        """Refuse what the model cannot take now, or say which stream takes it."""
        taken = as_stream(stream) if self.further is None else self.further.next_for(count)
        self._recorder.admit(taken, info)
        return Target(taken, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Take positions as the stream's own sink does."""
        return stream.own_sink.alloc(stream, count, info)

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Put the entries where the stream's own sink does."""
        stream.own_sink.commit(stream, sqes)

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Undo as the stream's own sink does."""
        return stream.own_sink.rollback(stream, count)

    def record(
        self, stream: StreamPort, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Let the model keep the task."""
        self._recorder.note(as_stream(stream), task, info, ids, count, arguments)

    def spoil(self, failure: BaseException) -> None:
        """Let the recorder know that a task could not be put."""
        self._recorder.spoil(failure)


def model_sink_of(stream: Stream) -> ModelSink | None:
    """Return the sink by which a stream is bound to a model; None where it is bound to none."""
    return next((sink for sink in stream.sinks.over if isinstance(sink, ModelSink)), None)


def bound_model(stream: Stream) -> ports.Model | None:
    """Return the model that a stream is bound to; None where it is bound to none."""
    sink = model_sink_of(stream)
    return None if sink is None else sink.model
