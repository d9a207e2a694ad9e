"""Events by name (core_spec 10.7)."""

from __future__ import annotations

import ctypes

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need, need_rt, object_of, stream_of
from runtime.capi.aclrt.state import Acl
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag, check_flags
from runtime.feature.graph.execution import external

_COMPLETE, _NOT_READY = 0, 1
"""aclrtEventStatus and aclrtEventWaitStatus; aclrtEventRecordedStatus has them the other way round."""
_IPC_HANDLE_BYTES = 64
_EXTERNAL = 1
"""Flag of a record or wait: it orders the graph that is captured with streams outside of it."""
_US_PER_MS = 1000.0


def _create(acl: Acl, call: str, event: Out | None, flags: int, *, renewed: bool) -> None:
    need(call, event=event)
    assert event is not None
    event.value = None
    context = acl.runtime.current_context()
    checked = check_flags(flags, renewed=renewed, call=call)
    event.value = Event(context.device, checked, renewed=renewed).handle


@entry(waits_for_snapshot=True)
def aclrtCreateEvent(acl: Acl, event: Out | None) -> None:
    """Make a plain event with the default flags."""
    _create(acl, "aclrtCreateEvent", event, EventFlag.DEFAULT, renewed=False)


@entry(waits_for_snapshot=True)
def aclrtCreateEventWithFlag(acl: Acl, event: Out | None, flag: int | None) -> None:
    """Make a plain event."""
    _create(acl, "aclrtCreateEventWithFlag", event, flag or 0, renewed=False)


@entry(waits_for_snapshot=True)
def aclrtCreateEventExWithFlag(acl: Acl, event: Out | None, flag: int | None) -> None:
    """Make an event that takes a new id with each record."""
    _create(acl, "aclrtCreateEventExWithFlag", event, flag or 0, renewed=True)


@entry(waits_for_snapshot=True)
def rtEventCreateWithFlag(acl: Acl, evt: Out | None, flag: int | None) -> None:
    """Make a plain event; the runtime layer's form."""
    need_rt("rtEventCreateWithFlag", evt=evt)
    _create(acl, "rtEventCreateWithFlag", evt, flag or 0, renewed=False)


@entry
def aclrtDestroyEvent(acl: Acl, event: int | None) -> None:
    """Give an event up; needs no context."""
    _event(acl, "aclrtDestroyEvent", event).close()


def _event(acl: Acl, call: str, event: int | None) -> Event:
    return object_of(acl, call, Event, event=event)


# -- in streams --------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtRecordEvent(acl: Acl, event: int | None, stream: int | None) -> None:
    """Record an event in a stream."""
    _event(acl, "aclrtRecordEvent", event).record(stream_of(acl, stream))


@entry(waits_for_snapshot=True)
def aclrtRecordEventWithFlag(acl: Acl, event: int | None, stream: int | None, flag: int | None) -> None:
    """Record an event; with flag 1, each execution of the graph that is captured does, for streams outside of it."""
    found = _event(acl, "aclrtRecordEventWithFlag", event)
    target = stream_of(acl, stream)
    if _is_external("aclrtRecordEventWithFlag", flag, found):
        external.record(target, found)
    else:
        found.record(target)


@entry
def aclrtStreamWaitEvent(acl: Acl, stream: int | None, event: int | None) -> None:
    """Let a stream wait for the newest record."""
    _event(acl, "aclrtStreamWaitEvent", event).wait(stream_of(acl, stream))


@entry
def aclrtStreamWaitEventWithTimeout(acl: Acl, stream: int | None, event: int | None, timeout: int | None) -> None:
    """Let a stream wait at most so many seconds; 0 for ever. NULL is the runtime layer's to refuse."""
    need_rt("aclrtStreamWaitEventWithTimeout", event=event)
    handle_of(acl, event, Event).wait(stream_of(acl, stream), timeout or 0)


@entry
def aclrtStreamWaitEventWithFlag(
    acl: Acl, stream: int | None, event: int | None, timeout: int | None, flag: int | None
) -> None:
    """Let a stream wait; with flag 1, each execution of the graph that is captured does, for a record from outside."""
    call = "aclrtStreamWaitEventWithFlag"
    found = _event(acl, call, event)
    target = stream_of(acl, stream)
    if not _is_external(call, flag, found):
        found.wait(target, timeout or 0)
        return
    if timeout:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: timeout {timeout} with flag 1 (EXTERNAL)", ee="EH0007",
            params=(call, timeout, "timeout", "0 with flag 1"), hint="a wait within a graph has no time limit",
        )
    external.wait(target, found)


def _is_external(call: str, flag: int | None, event: Event) -> bool:
    """Whether the flag is EXTERNAL, which the C API allows for one kind of event only (207000)."""
    if flag not in (None, 0, _EXTERNAL):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: flag {flag:#x}", ee="EH0007", params=(call, flag, "flag", "0 or 1"),
            hint="0 is the usual one, 1 is for events between a graph that is captured and streams outside of it",
        )
    if flag == _EXTERNAL and event.flags != EventFlag.SYNC:
        raise external.unsupported(call, f"{event!r} was made with other flags than ACL_EVENT_SYNC")
    return flag == _EXTERNAL


