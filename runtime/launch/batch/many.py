"""Many launches of one kernel with one call: arguments and SQEs are built as columns and sent in runs.

A run is as long as `runtime.launch.batch.multi_sqe` and one block of arguments allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel
from npuhal.records import replace
from runtime import errors
from runtime.core.diagnostics.counters import counted
from runtime.core.stream.blocking import blocks as waits
from runtime.core.submission.ring import TICK
from runtime.core.submission.runs import PUBLISHES, RunSender
from runtime.errors.arguments import several
from runtime.launch.args import SLOT_BYTES, STORE_BYTES, all_slots, block_bytes, mover, take_block
from runtime.launch.argument_check import check_slots
from runtime.launch.slow_path import info_of
from runtime.launch.templates import context_template, launch_template, lead_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chips.layout import Template
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel
    from runtime.launch.options import LaunchOptions
    from runtime.memory.arguments import ArgumentBlock, ArgumentPool

_ROWS_AND_COLUMNS = 2


def launch_many(stream: Stream, kernel: Kernel, blocks: int, arguments: Any, options: LaunchOptions) -> None:
    """Launch a kernel once per row of `arguments`.

    Args:
        arguments: an integer array of 8-byte items, one row per launch and one column per argument; or a sequence of
            rows, each of what a single launch would be given.

    Raises:
        InvalidArgument: rows of unequal length, an argument that fits no slot, or another count than the kernel takes.
    """
    rows = table(arguments, kernel.program.device)
    if not len(rows):
        return
    count = rows.shape[1]
    key = (kernel, blocks, options, "many", count)
    send = stream.launchers.get(key)
    if send is None:
        send = stream.launchers[key] = _sender(stream, kernel, blocks, count, options)
    send(rows)


def _sender(stream: Stream, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> Callable[..., None]:
    """Return what launches the rows of a table with `count` columns."""
    check_slots(kernel, count)
    words = count + sum(map(len, kernel.hidden_words()))
    task = replace(kernel.task(blocks, options), args_size=words * SLOT_BYTES)
    template = _template(stream, task, options)
    if template is not None:
        return _Runs(stream, kernel, task, template, count).send
    launch = kernel.bind(stream, blocks, options, count=count)

    def one_by_one(table: NDArray[np.uint64]) -> None:
        for row in table.tolist():
            launch(*row)

    return one_by_one


def _template(stream: Stream, task: CoreKernel, options: LaunchOptions) -> Template | None:
    """Return what the launches are made from; None where each has to go its own way."""
    watched = stream.tracer is not None or stream.bound is not None  # a model lists what its streams hold
    if options.prefetch_blocks or not stream.sink.immediate or waits(stream) or watched:
        return None
    return launch_template(stream, task)


def table(arguments: Any, device: Any = None) -> NDArray[np.uint64]:
    """Return the arguments as an array of 64-bit words, one row per launch."""
    import numpy as np

    if not isinstance(arguments, np.ndarray):
        return _from_rows(arguments, device)
    whole = arguments.dtype.kind in "iu" and arguments.dtype.itemsize == SLOT_BYTES
    if arguments.ndim != _ROWS_AND_COLUMNS or not whole:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"launch_many: an array of {arguments.dtype} with shape {arguments.shape}",
            hint="pass 64-bit integers, one row per launch and one column per argument",
        )
    return arguments if arguments.dtype == np.uint64 else arguments.astype(np.uint64)


def _from_rows(rows: Sequence[Sequence[Any]], device: Any) -> NDArray[np.uint64]:
    import numpy as np

    hint = "pass an array of 64-bit integers with a row per launch, or a list of rows"
    rows = several("launch_many", "arguments", rows, object, hint)
    words = [all_slots(several("launch_many", "a row of arguments", row, object, hint), device) for row in rows]
    if len({len(row) for row in words}) > 1:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "launch_many: the rows take different numbers of 8-byte slots",
            hint="give every launch the same arguments in the same types",
        )
    return np.array(words, np.uint64).reshape(len(words), -1)


class _Runs:
    """Sends rows of arguments, run by run; all that is the same for each run is made once."""

    __slots__ = (
        "_add", "_contexts", "_counted", "_filled", "_ids", "_info", "_kernel", "_most", "_movers", "_own",
        "_published", "_runs", "_stream", "_stride", "_words",
    )  # fmt: skip

    def __init__(self, stream: Stream, kernel: Kernel, task: CoreKernel, template: Template, count: int) -> None:
        import numpy as np

        self._stream, self._kernel, self._info = stream, kernel, info_of(kernel, task)
        [(self._counted, _)] = counted([self._info])
        before, behind = kernel.hidden_words()
        lead = lead_of(stream, task)
        first = lead // SLOT_BYTES + len(before)
        self._stride = stride = block_bytes((lead + task.args_size) // SLOT_BYTES, lead or STORE_BYTES)
        self._runs = RunSender(stream)
        self._most = most = len(self._runs.rows)
        staged = np.zeros((most, stride // SLOT_BYTES), np.uint64)
        staged[:, first - len(before) : first] = before
        staged[:, first + count : first + count + len(behind)] = behind
        self._own = staged[:, first : first + count]
        self._filled = staged.data.cast("B")
        self._runs.rows[:] = template.render_many(most, **dict.fromkeys(template.names, 0))
        number, *words = template.names
        self._ids = template.column(self._runs.rows, number)
        starts = np.arange(most, dtype=np.uint64) * np.uint64(stride)
        self._words = [
            (template.column(self._runs.rows, name), starts + np.uint64(bias))
            for name, bias in zip(words, template.bias[1:], strict=True)
        ]
        """The words of the SQEs with the address of a launch's block, and what each adds to that of the first."""
        self._contexts: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
        """The same of the contexts of mix kernels, which point to the arguments behind them."""
        if lead:
            context = context_template(stream, task)
            staged[:, : lead // SLOT_BYTES] = np.frombuffer(context.row, np.uint64)
            self._contexts = [
                (staged[:, word.offset // SLOT_BYTES], starts + np.uint64(lead + bias))
                for word, bias in zip(context.words, context.bias, strict=True)
            ]
        self._published = None
        if stream.env.ub_connected:
            self._published = (template.row[PUBLISHES], stream.plugin.publishing(template).row[PUBLISHES])
        self._movers: dict[tuple[ArgumentPool | None, int], Callable[[ArgumentBlock], None]] = {}
        self._add = np.add

    def send(self, table: NDArray[np.uint64]) -> None:
        """Send all rows; what was sent before a failure stays sent, as with single launches."""
        stream, stride, at = self._stream, self._stride, 0
        device = stream.device
        pools = device.arguments
        pool = pools.pool_for(min(len(table), self._most) * stride, stream) or pools.largest(stride)
        while at < len(table):
            block = take_block(stream, pool, stride)
            most = min(len(table) - at, self._most, block.size // stride)
            with stream.lock:
                blocks = [block]
                try:
                    count = self._run(table[at : at + most], blocks)
                finally:
                    if blocks:
                        device.release_arguments(blocks)
            at += count
            if stream.ring.submitted // TICK != (stream.ring.submitted - count) // TICK:
                stream.tick()

    def _run(self, rows: NDArray[np.uint64], blocks: list[ArgumentBlock]) -> int:
        """Send as many of the rows as find space; the stream's lock is held. Returns how many were sent.

        Args:
            blocks: where the arguments go; it is taken out once it belongs to the last of the tasks.
        """
        runs, block = self._runs, blocks[0]
        count = runs.space(self._info, len(rows))
        self._kernel.check_loaded()
        self._own[:count] = rows[:count]
        for words, offsets in self._contexts:
            self._add(offsets[:count], block.address, out=words[:count])
        self._write(block, count * self._stride)
        runs.name([self._info] * count, self._ids)
        for words, offsets in self._words:
            self._add(offsets[:count], block.address, out=words[:count])
        if self._published is not None:
            plain, published = self._published
            runs.rows[:count, PUBLISHES] = plain
            runs.rows[runs.publishing(count), PUBLISHES] = published
        runs.send(count, blocks, kinds=((self._counted, count),))
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
