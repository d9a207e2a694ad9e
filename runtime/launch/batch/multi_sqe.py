"""Runs of a batch: neighbouring tasks of one SQE each, put together as columns and sent with one call of the driver.

How many go with one call is decided by `runtime.core.submission.runs`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel
from runtime.core.submission.prepared import template_of
from runtime.core.submission.ring import TICK, TaskInfo
from runtime.core.submission.runs import LONGEST_RUN, RunSender
from runtime.driver.queues import SQE_BYTES
from runtime.launch.args import SLOT_BYTES, STORE_BYTES, block_bytes, mover, take_block
from runtime.launch.slow_path import writer
from runtime.launch.templates import context_template, launch_template, lead_of
from runtime.launch.unrolled import Frame, packer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chips.layout import Template
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import Epoch
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock

_MOST_WRITERS = 64
_PUBLISHES = 1
"""The byte of an SQE that asks for the queue's head to be published."""


class Arguments:
    """How the arguments of launches of one kind lie in the image of a batch."""

    __slots__ = ("context", "count", "frame", "image", "pack")

    def __init__(self, stream: Stream, kernel: Kernel, task: CoreKernel, count: int) -> None:
        """Args:
            count: arguments that each launch gives.
        """
        lead = lead_of(stream, task)
        self.count = count
        self.frame = Frame(lead, *kernel.hidden_words(), stream.device.owner_tag)
        self.image = bytearray(block_bytes((lead + task.args_size) // SLOT_BYTES, lead or STORE_BYTES))
        """What each launch adds to the image: the context of a mix kernel that has one, and space."""
        self.context: tuple[tuple[int, int], ...] = ()
        """Of each address of the arguments in the context: its first byte, and what is added to the address."""
        if lead:
            context = context_template(stream, task)
            self.image[:lead] = context.row
            self.context = tuple(
                (word.offset, bias + lead) for word, bias in zip(context.words, context.bias, strict=True)
            )
        self.pack = packer((), 1, self.frame)
        """What has packed the arguments of the last launch."""


class Kind:
    """What steps have in common whose SQEs differ in their number and a few words.

    `alone(values, things)` sends one by itself; `keeps` says whether its things live until it is done.
    """

    __slots__ = ("_epoch", "_parts", "_varying", "alone", "arguments", "biases", "fixed", "info", "keeps", "kernel",
                 "number", "offset_words", "published", "size", "task", "template", "varied")  # fmt: skip

    def __init__(self, task: Task, info: TaskInfo, alone: Callable[[Any, Any], object], *varied: str,
                 kernel: Kernel | None = None, arguments: Arguments | None = None) -> None:
        self.task, self.info, self.alone, self.varied, self.kernel = task, info, alone, varied, kernel
        self.arguments = arguments
        self.size = 0 if arguments is None else len(arguments.image)
        """Bytes that a launch takes in the image of a batch."""
        self.keeps = kernel is None
        self.template: Template | None = None
        self.number = (0, 0)
        """First byte and bytes of the word for the number."""
        self.offset_words: tuple[tuple[int, int], ...] = ()
        """The same of the words for the address of a launch's block; each adds one of `biases` to it."""
        self.biases: tuple[int, ...] = ()
        self._parts: list[Any] = []
        """What the SQE is packed of, with 0 for its number and for what varies."""
        self._varying: list[tuple[int, int, int]] = []
        """Of each value that varies: where among these it goes, which of the values it is, and what is added to it."""
        self.fixed = b""
        """The SQE, where nothing of it varies but the number and the address of arguments."""
        self.published = 0
        self._epoch: Epoch | None = None

    def cut(self, stream: Stream) -> None:
        """Encode the task and cut it at what varies; there is no template for what cannot be part of a run."""
        epoch = stream.epoch.now  # before the facts that it stands for are looked at
        if self._epoch is epoch:
            return
        if self.kernel is None:
            self.template = template_of(stream, self.task, *self.varied)
        else:
            assert isinstance(self.task, CoreKernel)
            self.template = None if self.varied else launch_template(stream, self.task)
        if self.template is not None:
            words = [(word.offset, word.width // 8) for word in self.template.words]
            self.number = words[0]
            if self.kernel is not None:
                self.offset_words, self.biases = tuple(words[1:]), self.template.bias[1:]
            else:
                self._parts = [*chain.from_iterable((run, 0) for run in self.template.runs)][:-1]
                self._varying = [
                    (2 * index + 3, self.varied.index(name), bias)
                    for index, (name, bias) in enumerate(
                        zip(self.template.names[1:], self.template.bias[1:], strict=True)
                    )
                ]
            if self.kernel is not None or not self.varied:
                self.fixed = self.template.row
            if stream.env.ub_connected:
                self.published = stream.plugin.publishing(self.template).row[_PUBLISHES]
        self._epoch = epoch

    def row(self, values: tuple[int, ...]) -> bytes:
        """Return the SQE with the values in it; its number is 0."""
        template = self.template
        assert template is not None
        parts = self._parts.copy()
        for at, which, bias in self._varying:
            parts[at] = values[which] + bias
        return template.struct.pack(*parts)


Step = tuple[Kind | None, Any, Sequence[Any]]
"""A kind, the values that vary (for a launch, where its arguments begin in the image), and the things it is about.

Without a kind the second is a function that sends the task."""


class BatchSender(RunSender):
    """Sends the runs of a stream's batches."""

    __slots__ = ("kinds", "writers")

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self.kinds: dict[Any, Kind] = {}
        """What batches of the stream send besides launches."""
        self.writers: dict[Any, Callable[..., None]] = {}
        """What writes arguments into a block of a pool, by pool and size."""


def batch_sender(stream: Stream) -> BatchSender:
    """Return what sends the runs of a stream's batches."""
    sender = stream.senders.runs
    if not isinstance(sender, BatchSender):
        sender = stream.senders.runs = BatchSender(stream)
    return sender


class Run:
    """Neighbours with everything that each send needs of them, as columns."""

    __slots__ = ("contexts", "image", "indexes", "infos", "keep", "launches", "number", "offset_words", "offsets",
                 "published", "rows", "starts")  # fmt: skip

    def __init__(self, steps: list[Step], image: bytearray) -> None:
        import numpy as np

        kinds: tuple[Any, ...]
        kinds, values, things = zip(*steps, strict=True)
        self.image = image
        self.infos = [kind.info for kind in kinds]
        self.keep = [kept if kind.keeps else None for kind, kept in zip(kinds, things, strict=True)]
        rows = b"".join([kind.fixed or kind.row(value) for kind, value in zip(kinds, values, strict=True)])
        self.rows: NDArray[np.uint8] = np.frombuffer(rows, np.uint8).reshape(-1, SQE_BYTES)
        self.number = kinds[0].number
        self.published: NDArray[np.uint8] | None = None
        """The byte that asks for the queue's head, for the SQEs that do; None where none does."""
        if kinds[0].published:
            self.published = np.array([kind.published for kind in kinds], np.uint8)
        self.launches = [n for n, kind in enumerate(kinds) if kind.kernel is not None]
        """Which of them have arguments, and where in the image those begin."""
        self.starts = [values[n] for n in self.launches]
        self.indexes = np.array(self.launches, np.intp)
        leading = kinds[self.launches[0]] if self.launches else kinds[0]
        self.offset_words = leading.offset_words
        begins = np.array(self.starts, np.uint64)
        self.offsets = [
            np.array([kinds[n].biases[word] for n in self.launches], np.uint64) + begins
            for word in range(len(self.offset_words))
        ]
        """What each launch adds to the address of the image, for each of the words with it."""
        self.contexts: list[tuple[int, NDArray[np.uint64]]] = []
        """Of each address in the contexts of launches: its first byte, and what each adds to that of the image."""
        if self.launches and leading.arguments.context:
            self.contexts = [
                (leading.arguments.context[word][0],
                 begins + np.array([kinds[n].arguments.context[word][1] for n in self.launches], np.uint64))
                for word in range(len(leading.arguments.context))
            ]
        if self.launches:
            self.starts.append(self.starts[-1] + kinds[self.launches[-1]].size)


def send_run(stream: Stream, run: Run) -> None:
    """Send a run, in as many pieces as it takes."""
    runs, at = batch_sender(stream), 0
    while at < len(run.infos):
        count = _send_piece(stream, runs, run, at)
        at += count
        if stream.ring.submitted // TICK != (stream.ring.submitted - count) // TICK:
            stream.tick()


def _send_piece(stream: Stream, runs: BatchSender, run: Run, at: int) -> int:
    """Send tasks of a run from number `at` on, as many as find space; returns how many."""
    wanted = min(len(run.infos) - at, LONGEST_RUN)
    first, last = bisect_left(run.launches, at), bisect_left(run.launches, at + wanted)
    size, blocks = run.starts[last] - run.starts[first] if last > first else 0, list["ArgumentBlock"]()
    try:
        if size:
            blocks.append(take_block(stream, stream.device.arguments.pool_for(size, stream), size))
        with stream.lock:
            count = runs.space(run.infos[at], wanted)
            last = bisect_left(run.launches, at + count)
            runs.rows[:count] = run.rows[at : at + count]
            if blocks:
                _bring(stream, runs, run, blocks[0], first, last, at)
            runs.name(run.infos[at : at + count], runs.column(run.number))
            if run.published is not None:
                asking = runs.publishing(count)
                runs.rows[asking, _PUBLISHES] = run.published[at : at + count][asking]
            runs.send(count, blocks, run.keep[at : at + count])
    finally:
        if blocks:
            stream.device.release_arguments(blocks)
    return count


def _bring(
    stream: Stream, runs: BatchSender, run: Run, block: ArgumentBlock, first: int, last: int, at: int
) -> None:
    """Write the arguments of launches number `first` to `last` into a block, and where they lie into the SQEs."""
    if last == first:
        return
    begin, end = run.starts[first], run.starts[last]
    write = runs.writers.get((block.pool, end - begin))
    if write is None:
        if len(runs.writers) >= _MOST_WRITERS:
            runs.writers.clear()
        write = runs.writers[block.pool, end - begin] = writer(stream, mover(stream, block.pool, end - begin))
    image = run.image[begin:end]
    if run.contexts:
        _point_contexts(image, run, first, last, block.address)
    write(block, image)
    indexes = run.indexes
    part = last - first < len(indexes)
    if part:
        indexes = indexes[first:last] - at
    for word, offsets in zip(run.offset_words, run.offsets, strict=True):
        runs.column(word)[indexes] = (offsets[first:last] if part else offsets) + (block.address - begin)


def _point_contexts(image: bytearray, run: Run, first: int, last: int, address: int) -> None:
    """Let the contexts of launches point to the arguments behind them, in a piece that will lie at an address."""
    import numpy as np

    begin, words = run.starts[first], np.frombuffer(image, np.uint64)
    begins = np.array(run.starts[first:last], np.intp) - begin
    for offset, added in run.contexts:
        words[(begins + offset) // SLOT_BYTES] = added[first:last] + (address - begin)
