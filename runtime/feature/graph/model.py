"""Models: streams whose tasks are kept, and executed together as often as wanted (core_spec 17)."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chips.tasks import ModelMaintenance, ModelOperation, NotifyRecord
from runtime import errors
from runtime.core import teardown
from runtime.core.failure import FailureMode
from runtime.core.notify import Notify
from runtime.core.refs import dead_handle
from runtime.core.stream import StreamFlag
from runtime.driver import ids as id_kinds
from runtime.feature.graph.links import Link, Split
from runtime.feature.graph.node import Node
from runtime.feature.graph.rings import DeviceRings, route_of
from runtime.feature.graph.start import Starter

if TYPE_CHECKING:
    from collections.abc import Callable

    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.context import Context
    from runtime.core.ring import Label
    from runtime.core.stream import Stream
    from runtime.memory.arguments import ArgumentBlock

_NO_TASK = 0xFFFF
_EXECUTOR_SCHEDULER = 3
_CLOSE_TRIES = 10_000
_CLOSE_TRY_S = 1e-3
"""A close waits so long for executions."""


class Model:
    """A set of bound streams with an end. Made by hand: bind, submit, `end`, `load`, `execute`."""

    __slots__ = (
        "__weakref__", "_counters", "_end", "_lock", "_rings", "_started_later", "_told", "before", "closed",
        "complete", "context", "device", "end_notify", "handle", "links", "live", "model_id", "name", "nodes", "resources",
        "starter", "streams", "watchers",
    )  # fmt: skip

    executor = _EXECUTOR_SCHEDULER
    """Who executes it, as the task scheduler is told."""
    captured = False
    """Whether a capture has made it."""

    def __init__(self, context: Context) -> None:
        """Take a model id.

        Raises:
            ResourceExhausted 207010: the device has none left.
        """
        context.check_open()
        self.context, self.device = context, context.device
        self.model_id = self.device.ids.alloc(id_kinds.MODEL)
        self.name = ""
        self.streams: list[Stream] = []
        """Bound streams, the newest first."""
        self.nodes: list[Node] = []
        """What the streams hold, in the order in which it was submitted."""
        self.end_notify: Notify | None = None
        """What the last task sets; there once the model has an end."""
        self._end: tuple[Stream, TaskIds, Notify] | None = None
        """Where the last task is, and what it sets."""
        self.complete = self.closed = False
        self.live: deque[None] = deque()
        """One entry for each execution that is not known to be over."""
        self.links: list[Link] = []
        """Tasks that start other streams."""
        self.before: list[Callable[[], None]] = []
        """What is done on the host before each execution."""
        self.resources: ExitStack = ExitStack()
        """What else goes with the model."""
        self.watchers: dict[object, Callable[[], object]] = {}
        """Who is told when the model ends, by what they registered with."""
        self.starter = Starter(self)
        self._rings: DeviceRings | None = None
        self._started_later: set[Stream] = set()
        self._told: set[Stream] = set()
        """Streams that the task scheduler knows as the model's."""
        self._counters: dict[Stream, int] = {}
        self._lock = threading.RLock()
        self.handle = self.device.runtime.handles.add(self)
        context.models.add(self)

    @property
    def running(self) -> int:
        """Executions that are not known to be over."""
        return len(self.live)

    # -- building --------------------------------------------------------------------------------------------------

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Let the model keep what is submitted to a stream.

        Args:
            head: the stream starts with the model; otherwise a task of another stream has to activate it.

        Raises:
            InvalidArgument 107000: the stream does not keep its tasks.
            StreamError 107005: it is in a model already.
            NotSupported 207000: it stops at failures.
        """
        self.check_open()
        stream.check_open()
        if not stream.flags & StreamFlag.PERSISTENT:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"stream {stream.stream_id} does not keep its tasks", ee="EE1017",
                params=("bind of a stream to a model", "stream", "it was not made with PERSISTENT"),
                hint="make the stream with StreamFlag.PERSISTENT",
            )
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
        self.enlist(stream, head=head)
        self.context.streams.remove(stream)
        if route_of(stream) is not None:
            stream.split = Split(self, stream)

    def enlist(self, stream: Stream, *, head: bool) -> None:
        """Make a stream the model's; the task scheduler learns of those that have no queue yet when they get one."""
        self._counters[stream] = self.device.executed_words.address(stream.stream_id)
        self._publish(stream)
        stream.bound = self
        stream.shots.clear()
        try:
            if route_of(stream) is None:
                self._tell_added(stream)
            elif self._rings is None:
                self._rings = DeviceRings(self.device)
        except BaseException:
            stream.bound = None
            del self._counters[stream]
            raise
        self.streams.insert(0, stream)
        if not head:
            self._started_later.add(stream)

    def _publish(self, stream: Stream) -> None:
        """Write down where the registers of a stream's queue are, for programs on the device."""
        if self.device.chip.generation != "v100" and stream.has_queue:
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
        if stream.bound is not self:
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
        following = [] if stream.split is None else stream.split.streams
        stream.bound = stream.split = None
        self.streams.remove(stream)
        self._started_later.discard(stream)
        self._counters.pop(stream, None)
        for each in following:
            if each in self.streams:
                self._remove(each)
            teardown.drop(each)
        if self._rings is not None:
            self._rings.forget(stream)
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

    def heads(self) -> list[Stream]:
        """Return the streams that start with the model, the oldest first."""
        return [each for each in reversed(self.streams) if each not in self._started_later]

    def counter(self, stream: Stream) -> int:
        """Return the address of the word that counts how often a stream was started."""
        return self._counters[stream]

    @property
    def _sender(self) -> Stream:
        """The stream for messages: the control stream, or the context's default one where the chip has none."""
        device, context = self.device, self.context
        if device.control_stream is not device.primary_stream or context.closed:
            return device.control_stream
        return context.default_stream

    def _maintain(self, operation: ModelOperation, stream: Stream, **facts: int) -> None:
        """Send a message about the model, and wait until it was read."""
        sender = self._sender
        task = ModelMaintenance(
            operation=operation, model_id=self.model_id, stream_id=stream.stream_id, sq_id=stream.queues.sq_id, **facts
        )
        sender.submit(task, owner=f"model {operation.name.lower().replace('_', ' ')}")
        sender.synchronize()

    def end(self, stream: Stream) -> None:
        """Make a stream's place the end of the model; a second end changes nothing.

        Raises:
            ResourceExhausted 207009: no notify is left for it.
            StreamError 107005: the stream is not in the model.
        """
        self.check_open()
        stream.check_not_captured("end of a model")
        if self.end_notify is not None:
            return
        if stream.bound is not self:
            raise errors.fault(
                "RT_ERROR_STREAM_MODEL", f"stream {stream.stream_id} is not bound to model {self.model_id}",
                hint="end the model in one of its own streams",
            )
        self.end_again(stream)

    def load(self) -> None:
        """Declare the model complete: the task scheduler prepares its execution.

        Raises:
            StreamError 107005: it has no stream.
            ModelError 507011: it has no end.
        """
        self.check_open()
        if not self.streams:
            raise self._unready("RT_ERROR_MODEL_STREAM", "it has no stream")
        if self.end_notify is None:
            raise self._unready("RT_ERROR_MODEL_NOT_END", "it has no end")
        with self._lock:
            self._attach()
            self.tell_complete(self.end_notify.notify_id)
            self.complete = True

    def end_again(self, stream: Stream, notify: Notify | None = None) -> None:
        """Put the end of the model at a stream's place, or let the one that is there set another notify.

        Args:
            notify: what the end sets; by default one of the model's own, which is taken if it has none.
        """
        own = notify is None
        if own and self.end_notify is not None:
            return
        notify = notify or Notify(self.device)
        task = NotifyRecord(notify_id=notify.notify_id)
        try:
            if self._end is None:
                last = stream.target
                self._end = last, last.submit(task, owner="end of a model"), notify
            elif self._end[2] is not notify:
                last, ids, _ = self._end
                self.rewrite(last, ids.position, last.plugin.encode(task, last.env, ids))
                self._end = last, ids, notify
        except BaseException:
            if own:
                notify.close()
            raise
        if own:
            self.end_notify = notify

    def tell_complete(self, notify_id: int) -> None:
        """Let the task scheduler prepare executions, whose end a notify shows."""
        self._maintain(
            ModelOperation.PRE_PROCESS, self._sender, first_task_id=_NO_TASK, endgraph_notify_id=notify_id,
            executor_flag=self.executor,
        )

    # -- tasks in its streams --------------------------------------------------------------------------------------

    def admit(self, stream: Stream, label: Label) -> None:
        """Refuse a task that a stream of the model cannot take now."""

    def note(
        self, stream: Stream, task: Task, label: Label, ids: TaskIds, count: int, arguments: ArgumentBlock | None,
        address: int = 0,
    ) -> None:
        """Keep a task that was put into a stream of the model."""
        self.nodes.append(Node(stream, stream, ids, count, label, task, arguments, None, address))

    def spoil(self, failure: BaseException) -> None:
        """A task could not be put into a stream of the model."""

    def _unready(self, code: str, reason: str) -> errors.RuntimeFault:
        return errors.fault(
            code, f"model {self.model_id} is not ready: {reason}", ee="EE1018",
            params=(f"model {self.model_id}", reason), hint="bind streams, end the model, then load it",
        )

    # -- software SQs ----------------------------------------------------------------------------------------------

    def tree(self) -> list[Model]:
        """Return the model and those that it starts itself."""
        return [self]

    def _attach(self) -> None:
        """Give software SQs their queues, unless they have them with all that they hold; the lock is held."""
        if self._rings is None:
            return
        tree = self.tree()
        streams = [stream for model in tree for stream in model.streams]
        if self._rings.complete(streams):
            return
        for model in tree:
            model._rings = self._rings
        self._detach()
        self._rings.bind(streams, self.context)
        try:
            for model in tree:
                for stream in model.streams:
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

    def _forget_end(self) -> None:
        """Give the notify of the end back, for another model to take; the next execution takes one again."""
        if self.end_notify is not None:
            self.end_notify.close()
            self.end_notify = None

    def lend_back(self) -> int:
        """Give queues back to the pool if nothing is being executed; returns how many."""
        if self._rings is None or not self._rings.lent or not self._lock.acquire(blocking=False):
            return 0
        try:
            count = 0 if self.live else self._rings.lent
            if count:
                self._detach()
                self._forget_end()
            return count
        finally:
            self._lock.release()

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
                if route_of(stream) is None:
                    self._publish(stream)
                    self._tell_added(stream)

    def load_again(self) -> None:
        """Let the task scheduler prepare executions again, if the model was complete."""
        with self._lock:
            if self.complete and self.end_notify is not None:
                self._attach()
                self.tell_complete(self.end_notify.notify_id)

    # -- entries ---------------------------------------------------------------------------------------------------

    def rewrite(self, stream: Stream, position: int, sqes: bytes) -> None:
        """Put other entries in the place of a task; only for software SQs."""
        if self._rings is not None and route_of(stream) is not None:
            self._rings.rewrite(stream, position, sqes)

    # -- execution -------------------------------------------------------------------------------------------------

    def execute(self, stream: Stream) -> None:
        """Queue one execution: the stream goes on when the model's end was reached.

        Raises:
            ModelError 507011: the model has no end, or was not loaded.
            InvalidArgument 107000: the stream is itself in a model, or keeps its tasks where the chip cannot start a
                model from such a stream.
        """
        if self.closed:
            self.check_open()
        self.check_executable()
        if stream.barred or stream.bound is not None or stream.never_waited:
            self._check_stream(stream)
        with self._lock:
            if self.before or (self._rings is not None and not self._rings.bound):
                self._prepare()
            self.starter(stream)

    def _check_stream(self, stream: Stream) -> None:
        """Raise where a model cannot be executed in a stream."""
        stream.check_open()
        stream.check_not_captured("execute of a model")
        if stream.bound is not None:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"stream {stream.stream_id} is bound to a model and cannot execute one",
                ee="EE1017", params=("execute of a model", "stream", "it is bound to a model"),
                hint="execute it in an ordinary stream",
            )
        if stream.never_waited and not stream.counts_ids:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"stream {stream.stream_id} keeps its tasks and cannot execute a model",
                ee="EE1006", params=("execute of a model", "stream", "it keeps its tasks"),
                hint="execute it in an ordinary stream",
            )

    def check_executable(self) -> None:
        """Raise where the model cannot be queued for execution yet."""
        if not self.complete:
            raise errors.fault(
                "RT_ERROR_MODEL_EXE_FAILED", f"model {self.model_id} was not loaded", hint="load() it first"
            )

    def execute_now(self, timeout_ms: int) -> None:
        """Execute on the context's default stream and wait; the model only needs its end for that.

        Raises:
            ModelError 507011: it has none.
            Timeout 507046: not done in time; everything goes on.
        """
        self.check_open()
        if self.end_notify is None:
            raise self._unready("RT_ERROR_MODEL_EXE_FAILED", "it has no end")
        stream = self.context.default_stream
        with self._lock:
            self._prepare()
            self.starter(stream)
        stream.synchronize(timeout_ms)

    def _prepare(self) -> None:
        """Make ready what executions need; the lock is held."""
        if self._rings is not None and not self._rings.bound:
            self._make_ready()
        for each in self.before:
            each()

    def _make_ready(self) -> None:
        """Give software SQs what they need to be executed."""
        self._attach()

    def abort(self) -> None:
        """Stop an execution; the streams that wait for it go on with the failure 507023.

        Raises:
            NotSupported 207000: it was captured.
        """
        self.check_open()
        if self.captured:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} was captured and cannot be aborted",
                hint="abort the stream that executes it",
            )
        self._maintain(ModelOperation.ABORT, self._sender)

    # -- end -------------------------------------------------------------------------------------------------------

    def close(self, *, force: bool = False) -> None:
        """Wait for executions, then give streams, notify and id back. Closing twice does nothing.

        Args:
            force: do not wait.

        Raises:
            ModelError 107037: an execution does not end; the model stays.
        """
        if self.closed:
            return
        if not force:
            self._wait_idle()
        self.closed = True
        self.device.runtime.handles.remove(self.handle)
        self.context.models.remove(self)
        with ExitStack() as steps:  # runs all of them, last added first, and raises the last failure
            for tell in reversed(self.watchers.values()):
                steps.callback(tell)
            steps.callback(self._release)
            steps.callback(self._release_streams)

    def _release_streams(self) -> None:
        with ExitStack() as steps:  # as in `close`
            for stream in reversed(self.streams):
                steps.callback(self._let_go, stream)
            self._detach()

    def _let_go(self, stream: Stream) -> None:
        if stream in self.streams:  # it may have gone with another one
            try:
                self._remove(stream)
            finally:
                self._release_stream(stream)

    def _release_stream(self, stream: Stream) -> None:
        """What becomes of a stream when its model ends: it is its context's again."""

    def _release(self) -> None:
        with ExitStack() as steps:
            steps.callback(self.device.ids.free, id_kinds.MODEL, self.model_id)
            if self.end_notify is not None:
                steps.callback(self.end_notify.close)
            steps.callback(self.starter.close)
            if self._rings is not None:
                steps.callback(self._rings.close)
            steps.push(self.resources.pop_all())

    def _wait_idle(self) -> None:
        for _ in range(_CLOSE_TRIES):
            for stream in self.context.all_streams():
                if not self.live:
                    return
                if stream.ring.pending:
                    stream.drain()
            time.sleep(_CLOSE_TRY_S)
        raise errors.fault(
            "RT_ERROR_MODEL_RUNNING", f"model {self.model_id} is being executed and does not end",
            hint="synchronize the streams that execute it first",
        )

    def check_open(self) -> None:
        """Raise where the model was closed."""
        if self.closed:
            raise dead_handle("model", f"model {self.model_id}")

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{len(self.streams)} streams"
        return f"<model {self.name or self.model_id} of device {self.device.user_id}, {state}>"
