"""Copies and reductions of chips without STARS.

Source: ToCommandBodyForMemcpyAsyncTask, ...ReduceAsyncV2Task and neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.tasks import CopyKind, MemcpyAsync, Task, TaskType
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_CONVERTED, _BY_ADDRESS = 1, 2  # address conversion of a copy: a prepared transfer, plain addresses
_NO_ADDRESS = (1 << 64) - 1
_LOCAL_COPIES = frozenset({CopyKind.SDMA, CopyKind.ADD, CopyKind.SDMA_BY_ADDRESS})
_LOW_32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class DmaAddress:
    """A prepared PCIe transfer: addresses, bytes, kind of list and its offset (struct DMA_ADDR, ascend_hal_base.h)."""

    src: int
    dst: int
    length: int
    flag: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DmaCopy(MemcpyAsync):
    """A copy over PCIe with its prepared transfer."""

    type: ClassVar[TaskType] = TaskType.MEMCPY
    dma: DmaAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceAsync(Task):
    """Reduce ``size`` bytes into ``dst``; overflow is noted at ``overflow_addr``.  ``kind`` as ``CopyKind``."""

    type: ClassVar[TaskType] = TaskType.REDUCE_ASYNC_V2
    src: int
    dst: int
    size: int
    overflow_addr: int
    kind: int = 10
    data_type: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateL2Addr(Task):
    """Give the device the page table of a process's L2 buffer."""

    type: ClassVar[TaskType] = TaskType.CREATE_L2_ADDR
    l2_base: int
    page_table: int
    pid: int


def transfer(copy: MemcpyAsync, dma: Any) -> DmaCopy:
    """Return the copy by a transfer that the driver has prepared (struct DMA_ADDR)."""
    chain = dma.phyAddr
    address = DmaAddress(
        src=chain.src or 0, dst=chain.dst or 0, length=chain.len, flag=chain.flag, offset=dma.offsetAddr.offset
    )
    return DmaCopy(src=copy.src, dst=copy.dst, size=copy.size, kind=copy.kind, dma=address)


def _copy_layout(task: MemcpyAsync) -> str:
    by_offsets = task.kind == CopyKind.SDMA_BY_ADDRESS and task.offsets is not None
    return "memcpy_offsets" if by_offsets else "memcpy"


def _copy(task: MemcpyAsync, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    if env.online and task.kind not in _LOCAL_COPIES:
        raise ValueError(
            f"kind = {task.kind!r}: a copy between host and device needs a prepared transfer; "
            "describe it with DmaCopy (halMemcpy descriptors)"
        )
    fields = {"src": task.src, "dst": task.dst, "length": task.size, "dir": task.kind, "data_type": task.data_type}
    if task.kind != CopyKind.SDMA_BY_ADDRESS:
        return fields
    fields["convert"] = _BY_ADDRESS
    if task.offsets is None:
        return fields | {"dma_offset": _NO_ADDRESS}
    src, dst = task.offsets
    return fields | {
        "src_offset_low": src & _LOW_32,
        "src_offset_high": src >> 32,
        "dst_offset_low": dst & _LOW_32,
        "dst_offset_high": dst >> 32,
    }


def _dma_copy(task: DmaCopy, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "src": task.dma.src,
        "dst": task.dma.dst,
        "length": task.dma.length,
        "copy_type": task.dma.flag,
        "dir": task.kind,
        "convert": _CONVERTED,
        "dma_offset": task.dma.offset,
    }


def _reduce(task: ReduceAsync, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "src": task.src,
        "dst": task.dst,
        "overflow": task.overflow_addr,
        "length": task.size,
        "dir": task.kind,
        "data_type": task.data_type,
    }


RULES = (
    Rule(
        MemcpyAsync,
        _copy,
        quiet=True,
        layout=_copy_layout,
        samples=(
            MemcpyAsync(src=1, dst=2, size=3),
            MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.SDMA_BY_ADDRESS, offsets=(4, 5)),
        ),
    ),
    Rule(
        DmaCopy,
        _dma_copy,
        quiet=True,
        layout=lambda task: "memcpy",
        samples=(DmaCopy(src=1, dst=2, size=3, kind=CopyKind.PCIE, dma=DmaAddress(src=1, dst=2, length=3)),),
    ),
    Rule(ReduceAsync, _reduce, quiet=True),
    Rule(CreateL2Addr, named("l2_base", "page_table", "pid")),
)
"""Builders of this module."""
