"""Routes between message queues by name (acl_tdt_queue.h): descriptions, lists, and what the queue schedule does.

The schedule is a process on the device that the driver's starter begins (TSD), not this runtime: on a card where nobody
has, the driver's refusal comes through. Rights on queues are a matter of processes on the device.
"""

from __future__ import annotations

import ctypes

from npuhal.records import dataclass, field
from runtime import errors
from runtime.capi.aclrt.checks import null, one_of, refuse
from runtime.capi.aclrt.entry import Out, entry, object_of, wrong
from runtime.capi.aclrt.kinds import I32, U32, Address, Enum, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.capi.aclrt.transfer.buffers import ON_HOST
from runtime.driver.esched import Route as BoundRoute
from runtime.driver.esched import ScheduleDriver
from runtime.memory import caller

_SOURCE, _TARGET = 0, 1
"""acltdtQueueRouteParamType; 2 is the status."""
_WORD = ctypes.sizeof(ctypes.c_uint32)
_MODE, _OF_SOURCE, _OF_TARGET = 0, 1, 2
"""acltdtQueueRouteQueryInfoParamType."""
_NEEDS = {0: (_OF_SOURCE,), 1: (_OF_TARGET,), 2: (_OF_SOURCE, _OF_TARGET), 100: ()}
"""acltdtQueueRouteQueryMode, and what a question of that mode must say; 100 asks for routes whose queue has failed."""


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
    null("route", "param", "paramRetSize"), one_of("type", 0, 1, 2), refuse("len < 4", "len", "at least 4", "EH0009")
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


@entry(null("param", "value"), one_of("type", 0, 1, 2), refuse("len > 4", "len", "at most 4", "EH0009"))
def acltdtSetQueueRouteQueryInfo(acl: Acl, param: Handle, type: Enum, len: Size, value: Address) -> None:
    """Set the mode (0), the source (1) or the target (2) of a question; fewer than 4 bytes are its low ones."""
    found = object_of(acl, "acltdtSetQueueRouteQueryInfo", RouteQuery, param=param)
    before = found.words.get(type, 0).to_bytes(_WORD, "little")
    given = caller.read(value, len) if len else b""
    found.words[type] = int.from_bytes(given + before[len:], "little")


@entry(null("qRouteList"))
def acltdtBindQueueRoutes(acl: Acl, qRouteList: Handle) -> None:
    """Let the queue schedule pass messages on along routes; 500001 where one cannot be bound, the others are then."""
    _change(acl, "acltdtBindQueueRoutes", qRouteList, bind=True)


@entry(null("qRouteList"))
def acltdtUnbindQueueRoutes(acl: Acl, qRouteList: Handle) -> None:
    """Take routes back; one that is not bound counts as unbound."""
    _change(acl, "acltdtUnbindQueueRoutes", qRouteList, bind=False)


@entry(null("qRouteList", "queryInfo"))
def acltdtQueryQueueRoutes(acl: Acl, queryInfo: Handle, qRouteList: Handle) -> None:
    """Put the routes that a question is about into a list, in place of what is in it."""
    call = "acltdtQueryQueueRoutes"
    found, question = _routes(acl, call, qRouteList), object_of(acl, call, RouteQuery, queryInfo=queryInfo)
    found.members.clear()
    _whole(call, question)
    asked, source, target = (question.words.get(each, 0) for each in (_MODE, _OF_SOURCE, _OF_TARGET))
    found.members.extend(Route(*each) for each in _schedule(acl).query(asked, source, target))


@entry(ON_HOST)
def acltdtGrantQueue(acl: Acl, qid: U32, pid: I32, permission: U32, timeout: I32) -> None:
    """Refuse: a process on the host gives no rights on its queues."""


@entry(null("permission"), ON_HOST)
def acltdtAttachQueue(acl: Acl, qid: U32, timeout: I32, permission: Out[U32]) -> None:
    """Refuse, as `acltdtGrantQueue` does."""


def _whole(call: str, question: RouteQuery) -> None:
    """Refuse a question without its mode, or without the numbers that its mode needs."""
    mode = question.words.get(_MODE)
    if mode is not None and mode not in _NEEDS:
        raise wrong(call, mode, "mode", "0 (source), 1 (target), 2 (both) or 100 (failed)")
    missing = [_MODE] if mode is None else [each for each in _NEEDS[mode] if each not in question.words]
    if missing:
        names = " and ".join(("mode", "source", "target")[each] for each in missing)
        raise wrong(call, "not set", names, "a value", "set it with acltdtSetQueueRouteQueryInfo", message="EH0009")


def _routes(acl: Acl, call: str, routes: int) -> Routes:
    return object_of(acl, call, Routes, routeList=routes)


def _schedule(acl: Acl) -> ScheduleDriver:
    device = acl.runtime.current_context().device
    return ScheduleDriver(device.hal, device.device_id)


def _change(acl: Acl, call: str, routes: int, *, bind: bool) -> None:
    found, schedule = _routes(acl, call, routes), _schedule(acl)
    if bind:
        schedule.greet(acl.runtime.pid)
        acl.routed.add(acl.runtime.current_context().device.user_id)
    members = [BoundRoute(member.source, member.target) for member in found.members]
    for member, now in zip(found.members, schedule.change(members, bind=bind), strict=True):
        member.status = now.status

