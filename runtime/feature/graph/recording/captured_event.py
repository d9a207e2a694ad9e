"""What stands for recorded events in a graph.

Events fork and join the branches of a capture. In the graph they are replaced by signals of its own, which every
execution sets and takes back again (core_spec 14.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.core.stream.stream import as_stream
from runtime.feature.graph.recording.node import Node, NodeKind

if TYPE_CHECKING:
    from runtime.core.ports import EventPort, StreamPort
    from runtime.core.sync.signals import Signal
    from runtime.feature.graph import ports


class CapturedEvent:
    """What stands for a recorded event in the graph."""

    __slots__ = ("branch", "event", "node", "signal", "submitted", "waiters", "waits")

    def __init__(self, event: EventPort, branch: ports.Branch, signal: Signal) -> None:
        self.event, self.branch, self.signal = event, branch, signal
        self.node: Node | None = None
        """The record."""
        self.submitted = 0
        """Entries of the branch up to and with the record."""
        self.waiters: list[ports.Branch] = []
        self.waits: list[Node] = []

    @property
    def capturing(self) -> bool:
        """Whether the graph is still being captured."""
        graph = self.branch.graph
        return graph.capturing

    def wait(self, stream: StreamPort) -> None:
        """Let a stream wait for the record; one that is not captured joins the capture (fork).

        Raises:
            CaptureError 107031: the default stream cannot join.
            CaptureError 107032: the stream is captured into another graph.
        """
        graph, waiting = self.branch.graph, as_stream(stream)
        branch = graph.recording.branch_of(
            waiting, "wait for a captured event", self.event, silent=not waiting.counts_ids
        )
        with graph.recording.invalidated_by_failure():
            taken = branch.ready()
            self.signal.wait(taken, _nothing, 0)
        self.waiters.append(branch)
        self.waits.append(graph.recording.describe_last(taken, NodeKind.EVENT_WAIT, self.event))

    def reset(self, stream: StreamPort) -> None:
        """Take the record back when the graph gets there; see `wait` for the errors."""
        graph = self.branch.graph
        branch = graph.recording.branch_of(as_stream(stream), "reset of a captured event", self.event)
        with graph.recording.invalidated_by_failure():
            taken = branch.ready()
            self.signal.reset(taken, _nothing)
        graph.recording.describe_last(taken, NodeKind.EVENT_RESET, self.event)


def _nothing() -> None:
    """The signal belongs to the graph; no task has a share in it."""
