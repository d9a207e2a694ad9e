"""Events by name (core_spec 10.7)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import context, feature, live, null, null_rt, one_of, own, refuse, zero
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept, need, object_of, own_stream_of
from runtime.capi.aclrt.kinds import F32, I32, U32, U64, Address, Enum, Handle, IpcEventHandle
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag, check_flags
from runtime.feature.graph.recording import external
from runtime.memory import caller

_COMPLETE, _NOT_READY = 0, 1
"""aclrtEventStatus and aclrtEventWaitStatus; aclrtEventRecordedStatus has them the other way round."""
_IPC_HANDLE_BYTES = 64
_EXTERNAL = 1
"""Flag of a record or wait: it orders the graph that is captured with streams outside of it."""
_US_PER_MS = 1000.0


def _create(acl: Acl, call: str, event: Out[int], flags: int, *, renewed: bool) -> None:
    need(call, event=event)
    context = acl.runtime.current_context()
    checked = check_flags(flags, renewed=renewed, call=call)
    event.value = kept(acl, Event(context.device, checked, renewed=renewed))


@entry(null("event"), context(), waits_for_snapshot=True)
def aclrtCreateEvent(acl: Acl, event: Out[Handle]) -> None:
    """Make a plain event with the default flags."""
    _create(acl, "aclrtCreateEvent", event, EventFlag.DEFAULT, renewed=False)


@entry(
    null("event"), refuse("not flag & 0x3f or flag > 0x3f", "flag", "bits of 0x3f", "EE1003"),
    refuse("flag & 0x30 and flag & (flag - 1)", "flag", "0x10 and 0x20 alone", "EE1006", code=107000), context(),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtCreateEventWithFlag(acl: Acl, event: Out[Handle], flag: U32) -> None:
    """Make a plain event."""
    _create(acl, "aclrtCreateEventWithFlag", event, flag, renewed=False)


@entry(
    null("event"), feature("IPC_EVENT", "flag == 0x40", message=""),
    refuse("flag & 0x70 and flag & (flag - 1)", "flag", "0x10, 0x20 and 0x40 alone", "EE1006", code=107000),
    refuse("not flag & 0x4f or flag > 0x4f", "flag", "bits of 0x4f", "EE1003"), context(), waits_for_snapshot=True,
)  # fmt: skip
def aclrtCreateEventExWithFlag(acl: Acl, event: Out[Handle], flag: U32) -> None:
    """Make an event that takes a new id with each record."""
    _create(acl, "aclrtCreateEventExWithFlag", event, flag, renewed=True)


@entry(
    null_rt("evt"), refuse("not flag & 0x3f or flag > 0x3f", "flag", "bits of 0x3f", "EE1003"),
    refuse("flag & 0x30 and flag & (flag - 1)", "flag", "0x10 and 0x20 alone", "EE1006", code=107000), context(),
    passes_snapshot=True,
)  # fmt: skip
def rtEventCreateWithFlag(acl: Acl, evt: Out[Handle], flag: U32) -> None:
    """Make a plain event; the runtime layer's form."""
    _create(acl, "rtEventCreateWithFlag", evt, flag, renewed=False)


@entry(null("event"), live("event", Event), waits_for_snapshot=True)
def aclrtDestroyEvent(acl: Acl, event: Handle) -> None:
    """Give an event up; needs no context."""
    _event(acl, "aclrtDestroyEvent", event).close()


def _event(acl: Acl, call: str, event: int) -> Event:
    return object_of(acl, call, Event, event=event)


_NO_STATE = refuse(
    "is_external(event_)", "event", "an event of another kind", "", code=207000, rule="event is external (0x20)"
)
_FOR_CORES = refuse("is_for_cores(event_)", "event", "an event of another kind", "EE1006", code=107000)


_NO_WAIT = refuse(
    "not is_waitable(event_)", "event", "an event with one of the flags 0x1, 0x4, 0x20 and 0x40", "", code=207000,
    rule="event has no task that waits for it: none of its flags is 0x1, 0x4, 0x20 or 0x40",
)
_ALONE = refuse(
    "stream_ is not None and stream_.branch is not None and is_shared(event_)", "event", "an event of this process", "",
    code=207000, rule="event is for other processes (0x40), and stream is being captured",
)


# -- in streams --------------------------------------------------------------------------------------------------------


