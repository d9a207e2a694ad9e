"""Work that other engines find by a doorbell: UB and RDMA."""

from __future__ import annotations

from typing import ClassVar

from chips.tasks.types import Task, TaskType, described
from npuhal.records import dataclass

__all__ = [
    "DirectSend",
    "RdmaDoorbell",
    "RdmaPiValueModify",
    "UbDoorbell",
    "UbJob",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class UbJob:
    """A copy prepared by the driver for UB: where its queue is, and the work entry (64 bytes) for a direct one."""

    die_id: int = 0
    function_id: int = 0
    jetty_id: int = 0
    pi: int = 0
    wqe: bytes = b""


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


@described
class RdmaPiValueModify(Task):
    """Correct the producer indices of RDMA queues before a replay: device addresses of the doorbell values.

    ``table_addr`` is where the list of addresses goes, ``trace_addr`` space for the old values.
    """

    type: ClassVar[TaskType] = TaskType.RDMA_PI_VALUE_MODIFY
    addresses: tuple[int, ...]
    function: int = 0
    function_bytes: int = 0
    table_addr: int = 0
    trace_addr: int = 0
