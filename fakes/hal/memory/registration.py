"""HAL chapter "memory": host memory that cards may use, and device memory that the host may (hal_semantics 7)."""

from __future__ import annotations

from typing import Any

from fakes.hal.chapter import Chapter
from fakes.machine.blocks import Kind
from npuhal import constants as c

_REGISTER_TYPE_MASK = 0xFFFF


class RegistrationCalls(Chapter):
    """Functions of ascend_hal_base.h that register memory."""

    def halHostRegister(self, src: int, size: int, flag: int, devid: int, dst: Any) -> int:
        """Make host memory usable by a device, or device memory by the host (drvRegisterTpye in the low bits)."""
        kind = flag & _REGISTER_TYPE_MASK
        old = self.machine.plugin.name == "v100"
        if not old and dst is None:
            return c.DRV_ERROR_INVALID_VALUE
        if kind >= c.HOST_REGISTER_MAX_TPYE or (
            not old and kind not in (c.DEV_SVM_MAP_HOST, c.HOST_MEM_MAP_DEV_PCIE_TH, c.HOST_IO_MAP_DEV)
        ):
            return c.DRV_ERROR_NOT_SUPPORT
        if not src or not size:
            return c.DRV_ERROR_INVALID_VALUE if old else c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
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
        if block is not None:
            return c.DRV_ERROR_REPEATED_USERD
        if kind != c.HOST_MEM_MAP_DMA and src % memory.page:
            return c.DRV_ERROR_PARA_ERROR
        memory.register_host(src, size, devid)
        if dst is not None:
            dst.value = src
        return 0

    def halHostUnregister(self, src: int, devid: int) -> int:
        """Undo halHostRegister."""
        block = self.machine.memory.find(src)
        if self.device(devid) is None or block is None:
            return c.DRV_ERROR_NOT_EXIST
        if block.kind is Kind.DEVICE:
            self.machine.memory.hide(block)
            return 0
        if block.kind is not Kind.REGISTERED or block.base != src:
            return c.DRV_ERROR_NOT_EXIST
        self.machine.memory.free(src)
        return 0

    def halHostUnregisterEx(self, src: int, devid: int, _flag: int) -> int:
        """Undo halHostRegister; the flag says which kind it was."""
        return self.halHostUnregister(src, devid)

    def halHostRegisterCapabilities(self, devid: int, module: int, capability: Any) -> int:
        """Say whether an engine can use registered host memory."""
        if self.device(devid) is None or capability is None or not 0 <= module < c.DRV_ACC_MODULE_TYPE_MAX:
            return c.DRV_ERROR_INVALID_VALUE
        capability.value = c.HOST_MEM_MAP_SUPPORTED
        return 0

    def halMemHostGetDevPointer(self, src: int, devid: int, dst: Any) -> int:
        """Return the device address of registered host memory, by the address it was registered at."""
        block = self.machine.memory.find(src)
        known = block is not None and block.base == src and block.kind is not Kind.DEVICE
        if self.device(devid) is None or dst is None or not known:
            return c.DRV_ERROR_INVALID_VALUE
        dst.value = src
        return 0
