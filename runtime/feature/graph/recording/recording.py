"""How a graph comes about: the branches that take tasks, what is kept of each, how the capture ends (core_spec 14)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chips.tasks import TaskType
from npuhal.words import a
from runtime import errors
from runtime.core.device import teardown
from runtime.core.diagnostics.resource_report import caller, creation_site
from runtime.core.stream import creation
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.sink import group_interrupted
from runtime.core.sync.open_captures import CaptureMode
from runtime.core.sync.signals import ByteSignal, IdSignal, Signal
from runtime.errors.closing import Again
from runtime.feature.graph.recording.branch import Branch, branch_of, check_joined
from runtime.feature.graph.recording.node import EventUse, Node, NodeKind
from runtime.feature.graph.recording.node_list import LaunchRecorder
from runtime.feature.graph.state import Block, GraphState, counts_hardware_events
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    from chips.env import TaskIds
    from chips.tasks import CoreKernel, Task
    from runtime.core.ports import EventPort
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.memory.arguments import ArgumentBlock


class Invalidating:
    """`with graph.recording.invalidated_by_failure():`"""

    __slots__ = ("_recording",)

    def __init__(self, recording: GraphRecording) -> None:
        self._recording = recording

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: object) -> None:
        if raised is not None:
            self._recording.spoil(raised)


class GraphRecording:
    """The capture of one graph: its branches, and what was captured in them."""

    __slots__ = ("_graph", "_users", "begun_at", "begun_by", "block", "branches", "captured_events", "failed", "groups",
                 "mode", "origin", "other_site", "sites")  # fmt: skip

    def __init__(self, graph: ports.Graph) -> None:
        self._graph = graph
        self.mode = CaptureMode.GLOBAL
        self.begun_by = 0
        """The thread that has begun the capture."""
        self.begun_at = ""
        """Where the program has begun it."""
        self.block: Block | None = None
        """The block at whose end it ends."""
        self.failed = ""
        """Why the capture has failed."""
        self.origin: Branch | None = None
        """Where the capture began."""
        self.branches: list[Branch] = []
        self.captured_events: list[ports.CapturedEvent] = []
        """What stands for recorded events."""
        self.groups: list[ports.TaskGroup] = []
        """Task groups, open or recorded."""
        self.sites = os.environ.get(VARIABLE) == "1"
        """Whether nodes note where they were captured (NPUHAL_TRACE_CREATION=1)."""
        self.other_site: tuple[CodeType, int] | None = None
        """The call site of nodes, where it is another one than the call that submits them."""
        self._users: dict[Stream, Stream] = {}
        """Whose tasks each stream of the graph takes."""

    def begin(self, stream: Stream, mode: CaptureMode) -> None:
        """Start the capture in a stream."""
        graph = self._graph
        self.mode, graph.state, self.begun_at = mode, GraphState.CAPTURING, creation_site()
        self.begun_by = graph.context.open_captures.enter(self, mode)
        self.origin = self._join(stream, "where the capture began")
        graph.context.device.tally.captures += 1

    def told(self) -> str:
        """Return in words which graph is captured, from where on, by whom and how."""
        begun = "" if self.origin is None else f", whose capture began in stream {self.origin.user.stream_id}"
        return f"graph {self._graph.model_id}{begun} at {self.begun_at}, by thread {self.begun_by} in " \
               f"{self.mode.name} mode"

    def branch_of(self, stream: Stream, call: str, event: EventPort, *, silent: bool = False) -> Branch:
        """Return a stream's branch of this graph, a new one if it is not captured.

        Raises:
            CaptureError 107031: the default stream cannot be captured (EE1017, no message if `silent`).
            CaptureError 107032: it is captured into another graph; both captures fail at their end.
        """
        branch = branch_of(stream)
        if branch is None:
            if stream.is_default:
                raise errors.fault(
                    "RT_ERROR_STREAM_CAPTURE_IMPLICIT", f"{call}: the default stream cannot join a capture",
                    ee="" if silent else "EE1017",
                    params=() if silent else (call, "stream", "the default stream cannot be captured"),
                    hint="use a stream from create_stream()",
                )
            with self.invalidated_by_failure():
                return self._join(stream, f"pulled into the capture by {a(call)} at {creation_site()}, {event!r}")
        if branch.graph is not self._graph:
            conflict = errors.fault(
                "RT_ERROR_STREAM_CAPTURE_CONFLICT",
                f"{call}: stream {stream.stream_id} is captured into {branch.told()}; the event is of {self.told()}; "
                "both captures are spoiled",
                hint="keep the events of different captures apart",
            )
            for graph in (self._graph, branch.graph):
                graph.recording.spoil(conflict)
            raise conflict
        return branch

    def _join(self, stream: Stream, cause: str) -> Branch:
        """Make the stream of the graph that takes a stream's tasks from now on."""
        branch = Branch(self._graph, stream, self.make_stream(stream), cause)
        self.branches.append(branch)
        stream.sinks.lay(branch.sink)
        return branch

    def make_stream(self, user: Stream, *, head: bool = True) -> Stream:
        """Make a stream of the graph that takes tasks of a user's; see `Model.bind` for `head`."""
        graph = self._graph
        flags = StreamFlag.PERSISTENT if graph.device.chip.traits.captures_keep_tasks else StreamFlag.DEFAULT
        create = creation.create_software if graph.software else creation.create
        name = f"capture of {user.name or user.stream_id}"
        made = create(graph.context, flags=flags, priority=user.priority, name=name)
        try:
            graph.stream_set.add(made, head=head)
        except BaseException:
            teardown.drop(made)
            raise
        self._users[made] = user
        return made

    def new_signal(self) -> Signal:
        """Return what a shadow is made of: a hardware event where there are plenty, else a byte of memory."""
        device = self._graph.device
        if counts_hardware_events(device):
            return IdSignal(device)
        return ByteSignal(device, device.signals.bytes.take())

    # -- its tasks -------------------------------------------------------------------------------------------------

    @property
    def unhindered(self) -> bool:
        """Whether launches may take the fast path."""
        return self._graph.state is GraphState.CAPTURING and not self.open_groups

    @property
    def open_groups(self) -> list[ports.TaskGroup]:
        """The task groups that are being recorded."""
        return [group for group in self.groups if group.recording]

    def settle(self) -> None:
        """Let all branches decide again whether launches may take the fast path."""
        for branch in self.branches:
            branch.settle()
            branch.user.launchers.clear()

    def admit(self, stream: Stream, label: TaskInfo) -> None:
        """Refuse a task that a task group cannot take, or that comes in between one.

        Raises:
            StreamError 507009: not a kernel, in a group (EE1006).
            CaptureError 107034: a group is open in another branch.
        """
        if not self.groups or not self._graph.capturing or label.type is TaskType.STREAM_ACTIVE:
            return
        user = self._users[stream]
        for group in self.open_groups:
            if group.branch.user is user:
                group.check(label)
                return
        for group in self.open_groups:
            group.error = group_interrupted(user, label, group.told())
            raise group.error

    def note(
        self, stream: Stream, task: Task, label: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep a task that was put into one of the graph's streams."""
        origin = (self.other_site or caller()) if self.sites else None
        node = Node(self._users[stream], stream, ids, count, label, task, arguments, origin)
        self._graph.node_list.add(node)
        if self.groups and self._graph.capturing and label.type is not TaskType.STREAM_ACTIVE:
            for group in self.open_groups:
                group.nodes.append(node)

    def launch_recorder(self, stream: Stream, task: CoreKernel, info: TaskInfo) -> LaunchRecorder | None:
        """Return what records launches that differ in nothing but their arguments; None: slow path only."""
        return None if self.sites else self._graph.node_list.recorder(self._users[stream], stream, info, task)

    def describe_last(self, stream: Stream, kind: NodeKind, event: EventPort, *, external: bool = False) -> Node:
        """Say what the newest task of a stream is about."""
        node = next(node for node in reversed(self._graph.nodes) if node.stream is stream)
        node.event = EventUse(kind, event.name or f"{event.handle:#x}", event.handle, int(event.flags), external)
        return node

    def invalidated_by_failure(self) -> Invalidating:
        """Return a context manager: a fault in it invalidates the capture."""
        return Invalidating(self)

    def spoil(self, failure: BaseException) -> None:
        """Let the end of the capture fail: one of its tasks has."""
        if self._graph.state is GraphState.CAPTURING:
            self._graph.state, self.failed = GraphState.INVALIDATED, str(failure) or type(failure).__name__
            self.settle()

    # -- the end ---------------------------------------------------------------------------------------------------

    def check_complete(self) -> Branch:
        """Return the branch in which the capture began, if all others lead back to it.

        Raises:
            CaptureError 507903: a captured task had failed.
            CaptureError 107033: a task group is open.
            CaptureError 107025: a branch does not lead back.
        """
        if self._graph.state is GraphState.INVALIDATED:
            reason = f"the graph is not complete, because a captured task has failed: {self.failed}"
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURE_INVALIDATED", reason, ee="EE1016", params=("end of a capture", reason),
                hint="see the error of that call, and capture again",
            )
        if self.open_groups:
            raise errors.fault(
                "RT_ERROR_STREAM_TASKGRP_STATUS", f"{self.open_groups[0].told()} is still being recorded",
                hint="end the group before the capture",
            )
        assert self.origin is not None
        check_joined(self.branches, self.origin)
        return self.origin

    def take_records_back(self) -> None:
        """Put behind everything else what takes the records of events back for the next execution."""
        assert self.origin is not None
        for captured in self.captured_events:
            stream = self.origin.ready()
            captured.signal.reset(stream, _nothing)
            self.describe_last(stream, NodeKind.EVENT_RESET, captured.event)

    def fail(self, reason: str) -> None:
        """Say to all streams why the capture has failed."""
        self.failed = reason or "it was given up"
        for branch in self.branches:
            branch.user.lost_capture = self.failed

    def leave(self) -> None:
        """Let all streams and events be as they were before the capture; again, where an interrupt came between."""
        graph = self._graph
        if not graph.capturing:
            return
        graph.context.open_captures.leave(self)
        for branch in self.branches:
            branch.epoch.block(True)
            branch.user.sinks.lift(branch.sink)
        for captured in self.captured_events:
            if captured.event.in_graph is captured:
                captured.event.in_graph = None
        graph.state = GraphState.NEW

    def releases(self) -> Iterator[Callable[[], object]]:
        """Return the steps that give up what the graph has kept: signals, and the handles of groups and nodes."""
        yield from (captured.signal.drop for captured in self.captured_events)
        yield Again(self._forget_handles)

    def _forget_handles(self) -> None:
        handles = self._graph.device.runtime.handles
        for group in self.groups:
            handles.remove(group.handle)
        for node in self._graph.node_list.known():
            if node.handle:
                handles.remove(node.handle)


def _nothing() -> None:
    """The signal belongs to the graph; no task has a share in it."""
