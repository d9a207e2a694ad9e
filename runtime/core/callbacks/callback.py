"""Functions that the device calls on the host, in stream order (core_spec 18.1 to 18.3).

Two ways. *Subscription*: a thread of the user's takes the calls of the streams that it subscribed to, one per
`process`. *Host functions*: a thread of the context's takes them, which is started with the first one; nothing needs to
be subscribed, and the stream always waits for the function.

A blocking call is three steps in the stream: the request, the wait for a signal that the host gives after the function
has returned, and the clearing of that signal.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.tasks import HostCallback, NotifyWait
from npuhal.records import replace
from runtime import errors
from runtime.core.sync.signals import IdSignal
from runtime.driver.queues.callbacks import CallbackDriver, CallbackReport

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream

Function = Callable[[int], Any]

_SLICE_MS = 200
"""Longest wait inside the driver, so that a waiting thread can be interrupted and stopped."""

_NO_EVENT = 0xFFFFFFFF
_IDLE_TRIES = 3000
_TRY_S = 1e-3


class Subscription:
    """One stream whose calls a thread takes; `signal` is what blocking calls wait for."""

    __slots__ = ("_counting", "group", "lock", "open", "pending", "signal", "stream")

    def __init__(self, group: Group, stream: Stream, signal: IdSignal) -> None:
        self.group, self.stream, self.signal = group, stream, signal
        self.lock = threading.Lock()
        """Held while the steps of one call are queued."""
        self._counting = threading.Lock()
        self.pending = 0
        """Requests that the device has not passed on yet."""
        self.open = 0
        """Calls that were queued and not made yet."""

    def launch(self, function: Function | int, data: int, *, block: bool, fails: bool = False) -> None:
        """Queue a call: of a Python function, or of the C function at an address."""
        token = function if isinstance(function, int) else self.group.keep(function, self, fails)
        with self.lock:
            self._count(opened=1)
            try:
                self._request(token, data, block)
                if block:
                    self._wait()
            except BaseException:
                self.made()
                self.group.functions.pop(token, None)
                raise

    def _count(self, *, opened: int = 0, pending: int = 0) -> None:
        with self._counting:
            self.open += opened
            self.pending += pending

    def made(self) -> None:
        """One call was made."""
        self._count(opened=-1)

    def _request(self, token: int, data: int, block: bool) -> None:
        signal = self.signal
        signal.hold()
        self._count(pending=1)
        task = HostCallback(
            function=token, data=data, event_id=signal.number if block else _NO_EVENT, block=block
        )
        self.stream.submit(task, owner="host callback", finished=self._passed)

    def _passed(self) -> None:
        self._count(pending=-1)
        self.signal.drop()

    def _wait(self) -> None:
        """Queue the wait for the signal, and its clearing: on STARS v2 a notify, whose wait clears it."""
        stream, signal = self.stream, self.signal
        signal.hold()
        if stream.device.chip.generation != "v100":
            stream.submit(NotifyWait(notify_id=signal.number), owner="host callback", finished=signal.drop)
            return
        signal.wait(stream, signal.drop, 0)
        signal.hold()
        signal.reset(stream, signal.drop)

    def fail(self, problem: BaseException) -> None:
        """Keep what a host function raised as a failure of the stream."""
        fault = errors.fault(
            "RT_ERROR_HOST_FUNC_EXE_FAILED", f"a host function of stream {self.stream.stream_id} failed: {problem!r}",
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
                time.sleep(_TRY_S)
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
            f"stream {self.stream.stream_id} still has {self.pending} callbacks that did not reach the host",
            hint="call process_report in the subscribed thread until they are done, or close the stream by force",
        )


class Group:
    """The callback queue of one thread and the streams that it serves, all of one device."""

    __slots__ = (
        "_keeping", "_newest", "_receiving", "device", "driver", "functions", "group_id", "internal", "queues",
        "streams", "thread_id",
    )  # fmt: skip

    def __init__(self, device: Device, thread_id: int, group_id: int, *, internal: bool) -> None:
        self.device, self.thread_id, self.group_id, self.internal = device, thread_id, group_id, internal
        self.driver = CallbackDriver(device.ids)
        self.queues = (0, 0)
        self.streams: dict[int, Subscription] = {}
        self.functions: dict[int, tuple[Function, Subscription, bool]] = {}
        """Python functions that are to be called, by what stands for their address in the request."""
        self._receiving = threading.Lock()
        """Held while the queue is listened to: its number may be another one's as soon as it was given back."""
        self._keeping = threading.Lock()
        self._newest = 0
        """The last number that was given to a Python function."""

    def keep(self, function: Function, subscription: Subscription, fails: bool) -> int:
        """Remember a function until it was called; returns a number that is no address."""
        with self._keeping:
            self._newest = token = self._newest + 1
        self.functions[token] = (function, subscription, fails)
        return token

    @property
    def open(self) -> bool:
        """Whether calls are queued that were not made yet."""
        return any(subscription.open for subscription in list(self.streams.values()))

    def receive(self, timeout_ms: int) -> CallbackReport | None:
        """Return the next request, or None."""
        if self.open:  # a stream may wait for the call, and who locks the process for that stream
            return self._receive(timeout_ms)
        with self.device.runtime.lock.round():
            return self._receive(timeout_ms)

    def _receive(self, timeout_ms: int) -> CallbackReport | None:
        with self._receiving:
            return self.driver.receive(self.queues[1], timeout_ms) if self.streams else None

    def free(self) -> None:
        """Give the queue back, when nobody listens to it; its last stream has gone."""
        with self._receiving:
            self.driver.free(*self.queues)

    def reopen(self) -> None:
        """Make the queue anew, on a device that was opened again; nothing is under way."""
        self.queues = self.driver.create(self.group_id)
        for subscription in self.streams.values():
            subscription.stream.change_environment(callback_cq_id=self.queues[1])

    def run(self, report: CallbackReport) -> None:
        """Call the function of a request, then let a stream that waits for it go on, whatever the function did.

        What a host function raises becomes a failure of its stream; what another one raises goes to the caller.
        """
        subscription = self.streams.get(report.stream_id)
        try:
            kept = self.functions.pop(report.function, None)
            if kept is None and report.function <= self._newest:
                pass  # a stream that has gone meanwhile had asked for it
            elif kept is None:
                ctypes.CFUNCTYPE(None, ctypes.c_void_p)(report.function)(report.data)
            elif kept[0](report.data) and kept[2]:
                raise RuntimeError("the host function returned a failure")
        except BaseException as problem:
            if not self.internal:
                raise
            if subscription is not None:
                subscription.fail(problem)
        finally:
            if subscription is not None:
                subscription.made()
                if report.block:
                    self.device.ids.fire(self.device.signals.ids.kind, subscription.signal.number)

    def leave(self, subscription: Subscription) -> None:
        """Take a stream out; what it still wanted called is forgotten."""
        del self.streams[subscription.stream.stream_id]
        for token, (_, owner, _) in list(self.functions.items()):
            if owner is subscription:
                self.functions.pop(token, None)
        subscription.signal.drop()


