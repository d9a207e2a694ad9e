"""HAL chapter "dma", the form for SQEs: copies that a task carries (hal_semantics 6, halAsyncDmaCreate)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.executor.ub import WQE, WQE_MARK
from fakes.hal.chapter import Chapter
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.hal.dma import Piece
    from fakes.machine.card import Device
    from fakes.machine.lent import Lent
    from fakes.machine.machine import Machine

_JETTY = 0x40
_BATCH_LIMIT = 2048


class AsyncDmaCalls(Chapter):
    """Functions of ascend_hal_base.h that prepare copies for the queue; over PCIe a chain, over UB an element."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._elements: dict[int, tuple[Device, int, Lent]] = {}
        self._copies: dict[int, Piece] = {}

    @property
    def _ub(self) -> bool:
        return self.machine.options.args == "ub"

    def halAsyncDmaCreate(self, devid: int, in_: Any, out: Any) -> int:
        """Prepare one copy; the form that updates a queue slot is not modelled."""
        device = self.device(devid)
        if device is None or in_ is None or out is None or not in_.len or not in_.src or not in_.dst:
            return c.DRV_ERROR_INVALID_VALUE
        if not device.opened:
            return c.DRV_ERROR_INVALID_DEVICE
        if in_.async_dma_type != c.DRV_ASYNC_DMA_TYPE_NORMAL:
            return c.DRV_ERROR_NOT_SUPPORT
        if not self._ub:
            return self.machine.dma.drvMemConvertAddr(in_.src, in_.dst, in_.len, out.dma_addr)
        return self._element(device, [(in_.dst, in_.src, in_.len)], out)

    def _element(self, device: Device, pieces: list[Piece], out: Any) -> int:
        """Write a work queue element for the caller to carry, and queue it at the jetty for the doorbell form."""
        memory = self.machine.memory
        try:
            for dst, src, size in pieces:
                memory.pointer(src, size, "halAsyncDmaCreate from")
                memory.pointer(dst, size, "halAsyncDmaCreate to")
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        address = self.machine.dma.keep(device.index, pieces)
        total = sum(size for _, _, size in pieces)
        lent = memory.lend(WQE.pack(WQE_MARK, address, total))
        queued = device.jetties.setdefault(_JETTY + device.index, [])
        queued.append(address)
        self._elements[lent.address] = (device, address, lent)
        out.dieId, out.functionId, out.jettyId = device.identity.die_id, 2, _JETTY + device.index
        out.size, out.wqe, out.pi, out.fixedSize = WQE.size, lent.address, len(queued), total
        return 0

    def halAsyncDmaDestory(self, devid: int, para: Any) -> int:
        """Free what halAsyncDmaCreate prepared."""
        device = self.device(devid)
        if device is None or para is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not device.opened:
            return c.DRV_ERROR_INVALID_DEVICE
        if not self._ub:
            return self.machine.dma.destroy_at(para.dma_addr or 0)
        found = self._elements.pop(para.wqe or 0, None)
        if found is None:
            return c.DRV_ERROR_INVALID_VALUE
        found[0].dma.pop(found[1], None)
        found[2].close()
        return 0

    def halAsyncDmaCreate2D(self, devid: int, in_: Any, out: Any) -> int:
        """Prepare a copy of rows; over UB only."""
        device = self.device(devid)
        if device is None or in_ is None or out is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not self._ub:
            return c.DRV_ERROR_NOT_SUPPORT
        if not in_.width or not 0 < in_.height <= 5 << 20 or in_.dpitch < in_.width or in_.spitch < in_.width:
            return c.DRV_ERROR_INVALID_VALUE
        dst, src = in_.dst or 0, in_.src or 0
        rows = [(dst + row * in_.dpitch, src + row * in_.spitch, in_.width) for row in range(in_.height)]
        return self._element(device, rows, out)

    def halAsyncDmaCreateBatch(self, devid: int, in_: Any, out: Any) -> int:
        """Prepare many copies as one; over UB only."""
        device = self.device(devid)
        if device is None or in_ is None or out is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not self._ub:
            return c.DRV_ERROR_NOT_SUPPORT
        if not 1 <= in_.count <= _BATCH_LIMIT or not in_.dst or not in_.src or not in_.len:
            return c.DRV_ERROR_INVALID_VALUE
        columns = [(ctypes.c_uint64 * in_.count).from_address(at) for at in (in_.dst, in_.src, in_.len)]
        return self._element(device, list(zip(*columns, strict=True)), out)

    def halAsyncDmaDestroy2D(self, devid: int, para: Any) -> int:
        """Free by consumer index what was queued at the jetty."""
        device = self.device(devid)
        if device is None or para is None:
            return c.DRV_ERROR_INVALID_VALUE
        return 0 if self._ub else c.DRV_ERROR_NOT_SUPPORT

    def halAsyncDmaDestroyBatch(self, devid: int, para: Any) -> int:
        """Free by consumer index what was queued at the jetty."""
        return self.halAsyncDmaDestroy2D(devid, para)

    # -- the host's own asynchronous copy -----------------------------------------------------------------------------

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
