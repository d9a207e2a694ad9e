"""Starting a model: the program that activates its head streams, and the two tasks that each execution sends.

Both tasks are the same for every execution in one stream, so they are prepared once per stream and sent together. What
an execution costs on the host does not depend on how many tasks the model has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.blocks import blocks
from chips.env import TaskIds
from chips.memory_rules import internal_flags
from chips.programs.device import CondDevice
from chips.programs.model import ModelExecute as StartProgram
from chips.tasks import ModelExecute, NotifyWait
from runtime.core.stream.blocking import blocks as waits
from runtime.core.submission.epoch import EpochFlag
from runtime.core.submission.ring import TaskInfo
from runtime.core.submission.two_tasks import TwoTaskSend
from runtime.errors.arguments import check_same_runtime
from runtime.feature.graph.execution.inside import TasksOfModel

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import Finished
    from runtime.feature.graph import ports

_FOR_EVER = 0xFFFFFFFF
_WORD_BYTES = 8
_TRACE_BYTES = 64
"""Where a starting program leaves what went wrong."""


class ModelLauncher:
    """What starts one model. The program names the queues of the head streams: it is written again when they change."""

    __slots__ = ("_capacity", "_function", "_model", "_sends", "_tasks", "epoch")

    def __init__(self, model: ports.Model) -> None:
        self._model = model
        self._function = self._capacity = 0
        self._tasks: tuple[ModelExecute, NotifyWait] | None = None
        self._sends: dict[StreamPort, TwoTaskSend] = {}
        """What an execution sends, by stream."""
        self.epoch = EpochFlag()
        """Blocked while executions have to take the slow path."""

    def forget(self) -> None:
        """Prepare everything again for the next execution: queues or the notify of the end have changed."""
        self._tasks = None
        self.look()

    def look(self) -> None:
        """Let the next execution in each stream take the slow path."""
        self.epoch.renew()
        self._model.execution.ready.clear()

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""
        return bool(self._sends) and any(both.pending for both in tuple(self._sends.values()))

    def runs_in(self, stream: StreamPort) -> bool:
        """Whether a stream waits for an execution."""
        both = self._sends.get(stream)
        return both is not None and both.pending

    def settled(self) -> bool:
        """Let each execution take the slow path from now on; returns whether all that were queued before are over.

        Called with the model's lock held, so that the slow path has to wait.
        """
        self.look()
        for stream in tuple(self._sends):
            with stream.lock:
                pass  # whoever was sending is through
        return not self.running

    def __call__(self, stream: Stream, over: Finished | None = None) -> None:
        """Execute the model once in a stream; the caller holds the model's lock.

        Args:
            over: called when the execution is over.
        """
        both = self._sends.get(stream)
        if both is None:
            check_same_runtime("execution of a model", stream.device, self._model)
        start, wait = self._tasks or self._prepare(stream)
        if both is None or not both.prepared(self.epoch.now):
            with stream.lock:
                end = 0 if both is None else both.end
            both = TwoTaskSend(
                stream, self.epoch.now,
                (start, TaskInfo(start.type, f"model {self._model.model_id}")),
                (wait, TaskInfo(wait.type, "end of a model", inside=TasksOfModel(self._model))), end,
            )
            self._sends = {each: kept for each, kept in self._sends.items() if not each.closed}
            self._sends[stream] = both
        if not both.try_send(over):
            both.send_singly(over)
        elif over is None and not self._model.execution.before and not waits(stream):
            self._model.execution.ready[stream] = both.try_send

    def _prepare(self, stream: Stream) -> tuple[ModelExecute, NotifyWait]:
        """Write the program for the queues that the head streams have now; returns the tasks that use it."""
        model, memory = self._model, self._model.device.memory
        assert model.end_notify is not None
        heads = model.stream_set.heads()
        code_bytes = CondDevice.of(stream.env).size_bytes(StartProgram.program)
        table_bytes = 2 * _WORD_BYTES * len(heads)
        size = code_bytes + table_bytes + _TRACE_BYTES
        if size > self._capacity:
            self.close()
            self._function, self._capacity = memory.alloc(size, internal_flags(hbm=True)), size
        start = ModelExecute(
            model_id=model.model_id, head_sq_ids=tuple(each.queues.sq_id for each in heads),
            exec_times_addrs=tuple(model.stream_set.counter(each) for each in heads), function=self._function,
            function_bytes=code_bytes, trace_addr=self._function + code_bytes + table_bytes,
        )
        for block in blocks(start, stream.env, TaskIds(0)):
            memory.write(block.address, block.data)
        wait = NotifyWait(notify_id=model.end_notify.notify_id, timeout_s=_FOR_EVER)
        self._tasks = start, wait
        return self._tasks

    def close(self) -> None:
        """Free the program."""
        self.forget()
        if self._function:
            self._model.device.memory.free(self._function)
            self._function = self._capacity = 0
