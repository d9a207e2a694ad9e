"""Copies, fills and cache operations."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.doorbell import UbJob
from chips.tasks.types import Task, TaskType, described
from npuhal.records import dataclass

__all__ = [
    "Barrier",
    "Cmo",
    "CmoDescriptor",
    "CopyConfig",
    "CopyKind",
    "MemcpyAsync",
    "MemcpyDescriptor",
    "Memset",
    "SqeUpdate",
    "UpdateAddress",
]


class CopyKind(enum.IntEnum):
    """How an asynchronous copy travels (task_info.hpp, RT_MEMCPY_DIR_*)."""

    HOST_TO_DEVICE = 0
    DEVICE_TO_HOST = 1
    SDMA = 2
    HCCS = 3
    PCIE = 4
    SDMA_BY_ADDRESS = 5
    UB = 6
    ADD = 10
    MAX = 11
    MIN = 12
    EQUAL = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyConfig:
    """QoS of one copy as the caller asked for it; ``cross_device`` when it leaves the device."""

    qos: int = 0
    part_id: int = 0
    cross_device: bool = False


@described
class MemcpyAsync(Task):
    """An asynchronous copy or SDMA reduction of ``size`` bytes between device-visible addresses.

    ``data_type`` counts only for reductions (rtDataType_t: FP32 0, FP16 1, INT16 2, INT4 3, INT8 4, INT32 5, BFP16 6,
    ..., UINT32 10).  ``offsets`` belongs to SDMA_BY_ADDRESS: source and destination offset of 48 bits.  PCIe copies
    either let the task scheduler convert addresses (``kernel_convert``) or name a ready DMA descriptor queue
    (``dma_queue``, ``dma_count``); UB copies need ``ub``; ``doorbell`` picks the doorbell form (2D and batch copies).
    ``host_pid`` goes with copies that a CPU does in place of SDMA.
    """

    type: ClassVar[TaskType] = TaskType.MEMCPY
    src: int
    dst: int
    size: int
    kind: CopyKind = CopyKind.SDMA
    config: CopyConfig | None = None
    data_type: int = 0
    offsets: tuple[int, int] | None = None
    kernel_convert: bool = True
    dma_queue: int = 0
    dma_count: int = 0
    ub: UbJob | None = None
    doorbell: bool = False
    host_pid: int = 0


@described
class MemcpyDescriptor(Task):
    """A copy whose SDMA descriptor lies in device memory at ``descriptor`` (0: none could be made)."""

    type: ClassVar[TaskType] = TaskType.MEMCPY
    descriptor: int


@described
class SqeUpdate(Task):
    """A copy over part of an SQE that already waits in a ring.

    ``dsa``: the target is a DSA SQE, else any SQE (``offset`` bytes into it).
    """

    type: ClassVar[TaskType] = TaskType.MEMCPY
    src: int
    size: int
    target_sq: int
    target_position: int
    offset: int = 0
    dsa: bool = True
    ub: UbJob | None = None


@described
class Memset(Task):
    """Fill ``count`` bytes at ``addr`` with a 32-bit pattern."""

    type: ClassVar[TaskType] = TaskType.MEMSET
    addr: int
    value: int
    count: int


@described
class Cmo(Task):
    """A cache operation on a range: ``op_code`` 6 prefetch, 7 write back, 8 invalidate, 9 flush.

    The other fields matter on chips that take the operation as an FFTS entry (strided range, logical id).
    """

    type: ClassVar[TaskType] = TaskType.CMO
    op_code: int
    src: int
    length: int
    cmo_type: int = 0
    logic_id: int = 0
    qos: int = 0
    part_id: int = 0
    pmg: int = 0
    num_inner: int = 0
    num_outer: int = 0
    stride_inner: int = 0
    stride_outer: int = 0


@described
class CmoDescriptor(Task):
    """A cache operation whose descriptor lies in device memory."""

    type: ClassVar[TaskType] = TaskType.CMO
    descriptor: int
    op_code: int = 6


@described
class Barrier(Task):
    """Wait for up to six cache operations: pairs of (cmo type, id on the stream)."""

    type: ClassVar[TaskType] = TaskType.BARRIER
    ids: tuple[tuple[int, int], ...]


@described
class UpdateAddress(Task):
    """Tell the task scheduler that ``length`` bytes at ``addr`` changed."""

    type: ClassVar[TaskType] = TaskType.UPDATE_ADDRESS
    addr: int
    length: int
