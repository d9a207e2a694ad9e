"""The contents of a device's memory on the host: what a snapshot is made of besides the driver's own bookkeeping.

Plain data, which can be pickled: ids, queues and objects are found again by numbers and addresses, not by references.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuhal import constants as c

if TYPE_CHECKING:
    from runtime.core.device import Device

_KINDS = 0xF << 10
"""Bits of the halMemAlloc word that say on which side memory is."""
_ON_HOST = (c.MEM_HOST, c.MEM_HOST_AGENT)
_PART = 1 << 20
"""Memory is saved in parts of so many bytes; those that hold nothing but zeros take no room."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of device memory: its parts that are not all zero, by offset."""

    address: int
    size: int
    parts: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class DeviceImage:
    """All memory of one device that the process had allocated there."""

    user_id: int
    blocks: tuple[Block, ...]
    scratch: int
    """Bytes that nobody misses: they were not saved."""

    @property
    def size(self) -> int:
        """Bytes that were saved."""
        return sum(block.size for block in self.blocks)


def take(device: Device) -> DeviceImage:
    """Copy a device's memory to the host; nothing is running on it.

    Raises:
        MemoryError: the host has not that much.
    """
    memory, held = device.memory, device.holdings.memory
    blocks, scratch = [], 0
    zeros = bytes(_PART)
    for address, span in list(held.items()):
        if span.flags & _KINDS in _ON_HOST or address not in held or memory.attribute(address) is None:
            continue  # the process keeps it, or it was freed meanwhile
        if span.scratch:
            scratch += span.size
            continue
        parts = []
        for offset in range(0, span.size, _PART):
            data = memory.read(address + offset, min(_PART, span.size - offset))
            if data != zeros[: len(data)]:
                parts.append((offset, data))
        blocks.append(Block(address, span.size, tuple(parts)))
    return DeviceImage(device.user_id, tuple(blocks), scratch)


def put(device: Device, image: DeviceImage) -> None:
    """Write saved memory back to where it was; blocks that were freed since are left out."""
    memory, held = device.memory, device.holdings.memory
    for block in image.blocks:
        if block.address not in held:
            continue
        memory.fill(block.address, block.size, 0, block.size)
        for offset, data in block.parts:
            memory.write(block.address + offset, data)
