"""Prepared launches into a stream that is being captured: the graph keeps task and arguments, nothing is sent."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel, MixKernel
from runtime.core.route import NORMAL
from runtime.core.submit import send_again
from runtime.launch.args import SLOT_BYTES, single_slot

if TYPE_CHECKING:
    from runtime.core.ring import Label
    from runtime.core.stream import Stream
    from runtime.launch.kernel import Kernel

_SLOTS = 16
"""Launches that a launcher takes argument memory for at a time."""
_ALIGNED = 64


def host_args_launcher(
    kernel: Kernel, stream: Stream, task: CoreKernel, count: int, label: Label, general: Callable[..., None]
) -> Callable[..., None]:
    """Return `launch(*arguments)`; what takes more than a slot goes the general way, and so does what `put` cannot."""
    put = captured_put(kernel, stream, task, label)
    if put is None or any(kernel.hidden_words()):
        return general
    graph, room = stream.branch.graph, _room(count)
    pack, ready = struct.Struct(f"<{count}Q").pack_into, list[tuple[memoryview, int, int]]()
    pop = ready.pop

    def launch(*arguments: Any) -> None:
        try:
            words = [single_slot(argument) for argument in arguments]
            try:
                view, offset, address = pop()
            except IndexError:
                block = graph.arguments.take(_SLOTS * room)
                places = range(0, _SLOTS * room, room)
                ready.extend((block.view, block.offset + place, block.address + place) for place in reversed(places))
                view, offset, address = pop()
            pack(view, offset, *words)
            kept = put(address)
        except (ValueError, struct.error):  # several slots, a negative number, a freed buffer, a wrong count
            kept = False
        if not kept:
            general(*arguments)

    return launch


def _room(count: int) -> int:
    """Return the bytes between one launch's arguments and the next one's."""
    return max(-(-count * SLOT_BYTES // _ALIGNED) * _ALIGNED, _ALIGNED)


def captured_put(
    kernel: Kernel, stream: Stream, task: CoreKernel, label: Label
) -> Callable[[int], bool] | None:
    """Return `put(args_address)` that adds a launch to the graph, or None where each task has to be looked at.

    It gives False, and nothing is done, when the launch has to go the general way: the graph's stream is full, a task
    group is open, or the capture is over.
    """
    branch = stream.branch
    target = branch.fast
    if target is None or isinstance(task, MixKernel) or target.env.ub_connected:
        return None
    template = target.plugin.template(task, target.env)
    if template is None:
        return None
    pack, (head, middle, tail), bias = template.struct.pack, template.runs, template.bias[1]
    by_id = template.names[0] == "task_id"
    ring, route, lock = target.ring, target.route, target.lock
    serial = _no_serial if by_id else target.device.next_serial
    commit = _sending(target) if route is NORMAL else partial(route.commit, target)
    program, note = kernel.program, target.bound.note

    def put(address: int) -> bool:
        with lock:
            if branch.fast is not target or ring.submitted >= branch.edge or program.closed:
                return False
            ids = ring.take(1, serial(), label)
            try:
                commit(pack(head, ids.task_id if by_id else ids.task_sn, middle, address + bias, tail))
            except BaseException as failure:
                route.rollback(target, 1)
                target.bound.spoil(failure)
                raise
            ring.mark = None
            note(target, task, label, ids, 1, None, address)
        return True

    return put


def _no_serial() -> int:
    """Chips that count tasks per stream need no number of the device."""
    return 0


def _sending(stream: Stream) -> Callable[[bytes], None]:
    """Return what hands one SQE to the queue of a stream."""
    sender = stream.senders[1]
    buffer, send, device_id, reference = sender.buffer, sender.send, sender.device_id, sender.reference

    def commit(sqe: bytes) -> None:
        buffer[:] = sqe
        if rc := send(device_id, reference):
            send_again(stream, sender, rc)

    return commit
