"""Changing tasks of a graph (core_spec 14.12): say what changes, then `apply` puts all of it in force.

A task that is taken out leaves SQEs that do nothing in its place, so that nothing else moves. A change that fails half
way makes the graph unusable for good.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from chips.blocks import blocks
from chips.tasks import CoreKernel, MemWaitValue, MemWriteValue, Nop, WriteValue
from npuhal.records import replace
from runtime import errors
from runtime.core.submission.sink import NOWHERE
from runtime.feature.graph.editing.rewrite import encoded, replace_task, write
from runtime.feature.graph.editing.update_arguments import ArgumentSlot, ArgumentTable, slot_of
from runtime.feature.graph.recording.node import Change, Node, NodeKind
from runtime.feature.graph.state import GraphState
from runtime.launch.args import SLOT_BYTES
from runtime.launch.argument_check import launch_words, note_short_block
from runtime.launch.block import HostBlock
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.slow_path import info_of, submit_block

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock


class _Described:
    """Stands for a stream where a kernel's launch is described, and keeps the task instead of sending it."""

    def __init__(self, target: Stream) -> None:
        self.device, self.env, self.plugin, self.context = target.device, target.env, target.plugin, target.context
        self.drain, self.sink = target.drain, NOWHERE
        self.branch = self.tracer = None
        self.task: Any = None
        self.label: Any = None
        self.arguments: Any = None

    def submit(self, task: Task, *, owner: TaskInfo, arguments: Any = None) -> None:
        """Keep a task with its arguments."""
        self.task, self.label, self.arguments = task, owner, arguments


class GraphEditing:
    """The changes of one graph's nodes: those that wait for `apply`, and where arguments lie that change in place."""

    __slots__ = ("_graph", "_retired", "_slots", "_table")

    def __init__(self, graph: ports.Graph) -> None:
        self._graph = graph
        self._slots: dict[Node, ArgumentSlot | None] = {}
        """Where the arguments of kernels lie that were changed in place; None where that cannot be done."""
        self._table: ArgumentTable | None = None
        """Where the arguments of all kernels lie, once somebody has asked."""
        self._retired: list[ArgumentBlock] = []
        """Argument blocks that only executions use which are not over."""

    # -- arguments in place ----------------------------------------------------------------------------------------

    def store(self, node: Node, arguments: tuple[Any, ...]) -> bool:
        """Replace the arguments of a kernel where they lie; False where only `set_kernel` can.

        Raises:
            ModelError 107040: see `set_kernel`.
        """
        graph = self._graph
        try:
            slot = self._slots[node]
        except KeyError:
            slot = self._slots[node] = slot_of(graph, node)
        if slot is None or node.change is not None:
            return False
        running = graph.execution.launcher.running
        if running or graph.closed or graph.parent is not None or graph.state is not GraphState.READY:
            self.check_changeable()
        return slot.store(arguments)

    def store_all(self, values: Any, first: int) -> None:
        """Replace arguments of all kernels; see `Graph.update_arguments`."""
        self.check_changeable()
        if self._table is None:
            self._table = ArgumentTable(self._graph)
        self._table.store(self._graph, values, first)

    def forget_arguments(self, node: Node) -> None:
        """Look up the arguments of a kernel again when they are changed next."""
        self._table = None
        self._slots.pop(node, None)

    def retire(self, block: ArgumentBlock) -> None:
        """Give an argument block back that no further execution uses, once those that run are over."""
        self._retired.append(block)
        if not self._graph.running:
            self.release()

    def release(self) -> None:
        """Give back the argument blocks that no execution uses any more."""
        blocks, self._retired = self._retired, []
        if blocks:
            self._graph.device.release_arguments(blocks)

    # -- changes for the next `apply` ------------------------------------------------------------------------------

    def set_kernel(
        self, node: Node, kernel: Kernel, count: int, block: HostBlock, options: LaunchOptions | None = None
    ) -> None:
        """Let a kernel node launch a kernel on `count` blocks with a block of arguments from the next `apply` on.

        Args:
            options: None keeps those of the node.

        Raises:
            ModelError 107040: the graph is being executed, captured, or unusable.
            InvalidArgument 107000: the node is no kernel, or one for other cores.
        """
        self._check_kind(node, NodeKind.KERNEL)
        note_short_block(kernel, len(block.data))
        with _Faulting(self._graph):
            old = node.template
            assert isinstance(old, CoreKernel)
            task = kernel.task(count, PLAIN if options is None else options)
            if options is None and kernel is node.kernel:
                task = replace(old, block_dim=count, args=0, args_size=len(block.data))
            if task.type is not old.type:
                raise errors.fault(
                    "ACL_ERROR_RT_PARAM_INVALID", f"{kernel!r} cannot replace {node!r}: they run on different cores",
                    hint="replace a kernel by one for the same kind of core, or capture again",
                )
            described: Any = _Described(node.stream)
            submit_block(described, replace(task, args_size=len(block.data)), block, info_of(kernel, task))
            self._plan(node, Change(described.task, described.label, described.arguments))

    def set_value(self, node: Node, address: int, value: int, flag: int = 0) -> None:
        """Let a value node write or wait for another value from the next `apply` on; see `set_kernel`."""
        if node.kind not in (NodeKind.VALUE_WRITE, NodeKind.VALUE_WAIT):
            raise wrong_kind(node, "has no value")
        self._check_kind(node, node.kind)
        with _Faulting(self._graph):
            task: Task = node.template
            if isinstance(task, MemWaitValue):
                task = replace(task, addr=address, value=value, flag=flag)
            elif isinstance(task, MemWriteValue):
                task = replace(task, addr=address, value=value)
            else:
                assert isinstance(task, WriteValue)
                task = replace(task, addr=address, data=value.to_bytes(len(task.data), "little"))
            self._plan(node, Change(task, node.label, node.arguments))

    def disable(self, node: Node) -> None:
        """Leave a node out from the next `apply` on; twice is once."""
        graph = self._graph
        self._check_supported()
        if graph.state not in (GraphState.READY, GraphState.UPDATING):
            raise self._not_now("it is not complete")
        self._plan(node, Change(None, node.label))
        graph.texts.pop(node, None)
        graph.operators.pop(node, None)
        graph.state = GraphState.UPDATING

    def enable(self, node: Node) -> None:
        """Let a node that was left out be executed again from the next `apply` on."""
        self._check_kind(node, node.kind)
        if node.change is None or node.change.task is None:
            node.change = Change(node.task, node.label, node.arguments)
            self._graph.state = GraphState.UPDATING

    def apply(self) -> None:
        """Put all changes in force, for executions from now on; without changes nothing happens.

        Raises:
            ModelError 107040: the graph is being executed or captured, or a change has failed before.
            RuntimeFault: a change fails; the graph cannot be used any more.
        """
        graph = self._graph
        graph.check_open()
        if graph.state is GraphState.READY:
            return
        if graph.state is not GraphState.UPDATING:
            raise self._not_now("it is not complete, or a change of it has failed")
        self._check_idle()
        with _Faulting(graph):
            _make_changes(graph)
            graph.state = GraphState.READY

    def _plan(self, node: Node, change: Change) -> None:
        """Keep a change for the next `apply`; one that waits for it already is given up, with its arguments."""
        given_up, node.change = node.change, change
        arguments = None if given_up is None else given_up.arguments
        if arguments is not None and arguments is not node.arguments:
            self._graph.device.release_arguments([arguments])

    # -- checks ----------------------------------------------------------------------------------------------------

    def check_changeable(self) -> None:
        """Raise where nothing of the graph can be changed now; see `set_kernel`."""
        self._check_supported()
        if self._graph.state not in (GraphState.READY, GraphState.UPDATING):
            raise self._not_now("it is not complete, or a change of it has failed")
        self._check_idle()

    def _check_supported(self) -> None:
        graph = self._graph
        graph.check_open()
        if graph.parent is not None:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{graph!r} is a branch of a conditional node; its tasks stay as "
                "they are", hint="change what the branch reads from memory instead",
            )

    def _check_kind(self, node: Node, kind: NodeKind) -> None:
        if node.kind is not kind:
            raise wrong_kind(node, f"is no {kind.name.lower().replace('_', ' ')}")
        self.check_changeable()

    def _check_idle(self) -> None:
        """Look once whether executions are over by now."""
        graph = self._graph
        if graph.running:
            for stream in graph.context.all_streams():
                stream.drain()
        if graph.running:
            raise self._not_now("an execution is not known to be over")

    def _not_now(self, reason: str) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_MODEL_UPDATE_FAILED", f"{self._graph!r} cannot be changed now: {reason}",
            hint="synchronize the streams that execute it; capture again after a change that failed",
        )


