"""Graphs as users see them: captured, listed, changed, drawn and executed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors.whole import whole_or_none
from runtime.feature.graph import view
from runtime.feature.graph.cost import Cost, cost_of
from runtime.feature.graph.editing import update
from runtime.feature.graph.editing.update_arguments import Repointer
from runtime.feature.graph.execution.captured import Captured
from runtime.feature.graph.recording.node import Node, NodeKind

if TYPE_CHECKING:
    from runtime.launch.kernel import Kernel

_UNCHANGED = (None, None, None, None)


class Graph(Captured):
    """Work that was captured once and is executed as often as wanted.

    Made by `with stream.capture() as graph:`, or task by task with a `GraphBuilder`. `nodes` is what it consists of,
    in the order of the capture; the runtime's own tasks are among them.
    """

    __slots__ = ()

    launch = Captured.execute

    # -- as data ---------------------------------------------------------------------------------------------------

    @property
    def kernels(self) -> list[Node]:
        """The nodes that launch kernels."""
        return [node for node in self.nodes if node.kind is NodeKind.KERNEL]

    @property
    def edges(self) -> list[view.Edge]:
        """What comes before what: the order of each stream, and events that are waited for."""
        return view.edges_of(self)

    @property
    def cost(self) -> Cost:
        """What the graph takes of the device, so far while it is captured."""
        return cost_of(self)

    def outline(self) -> str:
        """Return the graph as indented text: streams, what each does in order, and where events lead."""
        return view.outline(self)

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        return view.dot(self)

    def debug_json(self, flags: int = 0) -> str:
        """Return the debug form of the C API, a trace for Chrome's viewer; see `view.debug_json`."""
        return view.debug_json(self, flags)

    def differences(self, other: Graph) -> list[view.Difference]:
        """Return what differs from this graph to another one, in order."""
        return view.differences(self, other)

    def times(self, executed: Any) -> Mapping[Node, list[int]]:
        """Return for each node how many nanoseconds its executions took, by the device's clock.

        Args:
            executed: what `runtime.tracing` has seen, or a fake's log: records of tasks with `device`, `stream`,
                `position`, `start` and `end`. A driver without such a log gives none.
        """
        return view.times(self, executed)

    # -- changes ---------------------------------------------------------------------------------------------------

    def update(
        self, node: Node, args: Iterable[Any] | None = None, *, kernel: Kernel | None = None,
        blocks: int | None = None, value: int | None = None, enabled: bool | None = None,
    ) -> None:
        """Change one node, for executions from now on.

        Args:
            args: all arguments of the kernel, as in a launch; without them the node keeps its own.
            kernel: another kernel for the same kind of core; it needs `args`.
            blocks: on how many cores it is launched.
            value: what a value node writes or waits for.
            enabled: whether the node is executed.

        Raises:
            ModelError 107040: the graph is being executed; synchronize first.
            InvalidArgument 107000: the node is of another kind. What is wrong with new values is raised before
                anything is changed; a failure behind that makes the graph unusable.
        """
        blocks, value = whole_or_none("graph.update", "blocks", blocks), whole_or_none("graph.update", "value", value)
        if args is not None or kernel is not None or blocks is not None:
            given = None if args is None else tuple(args)
            if given is not None and (kernel, blocks, value, enabled) == _UNCHANGED and update.store(self, node, given):
                return
            self._update_kernel(node, given, kernel, blocks)
        if value is not None:
            address = getattr(node.template, "addr", 0)
            update.set_value(self, node, address, value, getattr(node.template, "flag", 0))
        if enabled is not None:
            (update.enable if enabled else update.disable)(self, node)
        update.apply(self)

    def repoint(self, values: Any, *, first: int = 0) -> None:
        """Give all kernels other arguments at once, for executions from now on.

        Args:
            values: integers, mostly addresses: a row per kernel, in the order of `kernels`, and a column per argument.
            first: the argument that the first column is for.

        Raises:
            ModelError 107040: the graph is being executed; synchronize first.
            InvalidArgument 107000: the shape does not fit, or a kernel's arguments were changed by a task group or
                `update`, or are in memory of the caller.
        """
        update.check_changeable(self)
        if self.repointer is None:
            self.repointer = Repointer(self)
        self.repointer.store(self, values, first)

    def _update_kernel(
        self, node: Node, args: tuple[Any, ...] | None, kernel: Kernel | None, blocks: int | None
    ) -> None:
        launched = kernel or node.kernel
        if launched is None or node.kind is not NodeKind.KERNEL:
            raise update.wrong_kind(node, "launches no kernel")
        block = update.words_of(launched, args) if args is not None else update.words_kept(node, kernel)
        update.set_kernel(self, node, launched, node.blocks if blocks is None else blocks, block)
