"""UB work: doorbells, and work queue elements sent along with the entry (RtDavidStarsUbdma*Sqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule
from chips.tasks import DirectSend, UbDoorbell, UbJob

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_DOORBELL_MODE = 1
_FAILED = 21  # SQE type END: the work queue element could not be read
_WQE_BYTES = (64, 128)


def doorbell(at: Generation, env: EncodeEnv, ids: TaskIds, jobs: tuple[UbJob, ...], source: int) -> bytes:
    """Encode one or two doorbells; they never ask for a completion entry."""
    if not 1 <= len(jobs) <= 2:
        raise ValueError(f"jobs = {len(jobs)} doorbells: one entry rings 1 or 2; send more in further tasks")
    fields: dict[str, int] = {}
    for number, job in enumerate(jobs, 1):
        fields |= {
            f"jetty_{number}": job.jetty_id,
            f"function_{number}": job.function_id,
            f"pi_{number}": job.pi,
            f"die_{number}": job.die_id,
        }
    return at.encode(
        "ub_doorbell", env, ids, wr_cqe=0, mode=_DOORBELL_MODE, doorbell_num=len(jobs), source=source, **fields
    )


def wqe_bytes(job: UbJob, size: int) -> bytes:
    """Return a job's work queue element as ``size`` bytes, zeros behind what it has; longer ones are an error."""
    if len(job.wqe) > size:
        raise ValueError(f"wqe has {len(job.wqe)} bytes; this entry takes {size}")
    return job.wqe.ljust(size, b"\0")


def ub_doorbell(at: Generation, task: UbDoorbell, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a doorbell task."""
    return doorbell(at, env, ids, task.jobs, task.source)


def direct_send(at: Generation, task: DirectSend, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a work queue element of 64 or 128 bytes behind its entry."""
    if task.wqe_size not in (0, 1):
        raise ValueError(f"wqe_size = {task.wqe_size}: 0 stands for 64 bytes, 1 for 128")
    fields = {"type": _FAILED} if task.failed else {}
    head = at.encode(
        "ub_direct",
        env,
        ids,
        wqe_size=task.wqe_size,
        sqe_length=task.wqe_size + 1,
        jetty=task.job.jetty_id,
        function=task.job.function_id,
        die_id=task.job.die_id,
        **fields,
    )
    return head + wqe_bytes(task.job, _WQE_BYTES[task.wqe_size])


_JOB = UbJob(jetty_id=1, function_id=1, wqe=b"\1" * 64)

RULES = (
    Rule(UbDoorbell, ub_doorbell, ("ub_doorbell",), samples=(UbDoorbell(jobs=(_JOB,)),)),
    Rule(
        DirectSend,
        direct_send,
        ("ub_direct",),
        sqes=lambda task, env: task.wqe_size + 2,
        samples=(DirectSend(job=_JOB), DirectSend(job=UbJob(wqe=b"\1" * 128), wqe_size=1)),
    ),
)
"""Builders of this module."""
