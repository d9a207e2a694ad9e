"""Graphs as users see them: captured, listed, changed, drawn and executed (core_spec 14.1, 14.8, 14.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

from npuhal.words import count
from runtime import errors
from runtime.core.device import teardown
from runtime.errors.arguments import check_instance, several, whole, whole_or_none
from runtime.errors.closing import Again
from runtime.feature.graph import view
from runtime.feature.graph.cost import Cost, cost_of
from runtime.feature.graph.editing.graph_editing import GraphEditing, words_kept, words_of, wrong_kind
from runtime.feature.graph.execution.external_events import ExternalEvents
from runtime.feature.graph.execution.graph_execution import GraphExecution, being_captured
from runtime.feature.graph.model.model import Model
from runtime.feature.graph.recording.arguments import StagedArguments
from runtime.feature.graph.recording.node import Node, NodeKind
from runtime.feature.graph.recording.recording import GraphRecording
from runtime.feature.graph.state import OF_STREAM, CaptureStatus, GraphState, has_software_queues
from runtime.launch.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports

_EXECUTOR_CAPTURE = 5
_UNCHANGED = (None, None, None, None)


class Graph(Model):
    """Work that was captured once and is executed as often as wanted.

    Made by `with stream.capture() as graph:`, or task by task with a `GraphBuilder`. `nodes` is what it consists of,
    in the order of the capture; the runtime's own tasks are among them.
    """

    # Parts beside those of a model: `recording` (how it comes about), `editing` (changes of its nodes).
    __slots__ = ("_state", "arguments", "conditions", "editing", "parent", "recording", "software")

    execution: GraphExecution
    executor, captured = _EXECUTOR_CAPTURE, True
    launch = Model.execute

    def __init__(self, context: Context, parent: ports.ConditionalNode | None = None) -> None:
        self.parent = parent
        """The conditional node whose branch it is, for a graph inside of another."""
        self.recording = GraphRecording(self)
        self.editing = GraphEditing(self)
        self.conditions: list[ports.ConditionalNode] = []
        """Conditional nodes; their branches are graphs of their own."""
        self._state = GraphState.NEW
        self.software = has_software_queues(context.device)
        """Whether the streams keep their tasks on the host and are lent queues when the graph is executed."""
        self.arguments = StagedArguments(context.device)
        """Memory for the arguments of its kernels."""
        super().__init__(context)  # from here on the context knows it, also where an interrupt comes next
        if parent is not None:
            context.models.remove(self)
        self.state = GraphState.NEW
        self.resources.callback(self.arguments.close)

    def _make_execution(self) -> GraphExecution:
        return GraphExecution(self, self.stream_set, self.ending)

    # -- its capture -----------------------------------------------------------------------------------------------

    @property
    def state(self) -> GraphState:
        """Where the graph stands."""
        return self._state

    @state.setter
    def state(self, state: GraphState) -> None:
        self._state = state
        self.execution.launcher.epoch.block(state is not GraphState.READY)

    @property
    def status(self) -> CaptureStatus:
        """What the C API says of the streams of the capture."""
        return OF_STREAM.get(self.state, CaptureStatus.NONE)

    @property
    def capturing(self) -> bool:
        """Whether the capture is going on, invalidated or not."""
        return self.state in OF_STREAM

    @property
    def recorder(self) -> ports.TaskRecorder:
        """What keeps the tasks of its streams: its capture."""
        return self.recording

    @property
    def sites(self) -> bool:
        """Whether nodes note where they were captured."""
        return self.recording.sites

    @sites.setter
    def sites(self, keep: bool) -> None:
        self.recording.sites = keep

    places = sites
    """The former name of `sites`."""

    def finish(self) -> None:
        """Check that everything was joined, end the graph and load it; a failure closes it.

        Raises:
            CaptureError: see `GraphRecording.check_complete`.
        """
        recording, launcher = self.recording, self.execution.launcher
        try:
            origin = recording.check_complete()
            self.arguments.bring_over()
            recording.take_records_back()
            if isinstance(launcher, ExternalEvents):
                launcher.seal()
            if self.software:
                self.execution.complete = True
            else:
                self.end(origin.ready())
                self.load()
        except BaseException as failure:
            self.abandon(str(failure))
            raise
        recording.leave()
        self.state = GraphState.READY

    def abandon(self, reason: str) -> None:
        """End the capture and the graph; messages about its streams and itself give the reason."""
        self.recording.fail(reason)
        self.close(force=True)

    # -- as a model ------------------------------------------------------------------------------------------------

    @property
    def root(self) -> Model:
        """The graph whose executions execute it: itself, but for branches of conditional nodes."""
        if self.parent is None:
            return self
        outer: Any = self.parent.graph
        return cast("Model", outer.root)

    def tree(self) -> Sequence[Graph]:
        """Return the graph, the branches of its conditional nodes, and so on."""
        inner: Any = (branch for condition in self.conditions for branch in condition.branches)
        return [self, *(each for branch in inner for each in branch.tree())]

    def entry_address(self, stream: Stream, position: int) -> int:
        """Return where an entry of a software SQ lies on the device, 0 while it is on the host only."""
        return self.stream_set.entry_address(stream, position)

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Refuse: the capture made its streams, 107000."""
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"graph {self.model_id} was captured and takes no further streams",
            ee="EE1016", params=("bind of a stream to a model", "the model was captured"),
            hint="bind to a model made by hand",
        )

    def check_open(self) -> None:
        """Raise where the graph was closed; says why its capture had failed."""
        if self.closed and self.recording.failed:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"graph {self.model_id} does not exist: its capture failed: "
                f"{self.recording.failed}", ee="EE1017", params=("use of a graph", "graph", "its capture failed"),
                hint="capture again, and do not go on when the end of a capture fails",
            )
        super().check_open()

    def close(self, *, force: bool = False) -> None:
        """End the graph; see `Model.close`. `force` also ends its capture.

        Raises:
            CaptureError 107026: it is being captured.
        """
        if self.capturing and not self.closed:
            if not force:
                raise being_captured(self, "close")
            self.recording.leave()
        super().close(force=force)

    def give_up(self) -> None:
        """Close it, as nobody has it any more, or its capture; a branch goes with its conditional node."""
        if self.capturing:
            self.abandon("nobody has it any more")
        elif self.parent is None:
            self.close()

    def _release_streams(self) -> None:
        with ExitStack() as steps:  # as in `Model.close`
            for condition in self.conditions:
                branches: Any = condition.branches
                for branch in branches:
                    steps.callback(branch.close, force=True)
            self.stream_set.release(teardown.drop)

    def _ending_steps(self) -> Iterator[Callable[[], object]]:
        first, streams, *rest = super()._ending_steps()
        yield from (first, streams)
        yield from self.recording.releases()
        yield Again(self.editing.release)
        yield from rest

    # -- as data ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        name = f"{self.name!r} " if self.name else ""
        state = "closed" if self.closed else count(len(self.nodes), "node")
        return f"<Graph {name}{state}>"

    def _repr_html_(self) -> str:
        from runtime.feature.graph import picture

        return repr(self) if self.closed else picture.svg(repr(self), list(self.nodes), self.edges)

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
        return view.debug_json(self, whole("debug_json", "flags", flags))

    def differences(self, other: Graph) -> list[view.Difference]:
        """Return what differs from this graph to another one, in order."""
        check_instance("differences", "other", other, Captured, "pass another graph")
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
        editing, other_changes = self.editing, (kernel, blocks, value, enabled) != _UNCHANGED
        if type(args) is tuple and type(node) is Node and not other_changes and editing.store(node, args):
            return
        check_instance("graph.update", "node", node, Node, "pass one of graph.nodes")
        if kernel is not None:
            check_instance("graph.update", "kernel", kernel, Kernel, "pass a kernel from program.kernel(name)")
        blocks, value = whole_or_none("graph.update", "blocks", blocks), whole_or_none("graph.update", "value", value)
        if args is not None or kernel is not None or blocks is not None:
            given = None
            if args is not None:
                given = several("graph.update", "args", args, object, "pass the kernel's arguments in a tuple")
            if given is not None and not other_changes and editing.store(node, given):
                return
            self._update_kernel(node, given, kernel, blocks)
        if value is not None:
            editing.set_value(node, getattr(node.template, "addr", 0), value, getattr(node.template, "flag", 0))
        if enabled is not None:
            (editing.enable if enabled else editing.disable)(node)
        editing.apply()

    def update_arguments(self, values: Any, *, first: int = 0) -> None:
        """Give all kernels other arguments at once, for executions from now on.

        Args:
            values: integers, mostly addresses: a row per kernel, in the order of `kernels`, and a column per argument.
            first: the argument that the first column is for.

        Raises:
            ModelError 107040: the graph is being executed; synchronize first.
            InvalidArgument 107000: the shape does not fit, or a kernel's arguments were changed by a task group or
                `update`, or are in memory of the caller.
        """
        self.editing.store_all(values, first)

    repoint = update_arguments
    """The former name of `update_arguments`."""

    def _update_kernel(
        self, node: Node, args: tuple[Any, ...] | None, kernel: Kernel | None, blocks: int | None
    ) -> None:
        launched = kernel or node.kernel
        if launched is None or node.kind is not NodeKind.KERNEL:
            raise wrong_kind(node, "launches no kernel")
        block = words_of(launched, args) if args is not None else words_kept(node, kernel)
        self.editing.set_kernel(node, launched, node.blocks if blocks is None else blocks, block)


Captured = Graph
"""The former name of what a capture makes."""
