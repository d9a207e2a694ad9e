"""Records and waits in a capture for events that streams outside of the graph wait for, or record (core_spec 14.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import CaptureRecordExternal, CaptureWaitExternal
from runtime import errors
from runtime.core.sync.event_flags import EventFlag
from runtime.feature.graph.execution.external_events import ExternalEvents
from runtime.feature.graph.recording.branch import branch_of
from runtime.feature.graph.recording.node import NodeKind

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.sync.event import Event

_KINDS = (EventFlag.SYNC, EventFlag.DDSYNC, EventFlag.SYNC | EventFlag.DDSYNC)
_MAKE = "make the event with device.create_event(), in C aclrtCreateEventExWithFlag(ACL_EVENT_SYNC)"


def record(stream: Stream, event: Event) -> None:
    """Let each execution of the graph that a stream is captured into record an event for streams outside of it.

    Raises:
        NotSupported 207000: the event keeps time, is shared or keeps one signal for life, the graph has hardware queues
            or is a branch of a conditional node, or the chip waits for no values.
        CaptureError 107029: the stream is not captured (EE1016).
        InvalidArgument 107000: the graph uses the event already, or a stream has recorded it (EE1018).
    """
    _capture(stream, event, "external record", CaptureRecordExternal(), records=True)


def wait(stream: Stream, event: Event) -> None:
    """Let each execution of the graph that a stream is captured into wait for the newest record that there is then.

    A stream may have recorded the event already. See `record` for the other errors.
    """
    _capture(stream, event, "external wait", CaptureWaitExternal(), records=False)


def _capture(stream: Stream, event: Event, call: str, task: Task, *, records: bool) -> None:
    event.check_open()
    stream.check_open()
    if not event.renewed or event.flags not in _KINDS:
        raise unsupported(call, f"{event!r} keeps time, is shared, or keeps one signal for life")
    branch = branch_of(stream)
    if branch is None:
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_NOT_CAPTURED", f"{call}: stream {stream.stream_id} is not captured", ee="EE1016",
            params=(call, "the stream is not captured"), hint="outside of a capture record and wait as usual",
        )
    graph = branch.graph
    if graph.parent is not None:
        raise unsupported(call, f"{graph!r} is a branch of a conditional node", "use the graph that the node is in")
    if not graph.software or not graph.device.chip.has("TASK_VALUE_WAIT"):
        raise unsupported(
            call, f"the tasks of {graph!r} go to hardware queues", "a driver that binds queues dynamically can do it"
        )
    events = graph.execution.launcher
    if not isinstance(events, ExternalEvents):
        events = ExternalEvents(graph)
        graph.execution.start_by(events)
    if events.uses(event):
        reason = f"{event!r} is used by the graph already"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {reason}", ee="EE1018", params=(call, reason),
            hint="use one event for each external record and wait of a graph; within a graph record and wait as usual",
        )
    event.use_outside(records=records)
    with graph.recording.invalidated_by_failure():
        taken = branch.ready()
        taken.submit(task, owner=call)
    kind = NodeKind.EVENT_RECORD if records else NodeKind.EVENT_WAIT
    events.add(event, graph.recording.describe_last(taken, kind, event, external=True), records=records)


def unsupported(call: str, reason: str, hint: str = _MAKE) -> errors.RuntimeFault:
    """Return the fault for what cannot be recorded or awaited from outside."""
    return errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {reason}", hint=hint)
