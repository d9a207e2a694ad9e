"""Batches: tasks of several kinds that are noted first and sent together (`Stream.batch`).

Neighbouring launches, copies and fills of one SQE each become runs: their SQEs and arguments are put together as
columns, and the driver gets a run with one call. What has to go its own way, as events do, goes between two runs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from chips.tasks import MemcpyAsync, Memset
from npuhal.records import replace
from npuhal.words import count
from runtime.core.stream.blocking import blocks as waits
from runtime.core.submission.prepared import sends_plainly
from runtime.core.submission.ring import TaskInfo
from runtime.errors.arguments import EVENTS, check_instance, whole
from runtime.launch.args import SLOT_BYTES
from runtime.launch.argument_check import check_slots, launch_words
from runtime.launch.batch.kinds import Arguments, Kind, Rows, by_itself
from runtime.launch.batch.many import table
from runtime.launch.batch.multi_sqe import Run, batch_sender
from runtime.launch.copy.copy import copy_in_stream, plain_bytes, plain_kind
from runtime.launch.copy.endpoints import ends
from runtime.launch.copy.fill import BYTE_TO_WORD, check_fill, queue_fill
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.slow_path import info_of
from runtime.launch.unrolled import OtherTypes, imager
from runtime.memory.buffer import Buffer

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import Epoch
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import Notify
    from runtime.launch.kernel import Kernel

_alive = attrgetter("alive")


def _check_event(call: str, event: object) -> None:
    """Refuse what is neither an event nor a notify."""
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import CountNotify, Notify

    check_instance(call, "event", event, (Event, Notify, CountNotify), EVENTS)


class Batch:
    """Tasks of one stream in order. `with stream.batch() as batch:` sends them at the end of the block.

    Each call here checks what it is given, and an error leaves the block with nothing sent. `send` may be called again:
    it sends the same tasks once more. What fails while tasks are sent (a lost device, an event without an id) leaves
    those sent that came before. Buffers that launches name must stay open until the launches are done.
    """

    __slots__ = ("_arranged", "_copies", "_device", "_launches", "_note", "_steps", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream, self._device = stream, stream.device
        self._steps: list[Any] = []
        """Three items for each step: its kind, its values, and the things it is about.

        The values are what varies: of launches their part of the image of arguments, of copies both addresses and the
        bytes. Without a kind they are a function that sends the task.
        """
        self._note = self._steps.extend
        """Notes a step, all or nothing, whatever interrupts or other threads do."""
        self._launches: dict[Any, Kind] = {}
        self._copies: dict[tuple[type, type], Kind] = {}
        self._arranged: _Arranged | None = None

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.send()

    def __len__(self) -> int:
        return sum([kind.count if isinstance(kind, Rows) else 1 for kind in self._steps[::3]])

    def __repr__(self) -> str:
        return f"<Batch of {count(len(self), 'task')} for {self._stream!r}>"

    # -- what is noted ---------------------------------------------------------------------------------------------

    def launch(self, kernel: Kernel, blocks: int, *arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Note a launch; the same checks, and later the same effect, as `kernel[blocks](..., stream=stream)`."""
        try:
            kind = self._launches[kernel, blocks, len(arguments)]
            if options is PLAIN and type(blocks) is int:  # 8.0 would find what 8 has made
                self._note((kind, kind.pack(arguments), arguments))
                return
        except (KeyError, TypeError, OtherTypes):
            pass
        self._launch(kernel, blocks, arguments, options)

    def _launch(self, kernel: Kernel, blocks: int, arguments: tuple[Any, ...], options: LaunchOptions) -> None:
        """Note a launch of a kind that is new here, or with arguments of other types than the last one's."""
        kind = self._kind_of(kernel, blocks, len(arguments), options)
        if kind is None:
            return
        how = kind.arguments
        assert how is not None
        try:
            self._note((kind, kind.pack(arguments), arguments))
            return
        except OtherTypes:
            pass
        if how.count == len(arguments):  # else they fit only if some take several slots
            try:
                kind.pack = pack = imager(tuple(map(type, arguments)), how.frame, how.blank)
                self._note((kind, pack(arguments), arguments))
                return
            except OtherTypes:
                pass
        words = launch_words(kernel, arguments)
        if len(words) == len(arguments):
            image = bytearray(how.blank)
            struct.pack_into(f"<{len(words)}Q", image, how.first, *words)
            self._note((kind, bytes(image), arguments))
        else:
            self._alone(partial(kernel.launch, self._stream, blocks, *arguments, options=options), *arguments)

    def _kind_of(self, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> Kind | None:
        """Return the kind of such launches; None of those that do nothing, as options allow it."""
        stream = self._stream
        if type(blocks) is int and options is PLAIN and not stream.closed:
            with suppress(TypeError, KeyError):
                kind: Kind = stream.launchers[kernel, blocks, count, "batch"]  # all was checked when it was made
                self._launches[kernel, blocks, count] = kind
                return kind
        from runtime.launch.kernel import Kernel as Plain  # which loads this module's neighbours

        check_instance("batch", "kernel", kernel, Plain,
                       "batches take kernels of program.kernel(name); launch others by themselves")
        blocks = kernel.check_launch(stream, blocks, options)
        if not blocks:
            return None
        name: tuple[Any, ...] = (kernel, blocks, count) if options is PLAIN else (kernel, blocks, count, options)
        if (known := self._launches.get(name)) is not None:
            return known
        key = (*name, "batch")
        kept = stream.launchers.get(key) or self._kernel_kind(kernel, blocks, count, options)
        stream.launchers[key] = self._launches[name] = kept
        return kept

    def _kernel_kind(self, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> Kind:
        stream = self._stream
        words = sum(map(len, kernel.hidden_words())) + count
        task = replace(kernel.task(blocks, options), args_size=words * SLOT_BYTES)
        varied = ("tasks that lead it",) if options.prefetch_blocks else ()
        own = kernel.argument_count
        arguments = Arguments(stream, kernel, task, count if own is None else own)

        def alone(_: Any, given: Sequence[Any]) -> None:
            kernel.launch(stream, blocks, *given, options=options)

        return Kind(task, info_of(kernel, task), alone, *varied, kernel=kernel, arguments=arguments)

    def launch_many(self, kernel: Kernel, blocks: int, arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Note a launch per row of arguments; see `Stream.launch_many`. Buffers in the rows are read at once."""
        import numpy as np

        from runtime.launch.kernel import Kernel as Plain

        check_instance("batch", "kernel", kernel, Plain, "pass a kernel from program.kernel(name)")
        rows = table(arguments, kernel.program.device)
        if not len(rows):
            return
        count = rows.shape[1]
        kind = self._kind_of(kernel, blocks, count, options)
        if kind is None:
            return
        how = kind.arguments
        assert how is not None
        if how.count != count:  # what the kernel takes, where it says that
            check_slots(kernel, count)
        image = np.empty((len(rows), kind.size // SLOT_BYTES), np.uint64)
        image[:] = np.frombuffer(how.blank, np.uint64)
        first = how.first // SLOT_BYTES
        image[:, first : first + count] = rows
        self._note((kind.rows(len(rows)), image.tobytes(), ()))

    def copy(self, dst: Any, src: Any, size: int | None = None) -> None:
        """Note a copy; the same checks as in `Stream.copy`. A pageable end is used when the batch is sent."""
        kind = self._copies.get((type(dst), type(src))) or self._copy_kind(dst, src)
        if kind is not None and (count := plain_bytes(self._device, dst, src, size)):
            self._note((kind, (src.address, dst.address, count), (dst, src)))
            return
        ends(dst, src, size)
        self._alone(partial(copy_in_stream, self._stream, dst, src, size), dst, src)

    def _copy_kind(self, dst: Any, src: Any) -> Kind | None:
        """Return the kind of such copies in this stream; None where they go their own way."""
        stream = self._stream
        plain = plain_kind(stream, dst, src)
        if plain is None:
            return None

        def alone(values: tuple[int, int, int], things: tuple[Any, Any]) -> None:
            copy_in_stream(stream, *things, values[2])

        def make() -> Kind:
            task = MemcpyAsync(src=src.address, dst=dst.address, size=1, kind=plain.kind)
            return Kind(task, TaskInfo(task.type, plain.name), alone, "src", "dst", "size")

        kind = self._copies[type(dst), type(src)] = batch_sender(stream).kind(plain.kind, make)
        return kind

    def fill(self, target: Any, value: int, size: int | None = None) -> None:
        """Note the setting of bytes of a device buffer; see `Stream.fill`."""
        stream = self._stream
        value, count = check_fill("Batch.fill", stream.device, target, value, size)
        if not count:
            return
        address, capacity, word = target.address, target.size, value * BYTE_TO_WORD
        if stream.device.chip.prop("memsetTaskSupport") != "MEMSET_TASK_SUPPORT":
            self._alone(partial(queue_fill, stream, address, capacity, word, count, "Batch.fill", target), target)
            return

        def make() -> Kind:
            task = Memset(addr=address, value=word, count=count)
            return Kind(task, TaskInfo(task.type, "fill"), alone)

        def alone(_: Any, things: tuple[Any]) -> None:
            queue_fill(stream, address, capacity, word, count, "Batch.fill", *things)

        kind = batch_sender(stream).kind(("fill", address, capacity, word, count), make)
        self._note((kind, (), (target,)))

    def record(self, event: Event | Notify) -> None:
        """Note the record of an event or notify."""
        _check_event("Batch.record", event)
        event.check_open()
        check = getattr(event, "check_recordable", None)
        if check is not None:
            check(self._stream)
        self._alone(partial(event.record, self._stream), event)

    def wait(self, event: Event | Notify, timeout_s: int | None = None) -> None:
        """Note a wait; see `Stream.wait`."""
        _check_event("Batch.wait", event)
        if timeout_s is not None:
            timeout_s = whole("Batch.wait", "timeout_s", timeout_s)
        event.check_open()
        check = getattr(event, "check_waitable", None)
        if check is not None:
            check()
        self._alone(partial(event.wait, self._stream, timeout_s), event)

    def _alone(self, send: Callable[[], object], *things: Any) -> None:
        self._note((None, send, things))

    # -- sending ---------------------------------------------------------------------------------------------------

    def send(self) -> None:
        """Send all tasks in order.

        Where launches are watched, wait, or are captured, each task is sent by itself.

        Raises:
            InvalidArgument, InvalidHandle: a buffer, event or program was closed meanwhile; nothing is sent.
        """
        stream, arranged = self._stream, self._arranged
        stream.check_open()
        if arranged is None or arranged.length != len(self._steps) or arranged.epoch is not stream.epoch.now:
            arranged = self._arranged = _Arranged(stream, self._steps[:])
        arranged.check()
        arranged.send(stream)


class _Arranged:
    """The tasks of a batch as they are sent, as long as nothing is noted and the stream's epoch lasts."""

    __slots__ = ("_buffers", "_kernels", "_others", "_parts", "_steps", "epoch", "length")

    def __init__(self, stream: Stream, steps: list[Any]) -> None:
        self.epoch: Epoch = stream.epoch.now  # before the facts that it stands for are looked at
        self.length = len(steps)
        self._steps = steps
        kinds, values, things = tuple(steps[::3]), steps[1::3], steps[2::3]
        shape = batch_sender(stream).shape(stream, kinds)
        self._kernels = shape.kernels
        found = _distinct(things)
        self._buffers = [thing for thing in found if isinstance(thing, Buffer)]
        self._others: list[Callable[[], None]] = []
        """What raises where something was closed that is no buffer; only steps without a kind name such things."""
        if None in kinds:
            others = (thing for thing in found if not isinstance(thing, Buffer))
            self._others = [thing.check_open for thing in others if hasattr(thing, "check_open")]
        self._parts: list[Run | int]
        if sends_plainly(stream) and not waits(stream):
            image = b"".join(shape.images(values))
            self._parts = [
                part if isinstance(part, int) else Run(part, image, shape.kernels, values, things)
                for part in shape.parts
            ]
        else:
            self._parts = [*range(len(kinds))]

    def check(self) -> None:
        """Raise where something was closed that a task needs."""
        if not all(map(_alive, self._buffers)):
            for buffer in self._buffers:
                buffer.check_open()
        for check in self._others:
            check()
        for kernel in self._kernels:
            kernel.check_loaded()

    def send(self, stream: Stream) -> None:
        """Send all tasks."""
        for part in self._parts:
            if isinstance(part, int):
                for send in self._step(part):
                    send()
            elif (sent := part.send(stream, self.epoch)) < part.shape.count:
                for step, row in part.shape.members[sent:]:
                    self._step(step)[row]()

    def _step(self, step: int) -> list[Callable[[], object]]:
        """Return what sends each task of a step alone."""
        return [*by_itself(*self._steps[3 * step : 3 * step + 3])]


def _distinct(things: list[Sequence[Any]]) -> list[Any]:
    """Return what steps are about, each thing once."""
    try:
        return [*set().union(*things)]
    except TypeError:  # some cannot be hashed, as arrays
        named = [*chain.from_iterable(things)]
        return [*dict(zip(map(id, named), named, strict=True)).values()]
