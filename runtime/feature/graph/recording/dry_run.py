"""Captures that only count: what a graph would take, before anything is taken."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from chips.tasks import CaptureRecord, CaptureWait, EventRecord, EventReset, EventWait, MemWriteValue, WaitFor
from runtime import errors
from runtime.core.stream.stream import as_stream
from runtime.core.sync.event_flags import WAITABLE, EventFlag
from runtime.core.sync.open_captures import CaptureMode
from runtime.feature.graph.cost import Cost, stream_capacity
from runtime.feature.graph.recording.arguments import StagedArguments, StagedBlock
from runtime.feature.graph.recording.branch import Branch, plain_event
from runtime.feature.graph.recording.capture_sink import CaptureSink
from runtime.feature.graph.recording.node import NodeKind
from runtime.feature.graph.state import counts_hardware_events, has_software_queues

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.ports import EventPort, StreamPort
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph.state import Block

_NOWHERE_ADDRESS = 1 << 40


class DryRun:
    """A capture that takes no ids, queues or device memory. Made by `with stream.capture(dry_run=True) as plan:`."""

    __slots__ = (
        "__weakref__", "_hardware", "arguments", "block", "branches", "context", "device", "records",
    )  # fmt: skip

    unhindered = capturing = False

    def __init__(self, stream: Stream, block: Block) -> None:
        self.context, self.device, self.block = stream.context, stream.device, block
        self.arguments = _Nowhere(stream.device)
        self.branches: list[_Branch] = []
        self.records: list[EventPort] = []
        """Events recorded, once per record."""
        self._hardware = counts_hardware_events(stream.device)

    def begin(self, stream: Stream, mode: CaptureMode) -> None:
        """Start counting what is submitted to a stream; nothing of it runs."""
        self.context.open_captures.enter(self, mode)
        self.join(stream)

    def join(self, stream: Stream) -> _Branch:
        """Return a stream's branch, a new one where it has none.

        Raises:
            CaptureError 107031: it is the default stream.
            CaptureError 107027: it is really being captured.
        """
        if isinstance(stream.branch, _Branch) and stream.branch.dry_run is self:
            return stream.branch
        stream.check_not_captured("dry run of a capture")
        if stream.is_default:
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURE_IMPLICIT", "dry run of a capture: the default stream cannot join it",
                hint="use a stream from create_stream()",
            )
        branch = _Branch(self, stream)
        self.branches.append(branch)
        stream.sinks.lay(branch.sink)
        return branch

    def end(self) -> None:
        """Let all streams and events be as they were."""
        self.context.open_captures.leave(self)
        for branch in self.branches:
            branch.user.sinks.lift(branch.sink)
        for event in self.records:
            event.in_graph = None

    # -- what events become ----------------------------------------------------------------------------------------

    def record_task(self) -> Task:
        """Return what a record in the graph would be."""
        return EventRecord(event_id=0) if self._hardware else CaptureRecord(addr=0, value=1)

    def wait_task(self) -> Task:
        """Return what a wait would be."""
        return EventWait(event_id=0) if self._hardware else CaptureWait(addr=0, value=1, flag=WaitFor.EQUAL)

    def reset_task(self) -> Task:
        """Return what takes a record back."""
        return EventReset(event_id=0) if self._hardware else MemWriteValue(addr=0, value=0, size_code=0)

    @property
    def cost(self) -> Cost:
        """What the graph would take."""
        records = len(self.records)
        first = self.branches[0]
        sqes = sum(branch.sqes for branch in self.branches) + records * first.count(self.reset_task()) + 1
        streams = sum(-(-max(branch.sqes, 1) // stream_capacity(branch.user)) for branch in self.branches)
        return Cost(
            streams=streams, queues=streams, sqes=sqes, notifies=1, models=1,
            nodes=sum(branch.tasks for branch in self.branches) + records + 1,
            events=records if self._hardware else 0, event_bytes=0 if self._hardware else records,
            argument_bytes=self.arguments.size_bytes, lends=has_software_queues(self.device),
        )


class _CountingSink(CaptureSink):
    """Counts what is submitted to a stream."""

    __slots__ = ("_counted",)

    def __init__(self, branch: _Branch) -> None:
        super().__init__(branch)
        self._counted = branch

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> None:
        """Count a task; nothing of it is kept."""
        self._counted.add(task, count)

    def spoil(self, failure: BaseException) -> None:
        """Take no note: there is no graph that could fail."""


class _Branch(Branch):
    """A stream's part of what is counted."""

    counts_only = True
    __slots__ = ("dry_run", "sqes", "tasks")

    def __init__(self, dry_run: DryRun, user: Stream) -> None:
        graph: Any = dry_run  # what launches and events ask a graph for, it has, too
        self.graph, self.dry_run, self.user = graph, dry_run, user
        self.sink = _CountingSink(self)
        self.group = self.last = None
        self.sqes = self.tasks = 0

    def told(self) -> str:
        """Return in words what the stream is in."""
        return "a dry run of a capture"

    def let_go(self) -> bool:
        """End the dry run if the block that has begun it is gone; returns whether it is."""
        gone: bool = self.dry_run.block.gone
        if gone:
            self.dry_run.end()
        return gone

    def ready(self) -> Stream:
        """Return the user's stream: what is submitted to it comes to `submit`."""
        return self.user

    def prepared_launch(self, *_: Any) -> None:
        """Return nothing: each launch is counted."""

    def count(self, task: Task) -> int:
        """Return how many SQEs a task has."""
        return self.user.plugin.ops(task).count(task, self.user.env)

    def add(self, task: Task, count: int | None = None) -> None:
        """Count a task, whose SQEs may have been counted already."""
        self.sqes += self.count(task) if count is None else count
        self.tasks += 1

    def record(self, event: EventPort) -> None:
        """Count the record of an event; see `Branch.record`."""
        if event.flags == EventFlag.EXTERNAL:
            self._keep_external(event, NodeKind.EVENT_RECORD)
            return
        if not event.renewed:
            raise plain_event(event)
        if event.flags & WAITABLE:
            self.add(self.dry_run.record_task())
            self.dry_run.records.append(event)
            event.in_graph = _DryEvent(self.dry_run)


    def _keep_external(self, event: EventPort, kind: NodeKind) -> None:
        """Count a record, wait or reset of an event of the kind EXTERNAL: it is a byte."""
        if kind is NodeKind.EVENT_WAIT:
            self.add(CaptureWait(addr=0, value=1, flag=WaitFor.EQUAL))
        else:
            self.add(CaptureRecord(addr=0, value=1))


