"""Kernels of Triton-Ascend: loaded from a cache folder, launched with the block that its own launcher would pass.

>>> kernel = device.load_triton("~/.triton/cache/ABC")
>>> kernel[(cdiv(n, 128),)](x, y, out, n, stream=stream)

Triton itself is not needed, nor torch or a C++ compiler.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chips import UnknownChip, find_chip
from chips.binary import BinaryError, LoadOptions, MixType
from chips.binary.errors import near_names
from chips.binary.producers.errors import BadMetadata, NeedsOtherChip, NotSupportedByLauncher
from chips.binary.producers.packing import BlockLayout
from chips.binary.producers.triton import (
    LayoutVersion,
    Metadata,
    Parameter,
    layout_of,
    read_metadata,
)
from chips.binary.producers.triton.grid import axes_of
from chips.binary.producers.triton.layout import passes_sync_address
from npuhal.late import logger
from runtime import errors
from runtime.launch.options import LaunchOptions
from runtime.launch.producers.triton_grid import Plan, grid_function
from runtime.launch.producers.triton_source import Source, source_of
from runtime.launch.program import Program
from runtime.launch.source import fault_of

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel

_LOG = logger(__name__)
_MOST_BLOCKS: Final = 0xFFFF
_MOST_GRIDS: Final = 512
_TRUE: Final = ("true", "1")

Launch = Callable[..., None]


class TritonKernel:
    """A kernel that Triton-Ascend compiled. Made by `device.load_triton`; `kernel[grid](*arguments)` launches it.

    A grid is a number, or one to three of them. Arguments are those that the compiler left: constants, arguments that
    were 1, and None are none of them. Pointers are buffers, addresses, None, or objects with `data_ptr()`.
    """

    __slots__ = ("__weakref__", "_grids", "_plan", "cap_blocks", "kernel")

    def __init__(self, plan: Plan, cap_blocks: bool) -> None:
        self._plan, self.cap_blocks = plan, cap_blocks
        self.kernel: Kernel = plan.kernel
        """The kernel as any other: entries, code, attributes."""
        self._grids: dict[Any, Launch] = {}

    @property
    def name(self) -> str:
        """The name in the source."""
        return self._plan.metadata.kernel

    @property
    def metadata(self) -> Metadata:
        """What the compiler wrote of it."""
        return self._plan.metadata

    @property
    def signature(self) -> tuple[Parameter, ...]:
        """The arguments of a launch, by name and type."""
        return self._plan.parameters

    @property
    def layout(self) -> BlockLayout:
        """The members of the argument block: names, offsets and sizes in bytes."""
        return self._plan.layout.block

    @property
    def version(self) -> str:
        """The version of Triton-Ascend's launcher whose block it gets."""
        return self._plan.layout.version.text

    def __getitem__(self, grid: Any) -> Launch:
        """Return a function that launches on a grid: `kernel[(8, 2)](x, y, n, stream=s)`."""
        try:
            made = self._grids[grid]
            for axis in grid if type(grid) is tuple else (grid,):
                if type(axis) is not int and not hasattr(axis, "__index__"):
                    return self._grid(grid)  # 8.0 is the key that 8 is, and no grid
            return made
        except KeyError:
            return self._grid(grid)
        except TypeError:  # what cannot be a key
            return self[tuple(grid)] if isinstance(grid, list) else self._grid(grid)

    def _grid(self, grid: Any) -> Launch:
        plan, metadata = self._plan, self._plan.metadata
        plan.kernel.check_loaded()
        cores = plan.device.core_counts[metadata.vector]
        try:
            axes = axes_of(grid)
            arranged = metadata.grid.arrange(axes, cores, cap=self.cap_blocks)
        except BinaryError as error:
            raise fault_of(error, f"kernel {self.name}") from error
        if not arranged.logical:
            _LOG.warning("kernel %s: the grid %s is empty, nothing is launched", self.name, axes)
            return _nothing
        if arranged.physical > _MOST_BLOCKS:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"kernel {self.name}: the grid {axes} has {arranged.physical} blocks; {_MOST_BLOCKS} are possible",
                ee="EE1003", params=("launch", arranged.physical, "blocks", f"[1, {_MOST_BLOCKS}]"), layer="launch",
                hint="let each block do more, or compile with TRITON_ALL_BLOCKS_PARALLEL=1, which makes blocks loop, "
                "and load with cap_blocks=True",
            )
        if len(self._grids) >= _MOST_GRIDS:
            self._grids.clear()  # grids that change with every launch are not worth keeping
        made = self._grids[grid] = grid_function(plan, arranged, axes)
        return made

    def launch(self, grid: Any, *arguments: Any, stream: Stream | None = None,
               options: LaunchOptions | None = None) -> None:
        """Launch once on a grid; see the class.

        Args:
            stream: where to queue it; None is the device's default stream.

        Raises:
            InvalidArgument 107000: an argument that does not fit its parameter, another number of them, or a grid of
                more than 65,535 blocks.
        """
        self[grid](*arguments, stream=stream, options=options)

    def close(self) -> None:
        """Unload; launches that are queued still run."""
        self.kernel.program.close()

    def __enter__(self) -> TritonKernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Triton kernel {self.name}({', '.join(map(str, self.signature))})>"


