"""Captured graphs: models whose streams a capture makes (core_spec 14.1, 14.8, 14.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.core.device import teardown
from runtime.feature.graph.execution.external import ExternalEvents
from runtime.feature.graph.model.model import Model
from runtime.feature.graph.recording.arguments import StagedArguments
from runtime.feature.graph.recording.node import Node
from runtime.feature.graph.recording.recording import GraphRecording
from runtime.feature.graph.state import (
    NOT_READY,
    OF_STREAM,
    CaptureStatus,
    GraphState,
    has_software_queues,
)

if TYPE_CHECKING:
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.editing.update_arguments import ArgumentSlot, Repointer
    from runtime.feature.graph.model.model_sink import TaskRecorder
    from runtime.feature.graph.recording.condition import Condition
    from runtime.memory.arguments import ArgumentBlock

_EXECUTOR_CAPTURE = 5


class Captured(Model):
    """A model made by a capture: `recording` is how it comes about; here is how it is executed and ends."""

    __slots__ = ("_retired", "_state", "argument_slots", "arguments", "conditions", "loaded", "parent", "recording",
                 "repointer", "software")  # fmt: skip

    executor, captured = _EXECUTOR_CAPTURE, True

    def __init__(self, context: Context, parent: Any = None) -> None:
        super().__init__(context)
        self.parent: Condition | None = parent
        """The conditional node whose branch it is, for a graph inside of another."""
        if parent is not None:
            context.models.remove(self)
        self.conditions: list[Condition] = []
        """Conditional nodes; their branches are graphs of their own."""
        self.state = GraphState.NEW
        self.recording = GraphRecording(self)
        """How it comes about: its branches and task groups."""
        self.software = has_software_queues(self.device)
        """Whether the streams keep their tasks on the host and are lent queues when the graph is executed."""
        self.loaded = False
        """Whether the task scheduler has prepared executions."""
        self.arguments = StagedArguments(self.device)
        """Memory for the arguments of its kernels."""
        self.resources.callback(self.arguments.close)
        self.argument_slots: dict[Node, ArgumentSlot | None] = {}
        """Where the arguments of kernels lie that were changed in place."""
        self.repointer: Repointer | None = None
        """Where the arguments of all kernels lie, once somebody has asked."""
        self._retired: list[ArgumentBlock] = []

    @property
    def state(self) -> GraphState:
        """Where the graph stands."""
        return self._state

    @state.setter
    def state(self, state: GraphState) -> None:
        self._state = state
        self.starter.epoch.block(state is not GraphState.READY)

    @property
    def status(self) -> CaptureStatus:
        """What the streams of the capture are told."""
        return OF_STREAM.get(self.state, CaptureStatus.NONE)

    @property
    def capturing(self) -> bool:
        """Whether the capture is going on, spoiled or not."""
        return self.state in OF_STREAM

    @property
    def recorder(self) -> TaskRecorder:
        """What keeps the tasks of its streams: its capture."""
        return self.recording

    @property
    def places(self) -> bool:
        """Whether nodes note where they were captured."""
        return self.recording.places

    @places.setter
    def places(self, noted: bool) -> None:
        self.recording.places = noted

    # -- changes ---------------------------------------------------------------------------------------------------

    def entry_address(self, stream: Stream, position: int) -> int:
        """Return where an entry of a software SQ lies on the device, 0 while it is on the host only."""
        return 0 if self._rings is None else self._rings.address_of(stream, position)

    def retire(self, block: ArgumentBlock) -> None:
        """Give an argument block back that no further execution uses, once those that run are over."""
        self._retired.append(block)
        if not self.running:
            self._release_retired()

    def _release_retired(self) -> None:
        blocks, self._retired = self._retired, []
        if blocks:
            self.device.release_arguments(blocks)

    # -- end of the capture ----------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Check that everything was joined, end the graph and load it; a failure closes it.

        Raises:
            CaptureError: see `GraphRecording.check_complete`.
        """
        recording = self.recording
        try:
            origin = recording.check_complete()
            self.arguments.bring_over()
            recording.take_records_back()
            if isinstance(self.starter, ExternalEvents):
                self.starter.seal()
            if self.software:
                self.complete = True
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

    def check_open(self) -> None:
        """Raise where the graph was closed; tells of a capture that had failed."""
        if self.closed and self.recording.failed:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"graph {self.model_id} does not exist: its capture failed: "
                f"{self.recording.failed}", ee="EE1017", params=("use of a graph", "graph", "its capture failed"),
                hint="capture again, and do not go on when the end of a capture fails",
            )
        super().check_open()

    def _make_ready(self) -> None:
        """Make ready what the first execution needs; the lock is held."""
        renewed = self.end_notify is None
        graphs = [graph for graph in self.tree() if isinstance(graph, Captured)]
        for graph in graphs:
            origin = graph.recording.origin
            assert origin is not None
            graph.end_again(origin.stream, None if graph.parent is None else graph.parent.notify)
        super()._make_ready()
        assert self.end_notify is not None
        for graph in graphs:
            if renewed or not graph.loaded:
                graph.tell_complete(self.end_notify.notify_id)
                graph.loaded = True
            for condition in graph.conditions:
                condition.write()

    def load_again(self) -> None:
        """Load the graph again; one that is lent queues is, when it is executed."""
        self.loaded = False
        if not self.software:
            super().load_again()

    @property
    def root(self) -> Any:
        """The graph whose executions execute it: itself, but for branches of conditional nodes."""
        return self if self.parent is None else self.parent.graph.root

    def tree(self) -> list[Model]:
        """Return the graph, the branches of its conditional nodes, and so on."""
        inner = (branch for condition in self.conditions for branch in condition.branches)
        return [self, *(each for branch in inner for each in branch.tree())]

    def check_executable(self) -> None:
        """Raise where the graph is not ready: 107026 while it is captured, 507011 after a change that failed."""
        if self.state is GraphState.READY and self.complete and self.parent is None:
            return
        if self.capturing:
            raise self._captured("execute", "EE1017")
        if self.state is not GraphState.READY:
            raise errors.fault(
                "RT_ERROR_MODEL_EXE_FAILED", f"graph {self.model_id} is not ready: {NOT_READY[self.state]}",
                hint="call update() behind changes, and capture again after a failed one",
            )
        if self.parent is not None:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"graph {self.model_id} is a branch of a conditional node",
                hint="execute the graph that the node is in",
            )
        super().check_executable()

    def execute_now(self, timeout_ms: int) -> None:
        """Refuse: a graph has no stream of its own to be waited for, 107000."""
        self.check_open()
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"graph {self.model_id} was captured and runs only in a stream", ee="EE1016",
            params=("synchronous execute", "the model was captured"), hint="execute(stream), then synchronize it",
        )

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Refuse: the capture made its streams, 107000."""
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"graph {self.model_id} was captured and takes no further streams",
            ee="EE1016", params=("bind of a stream to a model", "the model was captured"),
            hint="bind to a model made by hand",
        )

    def _captured(self, call: str, message: str = "") -> errors.RuntimeFault:
        reason = "it is being captured"
        return errors.fault(
            "RT_ERROR_MODEL_CAPTURED", f"{call}: graph {self.model_id} is not ready: {reason}", ee=message,
            params=(f"{call} of a graph", "model", reason) if message else (), hint="end the capture first",
        )

    def close(self, *, force: bool = False) -> None:
        """End the graph; see `Model.close`. `force` also ends its capture.

        Raises:
            CaptureError 107026: it is being captured.
        """
        if self.capturing and not self.closed:
            if not force:
                raise self._captured("close")
            self.recording.leave()
        super().close(force=force)

    def _release_streams(self) -> None:
        super()._release_streams()
        for condition in self.conditions:
            for branch in condition.branches:
                branch.close(force=True)

    def _release_stream(self, stream: Stream) -> None:
        teardown.drop(stream)

    def _release(self) -> None:
        self.recording.release()
        self._release_retired()
        super()._release()
