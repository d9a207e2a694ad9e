"""The hot path: one prepared function per (kernel, blocks, stream), with the seven phases in sight.

(1) function address, encoded once; (2) take a slot; (3) describe; (4) arguments to the device; (5) the SQE, by
patching a template; (6) advance the tail and ring the driver; (7) completion is somebody else's business, later.

Everything that can be decided early is decided in `make_launcher`; the functions it returns do not look at options,
tracing or logging. A stream's route decides which of them it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel, MixKernel
from npuhal.records import replace
from runtime.core.stream.blocking import blocking, blocks
from runtime.core.submission.ring import NO_TASK, TICK, Label, RingV100, RingV200
from runtime.core.submission.shots import publishing
from runtime.core.submission.submit import broken_off, flip, make_room, send_again
from runtime.launch import captured
from runtime.launch.args import SLOT_BYTES, STORE_BYTES, mover, take_block
from runtime.launch.block import HostBlock
from runtime.launch.general import (
    general_launcher,
    label_of,
    submit_at,
    submit_block,
    writer,
)
from runtime.launch.unrolled import OtherTypes, packer, packer_for
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from chips.layout import Template
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.gate import Gate
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock

_TICK_MASK = TICK - 1


def make_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, count: int) -> Callable[..., None]:
    """Return `launch(*arguments)` for `count` arguments of one 8-byte slot each; others take the general way."""
    return _as_set(partial(_host_args_launcher, kernel, stream, task, count), stream, label_of(kernel, task))


def make_device_args_launcher(kernel: Kernel, stream: Stream, task: CoreKernel) -> Callable[[int], None]:
    """Return `launch(address)` for argument blocks that are on the device already."""
    return _as_set(partial(_device_args_launcher, kernel, stream, task), stream, label_of(kernel, task))


def make_block_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, size: int) -> Callable[[HostBlock], None]:
    """Return `launch(block)` for blocks of `size` bytes that the caller has laid out."""
    task = replace(task, args_size=size)
    return _as_set(partial(_block_launcher, kernel, stream, task, size), stream, label_of(kernel, task))


def _block_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, size: int) -> Callable[[HostBlock], None]:
    label = label_of(kernel, task)
    put = None if task.simt_args_offset else _patching(kernel, stream, task, label)
    if put is None or not stream.route.immediate:

        def general(block: HostBlock) -> None:
            kernel.check_loaded()
            submit_block(stream, task, block, label)

        return general
    device = stream.device
    pool = device.arguments.pool_for(size, stream)
    write = writer(stream, mover(stream, pool, size))

    def launch(block: HostBlock) -> None:
        taken = take_block(stream, pool, size)
        try:
            bring = write if taken.pool is pool else writer(stream, mover(stream, taken.pool, size))
            bring(taken, block.placed(taken.address))
        except BaseException:
            device.release_arguments([taken])
            raise
        put(taken.address, taken)

    return launch


def _as_set(make: Callable[[], Callable[..., None]], stream: Stream, label: Label) -> Callable[..., None]:
    """Return a launcher that is watched if the stream is, and waits for the stream if launches in it block."""
    launch = _seen(make, stream, label)
    return blocking(launch, stream) if blocks(stream) else launch


def _seen(make: Callable[[], Callable[..., None]], stream: Stream, label: Label) -> Callable[..., None]:
    """Return a launcher for whoever watches the stream now; it makes itself anew when that one watches no more."""
    launch, tracer = make(), stream.tracer
    return launch if tracer is None else tracer.launcher(launch, stream, label, partial(_seen, make, stream, label))


def _host_args_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, count: int) -> Callable[..., None]:
    task = replace(task, args_size=count * SLOT_BYTES)
    label = label_of(kernel, task)
    general = general_launcher(kernel, stream, task, label, count)
    if stream.branch is not None:
        return captured.host_args_launcher(kernel, stream, task, count, label, general)
    put = _patching(kernel, stream, task, label)
    if put is None:
        return general
    size = max(count * SLOT_BYTES, SLOT_BYTES)
    pool = stream.device.arguments.pool_for(size, stream)
    if pool is None or any(kernel.hidden_words()):
        return general
    pop, give_back = pool.free.pop, pool.free.append
    move = mover(stream, pool, size)
    if stream.tracer is not None:
        pop, move = stream.tracer.arguments(pop, move)
    unit = STORE_BYTES if pool.way == "bar" else 1
    pack = packer((DeviceBuffer,) * count, unit)

    def launch(*arguments: Any) -> None:
        nonlocal pack
        try:
            block = pop()
        except IndexError:
            block = take_block(stream, pool, size)
            if block.pool is not pool:
                return general(*arguments, block=block)
        try:
            try:
                pack(block.view, block.offset, arguments)  # phase 3
            except OtherTypes:
                pack = other = packer_for(arguments, count, unit)
                other(block.view, block.offset, arguments)
            move(block)  # phase 4
        except OtherTypes:  # what takes several slots or none, another count, a negative number, a freed buffer
            give_back(block)
            return general(*arguments)
        except BaseException:
            give_back(block)
            raise
        return put(block.address, block)

    return launch


def _device_args_launcher(kernel: Kernel, stream: Stream, task: CoreKernel) -> Callable[[int], None]:
    label = label_of(kernel, task)
    put = _patching(kernel, stream, task, label)
    if put is not None:
        return put

    def general(address: int) -> None:
        kernel.check_loaded()
        submit_at(stream, replace(task, args=address), label)

    kept = None if stream.branch is None else captured.captured_put(kernel, stream, task, label, general)
    return general if kept is None else kept


def _patching(kernel: Kernel, stream: Stream, task: CoreKernel, label: Label) -> Callable[..., None] | None:
    """Return `put(args_address, block=None)` that patches the kernel's template and sends, or None without one.

    A block is put's from the call on: it goes back to its pool when the task is reclaimed, or when it was not sent.
    """
    if isinstance(task, MixKernel) or not stream.route.immediate:
        return None
    gate = stream.gates.now  # before the facts that it stands for are looked at
    template = stream.plugin.template(task, stream.env)
    if template is None:
        return None
    renewed: Callable[..., None] | None = None
    renewed_for = gate

    def around(address: int, block: ArgumentBlock | None = None) -> None:
        nonlocal renewed, renewed_for
        if kernel.program.closed:
            if block is not None:
                stream.device.release_arguments([block])
            kernel.check_loaded()
        if (now := stream.gates.now) is not renewed_for:  # what this was made from has changed
            renewed, renewed_for = _patching(kernel, stream, task, label), now
        if renewed is not None and not now.barred:
            renewed(address, block)
        else:
            stream.submit(replace(task, args=address), owner=label, arguments=block)

    make = _put_v100 if isinstance(stream.ring, RingV100) else _put_v200
    return make(kernel, stream, template, label, around, gate)


def _put_v100(kernel: Kernel, stream: Stream, template: Template, label: Label, around: Callable[..., None],
              gate: Gate) -> Callable[..., None]:
    ring = stream.ring
    assert isinstance(ring, RingV100)
    ids, owners, blocks, depth = ring.ids, ring.owners, ring.arguments, ring.depth
    sender = stream.senders[1]
    buffer, device_id, reference = sender.buffer, sender.device_id, sender.reference
    pack, send = _watched(stream, template.struct.pack_into, sender.send)
    head, middle, tail = template.runs
    bias = template.bias[1]
    program, acquire, release, tick = kernel.program, stream.lock.acquire, stream.lock.release, stream.tick

    def put(address: int, block: ArgumentBlock | None = None) -> None:
        try:
            acquire()
            if free := not (gate.barred or program.closed):
                count = ring.submitted
                if count >= ring.limit:
                    make_room(stream, 1)
                    count = ring.submitted
                position, task_id = count % depth, ring.next_id  # phase 2
                ids[position] = task_id
                owners[position] = label
                pack(buffer, 0, head, task_id, middle, address + bias, tail)  # phase 5
                if rc := send(device_id, reference):  # phase 6
                    send_again(stream, sender, rc)
                blocks[position] = block
                ring.submitted = count = count + 1
                ring.next_id = task_id = task_id + 1
                block = None
                if task_id == NO_TASK:
                    ring.wrap_ids()
                    flip(stream)
            release()
        except BaseException:
            _broken_off(stream, label, block)
            raise
        if not free:
            around(address, block)
        elif not count & _TICK_MASK:
            tick()

    return put


def _put_v200(kernel: Kernel, stream: Stream, template: Template, label: Label, around: Callable[..., None],
              gate: Gate) -> Callable[..., None]:
    ring = stream.ring
    assert isinstance(ring, RingV200)
    firsts, owners, blocks, depth = ring.firsts, ring.owners, ring.arguments, ring.depth
    sender = stream.senders[1]
    buffer, device_id, reference = sender.buffer, sender.device_id, sender.reference
    pack = publishing(template, ring) if stream.env.ub_connected else template.struct.pack_into
    pack, send = _watched(stream, pack, sender.send)
    head, middle, tail = template.runs
    bias = template.bias[1]
    serial = stream.device.next_serial
    program, acquire, release, tick = kernel.program, stream.lock.acquire, stream.lock.release, stream.tick

    def put(address: int, block: ArgumentBlock | None = None) -> None:
        try:
            acquire()
            if free := not (gate.barred or program.closed):
                count = ring.submitted
                if count >= ring.limit:
                    make_room(stream, 1)
                    count = ring.submitted
                position = count % depth  # phase 2: id and position are one
                firsts[position] = position
                owners[position] = label
                pack(buffer, 0, head, serial(), middle, address + bias, tail)  # phase 5
                if rc := send(device_id, reference):  # phase 6
                    send_again(stream, sender, rc)
                blocks[position] = block
                ring.submitted = count = count + 1
                ring.allocations += 1
                block = None
            release()
        except BaseException:
            _broken_off(stream, label, block)
            raise
        if not free:
            around(address, block)
        elif not count & _TICK_MASK:
            tick()

    return put


def _watched(stream: Stream, pack: Callable[..., None], send: Callable[..., int],
             ) -> tuple[Callable[..., None], Callable[..., int]]:
    """Return phases 5 and 6, watched if the stream is."""
    return (pack, send) if stream.tracer is None else stream.tracer.queue(stream, pack, send)


def _broken_off(stream: Stream, label: Label, block: ArgumentBlock | None) -> None:
    """Make the ring agree with the driver when a launch was left by an exception."""
    with broken_off(stream) as left:
        if left:
            stream.ring.arguments[stream.ring.take(1, 0, label).position] = block
        elif block is not None and not any(held is block for held in stream.ring.arguments):
            stream.device.release_arguments([block])
