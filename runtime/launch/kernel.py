"""Kernels as callables: `kernel[blocks](a, b, n)` launches, `kernel.bind(stream, blocks)` prepares a launcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chips.binary import Kernel as BinaryKernel
from chips.binary import KernelAttribute, MixType
from chips.binary.placement import prefetch_counts
from chips.tasks import AicKernel, AivKernel, CoreKernel, MixKernel, MixKind
from runtime import errors
from runtime.launch.launcher import make_device_args_launcher, make_launcher

if TYPE_CHECKING:
    from runtime.core.stream import Stream
    from runtime.launch.program import Program

ANY_COUNT = 128
"""Argument count of a kernel whose compiler wrote none: any number is taken."""

_SIMT_KINDS = (3, 4)
_SIMT_ALIGN = 128
_UNIFIED_BUFFER = 262144
_DCACHE_MINIMUM = 32768
_MAX_BLOCKS = 0xFFFF


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How a kernel is launched.

    Attributes:
        timeout_us: time limit of the task in microseconds; 0 takes the device's default.
        schedule: 0 normal, 1 batch (all blocks must be resident at once).
        dynamic_ub_bytes: unified-buffer bytes beyond what the kernel was compiled with (950).
        dump: let the task scheduler dump data around the task.
    """

    timeout_us: int = 0
    schedule: int = 0
    dynamic_ub_bytes: int = 0
    dump: bool = False

    def __post_init__(self) -> None:
        """Refuse values that no chip takes."""
        for name, value, low, high in (
            ("timeout_us", self.timeout_us, 0, (1 << 64) - 1), ("schedule", self.schedule, 0, 1),
            ("dynamic_ub_bytes", self.dynamic_ub_bytes, 0, _UNIFIED_BUFFER),
        ):
            if not low <= value <= high:
                raise errors.fault(
                    "ACL_ERROR_RT_PARAM_INVALID", f"LaunchOptions.{name} is {value}; allowed are {low} to {high}",
                    ee="EE1003", params=("LaunchOptions", value, name, f"[{low}, {high}]"),
                )


PLAIN = LaunchOptions()


