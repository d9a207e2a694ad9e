"""Tasks of models that start other streams: activate, switch, jump to a label, and the chain of a full stream.

Each calls a program in device memory that belongs to the model (core_spec 17.4, 17.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from chips.blocks import blocks
from chips.env import TaskIds
from chips.memory_rules import internal_flags
from chips.programs.stream import DIAGNOSTIC_BYTES, Condition
from chips.tasks import LabelSwitchByIndex, StreamActive, StreamSwitch
from npuhal.records import replace
from runtime import errors
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.ring import TaskInfo
from runtime.feature.graph.model.aicpu_launcher import AicpuLauncher
from runtime.feature.graph.model.model_sink import bound_model

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.core.sync.label import LabelList
    from runtime.feature.graph import ports

_INT32, _INT64 = 0, 1
_ALIGNED = 256

AnyTask = TypeVar("AnyTask", StreamActive, StreamSwitch, LabelSwitchByIndex)


class Link:
    """A task that starts another stream; its program names that stream's queue, which may come later, or change."""

    __slots__ = ("_ids", "_make", "_model", "_size", "_stream", "function")

    def __init__(self, model: ports.Model, stream: Stream, make: Callable[[], Any], owner: str) -> None:
        """Submit the task that `make` describes, and take device memory for its program."""
        self._model, self._stream, self._make = model, stream, make
        self._size = len(blocks(replace(make(), function=_ALIGNED), stream.env, TaskIds(0))[0].data)
        memory = model.device.memory
        self.function = memory.alloc(self._size + DIAGNOSTIC_BYTES, internal_flags(hbm=True))
        model.resources.callback(memory.free, self.function)
        self.write()
        self._ids = stream.submit(self._task(), owner=TaskInfo(make().type, owner))

    def _task(self) -> Any:
        task = replace(self._make(), function=self.function, function_bytes=self._size)
        return replace(task, trace_addr=self.function + self._size) if hasattr(task, "trace_addr") else task

    def write(self) -> None:
        """Write the program for the queues that the streams have now."""
        memory = self._model.device.memory
        for block in blocks(self._task(), self._stream.env, TaskIds(0)):
            memory.write(block.address, block.data)

    def refresh(self) -> None:
        """Write program and entry again: the streams were lent other queues."""
        self.write()
        stream = self._stream
        entry = stream.plugin.encode(self._task(), stream.env, self._ids)
        self._model.stream_set.rewrite(stream, self._ids.position, entry)


def page_of(stream: Stream) -> int:
    """Return where the registers of a stream's queue are, as programs on the device see them."""
    queues = stream.queues
    return queues.register_base or (stream.device.queues.register_base(queues.sq_id) if stream.has_queue else 0)


def activate(stream: Stream, target: Stream) -> None:
    """Start another stream of the model when this one gets here.

    Raises:
        StreamError 107005: one of them is in no model, or in another one (EE1011).
        NotSupported 207000: the AICPU schedules the other one, but not this one.
    """
    model = _common_model(stream, target, "start of a stream")
    launcher = model.execution.launcher
    if stream.flags & StreamFlag.CPU_SCHEDULE and isinstance(launcher, AicpuLauncher):
        launcher.activate(stream, target)
        return
    _check_queue(target, "start of a stream")
    chain(model, stream.target, target)


def _check_queue(target: Stream, call: str) -> None:
    if target.flags & StreamFlag.CPU_SCHEDULE:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the AICPU schedules stream {target.stream_id}, the task "
            "scheduler cannot start it", hint="start it from another stream with CPU_SCHEDULE",
        )


def chain(model: ports.Model, stream: Stream, target: Stream) -> None:
    """Put the task that starts `target` behind the tasks of `stream`."""

    def task() -> StreamActive:
        return StreamActive(
            active_sq_id=target.queues.sq_id, active_stream_id=target.stream_id, page=page_of(target),
            exec_times_addr=model.stream_set.counter(target),
        )

    model.stream_set.links.append(Link(model, stream, task, "start of a stream"))


def switch(
    stream: Stream, left: int, condition: Condition, right: int, target: Stream, *, wide: bool
) -> None:
    """Start another stream of the model if two values in device memory compare; this stream stops then.

    Args:
        left, right: their addresses.
        wide: they have 64 bits, else 32.

    Raises:
        StreamError 107005: one of the streams is in no model, or in another one (EE1011).
    """
    model = _common_model(stream, target, "switch of streams")
    for each in (stream, target):
        _check_queue(each, "switch of streams")

    def task() -> StreamSwitch:
        return StreamSwitch(
            addr=left, condition=condition, value_addr=right, data_type=_INT64 if wide else _INT32, extended=True,
            true_sq_id=target.queues.sq_id, true_stream_id=target.stream_id, page=page_of(target),
            exec_times_addr=model.stream_set.counter(target),
        )

    model.stream_set.links.append(Link(model, stream.target, task, "switch of streams"))


def switch_label(stream: Stream, index: int, count: int, labels: LabelList) -> None:
    """Go on at the label whose number stands in device memory.

    Args:
        index: the address of the number; one that is not below `count` takes the last label.

    Raises:
        StreamError 107005: the stream is in no model (EE1011).
    """
    model = bound_model(stream)
    if model is None:
        raise _unbound(stream, "switch of labels")

    def task() -> LabelSwitchByIndex:
        return LabelSwitchByIndex(
            index_addr=index, max_index=count, labels_addr=labels.address, count_addr=labels.count_address
        )

    model.stream_set.links.append(Link(model, stream.target, task, "switch of labels"))


def _common_model(stream: Stream, target: Stream, call: str) -> ports.Model:
    stream.check_open()
    target.check_open()
    model, other = bound_model(stream), bound_model(target)
    if model is None or other is None:
        raise _unbound(stream if model is None else target, call)
    if other is not model:
        raise errors.fault(
            "RT_ERROR_STREAM_MODEL", f"{call}: streams {stream.stream_id} and {target.stream_id} are in different "
            "models", ee="EE1011", params=(call, target.stream_id, "stream", "it is in another model"),
            hint="bind both to the same model",
        )
    return model


def _unbound(stream: Stream, call: str) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_STREAM_MODEL", f"{call}: stream {stream.stream_id} is bound to no model", ee="EE1011",
        params=(call, stream.stream_id, "stream", "it is bound to no model"), hint="bind the stream first",
    )
