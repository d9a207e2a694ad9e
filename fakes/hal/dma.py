"""HAL chapter "dma": descriptor chains for the PCIe DMA engine, and copies that a task carries (hal_semantics 6, 7)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.hal.chapter import Chapter
from fakes.machine.blocks import Kind
from fakes.machine.driver import QUEUE_NUMBERS, SCHEDULERS
from fakes.machine.queues import WQE, WQE_MARK
from fakes.machine.window import LARGE
from npuhal import constants as c

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakes.machine.card import Device
    from fakes.machine.lent import Lent
    from fakes.machine.memory import Memory
    from fakes.machine.ports import Machine

_ASYNC_HEIGHT_LIMIT = 5 << 20
_NODE_BYTES = 1 << 22
"""Longest piece one descriptor of the fake describes."""
_STRIDE = 0x1000
_JETTY = 0x40
_BATCH_LIMIT = 2048
_HOST_DIRECTIONS = (c.TRS_ASYNC_HOST_TO_DEVICE, c.TRS_ASYNC_DEVICE_TO_HOST)

Piece = tuple[int, int, int]
"""Destination, source, size."""


class Chain(list[Piece]):
    """The pieces of a chain, and where their bytes really are, while memory is as it was when that was looked up."""

    __slots__ = ("_ends", "_version")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        super().__init__(pieces)
        self._version = -1
        self._ends: list[tuple[memoryview, memoryview]] = []

    def copy_again(self, memory: Memory) -> bool:
        """Copy the pieces where their ends are known; False where they are to be looked up."""
        if self._version != memory.version or not self._ends:
            return False
        for target, source in self._ends:
            target[:] = source
        return True

    def look_up(self, memory: Memory) -> None:
        """Note where the pieces of a chain that is submitted again are, if all of them are small and the machine's."""
        if self._version != memory.version:
            self._version, self._ends = memory.version, []
        elif memory.caller is None and all(_is_small(memory, *piece) for piece in self):
            self._ends = [(_view(memory, dst, size), _view(memory, src, size)) for dst, src, size in self]


def _is_small(memory: Memory, dst: int, src: int, size: int) -> bool:
    """Whether a piece may be copied as it is: in memory that the program cannot unmap, and without a look for zeros."""
    blocks = memory.find(dst), memory.find(src)
    return size < LARGE and all(block is not None and block.kind is not Kind.REGISTERED for block in blocks)


def _view(memory: Memory, address: int, size: int) -> memoryview:
    """Return the bytes behind an address of the machine's."""
    return memoryview((ctypes.c_char * size).from_address(memory.pointer(address, size, "chain"))).cast("B")


