"""Putting other SQEs in the place of a graph's task, when the graph exists already (core_spec 14.11, 14.12).

Where the entries of a graph are on the host, the image changes, and what lies in device memory of its own is written
over by a copy in the stream that updates. Entries in a hardware queue are reached by the task that the chip has for it
(STARS v1), or by a copy into the mapped ring.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import MemcpyAsync, Nop, SqeUpdate
from runtime import errors
from runtime.core.submission.software import annotate_entries
from runtime.core.submission.submit import send
from runtime.driver.queues import SQE_BYTES
from runtime.feature.graph.execution.rings import software_sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.feature.graph.recording.node import Node
    from runtime.memory.arguments import ArgumentBlock


def replace_task(
    graph: ports.Graph, node: Node, task: Task, label: TaskInfo, arguments: ArgumentBlock | None, stream: Stream | None
) -> None:
    """Let a node do something else from now on.

    Args:
        arguments: the block that the new task uses; it is the graph's then, and the old one goes back when the change
            is in force and no execution is left that may use it.
        stream: where the change happens in order with other work; None makes it now, while nothing is executed.

    Raises:
        InvalidArgument 107000: the new task takes another number of SQEs.
    """
    sqes = encoded(node, task)
    old = node.arguments
    describe(graph, node, task, label, arguments)
    node.stream.ring.attach(node.position, arguments)
    done = partial(graph.editing.retire, old) if old is not None and old is not arguments else None
    write(graph, node, sqes, stream, done)


def describe(graph: ports.Graph, node: Node, task: Task, info: TaskInfo, arguments: ArgumentBlock | None) -> None:
    """Let a node say that it does something else."""
    node.template, node.label, node.arguments = task, info, arguments
    graph.editing.forget_arguments(node)


def encoded(node: Node, task: Task) -> bytes:
    """Return the SQEs of a task at a node's positions, filled up with SQEs that do nothing.

    Raises:
        InvalidArgument 107000: there are more than the node has.
    """
    return filled(node, node.stream.plugin.encode(task, node.stream.env, node.ids))


def filled(node: Node, sqes: bytes) -> bytes:
    """Return SQEs for a node's positions, filled up with SQEs that do nothing; see `encoded`."""
    stream = node.stream
    missing = node.count - len(sqes) // SQE_BYTES
    if missing < 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{node!r} has {node.count} SQEs, and {len(sqes) // SQE_BYTES} are needed "
            "for what is to replace it", hint="replace a kernel by one for the same kind of core, or capture again",
        )
    return sqes + stream.plugin.encode(Nop(), stream.env, node.ids) * missing


def write(
    graph: ports.Graph, node: Node, sqes: bytes, stream: Stream | None, done: Callable[[], None] | None = None
) -> None:
    """Put SQEs at a node's positions; `done` is called once nothing of the old ones will be read any more."""
    holder = node.stream
    if holder.device.hal.follows_entries:
        annotate_entries(holder, node.position, node.count)
    sink = software_sink(holder)
    if sink is not None:
        address = graph.entry_address(holder, node.position)
        if stream is None or not address:
            graph.stream_set.rewrite(holder, node.position, sqes)
            if done is not None:
                done()
            return
        sink.put(node.position, sqes)
    elif holder.env.chip.traits.updates_by_position:
        address = 0
    elif holder.queues.ring_base:
        address = holder.queues.ring_base + node.position * SQE_BYTES
    else:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{node!r} lies in a hardware queue that is not mapped, so that it "
            "cannot be changed", hint="a driver that binds queues dynamically keeps tasks where they can be changed",
        )
    target = graph.context.default_stream if stream is None else stream
    _copy(target, holder, node.position, address, sqes, done)
    if stream is None:
        target.settle()


def _copy(
    stream: Stream, holder: Stream, position: int, address: int, sqes: bytes, done: Callable[[], None] | None
) -> None:
    """Queue the copy of SQEs from a slot of device memory; address 0 is a ring that only the hardware reaches."""
    device = stream.device
    slots = device.signals.wait_slots
    slot = slots.take()

    def finished() -> None:
        slots.give_back(slot)
        if done is not None:
            done()

    device.memory.write(slot, sqes)
    tasks: list[Any] = [MemcpyAsync(src=slot, dst=address, size=len(sqes))] if address else [
        SqeUpdate(
            src=slot + offset, size=SQE_BYTES, target_sq=holder.queues.sq_id, dsa=False,
            target_position=position + offset // SQE_BYTES,
        )
        for offset in range(0, len(sqes), SQE_BYTES)
    ]
    for task in tasks:
        send(stream, task, owner="update of a graph's task", finished=finished if task is tasks[-1] else None)
