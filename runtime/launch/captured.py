"""Prepared launches into a stream that is being captured: the graph keeps task and arguments, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.env import TaskIds
from chips.tasks import CoreKernel, MixKernel
from runtime.core.submission.ring import RingV100, RingV200
from runtime.core.submission.route import NORMAL
from runtime.core.submission.shots import broken_send
from runtime.core.submission.submit import send_again
from runtime.launch.args import room_of
from runtime.launch.unrolled import OtherTypes, packer, packer_for
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from chips.layout import Template
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import Label
    from runtime.launch.kernel import Kernel
    from runtime.launch.program import Program

_SLOTS = 16
"""Launches that a launcher takes argument memory for at a time."""

Put = Callable[[int], Any]
Seen = tuple[Any, tuple[Any, ...], int]
"""A launch whose node is made later: what makes it from the numbers of the task and the address of its arguments."""


def host_args_launcher(
    kernel: Kernel, stream: Stream, task: CoreKernel, count: int, label: Label, general: Callable[..., None]
) -> Callable[..., None]:
    """Return `launch(*arguments)`; what takes more than a slot goes the general way, and so does what `put` cannot."""
    put = captured_put(kernel, stream, task, label, _left_out)
    if put is None or any(kernel.hidden_words()):
        return general
    graph, room = stream.branch.graph, room_of(count)
    pack, ready = packer((DeviceBuffer,) * count), list[tuple[memoryview, int, int]]()
    pop = ready.pop

    def launch(*arguments: Any) -> None:
        nonlocal pack
        try:
            place = pop()
        except IndexError:
            block = graph.arguments.take(_SLOTS * room)
            starts = range(0, _SLOTS * room, room)
            ready.extend((block.view, block.offset + start, block.address + start) for start in reversed(starts))
            place = pop()
        view, offset, address = place
        try:
            try:
                pack(view, offset, arguments)
            except OtherTypes:
                pack = other = packer_for(arguments, count, 1)
                other(view, offset, arguments)
        except OtherTypes:  # several slots, a negative number, a freed buffer, a wrong count
            ready.append(place)
            left = True
        else:
            left = put(address)
        if left:
            general(*arguments)

    return launch


def _left_out(_: int) -> bool:
    """Say that a launch was not put into the graph."""
    return True


def captured_put(
    kernel: Kernel, stream: Stream, task: CoreKernel, label: Label, otherwise: Callable[[int], Any]
) -> Put | None:
    """Return `put(args_address)` that adds a launch to the graph, or None where each task has to be looked at.

    Args:
        otherwise: what `put` does, and returns, when the launch has to go the general way: the graph's stream is full,
            a task group is open, or the capture is over.
    """
    branch = stream.branch
    target = branch.fast
    if target is None or isinstance(task, MixKernel) or target.env.ub_connected:
        return None
    template = target.plugin.template(task, target.env)
    noting = target.bound.noting(target, task, label)
    if template is None or noting is None:
        return None
    make_put = _put_on_host
    if target.route is NORMAL:
        make_put = {RingV100: _put_v100, RingV200: _put_v200}.get(type(target.ring), _put_on_host)
    return make_put(branch, kernel.program, label, template, otherwise, *noting)


def _put_on_host(
    branch: Any, program: Program, label: Label, template: Template, otherwise: Callable[[int], Any], seen: list[Seen],
    make: Any,
) -> Put:
    """Return what puts launches into a stream by its route: mostly one that keeps entries on the host for now."""
    target = branch.stream
    pack, (head, middle, tail), bias = template.struct.pack, template.runs, template.bias[1]
    by_id = template.names[0] == "task_id"
    number = TaskIds._fields.index("task_id" if by_id else "task_sn")
    ring, route, lock = target.ring, target.route, target.lock
    serial = _no_serial if by_id else target.device.next_serial
    take, note = ring.take, seen.append

    def put(address: int) -> Any:
        with lock:
            if branch.fast is target and ring.submitted < branch.edge and not program.closed:
                try:
                    ids = take(1, serial(), label)
                    route.commit(target, pack(head, ids[number], middle, address + bias, tail))
                    ring.mark = None
                    note((make, ids, address))
                    return None
                except BaseException as failure:
                    if ring.mark not in (None, ring.submitted):  # the place was taken
                        route.rollback(target, 1)
                    target.bound.spoil(failure)
                    raise
        return otherwise(address)

    return put


def _put_v100(
    branch: Any, program: Program, label: Label, template: Template, otherwise: Callable[[int], Any], seen: list[Seen],
    make: Any,
) -> Put:
    """Return what puts launches into a hardware queue, which is not executed before the graph is."""
    target = branch.stream
    pack, (head, middle, tail), bias = template.struct.pack_into, template.runs, template.bias[1]
    ring, sender, note = target.ring, target.senders[1], seen.append
    assert isinstance(ring, RingV100)
    ids, owners = ring.ids, ring.owners
    buffer, send, device_id, reference = sender.buffer, sender.send, sender.device_id, sender.reference
    acquire, release = target.lock.acquire, target.lock.release

    def put(address: int) -> Any:
        try:
            acquire()
            position, task_id = ring.submitted, ring.next_id
            if branch.fast is target and position < branch.edge and not program.closed:
                ids[position] = task_id
                owners[position] = label
                pack(buffer, 0, head, task_id, middle, address + bias, tail)
                if rc := send(device_id, reference):
                    send_again(target, sender, rc)
                ring.submitted = position + 1
                ring.next_id = task_id + 1
                note((make, (task_id, 0, position), address))
                release()
                return None
            release()
        except BaseException as failure:
            if broken_send(target, None, label):
                note((make, (task_id, 0, position), address))
            target.bound.spoil(failure)
            raise
        return otherwise(address)

    return put


def _put_v200(
    branch: Any, program: Program, label: Label, template: Template, otherwise: Callable[[int], Any], seen: list[Seen],
    make: Any,
) -> Put:
    """Return what puts launches into a hardware queue, which is not executed before the graph is."""
    target = branch.stream
    pack, (head, middle, tail), bias = template.struct.pack_into, template.runs, template.bias[1]
    ring, sender, note = target.ring, target.senders[1], seen.append
    assert isinstance(ring, RingV200)
    firsts, owners, serial = ring.firsts, ring.owners, target.device.next_serial
    buffer, send, device_id, reference = sender.buffer, sender.send, sender.device_id, sender.reference
    acquire, release = target.lock.acquire, target.lock.release

    def put(address: int) -> Any:
        try:
            acquire()
            position = ring.submitted
            if branch.fast is target and position < branch.edge and not program.closed:
                firsts[position] = position
                owners[position] = label
                number = serial()
                pack(buffer, 0, head, number, middle, address + bias, tail)
                if rc := send(device_id, reference):
                    send_again(target, sender, rc)
                ring.submitted = position + 1
                ring.allocations = allocation = ring.allocations + 1
                note((make, (position, number, position, allocation), address))
                release()
                return None
            release()
        except BaseException as failure:
            if broken_send(target, None, label):
                note((make, (position, number, position, ring.allocations), address))
            target.bound.spoil(failure)
            raise
        return otherwise(address)

    return put


def _no_serial() -> int:
    """Chips that count tasks per stream need no number of the device."""
    return 0