class DmaCalls(Chapter):
    """Functions of ascend_hal_base.h that convert addresses, submit chains and wait for them."""

    _chains = 0

    def keep(self, devid: int, pieces: list[Piece]) -> int:
        """Store a chain where the device finds it; returns its address."""
        device = self.machine.devices[devid]
        self._chains += 1
        address = device.identity.dma_base + self._chains * _STRIDE
        device.dma[address] = Chain(
            (dst + at, src + at, min(_NODE_BYTES, size - at))
            for dst, src, size in pieces
            for at in range(0, size, _NODE_BYTES)
        )
        return address

    def _owner(self, *addresses: int) -> int | None:
        """Return the card that a copy between these addresses is for: whose memory it is, whoever pinned the rest."""
        blocks = [block for address in addresses if (block := self.machine.memory.find(address)) is not None]
        first = blocks[0].device if blocks else None
        return next((block.device for block in blocks if block.kind is Kind.DEVICE), first)

    def _build(self, devid: int, pieces: list[Piece], dma: Any) -> None:
        """Store a chain and describe it to the caller (DMA_ADDR)."""
        address = self.keep(devid, pieces)
        dma.phyAddr.src = address
        dma.phyAddr.dst = address + _STRIDE // 2
        dma.phyAddr.len = len(self.machine.devices[devid].dma[address])
        dma.phyAddr.flag = 1
        dma.phyAddr.priv = devid + 1
        dma.fixed_size = min(sum(size for _, _, size in pieces), 0xFFFFFFFF)
        dma.virt_id = devid

    def _chain(self, dma: Any) -> tuple[int, Chain] | None:
        """Return the device and the pieces of a chain, or None when it is not one of ours."""
        if dma is None:
            return None
        ends = dma.phyAddr
        owner = ends.priv
        if not owner:
            return None
        device = self.device(owner - 1)
        chain = None if device is None else device.dma.get(ends.src or 0)
        return None if chain is None else (owner - 1, chain)

    def drvMemConvertAddr(self, src: int, dst: int, length: int, dma: Any) -> int:
        """Build the chain for one copy between host and device."""
        if not src or not dst or not length or dma is None:
            return c.DRV_ERROR_INVALID_VALUE
        memory = self.machine.memory
        devid = self._owner(dst, src)
        if devid is None:
            return c.DRV_ERROR_INVALID_VALUE
        try:
            memory.pointer(src, length, "drvMemConvertAddr from")
            memory.pointer(dst, length, "drvMemConvertAddr to", writes=True)
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        self._build(devid, [(dst, src, length)], dma)
        return 0

    def drvMemDestroyAddr(self, dma: Any) -> int:
        """Free a chain."""
        found = self._chain(dma)
        if found is None:
            return c.DRV_ERROR_INVALID_VALUE
        del self.machine.devices[found[0]].dma[dma.phyAddr.src]
        dma.phyAddr.priv = None
        return 0

    def destroy_at(self, address: int) -> int:
        """Free the chain whose description (DMA_ADDR) lies at an address of the caller."""
        from npuhal import structs

        if not address:
            return c.DRV_ERROR_INVALID_VALUE
        memory = self.machine.memory
        dma = structs.DMA_ADDR.from_buffer_copy(memory.read(address, ctypes.sizeof(structs.DMA_ADDR)))
        rc = self.drvMemDestroyAddr(dma)
        memory.write(address, bytes(dma))
        return rc

    def halMemDestroyAddrBatch(self, pointers: Any, count: int) -> int:
        """Free many chains."""
        if pointers is None or not count:
            return c.DRV_ERROR_INVALID_VALUE
        for address in (ctypes.c_void_p * count).from_address(ctypes.addressof(pointers)):
            rc = self.destroy_at(address or 0)
            if rc:
                return rc
        return 0

    def halMemcpySumbit(self, dma: Any, flag: int) -> int:
        """Run a chain; asynchronous ones are done by halMemcpyWait at the latest."""
        found = self._chain(dma)
        if found is None or not 0 <= flag < c.MEMCPY_SUMBIT_MAX_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        memory, chain = self.machine.memory, found[1]
        if self.machine.checks is None and chain.copy_again(memory):
            return 0
        try:
            for dst, src, size in chain:
                memory.copy(dst, src, size, "halMemcpySumbit")
                if self.machine.checks is not None:
                    self.machine.checks.host_copy(dst, src, size, "halMemcpySumbit")
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INNER_ERR
        chain.look_up(memory)
        return 0

    def halMemcpyWait(self, dma: Any) -> int:
        """Wait for a chain: it has run when it was submitted."""
        return c.DRV_ERROR_INVALID_VALUE if self._chain(dma) is None else 0

    # -- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, copy: Any) -> int | list[Piece]:
        """Return the rows of a 2D copy (drvMem2D), or the error code for wrong arguments."""
        dst, src, width, height = copy.dst or 0, copy.src or 0, copy.width, copy.height
        if copy.direction not in (c.DRV_MEMCPY_HOST_TO_DEVICE, c.DRV_MEMCPY_DEVICE_TO_HOST):
            return c.DRV_ERROR_NOT_SUPPORT
        if not dst or not src or not width or not height or copy.dpitch < width or copy.spitch < width:
            return c.DRV_ERROR_INVALID_VALUE
        return [(dst + row * copy.dpitch, src + row * copy.spitch, width) for row in range(height)]

    def copy_2d(self, copy: Any) -> int:
        """Build or free the chain of an asynchronous 2D copy."""
        from npuhal import structs

        if copy.type not in (c.DEVMM_MEMCPY2D_ASYNC_CONVERT, c.DEVMM_MEMCPY2D_ASYNC_DESTROY):
            return c.DRV_ERROR_INVALID_VALUE
        both = copy.copy2dAsync
        if not both.dmaAddr:
            return c.DRV_ERROR_INVALID_VALUE
        if copy.type == c.DEVMM_MEMCPY2D_ASYNC_DESTROY:
            return self.destroy_at(both.dmaAddr)
        plane = both.copy2dInfo
        if plane.height > _ASYNC_HEIGHT_LIMIT:
            return c.DRV_ERROR_INVALID_VALUE
        rows = self.rows(plane)
        if isinstance(rows, int):
            return rows
        devid = self._owner(plane.dst or 0, plane.src or 0)
        if devid is None:
            return c.DRV_ERROR_INVALID_VALUE
        dma = structs.DMA_ADDR()
        self._build(devid, rows, dma)
        self.machine.memory.write(both.dmaAddr, bytes(dma))
        return 0


