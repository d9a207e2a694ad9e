"""Host memory that the user has allocated and devices may use: registered with the driver, kept in a table."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from npuhal import constants as c
from npuhal.records import dataclass
from npuhal.words import count
from runtime import errors
from runtime.driver.ipc import ShareDriver

if TYPE_CHECKING:
    from collections.abc import Callable

    from chips import Chip

MAPPED, IO_MEMORY, READ_ONLY, PINNED = 0x2, 0x4, 0x8, 0x10000000
"""What memory is registered for (acl_rt.h, aclrtHostRegisterFlag)."""
_KNOWN = MAPPED | IO_MEMORY | READ_ONLY | PINNED


@dataclass(frozen=True, slots=True)
class Registered:
    """One range; `flag` is what the driver was given, None for a range that is only pinned by promise."""

    address: int
    size: int
    driver: ShareDriver
    flag: int | None
    device_address: int
    site: str = ""
    """File and line of the program that has registered it."""


class HostRegistry:
    """The registered ranges of a process, by start address."""

    def __init__(self, site: Callable[[], str]) -> None:
        """Start empty; `site` names the line of the user's program that is running now."""
        self._site = site
        self._ranges: dict[int, Registered] = {}
        self._lock = threading.Lock()

    def register(self, driver: ShareDriver, chip: Chip, address: int, size: int, flags: int, call: str) -> Registered:
        """Register a range for the bits MAPPED, IO_MEMORY, READ_ONLY and PINNED.

        Raises:
            InvalidArgument 107000: no such bits (EE1011).
            InvalidState 507910: the range overlaps one that is registered (EE1018).
            NotSupported 207000: the chip cannot use host memory.
        """
        if not flags or flags & ~_KNOWN:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag {flags:#x} has none or unknown bits", ee="EE1011",
                params=(call, f"{flags:#x}", "flag", "it is an OR of MAPPED 2, IOMEMORY 4, READONLY 8, PINNED 2^28"),
                hint="pass MAPPED (2), with READONLY (8) if the device only reads",
            )
        with self._lock:
            other = self._overlapping(address, size)
            if other is not None:
                raise errors.fault(
                    "RT_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
                    f"{call}: {size} bytes at {address:#x} overlap {other.size} registered bytes at "
                    f"{other.address:#x}", ee="EE1018", params=(call, "the memory is registered already"),
                    hint="unregister it first",
                )
            return self._enter(driver, chip, address, size, flags)

    def renew(self, driver: ShareDriver, chip: Chip, address: int, size: int, flags: int) -> Registered:
        """Register without looking at the table; the driver says whether it may be."""
        with self._lock:
            return self._enter(driver, chip, address, size, flags)

    def _enter(self, driver: ShareDriver, chip: Chip, address: int, size: int, flags: int) -> Registered:
        if flags == PINNED:
            made = Registered(address, size, driver, None, 0, self._site())
        else:
            flag = _driver_flag(chip, flags)
            made = Registered(address, size, driver, flag, _device_address(driver, address, size, flag),
                              self._site())  # fmt: skip
        self._ranges[address] = made
        return made

    def _overlapping(self, address: int, size: int) -> Registered | None:
        for known in self._ranges.values():
            if address < known.address + known.size and known.address < address + size:
                return known
        return None

    def unregister(self, address: int, call: str) -> None:
        """Undo `register`, by the same address.

        Raises:
            InvalidState 507911: nothing is registered there (EE1018).
        """
        with self._lock:
            known = self._ranges.get(address)
            if known is None:
                raise errors.fault(
                    "RT_ERROR_HOST_MEMORY_NOT_REGISTERED", f"{call}: no memory is registered at {address:#x}",
                    ee="EE1018", params=(call, "the memory is not registered"),
                    hint="pass the address that was registered",
                )
            if known.flag is not None:
                known.driver.unregister(address, known.flag)
            del self._ranges[address]

    def of_device(self, device_id: int) -> list[Registered]:
        """Return what a device has registered."""
        with self._lock:
            return self._of(device_id)

    def _of(self, device_id: int) -> list[Registered]:
        return [known for known in self._ranges.values() if known.driver.device_id == device_id]

    def release(self, device_id: int) -> None:
        """Undo what a device has registered; it is about to be closed, and the memory can be registered again."""
        with self._lock:
            for known in self._of(device_id):
                del self._ranges[known.address]
                _unregister(known)

    def device_pointer(self, driver: ShareDriver, address: int, call: str) -> int:
        """Return the device address of registered memory: the driver's answer, or the table's if it has none.

        Raises:
            InvalidArgument 107000: the address is not registered (EE1011).
        """
        try:
            found = driver.device_pointer(address)
        except errors.RuntimeFault as fault:
            raise _unknown(call, address) from fault
        if found is not None:
            return found
        with self._lock:
            known = self._overlapping(address, 1)
        if known is None or known.flag is None:
            raise _unknown(call, address)
        return known.device_address + (address - known.address)

    def __len__(self) -> int:
        return len(self._ranges)


def check_page(call: str, name: str, address: int) -> None:
    """Refuse memory that does not begin with a page of the host.

    The C API leaves it to the driver, as the vendor's runtime does.

    Raises:
        InvalidArgument 107000: it does not.
    """
    from mmap import PAGESIZE

    if rest := address % PAGESIZE:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} begins at {address:#x}, {count(rest, 'byte')} into a page "
            f"of {PAGESIZE}; devices map whole pages of the host", ee="EE1003",
            params=(call, f"{address:#x}", name, f"a multiple of {PAGESIZE}"),
            hint="allocate it as mmap.mmap(-1, size), which numpy.frombuffer makes an array of; or take pinned memory "
            "from device.alloc_host(size)",
        )


def _device_address(driver: ShareDriver, address: int, size: int, flag: int) -> int:
    try:
        return driver.register(address, size, flag)
    except errors.RuntimeFault as fault:
        if fault.hal_name != "DRV_ERROR_REPEATED_USERD":
            raise
        raise errors.fault(
            "RT_ERROR_HOST_MEMORY_ALREADY_REGISTERED", f"{size} bytes at {address:#x} are pinned or registered already",
            ee="EE1018", params=("registration of host memory", "the memory is registered already"),
            hint="unregister it first; memory from alloc_host needs no registration",
        ) from fault


def _unknown(call: str, address: int) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {address:#x} is no registered host memory", ee="EE1011",
        params=(call, f"{address:#x}", "pHost", "it is not registered host memory"),
        hint="register it first, with the flag MAPPED",
    )


def _driver_flag(chip: Chip, flags: int) -> int:
    """Return the driver's word: what the memory is mapped as, and whether the device only reads."""
    if not chip.has("MEM_HOST_REGISTER"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{chip.soc} cannot use host memory that the user has allocated",
            hint="allocate it with alloc_host",
        )
    if flags & IO_MEMORY:
        kind = c.HOST_IO_MAP_DEV
    elif chip.has("MEM_HOST_REGISTER_PCIE_THROUGH"):
        kind = c.HOST_MEM_MAP_DEV_PCIE_TH
    else:
        kind = c.HOST_MEM_MAP_DEV
    return int(kind | (c.MEM_REGISTER_READ_ONLY if flags & READ_ONLY else 0))


def _unregister(known: Registered) -> None:
    """Have the driver forget a range that it was told of; what it refuses it takes back with the device."""
    if known.flag is not None:
        with contextlib.suppress(errors.RuntimeFault):
            known.driver.unregister(known.address, known.flag)
