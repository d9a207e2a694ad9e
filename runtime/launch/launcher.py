"""The hot path: one prepared function per (kernel, blocks, stream), with the seven launch phases in sight.

(1) function address, encoded once; (2) describe; (3) arguments to the device; (4) take a slot; (5) the SQE, by
patching a template; (6) advance the tail and ring the driver; (7) completion is somebody else's business, later.

Phases 2 and 3 are here, 4 to 6 in `runtime.core.submission.prepared`. Everything that can be decided early is
decided in `make_launcher`; the functions it returns do not look at options, tracing or logging.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from npuhal.records import replace
from runtime.core.diagnostics.tracing import AT_DESCRIBED, AT_MOVED
from runtime.core.stream.blocking import blocking, blocks
from runtime.core.submission.prepared import ARGUMENTS, NOTHING, Opening, Part, prepared_send
from runtime.launch import compiled
from runtime.launch.args import SLOT_BYTES, STORE_BYTES, SYNC, block_bytes, dma_of, mover, take_block
from runtime.launch.slow_path import info_of, slow_launcher, submit_at, submit_block, writer
from runtime.launch.templates import context_packer, described, launch_template, lead_of
from runtime.launch.unrolled import Frame, OtherTypes, packer, packer_for
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from chips.tasks import CoreKernel
    from runtime.core.ports import Tracer
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.launch.block import HostBlock
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock

_SLOTS = 16
"""Captured launches that a launcher takes argument memory for at a time."""


def make_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, count: int) -> Callable[..., None]:
    """Return `launch(*arguments)` for `count` arguments of one 8-byte slot each; others take the slow path."""
    return _as_set(partial(_host_args_launcher, kernel, stream, task, count), stream, info_of(kernel, task))


def make_device_args_launcher(kernel: Kernel, stream: Stream, task: CoreKernel) -> Callable[[int], None]:
    """Return `launch(address)` for argument blocks that are on the device already."""
    return _as_set(partial(_device_args_launcher, kernel, stream, task), stream, info_of(kernel, task))


def make_block_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, size: int) -> Callable[[HostBlock], None]:
    """Return `launch(block)` for blocks of `size` bytes that the caller has laid out."""
    task = replace(task, args_size=size)
    return _as_set(partial(_block_launcher, kernel, stream, task, size), stream, info_of(kernel, task))


def _as_set(make: Callable[[], Callable[..., None]], stream: Stream, info: TaskInfo) -> Callable[..., None]:
    """Return a launcher that is watched if the stream is, and waits for the stream if launches in it block."""
    launch = _seen(make, stream, info)
    return blocking(launch, stream) if blocks(stream) else launch


def _seen(make: Callable[[], Callable[..., None]], stream: Stream, info: TaskInfo) -> Callable[..., None]:
    """Return a launcher for the tracer that the stream has now; it is made again when that tracer stops."""
    launch, tracer = make(), stream.tracer
    return launch if tracer is None else tracer.launcher(launch, stream, info, partial(_seen, make, stream, info))


# Phases 2 and 3, in front of the send; the usual way of phase 3 is written out. Arguments of several slots or none,
# another count, a negative number and a freed buffer are OtherTypes to every filler.
_OPENING = """
    nonlocal fill
    (stamps := here.mine[0])[{described}] = clock()
    try:
        block = pop()
    except IndexError:
        block = take_block()
        if block.pool is not pool:
            return slow_launch(*arguments, block=block)
    try:
        try:
            fill(block.view, block.offset, arguments)
        except other_types:
            fill = other = filler_for(arguments)
            other(block.view, block.offset, arguments)
        {move}
        stamps[{moved}] = clock()
    except other_types:
        give_back(block)
        return slow_launch(*arguments)
    except BaseException:
        give_back(block)
        raise
    args = block.address
