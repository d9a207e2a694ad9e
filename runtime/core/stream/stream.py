"""Streams: one hardware queue each, with its slots, its lock and what became of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from chips.env import EncodeEnv, TaskIds
from npuhal.records import replace
from runtime import errors
from runtime.core.device import teardown
from runtime.core.diagnostics.counters import TaskCounts
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.modes import FailureMode
from runtime.core.modes import StreamFlag as StreamFlag
from runtime.core.process.handles import dead_handle
from runtime.core.stream.blocking import BlockingState
from runtime.core.stream.stream_traits import StreamTraits, stream_traits
from runtime.core.submission import reclaim
from runtime.core.submission.compiled import stream_lock
from runtime.core.submission.epoch import EpochFlag
from runtime.core.submission.reports import Reports
from runtime.core.submission.ring import TaskRing
from runtime.core.submission.senders import Senders
from runtime.core.submission.sink import HARDWARE
from runtime.core.submission.sink_stack import SinkStack
from runtime.core.submission.submit import aborted, submit
from runtime.core.sync import synchronize as sync
from runtime.driver.queues import NO_ID, QueuePair
from runtime.errors.not_copied import NotCopied

if TYPE_CHECKING:
    from chips.registry import Plugin
    from chips.tasks import Task, TaskType
    from runtime.core.device.device import Device
    from runtime.core.ports import BoundModel, CaptureBranch, StreamLock, StreamPort, TaskSink, Tracer
    from runtime.core.process.context import Context
    from runtime.core.stream.dvpp_group import DvppGroup


SelfStream = TypeVar("SelfStream", bound="Stream")


class Stream(NotCopied):
    """An ordered queue of tasks on one device. Made by `device.create_stream()`.

    Everything that changes the ring happens under `lock`; reading a head may happen without it. What it is made of are
    parts that it holds: `ring`, `senders`, `reports`, `sinks`, `blocking`, `traits`.
    """

    __slots__ = (
        "__weakref__", "aborting", "aborts", "blocking", "bound", "branch", "closed", "context", "counts", "device",
        "env", "epoch", "failure", "failure_mode", "flags", "group", "handle", "launchers", "lock", "lost_capture",
        "name", "own_sink", "plugin", "priority", "queues", "read_head", "reports", "resources", "ring", "senders",
        "sends", "sink", "sinks", "site", "sq_word", "stream_id", "synchronizes", "tick", "tracer", "traits",
        "user_tag", "wanted_queues",
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
        counts_ids = env.chip.traits.counts_ids
        self.traits: StreamTraits = stream_traits(flags, counts_ids)
        """What flags and chip make of it."""
        self.ring: TaskRing = ring
        self.own_sink: TaskSink = sink
        """Where tasks go in the end: to the hardware queue, or what stands in its place."""
        self.sinks: SinkStack = SinkStack(self)
        """What is laid over it."""
        self.sink: TaskSink = sink
        """The sink in force."""
        self.bound: BoundModel | None = None
        """The model that keeps the stream's tasks, once the stream is bound to one."""
        self.branch: CaptureBranch | None = None
        """The branch of a graph that takes the stream's tasks while it is captured; as the sink in force says."""
        self.group: DvppGroup | None = group
        """The DVPP group whose completion queue the stream shares."""
        self.lock: StreamLock = stream_lock()
        """Nobody takes it twice, but for who repairs a send that was broken off; see `submit.broken_off`."""
        self.senders: Senders = Senders(device.queues, queues)
        self.read_head = device.queues.head_reader(queues.sq_id, ring)
        self.reports: Reports = Reports(device.queues.report_asker(queues.sq_id), counts_ids=counts_ids)
        """Who waits for which completion entry."""
        self.failure = errors.FirstError()
        self.launchers: dict[Any, Any] = {}
        """Prepared launches by (kernel, blocks, options, argument count); dropped when the route changes."""
        self.sends: dict[Hashable, Callable[..., int]] = {}
        """Other prepared sends by what they are; dropped with the launches."""
        self.resources: ExitStack = ExitStack()
        """What else goes with the stream: undone when it is closed, last added first."""
        self.failure_mode = FailureMode.CONTINUE
        self.blocking: BlockingState = BlockingState()
        """Whether launches wait."""
        self.lost_capture = ""
        """Why the last capture that the stream took part in has failed."""
        self.sq_word = 0
        """Address of the device word with the id of the queue that the stream is lent; 0 where the queue is its own."""
        self.user_tag = 0xFFFFFFFF
        self.closed = True
        """Until all of it is made (`creation`): what was made by halves is undone, and closed by nobody."""
        self.aborting = False
        self.wanted_queues: QueuePair | None = None
        """The numbers that its queues must be given again, where an abort could not make them."""
        self.aborts = 0
        """How often the stream was aborted: whoever waits across an abort sees that it changed."""
        self.epoch: EpochFlag = EpochFlag()
        """The epoch of prepared launches; it is blocked for ever once they are dropped."""
        self.blocked = context.failure.first is not None
        self.counts = TaskCounts(ring)
        """Its tasks by kind."""
        self.synchronizes = 0
        """How often the host has waited for it."""
        self.tick: Callable[[], None] = self.counts.ticking(
            device.recycler.tick(self) if env.separate_recycle else partial(reclaim.try_recycle, self)
        )
        """What senders call every 64 entries."""
        self.site = creation_site()
        self.tracer: Tracer | None = None
        """Who watches what happens here; launchers are built for it."""
        if device.runtime.tracer is not None:
            device.runtime.tracer.attach(self)
        self.handle = device.runtime.handles.add(self, weak=True)
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
        """Whether positions are never freed while the stream lives: a model will execute them."""
        return self.bound is not None or self.traits.collects

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
        return self.traits.never_waited or self.bound is not None

    def check_open(self) -> None:
        """Raise where the stream can take no call any more."""
        if self.closed:
            raise dead_handle(
                "stream", f"stream {self.stream_id} of device {self.device.user_id}",
                self.device.runtime.handles.history(self.handle),
            )

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

    def __del__(self) -> None:
        """Leave a stream that was dropped without `close` to the device, which closes it when its work is done."""
        if not getattr(self, "closed", True):
            if self.bound is None:  # else it is its model's, and goes with that
                self.context.dropped.append(self)
            self.device.dropped.append(partial(teardown.close_dropped, self))

    def __enter__(self: SelfStream) -> SelfStream:
        self.check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # When the body failed its tasks may never end; waiting for them would hide the error that is on its way.
        self.close(force=kind is not None)

    def __repr__(self) -> str:
        name = f"{self.name!r} " if self.name else ""
        pending = self.ring.pending
        state = ", closed" if self.closed else f", {pending} pending" if pending else ""
        return f"<Stream {name}{self.stream_id} on device {self.device.user_id}{state}>"

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
        if self.branch is not None:
            self.check_not_captured("synchronize of a stream")
        self.synchronizes += 1
        sync.synchronize(self, timeout_ms)

    def settle(self, timeout_ms: int = -1) -> None:
        """Wait as `synchronize` for messages that the runtime has sent by itself; see `sync.settle`."""
        sync.settle(self, timeout_ms)

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
        """The submission path of tasks: into the mapped ring, through the driver, or what a feature has installed."""
        return f"{self.sink.name}, {self.senders.way}" if self.sink.name == HARDWARE.name else self.sink.name

    # -- what it sends with ----------------------------------------------------------------------------------------

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

    # -- what it may do --------------------------------------------------------------------------------------------

    @property
    def target(self) -> Stream:
        """The stream whose queue takes what is submitted: another one while this one is captured, or is full."""
        return as_stream(self.sink.stream_for(self))

    def check_not_captured(self, call: str, *, posted: bool = True) -> None:
        """Refuse what cannot be done to a stream that is being captured; a capture that nobody can end is given up.

        Args:
            posted: whether the C API leaves a message besides the code.

        Raises:
            CaptureError 107027: it is; the capture goes on.
        """
        if self.branch is not None and not self.branch.let_go():
            raise errors.fault(
                "RT_ERROR_STREAM_CAPTURED",
                f"{call}: stream {self.stream_id} is being captured into {self.branch.told()}",
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

    def disown(self) -> None:
        """Be closed in a child of fork, which has none of the threads that may hold the locks."""
        self.lock._at_fork_reinit()
        self.reports.renew_lock()
        self.closed = self.blocked = True

    def check_send(self, task_type: TaskType) -> None:
        """Raise what keeps a task from being sent, wait while the process is locked; needed only while `blocked`.

        Called with the stream's lock held, which is let go while it waits.
        """
        process = self.device.runtime.lock
        if not process.open:
            try:
                self.lock.release()
                process.enter()
            finally:
                self.lock.acquire()
        self.check_open()
        if self.aborting:
            raise aborted(self, "RT_ERROR_STREAM_ABORT_SEND_TASK_FAIL")
        if self.device.aborting:
            raise aborted(self, "RT_ERROR_DEVICE_ABORT_SEND_TASK_FAIL")
        if self.wanted_queues is not None:
            raise errors.fault(
                "RT_ERROR_STREAM_ABORT_SEND_TASK_FAIL", f"stream {self.stream_id} has no queue: the driver refused to "
                "make it again when the stream was aborted", hint="abort it again, or close it",
            )
        self.context.failure.check(self, task_type)

    def update_blocked(self) -> None:
        """Set `blocked` again after a state has changed that it depends on."""
        self.blocked = (
            self.closed or self.aborting or self.device.aborting or self.context.failure.first is not None
            or self.wanted_queues is not None
            or not self.sink.immediate  # prepared launches must not pass by whoever records
            or not self.device.runtime.lock.open
        )

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    @property
    def counts_ids(self) -> bool:
        """Whether tasks are recognised by a 16-bit id of the stream (older chips), not by a serial number (v2)."""
        return self.reports.counts_ids

    drain = reclaim.drain

    def observed(self) -> None:
        """Tell tools that the program goes by what was read last, whoever has read it."""
        if self.device.hal.listens and not self.closed:
            self.device.hal.remark("observed", self.device.device_id, self.queues.sq_id)


def as_stream(seen: StreamPort) -> Stream:
    """Return the whole of what sinks and branches see of a stream: there is no other kind of it."""
    return cast("Stream", seen)
