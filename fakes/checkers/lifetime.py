"""Memory that is used when it is not the program's: freed too early, used too late, or too small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.checkers.graphs import CURE
from fakes.checkers.order import Actor
from fakes.checkers.report import BOUNDS, STALE, UAF, Report
from fakes.checkers.shadow import Work
from npuhal.words import count

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.checkers.names import CallSite
    from fakes.errors import MemoryFault
    from fakes.executor.task import Task
    from fakes.machine.blocks import Allocation

_KEPT = 1024


class Lifetimes:
    """When blocks came and went, in steps of the host, and who had them before."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._born: dict[Allocation, int] = {}
        self._freed: dict[int, tuple[Allocation, str, CallSite | None]] = {}
        """First address -> what was there, how it is named, and where it was freed."""

    def allocated(self, block: Allocation, tick: int) -> None:
        """A block came into being."""
        self._born[block] = tick

    def freed(
        self, host: Actor, block: Allocation, where: CallSite | None, users: list[Work], waiting: list[str]
    ) -> None:
        """The host frees or unmaps a block; `users` are accesses that it has not waited for, `waiting` tasks still
        queued, or of graphs whose execution is.
        """
        names = self._checks.names
        word = _ended(block)
        self._born.pop(block, None)
        self._freed[block.base] = (block, names.block(block), where)
        if len(self._freed) > _KEPT:
            del self._freed[next(iter(self._freed))]
        parties = tuple(waiting) or tuple(names.work(user) for user in users if user.stream >= 0)
        if parties and self._checks.on(UAF):
            state = "which is still queued" if waiting else "and nobody has waited for that task"
            text = f"{names.block(block)} is {word}{_by(where)} while it is used by {parties[0]}, {state}"
            if len(parties) > 1:
                text += f" ({len(parties)} such tasks)"
            cure = "Free it after the stream was synchronized, or use memory of a pool, which is given back in order"
            if block.alias:
                cure = "Unmap it after the stream was synchronized"
            self._checks.report(Report(UAF, text, cure, parties), (block.base, host.tick))

    def used(self, task: Task, submitted: int, block: Allocation, work: Work) -> None:
        """A task touches a block: it must have been there in the host's step in which the task was submitted."""
        born = self._born.get(block, 0)
        check = STALE if task.sq in task.device.models else UAF
        if submitted >= born or (block.alias and check is UAF) or not self._checks.on(check):
            return
        if check is STALE and not (block.asked or block.parts or block.alias):
            return  # the runtime's own, which it made when the graph was instantiated
        names, old, who = self._checks.names, self._freed.get(block.base), self._checks.who(work)
        then = "captured" if check is STALE else "submitted"
        what = "" if old is None else f"; when it was {then}, {old[1]} was there, {_ended(old[0])}{_by(old[2])}"
        came = "mapped" if block.alias else "allocated"
        text = f"{who} uses {names.block(block)}, which was {came} later{what}"
        self._checks.report(Report(check, text, CURE if check is STALE else _UAF_CURE, (who,)),
                            (block.base, work.stream, work.position))  # fmt: skip

    def behind(self, block: Allocation, address: int, size: int, work: Work) -> None:
        """A task touches the padding of a block, which no hardware would notice."""
        if self._checks.on(BOUNDS):
            names, who = self._checks.names, self._checks.names.work(work)
            over = address + size - block.base - block.asked
            text = f"{who} touches {count(size, 'byte')} at {address:#x}, {count(over, 'byte')} more than "
            text += f"{names.block(block)} has"
            self._checks.report(Report(BOUNDS, f"{text}: they are padding", _BOUNDS_CURE, (who,)),
                                (work.stream, work.position, address))  # fmt: skip

    def fault(self, task: Task, fault: MemoryFault, work: Work) -> None:
        """A task has used an address that is no good."""
        names = self._checks.names
        who = self._checks.who(work)
        if fault.behind and fault.block is not None:
            if self._checks.on(BOUNDS):
                more = count(fault.behind, "byte")
                text = f"{who}: {fault.use} of {count(fault.size, 'byte')} at {fault.address:#x} needs {more} more"
                text += f" than {names.block(fault.block)} has"
                self._checks.report(Report(BOUNDS, text, _BOUNDS_CURE, (who,)),
                                    (work.stream, work.position, fault.address))  # fmt: skip
            return
        found = next((old for old in self._freed.values() if old[0].base <= fault.address < old[0].base + old[0].span),
                     None)  # fmt: skip
        if found is None:
            return
        check = STALE if task.sq in task.device.models else UAF
        if self._checks.on(check):
            text = f"{who}: {fault.use} of {count(fault.size, 'byte')} at {fault.address:#x} in {found[1]}, "
            text += f"{_ended(found[0])}{_by(found[2])}"
            cure = CURE if check is STALE else _UAF_CURE
            self._checks.report(Report(check, text, cure, (who,)), (work.stream, work.position, fault.address))


_UAF_CURE = "Keep the memory until the stream was synchronized"
_BOUNDS_CURE = "Allocate what the task touches"


def _ended(block: Allocation) -> str:
    return "unmapped" if block.alias else "freed"


def _by(where: CallSite | None) -> str:
    from fakes.checkers.names import at

    return at(where)
