"""Prepared sends of two tasks that always follow each other: what `runtime.core.submission.shots` is for single ones.

Both SQEs are packed at once and reach the driver with one call, so that a pair costs little more than one task. What
the device sees is the same, and in the same order, as from two sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.generations.v200.generation import HEAD_UPDATE_EVERY, with_head_update
from chips.layout import Template
from npuhal.records import replace
from runtime.core.submission.ring import NO_TASK, TICK, Label, RingV100, RingV200
from runtime.core.submission.shots import broken_send
from runtime.core.submission.submit import flip, make_room, send_again

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.gate import Gate
    from runtime.core.submission.ring import Finished

_TICK_MASK = TICK - 1

Put = Callable[..., bool]
"""`put(finished=None)` sends a pair; False, and nothing was done, where each task has to be sent on its own."""


class Pair:
    """Two tasks of one SQE each that one stream sends again and again.

    `put` passes by the general path. It does nothing and returns False where that path is right: the stream or the
    owner is barred, somebody watches, or the ids of the stream start again between the two. Its argument is called when
    the second task was reclaimed.
    """

    __slots__ = ("_first", "_gates", "_second", "end", "put", "stream")

    def __init__(
        self, stream: Stream, own: Gate, first: tuple[Task, Label], second: tuple[Task, Label], end: int = 0
    ) -> None:
        """Args:
            own: the gate of whoever the tasks belong to.
            first, second: each task, and what it is called when it fails.
            end: that of what has sent them so far, and sends no more.
        """
        self.stream, self._first, self._second = stream, first, second
        self.end = end
        """The absolute place behind the newest pair; anything up to it may still be executed."""
        self._gates: tuple[Gate, Gate] = stream.gates.now, own  # before the facts that they stand for are looked at
        self.put: Put = _prepared(self, *self._gates) or _unprepared

    @property
    def pending(self) -> bool:
        """Whether the newest pair is not known to be done."""
        return self.end > self.stream.ring.reclaimed

    def prepared(self, own: Gate) -> bool:
        """Whether `put` sends, as long as nobody bars it: nothing has changed of what it was made from."""
        return self.put is not _unprepared and self._gates == (self.stream.gates.now, own)

    def send_singly(self, finished: Finished | None) -> None:
        """Send one task after the other by the general path; see `submit.submit` for the errors."""
        stream, (first, named), (second, called) = self.stream, self._first, self._second
        with stream.lock:
            self.end = stream.ring.submitted + 2
        try:
            stream.submit(first, owner=named)
            stream.submit(second, owner=called, finished=finished)
        finally:
            with stream.lock:
                self.end = stream.ring.submitted


def _unprepared(_: Finished | None = None) -> bool:
    return False


def _prepared(pair: Pair, gate: Gate, own: Gate) -> Put | None:
    """Return what sends a pair; None where each of the tasks has to be looked at."""
    stream = pair.stream
    counts = isinstance(stream.ring, (RingV100, RingV200))
    if not counts or not stream.route.immediate or stream.tracer is not None or stream.bound is not None:
        return None
    rows = [stream.plugin.template(task, stream.env) for task, _ in (pair._first, pair._second)]
    templates = [row.varying(row.names[0]) for row in rows if row is not None and row.names[0].startswith("task_")]
    if len(templates) < len(rows):
        return None
    make = _put_v100 if isinstance(stream.ring, RingV100) else _put_v200
    return make(pair, gate, own, *templates)


def _joined(first: Template, second: Template) -> Template:
    """Return the template of two SQEs in a row, with two ids left open."""
    behind = (replace(word, offset=word.offset + len(first.row)) for word in second.words)
    return Template(first.row + second.row, dict.fromkeys((*first.words, *behind), 0))


def _put_v100(pair: Pair, gate: Gate, own: Gate, first: Template, second: Template) -> Put:
    stream, (_, first_label), (_, second_label) = pair.stream, pair._first, pair._second
    ring = stream.ring
    assert isinstance(ring, RingV100)
    ids, owners, depth, specials = ring.ids, ring.owners, ring.depth, ring.specials
    template = _joined(first, second)
    pack, (head, middle, tail) = template.struct.pack_into, template.runs
    sender = stream.senders[2]
    buffer, send, device_id, reference = sender.buffer, sender.send, sender.device_id, sender.reference
    acquire, release, tick = stream.lock.acquire, stream.lock.release, stream.tick

    def put(finished: Finished | None = None) -> bool:
        try:
            acquire()
            if gate.barred or own.barred:
                release()
                return False
            count = ring.submitted
            if count + 1 >= ring.limit:
                if not _find_room(stream, gate, own):
                    release()
                    return False
                count = ring.submitted
            task_id = ring.next_id
            second_id = task_id + 1
            if second_id == NO_TASK:
                release()
                return False
            position = count % depth
            ids[position] = task_id
            owners[position] = first_label
            position += 1
            if position == depth:
                position = 0
            ids[position] = second_id
            owners[position] = second_label
            pack(buffer, 0, head, task_id, middle, second_id, tail)
            count += 2
            if finished is not None:
                specials.append((count, finished))
            if rc := send(device_id, reference):
                send_again(stream, sender, rc)
            ring.submitted = pair.end = count
            finished = None
            ring.next_id = second_id = second_id + 1
            if second_id == NO_TASK:
                ring.wrap_ids()
                flip(stream)
            release()
        except BaseException:
            if broken_send(stream, finished, first_label, second_label):
                pair.end = ring.submitted
            raise
        if count & _TICK_MASK < 2:  # one of the two was the 64th
            tick()
        return True

    return put


def _put_v200(pair: Pair, gate: Gate, own: Gate, first: Template, second: Template) -> Put:
    stream, (_, first_label), (_, second_label) = pair.stream, pair._first, pair._second
    ring = stream.ring
    assert isinstance(ring, RingV200)
    firsts, owners, depth, specials = ring.firsts, ring.owners, ring.depth, ring.specials
    template = _joined(first, second)
    pack, (head, middle, tail) = template.struct.pack_into, template.runs
    if stream.env.ub_connected:
        pack = _publishing(first, second, ring)
    sender = stream.senders[2]
    buffer, send, device_id, reference = sender.buffer, sender.send, sender.device_id, sender.reference
    serial = stream.device.next_serial
    acquire, release, tick = stream.lock.acquire, stream.lock.release, stream.tick

    def put(finished: Finished | None = None) -> bool:
        try:
            acquire()
            if gate.barred or own.barred:
                release()
                return False
            count = ring.submitted
            if count + 1 >= ring.limit:
                if not _find_room(stream, gate, own):
                    release()
                    return False
                count = ring.submitted
            position = count % depth
            firsts[position] = position
            owners[position] = first_label
            position += 1
            if position == depth:
                position = 0
            firsts[position] = position
            owners[position] = second_label
            pack(buffer, 0, head, serial(), middle, serial(), tail)
            count += 2
            if finished is not None:
                specials.append((count, finished))
            if rc := send(device_id, reference):
                send_again(stream, sender, rc)
            ring.submitted = pair.end = count
            finished = None
            ring.allocations += 2
            release()
        except BaseException:
            if broken_send(stream, finished, first_label, second_label):
                pair.end = ring.submitted
            raise
        if count & _TICK_MASK < 2:  # one of the two was the 64th
            tick()
        return True

    return put


def _publishing(first: Template, second: Template, ring: RingV200) -> Callable[..., None]:
    """Return the packing function of a device over UB: some SQEs also ask the hardware to publish the queue's head."""
    plain = _joined(first, second)
    pack = plain.struct.pack_into
    heads = plain.runs[0], _joined(with_head_update(first), second).runs[0]
    middles = plain.runs[1], _joined(first, with_head_update(second)).runs[1]

    def pack_into(buffer: Any, offset: int, _head: bytes, one: int, _middle: bytes, two: int, tail: bytes) -> None:
        taken = ring.allocations
        head = heads[(taken + 1) % HEAD_UPDATE_EVERY == 0]
        pack(buffer, offset, head, one, middles[(taken + 2) % HEAD_UPDATE_EVERY == 0], two, tail)

    return pack_into


def _find_room(stream: Stream, *gates: Gate) -> bool:
    """Wait for two places; False where a gate was barred meanwhile, because the stream's lock is let go in between."""
    make_room(stream, 2)
    return not any(gate.barred for gate in gates)
