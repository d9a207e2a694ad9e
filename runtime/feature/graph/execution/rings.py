"""Software SQs of a model on the device: memory for their entries, and the queues that they are lent (core_spec 14.10).

The entries are copied once. A queue is bound to their memory before an execution, and stays until the model ends or
another graph needs it.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from npuhal.records import dataclass, replace
from runtime import errors
from runtime.core.device import recycling
from runtime.core.stream import queues
from runtime.core.submission.software import DEPTH, SoftwareSink
from runtime.driver.queues import NO_ID, SQE_BYTES

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.sq_pool import SpareQueue, SqMemory

_SPLIT_STEP = 1024
"""Queues of streams that a user has made are so many entries long, or a multiple."""
_LEND_TRIES = 10_000
_LEND_TRY_S = 1e-3
"""Graphs that are being executed are waited for so long; the vendor's runtime waits for ever."""


def software_sink(stream: Stream) -> SoftwareSink | None:
    """Return where a stream collects its entries; None where they go to a hardware queue at once."""
    return stream.own_sink if isinstance(stream.own_sink, SoftwareSink) else None


@dataclass(slots=True)
class _Ring:
    """One stream's entries on the device."""

    sink: SoftwareSink
    memory: SqMemory
    depth: int
    written: int = 0
    lent: SpareQueue | None = None


