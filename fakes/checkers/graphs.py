"""What graphs use when they are executed: memory may have gone since they were captured, and other memory come there.

A graph keeps addresses. What was in use there when a task was captured must be in use, by the same owner, when an
execution is sent. Blocks of pools that were taken for the graph itself stay its own when they are closed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakes.checkers.access import ARGUMENTS
from fakes.checkers.names import at
from fakes.checkers.order import HOST
from fakes.checkers.report import STALE, Report

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.checkers.parts import Parts
    from fakes.checkers.queue import Submission
    from fakes.checkers.shadow import Work
    from fakes.executor.task import Task
    from fakes.machine.blocks import Allocation
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

CURE = "A graph keeps the addresses it was captured with: keep that memory, or capture again"
_EXECUTE = "model_execute"
_ARGUMENTS = ("param", "aic_param", "aiv_param")
"""Fields of kernel entries that point to their arguments."""
_UNIT = 64
"""Arguments of captured kernels begin at multiples of this; what is behind them in their last unit is zero."""


class Graphs:
    """Executions of graphs, in steps of the host."""

    def __init__(self, checks: Checks, parts: Parts) -> None:
        self._checks, self._parts = checks, parts
        self._entries: dict[tuple[int, int], dict[int, Submission]] = {}
        """By device and stream what was known when entries of a graph were made, by position."""
        self._sent: dict[SubmissionQueue, int] = {}
        """Queue of a graph -> the step in which its execution was sent that runs now, or was the last."""

    def begun(self, task: Task, sq: SubmissionQueue) -> None:
        """A task lets a queue of a graph run: one that executes the graph, or a task of the graph itself."""
        if task.sq in task.device.models:
            sent = self._sent.get(task.sq)
        else:
            sent = self._checks.step_of(task.sq, task.position)
        if sent is not None and sq in task.device.models:
            self._sent[sq] = sent

    def forget(self, sq: SubmissionQueue) -> None:
        """A queue is gone, or lent to another stream."""
        self._sent.pop(sq, None)

    # -- entries ------------------------------------------------------------------------------------------------------

    def recorded(self, device: int, stream: int, position: int, count: int, known: Submission) -> None:
        """Entries of a stream of a graph were made or changed."""
        self._entries.setdefault((device, stream), {}).update(dict.fromkeys(range(position, position + count), known))

    def entries(self, device: int, stream: int) -> dict[int, Submission]:
        """Return what is known of the entries of a stream, by position."""
        return dict(self._entries.get((device, stream), {}))

    def captured(self, task: Task, known: Submission | None) -> int | None:
        """Return the host's step from which on a task means what it does; None where that is not known.

        That is when it was submitted or captured, or when the host has written its arguments last. What streams have
        changed counts from the execution on.
        """
        if known is None or task.sq not in task.device.models:
            return None if known is None else known.stamp.tick
        step, memory = known.stamp.tick, self._checks.machine.memory
        for address, size, how in task.touched or ():
            block = memory.find(address) if how == ARGUMENTS else None
            if block is None:
                continue
            low = block.pointer + address - block.base
            for segment in self._checks.races.shadow.within(low, low + size):
                if segment.write is None:
                    continue
                if segment.write.actor != HOST:
                    return self._sent.get(task.sq)
                step = max(step, segment.write.tick)
        return step

    def executed(self, task: Task, captured: int, block: Allocation, address: int, work: Work) -> None:
        """A task of a graph has touched memory; `captured` is the host's step in which it was put into the graph."""
        sent, model = self._sent.get(task.sq), task.device.models.number_of(task.sq)
        part = self._parts.there(block, address, captured)
        if part is None or sent is None or part.graph == model or part.died > sent or not self._checks.on(STALE):
            return
        who = self._checks.who(work)
        now = self._parts.there(block, address, sent)
        instead = "nothing is in use there now" if now is None else f"{now} is there now"
        text = f"{who} uses {part}, which was given back{at(part.freed)} before this execution was sent; {instead}"
        self._checks.report(Report(STALE, text, CURE, (who,)), (work.stream, work.position, part.low, captured))

    # -- executions that are still to come ----------------------------------------------------------------------------

    def queued(self, low: int, high: int) -> list[str]:
        """Name the tasks of graphs that use addresses, of graphs whose execution is queued or under way."""
        found = []
        for device in self._checks.machine.devices:
            for model in self._pending(device):
                for sq in device.models.queues_of(model):
                    for position in range(sq.tail):
                        if self._uses(device, sq, position, low, high):
                            found.append(self._checks.queued(device, sq, position))
        return found

    def _pending(self, device: Device) -> set[int]:
        """Return the models that are being executed, or will be."""
        numbers = {number for number in device.models.numbers() if device.models.busy(number)}
        if not device.models.numbers():
            return numbers
        executor = self._checks.machine.executor
        for sq in device.queues.values():
            for step in range(0 if sq in device.models else sq.pending):
                task = executor.decode_at(device, sq, (sq.head + step) % sq.depth)
                if task.layout == _EXECUTE and "model_id" in task.fields:
                    numbers.add(task.fields["model_id"])
        return numbers

    def _uses(self, device: Device, sq: SubmissionQueue, position: int, low: int, high: int) -> bool:
        from fakes.executor import memory as copies

        executor = self._checks.machine.executor
        if (copy := executor.peek(device, sq, position)) is not None:
            return any(at_ < high and low < at_ + size for dst, src, size in copies.ends(copy) for at_ in (dst, src))
        task = executor.decode_at(device, sq, position)
        return any(low <= word < high for word in self._words(task))

    def _words(self, task: Task) -> Iterator[int]:
        """Yield the first arguments of a kernel."""
        memory = self._checks.machine.memory
        for field in _ARGUMENTS:
            address = task.fields.get(field, 0)
            block = memory.find(address) if address else None
            if block is not None and address + _UNIT <= block.base + block.span:
                yield from (ctypes.c_uint64 * (_UNIT // 8)).from_address(block.pointer + address - block.base)
