"""Capture: what is submitted to a stream becomes part of a graph instead of running (core_spec 14).

A graph is a model whose streams are made by the capture. Each user stream that takes part has a `Branch`: the stream
of the graph that takes its tasks. Events fork and join branches; in the graph they are replaced by shadows, signals
that every execution sets and takes back again.
"""

from __future__ import annotations

import enum
import threading
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.core import creation, submit, teardown
from runtime.core.capture_gate import CaptureMode
from runtime.core.event_flags import WAITABLE, EventFlag
from runtime.core.route import CAPTURE, RouteRank
from runtime.core.signals import ByteSignal, IdSignal, Signal
from runtime.core.stream import StreamFlag
from runtime.driver import ids as id_kinds
from runtime.feature.graph.model import Model

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.context import Context
    from runtime.core.event import Event
    from runtime.core.stream import Stream

_EXECUTOR_CAPTURE = 5
_MANY_EVENTS = 8192
"""With more free event ids than that, shadows are hardware events."""


class CaptureStatus(enum.IntEnum):
    """Where the capture of a stream stands (rtStreamCaptureStatus)."""

    NONE = 0
    ACTIVE = 1
    INVALIDATED = 2


class Shadow:
    """What stands for a recorded event in the graph."""

    __slots__ = ("branch", "event", "place", "signal", "waiters")

    def __init__(self, event: Event, branch: Branch, signal: Signal) -> None:
        self.event, self.branch, self.signal = event, branch, signal
        self.place = 0
        """Places taken in the branch's stream up to and with the record."""
        self.waiters: list[Branch] = []

    @property
    def capturing(self) -> bool:
        """Whether the graph is still being captured."""
        return self.branch.graph.capturing

    def wait(self, stream: Stream) -> None:
        """Let a stream wait for the record; one that is not captured joins the capture (fork).

        Raises:
            CaptureError 107031: the default stream cannot join.
            CaptureError 107032: the stream is captured into another graph.
        """
        graph = self.branch.graph
        branch = graph.branch_of(stream, "wait for a captured event")
        with graph.invalidated_by_failure():
            self.signal.wait(branch.stream, _nothing, 0)
        self.waiters.append(branch)

    def reset(self, stream: Stream) -> None:
        """Take the record back when the graph gets there; see `wait` for the errors."""
        graph = self.branch.graph
        branch = graph.branch_of(stream, "reset of a captured event")
        with graph.invalidated_by_failure():
            self.signal.reset(branch.stream, _nothing)


def _nothing() -> None:
    """The signal belongs to the graph; no task has a share in it."""


class Branch:
    """One user stream's part of a graph, and the graph's stream that takes its tasks."""

    __slots__ = ("graph", "last", "stream", "user")

    def __init__(self, graph: Graph, user: Stream, stream: Stream) -> None:
        self.graph, self.user, self.stream = graph, user, stream
        self.last: Shadow | None = None
        """The newest record in the branch."""

    def submit(self, task: Task, **options: Any) -> TaskIds:
        """Take a task that was submitted to the user's stream; a failure spoils the capture."""
        with self.graph.invalidated_by_failure():
            return submit.submit(self.stream, task, **options)

    def record(self, event: Event) -> None:
        """Record an event in the graph.

        Raises:
            NotSupported 207000: the event keeps one signal for life.
        """
        if not event.renewed:
            raise plain_event(event)
        if not event.flags & WAITABLE:
            return  # only the host could ask for it, and the graph tells the host nothing
        graph = self.graph
        with graph.invalidated_by_failure():
            shadow = Shadow(event, self, graph.new_signal())
            graph.shadows.append(shadow)
            shadow.signal.record(self.stream, _nothing, timeline=False, reported=None)
        shadow.place = self.stream.ring.submitted
        self.last = event.shadow = shadow

    def wait_outside(self, event: Event, *, recorded: bool) -> None:
        """Answer a wait for an event that is not part of the graph.

        Raises:
            NotSupported 207000: the event keeps one signal for life.
            CaptureError 107024: it was recorded outside.
        """
        if not event.renewed:
            raise plain_event(event)
        if recorded:
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURE_ISOLATION",
                f"{event!r} was recorded outside of the capture of stream {self.user.stream_id}", ee="EE1016",
                params=("wait for an event", "the event was recorded outside of the capture"),
                hint="record it in a stream of the capture, or wait before the capture begins",
            )

    def reset_outside(self, event: Event, *, recorded: bool) -> None:
        """Refuse a reset of an event that is not part of the graph; STARS v2 lets it pass where it changes nothing.

        Raises:
            NotSupported 207000: it cannot be part of a graph.
        """
        if recorded or event.flags != EventFlag.DEFAULT or self.graph.device.chip.generation == "v100":
            raise plain_event(event)

    @property
    def joined(self) -> bool:
        """Whether the branch ends in a record that somebody waits for."""
        last = self.last
        return last is not None and last.place == self.stream.ring.submitted and bool(last.waiters)


