"""Streams of a model: what the task scheduler knows of them, and queues for software SQs (core_spec 14.10, 17.1)."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from chips.tasks import ModelMaintenance, ModelOperation
from runtime import errors
from runtime.core.device import teardown
from runtime.core.stream.failure import FailureMode
from runtime.core.stream.stream import StreamFlag
from runtime.errors.closing import Again, each
from runtime.feature.graph.execution.rings import DeviceRings, software_sink
from runtime.feature.graph.model.further_streams import FurtherStreams
from runtime.feature.graph.model.model_sink import ModelSink, bound_model, model_sink_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.core.ports import StreamPort
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports

_OWNERS = {each: f"model {each.name.lower().replace('_', ' ')}" for each in ModelOperation}
"""What messages are called when they fail."""
_READ_MS = 1000
"""How long a message is waited for whose sender was interrupted."""


def _nothing(_stream: Stream) -> None:
    """The stream goes back to its context."""


class ModelStreams:
    """The streams of one model."""

    __slots__ = ("_counters", "_device", "_known", "_model", "_rings", "_started_later", "bound", "links", "lock")

    def __init__(self, model: ports.Model) -> None:
        self._model, self._device = model, model.device
        self.bound: list[Stream] = []
        """The streams, the newest first."""
        self.links: list[ports.QueueProgram] = []
        """Tasks that start other streams."""
        self.lock = threading.RLock()
        """Held while an execution is queued, and while queues change."""
        self._rings: DeviceRings | None = None
        self._started_later: set[Stream] = set()
        self._known: set[Stream] = set()
        """Streams that the task scheduler knows as the model's."""
        self._counters: dict[StreamPort, int] = {}

    # -- which streams ---------------------------------------------------------------------------------------------

    def bind(self, stream: Stream, *, head: bool) -> None:
        """Take a user's stream in; see `Model.bind`."""
        stream.check_open()
        if not stream.flags & (StreamFlag.PERSISTENT | StreamFlag.CPU_SCHEDULE):
            raise not_kept(stream)
        stream.check_not_captured("bind of a stream to a model")
        if stream.bound is not None:
            raise errors.fault(
                "RT_ERROR_STREAM_MODEL", f"stream {stream.stream_id} is bound to model {stream.bound.model_id}",
                ee="EE1007", params=(stream.stream_id, stream.bound.model_id), hint="unbind it first",
            )
        if stream.failure_mode is not FailureMode.CONTINUE:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"stream {stream.stream_id} stops at failures",
                hint="bind streams of failure mode 0",
            )
        if stream.flags & StreamFlag.CPU_SCHEDULE:
            self._model.execution.leave_to_aicpu(stream)
        self.add(stream, head=head)
        self._model.context.streams.remove(stream)
        if software_sink(stream) is not None and (sink := model_sink_of(stream)) is not None:
            sink.further = FurtherStreams(self._model, stream)

    def add(self, stream: Stream, *, head: bool) -> None:
        """Make a stream the model's; the task scheduler learns of those that have no queue yet when they get one.

        It never learns of those that the AICPU schedules.
        """
        sink = ModelSink(self._model, stream)
        try:
            self._list(stream, head)  # first: a close takes out what is listed, wherever an interrupt came
            if stream.flags & StreamFlag.CPU_SCHEDULE:
                stream.sinks.bind(sink)
                return
            self._counters[stream] = self._device.executed_words.address(stream.stream_id)
            self._publish(stream)
            stream.sinks.bind(sink)
            if software_sink(stream) is None:
                self._announce(stream)
            elif self._rings is None:
                self._rings = DeviceRings(self._device)
        except BaseException:
            if stream in self._known:
                with suppress(errors.RuntimeFault):  # what went wrong first says more
                    self._retract(stream)
            stream.sinks.lift(sink)
            self._counters.pop(stream, None)
            self._started_later.discard(stream)
            self._unlist(stream)
            raise

    def _list(self, stream: Stream, head: bool) -> None:
        self.bound.insert(0, stream)
        if not head:
            self._started_later.add(stream)

    def unbind(self, stream: Stream) -> None:
        """Give a stream back to its context, with nothing in it.

        Raises:
            StreamError 107005: it is not in this model.
        """
        if bound_model(stream) is not self._model:
            raise not_bound(self._model, stream, "unbind it from the model it is bound to", message="EE4002")
        with self.lock:
            self.detach()
            self._remove(stream)

    def _remove(self, stream: Stream, then: Callable[[Stream], None] = _nothing) -> None:
        """Take a stream out, and call `then` with it; all of that can be done again while the stream is listed."""
        each([
            Again(partial(self._retract_known, stream)), Again(partial(self._forget, stream)),
            Again(partial(then, stream)), partial(self._unlist, stream),
        ])  # fmt: skip

    def _retract_known(self, stream: Stream) -> None:
        if stream in self._known:
            self._retract(stream)

    def _unlist(self, stream: Stream) -> None:
        if stream in self.bound:
            self.bound.remove(stream)

    def _forget(self, stream: Stream) -> None:
        """Take a stream out; what an interrupt has broken off is done by another call, also of a closed stream."""
        sink = model_sink_of(stream)
        following = [] if sink is None or sink.further is None else sink.further.streams
        for further in following:
            if further in self.bound:
                self._remove(further, teardown.drop)
            else:
                teardown.drop(further)
        if sink is not None:
            stream.sinks.lift(sink)
            stream.counts.skip()  # what a model keeps was not executed for that
        self._started_later.discard(stream)
        self._counters.pop(stream, None)
        if self._rings is not None:
            self._rings.forget(stream)
        if not stream.closed:
            if self._rings is not None or not stream.has_queue:
                teardown.empty(stream)
            self._model.context.streams.add(stream)

    def clean(self, stream: Stream) -> None:
        """Empty a stream, so that other tasks can be put into it; the lock is held."""
        self.detach()
        if self._rings is not None:
            self._rings.forget(stream)
        teardown.empty(stream)

    def heads(self) -> list[Stream]:
        """Return the streams that start with the model, the oldest first."""
        return [stream for stream in reversed(self.bound) if stream not in self._started_later]

    def known(self) -> list[Stream]:
        """Return the streams that the task scheduler executes, the newest first; the AICPU schedules the others."""
        return [stream for stream in self.bound if stream in self._counters]

    def counter(self, stream: StreamPort) -> int:
        """Return the address of the word that counts how often a stream was started."""
        return self._counters[stream]

    def release(self, then: Callable[[Stream], None]) -> None:
        """Give all streams up; `then` is called with each that is the model's no more."""
        each([
            Again(self.detach),
            Again(self._unbind_rings),  # where that has failed: a queue must not go with its stream
            *(Again(partial(self._let_go, stream, then)) for stream in self.bound),
        ])  # fmt: skip

    def _let_go(self, stream: Stream, then: Callable[[Stream], None]) -> None:
        if stream in self.bound:  # it may have gone with another one
            self._remove(stream, then)

    # -- what the task scheduler knows -----------------------------------------------------------------------------

    @property
    def sender(self) -> Stream:
        """The stream for messages: the control stream, or the context's default one where the chip has none."""
        device, context = self._device, self._model.context
        if device.control_stream is not device.primary_stream or context.closed:
            return device.control_stream
        return context.default_stream

    def send_message(
        self, operation: ModelOperation, stream: Stream, sent: Callable[[], None] | None = None, **facts: int
    ) -> None:
        """Send a message about the model and one of its streams, and wait until it was read.

        Args:
            sent: called between the two.
        """
        sender = self.sender
        task = ModelMaintenance(
            operation=operation, model_id=self._model.model_id, stream_id=stream.stream_id, sq_id=stream.queues.sq_id,
            **facts,
        )
        try:
            sender.submit(task, owner=_OWNERS[operation])
            if sent is not None:
                sent()
            sender.settle()
        except errors.RuntimeFault:
            raise
        except BaseException:  # Ctrl-C: the caller will give up what the message speaks of, which must be read first
            with suppress(errors.RuntimeFault):
                sender.settle(_READ_MS)
            raise

    def _publish(self, stream: Stream) -> None:
        """Write down where the registers of a stream's queue are, for programs on the device."""
        if not self._device.chip.traits.registers_at_creation and stream.has_queue:
            self._device.sq_registers.write(
                stream.queues.sq_id, self._device.queues.register_base(stream.queues.sq_id)
            )

    def announce(self) -> None:
        """Let the task scheduler know the streams that it executes."""
        for stream in self.known():
            self._announce(stream)

    def _announce(self, stream: Stream) -> None:
        sent = partial(self._known.add, stream)
        self.send_message(ModelOperation.STREAM_ADD, stream, sent, exec_times_addr=self._counters[stream])

    def retract(self) -> None:
        """Let the task scheduler forget the streams that it knows."""
        for stream in self.bound:
            if stream in self._known:
                self._retract(stream)

    def _retract(self, stream: Stream) -> None:
        self.send_message(ModelOperation.STREAM_DELETE, stream)
        self._known.discard(stream)

    # -- software SQs ----------------------------------------------------------------------------------------------

    @property
    def unattached(self) -> bool:
        """Whether there are software SQs without queues."""
        return self._rings is not None and not self._rings.bound

    @property
    def lent(self) -> int:
        """Queues of the device's pool that the streams have now."""
        return 0 if self._rings is None else self._rings.lent

    def use_rings(self, rings: DeviceRings) -> None:
        """Keep the entries of software SQs in what the whole tree of models has."""
        self._rings = rings

    def attach(self) -> None:
        """Give software SQs their queues, unless they have them with all that they hold; the lock is held."""
        if self._rings is None:
            return
        tree = [model.stream_set for model in self._model.tree()]
        streams = [stream for members in tree for stream in members.known()]
        if self._rings.complete(streams):
            return
        for members in tree:
            members.use_rings(self._rings)
        self.detach()
        self._rings.bind(streams, self._model.context)
        try:
            for members in tree:
                members.announce()
            self._rings.set_tails()
            for members in tree:
                for link in members.links:
                    link.refresh()
        except BaseException:
            self.detach()
            raise

    def detach(self) -> None:
        """Take the queues of software SQs away; nothing is being executed, and the lock is held."""
        if self._rings is None or not self._rings.bound:
            return
        for model in self._model.tree():
            model.stream_set.retract()
        self._unbind_rings()

    def _unbind_rings(self) -> None:
        """Take the queues of software SQs away, which the task scheduler does not know as the model's any more."""
        if self._rings is not None and (self._rings.bound or self._rings.lent):  # lent: an interrupt broke it off
            self._rings.unbind()
            self._model.execution.launcher.forget()

    def rewrite(self, stream: Stream, position: int, sqes: bytes) -> None:
        """Put other entries in the place of a task; only for software SQs."""
        if self._rings is not None and software_sink(stream) is not None:
            self._rings.rewrite(stream, position, sqes)

    def entry_address(self, stream: Stream, position: int) -> int:
        """Return where an entry of a software SQ lies on the device, 0 while it is on the host only."""
        return 0 if self._rings is None else self._rings.address_of(stream, position)

    def free_rings(self) -> None:
        """Give back the device memory of software SQs, and their queues."""
        if self._rings is not None:
            self._rings.close()

    # -- on another card -------------------------------------------------------------------------------------------

    def lose_queues(self) -> None:
        """Note that the card knows nothing of the model, and that software SQs have no queues."""
        with self.lock:
            self._known.clear()
            self._model.execution.launcher.forget()
            if self._rings is not None:
                self._rings.lose()

    def bind_again(self) -> None:
        """Let the task scheduler of another card know the streams; what their own queues hold may come back then."""
        with self.lock:
            self._publish_all()

    def _publish_all(self) -> None:
        for stream in reversed(self.bound):
            if software_sink(stream) is None:
                self._publish(stream)
                self._announce(stream)


def not_kept(stream: Stream) -> errors.RuntimeFault:
    """Return the fault of a stream that does not keep its tasks where a model is to have it."""
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"stream {stream.stream_id} does not keep its tasks", ee="EE1017",
        params=("bind of a stream to a model", "stream", "it was not made with PERSISTENT"),
        hint="make the stream with StreamFlag.PERSISTENT",
    )


def not_bound(model: ports.Model, stream: Stream, hint: str, message: str = "") -> errors.RuntimeFault:
    """Return the fault of a stream that is not in the model in which it was to be."""
    reason = f"it is not bound to model {model.model_id}"
    return errors.fault(
        "RT_ERROR_STREAM_MODEL", f"stream {stream.stream_id} is not bound to model {model.model_id}", ee=message,
        params=(reason,) if message else (), hint=hint,
    )