class HostCallbacks:
    """All subscriptions of the process, and the threads that run host functions."""

    __slots__ = ("_group_ids", "_lock", "_runners", "_streams", "_threads")

    def __init__(self) -> None:
        self._threads: dict[int, Group] = {}
        self._streams: dict[Stream, Subscription] = {}
        self._runners: dict[Context, HostFunctions] = {}
        self._group_ids: dict[Device, set[int]] = {}
        self._lock = threading.RLock()

    # -- subscriptions ---------------------------------------------------------------------------------------------

    def subscribe(self, thread_id: int, stream: Stream, *, internal: bool = False) -> Subscription:
        """Let a thread take the calls of a stream.

        Args:
            thread_id: `threading.get_ident()` of the thread, which is pthread_self(); not checked.

        Raises:
            StreamError 107011: the stream has a thread already.
            InvalidArgument 107012: the thread serves another device.
            InternalError 507000: no callback group is left.
        """
        stream.check_open()
        with self._lock:
            taken = self._streams.get(stream)
            if taken is not None:
                raise self._taken(stream, "subscribe" if taken.group.internal else "")
            group = self._threads.get(thread_id)
            if group is not None and group.device is not stream.device:
                raise errors.fault(
                    "RT_ERROR_SUBSCRIBE_THREAD", f"thread {thread_id:#x} takes callbacks of device "
                    f"{group.device.user_id} and cannot take those of device {stream.device.user_id} too",
                    hint="use one thread per device",
                )
            group_id = self._free_group(stream.device) if group is None else group.group_id
            signal = IdSignal(stream.device)
            try:
                if group is None:
                    group = self._open_group(stream.device, thread_id, group_id, internal)
            except BaseException:
                signal.drop()
                raise
            subscription = Subscription(group, stream, signal)
            group.streams[stream.stream_id] = subscription
            self._streams[stream] = subscription
            stream.resources.callback(self._forget, subscription)
            stream.env = replace(stream.env, callback_cq_id=group.queues[1], callback_group_id=group.group_id)
            return subscription

    def unsubscribe(self, thread_id: int, stream: Stream) -> None:
        """End a subscription once all requests of the stream have left the device.

        Raises:
            StreamError 107011: the stream has none.
            InvalidArgument 107012: it is another thread's.
        """
        stream.check_open()
        with self._lock:
            subscription = self._streams.get(stream)
        if subscription is None:
            raise errors.fault(
                "RT_ERROR_SUBSCRIBE_STREAM", f"stream {stream.stream_id} has no subscription",
                hint="subscribe it first",
            )
        if subscription.group.thread_id != thread_id:
            raise errors.fault(
                "RT_ERROR_SUBSCRIBE_THREAD", f"stream {stream.stream_id} is subscribed by thread "
                f"{subscription.group.thread_id:#x}, not by {thread_id:#x}",
                hint="unsubscribe with the thread id that it was subscribed with",
            )
        subscription.wait_passed()
        self._forget(subscription)

    def _free_group(self, device: Device) -> int:
        used = self._group_ids.setdefault(device, set())
        count = CallbackDriver(device.ids).group_count()
        for number in range(count):
            if number not in used:
                return number
        raise errors.fault(
            "RT_ERROR_SUBSCRIBE_GROUP", f"all {count} callback groups of device {device.user_id} are in use",
            hint="unsubscribe the streams of threads that are done, or let one thread serve several streams",
        )

    def _open_group(self, device: Device, thread_id: int, group_id: int, internal: bool) -> Group:
        group = Group(device, thread_id, group_id, internal=internal)
        group.queues = group.driver.create(group_id)
        self._group_ids[device].add(group_id)
        self._threads[thread_id] = group
        return group

    def _forget(self, subscription: Subscription) -> None:
        """Take a stream out of its group, and close the group with its last stream; twice does nothing."""
        with self._lock:
            if self._streams.get(subscription.stream) is not subscription:
                return
            del self._streams[subscription.stream]
            group = subscription.group
            group.leave(subscription)
            if group.streams:
                return
            del self._threads[group.thread_id]
            used = self._group_ids[group.device]
            used.discard(group.group_id)
            if not used:
                del self._group_ids[group.device]
            group.free()

    @staticmethod
    def _taken(stream: Stream, call: str) -> errors.RuntimeFault:
        """Return the fault for a stream that has a thread already; host functions and subscriptions exclude each other.
        """
        reason = f"stream {stream.stream_id} already has a thread for its callbacks"
        return errors.fault(
            "RT_ERROR_SUBSCRIBE_STREAM", reason, ee="EE1016" if call else "", params=(call, reason) if call else (),
            hint="a stream has either one subscription or host functions",
        )

    def reopen(self, device: Device) -> None:
        """Make the callback queues of a device anew."""
        with self._lock:
            for group in self._threads.values():
                if group.device is device:
                    group.reopen()

    # -- calls -----------------------------------------------------------------------------------------------------

    def launch(self, stream: Stream, function: Function | int, data: int = 0, *, block: bool) -> None:
        """Queue a call for the thread that has subscribed to the stream.

        Raises:
            StreamError 107015: no thread has.
        """
        stream.check_open()
        with self._lock:
            subscription = self._streams.get(stream)
        if subscription is None:
            reason = f"no thread has subscribed to stream {stream.stream_id}"
            posted = stream.device.chip.generation == "v100"
            raise errors.fault(
                "RT_ERROR_STREAM_NO_CB_REG", reason, ee="EE1018" if posted else "",
                params=("launch of a callback", reason) if posted else (),
                hint="subscribe a thread, or use a host function, which needs none",
            )
        subscription.launch(function, data, block=block)

    def process(self, thread_id: int, timeout_ms: int) -> None:
        """Take one call and make it, on the calling thread.

        Args:
            timeout_ms: how long to wait for one, -1 for ever.

        Raises:
            InvalidArgument 107012: the thread has subscribed to nothing.
            Timeout 507012: no call came in time.
        """
        deadline = None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
        while True:
            group = self._threads.get(thread_id)
            if group is None:
                raise errors.fault(
                    "RT_ERROR_SUBSCRIBE_THREAD", f"thread {thread_id:#x} has subscribed to no stream",
                    hint="subscribe with the id of this very thread: threading.get_ident(), in C pthread_self()",
                )
            left = _SLICE_MS if deadline is None else int((deadline - time.monotonic()) * 1000)
            if left <= 0:
                raise errors.fault(
                    "RT_ERROR_REPORT_TIMEOUT", f"no callback came to thread {thread_id:#x} within {timeout_ms} ms",
                    hint="check that the stream reaches the callback, or wait longer",
                )
            report = group.receive(min(left, _SLICE_MS))
            if report is not None:
                group.run(report)
                return

    # -- host functions --------------------------------------------------------------------------------------------

    def host_function(
        self, stream: Stream, function: Function | int, data: int = 0, *, fails: bool = False
    ) -> None:
        """Queue a call that the context's own thread makes; the stream waits for it.

        Args:
            fails: a result of the function that is not 0 is a failure of the stream.

        Raises:
            StreamError 107011: a thread of the user's has subscribed to the stream.
        """
        stream.check_open()
        stream = stream.target  # a captured function is the graph's
        with self._lock:
            subscription = self._streams.get(stream)
            if subscription is not None and not subscription.group.internal:
                raise self._taken(stream, "host_function")
            runner = self._runner(stream.context)
            if subscription is None:
                subscription = self.subscribe(runner.thread_id, stream, internal=True)
        subscription.launch(function, data, block=True, fails=fails)
        runner.wake()

    def _runner(self, context: Context) -> HostFunctions:
        runner = self._runners.get(context)
        if runner is None:
            runner = self._runners[context] = HostFunctions(self._threads.get, context)
            context.resources.callback(self._runners.pop, context)
            context.resources.callback(runner.stop)
        return runner


class HostFunctions:
    """The thread that makes the calls of one context's host functions; it sleeps while none is queued."""

    __slots__ = ("_changed", "_find", "_stopping", "_thread", "thread_id")

    def __init__(self, find: Callable[[int], Group | None], context: Context) -> None:
        """Start the thread.

        Args:
            find: returns the group of a thread.
        """
        self._find = find
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(
            target=self._loop, name=f"npuhal-host-functions-{context.device.user_id}", daemon=True
        )
        self._thread.start()
        assert self._thread.ident is not None
        self.thread_id = self._thread.ident

    def wake(self) -> None:
        """Let the thread look for calls."""
        with self._changed:
            self._changed.notify_all()

    def stop(self) -> None:
        """End the thread after the call that it makes now."""
        self._stopping = True
        self.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _group(self) -> Group | None:
        """Return the group of this very thread if calls are queued there."""
        group = self._find(threading.get_ident())
        return group if group is not None and group.open else None

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._group() is not None)
            group = self._group()
            if self._stopping:
                return
            report = None if group is None else group.receive(_SLICE_MS)
            if group is not None and report is not None:
                group.run(report)