def plain_event(event: Event) -> errors.RuntimeFault:
    """Return the fault for an event that keeps one signal for life, which a graph cannot replace."""
    return errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{event!r} cannot be used in a capture",
        hint="make the event with device.create_event(), in C aclrtCreateEventExWithFlag",
    )


class Graph(Model):
    """A model made by a capture."""

    __slots__ = ("_branches", "begun_by", "mode", "origin", "shadows", "status")

    executor, captured = _EXECUTOR_CAPTURE, True

    def __init__(self, context: Context, mode: CaptureMode) -> None:
        super().__init__(context)
        self.mode = mode
        self.begun_by = 0
        """The thread that has begun the capture."""
        self.status = CaptureStatus.ACTIVE
        self.origin: Branch | None = None
        self._branches: list[Branch] = []
        self.shadows: list[Shadow] = []

    @property
    def capturing(self) -> bool:
        """Whether the capture is going on, spoiled or not."""
        return self.status is not CaptureStatus.NONE

    # -- while it is captured --------------------------------------------------------------------------------------

    def begin(self, stream: Stream) -> None:
        """Start the capture in a stream."""
        self.origin = self._join(stream)
        self.begun_by = self.context.capture_gate.enter(self.mode)

    def branch_of(self, stream: Stream, call: str) -> Branch:
        """Return a stream's branch of this graph, a new one if it is not captured.

        Raises:
            CaptureError 107031: the default stream cannot be captured.
            CaptureError 107032: it is captured into another graph.
        """
        branch: Branch | None = stream.branch
        if branch is None:
            if stream.is_default:
                raise errors.fault(
                    "RT_ERROR_STREAM_CAPTURE_IMPLICIT", f"{call}: the default stream cannot join a capture",
                    ee="EE1017", params=(call, "stream", "the default stream cannot be captured"),
                    hint="use a stream from create_stream()",
                )
            with self.invalidated_by_failure():
                return self._join(stream)
        if branch.graph is not self:
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURE_CONFLICT",
                f"{call}: stream {stream.stream_id} is captured into another graph than the event",
                hint="keep the events of different captures apart",
            )
        return branch

    def _join(self, stream: Stream) -> Branch:
        """Make the stream of the graph that takes a stream's tasks from now on."""
        v100 = self.device.chip.generation == "v100"
        made = creation.create(
            self.context, flags=StreamFlag.DEFAULT if v100 else StreamFlag.PERSISTENT, priority=stream.priority,
            name=f"capture of {stream.name or stream.stream_id}",
        )
        try:
            self._add(made, head=True)
        except BaseException:
            teardown.drop(made)
            raise
        branch = Branch(self, stream, made)
        self._branches.append(branch)
        stream.branch = branch
        stream.install_route(CAPTURE)
        return branch

    def new_signal(self) -> Signal:
        """Return what a shadow is made of: a hardware event where there are plenty, else a byte of memory."""
        device = self.device
        if device.chip.generation == "v100":
            capacity, used = device.ids.usage(id_kinds.EVENT)
            if capacity - used > _MANY_EVENTS:
                return IdSignal(device, device.signals.ids.take())
        return ByteSignal(device, device.signals.bytes.take())

    def invalidated_by_failure(self) -> _Spoils:
        """Return a context manager: a fault in it spoils the capture."""
        return _Spoils(self)

    # -- end of the capture ----------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Check that everything was joined, end the graph and load it; a failure closes it.

        Raises:
            CaptureError 507903: a captured task had failed.
            CaptureError 107025: a branch does not lead back.
        """
        try:
            if self.status is CaptureStatus.INVALIDATED:
                raise errors.fault(
                    "RT_ERROR_STREAM_CAPTURE_INVALIDATED", "a captured task has failed, so that the graph is not "
                    "complete", hint="see the error of that call, and capture again",
                )
            self._check_joined()
            assert self.origin is not None
            for shadow in self.shadows:
                shadow.signal.reset(self.origin.stream, _nothing)
            self.end(self.origin.stream)
            self.load()
        except BaseException:
            self.leave()
            self.close(force=True)
            raise
        self.leave()

    def _check_joined(self) -> None:
        forked = [branch for branch in self._branches if branch is not self.origin]
        loose = [branch for branch in forked if not branch.joined]
        direct = any(branch.last is not None and self.origin in branch.last.waiters for branch in forked)
        if loose or (forked and not direct):
            names = ", ".join(str(branch.user.stream_id) for branch in loose or forked)
            raise errors.fault(
                "RT_ERROR_STREAM_UNJOINED", f"what was captured in stream {names} does not lead back to the stream "
                "that the capture began in", ee="EE1017",
                params=("end of a capture", "stream", f"stream {names} was not joined"),
                hint="record an event as the last task there, and let the first stream wait for it",
            )

    def leave(self) -> None:
        """Let all streams and events be as they were before the capture."""
        if not self.capturing:
            return
        assert self.origin is not None
        self.status = CaptureStatus.NONE
        self.context.capture_gate.leave(self.mode, self.begun_by)
        for branch in self._branches:
            branch.user.branch = None
            branch.user.remove_route(RouteRank.CAPTURE)
        for shadow in self.shadows:
            if shadow.event.shadow is shadow:
                shadow.event.shadow = None

    # -- as a model ------------------------------------------------------------------------------------------------

    def check_executable(self) -> None:
        """Raise while it is being captured: 107026."""
        if self.capturing:
            raise self._captured("execute", "EE1017")
        super().check_executable()

    def execute_now(self, timeout_ms: int) -> None:
        """Refuse: a graph has no stream of its own to be waited for, 107000."""
        self.check_open()
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"graph {self.model_id} was captured and runs only in a stream", ee="EE1016",
            params=("synchronous execute", "the model was captured"), hint="execute(stream), then synchronize it",
        )

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Refuse: the capture made its streams, 107000."""
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"graph {self.model_id} was captured and takes no further streams",
            ee="EE1016", params=("bind of a stream to a model", "the model was captured"),
            hint="bind to a model made by hand",
        )

    def _captured(self, call: str, message: str = "") -> errors.RuntimeFault:
        reason = "it is being captured"
        return errors.fault(
            "RT_ERROR_MODEL_CAPTURED", f"{call}: graph {self.model_id} is not ready: {reason}", ee=message,
            params=(f"{call} of a graph", "model", reason) if message else (), hint="end the capture first",
        )

    def close(self, *, force: bool = False) -> None:
        """End the graph; see `Model.close`. `force` also ends its capture.

        Raises:
            CaptureError 107026: it is being captured.
        """
        if self.capturing and not self.closed:
            if not force:
                raise self._captured("close")
            self.leave()
        super().close(force=force)

    def _release_stream(self, stream: Stream) -> None:
        teardown.drop(stream)

    def _release(self) -> None:
        for shadow in self.shadows:
            shadow.signal.drop()
        super()._release()


