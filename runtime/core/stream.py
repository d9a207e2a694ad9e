"""Streams: one hardware queue each, with its slots, its lock and what became of its tasks."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from chips.env import EncodeEnv, TaskIds
from runtime import errors
from runtime.core import completion, sync, teardown
from runtime.core.refs import dead_handle
from runtime.core.ring import RingV100, RingV200, TaskRing, tell
from runtime.core.route import NORMAL, Route
from runtime.core.submit import submit
from runtime.driver import ids as id_kinds
from runtime.driver.queues import QueueOptions, QueuePair

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.context import Context
    from runtime.core.device import Device

_GROUP_UNSET = 0xFF


class StreamFlag(enum.IntFlag):
    """What a stream is for (rt_stream.h, RT_STREAM_*)."""

    DEFAULT = 0
    PERSISTENT = 0x1
    HUGE = 0x4
    PRIMARY_DEFAULT = 0x40
    PRIMARY_FIRST_DEFAULT = 0x80
    OVERFLOW = 0x100
    FAST_LAUNCH = 0x200
    FAST_SYNC = 0x400


SelfStream = TypeVar("SelfStream", bound="Stream")


class Stream:
    """An ordered queue of tasks on one device. Made by `device.create_stream()`.

    Everything that changes the ring happens under `lock`; reading a head may happen without it. `expected` maps a
    report key (see `report_key`) to the callback that takes the CQE of that task.
    """

    __slots__ = (
        "__weakref__", "closed", "context", "device", "env", "expected", "failure", "flags", "handle", "launchers",
        "lock", "name", "plugin", "priority", "queues", "read_head", "resources", "ring", "route", "senders",
        "stream_id",
    )  # fmt: skip

    def __init__(
        self, context: Context, stream_id: int, queues: QueuePair, env: EncodeEnv, *, flags: StreamFlag, priority: int,
        name: str,
    ) -> None:
        device = context.device
        self.context, self.device = context, device
        self.stream_id, self.queues, self.env = stream_id, queues, env
        self.plugin = device.plugin
        self.flags, self.priority, self.name = flags, priority, name
        v100 = env.chip.generation == "v100"
        self.ring: TaskRing = (RingV100 if v100 else RingV200)(queues.depth)
        self.route: Route = NORMAL
        self.lock = threading.Lock()
        self.senders = _Senders(device, queues.sq_id)
        self.read_head = device.queues.head_reader(queues.sq_id)
        self.expected: dict[int, Callable[[Any], None]] = {}
        self.failure = errors.FirstError()
        self.launchers: dict[Any, Callable[..., None]] = {}
        """Prepared launches by (kernel, blocks, options, argument count); dropped when the route changes."""
        self.resources = ExitStack()
        """What else goes with the stream: undone when it is closed, last added first."""
        self.closed = False
        self.handle = device.runtime.handles.add(self)
        device.hal.annotate(("stream", stream_id), self)
        device.hal.annotate(("sq", queues.sq_id), self)

    # -- life ------------------------------------------------------------------------------------------------------

    @property
    def is_default(self) -> bool:
        """Whether this is the default stream of a context, which lives and goes with the device."""
        return bool(self.flags & StreamFlag.PRIMARY_DEFAULT)

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
        """Encode and send one task description; see runtime.core.submit.submit for the options."""
        return submit(self, task, **options)

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until everything submitted so far is done.

        Args:
            timeout_ms: at least 1, or -1 to wait for ever.

        Raises:
            Timeout 507046: not done in time; everything goes on.
            KernelFault, DeviceFault: a task failed; the first failure is raised once and then forgotten.
        """
        sync.synchronize(self, timeout_ms)

    def query(self) -> bool:
        """Return whether everything submitted is done; never waits. A failed task counts as not done until it was
        reported by `synchronize`."""
        self.check_open()
        self.drain()
        return self.ring.pending == 0 and self.failure.first is None

    @property
    def sq_path(self) -> str:
        """Which way out tasks take: hardware SQ, or what a capture has installed."""
        return self.route.name

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    def report_key(self, ids: TaskIds) -> int:
        """Return the number by which a task's CQE is recognised: its id on v100, its serial on v2."""
        return ids.task_id if isinstance(self.ring, RingV100) else ids.task_sn

    def reclaim_locked(self) -> list[Callable[[], None]]:
        """Read the head and free finished slots; returns callbacks to run without the lock."""
        done = self.ring.done(self.read_head())
        return self.ring.reclaim(done, self.device.release_arguments) if done else []

    def drain(self) -> None:
        """Take completion entries that have arrived, then free what the head has passed."""
        completion.drain(self)
        with self.lock:
            told = self.reclaim_locked()
        if told:
            tell(told)


class _Senders:
    """Prepared sends by SQE count; the usual one exists from the start."""

    __slots__ = ("_by_count", "_device", "_sq_id")

    def __init__(self, device: Device, sq_id: int) -> None:
        self._device, self._sq_id = device, sq_id
        self._by_count = {1: device.queues.sender(sq_id)}

    def __getitem__(self, count: int) -> Any:
        sender = self._by_count.get(count)
        if sender is None:
            sender = self._by_count[count] = self._device.queues.sender(self._sq_id, count)
        return sender


def create(
    context: Context, *, flags: StreamFlag = StreamFlag.DEFAULT, priority: int = 0, control: bool = False,
    name: str = "",
) -> Stream:
    """Set a stream up in the vendor's order (core_spec 5.3a); a failure gives back what was made.

    Raises:
        ResourceExhausted: no stream id or no queue left (EE1023 on the chips that say so).
    """
    device = context.device
    chip = device.chip
    v100 = chip.generation == "v100"
    with ExitStack() as undo:
        stream_id = device.ids.alloc(id_kinds.STREAM, priority=priority)
        undo.callback(device.ids.free, id_kinds.STREAM, stream_id)
        if v100:
            device.executed_words.take(stream_id)
            undo.callback(device.executed_words.give_back, stream_id)
        options = QueueOptions(
            stream_id, priority, inf_nan=bool(device.saturation), overflow=bool(flags & StreamFlag.OVERFLOW), software_queue=v100,
            group_id=0 if v100 else _GROUP_UNSET, control=control and not v100,
        )
        depth = chip.limits.rtsq_depth
        sq_id, cq_id = device.queues.create(
            options, depth=depth, cqe_bytes=chip.limits.cqe_size, cq_depth=chip.limits.rtcq_depth or depth,
            extended=not v100,
        )
        undo.callback(device.queues.free, sq_id, cq_id)
        ring_base = 0 if v100 else device.queues.ring_base(sq_id)
        logic_cq_id = device.queues.create_logic_cq(stream_id, threading.get_ident())
        undo.callback(device.queues.free_logic_cq, logic_cq_id)
        device.ids.bind_logic_cq(stream_id, logic_cq_id)
        undo.callback(device.ids.unbind_logic_cq, stream_id)
        register_base = 0
        if v100:
            register_base = device.queues.register_base(sq_id)
            device.sq_registers.write(sq_id, register_base)
        pair = QueuePair(sq_id, cq_id, logic_cq_id, depth, register_base, ring_base)
        env = replace(
            device.env, stream_id=stream_id, sq_id=sq_id, sq_register_base=register_base,
            overflow_enabled=bool(flags & StreamFlag.OVERFLOW), separate_recycle=chip.has("TASK_RECYCLE_THREAD"),
        )
        stream = device.stream_type(context, stream_id, pair, env, flags=flags, priority=priority, name=name)
        undo.pop_all()
    return stream
