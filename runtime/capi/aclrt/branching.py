"""Branches in models by name: streams that start others, jumps to labels, conditional nodes (core_spec 14.9, 17.4)."""

from __future__ import annotations

import ctypes
from typing import Any

from chips.programs.stream import Condition as Comparison
from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need, stream_of
from runtime.capi.aclrt.state import Acl
from runtime.core.sync.label import LabelList
from runtime.feature.graph import Captured
from runtime.feature.graph.model.links import activate, switch, switch_label
from runtime.feature.graph.recording.condition import Condition, ConditionKind, Handle

_INT32, _INT64 = 0, 1
_ASSIGN_DEFAULT = 1


def _chosen(call: str, name: str, value: int | None, allowed: tuple[int, ...]) -> int:
    """Return an enumeration's number; one that it does not have is 107000 with EE1003."""
    number = value or 0
    if number not in allowed:
        wanted = f"{allowed[0]} to {allowed[-1]}"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {number}; it must be {wanted}", ee="EE1003",
            params=(call, number, name, wanted), hint=f"pass one of {allowed}",
        )
    return number


def _reserved(call: str, name: str, value: object) -> None:
    if value:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: {name} must be NULL", ee="EH0012", params=(call, name),
            hint="pass NULL",
        )


# -- streams and labels ------------------------------------------------------------------------------------------------


@entry
def aclrtActiveStream(acl: Acl, activeStream: int | None, stream: int | None) -> None:
    """Start another stream of the model when a stream gets here."""
    need("aclrtActiveStream", activeStream=activeStream, stream=stream)
    activate(stream_of(acl, stream), stream_of(acl, activeStream))


@entry
def aclrtSwitchStream(
    acl: Acl, leftValue: int | None, cond: int | None, rightValue: int | None, dataType: int | None,
    trueStream: int | None, falseStream: int | None, stream: int | None,
) -> None:
    """Start another stream of the model where two values in device memory compare; falseStream must be NULL."""
    call = "aclrtSwitchStream"
    need(call, leftValue=leftValue, rightValue=rightValue, trueStream=trueStream, stream=stream)
    _reserved(call, "falseStream", falseStream)
    comparison = Comparison(_chosen(call, "cond", cond, tuple(Comparison)))
    kind = _chosen(call, "dataType", dataType, (_INT32, _INT64))
    assert leftValue is not None
    assert rightValue is not None
    switch(stream_of(acl, stream), leftValue, comparison, rightValue, stream_of(acl, trueStream), wide=kind == _INT64)


@entry
def aclrtSwitchLabelByIndex(
    acl: Acl, ptr: int | None, maxValue: int | None, labelList: int | None, stream: int | None
) -> None:
    """Go on at the label whose number stands at ptr; one not below maxValue takes the last label."""
    call = "aclrtSwitchLabelByIndex"
    need(call, ptr=ptr, labelList=labelList, stream=stream)
    assert ptr is not None
    switch_label(stream_of(acl, stream), ptr, maxValue or 0, handle_of(acl, labelList, LabelList))


# -- conditional nodes -------------------------------------------------------------------------------------------------


class aclmdlRICondTaskParams(ctypes.Structure):
    """What a conditional node is (acl_rt.h): its handle, kind, number of branches, and where their handles go."""

    _fields_ = (
        ("handle", ctypes.c_void_p), ("type", ctypes.c_int), ("size", ctypes.c_uint32),
        ("modelRIArray", ctypes.c_void_p),
    )


@entry
def aclmdlRICondHandleCreate(
    acl: Acl, modelRI: int | None, defaultLaunchValue: int | None, flag: int | None, handle: Out | None
) -> None:
    """Make the value that decides a conditional node; flag 1 lets each execution start with defaultLaunchValue."""
    call = "aclmdlRICondHandleCreate"
    if handle is not None:
        handle.value = None
    need(call, modelRI=modelRI, handle=handle)
    assert handle is not None
    graph = handle_of(acl, modelRI, Captured)
    assigned = _chosen(call, "flag", flag, (0, _ASSIGN_DEFAULT)) == _ASSIGN_DEFAULT
    handle.value = Handle(graph, defaultLaunchValue or 0, assigned=assigned).handle


@entry
def aclmdlRICondHandleGetCondPtr(acl: Acl, handle: int | None, ptr: Out | None) -> None:
    """Give the device address of the 64-bit value."""
    if ptr is not None:
        ptr.value = None
    need("aclmdlRICondHandleGetCondPtr", handle=handle, ptr=ptr)
    assert ptr is not None
    ptr.value = handle_of(acl, handle, Handle).address


@entry
def aclmdlRIAddCondTask(acl: Acl, params: Any, stream: int | None, flags: int | None) -> None:
    """Put a conditional node into a captured stream and give the handles of its branches; flags must be 0.

    Args:
        params: an `aclmdlRICondTaskParams`, which C takes by value.
    """
    call = "aclmdlRIAddCondTask"
    need(call, params=params, stream=stream)
    need(call, handle=params.handle, modelRIArray=params.modelRIArray)
    _chosen(call, "flags", flags, (0,))
    kind = ConditionKind(_chosen(call, "type", params.type, tuple(ConditionKind)))
    made = Condition(stream_of(acl, stream), handle_of(acl, params.handle, Handle), kind, params.size)
    handles = (ctypes.c_uint64 * len(made.branches)).from_address(params.modelRIArray)
    handles[:] = [branch.handle for branch in made.branches]
