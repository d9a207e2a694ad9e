"""One stream's calls on the host, and the queue through which a thread takes those of its streams (core_spec 18.1)."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import EventReset, EventWait, HostCallback, NotifyWait
from chips.traits import EventKind
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.core.callbacks import inside
from runtime.core.callbacks.inside import OWNER
from runtime.core.submission.submit import Receipt
from runtime.driver.queues.callbacks import CallbackDriver, CallbackReport

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.ports import BoundModel, DevicePort, StreamPort
    from runtime.core.submission.ring import TaskInfo
    from runtime.core.sync.signals import IdSignal

Function = Callable[[int], Any]

_NO_EVENT = 0xFFFFFFFF
_IDLE_TRIES = 3000
_TRY_S = 1e-3
_FIRE_TRIES = 100


class Kept(NamedTuple):
    """A Python function that is to be called."""

    function: Function
    subscription: Subscription
    fails: bool
    """Whether a result that is not 0 is a failure of the stream."""
    name: str


def name_of(function: object) -> str:
    """Return what a function is called in messages."""
    if isinstance(function, int):
        return f"at {function:#x}"
    return str(getattr(function, "__qualname__", "") or repr(function))


class _Step:
    """One task of a call; `finished` lets go of the signal that it holds."""

    __slots__ = ("_finished", "_owner", "_pending", "_subscription", "_task", "receipt")

    def __init__(
        self, subscription: Subscription, task: Task, owner: TaskInfo | str, finished: Callable[[], None],
        *, pending: int = 0,
    ) -> None:  # fmt: skip
        self._subscription, self._task, self._owner = subscription, task, owner
        self._finished, self._pending = finished, pending
        self.receipt = Receipt()

    def send(self) -> None:
        """Send the task."""
        subscription = self._subscription
        subscription.signal.hold()
        subscription.count(pending=self._pending)
        subscription.stream.submit(self._task, owner=self._owner, finished=self._finished, receipt=self.receipt)


def _send_rest(steps: list[_Step]) -> None:
    for step in steps:
        if not step.receipt.left:
            step.send()


class Subscription:
    """One stream whose calls a thread takes; `signal` is what blocking calls wait for."""

    __slots__ = ("_counting", "_expected", "_model", "group", "lock", "open", "pending", "signal", "stream", "wake")

    def __init__(self, group: Group, stream: StreamPort, signal: IdSignal) -> None:
        self.group, self.stream, self.signal = group, stream, signal
        self.lock = threading.Lock()
        """Held while the steps of one call are queued."""
        self._counting = threading.Lock()
        self.pending = 0
        """Requests that the device has not passed on yet."""
        self.open = 0
        """Calls that were queued and not made yet, but for those of a model's stream."""
        self.wake: Callable[[], object] | None = None
        """Lets the thread look for calls, where it sleeps while there are none."""
        self._model: BoundModel | None = None
        """The model whose executions make the calls, where the stream is in one."""
        self._expected = False

    @property
    def lasting(self) -> bool:
        """Whether the stream keeps its tasks: its calls are made with each execution, and kept as long as they are."""
        return self.stream.keeps_tasks

    @property
    def listened(self) -> bool:
        """Whether a call may come: one is queued, or the model that the stream is in is being executed."""
        if self._expected and self._model is not None and self._model.idle():
            self._expected = False
        return self.open > 0 or self._expected

    def launch(self, function: Function | int, data: int, *, block: bool, fails: bool = False) -> None:
        """Queue a call: of a Python function, or of the C function at an address.

        All of its steps are queued or none: where Ctrl-C comes between two of them, the others follow.
        """
        kept = not isinstance(function, int)
        token = self.group.keep(Kept(function, self, fails, name_of(function))) if callable(function) else function
        steps = self._steps(token, data, block, kept and self.lasting)
        with self.lock:
            self.count(opened=not self.lasting)
            try:
                for step in steps:
                    step.send()
                if self.lasting:
                    self._follow(self.stream.bound)
            except BaseException:
                if not steps[0].receipt.left:
                    self.made()
                    if kept:
                        self.group.functions.pop(token, None)
                    raise
                _send_rest(steps)
                raise

    def calls_in(self, stream: StreamPort) -> bool:
        """Whether a stream waits for an execution of the model that makes the calls of this one."""
        return self._model is not None and self._model.runs_in(stream)

    def _follow(self, model: BoundModel | None) -> None:
        """Have each execution of the model that the stream is in say that calls are coming."""
        if model is not None and self._model is not model.root:
            self._model = model.root
            self._model.before_each(self._expect)

    def _expect(self) -> None:
        self._expected = True
        if self.wake is not None:
            self.wake()

    def count(self, *, opened: int = 0, pending: int = 0) -> None:
        """Change how many calls are queued, and how many requests the device has not passed on."""
        with self._counting:
            self.open += opened
            self.pending += pending

    def made(self) -> None:
        """One call was made."""
        if not self.lasting:
            self.count(opened=-1)

    def _steps(self, token: int, data: int, block: bool, forget: bool) -> list[_Step]:
        """Return the request, the wait for the signal, and its clearing: where events are notifies, the wait does it.
        """
        signal = self.signal
        request = HostCallback(
            function=token, data=data, event_id=signal.number if block else _NO_EVENT, block=block
        )
        steps = [_Step(self, request, OWNER, partial(self._passed, token if forget else 0), pending=1)]
        if not block:
            return steps
        if self.stream.device.chip.traits.events is EventKind.NOTIFIES:
            return [*steps, _Step(self, NotifyWait(notify_id=signal.number), OWNER, signal.drop)]
        wait, reset = EventWait(event_id=signal.number), EventReset(event_id=signal.number)
        return [*steps, _Step(self, wait, "event wait", signal.drop), _Step(self, reset, "event reset", signal.drop)]

    def _passed(self, token: int) -> None:
        """The device has passed the request on, or a model that kept it has ended: then its function goes too."""
        self.count(pending=-1)
        self.signal.drop()
        self.group.functions.pop(token, None)

    def let_go_on(self) -> None:
        """Set the signal that the stream waits for; where the driver refuses again and again, the stream fails."""
        device = self.stream.device
        for tries_left in reversed(range(_FIRE_TRIES)):
            try:
                device.ids.fire(device.signals.ids.kind, self.signal.number)
                return
            except errors.RuntimeFault as fault:
                if not tries_left:
                    self.stream.failure.keep(fault)
                    return
            time.sleep(_TRY_S)

    def fail(self, problem: BaseException, name: str) -> None:
        """Keep what a host function raised as a failure of the stream."""
        fault = errors.fault(
            "RT_ERROR_HOST_FUNC_EXE_FAILED",
            f"the host function {name} of stream {self.stream.stream_id} failed: {problem!r}",
            hint="look at the cause of this fault",
        )
        fault.__cause__ = problem
        self.stream.failure.keep(fault)

    def wait_passed(self) -> None:
        """Wait until the device has passed all requests on; Timeout 507046 when it does not."""
        for _ in range(_IDLE_TRIES):
            if not self.pending:
                return
            self.stream.drain()
            if self.pending:
                inside.check_wait(self.stream, "unsubscribe")
                time.sleep(_TRY_S)
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
            f"stream {self.stream.stream_id} still has {self.pending} callbacks that did not reach the host",
            hint="call process_report in the subscribed thread until they are done, or close the stream by force",
        )