class _Spoils:
    """`with graph.invalidated_by_failure():`"""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._graph.status is CaptureStatus.ACTIVE:
            self._graph.status = CaptureStatus.INVALIDATED


# -- for users -----------------------------------------------------------------------------------------------------


def begin(stream: Stream, mode: CaptureMode = CaptureMode.GLOBAL) -> Graph:
    """Capture what is submitted to a stream from now on; nothing of it runs before the graph is executed.

    Raises:
        StreamError 107005: the stream is bound to a model.
        NotSupported 207000: it is a default stream.
        CaptureError 107027: it is being captured already.
        ResourceExhausted: no model, stream or queue left; the stream stays usable.
    """
    stream.check_open()
    _check_stream(stream, "begin of a capture")
    stream.check_not_captured("begin of a capture")
    graph = Graph(stream.context, mode)
    try:
        graph.begin(stream)
    except BaseException:
        graph.status = CaptureStatus.NONE
        graph.close(force=True)
        raise
    return graph


def end(stream: Stream) -> Graph:
    """End the capture that began in a stream and return its graph, ready to execute.

    Raises:
        CaptureError 107029: the stream is not captured.
        CaptureError 107036: the capture began in another stream; it goes on.
        CaptureError 107038: it was begun by another thread, not in relaxed mode. This and what follows ends it.
        CaptureError 507903, 107025: see `Graph.finish`.
    """
    stream.check_open()
    _check_stream(stream, "end of a capture")
    branch: Branch | None = stream.branch
    if branch is None:
        raise errors.fault(
            "RT_ERROR_STREAM_NOT_CAPTURED", f"stream {stream.stream_id} is not being captured", ee="EE1018",
            params=("end of a capture", "the stream is not being captured"), hint="begin a capture first",
        )
    graph = branch.graph
    if branch is not graph.origin:
        assert graph.origin is not None
        raise errors.fault(
            "RT_ERROR_STREAM_CAPTURE_UNMATCHED", f"the capture began in stream {graph.origin.user.stream_id}, not in "
            f"{stream.stream_id}", hint="end it in the stream where it began",
        )
    if graph.mode is not CaptureMode.RELAXED and graph.begun_by != threading.get_ident():
        graph.close(force=True)
        raise errors.fault(
            "RT_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture was begun by another thread",
            hint="end it there, or begin it with CaptureMode.RELAXED",
        )
    graph.finish()
    return graph


