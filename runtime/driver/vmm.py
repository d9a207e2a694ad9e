"""Virtual memory through the HAL: address ranges, physical memory, mappings, shareable handles (vmm chapter)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.calls import HalCalls
from runtime.driver.resource_table import VirtualMemory
from runtime.errors.closing import each


@dataclass(frozen=True, slots=True)
class PhysicalKind:
    """What physical memory is made of (struct drv_mem_prop).

    Args:
        side: MEM_HOST_SIDE, MEM_DEV_SIDE or MEM_HOST_NUMA_SIDE; `owner` is the driver's device id or a NUMA node.
        page: MEM_NORMAL_PAGE_TYPE, MEM_HUGE_PAGE_TYPE or MEM_GIANT_PAGE_TYPE.
        memory: MEM_HBM_TYPE, MEM_DDR_TYPE, MEM_P2P_HBM_TYPE or MEM_P2P_DDR_TYPE.
    """

    side: int
    owner: int
    page: int
    memory: int = c.MEM_HBM_TYPE
    module: int = c.RUNTIME_MODULE_ID

    def prop(self) -> Any:
        """Return the driver's structure."""
        made = s.drv_mem_prop()
        made.side, made.devid, made.module_id = self.side, self.owner, self.module
        made.pg_type, made.mem_type = self.page, self.memory
        return made


