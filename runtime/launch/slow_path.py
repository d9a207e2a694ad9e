"""The slow path of a launch: arguments that templates do not cover, brought over and submitted one task at a time."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.tasks import AicpuKernel, CoreKernel
from npuhal.records import replace
from npuhal.words import count
from runtime import errors
from runtime.core.submission.ring import TaskInfo
from runtime.launch.args import SLOT_BYTES, STORE_BYTES, mover, take_block
from runtime.launch.argument_check import launch_words
from runtime.launch.block import HostBlock
from runtime.launch.templates import context_packer, described, lead_of

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel
    from runtime.launch.unrolled import Frame
    from runtime.memory.arguments import ArgumentBlock


def slow_launcher(
    kernel: Kernel, stream: Stream, task: CoreKernel, info: TaskInfo, count: int, frame: Frame
) -> Callable[..., None]:
    """Return a launcher for what templates do not cover: arguments of several slots, streams that record."""
    before, behind = frame.before, frame.behind

    def launch(*arguments: Any, block: ArgumentBlock | None = None) -> None:
        if len(arguments) != count:
            raise wrong_count(kernel, count, len(arguments))
        kernel.check_loaded()
        words = (*before, *launch_words(kernel, arguments), *behind)
        submit_block(stream, task, HostBlock(struct.pack(f"<{len(words)}Q", *words)), info, block)

    return launch


def submit_block(
    stream: Stream, task: CoreKernel | AicpuKernel, block: HostBlock, info: TaskInfo, taken: ArgumentBlock | None = None
) -> None:
    """Bring a block of arguments to the device and submit the task that uses it; `taken` is where it is to lie."""
    lead = lead_of(stream, task)
    size = lead + max(len(block.data), SLOT_BYTES)
    where = taken or _take(stream, size)

    def laid_out() -> tuple[Task, bytes]:
        image = block.placed(where.address + lead)
        if not isinstance(task, CoreKernel):
            return replace(task, args=where.address), image
        sized = replace(task, args_size=len(block.data))
        context = context_packer(stream, sized)(where.address + lead) if lead else b""
        return described(sized, lead)(where.address), context + image

    _submit_with(stream, where, laid_out, info)


def submit_at(stream: Stream, task: CoreKernel, info: TaskInfo) -> None:
    """Submit a task whose arguments lie on the device already."""
    lead = lead_of(stream, task)
    if not lead:
        stream.submit(task, owner=info)
        return
    block = _take(stream, lead)
    made = replace(described(task, lead)(block.address), args=task.args)
    _submit_with(stream, block, lambda: (made, context_packer(stream, task)(task.args)), info)


def submit_described(
    stream: Stream, size: int, describe: Callable[[int], tuple[Task, bytes]], info: TaskInfo
) -> None:
    """Submit a task whose `size` bytes of arguments go along; `describe(address)` returns it, and what lies there."""
    where = _take(stream, max(size, SLOT_BYTES))
    _submit_with(stream, where, lambda: describe(where.address), info)


def _take(stream: Stream, size: int) -> ArgumentBlock:
    """Take a block for a task that takes the slow path; one of the graph's own while the stream is captured."""
    if stream.branch is not None:
        return stream.branch.take_arguments(size)
    return take_block(stream, stream.device.arguments.pool_for(size), size)


def _submit_with(
    stream: Stream, block: ArgumentBlock, laid_out: Callable[[], tuple[Task, bytes]], info: TaskInfo
) -> None:
    """Write what goes into a block, bring it to the device, and submit the task; the block goes back in any case."""
    device = stream.device
    try:
        task, image = laid_out()
        writer(stream, mover(stream, block.pool, len(image)))(block, image)
    except BaseException:
        device.release_arguments([block])
        raise
    stream.submit(task, owner=info, arguments=block)


def writer(
    stream: Stream, move: Callable[[ArgumentBlock], None]
) -> Callable[[ArgumentBlock, bytes | bytearray], None]:
    """Return the function that writes an image into a block, in whole units, and brings it to the device."""
    memory = stream.device.memory

    def write(block: ArgumentBlock, image: bytes | bytearray) -> None:
        padded = image + bytes(-len(image) % STORE_BYTES)
        block.view[block.offset : block.offset + len(padded)] = padded[: block.size]
        if block.pool is None:
            memory.write(block.address, bytes(image))
        else:
            move(block)

    return write if stream.tracer is None else stream.tracer.writer(write)


def info_of(kernel: Kernel, task: CoreKernel) -> TaskInfo:
    """Return what a launch is called in messages."""
    return TaskInfo(task.type, f"kernel {kernel.name}", kernel)


def wrong_count(kernel: Kernel, expected: int, given: int) -> errors.RuntimeFault:
    """Return the fault for another number of arguments than a launcher was made for: 107000."""
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID",
        f"kernel {kernel.name}: this launcher takes {count(expected, 'argument')}, {count(given, 'was', 'were')} given",
        ee="EE1003", params=("launch", given, "number of arguments", expected),
        hint="bind() again with another count, or use kernel[blocks](...)",
    )