def status(stream: Stream) -> tuple[CaptureStatus, Graph | None]:
    """Return how the capture of a stream stands, and its graph while there is one."""
    branch: Branch | None = stream.branch
    return (CaptureStatus.NONE, None) if branch is None else (branch.graph.status, branch.graph)


def exchange_mode(context: Context, mode: CaptureMode) -> CaptureMode:
    """Set how far captures of others hinder the calling thread; returns what it was."""
    context.check_open()
    current = context.device.runtime.current
    before: CaptureMode = current.capture_mode
    current.capture_mode = mode
    return before


def _check_stream(stream: Stream, call: str) -> None:
    v100 = stream.device.chip.generation == "v100"
    if stream.flags & StreamFlag.PERSISTENT and not v100:
        raise errors.fault(
            "RT_ERROR_STREAM_INVALID", f"{call}: stream {stream.stream_id} keeps its tasks for a model", ee="EE1011",
            params=(call, stream.stream_id, "stream", "it was made with PERSISTENT"), hint="use an ordinary stream",
        )
    if stream.bound is not None:
        raise errors.fault(
            "RT_ERROR_STREAM_MODEL", f"{call}: stream {stream.stream_id} is bound to a model", ee="EE1017",
            params=(call, "stream", "it is bound to a model"), hint="use an ordinary stream",
        )
    if stream.is_default:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the default stream cannot be captured", ee="EE1017",
            params=(call, "stream", "it is the default stream"), hint="use a stream from create_stream()",
        )
    if stream.flags & (StreamFlag.HOST_ONLY | StreamFlag.DEVICE_USE_ONLY):
        raise errors.fault(
            "RT_ERROR_STREAM_INVALID", f"{call}: stream {stream.stream_id} is not fed by the host", ee="EE1011",
            params=(call, stream.stream_id, "stream", "it is not fed by the host"), hint="use an ordinary stream",
        )
