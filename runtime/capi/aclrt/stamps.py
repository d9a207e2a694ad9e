"""Marks of a program's own by name (acl_prof.h): stamps, and steps. A trace shows them; nothing is written to disk."""

from __future__ import annotations

from npuhal.records import dataclass, field
from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need, object_of, stream_of
from runtime.capi.aclrt.state import Acl

_LONGEST = 127
"""Characters that the message of a stamp may have."""
_STEP_START, _STEP_END = 0, 1
"""aclprofStepTag."""


@dataclass(slots=True, eq=False)
class Stamp:
    """What a mark or range is called."""

    message: str = ""


@dataclass(slots=True, eq=False)
class Step:
    """An iteration of the program's: the ranges by tag that have begun."""

    number: int
    begun: int | None = None
    tags: set[int] = field(default_factory=set)


@entry
def aclprofCreateStamp(acl: Acl) -> int:
    """Make a stamp and return its handle."""
    return acl.runtime.handles.add(Stamp())


@entry
def aclprofDestroyStamp(acl: Acl, stamp: int | None) -> None:
    """Give a stamp up."""
    _stamp(acl, "aclprofDestroyStamp", stamp)
    acl.runtime.handles.remove(stamp or 0)


@entry
def aclprofSetStampTraceMessage(acl: Acl, stamp: int | None, msg: str | None, msgLen: int | None) -> None:
    """Say what the marks and ranges of a stamp are called: up to 127 characters."""
    call = "aclprofSetStampTraceMessage"
    found = _stamp(acl, call, stamp)
    found.message = _message(call, msg, msgLen, shortest=0)


@entry
def aclprofMark(acl: Acl, stamp: int | None) -> None:
    """Note a moment."""
    acl.runtime.marks.mark(_stamp(acl, "aclprofMark", stamp).message)


@entry
def aclprofMarkEx(acl: Acl, msg: str | None, msgLen: int | None, stream: int | None) -> None:
    """Note a moment on the host, named with the stream that the program works with."""
    call = "aclprofMarkEx"
    need(call, stream=stream)
    text = _message(call, msg, msgLen, shortest=1)
    acl.runtime.marks.mark(f"{text} (stream {stream_of(acl, stream).stream_id})")


@entry
def aclprofPush(acl: Acl, stamp: int | None) -> None:
    """Begin a range within the thread's innermost one."""
    acl.runtime.marks.push(_stamp(acl, "aclprofPush", stamp).message)


@entry
def aclprofPop(acl: Acl) -> None:
    """End the thread's innermost range."""
    acl.runtime.marks.pop()


@entry
def aclprofRangeStart(acl: Acl, stamp: int | None, rangeId: Out | None) -> None:
    """Begin a range that any thread may end."""
    call = "aclprofRangeStart"
    found = _stamp(acl, call, stamp)
    need(call, rangeId=rangeId)
    assert rangeId is not None
    rangeId.value = acl.runtime.marks.begin(found.message)


@entry
def aclprofRangeStop(acl: Acl, rangeId: int | None) -> None:
    """End a range by its id."""
    acl.runtime.marks.end(rangeId or 0)


@entry
def aclprofCreateStepInfo(acl: Acl) -> int:
    """Make the marker of an iteration and return its handle."""
    return acl.runtime.handles.add(Step(next(acl.runtime.marks.steps)))


@entry
def aclprofDestroyStepInfo(acl: Acl, stepinfo: int | None) -> None:
    """Give the marker of an iteration up."""
    _step(acl, "aclprofDestroyStepInfo", stepinfo)
    acl.runtime.handles.remove(stepinfo or 0)


@entry
def aclprofGetStepTimestamp(acl: Acl, stepInfo: int | None, tag: int | None, stream: int | None) -> None:
    """Note the start (tag 0) or the end (1) of an iteration; each of them once."""
    call = "aclprofGetStepTimestamp"
    step, tag = _step(acl, call, stepInfo), tag or 0
    stream_of(acl, stream)
    if tag not in (_STEP_START, _STEP_END) or tag in step.tags:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: tag {tag} of step {step.number}, which has {sorted(step.tags)}",
            ee="EH0007", params=(call, tag, "tag", "0, then 1"), hint="note the start and the end of a step once each",
        )
    step.tags.add(tag)
    if tag == _STEP_START:
        step.begun = acl.runtime.marks.begin(f"step {step.number}")
    elif step.begun is not None:
        acl.runtime.marks.end(step.begun)


def _message(call: str, text: str | None, length: int | None, *, shortest: int) -> str:
    if text is None:
        need(call, msg=text)
    assert text is not None
    size = length or 0
    if not shortest <= size <= _LONGEST or size > len(text.encode()):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: msgLen {size} of a message of {len(text.encode())} bytes", ee="EH0007",
            params=(call, size, "msgLen", f"[{shortest}, {_LONGEST}]"), hint="pass the length of the message",
        )
    return text.encode()[:size].decode(errors="replace")


def _stamp(acl: Acl, call: str, stamp: int | None) -> Stamp:
    return object_of(acl, call, Stamp, stamp=stamp)


def _step(acl: Acl, call: str, step: int | None) -> Step:
    return object_of(acl, call, Step, stepInfo=step)
