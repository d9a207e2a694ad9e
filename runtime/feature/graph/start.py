"""Starting a model: the program that activates its head streams, and the two tasks that each execution sends.

Both tasks are the same for every execution in one stream, so they are prepared once per stream. What an execution costs
on the host does not depend on how many tasks the model has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.blocks import blocks
from chips.cond.device import CondDevice
from chips.cond.model import ModelExecute as StartProgram
from chips.env import TaskIds
from chips.memory_rules import internal_flags
from chips.tasks import ModelExecute, NotifyWait
from runtime.core import shots
from runtime.core.ring import Label

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.core.stream import Stream
    from runtime.feature.graph.model import Model

_FOR_EVER = 0xFFFFFFFF
_WORD_BYTES = 8
_TRACE_BYTES = 64
"""Where a starting program leaves what went wrong."""


class Starter:
    """What starts one model. The program names the queues of the head streams: it is written anew when they change."""

    __slots__ = ("_capacity", "_function", "_keys", "_model", "_tasks")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._function = self._capacity = 0
        self._tasks: tuple[ModelExecute, NotifyWait] | None = None
        self._keys = ("", "")
        """What the prepared sends are kept under in each stream."""

    def forget(self) -> None:
        """Prepare everything anew for the next execution: queues or the notify of the end have changed."""
        self._tasks = None

    def __call__(self, stream: Stream, over: Callable[[], object] | None = None) -> None:
        """Execute the model once in a stream; the caller holds the model's lock.

        Args:
            over: called when the execution is over, instead of noting just that.
        """
        start, wait = self._tasks or self._prepare(stream)
        live = self._model.live
        finished = over or live.popleft
        start_key, wait_key = self._keys
        kept = stream.shots
        put_start, put_wait = kept.get(start_key), kept.get(wait_key)
        if put_start is None or put_wait is None:
            shots.prepare(stream, start_key, start, self._name)
            shots.prepare(stream, wait_key, wait, _END)
        if put_start is None or not put_start():
            stream.submit(start, owner=Label(start.type, self._name))
        live.append(None)
        if put_wait is None or not put_wait(None, finished):
            stream.submit(wait, owner=Label(wait.type, _END), finished=finished)

    @property
    def _name(self) -> str:
        return f"model {self._model.model_id}"

    def _prepare(self, stream: Stream) -> tuple[ModelExecute, NotifyWait]:
        """Write the program for the queues that the head streams have now; returns the tasks that use it."""
        model, memory = self._model, self._model.device.memory
        assert model.end_notify is not None
        heads = model.heads()
        code_bytes = StartProgram.program(CondDevice.of(stream.env).generation).size_bytes
        table_bytes = 2 * _WORD_BYTES * len(heads)
        size = code_bytes + table_bytes + _TRACE_BYTES
        if size > self._capacity:
            self.close()
            self._function, self._capacity = memory.alloc(size, internal_flags(hbm=True)), size
        start = ModelExecute(
            model_id=model.model_id, head_sq_ids=tuple(each.queues.sq_id for each in heads),
            exec_times_addrs=tuple(model.counter(each) for each in heads), function=self._function,
            function_bytes=code_bytes, trace_addr=self._function + code_bytes + table_bytes,
        )
        for block in blocks(start, stream.env, TaskIds(0)):
            memory.write(block.address, block.data)
        wait = NotifyWait(notify_id=model.end_notify.notify_id, timeout_s=_FOR_EVER)
        self._keys = f"start {self._function:x} {model.model_id}", f"end {wait.notify_id}"
        self._tasks = start, wait
        return self._tasks

    def close(self) -> None:
        """Free the program."""
        self.forget()
        if self._function:
            self._model.device.memory.free(self._function)
            self._function = self._capacity = 0


_END = "end of a model"
