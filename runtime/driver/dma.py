"""Copies of rows and of many pieces, and copies that the driver prepares for an SQE (ascend_hal_base.h)."""

from __future__ import annotations

import ctypes
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime.driver.calls import HalCalls

_WQE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Plane:
    """Rows of `width` bytes whose starts lie `*_pitch` bytes apart."""

    dst: int
    dst_pitch: int
    src: int
    src_pitch: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A copy made ready for UB: where its queue is, and the work entry for a direct send.

    `size` is how much of the copy it does; the rest needs another one.
    """

    die_id: int
    function_id: int
    jetty_id: int
    pi: int
    wqe: bytes
    size: int
    address: int


class CopyDriver(HalCalls):
    """The DMA chapter of the HAL, and the copies that know more than one address pair."""

    def rows(self, plane: Plane, direction: int) -> None:
        """Copy rows now; `direction` is a DRV_MEMCPY_* between host and device."""
        request = s.MEMCPY2D()
        request.type = c.DEVMM_MEMCPY2D_SYNC
        _fill(request.copy2d, plane, direction)
        self.check(self.hal.halMemcpy2D(ctypes.byref(request)), "halMemcpy2D", f"{plane}")

    def chain_rows(self, plane: Plane, direction: int) -> Any:
        """Build a PCIe DMA chain for rows; give it back with `free_rows`."""
        dma, request = s.DMA_ADDR(), s.MEMCPY2D()
        request.type = c.DEVMM_MEMCPY2D_ASYNC_CONVERT
        _fill(request.copy2dAsync.copy2dInfo, plane, direction)
        request.copy2dAsync.dmaAddr = ctypes.addressof(dma)
        self.check(self.hal.halMemcpy2D(ctypes.byref(request)), "halMemcpy2D", f"{plane}")
        return dma

    def free_rows(self, dma: Any) -> None:
        """Free a chain of rows."""
        request = s.MEMCPY2D()
        request.type = c.DEVMM_MEMCPY2D_ASYNC_DESTROY
        request.copy2dAsync.dmaAddr = ctypes.addressof(dma)
        self.check(self.hal.halMemcpy2D(ctypes.byref(request)), "halMemcpy2D", "free a chain")

    def batch(self, dsts: list[int], srcs: list[int], sizes: list[int]) -> None:
        """Copy many pairs now; at most DEVMM_MEMCPY_BATCH_MAX_COUNT."""
        kind = ctypes.c_uint64 * len(sizes)
        rc = self.hal.halMemcpyBatch(kind(*dsts), kind(*srcs), kind(*sizes), len(sizes))
        self.check(rc, "halMemcpyBatch", f"{len(sizes)} pairs")

    def by_sdma(self, dst: int, capacity: int, src: int, size: int) -> None:
        """Copy between devices by SDMA now."""
        rc = self.hal.halSdmaCopy(dst, capacity, src, size)
        self.check(rc, "halSdmaCopy", f"{src:#x} -> {dst:#x}, {size} bytes")

    # -- over UB ---------------------------------------------------------------------------------------------------

    def prepare(self, sq_id: int, direction: int, dst: int, src: int, size: int) -> Prepared:
        """Prepare one copy for the SQE of a queue; `direction` is a TRS_ASYNC_*."""
        asked, made = s.halAsyncDmaInputPara(), s.halAsyncDmaOutputPara()
        asked.type, asked.sqId, asked.dir, asked.len = c.DRV_NORMAL_TYPE, sq_id, direction, size
        asked.async_dma_type, asked.src, asked.dst = c.DRV_ASYNC_DMA_TYPE_NORMAL, src, dst
        rc = self.hal.halAsyncDmaCreate(self.device_id, ctypes.byref(asked), ctypes.byref(made))
        self.check(rc, "halAsyncDmaCreate", f"{src:#x} -> {dst:#x}, {size} bytes")
        return _prepared(made)

    def prepare_rows(self, sq_id: int, direction: int, plane: Plane) -> Prepared:
        """Prepare a copy of rows."""
        asked, made = s.halAsyncDmaInput2DPara(), s.halAsyncDmaOutputPara()
        asked.type, asked.sqId, asked.dir = c.DRV_NORMAL_TYPE, sq_id, direction
        asked.dst, asked.dpitch, asked.src, asked.spitch = plane.dst, plane.dst_pitch, plane.src, plane.src_pitch
        asked.width, asked.height = plane.width, plane.height
        rc = self.hal.halAsyncDmaCreate2D(self.device_id, ctypes.byref(asked), ctypes.byref(made))
        self.check(rc, "halAsyncDmaCreate2D", f"{plane}")
        return _prepared(made)

    def prepare_batch(self, sq_id: int, direction: int, dsts: list[int], srcs: list[int], sizes: list[int]) -> Prepared:
        """Prepare many copies as one."""
        asked, made = s.halAsyncDmaInputBatchPara(), s.halAsyncDmaOutputPara()
        columns = [(ctypes.c_uint64 * len(column))(*column) for column in (dsts, srcs, sizes)]
        asked.type, asked.sqId, asked.dir, asked.count = c.DRV_NORMAL_TYPE, sq_id, direction, len(sizes)
        asked.dst, asked.src, asked.len = map(ctypes.addressof, columns)
        rc = self.hal.halAsyncDmaCreateBatch(self.device_id, ctypes.byref(asked), ctypes.byref(made))
        self.check(rc, "halAsyncDmaCreateBatch", f"{len(sizes)} pairs")
        return _prepared(made)

    def free(self, sq_id: int, prepared: Prepared) -> None:
        """Free what `prepare` made, when its task is done."""
        what = s.halAsyncDmaDestoryPara()
        what.type, what.sqId, what.size, what.wqe = c.DRV_NORMAL_TYPE, sq_id, len(prepared.wqe), prepared.address
        rc = self.hal.halAsyncDmaDestory(self.device_id, ctypes.byref(what))
        self.check(rc, "halAsyncDmaDestory")

    def free_rows_ub(self, sq_id: int, prepared: Prepared) -> None:
        """Free what `prepare_rows` made."""
        self._free_by_index("halAsyncDmaDestroy2D", s.halAsyncDmaDestroy2DPara(), sq_id, prepared)

    def free_batch(self, sq_id: int, prepared: Prepared) -> None:
        """Free what `prepare_batch` made."""
        self._free_by_index("halAsyncDmaDestroyBatch", s.halAsyncDmaDestroyBatchPara(), sq_id, prepared)

    def _free_by_index(self, call: str, what: Any, sq_id: int, prepared: Prepared) -> None:
        what.type, what.sqId, what.ci = c.DRV_NORMAL_TYPE, sq_id, prepared.pi
        self.check(getattr(self.hal, call)(self.device_id, ctypes.byref(what)), call)


def _fill(copy: Any, plane: Plane, direction: int) -> None:
    copy.dst, copy.dpitch, copy.src, copy.spitch = plane.dst, plane.dst_pitch, plane.src, plane.src_pitch
    copy.width, copy.height, copy.direction = plane.width, plane.height, direction


def _prepared(made: Any) -> Prepared:
    address = int(made.wqe or 0)
    wqe = ctypes.string_at(address, min(made.size or _WQE_BYTES, _WQE_BYTES)) if address else b""
    return Prepared(made.dieId, made.functionId, made.jettyId, made.pi, wqe, int(made.fixedSize), address)