class _DryEvent:
    """What stands for a recorded event while it is counted."""

    __slots__ = ("_dry_run",)

    capturing = True

    def __init__(self, dry_run: DryRun) -> None:
        self._dry_run = dry_run

    def wait(self, stream: StreamPort) -> None:
        """Count a wait; the stream joins."""
        self._dry_run.join(as_stream(stream)).add(self._dry_run.wait_task())

    def reset(self, stream: StreamPort) -> None:
        """Count a reset."""
        self._dry_run.join(as_stream(stream)).add(self._dry_run.reset_task())


class _Nowhere(StagedArguments):
    """Argument memory that is not there: spans are only counted."""

    __slots__ = ("free",)

    way = "bar"
    """As memory that needs no bringing over."""

    def _allocate(self, size: int) -> int:
        return _NOWHERE_ADDRESS

    def take(self, size: int) -> StagedBlock:
        """Return a block that nobody brings to a device."""
        block = super().take(size)
        made: Any = block
        made.pool = self
        return block


def start_dry_run(stream: Stream, mode: CaptureMode, block: Block) -> DryRun:
    """Begin a capture that only counts, until the end of a block."""
    made = DryRun(stream, block)
    try:
        made.begin(stream, mode)
    except BaseException:
        with suppress(AttributeError):
            made.end()
        raise
    return made
