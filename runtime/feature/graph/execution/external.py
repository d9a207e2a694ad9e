"""Events between a graph and what is outside of it, both ways (core_spec 14.6).

A capture only keeps a place for an external record or wait. Which byte of memory the place is about is decided anew for
each execution, in a table that is copied in the executing stream ahead of the graph: each record gets a new byte, and
each wait the one that the event's newest record sets, or none. Events of the kind EXTERNAL keep one byte for life, so
that the graph holds their tasks as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from chips.blocks import FLAG_BYTES, blocks
from chips.descriptor import write_body
from chips.memory_rules import internal_flags
from chips.programs.wait import ExternalWait
from chips.tasks import CaptureRecordExternal, CaptureWaitExternal, MemcpyAsync
from runtime import errors
from runtime.core.submission.submit import send
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag
from runtime.core.sync.signals import ByteSignal, Signal
from runtime.core.sync.value import SLOT_BYTES
from runtime.feature.graph.execution.model_launcher import ModelLauncher
from runtime.feature.graph.recording.node import Node, NodeKind

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.ports import EventPort
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.execution.captured import Captured
    from runtime.feature.graph.recording.branch import Branch

_ADDRESS = struct.Struct("<Q")
_RECORD_BYTES = 64
"""What a write in pointer mode points to."""
_LINE = 256
"""Programs are called at multiples of this."""
_BYTE = 0
_KINDS = (EventFlag.SYNC, EventFlag.DDSYNC, EventFlag.SYNC | EventFlag.DDSYNC)
_MAKE = "make the event with device.create_event(), in C aclrtCreateEventExWithFlag(ACL_EVENT_SYNC)"


class ExternalEvents(ModelLauncher):
    """Starts a graph with external records and waits."""

    __slots__ = ("_last", "_over", "_records", "_table", "_waits")

    def __init__(self, graph: Captured) -> None:
        super().__init__(graph)
        self._records: list[tuple[Event, Node]] = []
        self._waits: list[tuple[Event, Node]] = []
        self._table = 0
        self._over = Event(graph.device)
        """Recorded behind each execution: the table may not change before."""
        self._last: Stream | None = None
        graph.resources.callback(self._over.close)

    def uses(self, event: Event) -> bool:
        """Whether an event is in the table."""
        return any(used is event for used, _ in (*self._records, *self._waits))

    def add(self, event: Event, node: Node, *, records: bool) -> None:
        """Take the place of a record or wait in."""
        (self._records if records else self._waits).append((event, node))

    def seal(self) -> None:
        """Fill in the places: the capture ends, and the table gets its memory."""
        memory = self._model.device.memory
        code = ExternalWait.program().size_bytes
        flag_at = -(-code // _LINE) * _LINE
        stride = -(-(flag_at + FLAG_BYTES) // _LINE) * _LINE
        records_at = stride * len(self._waits)
        waits_at = records_at + _RECORD_BYTES * len(self._records)
        base = memory.alloc(waits_at + _ADDRESS.size * len(self._waits), internal_flags(hbm=True))
        self._model.resources.callback(memory.free, base)
        self._table = base + records_at
        for index, (_, node) in enumerate(self._records):
            self._fill_in(node, CaptureRecordExternal(pointer=self._table + _RECORD_BYTES * index))
        for index, (_, node) in enumerate(self._waits):
            function = base + stride * index
            self._fill_in(node, CaptureWaitExternal(
                addr=base + waits_at + _ADDRESS.size * index, function=function, function_bytes=code,
                flag_addr=function + flag_at, sq_id_addr=node.stream.sq_word,
            ))

    def _fill_in(self, node: Node, task: Task) -> None:
        stream = node.stream
        for block in blocks(task, stream.env, node.ids):
            stream.device.memory.write(block.address, block.data)
        node.template = task
        self._model.rewrite(stream, node.position, stream.plugin.encode(task, stream.env, node.ids))

    def __call__(self, stream: Stream, over: Callable[[], object] | None = None) -> None:
        """Execute the graph once; its records are the events' newest ones when all of it was queued."""
        for event, _ in (*self._records, *self._waits):
            event.check_open()
        held: list[Signal] = []
        """Bytes that the execution uses."""
        try:
            for _ in self._records:
                held.append(ByteSignal.cleared(stream.device))
            fresh = tuple(held)
            image = self._image(held)
            if self._last is not stream:
                self._over.wait(stream)
            self._bring(stream, image)
            super().__call__(stream, partial(_let_go, held))
        except BaseException:
            _let_go(held)
            raise
        for (event, _), signal in zip(self._records, fresh, strict=True):
            event.publish(signal, stream)
        self._over.record(stream)
        self._last = stream

    def _image(self, held: list[Signal]) -> bytes:
        """Return the table of one execution, whose records use the bytes that are held already."""
        chip = self._model.device.chip
        records = b"".join(
            write_body(chip, signal.address, 1, _BYTE) for signal in held if isinstance(signal, ByteSignal)
        )
        addresses = []
        for event, _ in self._waits:
            signal = event.hold_newest()
            if signal is not None:
                held.append(signal)
            addresses.append(signal.address if isinstance(signal, ByteSignal) else 0)
        return records + b"".join(map(_ADDRESS.pack, addresses))

    def _bring(self, stream: Stream, image: bytes) -> None:
        slots, memory = stream.device.signals.wait_slots, stream.device.memory
        for offset in range(0, len(image), SLOT_BYTES):
            piece = image[offset : offset + SLOT_BYTES]
            slot = slots.take()
            memory.write(slot, piece)
            send(
                stream, MemcpyAsync(src=slot, dst=self._table + offset, size=len(piece)), owner="events of a graph",
                finished=partial(slots.give_back, slot),
            )


