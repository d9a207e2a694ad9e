"""Executions of a model: when it is complete, what has to be ready before each, and what starts it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chips.tasks import ModelOperation
from npuhal.changed import try_lock
from runtime import errors
from runtime.core.callbacks import inside
from runtime.core.stream import blocking
from runtime.feature.graph.execution.model_launcher import ModelLauncher
from runtime.feature.graph.model.aicpu_launcher import AicpuLauncher, check_left_to_aicpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.core.stream.stream import Stream
    from runtime.core.submission.two_tasks import TrySend
    from runtime.feature.graph import ports
    from runtime.feature.graph.model.model_end import ModelEnd
    from runtime.feature.graph.model.model_streams import ModelStreams

_NO_TASK = 0xFFFF
_CLOSE_TRIES = 10_000
_CLOSE_TRY_S = 1e-3
"""A close waits so long for executions."""


class ModelExecution:
    """What executes one model made by hand."""

    __slots__ = ("_ending", "_model", "_streams", "before", "complete", "launcher", "ready")

    def __init__(self, model: ports.Model, streams: ModelStreams, ending: ModelEnd) -> None:
        self._model, self._streams, self._ending = model, streams, ending
        self.complete = False
        """Whether executions were prepared, or will be by the first one."""
        self.before: list[Callable[[], None]] = []
        """What is done on the host before each execution."""
        self.ready: dict[Stream, TrySend] = {}
        """What queues an execution at once, by stream; it returns False where the slow path has to."""
        self.launcher: ports.Launcher = ModelLauncher(model)

    # -- loading ---------------------------------------------------------------------------------------------------

    @property
    def scheduled(self) -> bool:
        """Whether the AICPU schedules the model."""
        return isinstance(self.launcher, AicpuLauncher)

    def leave_to_aicpu(self, stream: Stream) -> None:
        """Let the AICPU schedule the model, for the sake of a stream.

        Raises:
            RuntimeFault 507000: the model has an end that the task scheduler executes.
            NotSupported 207000: the chip executes no models by the AICPU.
        """
        if not self.scheduled:
            check_left_to_aicpu(self._model, stream)
            self.start_by(AicpuLauncher(self._model))

    def start_by(self, launcher: ports.Launcher) -> None:
        """Let something else start the model from now on."""
        self.launcher = launcher

    def load(self) -> None:
        """Declare the model complete; see `Model.load`."""
        launcher = self.launcher
        if not self._streams.bound:
            raise self._unready("RT_ERROR_MODEL_STREAM", "it has no stream")
        if not isinstance(launcher, AicpuLauncher) and self._ending.notify is None:
            raise self._unready("RT_ERROR_MODEL_NOT_END", "it has no end")
        with self._streams.lock:
            self._streams.attach()
            if isinstance(launcher, AicpuLauncher):
                launcher.load()
            else:
                self.prepare_on_device()
            self.complete = True

    def load_again(self) -> None:
        """Let the task scheduler prepare executions again, if the model was complete."""
        with self._streams.lock:
            if self.complete and self._ending.notify is not None:
                self._streams.attach()
                self.prepare_on_device()

    def prepare_on_device(self, notify_id: int | None = None) -> None:
        """Let the task scheduler prepare executions, whose end a notify shows: the model's own, or another one."""
        if notify_id is None:
            assert self._ending.notify is not None
            notify_id = self._ending.notify.notify_id
        self._streams.send_message(
            ModelOperation.PRE_PROCESS, self._streams.sender, first_task_id=_NO_TASK, endgraph_notify_id=notify_id,
            executor_flag=self._model.executor,
        )

    def _unready(self, code: str, reason: str) -> errors.RuntimeFault:
        model_id = self._model.model_id
        return errors.fault(
            code, f"model {model_id} is not ready: {reason}", ee="EE1018", params=(f"model {model_id}", reason),
            hint="bind streams, end the model, then load it",
        )

    # -- executing -------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""
        return self.launcher.running

    def queue(self, stream: Stream) -> None:
        """Check everything, and queue one execution: the slow path of `Model.execute`."""
        if self._model.closed:
            self._model.check_open()
        self.check_ready()
        if stream.blocked or stream.bound is not None or stream.never_waited:
            _check_stream(stream)
        with self._streams.lock:
            if self.before or self._streams.unattached:
                self._prepare()
            self.launcher(stream)
        blocking.finish(stream)

    def check_ready(self) -> None:
        """Raise where the model cannot be queued for execution yet.

        Raises:
            ModelError 507011: it has no end, or was not loaded.
        """
        if self.complete:
            return
        if self._ending.notify is None and not self.scheduled:
            raise self._unready("RT_ERROR_MODEL_EXE_FAILED", "it has no end")
        raise errors.fault(
            "RT_ERROR_MODEL_EXE_FAILED", f"model {self._model.model_id} was not loaded", hint="load() it first"
        )

    def execute_now(self, timeout_ms: int) -> None:
        """Execute and wait; see `Model.execute_now`."""
        launcher = self.launcher
        if isinstance(launcher, AicpuLauncher):
            self.check_ready()
            with self._streams.lock:
                self._prepare()
            launcher.execute_now(timeout_ms)
            return
        if self._ending.notify is None:
            raise self._unready("RT_ERROR_MODEL_EXE_FAILED", "it has no end")
        stream = self._model.context.default_stream
        with self._streams.lock:
            self._prepare()
            launcher(stream)
        stream.synchronizes += 1
        stream.settle(timeout_ms)

    def _prepare(self) -> None:
        """Do what has to be done before an execution; the lock is held."""
        if self._streams.unattached:
            self.attach()
        for each in self.before:
            each()

    def attach(self) -> None:
        """Give software SQs what they need to be executed; the lock is held."""
        self._streams.attach()

    def abort(self) -> None:
        """Stop an execution; the streams that wait for it go on with the failure 507023."""
        if isinstance(self.launcher, AicpuLauncher):
            self.launcher.abort()
        else:
            self._streams.send_message(ModelOperation.ABORT, self._streams.sender)

    # -- between executions ----------------------------------------------------------------------------------------

    def idle(self) -> bool:
        """Whether no execution is queued or being queued; False where that is not known yet. Never waits."""
        lock = self._streams.lock
        for taken in try_lock(lock):
            if taken:
                try:
                    return not self.running
                finally:
                    lock.release()
        return False

    def before_each(self, call: Callable[[], None]) -> None:
        """Call something on the host before each execution."""
        with self._streams.lock:
            self.before.append(call)
            self.launcher.look()

    def lend_back(self) -> int:
        """Give queues back to the pool if nothing is being executed; returns how many."""
        if not self._streams.lent:
            return 0
        for taken in try_lock(self._streams.lock):
            if taken:
                try:
                    count = self._streams.lent if self.launcher.settled() else 0
                    if count:
                        self._streams.detach()
                        self._ending.give_back()
                    return count
                finally:
                    self._streams.lock.release()
        return 0

    def wait_idle(self) -> None:
        """Wait until no execution is left.

        Raises:
            ModelError 107037: one does not end.
        """
        for _ in range(_CLOSE_TRIES):
            for stream in self._model.context.all_streams():
                if not self.running:
                    return
                if stream.ring.pending:
                    stream.drain()
            inside.check_model(self._model.root, "close")
            time.sleep(_CLOSE_TRY_S)
        raise errors.fault(
            "RT_ERROR_MODEL_RUNNING", f"model {self._model.model_id} is being executed and does not end",
            hint="synchronize the streams that execute it first",
        )


def _check_stream(stream: Stream) -> None:
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
