"""Executions of a graph: with the graphs inside of it, and none while it is captured or changed (core_spec 14.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import errors
from runtime.feature.graph.execution.model_execution import ModelExecution
from runtime.feature.graph.state import NOT_READY, GraphState

if TYPE_CHECKING:
    from runtime.feature.graph import ports
    from runtime.feature.graph.model.model_end import ModelEnd
    from runtime.feature.graph.model.model_streams import ModelStreams


class GraphExecution(ModelExecution):
    """What executes one graph."""

    __slots__ = ("_graph", "_prepared")

    def __init__(self, graph: ports.Graph, streams: ModelStreams, ending: ModelEnd) -> None:
        super().__init__(graph, streams, ending)
        self._graph = graph
        self._prepared = False
        """Whether the task scheduler has prepared executions."""

    def load_again(self) -> None:
        """Let the task scheduler prepare executions again; a graph that is lent queues is, when it is executed."""
        self._prepared = False
        if not self._graph.software:
            super().load_again()

    def attach(self) -> None:
        """Give the software SQs of the graph, and of those inside of it, what they need to be executed."""
        renewed = self._ending.notify is None
        tree = self._graph.tree()
        for graph in tree:
            graph.execution.put_end()
        super().attach()
        notify = self._ending.notify
        assert notify is not None
        for graph in tree:
            graph.execution.prepare_in(notify.notify_id, renewed=renewed)

    def put_end(self) -> None:
        """Put the end of the graph, or let the one that is there set what is waited for now."""
        graph = self._graph
        origin = graph.recording.origin
        assert origin is not None
        self._ending.put(origin.streams[-1], None if graph.parent is None else graph.parent.notify)

    def prepare_in(self, notify_id: int, *, renewed: bool) -> None:
        """Let the task scheduler prepare executions whose end a notify shows, and write the conditional nodes.

        Args:
            renewed: the notify is another one than the last time.
        """
        if renewed or not self._prepared:
            self.prepare_on_device(notify_id)
            self._prepared = True
        for condition in self._graph.conditions:
            condition.write()

    def check_ready(self) -> None:
        """Raise where the graph is not ready.

        Raises:
            CaptureError 107026: it is being captured.
            ModelError 507011: a change of it has failed, or waits for `update`.
            NotSupported 207000: it is a branch of a conditional node.
        """
        graph = self._graph
        if graph.state is GraphState.READY and self.complete and graph.parent is None:
            return
        if graph.capturing:
            raise being_captured(graph, "execute", "EE1017")
        if graph.state is not GraphState.READY:
            raise errors.fault(
                "RT_ERROR_MODEL_EXE_FAILED", f"graph {graph.model_id} is not ready: {NOT_READY[graph.state]}",
                hint="call update() behind changes, and capture again after a failed one",
            )
        if graph.parent is not None:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"graph {graph.model_id} is a branch of a conditional node",
                hint="execute the graph that the node is in",
            )
        super().check_ready()

    def execute_now(self, timeout_ms: int) -> None:
        """Refuse: a graph has no stream of its own to be waited for, 107000."""
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"graph {self._graph.model_id} was captured and runs only in a stream",
            ee="EE1016", params=("synchronous execute", "the model was captured"),
            hint="execute(stream), then synchronize it",
        )


def being_captured(graph: ports.Graph, call: str, message: str = "") -> errors.RuntimeFault:
    """Return the fault of a call that a graph takes only when its capture has ended."""
    reason = "it is being captured"
    return errors.fault(
        "RT_ERROR_MODEL_CAPTURED", f"{call}: graph {graph.model_id} is not ready: {reason}", ee=message,
        params=(f"{call} of a graph", "model", reason) if message else (), hint="end the capture first",
    )
