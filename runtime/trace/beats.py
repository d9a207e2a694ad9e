"""One launch, beat by beat, with the time each took; for people who ask which beat is slow."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from chips.env import TaskIds
from runtime.core.ring import Label
from runtime.core.stream import Stream
from runtime.launch.args import SLOT_BYTES, all_slots, filler, mover, take_block
from runtime.launch.kernel import Kernel
from runtime.launch.options import PLAIN, LaunchOptions

BEATS = (
    "function address", "task slot", "description", "arguments to the device", "build the SQE",
    "advance the tail, ring the driver", "wait for the SQ head",
)  # fmt: skip
"""The seven beats in order. Only the sixth may enter the kernel, only the seventh may block."""


@dataclass(frozen=True, slots=True)
class LaunchTrace:
    """What one launch did.

    Attributes:
        beats_ns: time of each beat in nanoseconds, in the order of BEATS.
        ids: the numbers the task got.
        sqe: the bytes that went to the ring.
        way: which way out they took.
        arguments_way: how the arguments reached the device: dma, bar or copy.
    """

    beats_ns: tuple[int, ...]
    ids: TaskIds
    sqe: bytes
    way: str
    arguments_way: str


def trace_launch(kernel: Kernel, stream: Stream, blocks: int, *arguments: Any,
                 options: LaunchOptions = PLAIN) -> LaunchTrace:
    """Launch once in slow motion and wait for the end; the result is the same as of a plain launch.

    Single-core kernels only: a mix kernel's context is no beat of its own.
    """
    device, clock = stream.device, time.perf_counter_ns
    words = all_slots(arguments)
    size = max(len(words), 1) * SLOT_BYTES
    pool = device.arguments.pool_for(size)
    fill, move = filler(pool, len(words)), mover(stream, pool, size)
    block = take_block(stream, pool, size)  # may drain the stream: not under its lock
    route = stream.route
    marks = [clock()]
    task = replace(kernel.task(blocks, options), args_size=size)
    marks.append(clock())
    with stream.lock:
        ids = None
        try:
            ids = route.alloc(stream, 1, Label(task.type, f"kernel {kernel.name}"))
            marks.append(clock())
            task = replace(task, args=block.address)
            marks.append(clock())
            fill(block.view, block.offset, *words)
            move(block)
            stream.ring.arguments[ids.position] = block
            marks.append(clock())
            sqe = stream.plugin.encode(task, stream.env, ids)
            marks.append(clock())
            route.commit(stream, sqe)
            stream.ring.mark = None
            marks.append(clock())
        except BaseException:
            if ids is None or route.rollback(stream, 1):
                device.release_arguments([block])
            raise
    stream.synchronize()
    marks.append(clock())
    times = tuple(after - before for before, after in pairwise(marks))
    return LaunchTrace(times, ids, sqe, route.name, device.arguments.way)
