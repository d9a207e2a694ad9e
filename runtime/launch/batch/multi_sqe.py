"""Runs: neighbouring tasks of one SQE each that the driver gets with one call.

The device sees what single sends would give it, in the same order. How long a run is depends on the free places of the
ring, the ids, and the staging buffer; a full ring makes the next run wait, as it makes a single send wait.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from chips.generations.v200.generation import HEAD_UPDATE_EVERY, with_head_update
from chips.tasks import MixKernel
from runtime.core.submission.repair import was_sent
from runtime.core.submission.ring import NO_TASK, TICK, RingV100, RingV200, TaskInfo
from runtime.core.submission.submit import flip, make_room, send_again
from runtime.driver.queues import SQE_BYTES
from runtime.launch.args import mover, take_block
from runtime.launch.slow_path import writer
from runtime.launch.unrolled import packer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chips.layout import Template
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import Epoch
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock

LONGEST_RUN = 256
_MOST_WRITERS = 64
_PUBLISHES = 1
"""The byte of an SQE that asks for the queue's head to be published."""
RAMP = array("H", range(1 << 16))
"""All ids and positions in order: a slice of it names a run."""


class Kind:
    """What steps have in common whose SQEs differ in their number and a few words.

    `alone(values, things)` sends one by itself, `keeps` says whether its things live until it is done.
    """

    __slots__ = ("_epoch", "alone", "bias", "fixed", "hidden", "keeps", "kernel", "label", "number", "order", "pack",
                 "place", "published", "room", "task", "template", "varied")  # fmt: skip

    def __init__(self, task: Task, label: TaskInfo, alone: Callable[[Any, Any], object], *varied: str,
                 kernel: Kernel | None = None, room: bytes = b"") -> None:
        self.task, self.label, self.alone, self.varied, self.kernel = task, label, alone, varied, kernel
        self.room = room
        """What is added to the image of the batch for the arguments of a launch."""
        self.keeps = kernel is None
        self.pack = packer(())
        """What has packed the arguments of the last launch."""
        self.hidden = ((), ()) if kernel is None else kernel.hidden_words()
        self.template: Template | None = None
        self.number = self.place = (0, 0)
        """First byte and bytes of the words for the number and for the address of arguments."""
        self.order: tuple[int, ...] = ()
        """Which of the values that vary comes first, second and so on in the SQE."""
        self.fixed = b""
        """The SQE, where nothing of it varies but the number and the address of arguments."""
        self.bias = self.published = 0
        self._epoch: Epoch | None = None

    def cut(self, stream: Stream) -> None:
        """Encode the task and cut it at what varies; there is no template for what cannot be part of a run."""
        if self._epoch is stream.epoch.now:
            return
        self._epoch = stream.epoch.now  # before the facts that it stands for are looked at
        made = None if isinstance(self.task, MixKernel) else stream.plugin.template(self.task, stream.env)
        self.template = None
        if made is not None and made.names[0].startswith("task_") and not any("_copy" in name for name in made.names):
            found = made.varying(made.names[0], *self.varied)
            self.template = found if set(found.names[1:]) == set(self.varied) else None
        if self.template is not None:
            self.order = tuple(map(self.varied.index, self.template.names[1:]))
            words = [(word.offset, word.width // 8) for word in self.template.words]
            self.number = words[0]
            if self.kernel is not None:
                self.place, self.bias = words[1], self.template.bias[1]
            if self.kernel is not None or not self.varied:
                self.fixed = self.template.row
            self.published = with_head_update(self.template).row[_PUBLISHES] if stream.env.ub_connected else 0

    def row(self, values: tuple[int, ...]) -> bytes:
        """Return the SQE with the values in it; its number is 0."""
        template = self.template
        assert template is not None
        words = [values[at] + bias for at, bias in zip(self.order, template.bias[1:], strict=True)]
        *runs, last = template.runs
        return template.struct.pack(*chain.from_iterable(zip(runs, (0, *words), strict=True)), last)


Step = tuple[Kind | None, Any, tuple[Any, ...]]
"""A kind, the values that vary (for a launch, where its arguments begin in the image), and the things it is about.

Without a kind the second is a function that sends the task."""


class RunSender:
    """Sends runs in one stream from a staging buffer of its own; each method is called with the stream's lock held."""

    __slots__ = ("_columns", "_ramp", "_sender", "_stream", "kinds", "rows", "writers")

    def __init__(self, stream: Stream) -> None:
        import numpy as np

        self._stream = stream
        self._sender = stream.senders.for_runs(LONGEST_RUN)
        self._ramp = np.frombuffer(RAMP, np.uint16)
        self.rows: NDArray[np.uint8] = np.frombuffer(self._sender.buffer, np.uint8).reshape(LONGEST_RUN, SQE_BYTES)
        """The SQEs of the next run."""
        self._columns: dict[tuple[int, int], NDArray[Any]] = {}
        self.kinds: dict[Any, Kind] = {}
        """What batches of the stream send besides launches."""
        self.writers: dict[Any, Callable[..., None]] = {}
        """What writes arguments into a block of a pool, by pool and size; for who has no place of its own for that."""

    def column(self, word: tuple[int, int]) -> NDArray[Any]:
        """Return a word of all rows, given by its first byte and its bytes."""
        found = self._columns.get(word)
        if found is None:
            import numpy as np

            offset, size = word
            found = np.ndarray((LONGEST_RUN,), f"<u{size}", self.rows.data, offset, (SQE_BYTES,))
            self._columns[word] = found
        return found

    def room(self, label: TaskInfo, wanted: int) -> int:
        """Return how many tasks may go with the next send, at least one.

        Raises:
            RuntimeFault: what keeps a task from being sent.
        """
        stream, ring = self._stream, self._stream.ring
        if stream.blocked:
            stream.check_send(label.type)
        if not ring.fits(1):
            make_room(stream, 1)
        count = min(wanted, LONGEST_RUN, ring.limit - ring.submitted, ring.depth - ring.tail)
        return min(count, NO_TASK - ring.next_id) if isinstance(ring, RingV100) else count

    def name(self, labels: Sequence[TaskInfo], ids: NDArray[Any]) -> None:
        """Write down who comes next, and the numbers of these tasks into their SQEs."""
        ring, count = self._stream.ring, len(labels)
        position = ring.tail
        end = position + count
        ring.owners[position:end] = labels
        if isinstance(ring, RingV100):
            ring.ids[position:end] = RAMP[ring.next_id : ring.next_id + count]
            ids[:count] = self._ramp[ring.next_id : ring.next_id + count]
            return
        import numpy as np

        assert isinstance(ring, RingV200)
        ring.firsts[position:end] = RAMP[position:end]
        serials = islice(iter(self._stream.device.next_serial, None), count)
        ids[:count] = np.fromiter(serials, np.uint64, count)

    def publishing(self, count: int) -> slice:
        """Return which of the next tasks ask the hardware to publish the queue's head (devices over UB)."""
        ring = self._stream.ring
        assert isinstance(ring, RingV200)
        return slice(-(ring.allocations + 1) % HEAD_UPDATE_EVERY, count, HEAD_UPDATE_EVERY)

    def send(self, count: int, sent: Callable[[int], None]) -> None:
        """Send the first `count` rows; `sent(position)` is called once they have left, with the place of the first."""
        stream, sender, ring = self._stream, self._sender, self._stream.ring
        sender.info.sqe_num = count
        try:
            if rc := sender.send(sender.device_id, sender.reference):
                send_again(stream, sender, rc)
        except BaseException:
            if was_sent(stream, ring.submitted + count):
                self._settle(count, sent)
            stream.senders.seek(ring.tail)
            raise
        self._settle(count, sent)

    def _settle(self, count: int, sent: Callable[[int], None]) -> None:
        """Make the run part of the ring."""
        ring = self._stream.ring
        sent(ring.tail)
        ring.submitted += count
        if isinstance(ring, RingV200):
            ring.allocations += count
        elif isinstance(ring, RingV100):
            ring.next_id += count
            if ring.next_id == NO_TASK:
                ring.wrap_ids()
                flip(self._stream)


def run_sender(stream: Stream) -> RunSender:
    """Return what sends the runs of a stream's batches."""
    runs: RunSender | None = stream.senders.runs
    if runs is None:
        runs = stream.senders.runs = RunSender(stream)
    return runs


class Run:
    """Neighbours with everything that each send needs of them, as columns."""

    __slots__ = ("image", "indexes", "keep", "labels", "launches", "number", "offsets", "place", "published", "rows",
                 "starts")  # fmt: skip

    def __init__(self, steps: list[Step], image: bytearray) -> None:
        import numpy as np

        kinds: tuple[Any, ...]
        kinds, values, things = zip(*steps, strict=True)
        self.image = image
        self.labels = [kind.label for kind in kinds]
        self.keep = [kept if kind.keeps else None for kind, kept in zip(kinds, things, strict=True)]
        rows = b"".join([kind.fixed or kind.row(value) for kind, value in zip(kinds, values, strict=True)])
        self.rows: NDArray[np.uint8] = np.frombuffer(rows, np.uint8).reshape(-1, SQE_BYTES)
        self.number = kinds[0].number
        self.published: NDArray[np.uint8] | None = None
        """The byte that asks for the queue's head, for the SQEs that do; None where none does."""
        if kinds[0].published:
            self.published = np.array([kind.published for kind in kinds], np.uint8)
        self.launches = [n for n, kind in enumerate(kinds) if kind.kernel is not None]
        """Which of them have arguments, where in the image those begin, and what their SQEs add to that."""
        self.indexes = np.array(self.launches, np.intp)
        self.starts = [values[n] for n in self.launches]
        self.offsets = np.array([kinds[n].bias for n in self.launches], np.uint64) + np.array(self.starts, np.uint64)
        self.place = kinds[self.launches[0]].place if self.launches else (0, 0)
        if self.launches:
            self.starts.append(self.starts[-1] + len(kinds[self.launches[-1]].room))


def send_run(stream: Stream, run: Run) -> None:
    """Send a run, in as many pieces as it takes."""
    runs, at = run_sender(stream), 0
    while at < len(run.labels):
        count = _send_piece(stream, runs, run, at)
        at += count
        if stream.ring.submitted // TICK != (stream.ring.submitted - count) // TICK:
            stream.tick()


def _send_piece(stream: Stream, runs: RunSender, run: Run, at: int) -> int:
    """Send tasks of a run from number `at` on, as many as find room; returns how many."""
    wanted = min(len(run.labels) - at, LONGEST_RUN)
    first, last = bisect_left(run.launches, at), bisect_left(run.launches, at + wanted)
    size, blocks = run.starts[last] - run.starts[first] if last > first else 0, list["ArgumentBlock"]()
    try:
        if size:
            blocks.append(take_block(stream, stream.device.arguments.pool_for(size, stream), size))
        with stream.lock:
            count = runs.room(run.labels[at], wanted)
            last = bisect_left(run.launches, at + count)
            runs.rows[:count] = run.rows[at : at + count]
            if blocks:
                _bring(stream, runs, run, blocks[0], first, last, at)
            runs.name(run.labels[at : at + count], runs.column(run.number))
            if run.published is not None:
                asking = runs.publishing(count)
                runs.rows[asking, _PUBLISHES] = run.published[at : at + count][asking]
            keep = run.keep[at : at + count]

            def sent(position: int) -> None:
                """Let the block go back with the last task, and what the tasks need live as long as they."""
                if any(keep):
                    stream.ring.keep()[position : position + count] = keep
                if blocks:
                    stream.ring.arguments[position + count - 1] = blocks.pop()

            runs.send(count, sent)
    finally:
        if blocks:
            stream.device.release_arguments(blocks)
    return count


def _bring(
    stream: Stream, runs: RunSender, run: Run, block: ArgumentBlock, first: int, last: int, at: int
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
    write(block, run.image[begin:end])
    indexes, offsets = run.indexes, run.offsets
    if last - first < len(indexes):
        indexes, offsets = indexes[first:last] - at, offsets[first:last]
    runs.column(run.place)[indexes] = offsets + (block.address - begin)
