"""What an event may be made for (rt_event.h, RT_EVENT_*; core_spec 10.7.1)."""

from __future__ import annotations

import enum
from functools import lru_cache

from npuhal.records import dataclass
from runtime import errors


class EventFlag(enum.IntFlag):
    """What an event is for (rt_event.h, RT_EVENT_*)."""

    SYNC = 0x1
    """Orders streams on the device; a wait may come before the record and then waits for it (DDSYNC_NS)."""
    STREAM_MARK = 0x2
    """Marks progress: only the host can wait for it."""
    DDSYNC = 0x4
    """Orders streams on the device."""
    TIME_LINE = 0x8
    """The device keeps the time of the record."""
    DEVICE_ONLY = 0x10
    """Only its id is wanted, by code on the device (MC2); goes with no other flag."""
    EXTERNAL = 0x20
    """Recorded or awaited from outside of a graph; goes with no other flag."""
    IPC = 0x40
    """Shared between processes; goes with no other flag."""

    DEFAULT = STREAM_MARK | DDSYNC | TIME_LINE


WAITABLE = EventFlag.SYNC | EventFlag.DDSYNC | EventFlag.DEVICE_ONLY | EventFlag.EXTERNAL | EventFlag.IPC
"""Kinds that streams can wait for."""
WAITS_FIRST = EventFlag.SYNC | EventFlag.EXTERNAL
"""Kinds whose wait may come before the first record."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What flags mean for an event, worked out once: arithmetic on enumerations is most of the cost of a record.

    Attributes:
        default: all three flags of DEFAULT and no other.
        short: records may be sent by a prepared send (`Signal.record_fast`).
    """

    timing: bool
    waitable: bool
    waits_first: bool
    device_only: bool
    external: bool
    ipc: bool
    default: bool
    short: bool


@lru_cache
def traits(flags: EventFlag) -> Traits:
    """Return what flags mean."""
    special = EventFlag.IPC | EventFlag.EXTERNAL | EventFlag.DEVICE_ONLY
    return Traits(
        timing=bool(flags & EventFlag.TIME_LINE), waitable=bool(flags & WAITABLE),
        waits_first=bool(flags & WAITS_FIRST), device_only=bool(flags & EventFlag.DEVICE_ONLY),
        external=bool(flags & EventFlag.EXTERNAL), ipc=bool(flags & EventFlag.IPC),
        default=flags == EventFlag.DEFAULT, short=not flags & special,
    )


def check_flags(flags: int, *, renewed: bool, call: str) -> EventFlag:
    """Return the flags that a new event of a kind may have.

    Raises:
        InvalidArgument 107000: there are none, there are unknown ones, or one that must stand alone does not.
    """
    alone = (EventFlag.IPC,) if renewed else (EventFlag.DEVICE_ONLY, EventFlag.EXTERNAL)
    special = EventFlag.DEVICE_ONLY | EventFlag.EXTERNAL | (EventFlag.IPC if renewed else 0)
    known = EventFlag.DEFAULT | EventFlag.SYNC | special
    if flags & special and flags not in alone:
        names = " or ".join(f"{flag:#x}" for flag in alone)
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: event flags {flags:#x}; of the bits {int(special):#x} only {names} "
            "is allowed here, and only alone", ee="EE1006", params=(call, f"event flags {flags:#x}", "not combinable"),
            hint="use the flags SYNC 0x1, STREAM_MARK 0x2, DDSYNC 0x4, TIME_LINE 0x8",
        )
    if flags == 0 or flags & ~int(known):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: event flags {flags:#x}", ee="EE1003",
            params=(call, f"{flags:#x}", "flag", f"a combination of the bits {int(known):#x}"),
            hint="use the flags SYNC 0x1, STREAM_MARK 0x2, DDSYNC 0x4, TIME_LINE 0x8",
        )
    return EventFlag(flags)
