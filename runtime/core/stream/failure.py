"""What a failed task does to everything else: failure modes of streams and contexts (core_spec 4.1).

By default a stream goes on after a failed task and its next synchronize reports the failure, once. One stream in stop
mode makes its whole context stop: after the first failure the context takes no more work and answers everything with
that failure, until it is reset. Work that is refused costs nothing while all is well: a stream that may not send is
*blocked*, which is the one flag every send looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import TaskType
from runtime import errors
from runtime.core.modes import FailureMode as FailureMode
from runtime.errors.arguments import whole

if TYPE_CHECKING:
    from runtime.core.ports import ContextPort, StreamPort


_ALWAYS_SENT = frozenset({TaskType.MAINTENANCE})
_CONTROL_SENT = _ALWAYS_SENT | {
    TaskType.MODEL_MAINTAINCE, TaskType.EVENT_RECORD, TaskType.DEVICE_RINGBUFFER_CONTROL,
}  # fmt: skip
"""What a healthy control stream still sends for a stopped context."""


class ContextFailure:
    """The failure state of one context: its mode, and the first failure once it has stopped."""

    __slots__ = ("_context", "first", "stops")

    def __init__(self, context: ContextPort) -> None:
        self._context = context
        self.stops = False
        """Whether the context stops at the first failed task (ctxMode STOP_ON_FAILURE)."""
        self.first: errors.RuntimeFault | None = None

    def set_mode(self, stream: StreamPort, mode: int) -> None:
        """Set a stream's failure mode; stop mode holds for the whole context and cannot be taken back.

        Values that name no mode are ignored, as the vendor's runtime does.

        Raises:
            NotSupported 207000: the mode was set to something else before, the stream is bound to a model, or the task
                scheduler is too old (EE1015).
        """
        call = "set_failure_mode"
        stream.check_open()
        mode = whole(call, "mode", mode)
        stream.device.need_of_scheduler("SET_STREAM_MODE", call)
        if stream.bound:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: stream {stream.stream_id} is bound to a model",
                ee="EE1017", params=(call, "stream", "it is bound to a model"),
                hint="set the mode before the stream is bound",
            )
        if mode not in (FailureMode.CONTINUE, FailureMode.STOP, FailureMode.ABORT):
            return
        if stream.failure_mode is not FailureMode.CONTINUE and mode != stream.failure_mode:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
                f"{call}: stream {stream.stream_id} is in mode {stream.failure_mode.name} already",
                ee="EE1016", params=(call, "the mode of a stream can be set only once"),
                hint="create another stream for another mode",
            )
        if mode == FailureMode.STOP:
            if stream.plugin.commands is not None:  # a queue of SQEs halts at a failure without being told
                from runtime.core.stream.commands import stop_at_failures

                stop_at_failures(stream)
            stream.failure_mode = FailureMode.STOP
            self.stops = True

    def enter(self, stream: StreamPort, fault: errors.RuntimeFault) -> bool:
        """Take note that a task of a stream failed; tells whether the stream goes on (its queue is resumed)."""
        if not self.stops:
            return True
        if self.first is None:
            self.first = fault
        stream.failure_mode = FailureMode.ABORT
        for member in self._context.all_streams():
            member.blocked = True
        return False

    def resume(self) -> None:
        """Go on after the failure: all tasks of the context are gone, its streams are as they were before it."""
        self.first = None
        for member in self._context.all_streams():
            if member.failure_mode is FailureMode.ABORT:
                member.failure_mode = FailureMode.STOP if self.stops else FailureMode.CONTINUE
                member.update_blocked()

    def clear(self) -> None:
        """Forget all failures of the context."""
        self.stops, self.first = False, None

    def check(self, stream: StreamPort, task_type: TaskType | None = None) -> None:
        """Raise the context's failure where it forbids what is asked of a stream.

        Args:
            task_type: the task that is to be sent, or None for a question about the stream's state.
        """
        first = self.first
        if first is None:
            return
        device = stream.device
        healthy = stream.failure_mode is not FailureMode.ABORT
        if task_type in _ALWAYS_SENT:
            return
        if healthy and stream is device.control_stream and (task_type is None or task_type in _CONTROL_SENT):
            return
        raise self.again(first)

    @staticmethod
    def again(first: errors.RuntimeFault) -> errors.RuntimeFault:
        """Return a new fault that repeats the first failure and is chained to it."""
        fault = errors.fault(
            first.code, f"the context stopped at an earlier failure: {first.message}", details=first.details,
            hint="reset the device, or destroy the context, to go on",
        )
        fault.__cause__ = first
        return fault