def _let_go(held: list[Signal]) -> None:
    while held:
        held.pop().drop()


def record(stream: Stream, event: Event) -> None:
    """Let each execution of the graph that a stream is captured into record an event for the world outside.

    Raises:
        NotSupported 207000: the event keeps time, is shared or keeps one signal for life, the graph has hardware queues
            or is a branch of a conditional node, or the chip waits for no values.
        CaptureError 107029: the stream is not captured (EE1016).
        InvalidArgument 107000: the graph uses the event already, or it was recorded by a stream (EE1018).
    """
    _keep_place(stream, event, "external record", CaptureRecordExternal(), records=True)


def wait(stream: Stream, event: Event) -> None:
    """Let each execution of the graph that a stream is captured into wait for the newest record that there is then.

    See `record` for the errors.
    """
    _keep_place(stream, event, "external wait", CaptureWaitExternal(), records=False)


def _keep_place(stream: Stream, event: Event, call: str, task: Task, *, records: bool) -> None:
    event.check_open()
    stream.check_open()
    if not event.renewed or event.flags not in _KINDS:
        raise unsupported(call, f"{event!r} keeps time, is shared, or keeps one signal for life")
    from runtime.feature.graph.recording.branch import branch_of  # late: branches keep external events

    branch = branch_of(stream)
    if branch is None:
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_NOT_CAPTURED", f"{call}: stream {stream.stream_id} is not captured", ee="EE1016",
            params=(call, "the stream is not captured"), hint="outside of a capture record and wait as usual",
        )
    graph = branch.graph
    if graph.parent is not None:
        raise unsupported(call, f"{graph!r} is a branch of a conditional node", "use the graph that the node is in")
    if not graph.software or not graph.device.chip.has("TASK_VALUE_WAIT"):
        raise unsupported(
            call, f"the tasks of {graph!r} go to hardware queues", "a driver that binds queues dynamically can do it"
        )
    events = graph.starter
    if not isinstance(events, ExternalEvents):
        graph.starter = events = ExternalEvents(graph)
    if events.uses(event):
        reason = f"{event!r} is used by the graph already"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {reason}", ee="EE1018", params=(call, reason),
            hint="use one event for each external record and wait of a graph; within a graph record and wait as usual",
        )
    event.use_outside(records=records)
    with graph.recording.invalidated_by_failure():
        taken = branch.ready()
        taken.submit(task, owner=call)
    kind = NodeKind.EVENT_RECORD if records else NodeKind.EVENT_WAIT
    events.add(event, graph.recording.mark_last(taken, kind, event, external=True), records=records)


def unsupported(call: str, reason: str, hint: str = _MAKE) -> errors.RuntimeFault:
    """Return the fault for what cannot be recorded or awaited from outside."""
    return errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {reason}", hint=hint)


def keep_as_is(branch: Branch, event: EventPort, kind: NodeKind) -> None:
    """Put a record, wait or reset of an event of the kind EXTERNAL into the graph."""
    graph, signal = branch.graph, event.signal
    assert signal is not None
    with graph.recording.invalidated_by_failure():
        taken = branch.ready()
        if kind is NodeKind.EVENT_RECORD:
            signal.record(taken, _nothing, timeline=False, reported=None)
        elif kind is NodeKind.EVENT_WAIT:
            signal.wait(taken, _nothing, 0)
        else:
            signal.reset(taken, _nothing)
    graph.recording.mark_last(taken, kind, event, external=True)
    if signal.hold():
        graph.resources.callback(signal.drop)


def _nothing() -> None:
    """The graph holds the signal; no task has a share in it."""
