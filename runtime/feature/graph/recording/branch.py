"""Branches: one user stream's part of a capture, and the graph's streams that take its tasks (core_spec 14.6, 14.7)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar

from npuhal.records import replace
from runtime import errors
from runtime.core.submission.epoch import EpochFlag
from runtime.core.submission.prepared import Part, Recording, prepared_send
from runtime.core.submission.software import RESERVED
from runtime.core.sync.event_flags import WAITABLE, EventFlag
from runtime.feature.graph.model.links import chain
from runtime.feature.graph.recording.capture_sink import CaptureSink
from runtime.feature.graph.recording.captured_event import CapturedEvent
from runtime.feature.graph.recording.node import NodeKind
from runtime.launch.templates import launch_template

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chips.tasks import CoreKernel
    from runtime.core.ports import Closable, EventPort, TaskSink
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.feature.graph.recording.group import TaskGroup
    from runtime.memory.arguments import ArgumentBlock


class Branch:
    """One user stream's part of a graph.

    Prepared launches put tasks into the graph's stream, up to `edge` entries, unless only the slow path may.
    """

    counts_only: ClassVar[bool] = False
    """Whether it is part of a dry run."""

    __slots__ = ("__weakref__", "_lock", "cause", "edge", "epoch", "graph", "group", "last", "sink", "streams", "user")

    def __init__(self, graph: ports.Graph, user: Stream, stream: Stream, cause: str) -> None:
        self.graph, self.user, self.cause = graph, user, cause
        self.sink: TaskSink = CaptureSink(self)
        """What is laid over the user's stream."""
        self.streams = [stream]
        """The graph's streams that hold the branch, in order; each but the last is full and starts the next."""
        self.last: CapturedEvent | None = None
        """The newest record in the branch."""
        self.group: TaskGroup | None = None
        """The task group that is being recorded in it."""
        self._lock = threading.Lock()
        self.epoch = EpochFlag()
        """Blocked while launches have to take the slow path; renewed with each stream of the graph."""
        self.edge = 0
        self.settle()

    @property
    def stream(self) -> Stream:
        """The graph's stream that takes the next task."""
        return self.streams[-1]

    def settle(self) -> None:
        """Decide again whether launches may take the fast path."""
        stream = self.stream
        self.edge = stream.ring.depth - RESERVED - int(stream.env.chip.prop("expandStreamRsvTaskNum")) - 1
        self.epoch.block(not self.graph.recording.unhindered or self.group is not None)

    def prepared_launch(
        self, program: Closable, task: CoreKernel, info: TaskInfo, slow: Callable[[int], object] | None = None
    ) -> Callable[[int], Any] | None:
        """Return the prepared send of captured launches, by the address of their block; None: slow path only.

        Args:
            slow: what it calls with the address where it puts nothing: the graph's stream is full, a task group is
                open, or the capture is over. Without it the answer is 0.
        """
        epoch, target = self.epoch.now, self.stream
        if epoch.blocked:
            return None
        template, recorder = launch_template(target, task), self.graph.recording.launch_recorder(target, task, info)
        if template is None or recorder is None:
            return None
        record, make_node = recorder
        return prepared_send(
            target, Part(template, info), epochs=(epoch,), parameters=("args",), program=program, slow=slow,
            tracer=target.tracer, recording=Recording(self.edge, record, make_node, self.graph.recording.spoil),
        )

    def told(self) -> str:
        """Return in words the graph, who captures it and how, and how the stream came into the capture."""
        recording = self.graph.recording
        return recording.told() + ("" if recording.origin is self else f"; the stream was {self.cause}")

    def let_go(self) -> bool:
        """Give the capture up if the block that has begun it is gone; returns whether it is."""
        graph = self.graph
        block = graph.recording.block
        if block is None or not block.gone:
            return False
        if graph.capturing:
            graph.abandon("its block was left by an interrupt")
        return True

    # -- tasks -----------------------------------------------------------------------------------------------------

    def take_arguments(self, size_bytes: int) -> ArgumentBlock:
        """Return memory of the graph for arguments, filled on the host and brought over with all of it."""
        return self.graph.arguments.take(size_bytes)

    def ready(self) -> Stream:
        """Return the graph's stream for the next task, a new one when the last is full.

        A failure invalidates the capture.

        Raises:
            ResourceExhausted: no stream or queue is left for going on.
        """
        with self._lock:
            if self.stream.ring.submitted >= self.edge:
                with self.graph.recording.invalidated_by_failure():
                    self._go_on()
            return self.stream

    def _go_on(self) -> None:
        full = self.stream
        made = self.graph.recording.make_stream(self.user, head=False)
        made.env = replace(made.env, profiling_switch=full.env.profiling_switch)
        self.streams.append(made)
        chain(self.graph, full, made)
        self.epoch.renew()
        self.settle()
        self.user.launchers.clear()

    # -- events ----------------------------------------------------------------------------------------------------

    def record(self, event: EventPort) -> None:
        """Record an event in the graph.

        Raises:
            NotSupported 207000: the event keeps one signal for life, and is not of the kind EXTERNAL.
        """
        if event.flags == EventFlag.EXTERNAL:
            self._keep_external(event, NodeKind.EVENT_RECORD)
            return
        if not event.renewed:
            raise plain_event(event)
        if not event.flags & WAITABLE:
            return  # only the host could ask for it, and the graph tells the host nothing
        graph = self.graph
        with graph.recording.invalidated_by_failure():
            stream = self.ready()
            captured = CapturedEvent(event, self, graph.recording.new_signal())
            graph.recording.captured_events.append(captured)
            captured.signal.record(stream, _nothing, timeline=False, reported=None)
        captured.node = graph.recording.describe_last(stream, NodeKind.EVENT_RECORD, event)
        captured.submitted = self.submitted
        self.last = event.in_graph = captured

    def wait_outside(self, event: EventPort, *, recorded: bool) -> None:
        """Answer a wait for an event that is not part of the graph.

        Raises:
            NotSupported 207000: the event keeps one signal for life.
            CaptureError 107024: it was recorded outside.
        """
        if event.flags == EventFlag.EXTERNAL:
            self._keep_external(event, NodeKind.EVENT_WAIT)
            return
        if not event.renewed:
            raise plain_event(event)
        if recorded:
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURE_ISOLATION",
                f"{event!r} was recorded outside of the capture that stream {self.user.stream_id} is in, that of "
                f"{self.told()}", ee="EE1016",
                params=("wait for an event", "the event was recorded outside of the capture"),
                hint="record it in a stream of the capture, or wait before the capture begins",
            )

    def reset_outside(self, event: EventPort, *, recorded: bool) -> None:
        """Refuse a reset of an event that is not part of the graph; STARS v2 accepts it where it changes nothing.

        Raises:
            NotSupported 207000: it cannot be part of a graph.
        """
        if event.flags == EventFlag.EXTERNAL:
            self._keep_external(event, NodeKind.EVENT_RESET)
            return
        if recorded or event.flags != EventFlag.DEFAULT or not self.graph.device.chip.traits.resets_in_captures:
            raise plain_event(event)

    def _keep_external(self, event: EventPort, kind: NodeKind) -> None:
        """Put a record, wait or reset of an event of the kind EXTERNAL into the graph."""
        graph, signal = self.graph, event.signal
        assert signal is not None
        with graph.recording.invalidated_by_failure():
            taken = self.ready()
            if kind is NodeKind.EVENT_RECORD:
                signal.record(taken, _nothing, timeline=False, reported=None)
            elif kind is NodeKind.EVENT_WAIT:
                signal.wait(taken, _nothing, 0)
            else:
                signal.reset(taken, _nothing)
        graph.recording.describe_last(taken, kind, event, external=True)
        if signal.hold():
            graph.resources.callback(signal.drop)

    # -- the end ---------------------------------------------------------------------------------------------------

    @property
    def submitted(self) -> int:
        """SQEs that the branch holds, in all its streams."""
        return sum(stream.ring.submitted for stream in self.streams)

    @property
    def joined(self) -> bool:
        """Whether the branch ends in a record that somebody waits for."""
        last = self.last
        return last is not None and last.submitted == self.submitted and bool(last.waiters)

    def story(self) -> str:
        """Return who this is, where the stream was made, how it came into the capture, and what it did last."""
        user = self.user
        last = next((node for node in reversed(self.graph.nodes) if node.user is user), None)
        name = f" ({user.name})" if user.name else ""
        did = "nothing was captured in it" if last is None else f"its last task is {last!r}"
        return f"stream {user.stream_id}{name}, made at {user.site}, {self.cause}; {did}"


