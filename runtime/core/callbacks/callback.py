"""Functions that the device calls on the host, in stream order (core_spec 18.1 to 18.3).

Two ways. *Subscription*: a thread of the user's takes the calls of the streams that it subscribed to, one per
`process`. *Host functions*: a thread of the context's takes them, which is started with the first one; nothing needs to
be subscribed, and the stream always waits for the function.

A blocking call is three steps in the stream: the request, the wait for a signal that the host gives after the function
has returned, and the clearing of that signal.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from npuhal.changed import start_thread
from npuhal.late import logger
from npuhal.records import replace
from runtime import errors
from runtime.core.callbacks.subscription import Function, Group, Subscription
from runtime.core.sync.signals import IdSignal
from runtime.driver.queues.callbacks import CallbackDriver, CallbackReport

if TYPE_CHECKING:
    from runtime.core.ports import ContextPort, DevicePort, SignalPort, StreamPort

_LOG = logger(__name__)
_SLICE_MS = 200
"""Longest wait inside the driver, so that a waiting thread can be interrupted and stopped."""
_AGAIN_S = 0.01
"""Pause behind a report call that has failed."""
_EXIT_PATIENCE_S = 3.0
"""How long the exit of the process waits for a host function."""


class HostCallbacks:
    """All subscriptions of the process, and the threads that run host functions."""

    __slots__ = ("_group_ids", "_lock", "_runners", "_streams", "_threads")

    def __init__(self) -> None:
        self._threads: dict[int, Group] = {}
        self._streams: dict[StreamPort, Subscription] = {}
        self._runners: dict[ContextPort, HostFunctions] = {}
        self._group_ids: dict[DevicePort, set[int]] = {}
        self._lock = threading.RLock()

    # -- subscriptions ---------------------------------------------------------------------------------------------

    def subscribe(self, thread_id: int, stream: StreamPort, *, internal: bool = False) -> Subscription:
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

    def unsubscribe(self, thread_id: int, stream: StreamPort) -> None:
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

    def _free_group(self, device: DevicePort) -> int:
        used = self._group_ids.setdefault(device, set())
        count = CallbackDriver(device.ids).group_count()
        for number in range(count):
            if number not in used:
                return number
        raise errors.fault(
            "RT_ERROR_SUBSCRIBE_GROUP", f"all {count} callback groups of device {device.user_id} are in use",
            hint="unsubscribe the streams of threads that are done, or let one thread serve several streams",
        )

    def _open_group(self, device: DevicePort, thread_id: int, group_id: int, internal: bool) -> Group:
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
    def _taken(stream: StreamPort, call: str) -> errors.RuntimeFault:
        """Return the fault for a stream that has a thread already; host functions and subscriptions exclude each other.
        """
        reason = f"stream {stream.stream_id} already has a thread for its callbacks"
        return errors.fault(
            "RT_ERROR_SUBSCRIBE_STREAM", reason, ee="EE1016" if call else "", params=(call, reason) if call else (),
            hint="a stream has either one subscription or host functions",
        )

    def reopen(self, device: DevicePort) -> None:
        """Create the callback queues of a device again."""
        with self._lock:
            self._reopen(device)

    def _reopen(self, device: DevicePort) -> None:
        for group in self._threads.values():
            if group.device is device:
                group.reopen()

    # -- calls -----------------------------------------------------------------------------------------------------

    def launch(self, stream: StreamPort, function: Function | int, data: int = 0, *, block: bool) -> None:
        """Queue a call for the thread that has subscribed to the stream.

        Raises:
            StreamError 107015: no thread has.
        """
        stream.check_open()
        with self._lock:
            subscription = self._streams.get(stream)
            target = stream.target
            if subscription is not None and target is not stream:  # a captured call is the graph's
                subscription = self._streams.get(target) or self.subscribe(subscription.group.thread_id, target)
        if subscription is None:
            reason = f"no thread has subscribed to stream {stream.stream_id}"
            posted = stream.device.chip.traits.posts_early_calls
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

    def group_of(self, stream: StreamPort, signal: Any = None) -> Group | None:
        """Return the queue of whoever takes the calls of a stream, or of the call that sets a signal."""
        subscription = self._streams.get(stream)
        return None if subscription is None or signal not in (None, subscription.signal) else subscription.group

    def standing(self, stream: StreamPort, signal: SignalPort) -> str:
        """Say in words where the call stands that sets the signal which a stream waits for; "" if none does."""
        subscription = self._streams.get(stream)
        if subscription is None or subscription.signal is not signal:
            return ""
        group = subscription.group
        if group.making is None:
            return f"a host function, which thread {group.thread_id:#x} has not taken yet"
        if group.making.stream is stream:
            return f"the {group.making}, which has not returned"
        return f"a host function, whose thread still makes another call: the {group.making}"

    # -- host functions --------------------------------------------------------------------------------------------

    def host_function(
        self, stream: StreamPort, function: Function | int, data: int = 0, *, fails: bool = False
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
                subscription.wake = runner.wake
        try:
            subscription.launch(function, data, block=True, fails=fails)
        finally:
            runner.wake()

    def _runner(self, context: ContextPort) -> HostFunctions:
        runner = self._runners.get(context)
        if runner is None:
            runner = self._runners[context] = HostFunctions(self._threads.get, context)
            context.resources.callback(self._runners.pop, context)
            context.resources.callback(runner.stop)
        return runner


class HostFunctions:
    """The thread that makes the calls of one context's host functions; it sleeps while none is queued."""

    __slots__ = ("_find", "_runtime", "_served", "_stopping", "_thread", "_wakes", "thread_id", "wake")

    def __init__(self, find: Callable[[int], Group | None], context: ContextPort) -> None:
        """Start the thread.

        Args:
            find: returns the group of a thread.
        """
        self._find = find
        self._runtime = context.device.runtime
        self._served: Group | None = None
        """The group whose call was made last."""
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self.wake: Callable[[], object] = partial(self._wakes.put, None)
        """Lets the thread look for calls; in C, so that Ctrl-C cannot come before it has."""
        self._stopping = False
        try:
            self._thread = start_thread(self._loop, f"npuhal-host-functions-{context.device.user_id}")
            assert self._thread.ident is not None
            self.thread_id = self._thread.ident
        except BaseException:  # nobody will know of a thread that has begun
            self._stopping = True
            self.wake()
            raise

    def stop(self) -> None:
        """End the thread after the call that it makes now; the exit waits for that a few seconds only."""
        self._stopping = True
        self.wake()
        if threading.current_thread() is self._thread:
            return
        self._thread.join(_EXIT_PATIENCE_S if self._runtime.leaving else None)
        if self._thread.is_alive():
            call = None if self._served is None else self._served.making
            print(f"npuhal: the process exits without the end of the {call or 'host function'}, "
                  f"which was waited for {_EXIT_PATIENCE_S:.0f} s", file=sys.stderr)

    def _group(self) -> Group | None:
        """Return the group of this very thread if calls are queued there."""
        group = self._find(threading.get_ident())
        return group if group is not None and group.open else None

    def _receive(self, group: Group) -> CallbackReport | None:
        """Return the next request; one that the driver cannot give now stays where it is, and is asked for again."""
        try:
            return group.receive(_SLICE_MS)
        except errors.RuntimeFault as fault:
            _LOG.warning("requests of host functions cannot be read, and will be asked for again: %s", fault)
        time.sleep(_AGAIN_S)
        return None

    def _loop(self) -> None:
        while True:
            group = self._group()
            if self._stopping:
                return
            if group is None:
                self._wakes.get()
            elif (report := self._receive(group)) is not None:
                self._served = group
                group.run(report)
