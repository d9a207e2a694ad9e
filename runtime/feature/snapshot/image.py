"""The contents of a device's memory on the host: what a snapshot is made of besides the driver's own bookkeeping.

Plain data, which can be pickled: ids, queues and objects are found again by numbers and addresses, not by references.
The driver keeps addresses, page tables, physical memory and pools of a process; what lies in them goes with the card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from npuhal import constants as c
from npuhal.records import dataclass
from runtime.driver.vmm import VirtualDriver

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.driver.resource_table import Physical

_KINDS = 0xF << 10
"""Bits of the halMemAlloc word that say on which side memory is."""
_ON_HOST = (c.MEM_HOST, c.MEM_HOST_AGENT)
_INTERNAL = internal_flags() >> c.MEM_MODULE_ID_BIT
"""The module that the runtime's own blocks are charged to."""
_PART = 1 << 20
"""Memory is saved in parts of so many bytes; those that hold nothing but zeros take no space."""
_HUGE = 2 << 20
"""What reserved ranges are multiples of."""


@dataclass(frozen=True, slots=True)
class SavedBlock:
    """One block of device memory: its parts that are not all zero, by offset."""

    address: int
    """0: physical memory that is mapped nowhere."""
    size: int
    parts: tuple[tuple[int, bytes], ...]
    internal: bool = False
    """Whether the runtime itself has asked for it, and no user."""
    handle: int = 0
    """Of the physical memory that is mapped at the address."""
    also_at: tuple[int, ...] = ()
    """Further addresses at which it is mapped."""

    def __str__(self) -> str:
        kind = f"physical memory {self.handle:#x}" if self.handle else "memory"
        where = f"at {self.address:#x}" if self.address else "mapped nowhere"
        return f"{self.size} bytes of {kind} {where}"


@dataclass(frozen=True, slots=True)
class DeviceImage:
    """All memory of one device that the process had allocated there."""

    user_id: int
    blocks: tuple[SavedBlock, ...]
    scratch: int
    """Bytes that nobody misses: they were not saved."""
    names: tuple[tuple[str, int, int], ...] = ()
    """What the process has given names: name, address, bytes."""
    moved: tuple[SavedBlock, ...] = ()
    """What is written as it stands, wherever it lies in blocks of this process."""

    @property
    def size(self) -> int:
        """Bytes that were saved."""
        return sum(block.size for block in self.blocks)


def take(device: Device, names: Mapping[str, tuple[int, int]] | None = None) -> DeviceImage:
    """Copy a device's memory to the host; nothing is running on it.

    Args:
        names: address and bytes of what the user wants to find again by name, of any device.

    Raises:
        MemoryError: the host has not that much.
    """
    memory, held = device.memory, device.resource_table.memory
    blocks, scratch = [], 0
    for address, span in list(held.items()):
        if span.flags & _KINDS in _ON_HOST or address not in held or memory.attribute(address) is None:
            continue  # the process keeps it, or it was freed meanwhile
        if span.scratch:
            scratch += span.size
            continue
        internal = span.flags >> c.MEM_MODULE_ID_BIT == _INTERNAL
        blocks.append(SavedBlock(address, span.size, _read(device, address, span.size), internal))
    blocks += [SavedBlock(address, size, _read(device, address, size)) for address, size in device.pooled_memory()]
    for physical in device.resource_table.virtual.of(device.device_id):
        with _reached(device, physical) as address:
            parts = _read(device, address, physical.size)
        first, *more = physical.addresses or [0]
        blocks.append(SavedBlock(first, physical.size, parts, handle=physical.handle, also_at=tuple(more)))
    spans = [(block.address, block.address + block.size) for block in blocks]
    named = tuple(
        (name, address, size) for name, (address, size) in (names or {}).items()
        if any(start <= address and address + size <= end for start, end in spans)
    )
    return DeviceImage(device.user_id, tuple(blocks), scratch, named)


@contextmanager
def _for_the_runtime(device: Device) -> Iterator[None]:
    """Let checkers know that copies in between are not the program's: they move whole pieces of pools."""
    device.hal.remark("internal")
    try:
        yield
    finally:
        device.hal.remark("back")


def _read(device: Device, address: int, size: int) -> tuple[tuple[int, bytes], ...]:
    with _for_the_runtime(device):
        return tuple(_parts(device, address, size))


def _parts(device: Device, address: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Read parts of a block that are not all zeros."""
    zeros = bytes(_PART)
    for offset in range(0, size, _PART):
        data = device.memory.read(address + offset, min(_PART, size - offset))
        if data != zeros[: len(data)]:
            yield offset, data


@contextmanager
def _reached(device: Device, physical: Physical) -> Iterator[int]:
    """Yield an address of physical memory; what is mapped nowhere gets one for as long as this takes."""
    if physical.addresses:
        yield physical.addresses[0]
        return
    driver = VirtualDriver(device.hal, device.device_id)
    address = driver.reserve(-(-physical.size // _HUGE) * _HUGE, 0, 1)
    try:
        driver.map(address, physical.size, physical.handle)
        try:
            yield address
        finally:
            driver.unmap(address)
    finally:
        driver.release(address)


def missing(device: Device, image: DeviceImage) -> list[SavedBlock]:
    """Return blocks of users in an image that this process does not have: there, and as large."""
    held = {address: span.size for address, span in device.resource_table.memory.items()}
    held.update(device.pooled_memory())
    return [block for block in image.blocks if not block.internal and not _has(device, block, held)]


def _has(device: Device, block: SavedBlock, held: Mapping[int, int]) -> bool:
    if not block.handle:
        return held.get(block.address) == block.size
    physical = device.resource_table.virtual.find(block.handle)
    addresses = [block.address, *block.also_at] if block.address else []
    return physical is not None and physical.size == block.size and physical.addresses == addresses


def put(device: Device, image: DeviceImage, *, users: bool = False) -> None:
    """Write saved memory back to where it was; blocks that were freed since are left out.

    Args:
        users: only what users had asked for.
    """
    held = {address: span.size for address, span in device.resource_table.memory.items()}
    held.update(device.pooled_memory())
    for block in image.blocks:
        if users and block.internal:
            continue
        physical = device.resource_table.virtual.find(block.handle) if block.handle else None
        if physical is not None:
            with _reached(device, physical) as address:
                _write(device, address, block)
        elif block.address in held:
            _write(device, block.address, block)
    for block in image.moved:
        _write(device, block.address, block)


def _write(device: Device, address: int, block: SavedBlock) -> None:
    with _for_the_runtime(device):
        device.memory.fill(address, block.size, 0, block.size)
        for offset, data in block.parts:
            device.memory.write(address + offset, data)