class Group:
    """The callback queue of one thread and the streams that it serves, all of one device."""

    __slots__ = (
        "_keeping", "_newest", "_receiving", "device", "driver", "functions", "group_id", "internal", "making",
        "queues", "streams", "thread_id",
    )  # fmt: skip

    def __init__(self, device: DevicePort, thread_id: int, group_id: int, *, internal: bool) -> None:
        self.device, self.thread_id, self.group_id, self.internal = device, thread_id, group_id, internal
        self.driver = CallbackDriver(device.ids, resource_table=device.ids.resource_table)
        self.queues = (0, 0)
        self.streams: dict[int, Subscription] = {}
        self.functions: dict[int, Kept] = {}
        """Python functions that are to be called, by what stands for their address in the request."""
        self.making: inside.HostCall | None = None
        """The call that the thread makes now."""
        self._receiving = threading.Lock()
        """Held while the queue is listened to: its number may be another one's as soon as it was given back."""
        self._keeping = threading.Lock()
        self._newest = 0
        """The last number that was given to a Python function."""

    def keep(self, kept: Kept) -> int:
        """Remember a function until it was called, or the model ends that calls it; returns a number, no address."""
        with self._keeping:
            self._newest = token = self._newest + 1
        self.functions[token] = kept
        return token

    @property
    def open(self) -> bool:
        """Whether calls may come."""
        return any(subscription.listened for subscription in list(self.streams.values()))

    def receive(self, timeout_ms: int) -> CallbackReport | None:
        """Return the next request, or None."""
        if self.open:  # a stream may wait for the call, and who locks the process for that stream
            return self._receive(timeout_ms)
        with self.device.runtime.lock.round():
            return self._receive(timeout_ms)

    def _receive(self, timeout_ms: int) -> CallbackReport | None:
        with self._receiving:
            return self.driver.receive(self.group_id, timeout_ms) if self.streams else None

    def free(self) -> None:
        """Give the queue back, when nobody listens to it; its last stream has gone."""
        with self._receiving:
            self.driver.free(*self.queues)

    def reopen(self) -> None:
        """Create the queue again on a device that was opened again; no call is pending."""
        self.queues = self.driver.create(self.group_id)
        for subscription in self.streams.values():
            subscription.stream.change_environment(callback_cq_id=self.queues[1])

    def run(self, report: CallbackReport) -> None:
        """Call the function of a request, then let a stream that waits for it go on, whatever the function did.

        What a host function raises becomes a failure of its stream; what another one raises goes to the caller.
        """
        subscription = self.streams.get(report.stream_id)
        kept = self.functions.get(report.function)
        if kept is not None and not kept.subscription.lasting:
            self.functions.pop(report.function, None)
        name = name_of(report.function) if kept is None else kept.name
        outer, self.making = self.making, inside.enter(name, subscription, self, report)
        try:
            if kept is None and report.function <= self._newest:
                pass  # a stream that has gone meanwhile had asked for it
            elif kept is None:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(report.function)(report.data)
            elif kept.function(report.data) and kept.fails:
                raise RuntimeError("the host function returned a failure")
        except BaseException as problem:
            if not self.internal:
                raise
            if subscription is not None:
                subscription.fail(problem, name)
        finally:
            self.making = outer
            inside.leave(outer)
            if subscription is not None:
                subscription.made()
                if report.block:
                    subscription.let_go_on()

    def leave(self, subscription: Subscription) -> None:
        """Take a stream out; what it still wanted called is forgotten."""
        del self.streams[subscription.stream.stream_id]
        for token, kept in list(self.functions.items()):
            if kept.subscription is subscription:
                self.functions.pop(token, None)
        subscription.signal.drop()
