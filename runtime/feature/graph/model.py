"""Models: streams whose tasks are kept, and executed together as often as wanted (core_spec 17)."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from chips.blocks import blocks
from chips.cond.device import CondDevice
from chips.cond.model import ModelExecute as StartProgram
from chips.env import TaskIds
from chips.memory_rules import internal_flags
from chips.tasks import ModelExecute, ModelMaintenance, ModelOperation, NotifyWait
from runtime import errors
from runtime.core.failure import FailureMode
from runtime.core.notify import Notify
from runtime.core.refs import dead_handle
from runtime.core.ring import Label
from runtime.core.stream import StreamFlag
from runtime.driver import ids as id_kinds

if TYPE_CHECKING:
    from runtime.core.context import Context
    from runtime.core.stream import Stream

_NO_TASK = 0xFFFF
_FOR_EVER = 0xFFFFFFFF
_WORD_BYTES = 8
_TRACE_BYTES = 64
"""Where the starting program leaves what went wrong."""
_EXECUTOR_SCHEDULER = 3
_CLOSE_TRIES = 10_000
_CLOSE_TRY_S = 1e-3
"""A close waits so long for executions."""


class Model:
    """A set of bound streams with an end. Made by hand: bind, submit, `end`, `complete`, `execute`."""

    __slots__ = ("__weakref__", "_counters", "_function", "_lock", "_started_later", "_tries", "closed", "complete",
                 "context", "device", "end_notify", "handle", "model_id", "name", "running", "streams")  # fmt: skip

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
        self.end_notify: Notify | None = None
        """What the last task sets; there once the model has an end."""
        self.complete = self.closed = False
        self.running = 0
        """Executions that are not known to be over."""
        self._started_later: set[int] = set()
        self._counters: dict[int, int] = {}
        self._function = 0
        self._lock = threading.Lock()
        self.handle = self.device.runtime.handles.add(self)
        context.models.add(self)

    # -- building --------------------------------------------------------------------------------------------------

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Let the model keep what is submitted to a stream.

        Args:
            head: the stream starts with the model; otherwise a task of another stream has to activate it.

        Raises:
            InvalidArgument 107000: the stream does not keep its tasks.
            StreamError 107005: it is in a model already.
            NotSupported 207000: it stops at failures, or has no queue of its own (STARS v2 with dynamic binding).
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
        if not stream.route.immediate:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"stream {stream.stream_id} has no queue of its own: "
                f"{stream.route.name}",
                hint="capture a stream into a graph instead",
            )
        self._add(stream, head=head)

    def _add(self, stream: Stream, *, head: bool) -> None:
        """Tell the task scheduler that a stream is the model's; a failure leaves it as it was."""
        counter = self.device.executed_words.address(stream.stream_id)
        if stream.env.chip.generation != "v100":
            self.device.sq_registers.write(stream.queues.sq_id, self.device.queues.register_base(stream.queues.sq_id))
        stream.bound = self
        try:
            self._maintain(ModelOperation.STREAM_ADD, stream, exec_times_addr=counter)
        except BaseException:
            stream.bound = None
            raise
        self._counters[stream.stream_id] = counter
        self.streams.insert(0, stream)
        self.context.streams.remove(stream)
        if not head:
            self._started_later.add(stream.stream_id)

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
        self._remove(stream)

    def _remove(self, stream: Stream) -> None:
        self._maintain(ModelOperation.STREAM_DELETE, stream)
        stream.bound = None
        self.streams.remove(stream)
        self._started_later.discard(stream.stream_id)
        self._counters.pop(stream.stream_id, None)
        self.context.streams.add(stream)

    @property
    def _sender(self) -> Stream:
        """The stream for messages: the control stream, or the context's default one where the chip has none."""
        control = self.device.control_stream
        return self.context.default_stream if control is self.device.primary_stream else control

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
        notify = Notify(self.device)
        try:
            notify.record(stream)
        except BaseException:
            notify.close()
            raise
        self.end_notify = notify

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
        self._maintain(
            ModelOperation.PRE_PROCESS, self._sender, first_task_id=_NO_TASK,
            endgraph_notify_id=self.end_notify.notify_id, executor_flag=self.executor,
        )
        self.complete = True

    def _unready(self, code: str, reason: str) -> errors.RuntimeFault:
        return errors.fault(
            code, f"model {self.model_id} is not ready: {reason}", ee="EE1018",
            params=(f"model {self.model_id}", reason), hint="bind streams, end the model, then load it",
        )

    # -- execution -------------------------------------------------------------------------------------------------

    def execute(self, stream: Stream) -> None:
        """Queue one execution: the stream goes on when the model's end was reached.

        Raises:
            ModelError 507011: the model has no end, or was not loaded.
            InvalidArgument 107000: the stream is itself in a model, or keeps its tasks where the chip cannot start a
                model from such a stream.
        """
        self.check_open()
        self.check_executable()
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
        self._start(stream)

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
        self._start(stream)
        stream.synchronize(timeout_ms)

    def _start(self, stream: Stream) -> None:
        assert self.end_notify is not None
        task = self._program(stream)
        wait = NotifyWait(notify_id=self.end_notify.notify_id, timeout_s=_FOR_EVER)
        with self._lock:
            stream.submit(task, owner=Label(task.type, f"model {self.model_id}"))
            self.running += 1
            stream.submit(wait, owner="end of a model", finished=self._executed)

    def _executed(self) -> None:
        self.running -= 1

    def _program(self, stream: Stream) -> ModelExecute:
        """Return the task that starts the head streams; the program is written for the first execution."""
        heads = [each for each in reversed(self.streams) if each.stream_id not in self._started_later]
        task = ModelExecute(
            model_id=self.model_id, head_sq_ids=tuple(each.queues.sq_id for each in heads),
            exec_times_addrs=tuple(self._counters[each.stream_id] for each in heads),
        )
        code_bytes = StartProgram.program(CondDevice.of(stream.env).generation).size_bytes
        memory, table_bytes = self.device.memory, 2 * _WORD_BYTES * len(heads)
        with self._lock:
            function = self._function or memory.alloc(code_bytes + table_bytes + _TRACE_BYTES, internal_flags(hbm=True))
            placed = replace(task, function=function, function_bytes=code_bytes,
                             trace_addr=function + code_bytes + table_bytes)
            if self._function:
                return placed
            try:
                for block in blocks(placed, stream.env, TaskIds(0)):
                    memory.write(block.address, block.data)
            except BaseException:
                memory.free(function)
                raise
            self._function = function
            return placed

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
        try:
            for stream in list(self.streams):
                self._remove(stream)
                self._release_stream(stream)
        finally:
            self._release()

    def _release_stream(self, stream: Stream) -> None:
        """What becomes of a stream when its model ends: it is its context's again."""

    def _release(self) -> None:
        if self.end_notify is not None:
            self.end_notify.close()
        if self._function:
            self.device.memory.free(self._function)
        self.device.ids.free(id_kinds.MODEL, self.model_id)

    def _wait_idle(self) -> None:
        for _ in range(_CLOSE_TRIES):
            for stream in self.context.all_streams():
                if stream.ring.pending:
                    stream.drain()
            if not self.running:
                return
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
