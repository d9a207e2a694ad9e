"""Batches: tasks of several kinds that are noted first and sent together (`Stream.batch`).

Neighbouring launches, copies and fills of one SQE each become runs: their SQEs and arguments are put together as
columns, and the driver gets a run with one call. What has to go its own way, as events do, goes between two runs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from chips.tasks import MemcpyAsync, Memset
from npuhal.records import replace
from npuhal.words import count
from runtime.core.stream.blocking import blocks as waits
from runtime.core.submission.prepared import sends_plainly
from runtime.core.submission.ring import TaskInfo
from runtime.errors.arguments import EVENTS, check_instance, whole
from runtime.launch.args import SLOT_BYTES, STORE_BYTES
from runtime.launch.argument_check import check_slots, launch_words
from runtime.launch.batch.many import table
from runtime.launch.batch.multi_sqe import Arguments, Kind, Run, Step, batch_sender, send_run
from runtime.launch.copy.copy import copy_in_stream, plain_copy
from runtime.launch.copy.endpoints import ends
from runtime.launch.copy.fill import BYTE_TO_WORD, check_fill, queue_fill
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.slow_path import info_of
from runtime.launch.unrolled import OtherTypes, packer_for

if TYPE_CHECKING:
    from chips.tasks import CopyKind
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.epoch import Epoch
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import Notify
    from runtime.launch.kernel import Kernel


def _packed(kind: Kind, image: bytearray, at: int, arguments: tuple[Any, ...]) -> bool:
    """Pack arguments of other types than the last launch had; False where they do not take one slot each.

    Raises:
        InvalidArgument: one that cannot be an argument, or a freed buffer.
    """
    how = kind.arguments
    assert how is not None
    try:
        how.pack = pack = packer_for(arguments, how.count, 1, how.frame)
        pack(image, at, arguments)
    except OtherTypes:
        lead, before, behind, _ = how.frame
        assert kind.kernel is not None
        own = launch_words(kind.kernel, arguments)
        if len(own) != len(arguments):
            return False
        words = (*before, *own, *behind)
        struct.pack_into(f"<{len(words)}Q", image, at + lead, *words)
    return True


def _check_event(call: str, event: object) -> None:
    """Refuse what is neither an event nor a notify."""
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import CountNotify, Notify

    check_instance(call, "event", event, (Event, Notify, CountNotify), EVENTS)


def _none_packed(*_: Any) -> None:
    raise OtherTypes


class Batch:
    """Tasks of one stream in order. `with stream.batch() as batch:` sends them at the end of the block.

    Each call here checks what it is given, and an error leaves the block with nothing sent. `send` may be called again:
    it sends the same tasks once more. What fails while tasks are sent (a lost device, an event without an id) leaves
    those sent that came before. Buffers that launches name must stay open until the launches are done.
    """

    __slots__ = ("_epoch", "_image", "_kinds", "_named", "_needed", "_parts", "_steps", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._steps: list[Step] = []
        self._named: list[Sequence[Any]] = []
        """What tasks are about that may be closed before they are sent."""
        self._kinds: dict[Any, Kind] = {}
        self._image = bytearray()
        """The arguments of all launches, each at a multiple of 64 bytes."""
        self._parts: list[Callable[[], object]] | None = None
        """What `send` calls; None while it has to be found out."""
        self._needed: list[Callable[[], None]] = []
        """What raises where something was closed that a task needs."""
        self._epoch: Epoch | None = None

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.send()

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        return f"<Batch of {count(len(self._steps), 'task')} for {self._stream!r}>"

    # -- what is noted ---------------------------------------------------------------------------------------------

    def launch(self, kernel: Kernel, blocks: int, *arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Note a launch; the same checks, and later the same effect, as `kernel[blocks](..., stream=stream)`."""
        kind = self._kind_of(kernel, blocks, len(arguments), options)
        how, image = kind.arguments, self._image
        assert how is not None
        at = len(image)
        image += how.image
        try:
            try:
                how.pack(image, at, arguments)
                packed = True
            except OtherTypes:
                packed = _packed(kind, image, at, arguments)
        except BaseException:
            del image[at:]
            raise
        if packed:
            self._add(kind, at, arguments)
            return
        del image[at:]
        self._add(None, partial(kernel.launch, self._stream, blocks, *arguments, options=options), arguments)

    def _kind_of(self, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> Kind:
        key = (kernel, blocks, count) if options is PLAIN else (kernel, blocks, count, options)
        kind = self._kinds.get(key)
        if kind is None:
            kept, name = self._stream.launchers, (*key, "batch")
            kind = kept.get(name) or self._kernel_kind(kernel, blocks, count, options)
            kept[name] = self._kinds[key] = kind
        return kind

    def _kernel_kind(self, kernel: Kernel, blocks: int, count: int, options: LaunchOptions) -> Kind:
        from runtime.launch.kernel import Kernel as Plain  # which loads this module's neighbours

        stream = self._stream
        check_instance("batch", "kernel", kernel, Plain,
                       "batches take kernels of program.kernel(name); launch others by themselves")
        kernel.check_launch(stream, blocks)
        words = sum(map(len, kernel.hidden_words())) + count
        task = replace(kernel.task(blocks, options), args_size=words * SLOT_BYTES)
        varied = ("tasks that lead it",) if options.prefetch_blocks else ()
        own = kernel.argument_count
        arguments = Arguments(stream, kernel, task, count if own is None else own)
        if arguments.count != count:  # they fit only if some take several slots
            arguments.pack = _none_packed

        def alone(_: Any, given: tuple[Any, ...]) -> None:
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
        how = kind.arguments
        assert how is not None
        if how.count != count:  # what the kernel takes, where it says that
            check_slots(kernel, count)
        lead, before, behind, _ = how.frame
        image = np.zeros((len(rows), kind.size // SLOT_BYTES), np.uint64)
        first = lead // SLOT_BYTES
        if lead:
            image[:, :first] = np.frombuffer(how.image, np.uint64, first)
        image[:, first : first + len(before)] = before
        first += len(before)
        image[:, first : first + count] = rows
        image[:, first + count : first + count + len(behind)] = behind
        at = len(self._image)
        self._image += image.tobytes()
        starts = range(at, len(self._image), kind.size)
        self._steps += zip(repeat(kind), starts, rows.tolist())
        self._parts = None

    def copy(self, dst: Any, src: Any, size: int | None = None) -> None:
        """Note a copy; the same checks as in `Stream.copy`. A pageable end is used when the batch is sent."""
        stream = self._stream
        found = plain_copy(stream, dst, src, size)
        if found is None:
            ends(dst, src, size)
            self._add(None, partial(copy_in_stream, stream, dst, src, size), (dst, src))
            return
        plain, count = found
        kind = self._kinds.get(plain.kind)
        if kind is None:
            kind = self._kinds[plain.kind] = self._copy_kind(plain.kind, plain.name, dst, src)
        self._add(kind, (src.address, dst.address, count), (dst, src))

    def _copy_kind(self, direction: CopyKind, name: str, dst: Any, src: Any) -> Kind:
        """Return the kind of such copies in this stream; it is made of one of them."""
        stream = self._stream
        kinds = batch_sender(stream).kinds
        kind = kinds.get(direction)
        if kind is None:
            task = MemcpyAsync(src=src.address, dst=dst.address, size=1, kind=direction)

            def alone(values: tuple[int, int, int], things: tuple[Any, Any]) -> None:
                copy_in_stream(stream, *things, values[2])

            kind = kinds[direction] = Kind(task, TaskInfo(task.type, name), alone, "src", "dst", "size")
        return kind

    def fill(self, target: Any, value: int, size: int | None = None) -> None:
        """Note the setting of bytes of a device buffer; see `Stream.fill`."""
        stream = self._stream
        value, count = check_fill("Batch.fill", stream.device, target, value, size)
        if not count:
            return
        word = value * BYTE_TO_WORD
        alone = partial(queue_fill, stream, target.address, target.size, word, count, "Batch.fill", target)
        if stream.device.chip.prop("memsetTaskSupport") != "MEMSET_TASK_SUPPORT":
            self._add(None, alone, (target,))
            return
        task = Memset(addr=target.address, value=word, count=count)
        kind = Kind(task, TaskInfo(task.type, "fill"), lambda _values, _things: alone())
        self._kinds[len(self._steps)] = kind
        self._add(kind, (), (target,))

    def record(self, event: Event | Notify) -> None:
        """Note the record of an event or notify."""
        _check_event("Batch.record", event)
        event.check_open()
        check = getattr(event, "check_recordable", None)
        if check is not None:
            check(self._stream)
        self._add(None, partial(event.record, self._stream), (event,))

    def wait(self, event: Event | Notify, timeout_s: int | None = None) -> None:
        """Note a wait; see `Stream.wait`."""
        _check_event("Batch.wait", event)
        if timeout_s is not None:
            timeout_s = whole("Batch.wait", "timeout_s", timeout_s)
        event.check_open()
        check = getattr(event, "check_waitable", None)
        if check is not None:
            check()
        self._add(None, partial(event.wait, self._stream, timeout_s), (event,))

    def _add(self, kind: Kind | None, values: Any, things: tuple[Any, ...]) -> None:
        self._named.append(things)
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
        if self._parts is None or self._epoch is not stream.epoch.now:
            self._epoch = stream.epoch.now  # before the facts that it stands for are looked at
            self._needed = self._needs()
            self._parts = self._runs() if self._goes_in_runs() else [*map(_by_itself, self._steps)]
        for check in self._needed:
            check()
        for part in self._parts:
            part()

    def _goes_in_runs(self) -> bool:
        stream = self._stream
        return sends_plainly(stream) and not waits(stream)

    def _needs(self) -> list[Callable[[], None]]:
        """Return what raises where something was closed that a task needs."""
        named = list(chain.from_iterable(self._named))
        things = dict(zip(map(id, named), named, strict=True))
        kernels = dict.fromkeys(kind.kernel for kind in self._kinds.values() if kind.kernel is not None)
        return [*(thing.check_open for thing in things.values() if hasattr(thing, "check_open")),
                *(partial(kernel.check_stream, self._stream) for kernel in kernels)]  # fmt: skip

    def _runs(self) -> list[Callable[[], object]]:
        """Make runs of neighbours that can go together."""
        stream = self._stream
        for kind in self._kinds.values():
            kind.cut(stream)
        largest = max((pool.size for pool in stream.device.arguments.pools), default=STORE_BYTES)
        parts: list[Callable[[], object]] = []
        steps: list[Step] = []
        number: tuple[int, int] = (0, 0)
        offset_words: tuple[tuple[int, int], ...] = ()
        space = 0

        def close() -> None:
            if steps:
                parts.append(partial(send_run, stream, Run(steps, self._image)))
                steps.clear()

        for step in self._steps:
            like = step[0]
            if like is None or like.template is None:
                close()
                parts.append(_by_itself(step))
                continue
            size = like.size
            other = size and offset_words and like.offset_words != offset_words
            if steps and (space < size or like.number != number or other):
                close()
            if not steps:
                space, number, offset_words = largest, like.number, ()
            if size:
                space, offset_words = space - size, like.offset_words
            steps.append(step)
        close()
        return parts


def _by_itself(step: Step) -> Callable[[], object]:
    """Return what sends a step alone."""
    kind, values, things = step
    return values if kind is None else partial(kind.alone, values, things)
