"""Device and host memory of one device through the HAL: allocation, copies, attributes, DMA descriptors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import Any

import npuhal
from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.calls import HalCalls, answer
from runtime.driver.resource_table import ResourceTable, Span
from runtime.errors.closing import Once


@dataclass(frozen=True, slots=True)
class Pages:
    """Free and total bytes of one kind of memory, by page kind (ascend_hal_base.h, struct MemPhyInfo)."""

    free: int
    total: int
    huge_free: int
    huge_total: int
    giant_free: int
    giant_total: int


class MemoryDriver(HalCalls):
    """The memory chapter of the HAL (ascend_hal_base.h: halMem*, drvMem*)."""

    def __init__(self, hal: npuhal.HalApi, device_id: int, resource_table: ResourceTable | None = None) -> None:
        super().__init__(hal, device_id)
        self.resource_table = resource_table or ResourceTable()

    def alloc(self, size: int, flags: int, *, scratch: bool = False) -> int:
        """Return the address of new memory.

        Args:
            flags: the 64-bit halMemAlloc word without the device id.
            scratch: nobody misses what is in it between tasks.
        """
        self.resource_table.enter()
        pointer = ctypes.c_void_p(0)
        with self.resource_table.changing:
            rc = self.hal.halMemAlloc(ctypes.byref(pointer), size, flags | self.device_id)
            if rc:
                raise self.fault(rc, "halMemAlloc", f"{size} bytes, flags {flags:#x}, device {self.device_id}")
            address = pointer.value or 0
            self.resource_table.memory[address] = Span(size, flags, scratch)
        return address

    def alloc_managed(self, size: int) -> int:
        """Return the address of new memory that host and device share (MEM_UVM)."""
        return self.alloc(size, c.MEM_UVM | c.MEM_PAGE_HUGE | c.APP_MODULE_ID << c.MEM_MODULE_ID_BIT)

    @contextmanager
    def new(self, size: int, flags: int) -> Iterator[int]:
        """Allocate as `alloc`, for a block that makes the memory what it is to be; where that fails it is freed again.
        """
        address = self.alloc(size, flags)
        try:
            yield address
        except BaseException:
            with suppress(errors.RuntimeFault):  # what went wrong first says more
                self.free(address)
            raise

    def free(self, address: int, *, held: bool = False) -> None:
        """Give memory back; an address that the driver does not know is a fault.

        Args:
            held: somebody still has it where the driver refuses, and frees it again; else the next wait does.
        """
        table = self.resource_table
        known = table.memory.get(address)
        if table.followers and known is not None:
            for follower in list(table.followers):
                follower.let_go(address, known.size)
        give = self.hal.halMemFree
        with table.changing:
            rc = answer(partial(give, address), partial(table.memory.pop, address, None))
        if not (rc or table.refused):
            return
        try:
            self.answered(
                table, rc, partial(self.free, address, held=held), "halMemFree", f"address {address:#x}", held=held
            )
        except errors.RuntimeFault as fault:
            if known is None and fault.hal_code in (c.DRV_ERROR_INVALID_VALUE, c.DRV_ERROR_NOT_EXIST):
                table.refused.pop(("halMemFree", f"address {address:#x}"), None)  # it is not tried again
                fault.hint = ("no block that this process has allocated begins there: it was freed before, lies inside "
                              "of a block, or did not come from an allocation")
            raise

    def freeing(self, address: int) -> Once:
        """Return what frees memory that is held, once."""
        return Once(self.resource_table.memory, address, partial(self.free, address))

    def copy(self, dst: int, dst_max: int, src: int, size: int) -> None:
        """Copy now, in the direction that the addresses imply; blocks until done."""
        if rc := self.hal.drvMemcpy(dst, dst_max, src, size):
            missed = [text for end in (src, dst) if (text := self.resource_table.misses(end, size))]
            asked = f"{src:#x} -> {dst:#x}, {size} of {dst_max} bytes"
            raise self.fault(rc, "drvMemcpy", "; ".join((asked, *missed)))

    def write(self, dst: int, data: bytes | bytearray | memoryview, capacity: int | None = None) -> None:
        """Copy host bytes to a device address now."""
        view = memoryview(data).cast("B")
        size, whole = len(view), view.obj
        if not view.readonly:
            buffer: Any = (ctypes.c_char * size).from_buffer(view)
        else:  # bytes are read where they are: libraries are large
            buffer = whole if isinstance(whole, bytes) and len(whole) == size else bytes(view)
        address = ctypes.cast(buffer, ctypes.c_void_p).value or 0
        self.copy(dst, size if capacity is None else capacity, address, size)

    def read(self, src: int, size: int) -> bytes:
        """Copy device bytes to a new host object now."""
        buffer = ctypes.create_string_buffer(size)
        self.copy(ctypes.addressof(buffer), size, src, size)
        return buffer.raw

    def fill(self, dst: int, capacity: int, value: int, count: int) -> None:
        """Set bytes now (drvMemsetD8)."""
        rc = self.hal.drvMemsetD8(dst, capacity, value, count)
        self.check(rc, "drvMemsetD8", f"{dst:#x}, {count} of {capacity} bytes")

    def map_for(self, address: int, size: int, other: int) -> None:
        """Map memory for another device (the driver's number) ahead of its use."""
        rc = self.hal.drvMemPrefetchToDevice(address, size, other)
        self.check(rc, "drvMemPrefetchToDevice", f"{size} bytes at {address:#x} for device {other}")

    def set_writable(self, address: int, size: int, *, writable: bool) -> None:
        """Tell a driver over UB whether copies may write to a block that device code only reads; others need not know.

        Drivers that do not tell the two apart answer that they cannot, which is no failure.
        """
        advice = c.ADVISE_ACCESS_READWRITE if writable else c.ADVISE_ACCESS_READONLY
        rc = self.hal.halMemAdvise(address, size, advice, self.device_id)
        if rc not in (c.DRV_ERROR_NOT_SUPPORT, c.DRV_ERROR_INVALID_VALUE):
            self.check(rc, "halMemAdvise", f"{size} bytes at {address:#x}, advice {advice}")

    def attribute(self, address: int, *, exists: bool = False) -> tuple[int, int, int] | None:
        """Return (DV_MEM_* class, device id, page size) of an address; None where the driver knows nothing there.

        With `exists` that is a failure of the call: device memory that was freed.
        """
        attribute = s.DVattribute()
        rc = self.hal.drvMemGetAttribute(address, ctypes.byref(attribute))
        if rc == c.DRV_ERROR_NOT_EXIST and not exists:
            return None
        self.check(rc, "drvMemGetAttribute", f"address {address:#x}")
        return int(attribute.memType), int(attribute.devId), int(attribute.pageSize)

    def address_range(self, address: int) -> tuple[int, int]:
        """Return (base, size) of the block that holds an address."""
        base, size = ctypes.c_uint64(0), ctypes.c_uint64(0)
        rc = self.hal.halMemGetAddressRange(address, ctypes.byref(base), ctypes.byref(size))
        self.check(rc, "halMemGetAddressRange", f"address {address:#x}")
        return base.value, size.value

    def physical(self, address: int) -> int:
        """Translate a device address for the task scheduler; 0 where the driver cannot."""
        value = ctypes.c_uint64(0)
        rc = self.hal.drvMemAddressTranslate(address, ctypes.byref(value))
        return 0 if rc else value.value

    def pages(self, kind: int = c.MEM_INFO_TYPE_HBM_SIZE) -> Pages:
        """Return what there is of a kind of memory (MEM_INFO_TYPE_*_SIZE)."""
        info = s.MemInfo()
        rc = self.hal.halMemGetInfo(self.device_id, kind, ctypes.byref(info))
        self.check(rc, "halMemGetInfo", f"kind {kind}")
        found = info.phy_info
        return Pages(*(int(getattr(found, name)) for name in
                       ("free", "total", "huge_free", "huge_total", "giant_free", "giant_total")))  # fmt: skip

    def space(self) -> tuple[int, int]:
        """Return (free, total) bytes of HBM, normal and huge pages together as the driver counts them."""
        pages = self.pages()
        return pages.free + pages.huge_free, pages.total + pages.huge_total

    def usage(self, limit: int) -> list[tuple[str, int, int]]:
        """Return (name, bytes now, peak bytes) of at most `limit` components; NotSupported where it is not counted."""
        limit = min(limit, c.MEM_MODULE_ID_MASK + 1)  # there are no more components
        rows, count = (s.mem_module_usage * limit)(), ctypes.c_uint64(0)
        rc = self.hal.halGetMemUsageInfo(self.device_id, rows, limit, ctypes.byref(count))
        self.check(rc, "halGetMemUsageInfo")
        return [(row.name.decode("ascii", "replace"), row.cur_mem_size, row.mem_peak_size)
                for row in rows[: count.value]]  # fmt: skip

    def all_of_type(self, addresses: list[int], memory_type: int) -> bool:
        """Return whether all addresses are memory of a type (MEM_DEV_TYPE, MEM_DVPP_TYPE, ...)."""
        info, column = s.MemInfo(), (ctypes.c_uint64 * len(addresses))(*addresses)
        info.addr_info.addr = ctypes.addressof(column)
        info.addr_info.cnt, info.addr_info.mem_type = len(addresses), memory_type
        return not self.hal.halMemGetInfo(self.device_id, c.MEM_INFO_TYPE_ADDR_CHECK, ctypes.byref(info))

    @cached_property
    def classifies(self) -> bool:
        """Whether the driver tells plain host memory from its own (without it copy kinds are taken as given)."""
        return self.supports("FEATURE_SVM_GET_USER_MALLOC_ATTR")

    def bar_argument_memory(self) -> bool:
        """Return True where kernel arguments can be stored straight into device memory over the PCIe BAR."""
        return bool(self.feature_mask(c.CTRL_SUPPORT_PCIE_BAR_MEM_MASK | c.CTRL_SUPPORT_PCIE_BAR_HUGE_MEM_MASK))

    def feature_mask(self, asked: int) -> int:
        """Return which of the asked SVM feature bits the driver has (halMemCtl SUPPORT_FEATURE); 0 if it cannot say."""
        para, out, size = s.supportFeaturePara(), s.supportFeaturePara(), ctypes.c_size_t(0)
        para.support_feature, para.devid = asked, self.device_id
        size.value = ctypes.sizeof(out)
        rc = self.hal.halMemCtl(
            c.CTRL_TYPE_SUPPORT_FEATURE, ctypes.addressof(para), ctypes.sizeof(para), ctypes.addressof(out),
            ctypes.byref(size),
        )
        return 0 if rc else int(out.support_feature) & asked

    def core_sync_block(self) -> tuple[int, int]:
        """Map the registers by which the cores of a mix kernel synchronise (halMemCtl ADDR_MAP); address and bytes."""
        para, out, size = s.AddrMapInPara(), s.AddrMapOutPara(), ctypes.c_size_t(ctypes.sizeof(s.AddrMapOutPara))
        para.addr_type, para.devid = c.ADDR_MAP_TYPE_REG_C2C_CTRL, self.device_id
        rc = self.hal.halMemCtl(
            c.CTRL_TYPE_ADDR_MAP, ctypes.addressof(para), ctypes.sizeof(para), ctypes.addressof(out),
            ctypes.byref(size),
        )
        self.check(rc, "halMemCtl", "ADDR_MAP of the core synchronisation registers")
        return int(out.ptr), int(out.len)

    def convert(self, src: int, dst: int, size: int) -> Any:
        """Build a PCIe DMA descriptor chain; give it back with `destroy_dma`."""
        dma = s.DMA_ADDR()
        if rc := self.hal.drvMemConvertAddr(src, dst, size, ctypes.byref(dma)):
            raise self.fault(rc, "drvMemConvertAddr", f"{src:#x} -> {dst:#x}, {size} bytes")
        return dma

    def destroy_dma(self, dma: Any) -> None:
        """Free a descriptor chain that nobody has any more: where it is refused, the next wait asks again."""
        rc = self.hal.drvMemDestroyAddr(ctypes.byref(dma))
        if rc or self.resource_table.refused:
            self.answered(
                self.resource_table, rc, partial(self.destroy_dma, dma), "drvMemDestroyAddr",
                f"chain at {ctypes.addressof(dma):#x}", held=False,
            )

    def transfer_way(self, src: int, dst: int) -> int:
        """Ask how a device-to-device copy travels (drvDeviceGetTransWay; 0 = SDMA)."""
        way = ctypes.c_uint8(0)
        self.check(self.hal.drvDeviceGetTransWay(src, dst, ctypes.byref(way)), "drvDeviceGetTransWay")
        return way.value
