"""Many launches of one kernel with one call: arguments and SQEs are built as columns and sent in runs.

The device sees what the same number of single launches would give it, in the same order. A run is one send: as long as
the free places of the ring, one block of arguments and the ids allow; a full ring makes the next run wait, as it makes
a single launch wait.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel, MixKernel
from chips.v200.generation import HEAD_UPDATE_EVERY, with_head_update
from runtime import errors
from runtime.core.blocking import blocks as waits
from runtime.core.ring import NO_TASK, TICK, Label, RingV100, RingV200, TaskRing
from runtime.core.submit import flip, make_room, send_again, was_sent
from runtime.launch.args import SLOT_BYTES, all_slots, mover, take_block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chips.layout import Template
    from runtime.core.stream import Stream
    from runtime.launch.kernel import Kernel
    from runtime.launch.options import LaunchOptions
    from runtime.memory.arguments import ArgumentBlock, ArgumentPool

LONGEST_RUN = 256
_UNIT = 64
_ID_AND_ARGUMENTS = 2
_ROWS_AND_COLUMNS = 2
RAMP = array("H", range(1 << 16))
"""All ids and positions in order: a slice of it names a run."""


def launch_many(stream: Stream, kernel: Kernel, blocks: int, arguments: Any, options: LaunchOptions) -> None:
    """Launch a kernel once per row of `arguments`.

    Args:
        arguments: an integer array of 8-byte items, one row per launch and one column per argument; or a sequence of
            rows, each of what a single launch would be given.

    Raises:
        InvalidArgument: rows of unequal length, an argument that fits no slot, or another count than the kernel takes.
    """
    table = _table(arguments)
    if not len(table):
        return
    count = table.shape[1]
    key = (kernel, blocks, options, "many", count)
    send = stream.launchers.get(key)
    if send is None:
        send = stream.launchers[key] = _sender(stream, kernel, blocks, count, options)
    send(table)


def _sender(stream: Stream, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> Callable[..., None]:
    """Return what launches the rows of a table with `count` columns."""
    kernel.check_count(count)
    words = count + sum(map(len, kernel.hidden_words()))
    task = replace(kernel.task(blocks, options), args_size=words * SLOT_BYTES)
    template = _template(stream, task, options)
    if template is not None:
        return _Runs(stream, kernel, template, count, Label(task.type, f"kernel {kernel.name}", kernel)).send
    launch = kernel.bind(stream, blocks, options, count=count)

    def one_by_one(table: NDArray[np.uint64]) -> None:
        for row in table.tolist():
            launch(*row)

    return one_by_one


def _template(stream: Stream, task: CoreKernel, options: LaunchOptions) -> Template | None:
    """Return what the launches are made from; None where each has to go its own way."""
    if isinstance(task, MixKernel) or options.prefetch_blocks or not stream.route.immediate or waits(stream):
        return None
    if stream.tracer is not None:
        return None
    template = stream.plugin.template(task, stream.env)
    return template if template is not None and len(template.names) == _ID_AND_ARGUMENTS else None


def _table(arguments: Any) -> NDArray[np.uint64]:
    """Return the arguments as an array of 64-bit words, one row per launch."""
    import numpy as np

    if not isinstance(arguments, np.ndarray):
        return _from_rows(arguments)
    whole = arguments.dtype.kind in "iu" and arguments.dtype.itemsize == SLOT_BYTES
    if arguments.ndim != _ROWS_AND_COLUMNS or not whole:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"launch_many: an array of {arguments.dtype} with shape {arguments.shape}",
            hint="pass 64-bit integers, one row per launch and one column per argument",
        )
    return arguments if arguments.dtype == np.uint64 else arguments.astype(np.uint64)


def _from_rows(rows: Sequence[Sequence[Any]]) -> NDArray[np.uint64]:
    import numpy as np

    words = [all_slots(row) for row in rows]
    if len({len(row) for row in words}) > 1:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "launch_many: the rows take different numbers of 8-byte slots",
            hint="give every launch the same arguments in the same types",
        )
    return np.array(words, np.uint64).reshape(len(words), -1)


class _Runs:
    """Sends rows of arguments, run by run; all that is the same for each run is made once."""

    __slots__ = (
        "_addresses", "_arguments", "_block", "_filled", "_ids", "_kernel", "_label", "_movers", "_own", "_published",
        "_ramp", "_rows", "_sender", "_staged", "_stream", "_stride",
    )  # fmt: skip

    def __init__(self, stream: Stream, kernel: Kernel, template: Template, count: int, label: Label) -> None:
        import numpy as np

        self._stream, self._kernel, self._label = stream, kernel, label
        before, behind = kernel.hidden_words()
        words = len(before) + count + len(behind)
        self._stride = max(-(-words * SLOT_BYTES // _UNIT), 1) * _UNIT
        self._staged = np.zeros((LONGEST_RUN, self._stride // SLOT_BYTES), np.uint64)
        self._staged[:, : len(before)] = before
        self._staged[:, len(before) + count : words] = behind
        self._own = self._staged[:, len(before) : len(before) + count]
        self._filled = self._staged.data.cast("B")
        self._ramp = np.arange(1 << 16, dtype=np.uint64)
        self._addresses = self._ramp[:LONGEST_RUN] * np.uint64(self._stride) + np.uint64(template.bias[1])
        self._sender = stream.senders.for_runs(LONGEST_RUN)
        self._rows = np.frombuffer(self._sender.buffer, np.uint8).reshape(LONGEST_RUN, -1)
        self._rows[:] = template.render_many(LONGEST_RUN, **dict.fromkeys(template.names, 0))
        self._ids, self._arguments = (template.column(self._rows, name) for name in template.names)
        self._published = None
        if stream.env.ub_connected:
            self._published = (template.row[1], with_head_update(template).row[1])
        self._movers: dict[tuple[ArgumentPool, int], Callable[[ArgumentBlock], None]] = {}
        self._block: ArgumentBlock | None = None
        """The block that belongs to no task yet."""

    def send(self, table: NDArray[np.uint64]) -> None:
        """Send all rows; what was sent before a failure stays sent, as with single launches."""
        stream, stride, at = self._stream, self._stride, 0
        device = stream.device
        pools = device.arguments
        pool = pools.pool_for(min(len(table), LONGEST_RUN) * stride, stream) or pools.largest(stride)
        while at < len(table):
            block = take_block(stream, pool, stride)
            most = min(len(table) - at, LONGEST_RUN, block.size // stride)
            with stream.lock:
                self._block = block
                try:
                    count = self._run(table[at : at + most], block)
                finally:
                    unused, self._block = self._block is not None, None
                    if unused:
                        device.release_arguments([block])
            at += count
            if stream.ring.submitted // TICK != (stream.ring.submitted - count) // TICK:
                stream.tick()

    def _run(self, rows: NDArray[np.uint64], block: ArgumentBlock) -> int:
        """Send as many of the rows as find room; the stream's lock is held. Returns how many were sent."""
        stream, sender = self._stream, self._sender
        ring = stream.ring
        if stream.barred:
            stream.check_send(self._label.type)
        self._kernel.check_loaded()
        if not ring.fits(1):
            make_room(stream, 1)
        count = min(len(rows), ring.limit - ring.submitted, ring.depth - ring.tail)
        if isinstance(ring, RingV100):
            count = min(count, NO_TASK - ring.next_id)
        self._own[:count] = rows[:count]
        self._write(block, count * self._stride)
        self._describe(ring, block.address, count)
        sender.info.sqe_num = count
        try:
            if rc := sender.send(sender.device_id, sender.reference):
                send_again(stream, sender, rc)
        except BaseException:
            if was_sent(stream, ring.submitted + count):
                self._settle(ring, block, count)
            stream.senders.seek(ring.tail)
            raise
        self._settle(ring, block, count)
        return count

    def _write(self, block: ArgumentBlock, size: int) -> None:
        """Bring the arguments to the device."""
        if block.pool is None:
            self._stream.device.memory.write(block.address, bytes(self._filled[:size]))
            return
        block.view[block.offset : block.offset + size] = self._filled[:size]
        move = self._movers.get((block.pool, size))
        if move is None:
            move = self._movers[block.pool, size] = mover(self._stream, block.pool, size)
        move(block)

    def _describe(self, ring: TaskRing, base: int, count: int) -> None:
        """Write down who is where, and patch the SQEs."""
        import numpy as np

        position = ring.tail
        end = position + count
        ring.owners[position:end] = [self._label] * count
        np.add(self._addresses[:count], base, out=self._arguments[:count])
        if isinstance(ring, RingV100):
            ring.ids[position:end] = RAMP[ring.next_id : ring.next_id + count]
            self._ids[:count] = self._ramp[ring.next_id : ring.next_id + count]
            return
        assert isinstance(ring, RingV200)
        ring.firsts[position:end] = RAMP[position:end]
        serials = islice(iter(self._stream.device.next_serial, None), count)
        self._ids[:count] = np.fromiter(serials, np.uint64, count)
        if self._published is not None:
            plain, published = self._published
            self._rows[:count, 1] = plain
            self._rows[-(ring.allocations + 1) % HEAD_UPDATE_EVERY : count : HEAD_UPDATE_EVERY, 1] = published

    def _settle(self, ring: TaskRing, block: ArgumentBlock, count: int) -> None:
        """Make the run part of the ring; the block goes back with its last launch."""
        ring.arguments[(ring.submitted + count - 1) % ring.depth] = block
        self._block = None
        ring.submitted += count
        if isinstance(ring, RingV200):
            ring.allocations += count
        elif isinstance(ring, RingV100):
            ring.next_id += count
            if ring.next_id == NO_TASK:
                ring.wrap_ids()
                flip(self._stream)
