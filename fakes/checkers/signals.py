"""What a wait for an event, a notify or a count notify may rely on: the records that it cannot have passed without."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakes.checkers.order import Stamp

if TYPE_CHECKING:
    from fakes.checkers.order import Actor
    from fakes.machine.signal import Signal

_KEPT = 256
"""Records of one counter that are told apart; waits for older ones rely on the oldest of these."""


class Handover:
    """The records of every signal that a wait may still look for."""

    def __init__(self) -> None:
        self._given: dict[Signal, list[tuple[int, tuple[Stamp, ...]]]] = {}

    def give(self, signal: Signal, value: int, stamp: Stamp, *, adds: bool = False, counts: bool = False) -> None:
        """An actor has set a signal to a value.

        Args:
            adds: it has changed the value instead of storing one, so that earlier ones count too.
            counts: waits look for a certain value.
        """
        before = self._given.get(signal)
        if not value:
            self._given.pop(signal, None)
        elif not counts or before is None:
            self._given[signal] = [(value, (stamp,))]
        else:
            stamps: tuple[Stamp, ...] = (stamp,)
            if adds:
                stamps = (*(old for old in before[-1][1] if old.actor != stamp.actor), stamp)
            before.append((value, stamps))
            if len(before) > _KEPT:
                del before[0]

    def take(self, actor: Actor, signal: Signal, reached: Callable[[int], bool] | None = None) -> None:
        """An actor has waited for a signal: the earliest record that satisfies the wait is all it can rely on."""
        given = self._given.get(signal)
        if given:
            record = given[-1] if reached is None else next((each for each in given if reached(each[0])), given[-1])
            for stamp in record[1]:
                actor.join(stamp)

    def clear(self, signal: Signal) -> None:
        """The signal was taken back."""
        self._given.pop(signal, None)
