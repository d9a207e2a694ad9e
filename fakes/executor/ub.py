"""Copies over UB: work queue elements behind the entry, or rung by a doorbell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import NotModelled, TaskFault
from fakes.executor.copy import carry, engine_for
from fakes.faults import Effect
from fakes.machine.wqe import WQE, WQE_MARK
from fakes.schedule.scheduler import copy_ns

if TYPE_CHECKING:
    from fakes.executor import Task

def _follow(task: Task, address: int) -> None:
    chain = task.device.dma.get(address)
    if chain is None:
        raise TaskFault(f"no copy is kept at {address:#x}: never created, or destroyed", Effect.SQE_ERROR.value)
    total = 0
    for dst, src, size in chain:
        carry(task, dst, src, size)
        total += size
    engine = engine_for(task, chain[0][0], chain[0][1])
    task.device.wake()
    task.detail = f"{engine} {total} bytes over UB {chain[0][1]:#x} -> {chain[0][0]:#x}"
    task.occupy(copy_ns(engine, total), engine)


def chain_of(task: Task) -> int | None:
    """Return where the copies of a queued UB entry are kept; None where that is not known."""
    if task.layout == "async_dma":
        mark, address, _size = WQE.unpack(task.following(1))
        return int(address) if mark == WQE_MARK else None
    queued = task.device.jetties.get(task.fields["jetty_1"], [])
    index = task.fields["pi_1"]
    return queued[index - 1] if 1 <= index <= len(queued) else None


def direct(task: Task) -> int:
    """ASYNCDMA: the work queue element follows in the ring."""
    mark, address, _size = WQE.unpack(task.following(1))
    if mark != WQE_MARK:
        text = "the entry behind an ASYNCDMA task is no work queue element of this driver"
        raise TaskFault(text, Effect.SQE_ERROR.value)
    _follow(task, address)
    return 1 + task.fields["sqe_length"]


def doorbell(task: Task) -> int:
    """Doorbell: runs what the driver queued at the jetty up to the producer index."""
    fields = task.fields
    if fields["doorbell_num"] != 1:
        raise NotModelled("doorbell for two jetties")
    queued = task.device.jetties.get(fields["jetty_1"], [])
    index = fields["pi_1"]
    if not 1 <= index <= len(queued):
        raise TaskFault(f"jetty {fields['jetty_1']} has {len(queued)} elements, not {index}", Effect.SQE_ERROR.value)
    _follow(task, queued[index - 1])
    return 1 + fields["sqe_length"]


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {}
STARS_V2: Mapping[str, tuple[str, Handler]] = {"async_dma": ("copy", direct), "ub_doorbell": ("copy", doorbell)}