class DeviceRings:
    """The software SQs of one model, or of a graph and the sub-graphs in it."""

    __slots__ = ("_device", "_rings", "bound")

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rings: dict[Stream, _Ring] = {}
        self.bound = False
        """Whether all streams have queues."""

    @property
    def lent(self) -> int:
        """Queues of the device's pool that the streams have now."""
        return sum(ring.lent is not None for ring in self._rings.values())

    # -- binding ---------------------------------------------------------------------------------------------------

    def bind(self, streams: Iterable[Stream], context: Context) -> None:
        """Give every stream its queue, with all entries in it; a failure leaves none bound.

        Raises:
            ResourceExhausted 207005: there are not enough queues.
            OutOfMemory 207001: no space for the entries.
        """
        members = list(streams)
        spare: list[SpareQueue] = []
        try:
            _lend(self._device, context, sum(stream.queues.sq_id == NO_ID for stream in members), spare)
            self._take_queues(members, spare)
            self._switch_on(members)
        except BaseException:
            self._device.sq_pool.give_back(spare)
            self.unbind()
            raise

    def _take_queues(self, members: Sequence[Stream], spare: list[SpareQueue]) -> None:
        """Give queues to streams without one; the loop is in no `try`, see `npuhal.changed` on interrupts."""
        for stream in members:
            ring = self._ring_of(stream)
            if stream.queues.sq_id == NO_ID:
                ring.lent = spare[0]  # no call, and none behind it: one of the two has the queue
                del spare[0]
                self._use(stream, ring.lent, ring.depth)

    def _ring_of(self, stream: Stream) -> _Ring:
        """Return a stream's memory: what it has, or what its entries need now."""
        chip, needed = self._device.chip, stream.ring.submitted
        adapt = int(chip.prop("expandStreamSqDepthAdapt"))
        ring = self._rings.get(stream)
        if ring is not None:
            if needed < ring.depth:
                return ring
            self.forget(stream)
        entries = needed + int(chip.prop("expandStreamAdditionalSqeNum"))
        own = stream.queues.sq_id != NO_ID
        if own:
            entries = min(-(-entries // _SPLIT_STEP) * _SPLIT_STEP, DEPTH)
        sink = software_sink(stream)
        assert sink is not None
        memory = self._device.sq_memory.take(entries)
        ring = _Ring(sink, memory, (entries if own else memory.entries) - adapt)
        self._rings[stream] = ring
        return ring

    def _use(self, stream: Stream, queue: SpareQueue, depth: int) -> None:
        queues.use(stream, replace(
            stream.queues, sq_id=queue.sq_id, cq_id=queue.cq_id, register_base=queue.register_base, depth=depth
        ))
        self._device.memory.write(stream.sq_word, struct.pack("<Q", queue.sq_id))

    def _switch_on(self, streams: list[Stream]) -> None:
        """Copy the entries before the queues are switched, or have the driver write them afterwards."""
        queues, by_driver = self._device.queues, self._device.chip.traits.fills_through_driver
        if not by_driver:
            self.write(streams)
        rows = [
            (stream.queues.sq_id, stream.stream_id, ring.depth, ring.memory.address)
            for stream, ring in ((stream, self._rings[stream]) for stream in streams)
        ]
        self.bound = True  # whatever follows, Ctrl-C behind the call too: who unbinds has something to undo
        try:
            queues.switch(rows)
        except errors.RuntimeFault:
            self.bound = False
            raise
        if by_driver:
            self.write(streams)

    def write(self, streams: Iterable[Stream]) -> None:
        """Copy the entries that are not on the device yet."""
        by_driver = self._device.chip.traits.fills_through_driver
        for stream in streams:
            ring, count = self._rings[stream], stream.ring.submitted
            if ring.written == count:
                continue
            address = ring.memory.address + ring.written * SQE_BYTES
            entries = ring.sink.image[ring.written * SQE_BYTES : count * SQE_BYTES]
            if not by_driver:
                self._device.memory.write(address, entries)
            else:
                self._device.queues.fill(stream.stream_id, address, entries)
            ring.written = count

    def set_tails(self) -> None:
        """Say how far the entries go; the streams are the model's by now."""
        for stream, ring in self._rings.items():
            self._device.queues.set_tail(stream.queues.sq_id, ring.written)

    def rewrite(self, stream: Stream, position: int, sqes: bytes) -> None:
        """Put other SQEs in the place of a task; nothing is being executed."""
        sink = software_sink(stream)
        assert sink is not None
        sink.put(position, sqes)
        ring = self._rings.get(stream)
        if ring is not None and position < ring.written:
            self._device.memory.write(ring.memory.address + position * SQE_BYTES, sqes)

    def address_of(self, stream: Stream, position: int) -> int:
        """Return where an entry lies on the device, 0 while it is on the host only."""
        ring = self._rings.get(stream)
        return ring.memory.address + position * SQE_BYTES if ring is not None and position < ring.written else 0

    def complete(self, streams: Iterable[Stream]) -> bool:
        """Whether all streams are bound with everything that they hold."""
        return self.bound and all(
            (ring := self._rings.get(stream)) is not None and ring.written == stream.ring.submitted
            for stream in streams
        )

    # -- letting go ------------------------------------------------------------------------------------------------

    def unbind(self) -> None:
        """Take the queues away; those of the pool go back there. The entries stay on the device."""
        bound = [(stream, ring) for stream, ring in self._rings.items() if stream.queues.sq_id != NO_ID]
        if self.bound and bound:
            self._device.queues.switch([
                (stream.queues.sq_id, NO_ID, ring.depth, ring.memory.address) for stream, ring in bound
            ])
        self._part()

    def lose(self) -> None:
        """Note that all queues are unbound, because they were created again: the driver knows no binding."""
        self._part()

    def _part(self) -> None:
        """Give lent queues back; what an interrupt breaks off is done by another call."""
        self.bound = False
        for stream, ring in self._rings.items():
            if ring.lent is not None:
                queues.use(stream, replace(stream.queues, sq_id=NO_ID, cq_id=NO_ID, register_base=0))
                self._device.sq_pool.give_back([ring.lent])
                ring.lent = None

    def forget(self, stream: Stream) -> None:
        """Give the memory of a stream back, which has no queue or one of its own."""
        ring = self._rings.pop(stream, None)
        if ring is not None:
            self._device.sq_memory.give_back(ring.memory)

    def close(self) -> None:
        """Give everything back."""
        self.unbind()
        for stream in list(self._rings):
            self.forget(stream)


def _lend(device: Device, context: Context, count: int, into: list[SpareQueue]) -> None:
    """Take queues of the pool; idle graphs of the context give theirs up, busy ones are waited for."""
    pool = device.sq_pool
    for number in range(_LEND_TRIES):
        context.failure.check(context.default_stream)
        try:
            pool.take(count, into)
            return
        except errors.ResourceExhausted:
            if number == 0:
                recycling.close_dropped(device)
            elif not recycling.recycle(device, count):
                if count > pool.size:
                    raise
                time.sleep(_LEND_TRY_S)
    pool.take(count, into)
