"""Who knows what: vector clocks of the host and of every queue.

An actor is the host or a queue. It counts its own steps (`tick`) and keeps, for every other actor, the last step that
has happened before its own next one (`known`). Something that lets one actor continue because of another - an event, a
notify, a submission, a head that the host has read - hands over a `Stamp`.

All threads of the host are one actor: what orders them among each other (locks, joins) cannot be seen from here, and
calls of the driver come one after the other in any case. That can hide a mistake and never makes one up.
"""

from __future__ import annotations

from collections.abc import Mapping

from npuhal.tuples import NamedTuple

HOST = 0
"""Index of the host among the actors."""


class Stamp(NamedTuple):
    """A point in the life of an actor, with all that it knew then."""

    known: Mapping[int, int]
    actor: int
    tick: int


class Actor:
    """The host or one queue. A step is one task, or what the host does until it learns something new."""

    __slots__ = ("index", "known", "tick")

    def __init__(self, index: int) -> None:
        self.index = index
        self.tick = 1
        self.known: Mapping[int, int] = {}
        """Never changed in place, since stamps share it."""

    def stamp(self) -> Stamp:
        """Return the point it has reached: the step that it is in."""
        return Stamp(self.known, self.index, self.tick)

    def past(self) -> Stamp:
        """Return the point behind its last whole step."""
        return Stamp(self.known, self.index, self.tick - 1)

    def join(self, stamp: Stamp) -> None:
        """Go on after a point of another actor: learn what it knew there."""
        known = self.known
        if stamp.actor == self.index or known.get(stamp.actor, 0) >= stamp.tick:
            return  # whoever knows a step knows all that was known in it
        mine = self.index
        merged = dict(known)
        for actor, tick in stamp.known.items():
            if tick > merged.get(actor, 0) and actor != mine:
                merged[actor] = tick
        merged[stamp.actor] = stamp.tick
        self.known = merged

    def knows(self, actor: int, tick: int) -> bool:
        """Whether a step of an actor has happened before the next one of this actor, in every schedule."""
        return actor == self.index or self.known.get(actor, 0) >= tick
