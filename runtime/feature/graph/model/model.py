"""Models: streams whose tasks are kept, and executed together as often as wanted (core_spec 17)."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from chips.tasks import ModelOperation, NotifyRecord
from runtime import errors
from runtime.core.callbacks import inside
from runtime.core.process.handles import dead_handle
from runtime.core.stream import blocking
from runtime.core.stream.failure import FailureMode
from runtime.core.stream.stream import StreamFlag
from runtime.core.sync.notify import Notify
from runtime.driver import resources as id_kinds
from runtime.feature.graph.execution.model_launcher import ModelLauncher
from runtime.feature.graph.execution.rings import software_sink
from runtime.feature.graph.model.aicpu_launcher import AicpuLauncher, check_left_to_aicpu
from runtime.feature.graph.model.links import Split
from runtime.feature.graph.model.model_sink import ModelSink, model_sink_of
from runtime.feature.graph.model.model_streams import ModelStreams
from runtime.feature.graph.recording.node import Node
from runtime.feature.graph.recording.node_list import Noted

if TYPE_CHECKING:
    from collections.abc import Callable

    from chips.env import TaskIds
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.two_tasks import TrySend
    from runtime.feature.graph.model.model_sink import TaskRecorder

_NO_TASK = 0xFFFF
_EXECUTOR_SCHEDULER = 3
_CLOSE_TRIES = 10_000
_CLOSE_TRY_S = 1e-3
"""A close waits so long for executions."""


class Model(ModelStreams):
    """A set of bound streams with an end. Made by hand: bind, submit, `end`, `load`, `execute`."""

    __slots__ = (
        "__weakref__", "_end", "before", "cache_ids", "closed", "end_notify", "handle", "name", "noted", "operators",
        "ready", "resources", "texts", "watchers")  # fmt: skip

    executor = _EXECUTOR_SCHEDULER
    """Who executes it, as the task scheduler is told."""
    captured = False
    """Whether a capture has made it."""

    def __init__(self, context: Context) -> None:
        """Take a model id.

        Raises:
            ResourceExhausted 207010: the device has none left.
        """
        super().__init__(context)
        self.name = ""
        self.noted = Noted()
        self.end_notify: Notify | None = None
        """What the last task sets; there once the model has an end."""
        self._end: tuple[Stream, TaskIds, Notify] | None = None
        """Where the last task is, and what it sets."""
        self.closed = False
        self.before: list[Callable[[], None]] = []
        """What is done on the host before each execution."""
        self.resources: ExitStack = ExitStack()
        """What else goes with the model."""
        self.cache_ids: dict[int, int] = {}
        """The device's ids of cache operations, by those that tasks of the model name them by."""
        self.texts: dict[Node, str] = {}
        """What was said of tasks, for the debug output."""
        self.operators: dict[Node, Any] = {}
        """What was said of the operators that tasks belong to; kept for whoever has said it."""
        self.watchers: dict[object, Callable[[], object]] = {}
        """Who is told when the model ends, by what they registered with."""
        self.ready: dict[Stream, TrySend] = {}
        """What queues an execution at once, by stream; it returns False where one has to be looked at."""
        self.starter = ModelLauncher(self)
        self.handle = self.device.runtime.handles.add(self)
        context.models.add(self)

    @property
    def nodes(self) -> list[Node]:
        """What the streams hold, in the order in which it was submitted."""
        return self.noted.all()

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""
        return self.starter.running

    # -- building --------------------------------------------------------------------------------------------------

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Let the model keep what is submitted to a stream.

        Args:
            head: the stream starts with the model; otherwise a task of another stream has to activate it.

        Raises:
            InvalidArgument 107000: the stream does not keep its tasks.
            StreamError 107005: it is in a model already.
            RuntimeFault 507000: the AICPU schedules it, and the model has an end for the task scheduler.
            NotSupported 207000: it stops at failures.
        """
        self.check_open()
        stream.check_open()
        if not stream.flags & (StreamFlag.PERSISTENT | StreamFlag.CPU_SCHEDULE):
            raise self.not_kept(stream)
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
        if stream.flags & StreamFlag.CPU_SCHEDULE and not isinstance(self.starter, AicpuLauncher):
            check_left_to_aicpu(self, stream)
            self.starter = AicpuLauncher(self)
        self.enlist(stream, head=head)
        self.context.streams.remove(stream)
        if software_sink(stream) is not None and (sink := model_sink_of(stream)) is not None:
            sink.split = Split(self, stream)

    @staticmethod
    def not_kept(stream: Stream) -> errors.RuntimeFault:
        """Return the fault of a stream that does not keep its tasks where a model is to have it."""
        return errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"stream {stream.stream_id} does not keep its tasks", ee="EE1017",
            params=("bind of a stream to a model", "stream", "it was not made with PERSISTENT"),
            hint="make the stream with StreamFlag.PERSISTENT",
        )

    @property
    def scheduled(self) -> bool:
        """Whether the AICPU schedules it."""
        return isinstance(self.starter, AicpuLauncher)

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
        if isinstance(self.starter, AicpuLauncher):
            self.starter.end(stream)
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
        if isinstance(self.starter, AicpuLauncher):
            with self._lock:
                self._attach()
                self.starter.load()
                self.complete = True
            return
        if self.end_notify is None:
            raise self._unready("RT_ERROR_MODEL_NOT_END", "it has no end")
        with self._lock:
            self._attach()
            self.tell_complete(self.end_notify.notify_id)
            self.complete = True

    def end_again(self, stream: Stream, notify: Notify | None = None) -> None:
        """TrySend the end of the model at a stream's place, or let the one that is there set another notify.

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
            ModelOperation.PRE_PROCESS, self.sender, first_task_id=_NO_TASK, endgraph_notify_id=notify_id,
            executor_flag=self.executor,
        )

    # -- tasks in its streams --------------------------------------------------------------------------------------

    def _sink_for(self, stream: Stream) -> ModelSink:
        """Return what puts the tasks of a bound stream."""
        return ModelSink(self, self.recorder, stream)

    @property
    def recorder(self) -> TaskRecorder:
        """What keeps the tasks of its streams."""
        return self.noted

    def _unready(self, code: str, reason: str) -> errors.RuntimeFault:
        return errors.fault(
            code, f"model {self.model_id} is not ready: {reason}", ee="EE1018",
            params=(f"model {self.model_id}", reason), hint="bind streams, end the model, then load it",
        )

    # -- queues ----------------------------------------------------------------------------------------------------

    def tree(self) -> list[Model]:
        """Return the model and those that it starts itself."""
        return [self]

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
            count = self._rings.lent if self.starter.settled() else 0
            if count:
                self._detach()
                self._forget_end()
            return count
        finally:
            self._lock.release()

    def load_again(self) -> None:
        """Let the task scheduler prepare executions again, if the model was complete."""
        with self._lock:
            if self.complete and self.end_notify is not None:
                self._attach()
                self.tell_complete(self.end_notify.notify_id)

    # -- execution -------------------------------------------------------------------------------------------------

    def execute(self, stream: Stream) -> None:
        """Queue one execution: the stream goes on when the model's end was reached. Waits where launches block.

        Raises:
            ModelError 507011: the model has no end, or was not loaded.
            InvalidArgument 107000: the stream is itself in a model, or keeps its tasks where the chip cannot start a
                model from such a stream.
        """
        put = self.ready.get(stream)
        if put is None or not put():
            self._execute(stream)

    def _execute(self, stream: Stream) -> None:
        """Look at everything, and queue one execution."""
        if self.closed:
            self.check_open()
        self.check_executable()
        if stream.blocked or stream.bound is not None or stream.never_waited:
            self._check_stream(stream)
        with self._lock:
            if self.before or (self._rings is not None and not self._rings.bound):
                self._prepare()
            self.starter(stream)
        blocking.finish(stream)

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
            if self.end_notify is None and not self.scheduled:
                raise self._unready("RT_ERROR_MODEL_EXE_FAILED", "it has no end")
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
        if isinstance(self.starter, AicpuLauncher):
            self.check_executable()
            with self._lock:
                self._prepare()
            self.starter.execute_now(timeout_ms)
            return
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
        if isinstance(self.starter, AicpuLauncher):
            self.starter.abort()
        else:
            self._maintain(ModelOperation.ABORT, self.sender)

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
        self.starter.look()
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
                if not self.running:
                    return
                if stream.ring.pending:
                    stream.drain()
            inside.check_model(self.root, "close")
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