def check_joined(branches: Sequence[Branch], origin: Branch) -> None:
    """Raise CaptureError 107025 where a branch does not lead back to where the capture began (core_spec 14.8)."""
    forked = [branch for branch in branches if branch is not origin]
    loose = [branch for branch in forked if not branch.joined]
    direct = any(branch.last is not None and origin in branch.last.waiters for branch in forked)
    if loose or (forked and not direct):
        names = ", ".join(str(branch.user.stream_id) for branch in loose or forked)
        stories = "; ".join(branch.story() for branch in loose or forked)
        raise errors.fault(
            "RT_ERROR_STREAM_UNJOINED", "what was captured does not lead back to stream "
            f"{origin.user.stream_id}, where the capture began: {stories}", ee="EE1017",
            params=("end of a capture", "stream", f"stream {names} was not joined"),
            hint=f"record an event as the last task of stream {names}, and let stream "
            f"{origin.user.stream_id} wait for it",
        )


def plain_event(event: EventPort) -> errors.RuntimeFault:
    """Return the fault for an event that keeps one signal for life, which a graph cannot replace."""
    return errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{event!r} cannot be used in a capture",
        hint="make the event with device.create_event(), in C aclrtCreateEventExWithFlag",
    )


def _nothing() -> None:
    """The signal belongs to the graph; no task has a share in it."""


def in_dry_run(stream: Stream) -> bool:
    """Whether what is submitted to a stream is only counted."""
    return isinstance(stream.branch, Branch) and stream.branch.counts_only


def branch_of(stream: Stream) -> Branch | None:
    """Return the branch of a graph that takes what is submitted to a stream; None where none does.

    Raises:
        NotSupported 207000: the stream is in a dry run, where there is no graph.
    """
    branch = stream.branch
    if not isinstance(branch, Branch):
        return None
    if in_dry_run(stream):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"stream {stream.stream_id} is in a dry run, which has no graph: it "
            "only counts launches, copies and events",
            hint="capture without dry_run for task groups, external events, and the end of a capture",
        )
    return branch
