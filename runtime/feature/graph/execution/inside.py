"""Which task of a graph a failed or standing execution has got to."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chips.tasks import CoreKernel
from runtime.core.submission.ring import InnerTask

if TYPE_CHECKING:
    from chips.completion import ModelStatus
    from runtime.core.device.device import Device
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports
    from runtime.feature.graph.recording.node import Node


class TasksOfModel:
    """The tasks of one model, which it does not keep: positions of rings hold it after the model has ended."""

    __slots__ = ("_model",)

    def __init__(self, model: ports.Model) -> None:
        self._model = weakref.ref(model)

    def failed(self, status: ModelStatus) -> InnerTask | None:
        """Return the task that a report names; None where the model has ended, or nothing is known of that task."""
        for model, stream in self._streams():
            number = stream.queues.sq_id if _names_queues(model.device) else stream.stream_id
            if number & 0xFFF == status.queue:
                by_id = stream.ring.position_of if stream.counts_ids else None
                position = status.task_id if by_id is None else by_id(status.task_id)
                return None if position is None else _inner(model, stream, position)
        return None

    def standing(self) -> list[InnerTask]:
        """Return the tasks at the heads of queues that are at work."""
        heads = [(model, stream, _head(stream)) for model, stream in self._streams()]
        tasks = [_inner(model, stream, head) for model, stream, head in heads if head is not None]
        return [task for task in tasks if task is not None]

    def _streams(self) -> Iterator[tuple[ports.Model, Stream]]:
        root = self._model()
        for model in () if root is None else root.tree():
            for stream in model.streams:
                yield model, stream


def _names_queues(device: Device) -> bool:
    """Whether reports about models name the queue of a task; otherwise its stream (see `ModelStatus`)."""
    return device.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE") and device.scheduler_has("SOFTWARE_SQ_ENABLE")


def _head(stream: Stream) -> int | None:
    """Return where the queue of a model's stream stands; None where it has none, is through, or was not started."""
    queues, sq_id = stream.device.queues, stream.queues.sq_id
    if not stream.has_queue or not queues.enabled(sq_id):
        return None
    head = queues.head(sq_id)
    return None if head == queues.tail(sq_id) else head


def _inner(model: ports.Model, stream: Stream, position: int) -> InnerTask | None:
    """Return what a model has at a position of one of its streams."""
    in_stream = (node for node in model.nodes if node.stream is stream)
    node = next((node for node in in_stream if 0 <= position - node.position < node.count), None)
    info = stream.ring.owners[position] if node is None else node.label
    if info is None:
        return None
    made = "captured" if model.captured else "submitted"
    called = f"{'graph' if model.captured else 'model'} {model.model_id}{f' {model.name!r}' if model.name else ''}"
    user = stream if node is None else node.user
    named = f" {user.name!r}" if user.name else ""
    site = "" if node is None else node.site
    return InnerTask(
        info, node, f"{'a task' if node is None else f'node {node.index}'} of {called}, {made} in stream "
        f"{user.stream_id}{named}{f' at {site}' if site else ''}",
        stream.stream_id, stream.ring.id_at(position), _arguments(stream, position, node), site,
    )


def _arguments(stream: Stream, position: int, node: Node | None) -> tuple[int, int]:
    """Return address and size of a kernel's arguments."""
    if node is not None:
        task = node.task
        return (task.args, task.args_size) if isinstance(task, CoreKernel) else (0, 0)
    block = stream.ring.arguments[position]
    return (0, 0) if block is None else (block.address, block.size)
