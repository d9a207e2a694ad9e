"""Device and host memory of one device through the HAL: allocation, copies, attributes, DMA descriptors."""

from __future__ import annotations

import ctypes
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls


class MemoryDriver(HalCalls):
    """The memory chapter of the HAL (ascend_hal_base.h: halMem*, drvMem*)."""

    def alloc(self, size: int, flags: int) -> int:
        """Return the address of new memory; `flags` is the 64-bit halMemAlloc word without the device id."""
        pointer = ctypes.c_void_p(0)
        rc = self.hal.halMemAlloc(ctypes.byref(pointer), size, flags | self.device_id)
        self.check(rc, "halMemAlloc", f"{size} bytes, flags {flags:#x}, device {self.device_id}")
        return pointer.value or 0

    def free(self, address: int) -> None:
        """Give memory back; an address that the driver does not know is a fault."""
        self.check(self.hal.halMemFree(address), "halMemFree", f"address {address:#x}")

    def copy(self, dst: int, dst_max: int, src: int, size: int) -> None:
        """Copy now, in the direction that the addresses imply; blocks until done."""
        rc = self.hal.drvMemcpy(dst, dst_max, src, size)
        self.check(rc, "drvMemcpy", f"{src:#x} -> {dst:#x}, {size} of {dst_max} bytes")

    def write(self, dst: int, data: bytes | bytearray | memoryview, capacity: int | None = None) -> None:
        """Copy host bytes to a device address now."""
        view = memoryview(data).cast("B")
        if view.readonly:
            buffer: Any = (ctypes.c_char * len(view)).from_buffer_copy(view)
        else:
            buffer = (ctypes.c_char * len(view)).from_buffer(view)
        self.copy(dst, len(view) if capacity is None else capacity, ctypes.addressof(buffer), len(view))

    def read(self, src: int, size: int) -> bytes:
        """Copy device bytes to a new host object now."""
        buffer = ctypes.create_string_buffer(size)
        self.copy(ctypes.addressof(buffer), size, src, size)
        return buffer.raw

    def fill(self, dst: int, capacity: int, value: int, count: int) -> None:
        """Set bytes now (drvMemsetD8)."""
        rc = self.hal.drvMemsetD8(dst, capacity, value, count)
        self.check(rc, "drvMemsetD8", f"{dst:#x}, {count} of {capacity} bytes")

    def memory_type(self, address: int) -> int:
        """Return DVattribute.memType of an address: locked host 0x8, device 0x10, plain host 0x80."""
        attribute = s.DVattribute()
        rc = self.hal.drvMemGetAttribute(address, ctypes.byref(attribute))
        self.check(rc, "drvMemGetAttribute", f"address {address:#x}")
        return int(attribute.memType)

    def physical(self, address: int) -> int:
        """Translate a device address for the task scheduler; 0 where the driver cannot."""
        value = ctypes.c_uint64(0)
        rc = self.hal.drvMemAddressTranslate(address, ctypes.byref(value))
        return 0 if rc else value.value

    def space(self) -> tuple[int, int]:
        """Return (free, total) bytes of HBM, normal and huge pages together as the driver counts them."""
        info = s.MemInfo()
        rc = self.hal.halMemGetInfo(self.device_id, c.MEM_INFO_TYPE_HBM_SIZE, ctypes.byref(info))
        self.check(rc, "halMemGetInfo", "HBM")
        pages = info.phy_info
        return int(pages.free + pages.huge_free), int(pages.total + pages.huge_total)

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

    def convert(self, src: int, dst: int, size: int) -> Any:
        """Build a PCIe DMA descriptor chain; give it back with `destroy_dma`."""
        dma = s.DMA_ADDR()
        rc = self.hal.drvMemConvertAddr(src, dst, size, ctypes.byref(dma))
        self.check(rc, "drvMemConvertAddr", f"{src:#x} -> {dst:#x}, {size} bytes")
        return dma

    def destroy_dma(self, dma: Any) -> None:
        """Free a descriptor chain."""
        self.check(self.hal.drvMemDestroyAddr(ctypes.byref(dma)), "drvMemDestroyAddr")

    def transfer_way(self, src: int, dst: int) -> int:
        """Ask how a device-to-device copy travels (drvDeviceGetTransWay; 0 = SDMA)."""
        way = ctypes.c_uint8(0)
        self.check(self.hal.drvDeviceGetTransWay(src, dst, ctypes.byref(way)), "drvDeviceGetTransWay")
        return way.value
