"""Marks of a program's own by name (acl_prof.h): stamps, and steps. A trace shows them; nothing is written to disk."""

from __future__ import annotations

from npuhal.records import dataclass, field
from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry, need, null_pointer, object_of, own_stream_of
from runtime.capi.aclrt.kinds import U32, Address, Enum, Handle, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.memory import caller

_LONGEST = 127
"""Characters that the message of a stamp may have."""
_STEP_START, _STEP_END = 0, 1
"""aclprofStepTag."""


@dataclass(slots=True, eq=False)
class Stamp:
    """What a mark or range is called."""

    message: str = ""


@dataclass(slots=True, eq=False)
class Iteration:
    """An iteration of the program's: the ranges by tag that have begun."""

    number: int
    begun: int | None = None
    tags: set[int] = field(default_factory=set)


@entry()
def aclprofCreateStamp(acl: Acl) -> Address:
    """Make a stamp and return its handle."""
    return acl.runtime.handles.add(Stamp())


@entry()
def aclprofDestroyStamp(acl: Acl, stamp: Address) -> None:
    """Give a stamp up."""
    _stamp(acl, "aclprofDestroyStamp", stamp)
    acl.runtime.handles.remove(stamp)


@entry()
def aclprofSetStampTraceMessage(acl: Acl, stamp: Address, msg: Text | None, msgLen: U32) -> None:
    """Say what the marks and ranges of a stamp are called: up to 127 characters."""
    call = "aclprofSetStampTraceMessage"
    found = _stamp(acl, call, stamp)
    found.message = _message(call, msg, msgLen, shortest=0)


@entry()
def aclprofMark(acl: Acl, stamp: Address) -> None:
    """Note a moment."""
    acl.runtime.annotations.mark(_stamp(acl, "aclprofMark", stamp).message)


@entry(null("stream"))
def aclprofMarkEx(acl: Acl, msg: Text | None, msgLen: Size, stream: Handle) -> None:
    """Note a moment on the host, named with the stream that the program works with."""
    call = "aclprofMarkEx"
    text = _message(call, msg, msgLen, shortest=1)
    acl.runtime.annotations.mark(f"{text} (stream {own_stream_of(acl, call, stream).stream_id})")


@entry()
def aclprofPush(acl: Acl, stamp: Address) -> None:
    """Begin a range within the thread's innermost one."""
    acl.runtime.annotations.push(_stamp(acl, "aclprofPush", stamp).message)


@entry()
def aclprofPop(acl: Acl) -> None:
    """End the thread's innermost range."""
    acl.runtime.annotations.pop()


@entry(null("rangeId"))
def aclprofRangeStart(acl: Acl, stamp: Address, rangeId: Out[U32]) -> None:
    """Begin a range that any thread may end."""
    call = "aclprofRangeStart"
    found = _stamp(acl, call, stamp)
    need(call, rangeId=rangeId)
    rangeId.value = acl.runtime.annotations.begin(found.message)


@entry()
def aclprofRangeStop(acl: Acl, rangeId: U32) -> None:
    """End a range by its id."""
    acl.runtime.annotations.end(rangeId)


@entry()
def aclprofCreateStepInfo(acl: Acl) -> Handle:
    """Make the marker of an iteration and return its handle."""
    return acl.runtime.handles.add(Iteration(next(acl.runtime.annotations.steps)))


@entry()
def aclprofDestroyStepInfo(acl: Acl, stepinfo: Handle) -> None:
    """Give the marker of an iteration up."""
    _step(acl, "aclprofDestroyStepInfo", stepinfo)
    acl.runtime.handles.remove(stepinfo)


@entry()
def aclprofGetStepTimestamp(acl: Acl, stepInfo: Handle, tag: Enum, stream: Handle) -> None:
    """Note the start (tag 0) or the end (1) of an iteration; each of them once."""
    call = "aclprofGetStepTimestamp"
    step, tag = _step(acl, call, stepInfo), tag
    own_stream_of(acl, call, stream)
    if tag not in (_STEP_START, _STEP_END) or tag in step.tags:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: tag {tag} of step {step.number}, which has {sorted(step.tags)}",
            ee="EH0007", params=(call, tag, "tag", "0, then 1"), hint="note the start and the end of a step once each",
        )
    step.tags.add(tag)
    if tag == _STEP_START:
        step.begun = acl.runtime.annotations.begin(f"step {step.number}")
    elif step.begun is not None:
        acl.runtime.annotations.end(step.begun)


def _message(call: str, text: str | None, length: int, *, shortest: int) -> str:
    if text is None:
        raise null_pointer(call, "msg")
    size = length
    data = caller.octets(text)
    if not shortest <= size <= _LONGEST or size > len(data):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: msgLen {size} of a message of {len(data)} bytes", ee="EH0007",
            params=(call, size, "msgLen", f"[{shortest}, {_LONGEST}]"), hint="pass the length of the message",
        )
    return data[:size].decode(errors="replace")


def _stamp(acl: Acl, call: str, stamp: int) -> Stamp:
    return object_of(acl, call, Stamp, stamp=stamp)


def _step(acl: Acl, call: str, step: int) -> Iteration:
    return object_of(acl, call, Iteration, stepInfo=step)
