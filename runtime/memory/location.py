"""What the driver says an address is (core_spec 13.5; acl_rt.h, aclrtMemLocationType)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from npuhal import constants as c
from npuhal.records import dataclass

if TYPE_CHECKING:
    from runtime.driver.memory import MemoryDriver


class Location(enum.IntEnum):
    """Where memory lies, as far as copies care."""

    HOST = 0
    """Pinned or registered with the driver: devices reach it."""
    DEVICE = 1
    UNREGISTERED = 2
    """Plain host memory, or an address that the driver does not know."""
    MANAGED = 3
    HOST_NUMA = 4


_WORDS = {
    Location.HOST: "pinned host memory", Location.UNREGISTERED: "plain host memory",
    Location.MANAGED: "managed memory", Location.HOST_NUMA: "host memory of a NUMA node",
}  # fmt: skip

_CLASSES = {
    c.DV_MEM_LOCK_DEV: Location.DEVICE, c.DV_MEM_LOCK_DEV_DVPP: Location.DEVICE, c.DV_MEM_SOMA: Location.DEVICE,
    c.DV_MEM_SVM_DEVICE: Location.DEVICE, c.DV_MEM_LOCK_HOST: Location.HOST, c.DV_MEM_SVM_HOST: Location.HOST,
    c.DV_MEM_LOCK_HOST_AGENT: Location.HOST, c.DV_MEM_USER_REGISTER: Location.HOST, c.DV_MEM_UVM: Location.MANAGED,
}  # fmt: skip
"""DVattribute.memType -> location; every other class is plain host memory."""


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """Where an address lies, on which device (the driver's number) and on pages of which size."""

    location: Location
    device_id: int = 0
    page_bytes: int = 0

    def __str__(self) -> str:
        if self.location is Location.DEVICE:
            return f"memory of device {self.device_id}"
        return _WORDS[self.location]


def locate(memory: MemoryDriver, address: int, *, exists: bool = False) -> MemoryLocation:
    """Ask the driver about an address; one that it does not know, freed ones among them, is UNREGISTERED.

    Args:
        exists: let the driver's refusal of a device address that was freed be the answer (507899).
    """
    found = memory.attribute(address, exists=exists)
    if found is None:
        return MemoryLocation(Location.UNREGISTERED)
    kind, device_id, page = found
    return MemoryLocation(_CLASSES.get(kind, Location.UNREGISTERED), device_id, page)