class Kernel:
    """A function of a loaded program. Made by `program.kernel(name or key)`."""

    __slots__ = ("__weakref__", "address", "binary", "name", "program")

    def __init__(self, program: Program, binary: BinaryKernel) -> None:
        self.program, self.binary = program, binary
        self.name = binary.name
        self.address = program.address + binary.offset1

    @property
    def argument_count(self) -> int | None:
        """How many arguments the kernel takes, or None when its compiler did not say."""
        return None if self.binary.user_args >= ANY_COUNT else self.binary.user_args

    @property
    def code(self) -> bytes:
        """The machine code of the (first) entry."""
        start = self.binary.offset1
        return bytes(self.program.binary.image[start : start + self.binary.length1])

    @property
    def tiling_key(self) -> int | None:
        """The number by which the kernel is found besides its name, or None."""
        return self.binary.key if self.binary.in_table else None

    def __getitem__(self, blocks: int) -> Callable[..., None]:
        """Return a function that launches on `blocks` cores: `kernel[8](x, y, n, stream=s)`."""

        def launch(*arguments: Any, stream: Stream | None = None, options: LaunchOptions = PLAIN) -> None:
            self.launch(stream, blocks, *arguments, options=options)

        return launch

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
        count = len(arguments)
        key = (self, blocks, options, count)
        launch = target.launchers.get(key)
        if launch is None:
            launch = target.launchers[key] = self.bind(target, blocks, options, count=count)
        launch(*arguments)

    def bind(self, stream: Stream, blocks: int, options: LaunchOptions = PLAIN, *,
             count: int | None = None) -> Callable[..., None]:
        """Prepare launches in one stream: the SQE is encoded once and only patched from then on.

        Args:
            count: number of arguments; the kernel's own count by default.
        """
        self._check(stream, blocks)
        return make_launcher(self, stream, self.task(blocks, options), self._count(count))

    def bind_device_arguments(self, stream: Stream, blocks: int, options: LaunchOptions = PLAIN,
                              ) -> Callable[[int], None]:
        """Prepare launches whose argument block is in device memory already: the function takes its address."""
        self._check(stream, blocks)
        return make_device_args_launcher(self, stream, self.task(blocks, options))

    def _count(self, count: int | None) -> int:
        own = self.argument_count
        if count is None:
            count = own
        if count is None:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"kernel {self.name} does not say how many arguments it takes",
                hint="pass count= to bind()",
            )
        if own is not None and count != own:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"kernel {self.name} takes {own} arguments, {count} were given",
                ee="EE1003", params=("launch", count, "number of arguments", own),
                hint="`npuhal elf FILE` shows what each kernel takes",
            )
        return count

    def task(self, blocks: int, options: LaunchOptions = PLAIN) -> CoreKernel:
        """Describe a launch for the SQE builder; the argument block is filled in by the launcher."""
        binary, chip = self.binary, self.program.device.chip
        prefetch, prefetch2 = prefetch_counts(binary, chip)
        common: dict[str, Any] = {
            "pc": self.address, "args": 0, "block_dim": blocks,
            "timeout_us": options.timeout_us, "schem_mode": options.schedule or binary.sched_mode,
            "min_stack_size": binary.min_stack, "flags": 2 if options.dump else 0, "early_start": binary.early_start,
            "prefetch": prefetch,
        }
        if chip.generation != "v100":
            common["simt_memory"] = self._simt_memory(options.dynamic_ub_bytes)
        if binary.mix is not MixType.NONE:
            pc2 = self.program.address + binary.offset2 if binary.second else 0
            return MixKernel(
                **common, mix=MixKind(binary.mix), pc2=pc2, ratio=binary.ratio,
                prefetch2=prefetch2,
                small_stack=self.program.binary.stack_size == 16384,
            )
        return (AivKernel if binary.attribute is KernelAttribute.VECTOR else AicKernel)(**common)

    def _simt_memory(self, dynamic: int) -> int:
        """Unified buffer given to the kernel's SIMT part on 950; the rest of the vector core's memory otherwise."""
        total = self.binary.share_memory + dynamic
        if self.binary.vector_function not in _SIMT_KINDS:
            limit = _UNIFIED_BUFFER if self.binary.vector_function else self.binary.share_memory
            if total > limit:
                raise self._too_much(total, limit)
            return _UNIFIED_BUFFER
        total = -(-total // _SIMT_ALIGN) * _SIMT_ALIGN
        if total > _UNIFIED_BUFFER - _DCACHE_MINIMUM:
            raise self._too_much(total, _UNIFIED_BUFFER - _DCACHE_MINIMUM)
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

    def _check(self, stream: Stream, blocks: int) -> None:
        stream.check_open()
        self.check_loaded()
        if stream.device is not self.program.device:
            raise errors.fault(
                "ACL_ERROR_RT_STREAM_CONTEXT",
                f"kernel {self.name} is on device {self.program.device.user_id}, the stream on {stream.device.user_id}",
                ee="EE1010", params=("launch", "stream", "it belongs to another device"),
                hint="load the program on the stream's device",
            )
        if not isinstance(blocks, int) or not 1 <= blocks <= _MAX_BLOCKS:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"kernel {self.name}: {blocks!r} blocks; allowed are 1 to {_MAX_BLOCKS}",
                ee="EE1003", params=("launch", blocks, "blocks", f"[1, {_MAX_BLOCKS}]"),
                hint="launch at least one block; the chip has "
                f"{self.program.device.core_counts[0]} cube and {self.program.device.core_counts[1]} vector cores",
            )

    def __repr__(self) -> str:
        kind, count = self.binary.attribute.name.lower(), self.argument_count
        takes = "any number of" if count is None else count
        return f"<{kind} kernel {self.name} at {self.address:#x}, {takes} arguments>"

