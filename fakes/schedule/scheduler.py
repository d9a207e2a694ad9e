"""Who runs next, how far, and how long it takes: policies, engines, virtual time.

Virtual time is in nanoseconds per device and moves only when the device works. Each engine has its own clock: a task
starts when its queue, its engine and its submission allow, so work on different engines overlaps. The costs are simple
on purpose and promise nothing about a real card:

======== ==========================================================
AIC, AIV 3 us per kernel and 1 us per wave of blocks over the cores
SDMA     1.5 us and 1 ns per 400 bytes (device to device)
H2D, D2H 2 us and 1 ns per 24 bytes, one engine per direction
AICPU    12 us per kernel, 4 us per control message
CCU      5 us per mission; each die runs 16 side by side
control  0.2 us: events, notifies, values, placeholders
======== ==========================================================
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from fakes.machine import missions
from fakes.machine.queues import SubmissionQueue

AIC, AIV, SDMA, H2D, D2H, AICPU, CONTROL = "AIC", "AIV", "SDMA", "H2D", "D2H", "AICPU", "CONTROL"
ENGINES = (AIC, AIV, SDMA, H2D, D2H, AICPU, *missions.ENGINES)

CONTROL_NS = 200
_COPY_NS = {SDMA: (1500, 400), H2D: (2000, 24), D2H: (2000, 24)}


def kernel_ns(blocks: int, cores: int) -> int:
    """Cost of a kernel of `blocks` blocks on `cores` cores."""
    return 3000 + 1000 * -(-max(blocks, 1) // max(cores, 1))


def copy_ns(engine: str, size: int) -> int:
    """Cost of copying `size` bytes on a copy engine."""
    start, rate = _COPY_NS[engine]
    return start + size // rate


SEND, POLL, FULL, WAIT = range(4)
"""When a host call lets the device work: at a send, at a poll, when the ring is full, in a CQ wait."""

UNLIMITED = 1 << 60


class Policy(Protocol):
    """Picks the next queue and says how many tasks the device may do at a host call."""

    name: str
    in_turn: bool
    """Whether it picks as `RoundRobin` does: what picks leave behind is then known without making them."""
    idle_at_sends: bool
    """Whether the device does nothing at sends, whatever there is to do: nobody need ask then."""

    def budget(self, occasion: int) -> int:
        """Return how many tasks may run now."""
        ...

    def pick(self, queues: Sequence[SubmissionQueue]) -> SubmissionQueue:
        """Choose one of the runnable queues (never empty)."""
        ...

    def state(self) -> object:
        """Return what further decisions follow from, for `restore`."""
        ...

    def restore(self, state: object) -> None:
        """Forget the decisions made since `state` was returned."""
        ...


class RoundRobin:
    """Each queue in turn, a few tasks per poll."""

    name = "round_robin"
    in_turn = True
    budgets = (0, 16, 64, UNLIMITED)

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._last = -1
        self.idle_at_sends = type(self).budget is RoundRobin.budget and not self.budgets[SEND]

    def budget(self, occasion: int) -> int:
        """Return the fixed number for the occasion."""
        return self.budgets[occasion]

    def pick(self, queues: Sequence[SubmissionQueue]) -> SubmissionQueue:
        """Take the queue with the next higher id, then wrap."""
        last, best, following = self._last, queues[0], None
        for sq in queues:
            if sq.sq_id > last and (following is None or sq.sq_id < following.sq_id):
                following = sq
            elif sq.sq_id < best.sq_id:
                best = sq
        if following is not None:
            best = following
        self._last = best.sq_id
        return best

    def state(self) -> object:
        """Return the queue picked last; those that draw return their generator's state instead."""
        return self._last

    def restore(self, state: object) -> None:
        """Go on behind the queue that was the last one then."""
        assert isinstance(state, int)
        self._last = state

    def pass_over(self, sq_id: int, others: Sequence[int], times: int) -> Sequence[int]:
        """Do what picks do that let a queue run so many times, while others wait and are tried when it is their turn.

        Returns those that were tried before the last time.
        """
        before = max((other for other in others if other < sq_id), default=max(others))
        last = self._last
        turn = (sq_id <= last, sq_id)
        tried = [other for other in others if (other <= last, other) < turn]
        self._last = before if len(tried) == len(others) else sq_id
        if times > 1:  # from then on all others are tried, or none, in turns
            if times % 2 == 0:
                self._last = before if self._last == sq_id else sq_id
            tried = list(others) if self._last == before else []
        return tried

    def resume(self, sq: SubmissionQueue) -> None:
        """Go on behind a queue that somebody else has picked."""
        self._last = sq.sq_id


class DeviceAhead(RoundRobin):
    """The device has finished everything by the next host call."""

    name = "device_ahead"
    budgets = (UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)


class HostAhead(RoundRobin):
    """The host is far ahead: one task per poll, none otherwise."""

    name = "host_ahead"
    budgets = (0, 1, 1, 1)


class Random(RoundRobin):
    """A random queue, a random number of tasks."""

    name = "random"
    in_turn = False

    def budget(self, occasion: int) -> int:
        """Return 0..2 for sends, 1..12 for the rest."""
        return self.rng.randrange(3) if occasion == SEND else self.rng.randrange(1, 13)

    def pick(self, queues: Sequence[SubmissionQueue]) -> SubmissionQueue:
        """Draw one."""
        return self.rng.choice(queues)

    def state(self) -> object:
        """Return the state of the generator: nothing else decides."""
        return self.rng.getstate()

    def restore(self, state: object) -> None:
        """Draw again what was drawn since."""
        assert isinstance(state, tuple)
        self.rng.setstate(state)


class Starved(RoundRobin):
    """One queue, drawn from the seed, runs only when nothing else can."""

    name = "starved"
    in_turn = False

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self._salt = rng.randrange(1, 1 << 16)
        self._victim = -1

    def pick(self, queues: Sequence[SubmissionQueue]) -> SubmissionQueue:
        """Take any other queue first."""
        self._victim = max((self._victim, *(sq.sq_id for sq in queues)), key=self._rank)
        others = [sq for sq in queues if sq.sq_id != self._victim]
        return super().pick(others or queues)

    def _rank(self, sq_id: int) -> int:
        """Order the queues in a way that only the seed knows; the highest one seen is the victim."""
        return (sq_id + 1) * self._salt % 65521


POLICIES = {policy.name: policy for policy in (RoundRobin, DeviceAhead, HostAhead, Random, Starved)}


class Engines:
    """The clocks of one device's engines."""

    def __init__(self) -> None:
        self.clocks = dict.fromkeys(ENGINES, 0)

    def occupy(self, sq: SubmissionQueue, engines: tuple[str, ...], cost: int) -> tuple[int, int]:
        """Run something for `cost` ns on all `engines` at once; returns its start and end and moves the clocks."""
        clocks = self.clocks
        start = sq.clock
        for engine in engines:
            if clocks[engine] > start:
                start = clocks[engine]
        end = start + cost
        for engine in engines:
            clocks[engine] = end
        sq.clock = end
        return start, end

    @property
    def now(self) -> int:
        """The latest time any engine has reached."""
        return max(self.clocks.values())
