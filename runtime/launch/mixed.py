"""Batches: tasks of several kinds that are noted first and sent together (`Stream.batch`).

Neighbouring launches, copies and fills of one SQE each become runs: their SQEs and arguments are put together as
columns, and the driver gets a run with one call. What has to go its own way, as events do, goes between two runs.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from chips.tasks import MemcpyAsync, Memset, MixKernel
from chips.v200.generation import with_head_update
from runtime.core.blocking import blocks as waits
from runtime.core.ring import TICK, Label
from runtime.launch.args import SLOT_BYTES, all_slots, mover, take_block
from runtime.launch.copy import copy_in_stream, plain_copy
from runtime.launch.ends import ends
from runtime.launch.fill import BYTE_TO_WORD, check_fill, queue_fill
from runtime.launch.general import label_of, writer
from runtime.launch.many import table
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.runs import LONGEST_RUN, RunSender
from runtime.launch.unrolled import OtherTypes, packer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chips.layout import Template
    from chips.tasks import Task
    from runtime.core.event import Event
    from runtime.core.notify import Notify
    from runtime.core.stream import Stream
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock

_UNIT = 64
_PUBLISHES = 1
"""The byte of an SQE that asks for the queue's head to be published."""


class _Kind:
    """What steps have in common whose SQEs differ in their number and a few words.

    `alone(values, things)` sends one by itself, `keeps` says whether its things live until it is done.
    """

    __slots__ = ("_gate", "alone", "bias", "fixed", "hidden", "keeps", "kernel", "label", "number", "order", "pack",
                 "place", "published", "room", "task", "template", "varied")  # fmt: skip

    def __init__(self, task: Task, label: Label, alone: Callable[[Any, Any], object], *varied: str,
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
        self._gate: Any = None

    def cut(self, stream: Stream) -> None:
        """Encode the task and cut it at what varies; there is no template for what cannot be part of a run."""
        if self._gate is stream.gates.now:
            return
        self._gate = stream.gates.now  # before the facts that it stands for are looked at
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


def _packed(kind: _Kind, image: bytearray, at: int, arguments: tuple[Any, ...]) -> bool:
    """Pack the arguments of a launch; False where they do not take one slot each.

    Raises:
        InvalidArgument: one that cannot be an argument, or a freed buffer.
    """
    before, behind = kind.hidden
    if not before and not behind:
        try:
            try:
                kind.pack(image, at, arguments)
            except OtherTypes:
                kind.pack = pack = packer(tuple(map(type, arguments)))
                pack(image, at, arguments)
        except OtherTypes:
            pass
        else:
            return True
    own = all_slots(arguments)
    if len(own) == len(arguments):
        struct.pack_into(f"<{len(before) + len(own) + len(behind)}Q", image, at, *before, *own, *behind)
    return len(own) == len(arguments)


_Step = tuple[_Kind | None, Any, tuple[Any, ...]]
"""A kind, the values that vary (for a launch, where its arguments begin in the image), and the things it is about.

Without a kind the second is a function that sends the task."""


class Batch:
    """Tasks of one stream in order. `with stream.batch() as batch:` sends them at the end of the block.

    Each call here checks what it is given, and an error leaves the block with nothing sent. `send` may be called again:
    it sends the same tasks once more. What fails while tasks are sent (a lost device, an event without an id) leaves
    those sent that came before. Buffers that launches name must stay open until the launches are done.
    """

    __slots__ = ("_gate", "_image", "_kinds", "_needed", "_parts", "_steps", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._steps: list[_Step] = []
        self._kinds: dict[Any, _Kind] = {}
        self._image = bytearray()
        """The arguments of all launches, each at a multiple of 64 bytes."""
        self._parts: list[Callable[[], object]] | None = None
        """What `send` calls; None while it has to be found out."""
        self._needed: list[Callable[[], None]] = []
        """What raises where something was closed that a task needs."""
        self._gate: Any = None

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.send()

    def __len__(self) -> int:
        return len(self._steps)

    # -- what is noted ---------------------------------------------------------------------------------------------

    def launch(self, kernel: Kernel, blocks: int, *arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Note a launch; the same checks, and later the same effect, as `kernel[blocks](..., stream=stream)`."""
        kind = self._kind_of(kernel, blocks, len(arguments), options)
        image = self._image
        at = len(image)
        image += kind.room
        try:
            if _packed(kind, image, at, arguments):
                self._add(kind, at, arguments)
                return
        except BaseException:
            del image[at:]
            raise
        del image[at:]
        self._add(None, partial(kernel.launch, self._stream, blocks, *arguments, options=options), arguments)

    def _kind_of(self, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> _Kind:
        key = (kernel, blocks, count) if options is PLAIN else (kernel, blocks, count, options)
        kind = self._kinds.get(key)
        if kind is None:
            kept = self._stream.launchers
            kind = kept.get((*key, "batch")) or self._kernel_kind(kernel, blocks, count, options)
            kept[(*key, "batch")] = self._kinds[key] = kind
        return kind

    def _kernel_kind(self, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> _Kind:
        stream = self._stream
        kernel.check_launch(stream, blocks, count)
        words = sum(map(len, kernel.hidden_words())) + count
        task = replace(kernel.task(blocks, options), args_size=words * SLOT_BYTES)
        varied = ("args", "tasks that lead it") if options.prefetch_blocks else ("args",)  # no template has both
        room = bytes(max(-(-words * SLOT_BYTES // _UNIT), 1) * _UNIT)

        def alone(_: Any, arguments: tuple[Any, ...]) -> None:
            kernel.launch(stream, blocks, *arguments, options=options)

        return _Kind(task, label_of(kernel, task), alone, *varied, kernel=kernel, room=room)

    def launch_many(self, kernel: Kernel, blocks: int, arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Note a launch per row of arguments; see `Stream.launch_many`. Buffers in the rows are looked at now only."""
        import numpy as np

        rows = table(arguments)
        if not len(rows):
            return
        count = rows.shape[1]
        kind = self._kind_of(kernel, blocks, count, options)
        before, behind = kind.hidden
        image = np.zeros((len(rows), len(kind.room) // SLOT_BYTES), np.uint64)
        image[:, : len(before)] = before
        image[:, len(before) : len(before) + count] = rows
        image[:, len(before) + count : len(before) + count + len(behind)] = behind
        at = len(self._image)
        self._image += image.tobytes()
        starts = range(at, len(self._image), len(kind.room))
        self._steps += [(kind, start, tuple(row)) for start, row in zip(starts, rows.tolist(), strict=True)]
        self._parts = None

    def copy(self, dst: Any, src: Any, size: int | None = None) -> None:
        """Note a copy; the same checks as in `Stream.copy`. A pageable end is used when the batch is sent."""
        stream = self._stream
        target, source, count = ends(dst, src, size)
        plain = plain_copy(stream, dst, src, count)
        if plain is None or target.address == source.address:
            self._add(None, partial(copy_in_stream, stream, dst, src, size), (dst, src))
            return
        kind = self._kinds.get(plain)
        if kind is None:
            task = MemcpyAsync(src=source.address, dst=target.address, size=1, kind=plain.kind)

            def alone(values: tuple[int, int, int], things: tuple[Any, Any]) -> None:
                copy_in_stream(stream, *things, values[2])

            kind = self._kinds[plain] = _Kind(task, Label(task.type, plain.name), alone, "src", "dst", "size")
        self._add(kind, (source.address, target.address, count), (dst, src))

    def fill(self, target: Any, value: int, size: int | None = None) -> None:
        """Note the setting of bytes of a device buffer; see `Stream.fill`."""
        stream, word = self._stream, value * BYTE_TO_WORD
        count = check_fill(target, value, size)
        if not count:
            return
        alone = partial(queue_fill, stream, target.address, target.size, word, count, "Batch.fill", target)
        if stream.device.chip.prop("memsetTaskSupport") != "MEMSET_TASK_SUPPORT":
            self._add(None, alone, (target,))
            return
        task = Memset(addr=target.address, value=word, count=count)
        kind = _Kind(task, Label(task.type, "fill"), lambda _values, _things: alone())
        self._kinds[len(self._steps)] = kind
        self._add(kind, (), (target,))

    def record(self, event: Event | Notify) -> None:
        """Note the record of an event or notify."""
        event.check_open()
        check = getattr(event, "check_recordable", None)
        if check is not None:
            check(self._stream)
        self._add(None, partial(event.record, self._stream), (event,))

    def wait(self, event: Event | Notify, timeout_s: int | None = None) -> None:
        """Note a wait; see `Stream.wait`."""
        event.check_open()
        check = getattr(event, "check_waitable", None)
        if check is not None:
            check()
        self._add(None, partial(event.wait, self._stream, timeout_s), (event,))

    def _add(self, kind: _Kind | None, values: Any, things: tuple[Any, ...]) -> None:
        self._steps.append((kind, values, things))
        self._parts = None

    # -- sending ---------------------------------------------------------------------------------------------------

    def send(self) -> None:
        """Send all tasks in order.

        Where launches are watched, wait, or are captured, each task is sent by itself.

        Raises:
            InvalidArgument, InvalidHandle: a buffer, event or program was closed meanwhile; nothing is sent.
        """
        stream = self._stream
        stream.check_open()
        if self._parts is None or self._gate is not stream.gates.now:
            self._gate = stream.gates.now  # before the facts that it stands for are looked at
            self._needed = self._needs()
            self._parts = self._runs() if self._goes_in_runs() else [*map(_by_itself, self._steps)]
        for check in self._needed:
            check()
        for part in self._parts:
            part()

    def _goes_in_runs(self) -> bool:
        stream = self._stream
        return (stream.route.immediate and len(stream.routes) == 1 and stream.tracer is None and stream.bound is None
                and stream.split is None and not waits(stream))

    def _needs(self) -> list[Callable[[], None]]:
        """Return what raises where something was closed that a task needs."""
        things = {id(thing): thing for step in self._steps for thing in step[2]}
        kernels = dict.fromkeys(kind.kernel for kind in self._kinds.values() if kind.kernel is not None)
        return [*(thing.check_open for thing in things.values() if hasattr(thing, "check_open")),
                *(partial(kernel.check_stream, self._stream) for kernel in kernels)]  # fmt: skip

    def _runs(self) -> list[Callable[[], object]]:
        """Make runs of neighbours that can go together."""
        stream = self._stream
        for kind in self._kinds.values():
            kind.cut(stream)
        largest = max((pool.size for pool in stream.device.arguments.pools), default=_UNIT)
        parts: list[Callable[[], object]] = []
        steps: list[_Step] = []
        number = place = (0, 0)
        room = 0

        def close() -> None:
            if steps:
                parts.append(partial(_send, stream, _Run(steps, self._image)))
                steps.clear()

        for step in self._steps:
            kind = step[0]
            if kind is None or kind.template is None:
                close()
                parts.append(_by_itself(step))
                continue
            if room < len(kind.room) or number != kind.number or kind.place not in ((0, 0), place):
                if room < len(kind.room) or number != kind.number or place != (0, 0):
                    close()
                place = kind.place
            if not steps:
                room, number = largest, kind.number
            room -= len(kind.room)
            steps.append(step)
        close()
        return parts


def _by_itself(step: _Step) -> Callable[[], object]:
    """Return what sends a step alone."""
    kind, values, things = step
    return values if kind is None else partial(kind.alone, values, things)


class _Run:
    """Neighbours with everything that each send needs of them, as columns."""

    __slots__ = ("image", "indexes", "keep", "labels", "launches", "number", "offsets", "place", "published", "rows",
                 "starts")  # fmt: skip

    def __init__(self, steps: list[_Step], image: bytearray) -> None:
        import numpy as np

        kinds, values, things = zip(*steps, strict=True)
        self.image = image
        self.labels = [kind.label for kind in kinds]
        self.keep = [kept if kind.keeps else None for kind, kept in zip(kinds, things, strict=True)]
        rows = b"".join([kind.fixed or kind.row(value) for kind, value in zip(kinds, values, strict=True)])
        self.rows: NDArray[np.uint8] = np.frombuffer(rows, np.uint8).reshape(-1, _UNIT)
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
        self.place = max(kind.place for kind in set(kinds))
        if self.launches:
            self.starts.append(self.starts[-1] + len(kinds[self.launches[-1]].room))


def _send(stream: Stream, run: _Run) -> None:
    """Send a run, in as many pieces as it takes."""
    runs = stream.senders.runs
    if runs is None:
        runs = stream.senders.runs = RunSender(stream)
    at = 0
    while at < len(run.labels):
        count = _send_piece(stream, runs, run, at)
        at += count
        if stream.ring.submitted // TICK != (stream.ring.submitted - count) // TICK:
            stream.tick()


def _send_piece(stream: Stream, runs: RunSender, run: _Run, at: int) -> int:
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
    stream: Stream, runs: RunSender, run: _Run, block: ArgumentBlock, first: int, last: int, at: int
) -> None:
    """Write the arguments of launches number `first` to `last` into a block, and where they lie into the SQEs."""
    if last == first:
        return
    begin, end = run.starts[first], run.starts[last]
    write = runs.writers.get((block.pool, end - begin))
    if write is None:
        write = runs.writers[block.pool, end - begin] = writer(stream, mover(stream, block.pool, end - begin))
    write(block, run.image[begin:end])
    indexes, offsets = run.indexes, run.offsets
    if last - first < len(indexes):
        indexes, offsets = indexes[first:last] - at, offsets[first:last]
    runs.column(run.place)[indexes] = offsets + (block.address - begin)
