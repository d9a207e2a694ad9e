"""Task descriptions that only chips without STARS have a command for, and what these chips want to know besides.

The kinds that STARS shares live in ``chips.tasks``; where a command needs more than they say, a subclass adds it.
Device addresses are those of the memory as the scheduler sees it: translate them first (halMemAddressTranslate).
"""

from __future__ import annotations

from typing import ClassVar

from chips.tasks import AicpuKernel, EventRecord, Maintenance, MemcpyAsync, Task, TaskType
from npuhal.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedAicpuKernel(AicpuKernel):
    """An AICPU kernel with the size of its arguments in bytes, which only these chips are told."""

    type: ClassVar[TaskType] = TaskType.KERNEL_AICPU
    args_size: int


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
class TimedEventRecord(EventRecord):
    """An event record that stores its time (address = base + offset), or reports to a queue of its own."""

    type: ClassVar[TaskType] = TaskType.EVENT_RECORD
    timeline_base: int = 0
    timeline_offset: int = 0
    wait_cq_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueMaintenance(Maintenance):
    """Maintenance that reports to a queue of its own; ``terminal`` is the last task of its stream."""

    type: ClassVar[TaskType] = TaskType.MAINTENANCE
    terminal: bool = False
    wait_cq_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionIssue(Task):
    """Begin (flag 0) or end (flag 1) a group of kernels that run as one."""

    type: ClassVar[TaskType] = TaskType.FUSION_ISSUE
    flag: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaSend(Task):
    """Post entry ``wqe_index`` of RDMA queue ``sq_index``."""

    type: ClassVar[TaskType] = TaskType.RDMA_SEND
    sq_index: int
    wqe_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEventWait(Task):
    """Wait for an event of another device, told through mailbox and doorbells (physical addresses)."""

    type: ClassVar[TaskType] = TaskType.REMOTE_EVENT_WAIT
    event_id: int
    src_device_id: int
    dst_device_id: int
    src_mailbox: int
    src_doorbell: int
    dst_doorbell: int
    channel: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExit(Task):
    """Leave a model from one of its streams."""

    type: ClassVar[TaskType] = TaskType.MODEL_EXIT_GRAPH
    model_id: int
    stream_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelUpdate(Task):
    """Change a kernel that already waits: entry, arguments, dimensions."""

    type: ClassVar[TaskType] = TaskType.TASK_SQE_UPDATE
    pc: int
    args: int
    block_dim: int
    target_stream_id: int
    target_task_id: int
    block_dim_offset: int = 0
    saturation_mode: int = 0
    schem_mode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSwitchN(Task):
    """Activate one of several streams: by the index of the value at ``addr`` in a list of ``size`` values."""

    type: ClassVar[TaskType] = TaskType.STREAM_SWITCH_N
    addr: int
    values_addr: int
    streams_addr: int
    size: int
    element_size: int
    data_type: int = 0
    translated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSwitch(Task):
    """Go to a label if the variable at ``addr`` compares with ``value`` (condition numbers as in ``StreamSwitch``)."""

    type: ClassVar[TaskType] = TaskType.LABEL_SWITCH
    addr: int
    condition: int
    value: int
    true_label_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelGoto(Task):
    """Go to a label of the stream."""

    type: ClassVar[TaskType] = TaskType.LABEL_GOTO
    label_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLabelGoto(Task):
    """Go to a label of the model."""

    type: ClassVar[TaskType] = TaskType.STREAM_LABEL_GOTO
    label_id: int
    model_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveAicpuStream(Task):
    """Let the AICPU activate a stream: kernel name, arguments and their size."""

    type: ClassVar[TaskType] = TaskType.ACTIVE_AICPU_STREAM
    func_name: int
    args: int
    args_size: int
    kind: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStream(Task):
    """Tell the scheduler about a stream; the device facts come from ``HwtsFacts``."""

    type: ClassVar[TaskType] = TaskType.CREATE_STREAM
    pid: int
    attributes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetStreamMode(Task):
    """Say what a failed task does to its stream: 0 go on, 1 stop."""

    type: ClassVar[TaskType] = TaskType.SET_STREAM_MODE
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerTrace(Task):
    """Put a mark into the profiling trace, with or without telling the host."""

    type: ClassVar[TaskType] = TaskType.PROFILER_TRACE
    trace_id: int
    notify: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineProfiling(Task):
    """Start or stop (``type``) online profiling into a buffer."""

    type: TaskType = TaskType.ONLINEPROF_START  # type: ignore[misc]
    addr: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdcProfiling(Task):
    """Give the scheduler a profiling buffer of ``length`` bytes."""

    type: ClassVar[TaskType] = TaskType.ADCPROF
    addr: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionDumpAddress(Task):
    """Say where the kernels of a fusion group dump to."""

    type: ClassVar[TaskType] = TaskType.FUSIONDUMP_ADDR_SET
    model_id: int
    addr: int
    size: int
    flag: int = 0
