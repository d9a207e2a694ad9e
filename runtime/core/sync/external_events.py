"""Events that graphs record or wait for from outside (core_spec 14.6): whose records and waits are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import errors

if TYPE_CHECKING:
    from runtime.core.sync.event_state import EventState


class Outside:
    """What executions of graphs do with an event. They then do all of it: a side has one kind of user for life."""

    __slots__ = ("records", "waits")

    def __init__(self) -> None:
        self.records = self.waits = False
        """Whether executions record it, and whether they wait for it."""

    def check_record(self, event: EventState) -> None:
        """Refuse a record by a stream, 107000 (EE1018), where graphs record."""
        if self.records:
            raise mixed(event, "record")

    def check_wait(self, event: EventState) -> None:
        """Refuse a wait of a stream, 107000 (EE1018), where graphs wait."""
        if self.waits:
            raise mixed(event, "wait")


def mixed(event: EventState, what: str) -> errors.RuntimeFault:
    """Return the fault for a record or wait by a stream of an event that graphs record or wait for, or the reverse."""
    reason = f"{what}s of streams and external {what}s of graphs cannot be mixed"
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{what} of {event!r}: {reason}", ee="EE1018",
        params=(f"{what} of an event", reason),
        hint=f"use one event for the {what}s of streams and another one for those of graphs",
    )
