"""The sinks of one stream, and which of them is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort, TaskSink


class SinkStack:
    """What is laid over a stream's own sink: the first is in force, the stream's own where there is none.

    `Stream.sink`, `branch` and `bound` say at once what follows from it; they change here only.
    """

    __slots__ = ("_stream", "over")

    def __init__(self, stream: StreamPort) -> None:
        self._stream = stream
        self.over: tuple[TaskSink, ...] = ()
        """The sinks over the stream's own, the one in force first."""

    def lay(self, sink: TaskSink) -> None:
        """Put a sink in force, over those that are."""
        self._change(self._stream.own_sink, (sink, *self.over))

    def lift(self, sink: TaskSink) -> None:
        """Take a sink out of force; those under it stay."""
        self._change(self._stream.own_sink, tuple(each for each in self.over if each is not sink))

    def bind(self, sink: TaskSink) -> None:
        """Put the sink of a model in force, under all that is laid over the stream's own."""
        self._change(self._stream.own_sink, (*self.over, sink))

    def change_own(self, sink: TaskSink) -> None:
        """Let tasks go elsewhere in the end."""
        self._change(sink, self.over)

    def _change(self, own: TaskSink, over: tuple[TaskSink, ...]) -> None:
        stream = self._stream
        bound = next((each.model for each in over if each.model is not None), None)
        with stream.lock:
            stream.epoch.block(True)  # an interrupt from here on leaves the slow path in force, which asks the sink
            stream.own_sink, self.over = own, over
            stream.sink = (*over, own)[0]
            stream.branch, stream.bound = stream.sink.branch, bound
            stream.drop_prepared()
            stream.update_blocked()
