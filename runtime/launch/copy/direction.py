"""In which direction a copy goes: as asked, corrected by where the two ends lie, or inferred (core_spec 13.5)."""

from __future__ import annotations

import enum
from typing import NoReturn

from runtime import errors
from runtime.memory.location import Location


class Direction(enum.IntEnum):
    """What a copy is asked to be (acl_rt.h, aclrtMemcpyKind)."""

    HOST_TO_HOST = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3
    DEFAULT = 4
    """Found from the ends."""
    THROUGH_BUFFER = 5
    """Host to device; the source is copied at the call and may be used again at once (HOST_TO_BUF_TO_DEVICE)."""


_PLAIN = frozenset((Direction.HOST_TO_HOST, Direction.HOST_TO_DEVICE, Direction.DEVICE_TO_HOST,
                    Direction.DEVICE_TO_DEVICE))  # fmt: skip

_FORCED = {
    (Location.HOST, Location.DEVICE): Direction.HOST_TO_DEVICE,
    (Location.DEVICE, Location.HOST): Direction.DEVICE_TO_HOST,
    (Location.HOST, Location.HOST): Direction.HOST_TO_HOST,
    (Location.DEVICE, Location.DEVICE): Direction.DEVICE_TO_DEVICE,
}
"""(source, target) whose direction is certain: a wrong one is corrected without a word."""

_H2H, _H2D, _D2H, _D2D = sorted(_PLAIN)
_ACCEPTED = {
    (Location.UNREGISTERED, Location.DEVICE): (_H2D, (_H2D, _D2D)),
    (Location.DEVICE, Location.UNREGISTERED): (_D2H, (_D2H, _D2D)),
    (Location.HOST, Location.UNREGISTERED): (_H2H, (_H2H, _H2D)),
    (Location.UNREGISTERED, Location.HOST): (_H2H, (_H2H, _D2H)),
    (Location.UNREGISTERED, Location.UNREGISTERED): (_H2H, (_H2H, _H2D, _D2H, _D2D)),
}
"""(source, target) with plain host memory: what DEFAULT becomes, and what is taken as asked."""


def settle(asked: Direction, source: Location, target: Location, call: str) -> Direction:
    """Return the direction of a copy in a stream.

    Raises:
        InvalidArgument 107000: the ends do not allow what was asked (EE1001; EE1011 for THROUGH_BUFFER).
    """
    if asked is Direction.THROUGH_BUFFER:
        if target is not Location.DEVICE:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: HOST_TO_BUF_TO_DEVICE needs device memory as its target, not "
                f"{target.name}", ee="EE1011",
                params=(call, asked.name, "kind", f"the target is {target.name}, not DEVICE"),
                hint="copy to device memory, or use another kind",
            )
        if source is Location.DEVICE:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: HOST_TO_BUF_TO_DEVICE needs host memory as its source",
                ee="EE1011", params=(call, asked.name, "kind", "the source is device memory"),
                hint="use DEVICE_TO_DEVICE",
            )
        return asked
    forced = _FORCED.get((source, target))
    if forced is not None:
        return forced
    rule = _ACCEPTED.get((source, target))
    if rule is None:
        return asked
    default, accepted = rule
    if asked is Direction.DEFAULT:
        return default
    if asked not in accepted:
        _refuse(asked, source, target, call, accepted)
    return asked


def _refuse(
    asked: Direction, source: Location, target: Location, call: str, accepted: tuple[Direction, ...]
) -> NoReturn:
    names = " or ".join(kind.name for kind in accepted)
    reason = f"{call}: kind {asked.name} does not go from {source.name} to {target.name} memory; {names} does"
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", reason, ee="EE1001", params=(reason,),
        hint="pass DEFAULT to have the direction found",
    )


def inferred(source: Location, target: Location) -> Direction:
    """Return the direction that the ends imply; managed and NUMA memory count as the host's."""
    device = Location.DEVICE
    if source is device:
        return Direction.DEVICE_TO_DEVICE if target is device else Direction.DEVICE_TO_HOST
    return Direction.HOST_TO_DEVICE if target is device else Direction.HOST_TO_HOST