@entry
def aclrtResetEvent(acl: Acl, event: int | None, stream: int | None) -> None:
    """Take the newest record back when the stream gets there."""
    _event(acl, "aclrtResetEvent", event).reset(stream_of(acl, stream))


# -- questions ---------------------------------------------------------------------------------------------------------


@entry
def aclrtQueryEvent(acl: Acl, event: int | None, status: Out | None) -> None:
    """Tell whether nothing is being recorded: 0 complete, 1 not ready."""
    found = _event(acl, "aclrtQueryEvent", event)
    need("aclrtQueryEvent", status=status)
    assert status is not None
    status.value = _COMPLETE if found.recorded() else _NOT_READY


@entry
def rtEventQuery(acl: Acl, evt: int | None) -> None:
    """Succeed when nothing is being recorded, else 507006."""
    need_rt("rtEventQuery", evt=evt)
    event: Event = handle_of(acl, evt, Event)
    if not event.recorded():
        raise errors.fault(
            "RT_ERROR_EVENT_NOT_COMPLETE", f"{event!r} is not complete", hint="synchronize it, or ask again",
        )


@entry
def aclrtQueryEventStatus(acl: Acl, event: int | None, status: Out | None) -> None:
    """Tell whether the newest record is done: 1 complete, 0 not ready."""
    found = _event(acl, "aclrtQueryEventStatus", event)
    need("aclrtQueryEventStatus", status=status)
    assert status is not None
    status.value = int(found.status())


@entry
def aclrtQueryEventWaitStatus(acl: Acl, event: int | None, status: Out | None) -> None:
    """Tell whether all waits of streams are over: 0 complete, 1 not ready."""
    found = _event(acl, "aclrtQueryEventWaitStatus", event)
    need("aclrtQueryEventWaitStatus", status=status)
    assert status is not None
    status.value = _COMPLETE if found.waits_done() else _NOT_READY


@entry
def aclrtSynchronizeEvent(acl: Acl, event: int | None) -> None:
    """Wait for the newest record; needs no context."""
    _event(acl, "aclrtSynchronizeEvent", event).synchronize()


@entry
def aclrtSynchronizeEventWithTimeout(acl: Acl, event: int | None, timeout: int | None) -> None:
    """Wait at most so many milliseconds, -1 for ever."""
    _event(acl, "aclrtSynchronizeEventWithTimeout", event).synchronize(timeout or 0)


@entry
def aclrtEventElapsedTime(acl: Acl, ms: Out | None, startEvent: int | None, endEvent: int | None) -> None:
    """Give the milliseconds between two records; 0.0 where they cannot be told."""
    call = "aclrtEventElapsedTime"
    need(call, ms=ms, startEvent=startEvent, endEvent=endEvent)
    assert ms is not None
    ms.value = 0.0
    start, end = (handle_of(acl, handle, Event) for handle in (startEvent, endEvent))
    end.check_same_clock(start)
    ms.value = (end.read_ticks() - start.read_ticks()) / end.ticks_per_ms


@entry
def aclrtEventGetTimestamp(acl: Acl, event: int | None, timestamp: Out | None) -> None:
    """Give the time of the newest record in microseconds of the device's clock."""
    found = _event(acl, "aclrtEventGetTimestamp", event)
    need("aclrtEventGetTimestamp", timestamp=timestamp)
    assert timestamp is not None
    timestamp.value = int(found.read_ticks() / (found.ticks_per_ms / _US_PER_MS))


@entry
def aclrtGetEventId(acl: Acl, event: int | None, eventId: Out | None) -> None:
    """Give the device id of the newest record."""
    found = _event(acl, "aclrtGetEventId", event)
    need("aclrtGetEventId", eventId=eventId)
    assert eventId is not None
    eventId.value = found.event_id


@entry
def aclrtGetEventAvailNum(acl: Acl, eventCount: Out | None) -> None:
    """Give how many ids for events the device has."""
    need("aclrtGetEventAvailNum", eventCount=eventCount)
    assert eventCount is not None
    device = acl.runtime.current_context().device
    capacity, used = device.ids.usage(device.signals.ids.kind)
    eventCount.value = capacity - used


# -- other processes ---------------------------------------------------------------------------------------------------


@entry
def aclrtIpcGetEventHandle(acl: Acl, event: int | None, handle: int | None) -> None:
    """Write the 64 bytes by which another process opens an event."""
    call = "aclrtIpcGetEventHandle"
    found = _event(acl, call, event)
    need(call, handle=handle)
    assert handle is not None
    ctypes.memmove(handle, found.share().ljust(_IPC_HANDLE_BYTES, b"\0"), _IPC_HANDLE_BYTES)


@entry(waits_for_snapshot=True)
def aclrtIpcOpenEventHandle(acl: Acl, handle: int | None, event: Out | None) -> None:
    """Open an event of another process by its 64 bytes."""
    need("aclrtIpcOpenEventHandle", handle=handle, event=event)
    assert handle is not None
    assert event is not None
    event.value = None
    name = ctypes.string_at(handle, _IPC_HANDLE_BYTES).rstrip(b"\0")
    device = acl.runtime.current_context().device
    event.value = Event(device, EventFlag.IPC, shared=name).handle
