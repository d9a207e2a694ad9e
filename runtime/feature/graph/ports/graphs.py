"""Graphs and their parts: captures, branches, recording, editing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from runtime.core.ports import CaptureBranch, EventInGraph
from runtime.feature.graph.ports.models import Execution, Model

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from chips.tasks import CoreKernel
    from runtime import errors
    from runtime.core.ports import EventPort
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.core.sync.notify import Notify
    from runtime.core.sync.signals import Signal
    from runtime.feature.graph.recording.arguments import StagedArguments
    from runtime.feature.graph.recording.node import Node, NodeKind
    from runtime.feature.graph.recording.node_list import LaunchRecorder
    from runtime.feature.graph.state import Block, GraphState
    from runtime.memory.arguments import ArgumentBlock


class CapturedEvent(EventInGraph, Protocol):
    """What stands for a recorded event in a graph."""

    node: Node | None
    """The record."""

    @property
    def event(self) -> EventPort:
        """The event that was recorded."""

    @property
    def signal(self) -> Signal:
        """What each execution sets in its stead."""

    @property
    def waits(self) -> list[Node]:
        """The waits for the record."""

    @property
    def waiters(self) -> Sequence[Branch]:
        """The branches that have waited for it."""


class Branch(CaptureBranch, Protocol):
    """One user stream's part of a capture."""

    @property
    def graph(self) -> Graph:
        """The graph that it is part of."""

    @property
    def user(self) -> Stream:
        """The user's stream."""

    @property
    def streams(self) -> list[Stream]:
        """The graph's streams that hold it, in order."""

    def ready(self) -> Stream:
        """Return the graph's stream for the next task."""


class TaskGroup(Protocol):
    """Kernels of a graph that are given other parameters together."""

    recording: bool
    """Whether it takes kernels."""
    error: errors.RuntimeFault | None
    """What came in between while it was recorded."""

    @property
    def branch(self) -> Branch:
        """The branch that it is recorded in."""

    @property
    def nodes(self) -> list[Node]:
        """Its kernels."""

    @property
    def handle(self) -> int:
        """The number by which the C API knows it; 0 while it is recorded."""

    def told(self) -> str:
        """Return in words which group this is: graph, stream, and where it was begun by whom."""

    def check(self, label: TaskInfo) -> None:
        """Refuse a task that it cannot take."""


class Recording(Protocol):
    """How a graph comes about (`runtime.feature.graph.recording.recording`)."""

    @property
    def branches(self) -> Sequence[Branch]:
        """One for each stream that was captured."""

    @property
    def origin(self) -> Branch | None:
        """Where the capture began."""

    @property
    def captured_events(self) -> list[CapturedEvent]:
        """What stands for recorded events."""

    @property
    def groups(self) -> list[TaskGroup]:
        """Task groups, open or recorded."""

    @property
    def unhindered(self) -> bool:
        """Whether launches may take the fast path."""

    @property
    def failed(self) -> str:
        """Why the capture has failed."""

    @property
    def block(self) -> Block | None:
        """The block at whose end it ends."""

    def told(self) -> str:
        """Return in words which graph is captured, from where on, by whom and how."""

    def settle(self) -> None:
        """Let all branches decide again whether launches may take the fast path."""

    def branch_of(self, stream: Stream, call: str, event: EventPort, *, silent: bool = False) -> Branch:
        """Return a stream's branch, a new one if it is not captured."""

    def make_stream(self, user: Stream, *, head: bool = True) -> Stream:
        """Make a stream of the graph that takes tasks of a user's."""

    def new_signal(self) -> Signal:
        """Return a signal for the record of an event."""

    def describe_last(self, stream: Stream, kind: NodeKind, event: EventPort, *, external: bool = False) -> Node:
        """Say which event the newest task of a stream is about."""

    def launch_recorder(self, stream: Stream, task: CoreKernel, info: TaskInfo) -> LaunchRecorder | None:
        """Return what records launches that differ in nothing but their arguments."""

    def invalidated_by_failure(self) -> AbstractContextManager[None]:
        """Return a context manager: a fault in it invalidates the capture."""

    def spoil(self, failure: BaseException) -> None:
        """Let the end of the capture fail: one of its tasks has."""


class Editing(Protocol):
    """Changes of a graph's nodes (`runtime.feature.graph.editing.update`)."""

    def forget_arguments(self, node: Node) -> None:
        """Look up the arguments of a kernel again when they are changed next."""

    def retire(self, block: ArgumentBlock) -> None:
        """Give an argument block back that no further execution uses, once those that run are over."""


class ConditionalNode(Protocol):
    """A node that decides which graphs inside of a graph run."""

    @property
    def graph(self) -> Graph:
        """The graph that the node is in."""

    @property
    def notify(self) -> Notify:
        """What the end of each branch sets."""

    @property
    def branches(self) -> Sequence[Graph]:
        """The graphs that it chooses from."""

    def write(self) -> None:
        """Write its programs for the queues that all streams have now."""

    def assign_default(self) -> None:
        """Let the value be what executions start with."""


class GraphExecution(Execution, Protocol):
    """The executions of one graph (`runtime.feature.graph.execution.graph_execution`)."""

    def put_end(self) -> None:
        """Put the end of the graph, or let the one that is there set what is waited for now."""

    def prepare_in(self, notify_id: int, *, renewed: bool) -> None:
        """Let the task scheduler prepare executions whose end a notify shows."""


class Graph(Model, Protocol):
    """The graph that a part belongs to."""

    state: GraphState
    """Where it stands."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def capturing(self) -> bool:
        """Whether the capture is going on, invalidated or not."""

    @property
    def software(self) -> bool:
        """Whether its streams keep their tasks on the host and are lent queues when it is executed."""

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""

    @property
    def parent(self) -> ConditionalNode | None:
        """The conditional node whose branch it is, for a graph inside of another."""

    @property
    def conditions(self) -> Sequence[ConditionalNode]:
        """Its conditional nodes."""

    @property
    def arguments(self) -> StagedArguments:
        """Memory for the arguments of its kernels."""

    @property
    def recording(self) -> Recording:
        """The part that captures it."""

    @property
    def editing(self) -> Editing:
        """The part that changes its nodes."""

    @property
    def operators(self) -> dict[Node, Any]:
        """What was said of the operators that tasks belong to."""

    def entry_address(self, stream: Stream, position: int) -> int:
        """Return where an entry of a software SQ lies on the device, 0 while it is on the host only."""

    @property
    def execution(self) -> GraphExecution:
        """The part that starts it."""

    def abandon(self, reason: str) -> None:
        """End the capture and the graph; messages about its streams and itself give the reason."""

    def tree(self) -> Sequence[Graph]:
        """Return the graph, the branches of its conditional nodes, and so on."""
