"""What the parts of models and graphs see of each other: no part imports the model that it belongs to.

`runtime.feature.graph.model.model.Model` and `runtime.feature.graph.graph.Graph` put the parts together, and stand
above all of them; below they know each other by what they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from runtime.core.ports import BoundModel, CaptureBranch, EventInGraph

if TYPE_CHECKING:
    import threading
    from contextlib import AbstractContextManager

    from chips.env import TaskIds
    from chips.tasks import CoreKernel, Task
    from runtime import errors
    from runtime.core.device.device import Device
    from runtime.core.ports import EventPort, StreamPort
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import EpochFlag
    from runtime.core.submission.ring import TaskInfo
    from runtime.core.submission.two_tasks import TrySend
    from runtime.core.sync.notify import Notify
    from runtime.core.sync.signals import Signal
    from runtime.feature.graph.execution.rings import DeviceRings
    from runtime.feature.graph.recording.arguments import StagedArguments
    from runtime.feature.graph.recording.node import Node, NodeKind
    from runtime.feature.graph.recording.node_list import LaunchRecorder, NodeList
    from runtime.feature.graph.state import GraphState
    from runtime.memory.arguments import ArgumentBlock

# -- models ------------------------------------------------------------------------------------------------------------


class TaskRecorder(Protocol):
    """Keeps what is put into the streams of a model."""

    def admit(self, stream: Stream, info: TaskInfo) -> None:
        """Refuse a task that a stream cannot take now."""

    def note(
        self, stream: Stream, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep a task that was put into a stream."""

    def spoil(self, failure: BaseException) -> None:
        """Learn that a task could not be put."""


class FurtherStreams(Protocol):
    """The streams that take what a full stream of a model cannot."""

    @property
    def streams(self) -> list[Stream]:
        """The further streams, in the order in which each starts the next."""

    def next_for(self, count: int = ...) -> Stream:
        """Return the stream that takes a task of `count` entries next."""


class QueueProgram(Protocol):
    """A task whose program names queues of other streams."""

    def refresh(self) -> None:
        """Write program and entry again: the streams were lent other queues."""


class Streams(Protocol):
    """The streams of one model (`runtime.feature.graph.model.model_streams`)."""

    @property
    def lock(self) -> threading.RLock:
        """Held while an execution is queued, and while queues change."""

    @property
    def bound(self) -> list[Stream]:
        """The streams, the newest first."""

    @property
    def links(self) -> list[QueueProgram]:
        """Tasks that start other streams."""

    def add(self, stream: Stream, *, head: bool) -> None:
        """Make a stream the model's."""

    def heads(self) -> list[Stream]:
        """Return the streams that start with the model, the oldest first."""

    def known(self) -> list[Stream]:
        """Return the streams that the task scheduler executes, the newest first."""

    def counter(self, stream: StreamPort) -> int:
        """Return the address of the word that counts how often a stream was started."""

    def rewrite(self, stream: Stream, position: int, sqes: bytes) -> None:
        """Put other entries in the place of a task; only for software SQs."""

    def use_rings(self, rings: DeviceRings) -> None:
        """Keep the entries of software SQs in what the whole tree of models has."""

    def announce(self) -> None:
        """Let the task scheduler know the streams that it executes."""

    def retract(self) -> None:
        """Let the task scheduler forget the streams that it knows."""

    @property
    def sender(self) -> Stream:
        """The stream for messages about the model."""


class Launcher(Protocol):
    """What starts a model (`runtime.feature.graph.execution.model_launcher`)."""

    @property
    def epoch(self) -> EpochFlag:
        """Blocked while executions have to take the slow path."""

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""

    def runs_in(self, stream: StreamPort) -> bool:
        """Whether a stream waits for an execution."""

    def forget(self) -> None:
        """Prepare everything anew for the next execution: queues or the notify of the end have changed."""

    def look(self) -> None:
        """Let the next execution in each stream take the slow path."""

    def settled(self) -> bool:
        """Let each execution take the slow path from now on; returns whether all that were queued before are over."""

    def __call__(self, stream: Stream) -> None:
        """Execute the model once in a stream; the caller holds the model's lock."""

    def close(self) -> None:
        """Free what starts the model."""


class Execution(Protocol):
    """The executions of one model (`runtime.feature.graph.execution.model_execution`)."""

    @property
    def launcher(self) -> Launcher:
        """What starts the model."""

    @property
    def before(self) -> list[Callable[[], None]]:
        """What is done on the host before each execution."""

    @property
    def ready(self) -> dict[Stream, TrySend]:
        """What queues an execution at once, by stream."""

    @property
    def complete(self) -> bool:
        """Whether executions were prepared, or will be by the first one."""

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""

    def start_by(self, launcher: Launcher) -> None:
        """Let something else start the model from now on."""

    def leave_to_aicpu(self, stream: Stream) -> None:
        """Let the AICPU schedule the model, for the sake of a stream."""


class Model(BoundModel, Protocol):
    """The model that a part belongs to."""

    @property
    def context(self) -> Context:
        """The context that it was made in."""

    @property
    def device(self) -> Device:
        """The device that executes it."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    @property
    def captured(self) -> bool:
        """Whether a capture has made it."""

    @property
    def executor(self) -> int:
        """Who executes it, as the task scheduler is told."""

    @property
    def texts(self) -> dict[Node, str]:
        """What was said of tasks, for the debug output."""

    @property
    def root(self) -> Model:
        """The model whose executions execute it: itself, but for branches of conditional nodes."""

    @property
    def streams(self) -> list[Stream]:
        """Its streams, the newest first."""

    @property
    def stream_set(self) -> Streams:
        """The part that its streams are."""

    @property
    def nodes(self) -> list[Node]:
        """What its streams hold, in the order in which it was submitted."""

    @property
    def node_list(self) -> NodeList:
        """The part that its nodes are."""

    @property
    def recorder(self) -> TaskRecorder:
        """What keeps the tasks of its streams."""

    @property
    def execution(self) -> Execution:
        """The part that starts it."""

    @property
    def end_notify(self) -> Notify | None:
        """What its last task sets; there once the model has an end."""

    def tree(self) -> Sequence[Model]:
        """Return the model and those that it starts itself."""

    def check_open(self) -> None:
        """Raise where it was closed."""

    def clean(self, stream: Stream) -> None:
        """Empty one of its streams, so that other tasks can be put into it."""


# -- graphs ------------------------------------------------------------------------------------------------------------


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

    def settle(self) -> None:
        """Let all branches decide again whether launches may take the fast path."""

    def branch_of(self, stream: Stream, call: str, event: EventPort) -> Branch:
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
        """Look up anew where the arguments of a kernel lie when they are changed next."""

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

    def tree(self) -> Sequence[Graph]:
        """Return the graph, the branches of its conditional nodes, and so on."""
