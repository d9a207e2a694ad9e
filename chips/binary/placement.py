"""How a program's load image is placed in device memory, and how much of it is fetched ahead (core_spec 12.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.binary.kernels import Kernel
    from chips.chip import Chip

__all__ = ["CODE_ALIGNMENT", "Placement", "aligned_base", "device_size", "plan_placement", "prefetch_counts"]

CODE_ALIGNMENT: Final = 4096
"""Bytes: kernels address their own image page by page (ADRP), so it starts on a page."""

_SIMT_PREFETCH_SLACK: Final = 1280
_CUBE_CACHE: Final = 32768
_VECTOR_CACHE: Final = 16384


class Placement(NamedTuple):
    """A request for kernel memory, in bytes: ``size`` to ask for, from the kernel pool or from the driver.

    The driver's block has space for moving the start up to a page; a pool block starts on one.
    """

    size: int
    from_pool: bool
    read_only: bool


def device_size(load_size: int, chip: Chip) -> int:
    """Return the bytes an image needs on the device: SIMT capable cores fetch past its end."""
    return load_size + (_SIMT_PREFETCH_SLACK if chip.has("DEVICE_SIMT") else 0)


def plan_placement(load_size: int, chip: Chip, *, read_only: bool, pool: bool | None = None) -> Placement:
    """Return what to allocate for an image of ``load_size`` bytes.

    ``pool`` says whether the kernel pool has space; left out, a chip with a pool uses it. Read-only and writable images
    never share a pool block.
    """
    size = device_size(load_size, chip)
    if chip.has("KERNEL_MEMORY_POOL") if pool is None else pool:
        return Placement(aligned_base(size), True, read_only)
    return Placement(size + CODE_ALIGNMENT, False, read_only)


def aligned_base(address: int) -> int:
    """Return the first page boundary at or above an address; the kernel lies at that plus its offset."""
    return (address + CODE_ALIGNMENT - 1) & ~(CODE_ALIGNMENT - 1)


def prefetch_counts(kernel: Kernel, chip: Chip) -> tuple[int, int]:
    """Return the instruction cache units to fetch ahead for the first and the second entry of a kernel.

    A unit is ``icachePrefetchUnits`` bytes; no more than the core's instruction cache is fetched. Partial units count
    for neither entry, and kernels for the AICPU have none.
    """
    from chips.binary.kernels import KernelAttribute, MixType  # late: the pool of a device opens without

    if kernel.attribute is KernelAttribute.AICPU:
        return 0, 0
    unit: int = chip.prop("icachePrefetchUnits")
    first = _VECTOR_CACHE if kernel.attribute is KernelAttribute.VECTOR else _CUBE_CACHE
    second = _VECTOR_CACHE if kernel.mix in (MixType.MAIN_AIC, MixType.MAIN_AIV) else 0
    return min(kernel.length1, first) // unit, min(kernel.length2, second) // unit
