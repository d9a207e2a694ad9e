"""Kernels as callables: `kernel[blocks](a, b, n)` launches, `kernel.bind(stream, blocks)` prepares a launcher."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from chips.binary import Kernel as BinaryKernel
from chips.binary import KernelAttribute, MixType
from chips.binary import Program as Content
from chips.binary.arguments import Argument, ArgumentKind
from chips.binary.placement import prefetch_counts
from chips.tasks import AicKernel, AivKernel, CoreKernel, MixKernel, MixKind, Nop
from chips.tasks.kernel import NEVER_TIMEOUT_US, SIMT_MEMORY_BYTES
from npuhal.late import logger
from npuhal.records import replace
from npuhal.words import count as counted
from runtime import errors
from runtime.core.diagnostics.tracing import span
from runtime.core.stream.stream import Stream
from runtime.core.submission.submit import note_last
from runtime.errors.arguments import STREAMS, check_instance, check_stream, is_whole, whole
from runtime.errors.not_copied import NotCopied
from runtime.launch import compiled
from runtime.launch.args import SLOT_BYTES
from runtime.launch.argument_check import check_slots, launch_words, note_short_block
from runtime.launch.batch.many import launch_many
from runtime.launch.launcher import make_block_launcher, make_device_args_launcher, make_launcher
from runtime.launch.options import PLAIN, VECTOR_ENGINE, LaunchOptions, check_engine, check_mix

if TYPE_CHECKING:
    from runtime.launch.block import HostBlock
    from runtime.launch.kept import KeptLaunch
    from runtime.launch.program import Program
    from runtime.launch.protocols import BoundLaunch, DeviceLaunch, Launch

_LOG = logger(__name__)

ANY_COUNT = 128
"""Argument count of a kernel whose compiler wrote none: any number is taken."""

_SIMT_KINDS = (3, 4)
"""Vector functions that run SIMT code: alone, or beside SIMD code."""
_SIMT_ALIGN = 128
_DCACHE_MINIMUM = 32768
_MOST_PREPARED = 512
"""Prepared launches that one stream keeps."""
MAX_BLOCKS = 0xFFFF


def _named(launch: Callable[..., None], kernel: Kernel, blocks: int, stream: Stream) -> Callable[..., None]:
    """Return a prepared function whose repr says what it launches: `<function add[8] on <Stream 'copies' ...> ...>`."""
    made = getattr(launch, "__wrapped__", launch)  # what a compiled one stands for
    if isinstance(made, FunctionType) and made.__closure__:  # made for this launch alone
        made.__qualname__ = f"{kernel.name}[{blocks}] on {stream!r}"
    return launch


class Kernel(NotCopied):
    """A function of a loaded program. Made by `program.kernel(name or key)`."""

    __slots__ = ("__weakref__", "_grids", "address", "binary", "content", "name", "program")

    def __init__(self, program: Program, content: Content, binary: BinaryKernel) -> None:
        self.program, self.content, self.binary = program, content, binary
        self.name = binary.name
        self._grids: dict[int, weakref.ref[Launch]] = {}
        """What subscripts have returned, by the number of blocks."""
        self.address = program.address + binary.offset1

    @property
    def argument_count(self) -> int | None:
        """How many arguments a launch gives the kernel, or None when its compiler did not say.

        Slots that the runtime fills itself (`hidden_words`) are not among them.
        """
        listed = self.binary.described_by.arguments
        if not listed or self.binary.user_args >= ANY_COUNT:
            return None
        return self.binary.user_args - len(self._hidden(listed))

    @staticmethod
    def _hidden(listed: tuple[Argument, ...]) -> list[ArgumentKind]:
        first = [ArgumentKind.FFTS_ADDRESS] if listed and listed[0].kind is ArgumentKind.FFTS_ADDRESS else []
        last = [ArgumentKind.OVERFLOW] if listed and listed[-1].kind is ArgumentKind.OVERFLOW else []
        return first + last

    def hidden_words(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the slots that the runtime puts before and behind what a launch gives, as the compiler listed them.

        The first may be the address of the registers by which cores signal each other, the last that of the
        overflow status.
        """
        device, hidden = self.program.device, self._hidden(self.binary.described_by.arguments)
        before = (device.core_sync_address,) if ArgumentKind.FFTS_ADDRESS in hidden else ()
        behind = (device.context.overflow_address,) if ArgumentKind.OVERFLOW in hidden else ()
        return before, behind

    @property
    def code(self) -> bytes:
        """The machine code of the (first) entry."""
        start = self.binary.offset1
        return bytes(self.content.image[start : start + self.binary.length1])

    @property
    def entries(self) -> tuple[int, int]:
        """Device addresses of the entries for cube and for vector cores; 0 for a kind that has none."""
        second = self.program.address + self.binary.offset2 if self.binary.second else 0
        return (0, self.address) if self._vector else (self.address, second)

    @property
    def code_sizes(self) -> tuple[int, int]:
        """Bytes of code for cube and for vector cores."""
        return (0, self.binary.length1) if self._vector else (self.binary.length1, self.binary.length2)

    @property
    def _vector(self) -> bool:
        """Whether the only entry is for vector cores."""
        return self.binary.second is None and (
            self.binary.attribute is KernelAttribute.VECTOR or self.binary.mix is MixType.AIV
        )

    @property
    def tiling_key(self) -> int | None:
        """The number by which the kernel is found besides its name, or None."""
        return self.binary.key if self.binary.in_table else None

    def __getitem__(self, blocks: int) -> Launch:
        """Return a function that launches on `blocks` cores: `kernel[8](x, y, n, stream=s)`."""
        try:
            launch = self._grids[blocks]()
        except (KeyError, TypeError):
            return self._grid(blocks)
        if launch is not None and (type(blocks) is int or is_whole(blocks)):
            return launch
        return self._grid(blocks)

    def _grid(self, blocks: int) -> Launch:
        """Make what a subscript returns.

        Only a weak reference is kept of it, because a kernel that holds what holds the kernel would end only with the
        collector; streams that it launched in hold it with their prepared launches.
        """

        def launch(*arguments: Any, stream: Stream | None = None, options: LaunchOptions = PLAIN) -> None:
            if options is not PLAIN or stream is None:
                return self.launch(stream, blocks, *arguments, options=options)
            go: Callable[..., None]
            try:
                go = stream.launchers[self, blocks, len(arguments)]  # without options, whose hash is dear
            except (KeyError, AttributeError):  # it was not prepared, or this is no stream
                go = self._kept(stream, blocks, len(arguments))
            return go(*arguments)

        blocks = self._check_blocks(blocks, least=0)  # 0 may be allowed by the options
        if len(self._grids) >= _MOST_PREPARED:
            self._grids.clear()
        launch.__qualname__ = f"{self.name}[{blocks}]"  # its repr
        made: Launch = compiled.grid(launch, self, blocks)
        self._grids[blocks] = weakref.ref(made)
        return made

    def _kept(self, stream: Stream, blocks: int, count: int) -> Callable[..., None]:
        """Prepare a launch that a subscript makes, and let the stream keep both."""
        go = self._prepared(stream, blocks, PLAIN, count)
        stream.launchers[self, blocks, count] = go
        if (kept := self._grids.get(blocks)) is not None and (grid := kept()) is not None:
            stream.launchers[self, blocks, "subscript"] = grid
        return go

    def launch(self, stream: Stream | None, blocks: int, *arguments: Any,
               options: LaunchOptions = PLAIN) -> None:
        """Launch once: arguments are buffers, NumPy scalars, ints, or bytes of whole 8-byte slots.

        Args:
            stream: where to queue it; None is the device's default stream.
            blocks: number of blocks, 1 to 65535; more than the chip has cores is allowed and runs in turns.

        Raises:
            InvalidArgument: wrong block count, argument count or argument type; a freed buffer.
            InvalidHandle: the stream is closed. ContextError: it belongs to another device.
        """
        target = self.program.device.context.default_stream if stream is None else stream
        self._prepared(target, blocks, options, len(arguments))(*arguments)

    def _prepared(self, stream: Stream, blocks: int, options: LaunchOptions, count: int) -> Callable[..., None]:
        """Return a launcher that the stream keeps."""
        if type(blocks) is not int:
            blocks = self._check_blocks(blocks, least=0)  # before it is a key: 8.0 would find what 8 has made
        key = (self, blocks, options, count)
        try:
            launch = stream.launchers.get(key)
        except AttributeError:
            check_instance("launch", "stream", stream, Stream, STREAMS)
            raise
        if launch is None:
            if len(stream.launchers) >= _MOST_PREPARED:
                stream.launchers.clear()  # grids that change with every launch are not worth keeping
            launch = stream.launchers[key] = self._bound(stream, blocks, options, count)
        return launch

    def bind(self, stream: Stream, blocks: int, options: LaunchOptions = PLAIN, *,
             count: int | None = None) -> BoundLaunch:
        """Prepare launches in one stream: the SQE is encoded once and only patched from then on.

        Args:
            count: number of arguments; the kernel's own count by default.
        """
        return _named(self._bound(stream, blocks, options, self._count(count)), self, blocks, stream)

    def _bound(self, stream: Stream, blocks: int, options: LaunchOptions, count: int) -> Callable[..., None]:
        """Return a launcher for so many values; whether they are as many slots as the kernel takes is up to it."""
        _check_options(options)
        if options.empty_ok and whole("launch", "blocks", blocks) == 0:
            return _nothing
        blocks = self._check_blocks(blocks)
        self.check_stream(stream)
        with span(stream.device.runtime, "prepare launch", kernel=self.name, stream=stream.stream_id):
            launch = make_launcher(self, stream, self.task(blocks, options), count)
        return self._led(launch, stream, options)

    def bind_device_arguments(self, stream: Stream, blocks: int, options: LaunchOptions = PLAIN) -> DeviceLaunch:
        """Prepare launches whose argument block is in device memory already: the function takes its address."""
        blocks = self._check_blocks(blocks)
        self.check_stream(stream)
        launch = self._led(make_device_args_launcher(self, stream, self.task(blocks, options)), stream, options)
        return _named(launch, self, blocks, stream)

    def keep(self, stream: Stream, blocks: int, *arguments: Any, options: LaunchOptions = PLAIN) -> KeptLaunch:
        """Put the arguments on the device once; what is returned launches with them as often as it is called.

        Raises:
            as `launch`; OutOfMemory: the device has no memory for the arguments.
        """
        from runtime.launch.kept import KeptLaunch

        blocks = self._check_blocks(blocks)
        self.check_stream(stream)
        before, behind = self.hidden_words()
        words = (*before, *launch_words(self, arguments), *behind)
        task = replace(self.task(blocks, options), args_size=len(words) * SLOT_BYTES)
        launch = self._led(make_device_args_launcher(self, stream, task), stream, options)
        return KeptLaunch(self, stream, launch, words, arguments)

    def launch_at(self, stream: Stream, blocks: int, address: int, size: int, options: LaunchOptions = PLAIN) -> None:
        """Launch with `size` bytes of arguments that lie on the device; `blocks` is not checked."""
        key = (self, blocks, options, "at", size)
        launch = stream.launchers.get(key)
        if launch is None:
            self.check_stream(stream)
            note_short_block(self, size)
            task = replace(self.task(blocks, options), args_size=size)
            launch = self._led(make_device_args_launcher(self, stream, task), stream, options)
            stream.launchers[key] = launch
        launch(address)
        note_last(stream)

    def launch_block(self, stream: Stream, blocks: int, block: HostBlock, options: LaunchOptions = PLAIN) -> None:
        """Launch with a block of arguments that the caller has laid out; it is copied before this returns."""
        key = (self, blocks, options, "block", len(block.data))
        launch = stream.launchers.get(key)
        if launch is None:
            self.check_stream(stream)
            note_short_block(self, len(block.data))
            task = self.task(blocks, options)
            launch = self._led(make_block_launcher(self, stream, task, len(block.data)), stream, options)
            stream.launchers[key] = launch
        launch(block)
        note_last(stream)

    def launch_simt(self, stream: Stream, blocks: int, block: HostBlock, offset: int, options: LaunchOptions) -> None:
        """Launch with a block of arguments that begins, `offset` bytes long, with what SIMT code wants to know."""
        self.check_stream(stream)
        note_short_block(self, len(block.data) - offset)
        task = replace(self.task(blocks, options), simt_args_offset=offset)
        self._led(make_block_launcher(self, stream, task, len(block.data)), stream, options)(block)

    def launch_many(self, stream: Stream, blocks: int, arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Launch once per row of arguments; see `Stream.launch_many`."""
        blocks = self._check_blocks(blocks)
        self.check_stream(stream)
        launch_many(stream, self, blocks, arguments, options)

    def _led(self, launch: Callable[..., None], stream: Stream, options: LaunchOptions) -> Callable[..., None]:
        """Return a launcher that leads each launch with empty tasks, where the options want it."""
        if not options.prefetch_blocks:
            return launch
        count = int(self.program.device.chip.prop("taskPrefetchCount"))

        def led(*arguments: Any) -> None:
            for _ in range(count):
                stream.submit(Nop(), owner=f"time to fetch kernel {self.name}")
            launch(*arguments)

        return led

    def _count(self, count: int | None) -> int:
        if count is not None:
            count = whole("bind", "count", count)
            check_slots(self, count)
            return count
        own = self.argument_count
        if own is None:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"kernel {self.name} does not say how many arguments it takes",
                hint="pass count= to bind()",
            )
        return own

    def task(self, blocks: int, options: LaunchOptions = PLAIN) -> CoreKernel:
        """Describe a launch for the SQE builder; the argument block is filled in by the launcher."""
        _check_options(options)
        binary, chip = self.binary, self.program.device.chip
        self._warn_of_cores(blocks)
        prefetch, prefetch2 = prefetch_counts(binary, chip)
        common: dict[str, Any] = {
            "pc": self.address, "args": 0, "block_dim": blocks, "profile": options.profile,
            "timeout_us": self._timeout(options.timeout_us),
            "schem_mode": binary.sched_mode if options.schedule is None else options.schedule,
            "min_stack_size": binary.min_stack, "flags": 2 if options.dump else 0, "early_start": binary.early_start,
            "prefetch": prefetch,
        }
        if chip.traits.simt_memory:
            common["simt_memory"] = self._simt_memory(options.dynamic_ub_bytes)
        if chip.has("KERNEL_LAUNCH_CANNOT_MIX"):
            return self._one_engine(common, check_engine("launch", chip, binary.mix, options))
        if binary.mix is not MixType.NONE:
            check_mix("launch", self.program.device.plugin, chip, self.name)
            pc2 = self.program.address + binary.offset2 if binary.second else 0
            return MixKernel(
                **common, mix=MixKind(binary.mix), pc2=pc2, ratio=binary.ratio,
                prefetch2=prefetch2,
                small_stack=self.content.stack_size == 16384,
            )
        return (AivKernel if binary.attribute is KernelAttribute.VECTOR else AicKernel)(**common)

    def _one_engine(self, common: dict[str, Any], options: LaunchOptions) -> CoreKernel:
        """Describe a launch on a chip where even a mix kernel runs on one kind of core, which the launch chooses."""
        common["block_offset"] = options.block_offset or 0
        if self.binary.mix is MixType.NONE or options.engine != VECTOR_ENGINE:
            return (AivKernel if self.binary.attribute is KernelAttribute.VECTOR else AicKernel)(**common)
        return AivKernel(**common | {"pc": self.program.address + self.binary.offset2})

    @property
    def runs_simt(self) -> bool:
        """Whether the kernel has SIMT code, and so takes a grid and blocks of threads."""
        return self.binary.vector_function in _SIMT_KINDS

    @property
    def dynamic_ub_limit(self) -> int:
        """Most unified-buffer bytes that a launch may ask for besides what the kernel was compiled with; SIMT only."""
        if not self.runs_simt:
            return 0
        return max(0, SIMT_MEMORY_BYTES - _DCACHE_MINIMUM - self.binary.share_memory)

    def dynamic_ub_of(self, task: CoreKernel) -> int:
        """Return the unified-buffer bytes that a launch got besides what the kernel was compiled with; SIMT only."""
        return task.simt_memory - self.binary.share_memory if self.runs_simt else 0

    def _simt_memory(self, dynamic: int) -> int:
        """Unified buffer given to the kernel's SIMT part on 950; the rest of the vector core's memory otherwise."""
        total = self.binary.share_memory + dynamic
        if not self.runs_simt:
            limit = SIMT_MEMORY_BYTES if self.binary.vector_function else self.binary.share_memory
            if total > limit:
                raise self._too_much(total, limit)
            return SIMT_MEMORY_BYTES
        total = -(-total // _SIMT_ALIGN) * _SIMT_ALIGN
        if total > SIMT_MEMORY_BYTES - _DCACHE_MINIMUM:
            raise self._too_much(total, SIMT_MEMORY_BYTES - _DCACHE_MINIMUM)
        return total

    def _too_much(self, total: int, limit: int) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"kernel {self.name} would need {total} bytes of unified buffer; {limit} are possible",
            ee="EE1017", params=("launch", "dynamic_ub_bytes", f"at most {limit} bytes in all"),
            hint="lower LaunchOptions.dynamic_ub_bytes",
        )

    def check_loaded(self) -> None:
        """Raise where the kernel's code is no longer on the device."""
        if self.program.closed:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"kernel {self.name}: its program was unloaded",
                ee="EE1017", params=("launch", "kernel", "its program was unloaded"),
                hint="keep the program open as long as its kernels are used",
            )

    def check_launch(self, stream: Stream, blocks: int, options: LaunchOptions = PLAIN) -> int:
        """Return a number of blocks as a plain int; raise where the kernel cannot be launched so in a stream."""
        _check_options(options)
        self.check_stream(stream)
        return self._check_blocks(blocks, least=0 if options.empty_ok else 1)

    def check_stream(self, stream: Stream) -> None:
        """Raise where the kernel cannot be launched in a stream."""
        check_stream(
            "launch", stream, Stream, self.program.device, f"kernel {self.name}",
            hint="load the program on the stream's device",
        )
        self.check_loaded()

    def _check_blocks(self, blocks: int, least: int = 1) -> int:
        """Return a block count as a plain int; InvalidArgument 107000 where it is none that a launch can have."""
        try:
            count, cure = whole("launch", "blocks", blocks), "launch at least one block"
        except errors.InvalidArgument:
            count, cure = -1, "pass an int, or an integer of NumPy; a stream goes into the call: (..., stream=stream)"
        if not least <= count <= MAX_BLOCKS:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"kernel {self.name}: {blocks!r} blocks; allowed are 1 to {MAX_BLOCKS}",
                ee="EE1003", params=("launch", blocks, "blocks", f"[1, {MAX_BLOCKS}]"),
                hint=f"launch at most {MAX_BLOCKS} blocks and let each do more, or launch several times"
                if count > MAX_BLOCKS else cure,
            )
        return count

    def _warn_of_cores(self, blocks: int) -> None:
        """Tell the log when blocks have to take turns: the cores that lead the kernel are fewer."""
        vector = self.binary.attribute is KernelAttribute.VECTOR or self.binary.mix is MixType.MAIN_AIV
        cores = self.program.device.core_counts[vector]
        if blocks > cores:
            _LOG.warning("kernel %s: %d blocks on %d %s cores run in turns", self.name, blocks, cores,
                         "vector" if vector else "cube")

    def _timeout(self, limit_us: int) -> int:
        """Return the limit as the task carries it: a scheduler that knows no kernel without limit gets the longest."""
        has = self.program.device.scheduler_has
        if limit_us == NEVER_TIMEOUT_US and not (has("OP_EXEC_TIMEOUT_MS") or has("AICORE_NEVER_TIMEOUT")):
            return NEVER_TIMEOUT_US - 1
        return limit_us

    def __repr__(self) -> str:
        kind, count = self.binary.attribute.name.lower(), self.argument_count
        takes = "any number of arguments" if count is None else counted(count, "argument")
        return f"<{kind} kernel {self.name} at {self.address:#x}, {takes}>"


compiled.compile_subscript(Kernel)


def _check_options(options: object) -> None:
    check_instance("launch", "options", options, LaunchOptions, "pass runtime.LaunchOptions(...), or leave it out")


def _nothing(*_: Any) -> None:
    """Launch on no blocks."""
