"""Stacks of a device's cores: pools in device memory, sized by the chip and by what the process has set.

core_spec 2.3 (step 5) and 2.8. Kernels that state no need, or at most 32 KiB, run on the standard pool; those that need
more on the custom one, which is there when the process has asked for it before the device was opened. SIMT kernels have
a pool of their own, which queues name to the task scheduler (struct trs_ext_info_header and the body behind it).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from npuhal.records import dataclass
from runtime import errors
from runtime.core.device.limits import DeviceLimit, DeviceLimits
from runtime.driver.queues import SimtStack

if TYPE_CHECKING:
    from chips import Chip
    from runtime.driver.memory import MemoryDriver

STANDARD_BYTES = 32 * 1024
_SMALL_BYTES = 16 * 1024
_ALIGN = 128
_WARPS_PER_CORE = 64


@dataclass(frozen=True, slots=True)
class Stacks:
    """Where the pools lie; 0 is a pool that is not there. `custom_bytes` is what a core has of the custom one."""

    large: int
    small: int
    custom: int
    custom_bytes: int
    simt: SimtStack | None


def allocate(memory: MemoryDriver, chip: Chip, die_count: int, limits: DeviceLimits, undo: ExitStack) -> Stacks:
    """Allocate the pools in the vendor's order; `undo` takes the steps that give them back.

    Raises:
        InvalidArgument 107000: the process has asked for more stack per core than the chip has (EE1011).
        OutOfMemory 207001: no space.
    """

    def pool(size: int) -> int:
        address = memory.alloc(size, internal_flags(huge=True), scratch=True)
        undo.callback(memory.free, address)
        return address

    simt = _simt(chip, die_count, limits, pool) if chip.has("DEVICE_SIMT") else None
    cores = int(chip.prop("aicNum")) + int(chip.prop("aivNum"))
    if chip.traits.stacks_by_core:
        large, small = _aligned(pool(cores * STANDARD_BYTES + _ALIGN)), 0
    else:
        size = int(chip.prop("stackPhyBase"))
        large, small = pool(size), pool(size * _SMALL_BYTES // STANDARD_BYTES)
    wanted = limits.get(DeviceLimit.SIMD_STACK, chip)
    if wanted == STANDARD_BYTES:
        return Stacks(large, small, 0, 0, simt)
    most = int(chip.prop("maxCustomerStackSize"))
    if wanted > most:
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{wanted} bytes of stack per core: {chip.soc} has at most {most}", ee="EE1011",
            params=("opening of a device", wanted, "stack size per core", f"at most {most} bytes"),
            hint=f"set the device limit SIMD_STACK to at most {most}",
        )
    return Stacks(large, small, pool(cores * wanted), wanted, simt)


def _simt(chip: Chip, die_count: int, limits: DeviceLimits, pool: Callable[[int], int]) -> SimtStack:
    warp, diverged = (limits.get(kind, chip) for kind in (DeviceLimit.SIMT_STACK, DeviceLimit.SIMT_DIVERGENCE_STACK))
    cores = die_count * int(chip.prop("aivNumPerDie"))
    return SimtStack(_aligned(pool(cores * _WARPS_PER_CORE * (warp + diverged) + _ALIGN)), warp, diverged)


def _aligned(address: int) -> int:
    return -(-address // _ALIGN) * _ALIGN