class AsyncDmaCalls(Chapter):
    """Functions of ascend_hal_base.h that prepare copies for the queue; over PCIe a chain, over UB an element."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._elements: dict[int, tuple[Device, int, Lent]] = {}

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
                memory.pointer(dst, size, "halAsyncDmaCreate to", writes=True)
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
        if not 0 <= devid < QUEUE_NUMBERS or para is None or para.tsId >= SCHEDULERS or para.type != c.DRV_NORMAL_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(devid)
        if device is None or not device.opened:
            return c.DRV_ERROR_INVALID_DEVICE
        if not self._ub:
            return self.machine.dma.destroy_at(para.dma_addr or 0)
        found = self._elements.pop(para.wqe or 0, None)
        if found is None:
            return c.DRV_ERROR_INVALID_VALUE
        found[0].dma.pop(found[1], None)
        found[2].close()
        return 0

    @staticmethod
    def _refused(devid: int, in_: Any, out: Any) -> int:
        """Return what every driver refuses of a copy of rows or of many, wherever the card is."""
        if in_ is None or out is None or not 0 <= devid < QUEUE_NUMBERS:
            return c.DRV_ERROR_INVALID_VALUE
        if in_.tsId >= SCHEDULERS or in_.type != c.DRV_NORMAL_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        return 0 if in_.dir in _HOST_DIRECTIONS else c.DRV_ERROR_NOT_SUPPORT

    def halAsyncDmaCreate2D(self, devid: int, in_: Any, out: Any) -> int:
        """Prepare a copy of rows; over UB only."""
        if code := self._refused(devid, in_, out):
            return code
        if not in_.src or not in_.dst or not in_.width or not 0 < in_.height <= _ASYNC_HEIGHT_LIMIT:
            return c.DRV_ERROR_INVALID_VALUE
        if in_.dpitch < in_.width or in_.spitch < in_.width or in_.fixedSize >= in_.width * in_.height:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(devid)
        if device is None or not self._ub:
            return c.DRV_ERROR_NOT_SUPPORT
        dst, src = in_.dst or 0, in_.src or 0
        rows = [(dst + row * in_.dpitch, src + row * in_.spitch, in_.width) for row in range(in_.height)]
        return self._element(device, rows, out)

    def halAsyncDmaCreateBatch(self, devid: int, in_: Any, out: Any) -> int:
        """Prepare many copies as one; over UB only."""
        if code := self._refused(devid, in_, out):
            return code
        if not 1 <= in_.count <= _BATCH_LIMIT or not in_.dst or not in_.src or not in_.len:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(devid)
        if device is None or not self._ub:
            return c.DRV_ERROR_NOT_SUPPORT
        columns = [(ctypes.c_uint64 * in_.count).from_address(at) for at in (in_.dst, in_.src, in_.len)]
        return self._element(device, list(zip(*columns, strict=True)), out)

    def halAsyncDmaDestroy2D(self, devid: int, para: Any) -> int:
        """Free by consumer index what was queued at the jetty."""
        if not 0 <= devid < QUEUE_NUMBERS or para is None or para.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        return 0 if self._ub and self.device(devid) is not None else c.DRV_ERROR_NOT_SUPPORT

    def halAsyncDmaDestroyBatch(self, devid: int, para: Any) -> int:
        """Free by consumer index what was queued at the jetty."""
        return self.halAsyncDmaDestroy2D(devid, para)

    # -- the host's own asynchronous copy -----------------------------------------------------------------------------
