"""Prepared sends: what launchers are for kernels, for other tasks of one SQE.

`shot` encodes such a task once and cuts it at what differs between submissions; the function it returns takes a
place in the ring, patches the template and rings the driver, as a launcher does. It serves the plain case only: where
a stream is barred it sends nothing and says so, and its caller goes the general way (`runtime.core.submission.submit`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from chips.generations.v200.generation import HEAD_UPDATE_EVERY, with_head_update
from runtime.core.submission.ring import NO_TASK, TICK, Label, RingV100, RingV200
from runtime.core.submission.submit import broken_off, flip, make_room, send_again

if TYPE_CHECKING:
    from chips.layout import Template
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.gate import Gate
    from runtime.core.submission.ring import Finished

_TICK_MASK = TICK - 1
_MOST_KEPT = 512
"""Prepared sends that one stream keeps."""

Put = Callable[..., int]
"""`put(value, finished)`: sends the task and returns the absolute place behind it, 0 when the stream is barred.

`value` is what varies: nothing, one number, or a tuple of three in the order of `varied`; `finished` is called when
the task was reclaimed, or where the send was made with `keeps`, it lives until then.
"""


Fill = Callable[[int, Any], None]
"""`fill(id, value)` writes the SQE into the staging buffer."""


def prepare(
    stream: Stream, key: Hashable, task: Task, name: str, *varied: str, fill: Callable[[Fill], Fill] | None = None,
    keeps: bool = False,
) -> None:
    """Keep a prepared send of a kind of task in `Stream.shots`, where a template covers it and nobody watches.

    Args:
        key: what it is kept under; best a string, because it knows its hash.
        task: its other fields are the same for each send.
        name: what the task is called when it fails.
        varied: the fields that are given with each send: none, one or three.
        fill: changes how the SQE is written; it is called under the stream's lock.
        keeps: `finished` of each send is nothing to call, but what the task needs.
    """
    if not stream.route.immediate or stream.tracer is not None or stream.bound is not None:
        return  # models note each task of their streams
    gate = stream.gates.now  # before the facts that it stands for are looked at
    template = stream.plugin.template(task, stream.env)
    if template is None or not template.names[0].startswith("task_"):
        return
    template = template.varying(template.names[0], *varied)
    if set(template.names[1:]) != set(varied):
        return
    if len(stream.shots) >= _MOST_KEPT:
        stream.shots.clear()
    write = _filler(stream, template, varied)
    make = _put_v100 if isinstance(stream.ring, RingV100) else _put_v200
    stream.shots[key] = make(stream, write if fill is None else fill(write), Label(task.type, name), gate, keeps)


def fired(stream: Stream, key: Hashable, value: Any, finished: Finished | None) -> int:
    """Send by what is kept under a key; 0 where nothing is, or the stream is barred: then the general way is right."""
    put = stream.shots.get(key)
    return 0 if put is None else put(value, finished)


def _filler(stream: Stream, template: Template, varied: tuple[str, ...]) -> Fill:
    """Return the function that writes the SQE."""
    buffer, ring = stream.senders[1].buffer, stream.ring
    pack = template.struct.pack_into
    if isinstance(ring, RingV200) and stream.env.ub_connected:
        pack = publishing(template, ring)
    if not varied:
        head, tail = template.runs
        return lambda number, _: pack(buffer, 0, head, number, tail)
    if len(varied) == 1:
        head, middle, tail = template.runs
        bias = template.bias[1]
        return lambda number, value: pack(buffer, 0, head, number, middle, value + bias, tail)
    first, second, third = (varied.index(name) for name in template.names[1:])
    head, *between, tail = template.runs
    before_1, before_2, before_3 = between

    def fill(number: int, value: tuple[int, int, int]) -> None:
        pack(buffer, 0, head, number, before_1, value[first], before_2, value[second], before_3, value[third], tail)

    return fill


def _put_v100(stream: Stream, fill: Fill, label: Label, gate: Gate, keeps: bool) -> Put:
    ring = stream.ring
    assert isinstance(ring, RingV100)
    ids, owners, depth, specials = ring.ids, ring.owners, ring.depth, ring.specials
    kept, sender = ring.keep() if keeps else None, stream.senders[1]
    send, device_id, reference = sender.send, sender.device_id, sender.reference
    acquire, release, tick = stream.lock.acquire, stream.lock.release, stream.tick

    def put(value: Any = None, finished: Finished | None = None) -> int:
        try:
            acquire()
            if gate.barred:
                release()
                return 0
            count = ring.submitted
            if count >= ring.limit:
                make_room(stream, 1)
                count = ring.submitted
            position, task_id = count % depth, ring.next_id
            ids[position] = task_id
            owners[position] = label
            fill(task_id, value)
            count += 1
            if kept is not None:
                kept[position] = finished
            elif finished is not None:
                specials.append((count, finished))
            if rc := send(device_id, reference):
                send_again(stream, sender, rc)
            ring.submitted = count
            finished = None
            ring.next_id = task_id = task_id + 1
            if task_id == NO_TASK:
                ring.wrap_ids()
                flip(stream)
            release()
        except BaseException:
            broken_send(stream, None if keeps else finished, label)
            raise
        if not count & _TICK_MASK:
            tick()
        return count

    return put


def _put_v200(stream: Stream, fill: Fill, label: Label, gate: Gate, keeps: bool) -> Put:
    ring = stream.ring
    assert isinstance(ring, RingV200)
    firsts, owners, depth, specials = ring.firsts, ring.owners, ring.depth, ring.specials
    kept, sender = ring.keep() if keeps else None, stream.senders[1]
    send, device_id, reference = sender.send, sender.device_id, sender.reference
    serial = stream.device.next_serial
    acquire, release, tick = stream.lock.acquire, stream.lock.release, stream.tick

    def put(value: Any = None, finished: Finished | None = None) -> int:
        try:
            acquire()
            if gate.barred:
                release()
                return 0
            count = ring.submitted
            if count >= ring.limit:
                make_room(stream, 1)
                count = ring.submitted
            position = count % depth
            firsts[position] = position
            owners[position] = label
            fill(serial(), value)
            count += 1
            if kept is not None:
                kept[position] = finished
            elif finished is not None:
                specials.append((count, finished))
            if rc := send(device_id, reference):
                send_again(stream, sender, rc)
            ring.submitted = count
            finished = None
            ring.allocations += 1
            release()
        except BaseException:
            broken_send(stream, None if keeps else finished, label)
            raise
        if not count & _TICK_MASK:
            tick()
        return count

    return put


def publishing(template: Template, ring: RingV200) -> Callable[..., None]:
    """Return the packing function of a device over UB: some SQEs also ask the hardware to publish the queue's head."""
    pack = template.struct.pack_into
    first, published = template.runs[0], with_head_update(template).runs[0]

    def pack_into(buffer: Any, offset: int, _head: bytes, *rest: bytes | int) -> None:
        pack(buffer, offset, first if (ring.allocations + 1) % HEAD_UPDATE_EVERY else published, *rest)

    return pack_into


def broken_send(stream: Stream, finished: Finished | None, *labels: Label) -> bool:
    """Make the ring agree with the driver when a send was left by an exception; returns whether its tasks have left.

    `finished` stays with tasks that have left, and is owed at once for others.

    Args:
        labels: what the tasks are called, of one SQE each.
    """
    ring = stream.ring
    with broken_off(stream, len(labels)) as left:
        if left:
            for label in labels:
                ring.take(1, 0, label)
        elif finished is not None:
            end, newest = ring.specials[-1] if ring.specials else (0, None)
            if end > ring.submitted:
                ring.specials.pop()
            if end > ring.submitted or newest is not finished:
                ring.owed.append(finished)
    return left