def words_of(kernel: Kernel, arguments: tuple[Any, ...]) -> HostBlock:
    """Return the block of arguments of a launch from Python values; see `Kernel.launch`."""
    before, behind = kernel.hidden_words()
    words = (*before, *launch_words(kernel, arguments), *behind)
    return HostBlock(struct.pack(f"<{len(words)}Q", *words) or bytes(SLOT_BYTES))


def words_kept(node: Node, kernel: Kernel | None) -> HostBlock:
    """Return the arguments that a node has now.

    Raises:
        InvalidArgument 107000: another kernel is to replace it, which needs its own.
    """
    task = node.task
    assert isinstance(task, CoreKernel)
    if kernel is not None and kernel is not node.kernel:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{kernel!r} cannot take over the arguments of {node!r}",
            hint="pass args= with the arguments of the new kernel",
        )
    return HostBlock(bytes(node.stream.device.memory.read(task.args, task.args_size)))


def _write_blocks(node: Node, task: Task) -> None:
    """Write the program of a wait again: the value is part of it."""
    if isinstance(task, MemWaitValue):
        for block in blocks(task, node.stream.env, node.ids):
            node.stream.device.memory.write(block.address, block.data)


def wrong_kind(node: Node, what: str) -> errors.RuntimeFault:
    """Return the fault for a change that a node of its kind cannot take."""
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{node!r} {what}", ee="EE1003",
        params=("change of a task", node.kind.name, "task", "a kernel, a value write or a value wait"),
        hint="graph.nodes lists the nodes with their kinds",
    )


class _Faulting:
    """What fails inside makes the graph unusable for good."""

    __slots__ = ("_graph",)

    def __init__(self, graph: ports.Graph) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        self._graph.state = GraphState.UPDATING

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._graph.state = GraphState.FAULT


def _make_changes(graph: ports.Graph) -> None:
    """Write what nodes are to be changed to; the loop is in no `with`, see `npuhal.changed` on interrupts."""
    for node in graph.nodes:
        change, node.change = node.change, None
        if change is None:
            continue
        node.enabled = change.task is not None
        if change.task is None:
            write(graph, node, encoded(node, Nop()), None)
        else:
            _write_blocks(node, change.task)
            replace_task(graph, node, change.task, change.label, change.arguments, None)
