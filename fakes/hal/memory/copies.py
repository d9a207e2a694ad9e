"""HAL chapter "memory": copies and fills that the host does at once (hal_semantics 7)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.hal.chapter import Chapter
from fakes.machine.blocks import Kind
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.hal.dma import Piece
    from fakes.machine.ports import Machine

_BATCH_LIMIT = 4096


class CopyCalls(Chapter):
    """Functions of ascend_hal_base.h that copy."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._copies: dict[int, Piece] = {}

    def _copy(self, dst: int, src: int, size: int, call: str) -> int:
        memory, cards = self.machine.memory, self.machine.devices
        if broken := [card.index for card in cards if not card.works]:
            for block in (memory.find(dst), memory.find(src)):
                if block is not None and block.kind is Kind.DEVICE and block.device in broken:
                    return c.DRV_ERROR_IOCRL_FAIL
        try:
            memory.copy(dst, src, size, call)
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.checks is not None:
            self.machine.checks.host_copy(dst, src, size, call)
        for card in cards:
            if card.waiting:
                card.wake()
        return 0

    def drvMemcpy(self, dst: int, dest_max: int, src: int, byte_count: int) -> int:
        """Copy at once, in any direction, without regard to streams."""
        if not dst or not src or not dest_max or dest_max < byte_count:
            return c.DRV_ERROR_INVALID_VALUE
        if byte_count == 0:
            return 0
        return self._copy(dst, src, byte_count, "drvMemcpy")

    def halMemcpy(self, dst: int, dst_size: int, src: int, count: int, info: Any) -> int:
        """Like drvMemcpy; with `info` only from device to host, and the first driver wants it."""
        if not self.machine.driver.first and not count:
            return 0
        if not dst or not src or not dst_size or dst_size < count or (info is None and self.machine.driver.first):
            return c.DRV_ERROR_INVALID_VALUE
        if info is not None and info.dir != c.DRV_MEMCPY_DEVICE_TO_HOST:
            return c.DRV_ERROR_NOT_SUPPORT
        return self.drvMemcpy(dst, dst_size, src, count)

    def halSdmaCopy(self, dst: int, dst_size: int, src: int, length: int) -> int:
        """Copy between devices by SDMA at once; the 950 family does not have it."""
        if not self.machine.driver.first:
            return c.DRV_ERROR_NOT_SUPPORT
        return self.drvMemcpy(dst, dst_size, src, length)

    def halMemcpyBatch(self, dst: Any, src: Any, size: Any, count: int) -> int:
        """Copy many pairs at once; each pair needs a side that is not plain host memory."""
        if dst is None or src is None or size is None or count == 0:
            return c.DRV_ERROR_PARA_ERROR
        if count > _BATCH_LIMIT:
            return c.DRV_ERROR_NOT_SUPPORT
        columns = [(ctypes.c_uint64 * count).from_address(ctypes.addressof(column)) for column in (dst, src, size)]
        memory = self.machine.memory
        for to, origin, _ in zip(*columns, strict=True):
            if not memory.owns(to) and not memory.owns(origin):
                return c.DRV_ERROR_INVALID_VALUE
        for to, origin, length in zip(*columns, strict=True):
            rc = self.drvMemcpy(to, length, origin, length)
            if rc:
                return rc
        return 0

    def halMemcpy2D(self, copy: Any) -> int:
        """Copy rows at once; the asynchronous forms build and free a DMA chain."""
        if copy is None:
            return c.DRV_ERROR_INVALID_VALUE
        if copy.type != c.DEVMM_MEMCPY2D_SYNC:
            return self.machine.dma.copy_2d(copy)
        rows = self.machine.dma.rows(copy.copy2d)
        if isinstance(rows, int):
            return rows
        for to, origin, length in rows:
            rc = self._copy(to, origin, length, "halMemcpy2D")
            if rc:
                return rc
        return 0

    def drvMemsetD8(self, dst: int, dest_max: int, value: int, count: int) -> int:
        """Fill bytes at once."""
        if not dst or count == 0 or count > dest_max:
            return c.DRV_ERROR_INVALID_VALUE
        try:
            ctypes.memset(self.machine.memory.pointer(dst, count, "drvMemsetD8 of", writes=True), value & 0xFF, count)
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.checks is not None:
            self.machine.checks.host_copy(dst, 0, count, "drvMemsetD8")
        return 0

    def drvFlushCache(self, _base: int, _length: int) -> None:
        """Flush: an empty function on a host."""

    def drvMemPrefetchToDevice(self, address: int, length: int, devid: int) -> int:
        """Prefetch managed memory: there is none that is not on its device already."""
        if self.device(devid) is None or not address or not length:
            return c.DRV_ERROR_INVALID_VALUE
        return 0

    def drvDeviceGetTransWay(self, _src: int, _dest: int, way: Any) -> int:
        """Say how two addresses are copied: SDMA (0), always."""
        if way is None:
            return c.DRV_ERROR_INVALID_VALUE
        way.value = 0
        return 0

    # -- in the background ---------------------------------------------------------------------------------------------

    def halMemCpyAsync(self, dst: int, dest_max: int, src: int, count: int, token: Any) -> int:
        """Start a copy; it is done by halMemCpyAsyncWaitFinish at the latest, and not before."""
        if not dst or not src or not count or dest_max < count or token is None:
            return c.DRV_ERROR_INVALID_VALUE
        number = len(self._copies) + 1
        while number in self._copies:
            number += 1
        self._copies[number] = (dst, src, count)
        token.value = number
        return 0

    def halMemCpyAsyncWaitFinish(self, token: int) -> int:
        """Wait for a copy and free its token."""
        copy = self._copies.pop(token, None)
        if copy is None:
            return c.DRV_ERROR_INVALID_VALUE
        memory = self.machine.memory
        dst, src, size = copy
        try:
            memory.copy(dst, src, size, "halMemCpyAsync")
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INNER_ERR
        if self.machine.checks is not None:
            self.machine.checks.host_copy(dst, src, size, "halMemCpyAsync")
        return 0
