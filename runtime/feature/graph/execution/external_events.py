"""Events between a graph and what is outside of it, both ways (core_spec 14.6).

A captured external record or wait names an entry of a table. Each execution fills the table with addresses of bytes and
copies it in the executing stream ahead of the graph: each record gets a new byte, and each wait the one that the
event's newest record sets, or none. Events of the kind EXTERNAL keep one byte for life, and need no table.
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
from runtime.core.submission.submit import send
from runtime.core.sync.event import Event
from runtime.core.sync.signals import ByteSignal, Signal
from runtime.core.sync.value import SLOT_BYTES
from runtime.feature.graph.execution.model_launcher import ModelLauncher

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports
    from runtime.feature.graph.recording.node import Node

_ADDRESS = struct.Struct("<Q")
_RECORD_BYTES = 64
"""What a write in pointer mode points to."""
_LINE = 256
"""Programs are called at multiples of this."""
_BYTE = 0


class ExternalEvents(ModelLauncher):
    """Starts a graph with external records and waits."""

    __slots__ = ("_last", "_over", "_records", "_table", "_waits")

    def __init__(self, graph: ports.Graph) -> None:
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
        """Give the node of a record or wait an entry of the table."""
        (self._records if records else self._waits).append((event, node))

    def seal(self) -> None:
        """Allocate the table and complete the nodes that name its entries: the capture ends."""
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
        self._model.stream_set.rewrite(stream, node.position, stream.plugin.encode(task, stream.env, node.ids))

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
            image = self._image(held, stream)
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

    def _image(self, held: list[Signal], stream: Stream) -> bytes:
        """Return the table of one execution, whose records use the bytes that are held already.

        A record from before the first graph that waits for the event has set no byte: the stream waits for it.
        """
        chip = self._model.device.chip
        records = b"".join(
            write_body(chip, signal.address, 1, _BYTE) for signal in held if isinstance(signal, ByteSignal)
        )
        addresses = []
        for event, _ in self._waits:
            signal = event.hold_newest()
            if isinstance(signal, ByteSignal):
                held.append(signal)
                addresses.append(signal.address)
                continue
            if signal is not None:
                event.wait_newest(signal, stream)
            addresses.append(0)
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
