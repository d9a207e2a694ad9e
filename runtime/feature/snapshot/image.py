"""The contents of a device's memory on the host: what a snapshot is made of besides the driver's own bookkeeping.

Plain data, which can be pickled: ids, queues and objects are found again by numbers and addresses, not by references.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from npuhal import constants as c

if TYPE_CHECKING:
    from runtime.core.device import Device

_KINDS = 0xF << 10
"""Bits of the halMemAlloc word that say on which side memory is."""
_ON_HOST = (c.MEM_HOST, c.MEM_HOST_AGENT)
_INTERNAL = internal_flags() >> c.MEM_MODULE_ID_BIT
"""The module that the runtime's own blocks are charged to."""
_PART = 1 << 20
"""Memory is saved in parts of so many bytes; those that hold nothing but zeros take no room."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of device memory: its parts that are not all zero, by offset."""

    address: int
    size: int
    parts: tuple[tuple[int, bytes], ...]
    internal: bool
    """Whether the runtime itself has asked for it, and no user."""


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
        internal = span.flags >> c.MEM_MODULE_ID_BIT == _INTERNAL
        blocks.append(Block(address, span.size, tuple(parts), internal))
    return DeviceImage(device.user_id, tuple(blocks), scratch)


def missing(device: Device, image: DeviceImage) -> list[Block]:
    """Return blocks of users in an image that this process does not have: there, and as large."""
    held = device.holdings.memory
    return [block for block in image.blocks if not block.internal
            and ((span := held.get(block.address)) is None or span.size != block.size)]  # fmt: skip


def put(device: Device, image: DeviceImage, *, users: bool = False) -> None:
    """Write saved memory back to where it was; blocks that were freed since are left out.

    Args:
        users: only what users had asked for.
    """
    memory, held = device.memory, device.holdings.memory
    for block in image.blocks:
        if block.address not in held or (users and block.internal):
            continue
        memory.fill(block.address, block.size, 0, block.size)
        for offset, data in block.parts:
            memory.write(block.address + offset, data)
