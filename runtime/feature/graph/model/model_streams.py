"""Streams of a model: what the task scheduler knows of them, and queues for software SQs (core_spec 14.10, 17.1)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chips.tasks import ModelMaintenance, ModelOperation
from runtime import errors
from runtime.core.device import teardown
from runtime.core.stream.stream import StreamFlag
from runtime.driver import resources as id_kinds
from runtime.errors.mixing import NotCopied
from runtime.feature.graph.execution.rings import DeviceRings, software_sink
from runtime.feature.graph.model.links import Link
from runtime.feature.graph.model.model_sink import bound_model, model_sink_of

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.execution.model_launcher import ModelLauncher
    from runtime.feature.graph.model.model_sink import ModelSink


class ModelStreams(NotCopied):
    """The streams of one model."""

    __slots__ = ("_counters", "_lock", "_rings", "_started_later", "_told", "complete", "context", "device", "links",
                 "model_id", "starter", "streams")  # fmt: skip

    starter: ModelLauncher
    """What starts the model."""

    def __init__(self, context: Context) -> None:
        context.check_open()
        self.context, self.device = context, context.device
        self.model_id = self.device.ids.alloc(id_kinds.MODEL)
        self.complete = False
        """Whether executions were prepared, or will be by the first one."""
        self.streams: list[Stream] = []
        """Bound streams, the newest first."""
        self.links: list[Link] = []
        """Tasks that start other streams."""
        self._rings: DeviceRings | None = None
        self._started_later: set[Stream] = set()
        self._told: set[Stream] = set()
        """Streams that the task scheduler knows as the model's."""
        self._counters: dict[StreamPort, int] = {}
        self._lock = threading.RLock()

    @property
    def lock(self) -> threading.RLock:
        """Held while an execution is queued."""
        return self._lock

    @property
    def root(self) -> ModelStreams:
        """The model whose executions execute it: itself, but for branches of conditional nodes."""
        return self

    def check_open(self) -> None:
        """Raise where the model was closed."""
        raise NotImplementedError

    def _sink_for(self, stream: Stream) -> ModelSink:
        """Return what puts the tasks of a bound stream."""
        raise NotImplementedError

    def enlist(self, stream: Stream, *, head: bool) -> None:
        """Make a stream the model's; the task scheduler learns of those that have no queue yet when they get one.

        It never learns of those that the AICPU schedules.
        """
        if stream.flags & StreamFlag.CPU_SCHEDULE:
            stream.bind_sink(self._sink_for(stream))
            self._take(stream, head)
            return
        self._counters[stream] = self.device.executed_words.address(stream.stream_id)
        self._publish(stream)
        stream.bind_sink(sink := self._sink_for(stream))
        try:
            if software_sink(stream) is None:
                self._tell_added(stream)
            elif self._rings is None:
                self._rings = DeviceRings(self.device)
        except BaseException:
            stream.lift_sink(sink)
            del self._counters[stream]
            raise
        self._take(stream, head)

    def _take(self, stream: Stream, head: bool) -> None:
        self.streams.insert(0, stream)
        if not head:
            self._started_later.add(stream)

    def _publish(self, stream: Stream) -> None:
        """Write down where the registers of a stream's queue are, for programs on the device."""
        if not self.device.chip.traits.registers_at_creation and stream.has_queue:
            self.device.sq_registers.write(stream.queues.sq_id, self.device.queues.register_base(stream.queues.sq_id))

    def _tell_added(self, stream: Stream) -> None:
        self._maintain(ModelOperation.STREAM_ADD, stream, exec_times_addr=self._counters[stream])
        self._told.add(stream)

    def unbind(self, stream: Stream) -> None:
        """Give a stream back to its context, with nothing in it.

        Raises:
            StreamError 107005: it is not in this model.
        """
        self.check_open()
        if bound_model(stream) is not self:
            raise errors.fault(
                "RT_ERROR_STREAM_MODEL", f"stream {stream.stream_id} is not bound to model {self.model_id}",
                ee="EE4002", params=(f"it is not bound to model {self.model_id}",),
                hint="unbind it from the model it is bound to",
            )
        with self._lock:
            self._detach()
            self._remove(stream)

    def _remove(self, stream: Stream) -> None:
        with ExitStack() as steps:
            steps.callback(self._forget, stream)
            if stream in self._told:
                self._tell_removed(stream)

    def _forget(self, stream: Stream) -> None:
        sink = model_sink_of(stream)
        assert sink is not None
        following = [] if sink.split is None else sink.split.streams
        stream.lift_sink(sink)
        self.streams.remove(stream)
        self._started_later.discard(stream)
        self._counters.pop(stream, None)
        for each in following:
            if each in self.streams:
                self._remove(each)
            teardown.drop(each)
        if self._rings is not None:
            self._rings.forget(stream)
        if self._rings is not None or not stream.has_queue:
            teardown.empty(stream)
        self.context.streams.add(stream)

    def _tell_removed(self, stream: Stream) -> None:
        self._maintain(ModelOperation.STREAM_DELETE, stream)
        self._told.discard(stream)

    def clean(self, stream: Stream) -> None:
        """Empty a bound stream, so that other tasks can be put into it; the model has to be loaded again."""
        with self._lock:
            self._detach()
            if self._rings is not None:
                self._rings.forget(stream)
            teardown.empty(stream)
            self.complete = False
            self.starter.look()

    def heads(self) -> list[Stream]:
        """Return the streams that start with the model, the oldest first."""
        return [each for each in reversed(self.streams) if each not in self._started_later]

    def known(self) -> list[Stream]:
        """Return the streams that the task scheduler executes, the newest first; the AICPU schedules the others."""
        return [each for each in self.streams if each in self._counters]

    def counter(self, stream: StreamPort) -> int:
        """Return the address of the word that counts how often a stream was started."""
        return self._counters[stream]

    @property
    def sender(self) -> Stream:
        """The stream for messages: the control stream, or the context's default one where the chip has none."""
        device, context = self.device, self.context
        if device.control_stream is not device.primary_stream or context.closed:
            return device.control_stream
        return context.default_stream

    def _maintain(self, operation: ModelOperation, stream: Stream, **facts: int) -> None:
        """Send a message about the model, and wait until it was read."""
        sender = self.sender
        task = ModelMaintenance(
            operation=operation, model_id=self.model_id, stream_id=stream.stream_id, sq_id=stream.queues.sq_id, **facts
        )
        sender.submit(task, owner=f"model {operation.name.lower().replace('_', ' ')}")
        sender.synchronize()

    # -- software SQs ----------------------------------------------------------------------------------------------

    def tree(self) -> Sequence[ModelStreams]:
        """Return the model and those that it starts itself."""
        raise NotImplementedError

    def _attach(self) -> None:
        """Give software SQs their queues, unless they have them with all that they hold; the lock is held."""
        if self._rings is None:
            return
        tree = self.tree()
        streams = [stream for model in tree for stream in model.known()]
        if self._rings.complete(streams):
            return
        for model in tree:
            model._rings = self._rings
        self._detach()
        self._rings.bind(streams, self.context)
        try:
            for model in tree:
                for stream in model.known():
                    model._tell_added(stream)
            self._rings.set_tails()
            for model in tree:
                for link in model.links:
                    link.refresh()
        except BaseException:
            self._detach()
            raise

    def _detach(self) -> None:
        """Take the queues of software SQs away; nothing is being executed, and the lock is held."""
        if self._rings is None or not self._rings.bound:
            return
        for model in self.tree():
            for stream in model.streams:
                if stream in model._told:
                    model._tell_removed(stream)
        self._rings.unbind()
        self.starter.forget()

    # -- on another card -------------------------------------------------------------------------------------------

    def lose_queues(self) -> None:
        """Note that the card knows nothing of the model, and that software SQs have no queues."""
        with self._lock:
            self._told.clear()
            self.starter.forget()
            if self._rings is not None:
                self._rings.lose()

    def bind_again(self) -> None:
        """Let the task scheduler of another card know the streams; what their own queues hold may come back then."""
        with self._lock:
            for stream in reversed(self.streams):
                if software_sink(stream) is None:
                    self._publish(stream)
                    self._tell_added(stream)

    # -- entries ---------------------------------------------------------------------------------------------------

    def rewrite(self, stream: Stream, position: int, sqes: bytes) -> None:
        """Put other entries in the place of a task; only for software SQs."""
        if self._rings is not None and software_sink(stream) is not None:
            self._rings.rewrite(stream, position, sqes)