@entry(
    null("event"), live("event", Event), live("stream", Stream), _FOR_CORES, _ALONE, own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtRecordEvent(acl: Acl, event: Event, stream: Stream) -> None:
    """Record an event in a stream."""
    event.record(stream)


@entry(null("event"), one_of("flag", 0, 1), live("event", Event), live("stream", Stream), waits_for_snapshot=True)
def aclrtRecordEventWithFlag(acl: Acl, event: Handle, stream: Handle, flag: U32) -> None:
    """Record an event; with flag 1, each execution of the graph that is captured does, for streams outside of it."""
    found = _event(acl, "aclrtRecordEventWithFlag", event)
    outside = _is_external("aclrtRecordEventWithFlag", flag, found, records=True)
    target = own_stream_of(acl, "aclrtRecordEventWithFlag", stream)
    if outside:
        external.record(target, found)
    else:
        found.record(target)


@entry(
    null("event"), live("stream", Stream), live("event", Event), _FOR_CORES, _ALONE, _NO_WAIT, own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtStreamWaitEvent(acl: Acl, stream: Stream, event: Event) -> None:
    """Let a stream wait for the newest record."""
    event.wait(stream)


@entry(
    refuse("timeout < 0", "timeout", "at least 0", code=107000), live("stream", Stream), live("event", Event),
    null_rt("event"), _FOR_CORES, _ALONE, _NO_WAIT, waits_for_snapshot=True,
)  # fmt: skip
def aclrtStreamWaitEventWithTimeout(acl: Acl, stream: Handle, event: Handle, timeout: I32) -> None:
    """Let a stream wait at most so many seconds; 0 for ever. NULL is the runtime layer's to refuse."""
    handle_of(acl, event, Event).wait(own_stream_of(acl, "aclrtStreamWaitEventWithTimeout", stream), timeout)


@entry(
    null("event"), refuse("flag not in (0, 1)", "flag", "0 or 1"),
    refuse("flag and timeout", "timeout", "0 with flag 1 (EXTERNAL)"), live("stream", Stream), live("event", Event),
    _FOR_CORES, _ALONE, _NO_WAIT, waits_for_snapshot=True,
)  # fmt: skip
def aclrtStreamWaitEventWithFlag(acl: Acl, stream: Handle, event: Handle, timeout: U32, flag: U32) -> None:
    """Let a stream wait; with flag 1, each execution of the graph that is captured does, for a record from outside."""
    call = "aclrtStreamWaitEventWithFlag"
    found = _event(acl, call, event)
    outside = _is_external(call, flag, found, records=False)
    target = own_stream_of(acl, call, stream)
    if outside:
        external.wait(target, found)
    else:
        found.wait(target, timeout)


def _is_external(call: str, flag: int, event: Event, *, records: bool) -> bool:
    """Whether the flag is EXTERNAL, which keeps the event for graphs; one kind of event has it (207000)."""
    if flag not in (None, 0, _EXTERNAL):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: flag {flag:#x}", ee="EH0007", params=(call, flag, "flag", "0 or 1"),
            hint="0 is the usual one, 1 is for events between a graph that is captured and streams outside of it",
        )
    if flag == _EXTERNAL:
        if event.flags != EventFlag.SYNC:
            raise external.unsupported(call, f"{event!r} was made with other flags than ACL_EVENT_SYNC")
        event.use_outside(records=records)  # from here on, also where the call is refused later
    return flag == _EXTERNAL


@entry(
    null("event"), live("event", Event), live("stream", Stream), _FOR_CORES,
    refuse("is_shared(event_)", "event", "an event of this process", "", code=207000,
           rule="event is for other processes (0x40)"),
    _NO_WAIT, context(),
    refuse("event_.renewed", "event", "an event that keeps its signal", "", code=207000,
           rule="each record of event takes a new signal"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtResetEvent(acl: Acl, event: Handle, stream: Handle) -> None:
    """Take the newest record back when the stream gets there."""
    _event(acl, "aclrtResetEvent", event).reset(own_stream_of(acl, "aclrtResetEvent", stream))


# -- questions ---------------------------------------------------------------------------------------------------------


@entry(null("event", "status"), live("event", Event))
def aclrtQueryEvent(acl: Acl, event: Handle, status: Out[Enum]) -> None:
    """Tell whether nothing is being recorded: 0 complete, 1 not ready."""
    found = _event(acl, "aclrtQueryEvent", event)
    need("aclrtQueryEvent", status=status)
    status.value = _COMPLETE if found.queries.recorded() else _NOT_READY


@entry(
    live("evt", Event), null_rt("evt"),
    refuse("evt_.renewed or is_external(evt_) or is_shared(evt_)", "evt", "an event of the old kind", "", code=207000,
           rule="evt is of the new kind, or external (0x20), or for other processes (0x40)"),
)  # fmt: skip
def rtEventQuery(acl: Acl, evt: Handle) -> None:
    """Succeed when nothing is being recorded, else 507006."""
    event: Event = handle_of(acl, evt, Event)
    if not event.queries.recorded():
        raise errors.fault(
            "RT_ERROR_EVENT_NOT_COMPLETE", f"{event!r} is not complete", hint="synchronize it, or ask again",
        )


@entry(null("event", "status"), live("event", Event))
def aclrtQueryEventStatus(acl: Acl, event: Handle, status: Out[Enum]) -> None:
    """Tell whether the newest record is done: 1 complete, 0 not ready."""
    found = _event(acl, "aclrtQueryEventStatus", event)
    need("aclrtQueryEventStatus", status=status)
    status.value = int(found.queries.status())


@entry(null("event", "status"), live("event", Event))
def aclrtQueryEventWaitStatus(acl: Acl, event: Handle, status: Out[Enum]) -> None:
    """Tell whether all waits of streams are over: 0 complete, 1 not ready."""
    found = _event(acl, "aclrtQueryEventWaitStatus", event)
    need("aclrtQueryEventWaitStatus", status=status)
    status.value = _COMPLETE if found.queries.waits_done() else _NOT_READY


_NOT_IN_MODEL = refuse(
    "is_in_model(event_)", "event", "an event that a stream of no model has recorded", "EE1016", code=107000,
    rule="a stream of a model has recorded event",
)


@entry(null("event"), live("event", Event), _NO_STATE, _NOT_IN_MODEL)
def aclrtSynchronizeEvent(acl: Acl, event: Handle) -> None:
    """Wait for the newest record; needs no context."""
    _event(acl, "aclrtSynchronizeEvent", event).synchronize()


@entry(
    refuse("timeout < -1", "timeout", "at least -1", code=107000), null("event"), live("event", Event),
    zero("timeout", message="EE1003"), _NO_STATE, _NOT_IN_MODEL,
)  # fmt: skip
def aclrtSynchronizeEventWithTimeout(acl: Acl, event: Handle, timeout: I32) -> None:
    """Wait at most so many milliseconds, -1 for ever."""
    _event(acl, "aclrtSynchronizeEventWithTimeout", event).synchronize(timeout)


_TIMELESS = "is_external({0}_) or is_shared({0}_)"


@entry(
    null("ms", "startEvent", "endEvent"), live("startEvent", Event), live("endEvent", Event),
    refuse("is_in_graph(startEvent_) or is_in_graph(endEvent_)", "startEvent", "events of no capture",
           "EE1016", code=107028, rule="one of the events is part of a capture"),
    refuse(f"{_TIMELESS.format('startEvent')} or {_TIMELESS.format('endEvent')}", "startEvent", "events that keep time",
           "", code=207000, rule="one of the events is external (0x20), or for other processes (0x40)"),
)  # fmt: skip
def aclrtEventElapsedTime(acl: Acl, ms: Out[F32], startEvent: Handle, endEvent: Handle) -> None:
    """Give the milliseconds between two records; 0.0 where they cannot be told."""
    ms.value = 0.0
    start, end = (handle_of(acl, handle, Event) for handle in (startEvent, endEvent))
    began, ended = start.queries, end.queries
    ended.check_same_clock(began)
    ms.value = (ended.read_ticks() - began.read_ticks()) / ended.ticks_per_ms


@entry(null("timestamp", "event"), live("event", Event))
def aclrtEventGetTimestamp(acl: Acl, event: Handle, timestamp: Out[U64]) -> None:
    """Give the time of the newest record in microseconds of the device's clock."""
    found = _event(acl, "aclrtEventGetTimestamp", event)
    need("aclrtEventGetTimestamp", timestamp=timestamp)
    timestamp.value = int(found.queries.read_ticks() / (found.queries.ticks_per_ms / _US_PER_MS))


@entry(
    null("event", "eventId"), live("event", Event),
    refuse("is_shared(event_)", "event", "an event of this process", "", code=207000,
           rule="event is for other processes (0x40)"),
)  # fmt: skip
def aclrtGetEventId(acl: Acl, event: Handle, eventId: Out[U32]) -> None:
    """Give the device id of the newest record."""
    found = _event(acl, "aclrtGetEventId", event)
    need("aclrtGetEventId", eventId=eventId)
    eventId.value = found.event_id


@entry(null("eventCount"), context())
def aclrtGetEventAvailNum(acl: Acl, eventCount: Out[U32]) -> None:
    """Give how many ids for events the device has."""
    device = acl.runtime.current_context().device
    capacity, used = device.ids.usage(device.signals.ids.kind)
    eventCount.value = capacity - used


# -- other processes ---------------------------------------------------------------------------------------------------


@entry(null("handle", "event"), feature("IPC_EVENT", message=""))
def aclrtIpcGetEventHandle(acl: Acl, event: Handle, handle: Address) -> None:
    """Write the 64 bytes by which another process opens an event."""
    call = "aclrtIpcGetEventHandle"
    found = _event(acl, call, event)
    need(call, handle=handle)
    caller.write(handle, found.share().ljust(_IPC_HANDLE_BYTES, b"\0"), _IPC_HANDLE_BYTES)


@entry(null("event", "handle"), feature("IPC_EVENT", message=""), passes_snapshot=True)
def aclrtIpcOpenEventHandle(acl: Acl, handle: IpcEventHandle, event: Out[Handle]) -> None:
    """Open an event of another process by its 64 bytes."""
    name = caller.read(handle, _IPC_HANDLE_BYTES).rstrip(b"\0")
    device = acl.runtime.current_context().device
    event.value = kept(acl, Event(device, EventFlag.IPC, shared=name))
