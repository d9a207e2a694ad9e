"""Streams and an event: which may record it, which may wait for it, and which wait sends a task (core_spec 10.7.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import errors
from runtime.core.sync import value
from runtime.core.sync.recording import Waiting

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.sync.event_state import EventState
    from runtime.core.sync.signals import Signal

# -- who may -----------------------------------------------------------------------------------------------------------


def check_recordable(state: EventState, stream: StreamPort) -> None:
    """Raise where a stream cannot record it, as `record` would."""
    check_model(state, stream)
    if state.outside is not None:
        state.outside.check_record(state)
    if state.means.device_only:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{state!r} is for code on the device and cannot be recorded by a stream",
            ee="EE1006", params=("record of an event", "event with the flag DEVICE_USE_ONLY", "not recordable"),
            hint="make another event with the flag SYNC",
        )
    if stream.device is not state.device and (state.means.ipc or state.means.external):
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_CONTEXT",
            f"an event of device {state.device.user_id} cannot be recorded in a stream of "
            f"device {stream.device.user_id}",
            ee="EE1010", params=("record of an event", "stream", "it belongs to another device"),
            hint="record it in a stream of its own device",
        )


def check_waitable(state: EventState) -> None:
    """Raise where no stream can wait for it: NotSupported 207000."""
    if not state.means.waitable:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{state!r} only marks progress; no stream can wait for it",
            hint="make the event with the flag SYNC or DDSYNC",
        )


def check_model(state: EventState, stream: StreamPort) -> None:
    """Refuse events that change their signal in a stream of a model, whose tasks run again and again."""
    if stream.bound is not None and state.per_record:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{state!r} takes a new id with each record, which the tasks of "
            f"stream {stream.stream_id}, bound to a model, would not learn of",
            hint="make a plain event with the flag SYNC for streams of models",
        )


# -- waits -------------------------------------------------------------------------------------------------------------


def needs_wait(state: EventState, stream: StreamPort) -> bool:
    """Decide in the order of core_spec 10.7.5 whether a wait sends a task."""
    record = state.latest
    if stream.bound is not None or state.means.ipc:
        return state.signal is not None
    if record is None:
        if state.renewed:
            return False
        if not state.means.waits_first:
            raise _never_recorded(state)
        return True
    if record.stream is stream and not state.is_default:
        return False
    done = record.done
    if done:
        record.stream.observed()
    if state.renewed and done:
        return False
    return not done or state.reset_in is not None or state.means.waits_first


def try_wait(state: EventState, stream: StreamPort) -> bool:
    """Wait by a prepared send for a record in another stream that is pending, where the stream has one."""
    record, signal, device = state.latest, state.signal, stream.device
    if (record is None or signal is None or record.stream is stream or record.stream.device is not device
            or record.done or state.closed or stream.closed or state.in_graph is not None or stream.bound is not None
            or device.runtime.timeouts.wait_limit_s or not signal.hold()):
        return False
    end = signal.wait_fast(stream)
    if not end:
        signal.drop()
    elif state.waits is not None:
        state.waits[stream] = Waiting(stream, signal, end)
    return end > 0


def send_wait(state: EventState, signal: Signal, stream: StreamPort, timeout_s: int) -> None:
    """Send a wait for a signal that is held for it."""
    record, at_home = state.latest, signal.device is stream.device
    if at_home and not timeout_s and (end := signal.wait_fast(stream)):
        wait = Waiting(stream, signal, end)
    else:
        wait = Waiting(stream, signal)
        if at_home:
            signal.wait(stream, wait.finished, timeout_s)
        else:
            assert record is not None
            value.bridge(record.stream, stream, wait.finished)
    if state.waits is not None:
        state.waits[stream] = wait


def _never_recorded(state: EventState) -> errors.RuntimeFault:
    reason = f"{state!r} was never recorded"
    early = state.device.chip.traits.posts_early_calls
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"wait for an event: {reason}", ee="EE1018" if early else "EE1001",
        params=("wait for an event", reason) if early else (reason,),
        hint="record the event before the wait, or make it with the flag SYNC",
    )
