"""Streams: one hardware queue each, with its slots, its lock and what became of its tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from chips.env import EncodeEnv, TaskIds
from chips.tasks import OverflowSwitch
from npuhal.records import replace
from runtime import errors
from runtime.core.device import teardown
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.modes import FailureMode, LaunchBlocking
from runtime.core.modes import StreamFlag as StreamFlag
from runtime.core.process.handles import dead_handle
from runtime.core.stream import blocking
from runtime.core.submission import completion
from runtime.core.submission.epoch import EpochFlag
from runtime.core.submission.reclaim import try_recycle
from runtime.core.submission.ring import TaskRing, tell
from runtime.core.submission.senders import Senders
from runtime.core.submission.sink import HARDWARE, stream_full
from runtime.core.submission.submit import aborted, submit
from runtime.core.sync import synchronize as sync
from runtime.driver.queues import NO_ID, QueuePair
from runtime.errors.mixing import NotCopied

if TYPE_CHECKING:
    from chips.registry import Plugin
    from chips.tasks import Task, TaskType
    from runtime.core.device.device import Device
    from runtime.core.ports import BoundModel, CaptureBranch, StreamPort, TaskSink, Tracer
    from runtime.core.process.context import Context
    from runtime.core.stream.dvpp_group import DvppGroup
    from runtime.core.submission.reports import Halted


SelfStream = TypeVar("SelfStream", bound="Stream")


class Stream(NotCopied):
    """An ordered queue of tasks on one device. Made by `device.create_stream()`.

    Everything that changes the ring happens under `lock`; reading a head may happen without it. `expected` maps a
    report key (see `report_key`) to the absolute end of the task and the callback that takes its CQE.
    """

    __slots__ = (
        "__weakref__",
        "_collects",
        "_host_only",
        "_unwaited",
        "aborting",
        "aborts",
        "bound",
        "branch",
        "closed",
        "context",
        "device",
        "env",
        "epoch",
        "expected",
        "failure",
        "failure_mode",
        "fast_sync",
        "flags",
        "group",
        "halted",
        "handle",
        "has_report",
        "launch_blocking",
        "launchers",
        "lock",
        "lost_capture",
        "name",
        "open_sections",
        "own_sink",
        "plugin",
        "priority",
        "queues",
        "read_head",
        "reports",
        "resources",
        "ring",
        "senders",
        "sends",
        "separate",
        "sink",
        "sinks",
        "site",
        "sq_word",
        "stream_id",
        "tick",
        "tracer",
        "user_tag",
    )  # fmt: skip

    def __init__(
        self, context: Context, stream_id: int, queues: QueuePair, env: EncodeEnv, ring: TaskRing, *,
        flags: StreamFlag, priority: int, name: str, sink: TaskSink = HARDWARE,
        group: DvppGroup | None = None,
    ) -> None:
        device = context.device
        self.context: Context = context
        self.device: Device = device
        self.stream_id = stream_id
        self.queues: QueuePair = queues
        self.env: EncodeEnv = env
        self.plugin: Plugin = device.plugin
        self.flags: StreamFlag = flags
        self.priority, self.name = priority, name
        # Asked at every look at the stream, where arithmetic on enumerations would be most of the cost.
        self._host_only = bool(flags & StreamFlag.HOST_ONLY)
        self._unwaited = bool(flags & StreamFlag.NEVER_WAITED)
        self._collects = bool(flags & StreamFlag.PERSISTENT) and not self.counts_ids
        self.fast_sync = bool(flags & StreamFlag.FAST_SYNC)
        self.ring: TaskRing = ring
        self.own_sink: TaskSink = sink
        """Where tasks go in the end: to the hardware queue, or what stands in its place."""
        self.sinks: tuple[TaskSink, ...] = ()
        """What is laid over it; the first is in force."""
        self.sink: TaskSink = sink
        """The sink in force."""
        self.bound: BoundModel | None = None
        """The model that keeps the stream's tasks, once the stream is bound to one."""
        self.branch: CaptureBranch | None = None
        """The branch of a graph that takes the stream's tasks while it is captured; as the sink in force says."""
        self.group: DvppGroup | None = group
        """The DVPP group whose completion queue the stream shares."""
        self.lock = threading.RLock()
        """Nobody takes it twice, but for who repairs a send that was broken off; see `submit.broken_off`."""
        self.reports = threading.RLock()
        """Held while completion entries are taken. May be asked for under `lock`, never the other way round."""
        self.senders: Senders = Senders(device.queues, queues)
        self.read_head = device.queues.head_reader(queues.sq_id)
        self.has_report = device.queues.report_asker(queues.sq_id)
        self.expected: dict[int, tuple[int, Callable[[Any], None]]] = {}
        self.failure = errors.FirstError()
        self.halted: Halted | None = None
        """What the queue waits for after a failed task, until the hardware has stopped it."""
        self.launchers: dict[Any, Any] = {}
        """Prepared launches by (kernel, blocks, options, argument count); dropped when the route changes."""
        self.sends: dict[Hashable, Callable[..., int]] = {}
        """Other prepared sends by what they are; dropped with the launches."""
        self.resources: ExitStack = ExitStack()
        """What else goes with the stream: undone when it is closed, last added first."""
        self.failure_mode = FailureMode.CONTINUE
        self.launch_blocking = LaunchBlocking.BY_ENVIRONMENT
        self.open_sections = 0
        """Non-blocking sections that are open."""
        self.lost_capture = ""
        """Why the last capture that the stream took part in has failed."""
        self.sq_word = 0
        """Address of the device word with the id of the queue that the stream is lent; 0 where the queue is its own."""
        self.user_tag = 0xFFFFFFFF
        self.closed = False
        self.aborting = False
        self.aborts = 0
        """How often the stream was aborted: whoever waits across an abort sees that it changed."""
        self.epoch: EpochFlag = EpochFlag()
        """What prepared launches look at: theirs is blocked for ever once they are dropped."""
        self.blocked = context.failure.first is not None
        self.separate = env.separate_recycle
        self.tick: Callable[[], None] = (
            device.recycler.tick(self) if self.separate else partial(try_recycle, self)
        )
        """What senders call every 64 places."""
        self.site = creation_site()
        self.tracer: Tracer | None = None
        """Who watches what happens here; launchers are built for it."""
        if device.runtime.tracer is not None:
            device.runtime.tracer.attach(self)
        self.handle = device.runtime.handles.add(self)
        device.hal.annotate(("stream", stream_id), self)
        device.hal.annotate(("sq", queues.sq_id), self)

    # -- life ------------------------------------------------------------------------------------------------------

    @property
    def has_queue(self) -> bool:
        """Whether there is a hardware queue: streams of graphs have one only while they are lent it."""
        return self.queues.sq_id != NO_ID

    @property
    def is_default(self) -> bool:
        """Whether this is a default or control stream, which lives and goes with its context or device."""
        return bool(self.flags & StreamFlag.PRIMARY_DEFAULT)

    @property
    def keeps_tasks(self) -> bool:
        """Whether places are never given free while the stream lives: a model will execute them."""
        return self.bound is not None or self._collects

    @property
    def blocked(self) -> bool:
        """Whether `check_send` must be asked before a task is sent. The one flag that every send looks at."""
        return self.epoch.now.blocked

    @blocked.setter
    def blocked(self, blocked: bool) -> None:
        self.epoch.block(blocked)

    @property
    def never_waited(self) -> bool:
        """Whether there is nothing to wait for: the stream only keeps tasks, or the host does not feed it."""
        return self._unwaited or self.bound is not None

    def check_open(self) -> None:
        """Raise where the stream can take no call any more."""
        if self.closed:
            raise dead_handle("stream", f"stream {self.stream_id} of device {self.device.user_id}")

    def close(self, *, force: bool = False) -> None:
        """Wait for the tasks in it, then give queue and ids back. Closing twice does nothing.

        Args:
            force: end the tasks instead of waiting for them.

        Raises:
            Timeout 507046: the tasks do not end (only without `force`); the stream stays usable.
            InvalidArgument: this is a default stream; it goes with the device's reset.
        """
        if self.closed:
            return
        self.check_not_captured("close of a stream")
        if self.bound is not None:
            raise errors.fault(
                "RT_ERROR_STREAM_MODEL", f"stream {self.stream_id} is bound to a model",
                hint="unbind the stream, or close the model, before the stream is closed",
            )
        if self.is_default:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"the default stream of device {self.device.user_id} cannot be closed on its own",
                ee="EE1003", params=("Stream.close", "default stream", "stream", "a stream from create_stream()"),
                hint="close the device: its default stream goes with the reset",
            )
        teardown.close_stream(self, force=force)

    def __enter__(self: SelfStream) -> SelfStream:
        self.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # When the body failed its tasks may never end; waiting for them would hide the error that is on its way.
        self.close(force=kind is not None)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.ring.pending} pending"
        what = "default stream" if self.is_default else "stream"
        return f"<{what} {self.stream_id} of device {self.device.user_id}: sq {self.queues.sq_id}, {state}>"

    # -- work ------------------------------------------------------------------------------------------------------

    def submit(self, task: Task, **options: Any) -> TaskIds:
        """Encode and send one task description; see runtime.core.submission.submit.submit for the options."""
        return submit(self, task, **options)

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until everything submitted so far is done.

        Args:
            timeout_ms: at least 1, or -1 to wait for ever.

        Raises:
            Timeout 507046: not done in time; everything goes on.
            KernelFault, DeviceFault: a task failed; the first failure is raised once and then forgotten.
        """
        self.check_not_captured("synchronize of a stream")
        sync.synchronize(self, timeout_ms)

    def query(self) -> bool:
        """Return whether everything submitted is done; never waits. A failed task counts as not done until it was
        reported by `synchronize`.

        Raises:
            DeviceAborted, or the failure of a stopped context.
        """
        self.check_not_captured("query of a stream")
        self.check_status()
        if self.never_waited:
            return True
        self.drain()
        self.context.failure.check(self)
        return self.ring.pending == 0 and self.failure.first is None

    @property
    def sq_path(self) -> str:
        """Which way out tasks take: into the mapped ring, through the driver, or what a feature has installed."""
        return f"{self.sink.name}, {self.senders.way}" if self.sink.name == HARDWARE.name else self.sink.name

    # -- settings --------------------------------------------------------------------------------------------------

    def set_failure_mode(self, mode: int) -> None:
        """Let the whole context stop at the first failed task (1); see `ContextFailure.set_mode`."""
        self.check_open()
        self.context.failure.set_mode(self, mode)

    @property
    def overflow_check(self) -> bool:
        """Whether kernels of this stream report arithmetic overflow."""
        return self.env.overflow_enabled

    def set_overflow_check(self, on: bool) -> None:
        """Turn overflow reports on or off for what is submitted from now on; launchers are built again.

        Raises:
            NotSupported 207000: the chip cannot do it per stream.
        """
        self.check_open()
        if not self.device.chip.has("STREAM_ATTR_OVERFLOW_CHECK"):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self.device.chip.soc} has no overflow switch per stream"
            )
        if on != self.overflow_check:
            self.context.default_stream.submit(OverflowSwitch(stream_id=self.stream_id, on=on), owner="overflow switch")
            self.change_environment(overflow_enabled=on)

    def set_launch_blocking(self, mode: LaunchBlocking) -> None:
        """Let launches wait for the stream or not, whatever the environment says; holds for launchers built later."""
        self.check_open()
        self.launch_blocking = LaunchBlocking(mode)
        self.drop_prepared()

    def non_blocking(self) -> blocking.NonBlockingSection:
        """Return a context manager: launches inside do not wait; leaving the outermost one waits once."""
        return blocking.NonBlockingSection(self)

    def change_environment(self, **facts: Any) -> None:
        """Replace facts that SQE builders look at; prepared launches are dropped."""
        with self.lock:
            self.env = replace(self.env, **facts)
            self.drop_prepared()

    def drop_prepared(self) -> None:
        """Forget prepared launches and sends: what they were made from has changed. Who holds one makes it again."""
        self.launchers.clear()
        self.sends.clear()
        self.epoch.renew()

    # -- sinks -----------------------------------------------------------------------------------------------------

    def lay_sink(self, sink: TaskSink) -> None:
        """Put a sink in force, over those that are."""
        self._change_sinks(self.own_sink, (sink, *self.sinks))

    def lift_sink(self, sink: TaskSink) -> None:
        """Take a sink out of force; those under it stay."""
        self._change_sinks(self.own_sink, tuple(each for each in self.sinks if each is not sink))

    def bind_sink(self, sink: TaskSink) -> None:
        """Put the sink of a model in force, under all that is laid over the stream's own."""
        self._change_sinks(self.own_sink, (*self.sinks, sink))

    def change_own_sink(self, sink: TaskSink) -> None:
        """Let tasks go elsewhere in the end."""
        self._change_sinks(sink, self.sinks)

    def _change_sinks(self, own: TaskSink, over: tuple[TaskSink, ...]) -> None:
        with self.lock:
            self.own_sink, self.sinks = own, over
            self.sink = (*over, own)[0]
            self.branch = self.sink.branch
            self.bound = next((each.model for each in over if each.model is not None), None)
            self.drop_prepared()
            self.update_blocked()

    def full(self) -> errors.RuntimeFault:
        """Return the fault for a task that finds no room in a stream that keeps its tasks."""
        return stream_full(self, "submit")

    def use_queues(self, queues: QueuePair) -> None:
        """Go on with other hardware queues: those that the stream is lent, or none."""
        self.queues = queues
        self.senders = Senders(self.device.queues, queues)
        self.read_head = self.device.queues.head_reader(queues.sq_id)
        self.has_report = self.device.queues.report_asker(queues.sq_id)
        self.change_environment(sq_id=queues.sq_id, sq_register_base=queues.register_base)

    def restart_queues(self, register_base: int) -> None:
        """Go on with queues that were made anew under the same ids; the ring is where it goes on."""
        device, pair = self.device, self.queues
        ring_base = device.queues.ring_base(pair.sq_id) if pair.ring_base else 0
        self.queues = replace(pair, ring_base=ring_base, register_base=register_base)
        self.senders.restart(ring_base)
        self.senders.seek(self.ring.tail)
        self.change_environment(sq_register_base=register_base)

    # -- gates -----------------------------------------------------------------------------------------------------

    @property
    def target(self) -> Stream:
        """The stream whose queue takes what is submitted: another one while this one is captured, or is full."""
        return as_stream(self.sink.stream_for(self))

    def check_not_captured(self, call: str, *, posted: bool = True) -> None:
        """Refuse what cannot be done to a stream that is being captured.

        Args:
            posted: whether the C API leaves a message besides the code.

        Raises:
            CaptureError 107027: it is; the capture goes on.
        """
        if self.branch is not None:
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURED", f"{call}: stream {self.stream_id} is being captured into a graph",
                ee="EE1016" if posted else "", params=(call, "the stream is being captured") if posted else (),
                hint="end the capture first",
            )

    def check_status(self) -> None:
        """Raise what keeps anybody from asking about the stream (CheckStatus, core_spec 4.1)."""
        self.check_open()
        if self.aborting:
            raise aborted(self, "ACL_ERROR_RT_STREAM_ABORT")
        if self.device.aborting:
            raise aborted(self, "ACL_ERROR_RT_DEVICE_TASK_ABORT")
        self.context.failure.check(self)

    def check_send(self, task_type: TaskType) -> None:
        """Raise what keeps a task from being sent, wait while the process is locked; needed only while `blocked`.

        Called with the stream's lock held, which is let go while it waits.
        """
        process = self.device.runtime.lock
        if not process.open:
            self.lock.release()
            try:
                process.enter()
            finally:
                self.lock.acquire()
        self.check_open()
        if self.aborting:
            raise aborted(self, "RT_ERROR_STREAM_ABORT_SEND_TASK_FAIL")
        if self.device.aborting:
            raise aborted(self, "RT_ERROR_DEVICE_ABORT_SEND_TASK_FAIL")
        self.context.failure.check(self, task_type)

    def update_blocked(self) -> None:
        """Set `blocked` again after a state has changed that it depends on."""
        self.blocked = (
            self.closed or self.aborting or self.device.aborting or self.context.failure.first is not None
            or not self.sink.immediate  # prepared launches must not pass by whoever records
            or not self.device.runtime.lock.open
        )

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    @property
    def counts_ids(self) -> bool:
        """Whether tasks are recognised by a 16-bit id of the stream (older chips), not by a serial number (v2)."""
        return self.env.chip.traits.counts_ids

    def report_key(self, ids: TaskIds) -> int:
        """Return the number by which a task's CQE is recognised: its id on v100, its serial on v2."""
        return ids.task_id if self.counts_ids else ids.task_sn

    def reclaim_locked(self, limit: int = 0) -> None:
        """Read the head and free finished slots, all or at most `limit`; callbacks are then owed (see TaskRing).

        A stream in failure mode ABORT gives everything up: what it still holds is never executed.
        """
        ring = self.ring
        if self.closed:
            return  # the id of its queue may be another stream's by now
        if self.failure_mode is FailureMode.ABORT:
            done = ring.pending
        elif self.keeps_tasks or self._host_only or not self.own_sink.immediate:
            done = 0
        else:
            done = ring.done(self.read_head(), limit)
        if done:
            ring.reclaim(done, self.device.release_arguments)

    def drain(self, limit: int = 0) -> None:
        """Take completion entries that have arrived, then free what the head has passed, at most `limit` places."""
        completion.drain(self)
        with self.lock:
            self.reclaim_locked(limit)
        if self.ring.owed:
            tell(self.ring.owed)

    def relied(self) -> None:
        """Tell tools that the program goes by what was read last, whoever has read it."""
        if not self.closed:
            self.device.hal.remark("relied", self.device.device_id, self.queues.sq_id)


def as_stream(seen: StreamPort) -> Stream:
    """Return the whole of what sinks and branches see of a stream: there is no other kind of it."""
    return cast("Stream", seen)
