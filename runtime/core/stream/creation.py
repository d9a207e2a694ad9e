"""Making streams: what the flags mean, and the set-up in the vendor's order (core_spec 5.1 to 5.3)."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.traits import TaskNumbering
from npuhal import constants as c
from npuhal.records import replace
from runtime import errors
from runtime.core.callbacks.observers import StreamState
from runtime.core.device.recycling import collect_many, take_or_recycle
from runtime.core.diagnostics import resource_report
from runtime.core.modes import FailureMode, StreamFlag
from runtime.core.stream import queues
from runtime.core.stream.stream import Stream
from runtime.core.submission.ring import RingV100, RingV200, TaskRing
from runtime.core.submission.sink import AICPU, DEVICE_FED, HARDWARE, HOST_ONLY
from runtime.core.submission.software import DEPTH, SoftwareSink
from runtime.core.submission.task_ids import PooledRing
from runtime.driver import resources as id_kinds
from runtime.driver.queues import NO_ID, QueuePair

if TYPE_CHECKING:
    from chips.env import EncodeEnv
    from runtime.core.device.device import Device
    from runtime.core.ports import TaskSink
    from runtime.core.process.context import Context
    from runtime.core.stream.dvpp_group import DvppGroup

LOWEST_PRIORITY = 7
HIGHEST_FLAG_VALUE = 0xFFFF
"""All flags of users or-ed, including the two bits that only mean something inside."""

_INTERNAL = StreamFlag.PRIMARY_DEFAULT | StreamFlag.PRIMARY_FIRST_DEFAULT
_WORD_BYTES = 8
_PLACEHOLDER_ID = 0x7FFFFFFF
"""Stream id of FORBIDDEN_DEFAULT."""


def create_for_user(
    context: Context, *, priority: int = 0, flags: int = 0, name: str = "", group: DvppGroup | None = None
) -> Stream:
    """Check what a user asks for and make the stream; it joins the context's list.

    Args:
        priority: 0 (highest) to 7; values outside are moved to the nearest.
        flags: StreamFlag values or-ed.
        group: the DVPP group whose completion queue the stream uses.

    Raises:
        InvalidArgument 107000: unknown flags (EE1003), or DEVICE_USE_ONLY beside another flag than SQ_LOCK (EE1006).
        NotSupported 207000: HUGE on a chip without huge rings; DEVICE_USE_ONLY on a device in stop mode.
        ResourceExhausted: no stream id (207008) or no queue (207005) left.
    """
    device = context.device
    if device.dropped:
        device.give_back_dropped()
    collect_many(context)
    device.runtime.read_once.look()
    wanted = _checked(device, flags)
    stream = create(
        context, flags=wanted & ~_INTERNAL, priority=max(0, min(priority, LOWEST_PRIORITY)), name=name, group=group,
        kind=_kind_of(device, wanted),
    )
    context.streams.add(stream)
    device.runtime.logs.life("stream %d of device %d created: priority %d, flags %#x", stream.stream_id,
                             device.user_id, stream.priority, stream.flags)  # fmt: skip
    if device.failure_mode is FailureMode.STOP:
        context.failure.set_mode(stream, FailureMode.STOP)
    device.runtime.stream_observers.notify(stream, StreamState.CREATE_POST)
    return stream


def _checked(device: Device, flags: int) -> StreamFlag:
    call = "create_stream"
    if not 0 <= flags <= HIGHEST_FLAG_VALUE:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags {flags:#x} are not all known",
            ee="EE1003", params=(call, hex(flags), "flags", f"[0, {HIGHEST_FLAG_VALUE:#x}]"),
            hint="or StreamFlag values",
        )
    wanted = StreamFlag(flags)
    if wanted & StreamFlag.DEVICE_USE_ONLY:
        if wanted & ~(StreamFlag.DEVICE_USE_ONLY | StreamFlag.SQ_LOCK):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"{call}: DEVICE_USE_ONLY goes with no other flag than SQ_LOCK, flags are {flags:#x}", ee="EE1006",
                params=(call, f"flags {flags:#x}", "DEVICE_USE_ONLY excludes other flags"),
                hint="leave the other flags out",
            )
        device.need_for_cores("a stream")
        if device.failure_mode is not FailureMode.CONTINUE:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: a device that stops at failures has no DEVICE_USE_ONLY "
                "streams", hint="create the stream before the device's failure mode is set",
            )
    if wanted & StreamFlag.HUGE and not device.chip.has("STREAM_HUGE_DEPTH"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {device.chip.soc} has no huge rings",
            ee="EE1006", params=(call, "HUGE", f"{device.chip.soc} has no huge rings"), hint="leave the flag out",
        )
    return wanted


class _Kind:
    """How one stream is set up: its depth, its sink, and which parts it has."""

    __slots__ = ("depth", "has_queue", "pooled", "queue_flags", "sink")

    def __init__(self, depth: int, sink: TaskSink = HARDWARE, *, has_queue: bool = True,
                 pooled: bool = False, queue_flags: int = 0) -> None:
        self.depth, self.sink, self.has_queue = depth, sink, has_queue
        self.pooled, self.queue_flags = pooled, queue_flags


def _kind_of(device: Device, flags: StreamFlag) -> _Kind:
    chip = device.chip
    depth = chip.limits.rtsq_depth
    if flags & StreamFlag.HOST_ONLY:
        placeholder = flags & StreamFlag.FORBIDDEN_DEFAULT
        return _Kind(depth, HOST_ONLY if placeholder else AICPU, has_queue=False)
    persistent = bool(flags & StreamFlag.PERSISTENT)
    dynamic = binds_dynamically(device)  # asked for every stream, as the vendor's runtime does
    if persistent and dynamic and chip.has("MODEL_PERSISTENT_STREAM_UNLIMITED_DEPTH"):
        split = SoftwareSink("software SQ, split when full")
        return _Kind(DEPTH, split, pooled=True, queue_flags=c.TSDRV_FLAG_NO_SQ_MEM)
    if flags & StreamFlag.HUGE and chip.limits.huge_stream_depth:
        depth = chip.limits.huge_stream_depth
    sink: TaskSink = DEVICE_FED if flags & StreamFlag.DEVICE_USE_ONLY else HARDWARE
    flagged = persistent and chip.traits.sink_queue_flag
    return _Kind(depth, sink, queue_flags=c.TSDRV_FLAG_TASK_SINK_SQ if flagged else 0)


def binds_dynamically(device: Device) -> bool:
    """Whether driver and task scheduler can let queues take their entries from memory of streams."""
    return device.driver.info.supports("FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND") and device.scheduler_has(
        "SOFTWARE_SQ_ENABLE"
    )


def create(
    context: Context, *, flags: StreamFlag = StreamFlag.DEFAULT, priority: int = 0, control: bool = False,
    name: str = "", group: DvppGroup | None = None, kind: _Kind | None = None,
) -> Stream:
    """Set a stream up; a failure gives back what was made.

    Raises:
        ResourceExhausted: no stream id or no queue left; the resource report says who holds them.
    """
    device = context.device
    kind = kind or _Kind(device.chip.limits.rtsq_depth)
    if not kind.has_queue:
        return _without_queue(context, kind, flags=flags, priority=priority, name=name)
    with queues.Undo() as undo:
        stream_id = _take_id(device, priority, undo)
        if device.chip.traits.executed_words:
            device.executed_words.take(stream_id)
            undo.callback(device.executed_words.give_back, stream_id)
        options = queues.options_of(device, stream_id, priority, flags, control=control)
        pair = queues.open_queues(device, options, kind.depth, kind.queue_flags, group, undo)
        env = replace(
            device.env, stream_id=stream_id, sq_id=pair.sq_id, sq_register_base=pair.register_base,
            overflow_enabled=bool(flags & StreamFlag.OVERFLOW), dvpp_group=group is not None,
            persistent=bool(flags & StreamFlag.PERSISTENT), sq_depth=kind.depth,
            separate_recycle=device.chip.has("TASK_RECYCLE_THREAD") and group is None and not kind.pooled
            and not flags & StreamFlag.DEVICE_USE_ONLY,
        )
        if device.plugin.commands is not None:
            from runtime.core.stream import commands  # for such chips only

            env = commands.environment(device, env, priority, pair.logic_cq_id)
        stream = device.stream_type(
            context, stream_id, pair, env, _ring(device, kind), flags=flags, priority=priority, name=name,
            sink=kind.sink, group=group,
        )
        if group is not None:
            group.join(stream)
        undo.done, stream.closed = True, False
        stream.update_blocked()
    queues.announce(stream)
    if flags & StreamFlag.FAST_LAUNCH and device.arguments.give_own(stream, kind.depth):
        stream.resources.callback(device.arguments.take_own, stream)
    return stream


def create_split(master: Stream) -> Stream:
    """Set up a stream that goes on where another one that keeps its tasks is full.

    Raises:
        ResourceExhausted: no stream id or no queue left.
    """
    name = f"continuation of {master.name or master.stream_id}"
    kind = _kind_of(master.device, StreamFlag(master.flags))
    return create(master.context, flags=master.flags, priority=master.priority, name=name, kind=kind)


def create_software(context: Context, *, flags: StreamFlag, priority: int, name: str) -> Stream:
    """Set up a stream of a graph: it keeps its entries on the host and is lent a queue when the graph is executed.

    Raises:
        ResourceExhausted: no stream id left.
        OutOfMemory 207001: no space for its words on the device.
    """
    device = context.device
    with queues.Undo() as undo:
        stream_id = _take_id(device, priority, undo, posted=True)
        device.executed_words.take(stream_id)
        undo.callback(device.executed_words.give_back, stream_id)
        logic_cq_id = queues.open_logic_cq(device, stream_id, undo)
        device.sq_pool.reserve()
        word = device.memory.alloc(_WORD_BYTES, internal_flags(hbm=True))
        undo.callback(device.memory.free, word)
        env = replace(
            device.env, stream_id=stream_id, sq_id=NO_ID, persistent=True, bound=True, sq_depth=DEPTH,
        )
        stream = device.stream_type(
            context, stream_id, QueuePair(NO_ID, NO_ID, logic_cq_id, DEPTH, 0, 0), env,
            PooledRing(DEPTH, device.task_pool), flags=flags, priority=priority, name=name,
            sink=SoftwareSink("software SQ"),
        )
        stream.sq_word = word
        stream.resources.callback(device.memory.free, word)
        undo.done, stream.closed = True, False
        stream.update_blocked()
    return stream


def _take_id(device: Device, priority: int, undo: ExitStack, *, posted: bool | None = None) -> int:
    try:
        alloc = partial(device.ids.alloc, id_kinds.STREAM, priority=priority)
        stream_id = take_or_recycle(device, id_kinds.STREAM, alloc)
    except errors.ResourceExhausted as fault:
        posted = device.chip.traits.posts_exhausted_ids if posted is None else posted
        resource_report.explain(device, id_kinds.STREAM, fault, "create_stream", posted=posted)
        raise
    undo.callback(device.ids.freeing(id_kinds.STREAM, stream_id))
    return stream_id


def _ring(device: Device, kind: _Kind) -> TaskRing:
    numbering = device.chip.traits.numbering
    if kind.pooled:
        return PooledRing(kind.depth, device.task_pool)
    return RingV100(kind.depth) if numbering is TaskNumbering.SLOT else RingV200(kind.depth)


def _without_queue(context: Context, kind: _Kind, *, flags: StreamFlag, priority: int, name: str) -> Stream:
    """Make a stream that the host only keeps a number for."""
    device = context.device
    stream_id = _PLACEHOLDER_ID
    if flags & StreamFlag.CPU_SCHEDULE:
        stream_id = device.take_host_stream_id()
    env: EncodeEnv = replace(device.env, stream_id=stream_id)
    pair = QueuePair(NO_ID, NO_ID, NO_ID, kind.depth, 0, 0)
    stream = device.stream_type(
        context, stream_id, pair, env, RingV200(kind.depth), flags=flags, priority=priority, name=name,
        sink=kind.sink,
    )
    stream.closed = False
    stream.update_blocked()
    return stream
