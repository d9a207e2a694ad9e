"""Routes between message queues by name (acl_tdt_queue.h): descriptions and lists.

Routes are served by a process on the device, and rights on queues by the driver's buffer service. Neither is there for
the queues of a host process: what asks for them answers 207000, as the driver does.
"""

from __future__ import annotations

import ctypes

from npuhal.records import dataclass, field
from runtime import errors
from runtime.capi.aclrt.checks import null, one_of, refuse
from runtime.capi.aclrt.entry import Out, entry, object_of
from runtime.capi.aclrt.kinds import I32, U32, Address, Enum, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.memory import caller

_SOURCE, _TARGET = 0, 1
"""acltdtQueueRouteParamType; 2 is the status."""
_WORD = ctypes.sizeof(ctypes.c_uint32)


@dataclass(slots=True, eq=False)
class Route:
    """From one queue to another, by their numbers; the status is 0 until it is bound."""

    source: int
    target: int
    status: int = 0


@dataclass(slots=True, eq=False)
class Routes:
    """A list of routes."""

    members: list[Route] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class RouteQuery:
    """What routes are looked for: mode (0 source, 1 target, 2 both), source and target by number."""

    words: dict[int, int] = field(default_factory=dict)


@entry(failure=0)
def acltdtCreateQueueRoute(acl: Acl, srcId: U32, dstId: U32) -> Handle:
    """Describe a route and return its handle."""
    return acl.runtime.handles.add(Route(srcId, dstId))


@entry(null("route"))
def acltdtDestroyQueueRoute(acl: Acl, route: Handle) -> None:
    """Give a description up."""
    object_of(acl, "acltdtDestroyQueueRoute", Route, route=route)
    acl.runtime.handles.remove(route)


@entry(
    null("route", "param", "paramRetSize"), refuse("len < 4", "len", "at least 4", "EH0009"), one_of("type", 0, 1, 2)
)
def acltdtGetQueueRouteParam(
    acl: Acl, route: Handle, type: Enum, len: Size, paramRetSize: Out[Size], param: Address
) -> None:
    """Write the number of the source (0) or target (1), or the status (2)."""
    found = object_of(acl, "acltdtGetQueueRouteParam", Route, route=route)
    value = found.source if type == _SOURCE else found.target if type == _TARGET else found.status
    caller.at(ctypes.c_uint32, param).value = value
    paramRetSize.value = _WORD


@entry(failure=0)
def acltdtCreateQueueRouteList(acl: Acl) -> Handle:
    """Make an empty list and return its handle."""
    return acl.runtime.handles.add(Routes())


@entry(null("routeList"))
def acltdtDestroyQueueRouteList(acl: Acl, routeList: Handle) -> None:
    """Give a list up; the descriptions in it stay."""
    _routes(acl, "acltdtDestroyQueueRouteList", routeList)
    acl.runtime.handles.remove(routeList)


@entry(null("routeList", "route"))
def acltdtAddQueueRoute(acl: Acl, routeList: Handle, route: Handle) -> None:
    """Add a route to a list, as it is now."""
    call = "acltdtAddQueueRoute"
    found = object_of(acl, call, Route, route=route)
    _routes(acl, call, routeList).members.append(Route(found.source, found.target, found.status))


@entry(null("routeList", "route"))
def acltdtGetQueueRoute(acl: Acl, routeList: Handle, index: Size, route: Handle) -> None:
    """Copy a route of a list by its index into a description."""
    call = "acltdtGetQueueRoute"
    members = _routes(acl, call, routeList).members
    if index >= len(members):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: index is {index}, the list has {len(members)}", ee="EH0009",
            params=(call, index, "index", f"the list has {len(members)} routes"), hint="see acltdtGetQueueRouteNum",
        )
    target, found = object_of(acl, call, Route, route=route), members[index]
    target.source, target.target, target.status = found.source, found.target, found.status


@entry(null("routeList"), failure=0)
def acltdtGetQueueRouteNum(acl: Acl, routeList: Handle) -> Size:
    """Return how many routes a list has."""
    return len(_routes(acl, "acltdtGetQueueRouteNum", routeList).members)


@entry(failure=0)
def acltdtCreateQueueRouteQueryInfo(acl: Acl) -> Handle:
    """Make an empty question and return its handle."""
    return acl.runtime.handles.add(RouteQuery())


@entry(null("info"))
def acltdtDestroyQueueRouteQueryInfo(acl: Acl, info: Handle) -> None:
    """Give a question up."""
    object_of(acl, "acltdtDestroyQueueRouteQueryInfo", RouteQuery, info=info)
    acl.runtime.handles.remove(info)


@entry(null("param", "value"), refuse("len != 4", "len", "4", "EH0009"), one_of("type", 0, 1, 2))
def acltdtSetQueueRouteQueryInfo(acl: Acl, param: Handle, type: Enum, len: Size, value: Address) -> None:
    """Set the mode (0), the source (1) or the target (2) of a question."""
    found = object_of(acl, "acltdtSetQueueRouteQueryInfo", RouteQuery, param=param)
    found.words[type] = caller.at(ctypes.c_uint32, value).value


@entry(null("qRouteList"))
def acltdtBindQueueRoutes(acl: Acl, qRouteList: Handle) -> None:
    """Refuse: no process on the device serves routes."""
    _routes(acl, "acltdtBindQueueRoutes", qRouteList)
    raise _not_served("acltdtBindQueueRoutes")


@entry(null("qRouteList"))
def acltdtUnbindQueueRoutes(acl: Acl, qRouteList: Handle) -> None:
    """Refuse, as `acltdtBindQueueRoutes` does."""
    _routes(acl, "acltdtUnbindQueueRoutes", qRouteList)
    raise _not_served("acltdtUnbindQueueRoutes")


@entry(null("qRouteList", "queryInfo"))
def acltdtQueryQueueRoutes(acl: Acl, queryInfo: Handle, qRouteList: Handle) -> None:
    """Refuse, as `acltdtBindQueueRoutes` does."""
    call = "acltdtQueryQueueRoutes"
    _routes(acl, call, qRouteList)
    object_of(acl, call, RouteQuery, queryInfo=queryInfo)
    raise _not_served(call)


@entry()
def acltdtGrantQueue(acl: Acl, qid: U32, pid: I32, permission: U32, timeout: I32) -> None:
    """Refuse: the queues of a host process are its own."""
    raise _not_served("acltdtGrantQueue")


@entry(null("permission"))
def acltdtAttachQueue(acl: Acl, qid: U32, timeout: I32, permission: Out[U32]) -> None:
    """Refuse, as `acltdtGrantQueue` does."""
    raise _not_served("acltdtAttachQueue")


def _routes(acl: Acl, call: str, routes: int) -> Routes:
    return object_of(acl, call, Routes, routeList=routes)


def _not_served(call: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: no process serves the queues of a host to others",
        hint="use acltdtEnqueueData and acltdtDequeueData in one process, or a channel",
    )