def _nothing(*_: Any, **__: Any) -> None:
    """Launch on an empty grid."""


def load_triton(
    device: Any, source: Any, signature: Mapping[Any, Any] | Iterable[Any] | None = None, *, name: str | None = None,
    metadata: Any = None, layout: str | None = None, cap_blocks: bool | None = None, strict: bool = False,
) -> TritonKernel:
    """Load a kernel; see `Device.load_triton`."""
    device.check_open()
    label = str(source) if isinstance(source, (str, Path)) else f"Triton kernel {name or ''}".strip()
    try:
        found = source_of(source, signature, name=name, metadata=metadata)
        facts = read_metadata(found.metadata, layout)
        _check_environment(facts)
        _check_chip(facts, device.chip)
        parameters = found.parameters(facts)
        capped = _capped(facts, cap_blocks)
        laid_out = layout_of(
            parameters, facts.version, sync_address=facts.always_sync or _sync_address(device.chip),
            pure_simt=facts.pure_simt, original_grid=facts.original_grid,
        )
        options = LoadOptions(magic=facts.magic.value)
    except BinaryError as error:
        raise fault_of(error, label) from error
    program = Program(device, found.binary, name=facts.kernel, options=options)
    try:
        kernel = _kernel_of(program, facts, found)
    except BinaryError as error:
        program.close()
        raise fault_of(error, label) from error
    except BaseException:
        program.close()
        raise
    return TritonKernel(Plan(kernel, facts, laid_out, strict), capped)


def _set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in _TRUE


def _sync_address(chip: Any) -> bool:
    return passes_sync_address(chip) and not _set("TRITON_DISABLE_FFTS")


def _check_environment(facts: Metadata) -> None:
    """Refuse what the environment asks for and the runtime does not have."""
    if _set("TRITON_DEVICE_PRINT"):
        rule = "kernels that print need a buffer whose format is only known to the device compiler"
        raise NotSupportedByLauncher("TRITON_DEVICE_PRINT", 1, rule, "unset it, and compile the kernel without it")


def _check_chip(facts: Metadata, chip: Any) -> None:
    """Refuse a kernel of another chip family."""
    if not facts.arch:
        return
    try:
        built_for = find_chip(facts.arch)
    except UnknownChip as unknown:
        raise BadMetadata("target.arch", facts.arch, str(unknown), "compile the kernel for this chip") from None
    if built_for.chip_type != chip.chip_type:
        rule = f"the device is {chip.soc}, another chip family"
        cure = f"compile it for the device: TRITON_ASCEND_ARCH={chip.soc}"
        raise NeedsOtherChip("the chip that the kernel was compiled for", facts.arch, rule, cure)


def _capped(facts: Metadata, asked: bool | None) -> bool:
    """Return whether launches have at most as many blocks as there are cores."""
    may = facts.grid.may_cap
    if asked and may is False:
        rule = "its metadata say that blocks of the kernel do not loop: capped, it would leave out work"
        raise BadMetadata("cap_blocks", True, rule, "leave it out")
    if asked is not None:
        return asked
    if facts.version is LayoutVersion.NEW:
        return bool(may)
    return may is not False and _set("TRITON_ALL_BLOCKS_PARALLEL")


def _kernel_of(program: Program, facts: Metadata, found: Source) -> Kernel:
    """Return the kernel in the ELF; its symbols must fit what the metadata say."""
    names = list(program)
    if facts.kernel not in names:
        rule = f"the metadata are of another file: it has {', '.join(names)}"
        raise BadMetadata("the kernel", facts.kernel, rule, near_names(facts.kernel, names))
    kernel = program.kernel(facts.kernel)
    if facts.vector and kernel.binary.mix is not MixType.NONE:
        rule = f"its symbols are those of a kernel that uses cube cores ({kernel.binary.first.name})"
        raise BadMetadata("mix_mode", facts.mix_mode, rule, "metadata and ELF are of different compiles: compile again")
    if facts.simt_bytes and not kernel.binary.vector_function:
        rule = (f"its ELF has no mark of SIMT code (AIV_TYPE_FLAG of .ascend.meta.{facts.kernel}), without which the "
                "hardware gives it no unified buffer")
        raise BadMetadata("parallel_mode", facts.parallel_mode, rule, "compile it with a compiler that writes the mark")
    return kernel


