"""Copies, fills, cache operations and value writes."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.types import Task, TaskType, described
from npuhal.records import dataclass


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


class Report(enum.IntEnum):
    """Whether a value write asks for a completion entry (TaskWrCqeFlag)."""

    DEFAULT = 0
    NEVER = 1
    ALWAYS = 2


class WaitFor(enum.IntEnum):
    """Condition of a memory wait; all but the first two ignore bits the value does not name."""

    GREATER_OR_EQUAL = 0
    EQUAL = 1
    AND = 2
    NOR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyConfig:
    """QoS of one copy as the caller asked for it; ``cross_device`` when it leaves the device."""

    qos: int = 0
    part_id: int = 0
    cross_device: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UbJob:
    """A copy prepared by the driver for UB: where its queue is, and the work entry (64 bytes) for a direct one."""

    die_id: int = 0
    function_id: int = 0
    jetty_id: int = 0
    pi: int = 0
    wqe: bytes = b""


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
class WriteValue(Task):
    """Write 1 to 32 bytes: ``size_code`` is log2 of the byte count (0..5), ``data`` that many bytes or fewer."""

    type: ClassVar[TaskType] = TaskType.WRITE_VALUE
    addr: int
    size_code: int
    data: bytes
    report: Report = Report.DEFAULT


@described
class WriteValuePointer(Task):
    """A value write described by a 32-byte block in device memory."""

    type: ClassVar[TaskType] = TaskType.WRITE_VALUE
    pointer: int
    report: Report = Report.DEFAULT


@described
class MemWriteValue(Task):
    """Write a 64-bit value to memory when the stream gets there; address 0 makes an invalid SQE."""

    type: ClassVar[TaskType] = TaskType.MEM_WRITE_VALUE
    addr: int
    value: int
    size_code: int = 3


@described
class CaptureRecord(MemWriteValue):
    """An event record in a captured graph: one byte."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_RECORD
    size_code: int = 0


@described
class IpcRecord(MemWriteValue):
    """An inter-process event record: one byte."""

    type: ClassVar[TaskType] = TaskType.IPC_RECORD
    size_code: int = 0


@described
class MemWaitValue(Task):
    """Wait until memory compares with a value as ``flag`` says (WaitFor).

    Runs as a small program: ``function`` (256-byte aligned) of ``function_bytes`` in device memory, a private flag at
    ``flag_addr`` (size code as for writes) and a mark that it paused its queue at ``pause_addr``.  A wait in a graph
    finds the number of its queue at ``sq_id_addr``.
    """

    type: ClassVar[TaskType] = TaskType.MEM_WAIT_VALUE
    addr: int
    value: int
    flag: int = 0
    size_code: int = 3
    function: int = 0
    function_bytes: int = 0
    flag_addr: int = 0
    pause_addr: int = 0
    sq_id_addr: int = 0


@described
class CaptureWait(MemWaitValue):
    """An event wait in a captured graph."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_WAIT
    size_code: int = 0


@described
class IpcWait(MemWaitValue):
    """An inter-process event wait."""

    type: ClassVar[TaskType] = TaskType.IPC_WAIT
    size_code: int = 0


@described
class CaptureRecordExternal(Task):
    """An event record of a graph on memory that is attached later: a no-op until ``addr`` or ``pointer`` is set."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_RECORD_EXTERNAL
    addr: int = 0
    value: int = 1
    pointer: int = 0


@described
class CaptureWaitExternal(Task):
    """An event wait of a graph on memory that is attached later: three no-ops until ``addr`` is set.

    The word at ``addr`` holds where the event's byte lies, 0 for none; the one at ``sq_id_addr`` the queue it runs in.
    """

    type: ClassVar[TaskType] = TaskType.CAPTURE_WAIT_EXTERNAL
    addr: int = 0
    value: int = 1
    function: int = 0
    function_bytes: int = 0
    flag_addr: int = 0
    sq_id_addr: int = 0


@described
class UpdateAddress(Task):
    """Tell the task scheduler that ``length`` bytes at ``addr`` changed."""

    type: ClassVar[TaskType] = TaskType.UPDATE_ADDRESS
    addr: int
    length: int


@described
class UbDoorbell(Task):
    """Ring one or two UB doorbells; ``source`` says who posted the work."""

    type: ClassVar[TaskType] = TaskType.UB_DB_SEND
    jobs: tuple[UbJob, ...]
    source: int = 0
    report: bool = False


@described
class DirectSend(Task):
    """Send one UB work entry with the SQE: 64 bytes of ``job.wqe`` (``wqe_size`` 0) or 128 (1)."""

    type: ClassVar[TaskType] = TaskType.DIRECT_SEND
    job: UbJob
    wqe_size: int = 0
    report: bool = False
    failed: bool = False


@described
class RdmaDoorbell(Task):
    """Ring an RDMA doorbell: ``index`` names it (die, function, register), ``info`` is the 64-bit value.

    On a stream bound to a model the value is worked out on the device in two condition SQEs, ``sequence`` 1 and 2.
    """

    type: ClassVar[TaskType] = TaskType.RDMA_DB_SEND
    index: int
    info: int
    sequence: int = 0
    exec_times_addr: int = 0
    depth_bits: int = 0