"""
_MOVE = "move(block)"
_MOVE_BY_DMA = f"""if rc := submit(block.reference, {SYNC}):
            raise refused(rc)"""


@cache
def _opening(move: str, *, watched: bool) -> str:
    """Return the text in front of the send, with the lines that set stamps where somebody watches."""
    text = _OPENING.format(move=move, described=AT_DESCRIBED, moved=AT_MOVED)
    return text if watched else "\n".join(line for line in text.splitlines() if "stamps" not in line)


# -- arguments from the host ---------------------------------------------------------------------------------------


def _host_args_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, count: int) -> Callable[..., None]:
    before, behind = kernel.hidden_words()
    words = len(before) + count + len(behind)
    task = replace(task, args_size=words * SLOT_BYTES)
    info = info_of(kernel, task)
    frame = Frame(lead_of(stream, task), before, behind, stream.device.owner_tag)
    slow = slow_launcher(kernel, stream, task, info, count, frame)
    if kernel.argument_count not in (None, count):
        return slow  # they fit only if some take several slots
    if stream.branch is not None:
        return _captured_launcher(kernel, stream, task, count, info, frame, slow)
    size = max(frame.lead + words * SLOT_BYTES, SLOT_BYTES)
    pool = stream.device.arguments.pool_for(size, stream)
    if pool is None:
        return slow
    pop, move, moving = pool.free.pop, mover(stream, pool, size), _MOVE
    submit, refused = dma_of(stream, size)
    if frame.lead:
        move = _with_context(stream, task, move)
    if pool.way == "dma" and not frame.lead:
        moving = _MOVE_BY_DMA
    unit = STORE_BYTES if pool.way == "bar" else 1
    tracer = stream.tracer
    opening = Opening("*arguments", _opening(moving, watched=tracer is not None), {
        "pop": pop, "give_back": pool.free.append, "move": move, "submit": submit, "refused": refused, "pool": pool,
        "fill": packer((DeviceBuffer,) * count, unit, frame), "other_types": OtherTypes,
        "filler_for": lambda arguments: packer_for(arguments, count, unit, frame),
        "take_block": partial(take_block, stream, pool, size), "slow_launch": slow,
    })  # fmt: skip
    make_go = partial(_sender, kernel, stream, task, info, opening, tracer)
    make_send = partial(_sender, kernel, stream, task, info, None, tracer)
    return compiled.launch(_late(make_go, slow), make_send, stream, pool, frame, count, unit, size) or make_go() or slow


def _late(make: Callable[[], Callable[..., None] | None], slow: Callable[..., None]) -> Callable[..., None]:
    """Return what makes a launcher when it is first called: that behind a compiled one is rarely needed."""
    made: Callable[..., None] | None = None

    def launch(*arguments: Any) -> None:
        nonlocal made
        if made is None:
            made = make() or slow
        made(*arguments)

    return launch


def _captured_launcher(
    kernel: Kernel, stream: Stream, task: CoreKernel, count: int, info: TaskInfo, frame: Frame,
    slow: Callable[..., None],
) -> Callable[..., None]:
    """Return a launcher into a graph, which keeps task and arguments; nothing is sent, and nothing moved yet."""
    branch, lead = stream.branch, frame.lead
    assert branch is not None
    send = branch.prepared_launch(kernel.program, task, info)
    if send is None:
        return slow
    space = block_bytes((lead + task.args_size) // SLOT_BYTES, lead or STORE_BYTES)
    context = context_packer(stream, task) if lead else None
    pack, ready = packer((DeviceBuffer,) * count, 1, frame), list[tuple[memoryview, int, int]]()
    pop = ready.pop

    def launch(*arguments: Any) -> None:
        nonlocal pack
        try:
            slot = pop()
        except IndexError:
            block = branch.take_arguments(_SLOTS * space)
            starts = range(0, _SLOTS * space, space)
            ready.extend((block.view, block.offset + start, block.address + start) for start in reversed(starts))
            slot = pop()
        view, offset, address = slot
        try:
            try:
                pack(view, offset, arguments)
            except OtherTypes:
                pack = other = packer_for(arguments, count, 1, frame)
                other(view, offset, arguments)
        except OtherTypes:  # several slots, a negative number, a freed buffer, a wrong count
            ready.append(slot)
            slow(*arguments)
            return
        if context is not None:
            view[offset : offset + lead] = context(address + lead)
        if not send(address):
            slow(*arguments)

    return launch


def _with_context(
    stream: Stream, task: CoreKernel, move: Callable[[ArgumentBlock], None]
) -> Callable[[ArgumentBlock], None]:
    """Return phase 3 of a mix kernel: its context is written in front of the arguments first."""
    context, lead = context_packer(stream, task), lead_of(stream, task)

    def move_both(block: ArgumentBlock) -> None:
        block.view[block.offset : block.offset + lead] = context(block.address + lead)
        move(block)

    return move_both


# -- a block of the caller's ---------------------------------------------------------------------------------------


def _block_launcher(kernel: Kernel, stream: Stream, task: CoreKernel, size: int) -> Callable[[HostBlock], None]:
    info, lead = info_of(kernel, task), lead_of(stream, task)
    send = None if task.simt_args_offset else _sender(kernel, stream, task, info, None, stream.tracer)
    if send is None:

        def slow(block: HostBlock) -> None:
            kernel.check_loaded()
            submit_block(stream, task, block, info)

        return slow
    device = stream.device
    pool = device.arguments.pool_for(lead + size, stream)
    write = writer(stream, mover(stream, pool, lead + size))
    context = context_packer(stream, task) if lead else None

    def launch(block: HostBlock) -> None:
        taken = take_block(stream, pool, lead + size)
        try:
            bring = write if taken.pool is pool else writer(stream, mover(stream, taken.pool, lead + size))
            image = block.placed(taken.address + lead)
            bring(taken, image if context is None else context(taken.address + lead) + image)
        except BaseException:
            device.release_arguments([taken])
            raise
        send(taken.address, taken)

    return launch


# -- arguments on the device ---------------------------------------------------------------------------------------


def _device_args_launcher(kernel: Kernel, stream: Stream, task: CoreKernel) -> Callable[[int], None]:
    info, lead = info_of(kernel, task), lead_of(stream, task)

    def slow(address: int) -> None:
        kernel.check_loaded()
        submit_at(stream, replace(task, args=address), info)

    send: Callable[..., Any] | None
    if stream.branch is not None:
        send = None if lead else stream.branch.prepared_launch(kernel.program, task, info, slow)
        return slow if send is None else send
    send = _sender(kernel, stream, task, info, None, stream.tracer, ARGUMENTS if lead else NOTHING)
    if send is None:
        return slow
    return _led_by_context(stream, task, send) if lead else send


def _led_by_context(stream: Stream, task: CoreKernel, send: Callable[..., None]) -> Callable[[int], None]:
    """Return a launcher of a mix kernel that gives each launch a block for its context."""
    device, lead = stream.device, lead_of(stream, task)
    pool = device.arguments.pool_for(lead, stream)
    context, write = context_packer(stream, task), writer(stream, mover(stream, pool, lead))

    def launch(address: int) -> None:
        block = take_block(stream, pool, lead)
        try:
            bring = write if block.pool is pool else writer(stream, mover(stream, block.pool, lead))
            bring(block, context(address))
        except BaseException:
            device.release_arguments([block])
            raise
        send(block.address, block)

    return launch


# -- the send ------------------------------------------------------------------------------------------------------


def _sender(
    kernel: Kernel, stream: Stream, task: CoreKernel, info: TaskInfo, opening: Opening | None, tracer: Tracer | None,
    carries: str = ARGUMENTS,
) -> Callable[..., None] | None:
    """Return `send(address, block=None)`, where the launch has a template and goes to the device at once.

    Where it carries nothing it is `send(address)`.

    With an opening it is `send(*arguments)`. With a tracer it sets the stamps of the launch, which that one has begun.

    `address` is that of the block, or of arguments that the caller keeps. A block is the send's from the call on: it
    goes back to its pool when the task is reclaimed, or when it was not sent.
    """
    if not stream.sink.immediate or stream.bound is not None:  # a model lists what its streams hold
        return None
    epoch = stream.epoch.now  # before the facts that it stands for are looked at
    template = launch_template(stream, task)
    if template is None:
        return None
    describe = described(task, lead_of(stream, task))
    again = partial(_sender, kernel, stream, task, info, None, tracer, carries)
    renewed: Callable[..., None] | None = None
    renewed_for = epoch

    def slow(address: int, block: ArgumentBlock | None = None) -> None:
        nonlocal renewed, renewed_for
        if kernel.program.closed:
            if block is not None:
                stream.device.release_arguments([block])
            kernel.check_loaded()
        if (now := stream.epoch.now) is not renewed_for:  # what this was made from has changed
            renewed, renewed_for = again(), now
        if renewed is not None and not now.blocked:
            renewed(address, *(() if block is None else (block,)))
        else:
            stream.submit(describe(address), owner=info, arguments=block)

    return prepared_send(
        stream, Part(template, info), epochs=(epoch,), parameters=("args",), carries=carries,
        program=kernel.program, slow=slow, opening=opening, tracer=tracer,
    )
