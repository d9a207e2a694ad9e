"""Captured graphs: models whose streams a capture makes (core_spec 14.1, 14.8, 14.13)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from chips.tasks import TaskType
from runtime import errors
from runtime.core.device import teardown
from runtime.core.diagnostics.resource_report import caller
from runtime.core.stream import creation
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.sink import group_interrupted
from runtime.core.sync.capture_gate import CaptureMode
from runtime.core.sync.signals import ByteSignal, IdSignal, Signal
from runtime.feature.graph.execution.external import ExternalEvents
from runtime.feature.graph.model.model import Model
from runtime.feature.graph.recording.arguments import StagedArguments
from runtime.feature.graph.recording.branch import Branch, branch_of, check_joined
from runtime.feature.graph.recording.node import EventUse, Node, NodeKind
from runtime.feature.graph.recording.node_list import LaunchRecorder
from runtime.feature.graph.state import (
    NOT_READY,
    OF_STREAM,
    CaptureStatus,
    GraphState,
    Spoils,
    counts_hardware_events,
    has_software_queues,
)
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import CoreKernel, Task
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.core.sync.event import Event
    from runtime.feature.graph.editing.task_group import TaskGroup
    from runtime.feature.graph.editing.update_arguments import ArgumentSlot, Repointer
    from runtime.feature.graph.recording.captured_event import CapturedEvent
    from runtime.feature.graph.recording.condition import Condition
    from runtime.memory.arguments import ArgumentBlock

_EXECUTOR_CAPTURE = 5


class Captured(Model):
    """A model made by a capture: how it comes about and how it ends."""

    __slots__ = ("_retired", "_state", "_users", "argument_slots", "arguments", "begun_by", "branches",
                 "conditions", "failed", "groups", "loaded", "mode", "origin", "parent", "places", "repointer",
                 "shadows", "software")  # fmt: skip

    executor, captured = _EXECUTOR_CAPTURE, True

    def __init__(self, context: Context, parent: Any = None) -> None:
        super().__init__(context)
        self.parent: Condition | None = parent
        """The conditional node whose branch it is, for a graph inside of another."""
        if parent is not None:
            context.models.remove(self)
        self.conditions: list[Condition] = []
        """Conditional nodes; their branches are graphs of their own."""
        self.mode = CaptureMode.GLOBAL
        self.begun_by = 0
        """The thread that has begun the capture."""
        self.state = GraphState.NEW
        self.failed = ""
        """Why the capture has failed."""
        self.origin: Branch | None = None
        self.branches: list[Branch] = []
        self.shadows: list[CapturedEvent] = []
        self.groups: list[TaskGroup] = []
        """Task groups, open or recorded."""
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
        self.places = os.environ.get(VARIABLE) == "1"
        """Whether nodes note where they were captured (NPUHAL_TRACE_CREATION=1)."""
        self._users: dict[Stream, Stream] = {}
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

    # -- while it is captured --------------------------------------------------------------------------------------

    def begin(self, stream: Stream, mode: CaptureMode) -> None:
        """Start the capture in a stream."""
        self.mode, self.state = mode, GraphState.CAPTURING
        self.origin = self._join(stream, "where the capture began")
        self.begun_by = self.context.capture_gate.enter(self.mode)

    def branch_of(self, stream: Stream, call: str, event: Event) -> Branch:
        """Return a stream's branch of this graph, a new one if it is not captured.

        Raises:
            CaptureError 107031: the default stream cannot be captured.
            CaptureError 107032: it is captured into another graph; both captures fail at their end.
        """
        branch = branch_of(stream)
        if branch is None:
            if stream.is_default:
                raise errors.fault(
                    "RT_ERROR_STREAM_CAPTURE_IMPLICIT", f"{call}: the default stream cannot join a capture",
                    ee="EE1017", params=(call, "stream", "the default stream cannot be captured"),
                    hint="use a stream from create_stream()",
                )
            with self.invalidated_by_failure():
                return self._join(stream, f"pulled into the capture by a {call}, {event!r}")
        if branch.graph is not self:
            conflict = errors.fault(
                "RT_ERROR_STREAM_CAPTURE_CONFLICT",
                f"{call}: stream {stream.stream_id} is captured into another graph than the event",
                hint="keep the events of different captures apart",
            )
            for graph in (self, branch.graph):
                graph.spoil(conflict)
            raise conflict
        return branch

    def _join(self, stream: Stream, cause: str) -> Branch:
        """Make the stream of the graph that takes a stream's tasks from now on."""
        branch = Branch(self, stream, self.make_stream(stream), cause)
        self.branches.append(branch)
        stream.lay_sink(branch.sink)
        return branch

    def make_stream(self, user: Stream, *, head: bool = True) -> Stream:
        """Make a stream of the graph that takes tasks of a user's; see `Model.bind` for `head`."""
        flags = StreamFlag.PERSISTENT if self.device.chip.traits.captures_keep_tasks else StreamFlag.DEFAULT
        create = creation.create_software if self.software else creation.create
        name = f"capture of {user.name or user.stream_id}"
        made = create(self.context, flags=flags, priority=user.priority, name=name)
        try:
            self.enlist(made, head=head)
        except BaseException:
            teardown.drop(made)
            raise
        self._users[made] = user
        return made

    def new_signal(self) -> Signal:
        """Return what a shadow is made of: a hardware event where there are plenty, else a byte of memory."""
        device = self.device
        if counts_hardware_events(device):
            return IdSignal(device)
        return ByteSignal(device, device.signals.bytes.take())

    # -- its tasks -------------------------------------------------------------------------------------------------

    @property
    def unhindered(self) -> bool:
        """Whether tasks are taken without a look at each."""
        return self.state is GraphState.CAPTURING and not self.open_groups

    @property
    def open_groups(self) -> list[TaskGroup]:
        """The task groups that are being recorded."""
        return [group for group in self.groups if group.recording]

    def settle(self) -> None:
        """Let all branches decide again whether prepared launches may pass by."""
        for branch in self.branches:
            branch.settle()
            branch.user.launchers.clear()

    def admit(self, stream: Stream, label: TaskInfo) -> None:
        """Refuse a task that a task group cannot take, or that comes in between one.

        Raises:
            StreamError 507009: not a kernel, in a group (EE1006).
            CaptureError 107034: a group is open in another branch.
        """
        if not self.groups or not self.capturing or label.type is TaskType.STREAM_ACTIVE:
            return
        user = self._users[stream]
        for group in self.open_groups:
            if group.branch.user is user:
                group.check(label)
                return
        for group in self.open_groups:
            group.error = group_interrupted(user, label)
            raise group.error

    def note(
        self, stream: Stream, task: Task, label: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None,
        address: int = 0,
    ) -> None:
        """Keep a task that was put into one of the graph's streams; `address` is that of its arguments."""
        origin = caller() if self.places else None
        node = Node(self._users[stream], stream, ids, count, label, task, arguments, origin, address)
        self.noted.add(node)
        if self.groups and self.capturing and label.type is not TaskType.STREAM_ACTIVE:
            for group in self.open_groups:
                group.nodes.append(node)

    def launch_recorder(self, stream: Stream, task: CoreKernel, info: TaskInfo) -> LaunchRecorder | None:
        """Return what records launches that differ in nothing but their arguments; None where each is looked at."""
        return None if self.places else self.noted.recorder(self._users[stream], stream, info, task)

    def mark_last(self, stream: Stream, kind: NodeKind, event: Event, *, external: bool = False) -> Node:
        """Say what the newest task of a stream is about."""
        node = next(node for node in reversed(self.nodes) if node.stream is stream)
        node.event = EventUse(kind, event.name or f"{event.handle:#x}", event.handle, int(event.flags), external)
        return node

    def invalidated_by_failure(self) -> Spoils:
        """Return a context manager: a fault in it spoils the capture."""
        return Spoils(self)

    def spoil(self, failure: BaseException) -> None:
        """Let the end of the capture fail: one of its tasks has."""
        if self.state is GraphState.CAPTURING:
            self.state, self.failed = GraphState.INVALIDATED, str(failure) or type(failure).__name__
            self.settle()

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
            CaptureError 507903: a captured task had failed.
            CaptureError 107033: a task group is open.
            CaptureError 107025: a branch does not lead back.
        """
        try:
            if self.state is GraphState.INVALIDATED:
                raise errors.fault(
                    "RT_ERROR_STREAM_CAPTURE_INVALIDATED", "the graph is not complete, because a captured task has "
                    f"failed: {self.failed}", hint="see the error of that call, and capture again",
                )
            if self.open_groups:
                raise errors.fault(
                    "RT_ERROR_STREAM_TASKGRP_STATUS", "a task group is still being recorded",
                    hint="end the group before the capture",
                )
            assert self.origin is not None
            check_joined(self.branches, self.origin)
            self.arguments.bring_over()
            for shadow in self.shadows:
                stream = self.origin.ready()
                shadow.signal.reset(stream, _nothing)
                self.mark_last(stream, NodeKind.EVENT_RESET, shadow.event)
            if isinstance(self.starter, ExternalEvents):
                self.starter.seal()
            if self.software:
                self.complete = True
            else:
                self.end(self.origin.ready())
                self.load()
        except BaseException as failure:
            self.abandon(str(failure))
            raise
        self.leave()
        self.state = GraphState.READY

    def abandon(self, reason: str) -> None:
        """End the capture and the graph; messages about its streams and itself give the reason."""
        self.failed = reason or "it was given up"
        for branch in self.branches:
            branch.user.lost_capture = self.failed
        self.close(force=True)

    def leave(self) -> None:
        """Let all streams and events be as they were before the capture."""
        if not self.capturing:
            return
        self.state = GraphState.NEW
        if self.origin is not None:
            self.context.capture_gate.leave(self.mode, self.begun_by)
        for branch in self.branches:
            branch.epoch.block(True)
            branch.user.lift_sink(branch.sink)
        for shadow in self.shadows:
            if shadow.event.shadow is shadow:
                shadow.event.shadow = None

    # -- as a model ------------------------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise where the graph was closed; tells of a capture that had failed."""
        if self.closed and self.failed:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"graph {self.model_id} does not exist: its capture failed: "
                f"{self.failed}", ee="EE1017", params=("use of a graph", "graph", "its capture failed"),
                hint="capture again, and do not go on when the end of a capture fails",
            )
        super().check_open()

    def _make_ready(self) -> None:
        """Make ready what the first execution needs; the lock is held."""
        renewed = self.end_notify is None
        graphs = [graph for graph in self.tree() if isinstance(graph, Captured)]
        for graph in graphs:
            assert graph.origin is not None
            graph.end_again(graph.origin.stream, None if graph.parent is None else graph.parent.notify)
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
            self.leave()
        super().close(force=force)

    def _release_streams(self) -> None:
        super()._release_streams()
        for condition in self.conditions:
            for branch in condition.branches:
                branch.close(force=True)

    def _release_stream(self, stream: Stream) -> None:
        teardown.drop(stream)

    def _release(self) -> None:
        for shadow in self.shadows:
            shadow.signal.drop()
        self._release_retired()
        handles = self.device.runtime.handles
        for group in self.groups:
            handles.remove(group.handle)
        for node in self.noted.known():
            if node.handle:
                handles.remove(node.handle)
        super()._release()


def _nothing() -> None:
    """The signal belongs to the graph; no task has a share in it."""
