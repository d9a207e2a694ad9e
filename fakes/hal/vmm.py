"""HAL chapter "vmm": reserve addresses, create physical memory, map one onto the other (hal_semantics 7.5)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.checkers.names import at, call_site
from fakes.errors import OutOfDeviceMemory
from fakes.hal.chapter import Chapter
from fakes.machine.blocks import GIANT, HUGE, Allocation, PageKind
from fakes.machine.driver import HOST_NUMBER, MEMORY_CARDS
from fakes.machine.memory import HOST_PAGE
from fakes.shared import Export
from npuhal import constants as c
from npuhal.records import dataclass

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

_HANDLE_BASE, _HANDLE_STEP = 0x7E00_0000_0000, 64
_FLAG_BITS = c.MEM_RSV_TYPE_DEVICE_SHARE | c.MEM_RSV_TYPE_REMOTE_MAP
_POOLS = {
    c.MEM_NORMAL_PAGE_TYPE: PageKind.NORMAL, c.MEM_HUGE_PAGE_TYPE: PageKind.HUGE,
    c.MEM_GIANT_PAGE_TYPE: PageKind.GIANT,
}
_PAGE_BITS = 0xFF
_LARGE_RANGE = 512 << 20
"""Ranges larger than this begin at a multiple of 1 GiB, where an address is wished for."""


def _unit(size: int, strict: bool) -> int:
    """Return what a wished address must be a multiple of: the first driver wants it aligned to the size as well."""
    if not strict or size <= HUGE:
        return HUGE
    return GIANT if size > _LARGE_RANGE else 1 << (size - 1).bit_length()


def _granularity(page: int) -> int:
    return GIANT if page == c.MEM_GIANT_PAGE_TYPE else HUGE


@dataclass(slots=True, eq=False)
class Physical:
    """Physical memory behind a handle: `users` counts the handle itself, retained copies and mappings."""

    handle: int
    block: Allocation
    prop: tuple[int, ...]
    users: int = 1
    share: str = ""
    """The number under which it is exported; empty while it is not."""
    imported: bool = False
    """Another process has made it."""
    route: int = 0
    for_host: bool = False
    """It was imported for the host: what is mapped of it from then on, the host may touch."""


class VmmCalls(Chapter):
    """Functions of ascend_hal_base.h about virtual memory."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._handles: dict[int, Physical] = {}
        self._mapped: dict[int, Physical] = {}
        self._reserved: dict[int, int] = {}
        self._next = _HANDLE_BASE
        self._sites: dict[int, Any] = {}
        """Where ranges were reserved, while somebody watches."""
        machine.on_close.append(self._forget)
        machine.in_use.append(self._in_use)

    def _in_use(self, devid: int) -> dict[str, list[str]]:
        """Say what the process has of a card, and of the address space where that is its last one."""
        held = [
            f"{physical.block.size} bytes under handle {physical.handle:#x}{at(physical.block.site, 'made at')}"
            for physical in self._handles.values() if physical.block.device == devid and not physical.imported
        ]  # fmt: skip
        others = any(device.opened for device in self.machine.devices if device.index != devid)
        ranges = [] if others else [
            f"{size} addresses at {base:#x}{at(self._sites.get(base), 'reserved at')}"
            for base, size in self._reserved.items()
        ]  # fmt: skip
        return {"physical memory": held, "reserved ranges": ranges}

    def _forget(self, devid: int) -> None:
        """Take back the physical memory of a card, and what is mapped of it."""
        for base in [base for base, physical in self._mapped.items() if physical.block.device == devid]:
            self.halMemUnmap(base)
        for physical in [physical for physical in self._handles.values() if physical.block.device == devid]:
            physical.users = 1
            self._drop(physical)

    # -- addresses ----------------------------------------------------------------------------------------------------

    def halMemAddressReserve(self, pointer: Any, size: int, alignment: int, address: int, flag: int) -> int:
        """Reserve addresses, rounded up to 2 MiB; `alignment` must be 0, the low byte of the flag is a kind of page.

        The first driver writes the wanted address back before it looks whether that one is free.
        """
        first = self.machine.driver.first
        if pointer is None or alignment or not size or address % _unit(size, bool(address) and first):
            return c.DRV_ERROR_INVALID_VALUE
        if flag & _PAGE_BITS >= c.MEM_MAX_PAGE_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        if first and flag & _FLAG_BITS and not address:
            return c.DRV_ERROR_NOT_SUPPORT
        if first:
            pointer.value = address
        size = -(-size // HUGE) * HUGE
        base = self.machine.memory.reserve(size, address or None)
        if base is None:
            return c.DRV_ERROR_OUT_OF_MEMORY
        self._reserved[base] = size
        if self.machine.checks is not None:
            self._sites[base] = call_site()
        pointer.value = base
        return 0

    def halMemAddressFree(self, pointer: int) -> int:
        """Give reserved addresses back; something still mapped there is BUSY."""
        size = self._reserved.get(pointer)
        if size is None:
            return c.DRV_ERROR_INVALID_VALUE
        if any(pointer <= base < pointer + size for base in self._mapped):
            return c.DRV_ERROR_BUSY
        del self._reserved[pointer]
        self._sites.pop(pointer, None)
        self.machine.memory.unreserve(pointer, size)
        return 0

    def _range(self, address: int) -> tuple[int, int] | None:
        return next(((base, size) for base, size in self._reserved.items() if base <= address < base + size), None)

    def halMemGetAddressRange(self, address: int, base: Any, size: Any) -> int:
        """Return the allocation that holds an address; either output may be left out."""
        block = self.machine.memory.find(address)
        if block is None:
            return c.DRV_ERROR_INVALID_VALUE
        if base is not None:
            base.value = block.base
        if size is not None:
            size.value = block.size
        return 0

    # -- physical memory ----------------------------------------------------------------------------------------------

    def halMemGetAllocationGranularity(self, prop: Any, option: int, granularity: Any) -> int:
        """Return the granularity of sizes: 2 MiB, 1 GiB for giant pages, the host's page for its normal ones."""
        if not 0 <= option < c.MEM_ALLOC_GRANULARITY_INVALID:
            return c.DRV_ERROR_NOT_SUPPORT
        if granularity is None:
            return c.DRV_ERROR_INVALID_VALUE
        code = self._check(prop, HOST_NUMBER)
        if code:
            return code
        small = prop.pg_type == c.MEM_NORMAL_PAGE_TYPE and option == c.MEM_ALLOC_GRANULARITY_MINIMUM
        if small and prop.devid == HOST_NUMBER and prop.module_id == c.RUNTIME_MODULE_ID:
            granularity.value = HOST_PAGE
        else:
            granularity.value = _granularity(prop.pg_type)
        return 0

    def _check(self, prop: Any, also: int = -1) -> int:
        """Return the code for a description of physical memory that no driver takes; `also`: a device number more."""
        if prop is None or prop.side >= c.MEM_MAX_SIDE or prop.reserve:
            return c.DRV_ERROR_INVALID_VALUE
        if prop.side != c.MEM_HOST_NUMA_SIDE and prop.devid >= MEMORY_CARDS and prop.devid != also:
            return c.DRV_ERROR_INVALID_VALUE
        if prop.pg_type >= c.MEM_MAX_PAGE_TYPE or prop.mem_type >= c.MEM_MAX_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        return 0

    def halMemCreate(self, handle: Any, size: int, prop: Any, flag: int) -> int:
        """Create physical memory on a card or on the host; the runtime's small pieces are of the host's pages."""
        if handle is None or not size or flag:
            return c.DRV_ERROR_INVALID_VALUE
        code = self._check(prop)
        if code:
            return code
        host = prop.side != c.MEM_DEV_SIDE
        if prop.side == c.MEM_HOST_SIDE and prop.devid:
            return c.DRV_ERROR_NOT_SUPPORT
        if not host and self.device(prop.devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        small = prop.pg_type == c.MEM_NORMAL_PAGE_TYPE and prop.module_id == c.RUNTIME_MODULE_ID and size < HUGE
        if size % (HOST_PAGE if small else _granularity(prop.pg_type)):
            return c.DRV_ERROR_PARA_ERROR
        memory = self.machine.memory
        try:
            if host:
                block = memory.allocate_host_physical(size)
            else:
                block = memory.allocate_physical(prop.devid, size, _POOLS[prop.pg_type])
        except OutOfDeviceMemory as full:
            self.machine.problem(f"halMemCreate of {size} bytes: {full}")
            return c.DRV_ERROR_OUT_OF_MEMORY
        self._next += _HANDLE_STEP
        fields = (prop.side, prop.devid, prop.module_id, prop.pg_type, prop.mem_type)
        self._handles[self._next] = Physical(self._next, block, fields)
        handle.value = self._next
        return 0

    def halMemRelease(self, handle: int) -> int:
        """Give up a handle; the memory goes when nothing is mapped any more."""
        physical = self._handles.get(handle)
        if physical is None:
            return c.DRV_ERROR_INVALID_VALUE
        self._drop(physical)
        return 0

    def _drop(self, physical: Physical) -> None:
        physical.users -= 1
        if not physical.users:
            del self._handles[physical.handle]
            if physical.imported:
                self.machine.imports.close(physical.block)
                return
            if physical.share:
                self.machine.names.withdraw(physical.share)
            self.machine.memory.free_physical(physical.block)

    def halMemRetainAllocationHandle(self, handle: Any, pointer: int) -> int:
        """Return the handle behind a mapped address; counts as one more user."""
        block = self.machine.memory.find(pointer)
        physical = None if block is None else self._mapped.get(block.base)
        if physical is None or handle is None:
            return c.DRV_ERROR_INVALID_VALUE
        physical.users += 1
        handle.value = physical.handle
        return 0

    def halMemGetAllocationPropertiesFromHandle(self, prop: Any, handle: int) -> int:
        """Return what the memory was created with."""
        physical = self._handles.get(handle)
        if physical is None or prop is None:
            return c.DRV_ERROR_INVALID_VALUE
        prop.side, prop.devid, prop.module_id, prop.pg_type, prop.mem_type = physical.prop
        return 0

    # -- mappings -----------------------------------------------------------------------------------------------------

    def halMemMap(self, pointer: int, size: int, offset: int, handle: int, flag: int) -> int:
        """Map physical memory at reserved addresses."""
        physical, found = self._handles.get(handle), self._range(pointer)
        if physical is None or found is None or offset or flag or size != physical.block.size or pointer % HUGE:
            return c.DRV_ERROR_INVALID_VALUE
        if pointer + size > found[0] + found[1]:
            return c.DRV_ERROR_INVALID_VALUE
        if any(base < pointer + size and pointer < base + other.block.size for base, other in self._mapped.items()):
            return c.DRV_ERROR_BUSY
        block = self.machine.memory.map_physical(pointer, physical.block)
        if physical.for_host:
            self.machine.memory.expose(block)
        physical.users += 1
        self._mapped[pointer] = physical
        return 0

    def halMemUnmap(self, pointer: int) -> int:
        """Undo halMemMap; nothing mapped there is PARA_ERROR."""
        physical = self._mapped.pop(pointer, None)
        if physical is None:
            return c.DRV_ERROR_PARA_ERROR
        self.machine.memory.free(pointer)
        self._drop(physical)
        return 0

    def halMemSetAccess(self, pointer: int, size: int, desc: Any, count: int) -> int:
        """Set the access of a mapping: READWRITE only; for the host it opens a BAR window."""
        if not pointer or desc is None or not count:
            return c.DRV_ERROR_INVALID_VALUE
        if desc.type in (c.MEM_ACCESS_TYPE_NONE, c.MEM_ACCESS_TYPE_READ):
            return c.DRV_ERROR_NOT_SUPPORT
        physical = self._mapped.get(pointer)
        if physical is None or desc.type != c.MEM_ACCESS_TYPE_READWRITE or size > physical.block.size:
            return c.DRV_ERROR_INVALID_VALUE
        block = self.machine.memory.find(pointer)
        for entry in (type(desc) * count).from_address(ctypes.addressof(desc)):
            if entry.type != c.MEM_ACCESS_TYPE_READWRITE:
                return c.DRV_ERROR_NOT_SUPPORT
            if entry.location.side == c.MEM_HOST_SIDE and block is not None:
                self.machine.memory.expose(block)
        return 0

    def halMemGetAccess(self, pointer: int, location: Any, flags: Any) -> int:
        """Return the access of a location to a mapping."""
        if pointer not in self._mapped or location is None or flags is None:
            return c.DRV_ERROR_INVALID_VALUE
        block = self.machine.memory.find(pointer)
        host = location.side != c.MEM_DEV_SIDE
        allowed = block is not None and (block.host_access if host else block.device == location.id)
        flags.value = c.MEM_ACCESS_TYPE_READWRITE if allowed else c.MEM_ACCESS_TYPE_NONE
        return 0

    # -- sharing ------------------------------------------------------------------------------------------------------

    def halMemExportToShareableHandle(self, handle: int, kind: int, _flags: int, shareable: Any) -> int:
        """Give the memory a number under which other processes can import it: share id and device.

        No driver looks at the flags; the vendor's runtime sets one for the memory of its shared events.
        """
        if shareable is not None and kind != c.MEM_HANDLE_TYPE_NONE:
            return c.DRV_ERROR_NOT_SUPPORT
        physical = self._handles.get(handle)
        if physical is None or shareable is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not physical.share:
            names, block = self.machine.names, physical.block
            if physical.imported:
                return c.DRV_ERROR_NOT_SUPPORT
            number = str(names.next_number() | block.device << 32)
            names.publish(Export(number, block.device, source=self.machine.source(block), size=block.size,
                                 page=block.page, prop=physical.prop, number=handle, block=block))  # fmt: skip
            physical.share = number
        shareable.value = int(physical.share)
        return 0

    def halMemSetPidToShareableHandle(self, shareable: int, pids: Any, count: int) -> int:
        """Allow processes to import."""
        export = self.machine.names.own(str(shareable))
        if export is None or pids is None or not 1 <= count <= 65535:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.names.allow(export, (ctypes.c_int32 * count).from_address(ctypes.addressof(pids)))
        return 0

    def halMemShareHandleSetAttribute(self, shareable: int, kind: int, attr: Any) -> int:
        """Allow every process to import."""
        if kind != c.SHR_HANDLE_ATTR_NO_WLIST_IN_SERVER:
            return c.DRV_ERROR_NOT_SUPPORT
        export = self.machine.names.own(str(shareable))
        if export is None:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.names.open_to(export, attr.enableFlag == c.SHMEM_NO_WLIST_ENABLE)
        return 0

    def halMemImportFromShareableHandle(self, shareable: int, devid: int, handle: Any) -> int:
        """Import by number: the same memory, one more user; processes that are not allowed are refused.

        `devid` is who will use it: a card, or the host, which reaches memory of a card like that over its window.
        """
        if not 0 <= devid <= HOST_NUMBER:
            return c.DRV_ERROR_INVALID_DEVICE
        with self.machine.names.still():
            export = self.machine.names.find(str(shareable))
            if export is None or handle is None:
                return c.DRV_ERROR_IOCRL_FAIL
            if not export.allows(self.machine.pid):
                return c.DRV_ERROR_OPER_NOT_PERMITTED
            if export.block is not None:
                own = self._handles[export.number]
                own.users += 1
                own.for_host |= devid == HOST_NUMBER
                handle.value = export.number
                return 0
            block = self.machine.imports.open(export)
        if block is None:
            return c.DRV_ERROR_IOCRL_FAIL
        self._next += _HANDLE_STEP
        self._handles[self._next] = Physical(
            self._next, block, export.prop, imported=True, for_host=devid == HOST_NUMBER
        )  # fmt: skip
        handle.value = self._next
        return 0

    def halMemExportToShareableHandleV2(self, handle: int, kind: int, flags: int, shareable: Any) -> int:
        """Like halMemExportToShareableHandle, the number in the first bytes of a 128-byte block; also for fabric."""
        number = ctypes.c_uint64()
        if shareable is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind not in (c.MEM_HANDLE_TYPE_NONE, c.MEM_HANDLE_TYPE_FABRIC) or flags:
            return c.DRV_ERROR_NOT_SUPPORT
        rc = self.halMemExportToShareableHandle(handle, c.MEM_HANDLE_TYPE_NONE, flags, number)
        if rc == 0:
            shareable.share_info[:] = [*bytes(number), *bytes(120)]
        return rc

    def halMemTransShareableHandle(self, kind: int, shareable: Any, server: Any, number: Any) -> int:
        """Return the number inside such a block, and the server: 0, the only one."""
        if shareable is None or server is None or number is None or kind != c.MEM_HANDLE_TYPE_FABRIC:
            return c.DRV_ERROR_INVALID_VALUE
        server.value, number.value = 0, int.from_bytes(bytes(shareable.share_info)[:8], "little")
        return 0

    def halMemImportFromShareableHandleV2(self, kind: int, shareable: Any, devid: int, handle: Any) -> int:
        """Import by such a block."""
        if shareable is None or handle is None or kind not in (c.MEM_HANDLE_TYPE_NONE, c.MEM_HANDLE_TYPE_FABRIC):
            return c.DRV_ERROR_INVALID_VALUE
        number = int.from_bytes(bytes(shareable.share_info)[:8], "little")
        return self.halMemImportFromShareableHandle(number, devid, handle)

    def halMemShareHandleInfoGet(self, shareable: int, info: Any) -> int:
        """Return the physical id of the card that has the memory."""
        export = self.machine.names.find(str(shareable))
        if export is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.phyDevid = self.machine.devices[export.device].identity.physical
        return 0

    def halMemHandleSetAttribute(self, handle: int, kind: int, attribute: Any) -> int:
        """Choose the route by which others map the memory: kept, and otherwise without effect."""
        if kind != c.HANDLE_ATTR_MEM_MAP_ROUTE:
            return c.DRV_ERROR_NOT_SUPPORT
        physical = self._handles.get(handle)
        if physical is None:
            return c.DRV_ERROR_INVALID_VALUE
        physical.route = attribute.mem_map_route
        return 0

    def halMemHandleGetAttribute(self, handle: int, kind: int, attribute: Any) -> int:
        """Return the route."""
        if kind != c.HANDLE_ATTR_MEM_MAP_ROUTE:
            return c.DRV_ERROR_NOT_SUPPORT
        if attribute is None:
            return c.DRV_ERROR_PARA_ERROR if self.machine.driver.first else c.DRV_ERROR_INVALID_VALUE
        physical = self._handles.get(handle)
        if physical is None:
            return c.DRV_ERROR_INVALID_VALUE
        attribute.mem_map_route = physical.route
        return 0
