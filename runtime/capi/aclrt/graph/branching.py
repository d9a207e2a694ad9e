"""Branches in models by name: streams that start others, jumps to labels, conditional nodes (core_spec 14.9, 17.4)."""

from __future__ import annotations

import ctypes

from chips.programs.stream import Condition as Comparison
from runtime import errors
from runtime.capi.aclrt.checks import live, null, one_of, own, own_model, refuse, reserved
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept, own_stream_of
from runtime.capi.aclrt.kinds import U32, Address, CondTaskParams, Enum, Handle
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.core.sync.label import LabelList
from runtime.feature.graph import Graph, Model
from runtime.feature.graph.model.links import activate, switch, switch_label
from runtime.feature.graph.recording.condition import Condition, ConditionKind
from runtime.feature.graph.recording.condition import Handle as ConditionHandle
from runtime.memory import caller

_INT32, _INT64 = 0, 1
_ASSIGN_DEFAULT = 1


def _chosen(call: str, name: str, value: int, allowed: tuple[int, ...]) -> int:
    """Return an enumeration's number; one that it does not have is 107000 with EE1003."""
    number = value
    if number not in allowed:
        wanted = f"{allowed[0]} to {allowed[-1]}"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {number}; it must be {wanted}", ee="EE1003",
            params=(call, number, name, wanted), hint=f"pass one of {allowed}",
        )
    return number



# -- streams and labels ------------------------------------------------------------------------------------------------


@entry(
    null("activeStream", "stream"), live("activeStream", Stream), live("stream", Stream),
    refuse("not is_bound(stream_)", "stream", "a stream of a model", "EE1011", code=107005),
    refuse("not is_bound(activeStream_)", "activeStream", "a stream of a model", "EE1011", code=107005),
    own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtActiveStream(acl: Acl, activeStream: Stream, stream: Stream) -> None:
    """Start another stream of the model when a stream gets here."""
    activate(stream, activeStream)


@entry(
    null("leftValue", "rightValue", "trueStream", "stream"), reserved("falseStream"), live("trueStream", Stream),
    live("stream", Stream), one_of("cond", 0, 1, 2, 3, 4, 5, message="EE1003"),
    one_of("dataType", 0, 1, message="EE1003"),
    refuse("not is_bound(stream_)", "stream", "a stream of a model", "EE1011", code=107005),
    refuse("not is_bound(trueStream_)", "trueStream", "a stream of a model", "EE1011", code=107005), own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtSwitchStream(
    acl: Acl, leftValue: Address, cond: Enum, rightValue: Address, dataType: Enum,
    trueStream: Stream, falseStream: Handle, stream: Stream,
) -> None:
    """Start another stream of the model where two values in device memory compare; falseStream must be NULL."""
    switch(stream, leftValue, Comparison(cond), rightValue, trueStream, wide=dataType == _INT64)


@entry(
    null("ptr", "labelList", "stream"), live("stream", Stream), own("stream"),
    refuse("not is_bound(stream_)", "stream", "a stream of a model", "EE1011", code=107005),
    refuse("of_branch(stream_)", "stream", "no stream of a conditional node", "", code=207000),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtSwitchLabelByIndex(acl: Acl, ptr: Address, maxValue: U32, labelList: Handle, stream: Stream) -> None:
    """Go on at the label whose number stands at ptr; one not below maxValue takes the last label."""
    switch_label(stream, ptr, maxValue, handle_of(acl, labelList, LabelList))


# -- conditional nodes -------------------------------------------------------------------------------------------------


class aclmdlRICondTaskParams(ctypes.Structure):
    """What a conditional node is (acl_rt.h): its handle, kind, number of branches, and where their handles go."""

    _fields_ = (
        ("handle", ctypes.c_void_p), ("type", ctypes.c_int), ("size", ctypes.c_uint32),
        ("modelRIArray", ctypes.c_void_p),
    )


@entry(
    null("modelRI", "handle"), live("modelRI", Model), one_of("flag", 0, 1, message="EE1003"),
    refuse("not is_graph(modelRI_)", "modelRI", "a captured graph", "EE1006", code=207000),
    refuse("not modelRI_.capturing", "modelRI", "a graph that is being captured", "EE1017"), own_model("modelRI"),
)  # fmt: skip
def aclmdlRICondHandleCreate(
    acl: Acl, modelRI: Handle, defaultLaunchValue: U32, flag: Enum, handle: Out[Handle]
) -> None:
    """Make the value that decides a conditional node; flag 1 lets each execution start with defaultLaunchValue."""
    call = "aclmdlRICondHandleCreate"
    graph = handle_of(acl, modelRI, Graph)
    assigned = _chosen(call, "flag", flag, (0, _ASSIGN_DEFAULT)) == _ASSIGN_DEFAULT
    handle.value = kept(acl, ConditionHandle(graph, defaultLaunchValue, assigned=assigned))


@entry(null("handle", "ptr"))
def aclmdlRICondHandleGetCondPtr(acl: Acl, handle: Handle, ptr: Out[Address]) -> None:
    """Give the device address of the 64-bit value."""
    ptr.value = handle_of(acl, handle, ConditionHandle).address


@entry(
    null("stream", "params"),
    refuse("is_no_condition(acl, params.handle)", "params", "the handle of a condition", "EE1017", code=107017,
           rule="params.handle is dead, foreign or of another kind"),
    live("stream", Stream),
    refuse("params.type not in (0, 1, 2)", "params", "type 0, 1 or 2", "EE1003"),
    refuse("flags", "flags", "0", "EE1017"), refuse("not params.handle", "params", "a handle", "EE1004"),
    refuse("not params.modelRIArray", "params", "an address for the branches", "EE1004"),
)  # fmt: skip
def aclmdlRIAddCondTask(acl: Acl, params: CondTaskParams, stream: Handle, flags: U32) -> None:
    """Put a conditional node into a captured stream and give the handles of its branches; flags must be 0.

    Args:
        params: an `aclmdlRICondTaskParams`, which C takes by value.
    """
    target = own_stream_of(acl, "aclmdlRIAddCondTask", stream)
    made = Condition(
        target, handle_of(acl, params.handle, ConditionHandle), ConditionKind(params.type), params.size
    )
    handles = b"".join(kept(acl, branch).to_bytes(8, "little") for branch in made.branches)
    caller.write(params.modelRIArray, handles, len(handles))