class VirtualDriver(HalCalls):
    """The vmm chapter of the HAL. Handles are the driver's own addresses, opaque to everybody else."""

    def __init__(self, hal: Any, device_id: int, held: VirtualMemory | None = None) -> None:
        super().__init__(hal, device_id)
        self._held = held or VirtualMemory()

    def reserve(self, size: int, wanted: int = 0, flags: int = 0) -> int:
        """Reserve an address range; `flags` holds the page kind in its low bits."""
        self._held.enter()
        where = ctypes.c_void_p(0)
        rc = self.hal.halMemAddressReserve(ctypes.byref(where), size, 0, wanted, flags)
        self.check(rc, "halMemAddressReserve", f"{size} bytes at {wanted:#x}, flags {flags:#x}")
        self._held.ranges[where.value or 0] = object()
        return where.value or 0

    def mark_of(self, address: int) -> object | None:
        """Return what tells a reserved range from a later one at the same address; None where none is reserved."""
        return self._held.ranges.get(address)

    def release(self, address: int) -> None:
        """Give an address range back; what is still mapped there must be unmapped first."""
        self.check(self.hal.halMemAddressFree(address), "halMemAddressFree", f"address {address:#x}")
        self._held.ranges.pop(address, None)

    def take_back(self) -> None:
        """Give back what the process still has of the device: mappings, handles, with the last device addresses too.

        Raises:
            RuntimeFault: the first refusal, when everything was tried.
        """
        held = self._held.of(self.device_id)
        unmaps = [partial(self.unmap, address) for one in held for address in one.addresses]
        releases = [partial(self.destroy, one.handle) for one in held for _ in range(one.handles)]
        ranges = [] if self._held.in_use() else [partial(self.release, address) for address in self._held.ranges]
        each([*unmaps, *releases, *ranges])

    def create(self, size: int, kind: PhysicalKind) -> int:
        """Create physical memory and return its handle."""
        self._held.enter()
        handle = ctypes.c_void_p(0)
        rc = self.hal.halMemCreate(ctypes.byref(handle), size, ctypes.byref(kind.prop()), 0)
        self.check(rc, "halMemCreate", f"{size} bytes, {kind}")
        self._held.take(handle.value or 0, size, kind.owner if kind.side == c.MEM_DEV_SIDE else -1)
        return handle.value or 0

    def destroy(self, handle: int) -> None:
        """Give a handle up; the memory goes with its last mapping."""
        self.check(self.hal.halMemRelease(handle), "halMemRelease", f"handle {handle:#x}")
        self._held.give(handle)

    def granularity(self, kind: PhysicalKind, option: int = c.MEM_ALLOC_GRANULARITY_MINIMUM) -> int:
        """Return what sizes must be a multiple of, at least or as recommended (MEM_ALLOC_GRANULARITY_*)."""
        value = ctypes.c_uint64(0)
        rc = self.hal.halMemGetAllocationGranularity(ctypes.byref(kind.prop()), option, ctypes.byref(value))
        self.check(rc, "halMemGetAllocationGranularity", f"{kind}")
        return value.value

    def map(self, address: int, size: int, handle: int) -> None:
        """Map physical memory at reserved addresses."""
        self._held.enter()
        rc = self.hal.halMemMap(address, size, 0, handle, 0)
        self.check(rc, "halMemMap", f"{size} bytes at {address:#x}, handle {handle:#x}")
        self._held.map(address, handle)

    def unmap(self, address: int) -> None:
        """Undo `map`."""
        self.check(self.hal.halMemUnmap(address), "halMemUnmap", f"address {address:#x}")
        self._held.unmap(address)

    def set_access(self, address: int, size: int, grants: Sequence[tuple[int, int, int]]) -> None:
        """Set the access of locations: (flags, side, id) each."""
        rows = (s.drv_mem_access_desc * len(grants))()
        for row, (flags, side, number) in zip(rows, grants, strict=True):
            row.type, row.location.side, row.location.id = flags, side, number
        rc = self.hal.halMemSetAccess(address, size, rows, len(grants))
        self.check(rc, "halMemSetAccess", f"{size} bytes at {address:#x}")

    def access(self, address: int, side: int, number: int) -> int:
        """Return the access of a location to a mapping (MEM_ACCESS_TYPE_*)."""
        location, flags = s.drv_mem_location(), ctypes.c_uint64(0)
        location.side, location.id = side, number
        rc = self.hal.halMemGetAccess(address, ctypes.byref(location), ctypes.byref(flags))
        self.check(rc, "halMemGetAccess", f"address {address:#x}")
        return flags.value

    def retain(self, address: int) -> int:
        """Return the handle behind a mapped address, counted once more."""
        handle = ctypes.c_void_p(0)
        rc = self.hal.halMemRetainAllocationHandle(ctypes.byref(handle), address)
        self.check(rc, "halMemRetainAllocationHandle", f"address {address:#x}")
        self._held.retain(handle.value or 0)
        return handle.value or 0

    def kind_of(self, handle: int) -> PhysicalKind:
        """Return what the memory of a handle was created as."""
        prop = s.drv_mem_prop()
        rc = self.hal.halMemGetAllocationPropertiesFromHandle(ctypes.byref(prop), handle)
        self.check(rc, "halMemGetAllocationPropertiesFromHandle", f"handle {handle:#x}")
        return PhysicalKind(prop.side, prop.devid, prop.pg_type, prop.mem_type, prop.module_id)

    # -- sharing ---------------------------------------------------------------------------------------------------

    def export(self, handle: int, *, anybody: bool = False) -> int:
        """Return the number under which other processes import a handle; `anybody`: without a list of them."""
        shared = ctypes.c_uint64(0)
        rc = self.hal.halMemExportToShareableHandle(handle, c.MEM_HANDLE_TYPE_NONE, 0, ctypes.byref(shared))
        self.check(rc, "halMemExportToShareableHandle", f"handle {handle:#x}")
        self._held.export(handle)
        if anybody:
            self._open_to_all(shared.value)
        return shared.value

    def _open_to_all(self, shared: int) -> None:
        attribute = s.ShareHandleAttr()
        attribute.enableFlag = c.SHR_HANDLE_NO_WLIST_ENABLE
        rc = self.hal.halMemShareHandleSetAttribute(shared, c.SHR_HANDLE_ATTR_NO_WLIST_IN_SERVER, attribute)
        self.check(rc, "halMemShareHandleSetAttribute", f"handle {shared:#x}")

    def allow(self, shared: int, pids: Sequence[int]) -> None:
        """Let processes import; pids as their own namespace's root sees them (bare tgid)."""
        rows = (ctypes.c_int32 * len(pids))(*pids)
        rc = self.hal.halMemSetPidToShareableHandle(shared, rows, len(pids))
        self.check(rc, "halMemSetPidToShareableHandle", f"handle {shared:#x}")

    def import_(self, shared: int) -> int:
        """Return a handle of memory that another process has exported."""
        self._held.enter()
        handle = ctypes.c_void_p(0)
        rc = self.hal.halMemImportFromShareableHandle(shared, self.device_id, ctypes.byref(handle))
        self.check(rc, "halMemImportFromShareableHandle", f"handle {shared:#x}")
        self._held.take(handle.value or 0, 0, self.device_id, foreign=True)
        return handle.value or 0

    def export_fabric(self, handle: int, *, anybody: bool = False) -> bytes:
        """Return the 128 bytes under which processes of other servers import a handle; see `export`."""
        shared = s.MemShareHandle()
        rc = self.hal.halMemExportToShareableHandleV2(handle, c.MEM_HANDLE_TYPE_FABRIC, 0, ctypes.byref(shared))
        self.check(rc, "halMemExportToShareableHandleV2", f"handle {handle:#x}")
        self._held.export(handle)
        block = bytes(shared)
        if anybody:
            self._open_to_all(self.fabric_number(block)[1])
        return block

    def fabric_number(self, block: bytes) -> tuple[int, int]:
        """Return (server, number there) of a fabric handle."""
        shared = s.MemShareHandle.from_buffer_copy(block)
        server, number = ctypes.c_uint32(0), ctypes.c_uint64(0)
        rc = self.hal.halMemTransShareableHandle(
            c.MEM_HANDLE_TYPE_FABRIC, ctypes.byref(shared), ctypes.byref(server), ctypes.byref(number)
        )
        self.check(rc, "halMemTransShareableHandle")
        return server.value, number.value

    def import_fabric(self, block: bytes) -> int:
        """Return a handle of memory behind a fabric handle."""
        size = ctypes.sizeof(s.MemShareHandle)
        if len(block) != size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"a fabric handle of {len(block)} bytes",
                hint=f"pass all {size} bytes that PhysicalMemory.export_fabric gave",
            )
        self._held.enter()
        shared, handle = s.MemShareHandle.from_buffer_copy(block), ctypes.c_void_p(0)
        rc = self.hal.halMemImportFromShareableHandleV2(
            c.MEM_HANDLE_TYPE_FABRIC, ctypes.byref(shared), self.device_id, ctypes.byref(handle)
        )
        self.check(rc, "halMemImportFromShareableHandleV2")
        self._held.take(handle.value or 0, 0, self.device_id, foreign=True)
        return handle.value or 0

    def exporter(self, shared: int) -> int | None:
        """Return the physical id of the device whose memory a number stands for; None where the driver cannot tell."""
        info = s.ShareHandleGetInfo()
        rc = self.hal.halMemShareHandleInfoGet(shared, ctypes.byref(info))
        if rc == c.DRV_ERROR_NOT_SUPPORT:
            return None
        self.check(rc, "halMemShareHandleInfoGet", f"handle {shared:#x}")
        return int(info.phyDevid)

    # -- links -----------------------------------------------------------------------------------------------------

    def link(self, handle: int) -> int:
        """Return over which link later mappings of a handle go (HANDLE_ATTR_MEM_MAP_ROUTE)."""
        attribute = s.HandleAttr()
        rc = self.hal.halMemHandleGetAttribute(handle, c.HANDLE_ATTR_MEM_MAP_ROUTE, ctypes.byref(attribute))
        self.check(rc, "halMemHandleGetAttribute", f"handle {handle:#x}")
        return int(attribute.mem_map_route)

    def set_link(self, handle: int, link: int) -> None:
        """Choose over which link later mappings of a handle go."""
        attribute = s.HandleAttr(mem_map_route=link)
        rc = self.hal.halMemHandleSetAttribute(handle, c.HANDLE_ATTR_MEM_MAP_ROUTE, attribute)
        self.check(rc, "halMemHandleSetAttribute", f"handle {handle:#x}, link {link}")
