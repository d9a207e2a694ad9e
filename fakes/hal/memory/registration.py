"""HAL chapter "memory": host memory that cards may use, and device memory that the host may (hal_semantics 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.blocks import Allocation, Kind
from fakes.machine.driver import HOST_NUMBER
from fakes.machine.memory import HOST_PAGE
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine

_TYPE_BITS, _TYPE_MASK = c.MEM_PROC_TYPE_BIT, (1 << c.MEM_PROC_TYPE_BIT) - 1
_LATER_TYPES = (c.DEV_SVM_MAP_HOST, c.HOST_MEM_MAP_DEV_PCIE_TH, c.HOST_IO_MAP_DEV)


class RegistrationCalls(Chapter):
    """Functions of ascend_hal_base.h that make memory usable from the other side."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._pinned: set[int] = set()
        """First addresses of memory that was allocated pinned and then registered too."""

    def halHostRegister(self, src: int, size: int, flag: int, devid: int, dst: Any) -> int:
        """Make host memory usable by a device, or device memory by the host (drvRegisterTpye in the low bits)."""
        kind = flag & _TYPE_MASK
        code = self._first(kind, devid, dst) if self.machine.driver.first else self._later(src, size, flag, devid, dst)
        if code:
            return code
        if not src or not size:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        return self._register(device, kind, src, size, dst)

    def _first(self, kind: int, devid: int, dst: Any) -> int:
        """Return what the first driver refuses before the kernel is asked."""
        if kind >= c.HOST_REGISTER_MAX_TPYE:
            return c.DRV_ERROR_NOT_SUPPORT
        if devid >= HOST_NUMBER:
            return c.DRV_ERROR_INVALID_DEVICE
        return c.DRV_ERROR_INVALID_VALUE if dst is None and kind != c.HOST_MEM_MAP_DMA else 0

    def _later(self, src: int, size: int, flag: int, devid: int, dst: Any) -> int:
        """Return what the later driver refuses by itself."""
        if dst is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not src or not size:
            return c.DRV_ERROR_PARA_ERROR
        kind = flag & _TYPE_MASK
        if kind >= c.HOST_REGISTER_MAX_TPYE or flag >> _TYPE_BITS & 0xFF:
            return c.DRV_ERROR_NOT_SUPPORT
        if kind != c.DEV_SVM_MAP_HOST and devid >= HOST_NUMBER:
            return c.DRV_ERROR_INVALID_DEVICE
        return 0 if kind in _LATER_TYPES else c.DRV_ERROR_NOT_SUPPORT

    def _register(self, device: Device, kind: int, src: int, size: int, dst: Any) -> int:
        memory = self.machine.memory
        block = memory.find(src)
        if kind == c.DEV_SVM_MAP_HOST:
            if block is None or block.kind is not Kind.DEVICE:
                return c.DRV_ERROR_INVALID_VALUE
            memory.expose(block)
            dst.value = src
            return 0
        if kind in (c.HOST_SVM_MAP_DEV, c.DEV_MEM_MAP_HOST):
            return c.DRV_ERROR_NOT_SUPPORT
        if block is not None and (block.kind is not Kind.HOST or src in self._pinned):
            return c.DRV_ERROR_REPEATED_USERD
        if kind != c.HOST_MEM_MAP_DMA and src % HOST_PAGE:
            return c.DRV_ERROR_PARA_ERROR
        if block is None:
            memory.register_host(src, size, device.index)
        elif src + size > block.base + block.span:
            return c.DRV_ERROR_INVALID_VALUE
        else:
            self._pinned.add(src)  # devices reach pinned memory as it is
        if dst is not None:
            dst.value = src
        return 0

    def halHostUnregister(self, src: int, devid: int) -> int:
        """Undo halHostRegister."""
        if not self.machine.driver.first and not src:
            return c.DRV_ERROR_PARA_ERROR
        if not 0 <= devid <= HOST_NUMBER:
            return c.DRV_ERROR_INVALID_DEVICE
        block = self.machine.memory.find(src)
        if self.device(devid) is None or block is None:
            return c.DRV_ERROR_NOT_EXIST
        if block.kind is Kind.DEVICE:
            self.machine.memory.hide(block)
            return 0
        if block.kind is Kind.HOST:
            return self._unpin(src)
        if block.base != src:
            return c.DRV_ERROR_NOT_EXIST
        self.machine.memory.free(src)
        return 0

    def _unpin(self, src: int) -> int:
        if src not in self._pinned:
            return c.DRV_ERROR_NOT_EXIST
        self._pinned.discard(src)
        return 0

    def halHostUnregisterEx(self, src: int, devid: int, flag: int) -> int:
        """Undo halHostRegister; the flag says which kind it was."""
        if self.machine.driver.first and flag & _TYPE_MASK >= c.HOST_REGISTER_MAX_TPYE:
            return c.DRV_ERROR_NOT_SUPPORT
        return self.halHostUnregister(src, devid)

    def halHostRegisterCapabilities(self, devid: int, module: int, capability: Any) -> int:
        """Say whether an engine can use registered host memory."""
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if capability is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not 0 <= module < c.DRV_ACC_MODULE_TYPE_MAX:
            return c.DRV_ERROR_NOT_SUPPORT
        capability.value = c.HOST_MEM_MAP_SUPPORTED
        return 0

    def halMemHostGetDevPointer(self, src: int, devid: int, dst: Any) -> int:
        """Return the device address of registered host memory, by the address it was registered at."""
        if not src or dst is None:
            return c.DRV_ERROR_PARA_ERROR
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if not self._known(self.machine.memory.find(src), src):
            return c.DRV_ERROR_INVALID_VALUE
        dst.value = src
        return 0

    def _known(self, block: Allocation | None, src: int) -> bool:
        return block is not None and block.base == src and block.kind is not Kind.DEVICE
