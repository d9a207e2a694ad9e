"""Streams by name: creation, waiting, settings, abort (core_spec 4.1, 5, 8.5)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from chips.tasks import Nop
from runtime import errors
from runtime.capi.aclrt.checks import (
    Check,
    anywhere,
    context,
    live,
    null,
    null_rt,
    one_of,
    own,
    refuse,
    succeed,
    too_old,
    unbound,
    uncaptured,
    zero,
)
from runtime.capi.aclrt.entry import Out, entry, handle_of, kept, need, own_stream_of, stream_of
from runtime.capi.aclrt.kinds import I32, U32, U64, Address, Enum, Handle
from runtime.capi.aclrt.layouts import STREAM_VALUE
from runtime.capi.aclrt.state import Acl
from runtime.core.device import overflow
from runtime.core.stream import blocking
from runtime.core.stream.dvpp_group import DvppGroup
from runtime.core.stream.priority import scheduler_priority, set_scheduler_priority
from runtime.core.stream.stream import Stream, StreamFlag
from runtime.core.submission.submit import last_task_id
from runtime.feature.graph.model.model_sink import bound_model
from runtime.memory import caller

_FLAGS = {
    0x1: StreamFlag.FAST_LAUNCH, 0x2: StreamFlag.FAST_SYNC, 0x4: StreamFlag.PERSISTENT, 0x8: StreamFlag.HUGE,
    0x10: StreamFlag.CPU_SCHEDULE, 0x20: StreamFlag.DEVICE_USE_ONLY,
}  # fmt: skip
"""Flags of acl_rt.h (ACL_STREAM_*) and what they are inside; other bits mean nothing."""
_DEVICE_USE_ONLY = 0x20

_FAILURE_MODE, _OVERFLOW, _USER_TAG, _CACHE_INFO, _PRIORITY = 1, 2, 3, 4, 5
"""aclrtStreamAttr."""
_COMPLETE, _NOT_READY = 0, 1
"""aclrtStreamStatus."""


# -- creation and destruction --------------------------------------------------------------------------------------


@entry(null("stream"), context(), waits_for_snapshot=True)
def aclrtCreateStream(acl: Acl, stream: Out[Handle]) -> None:
    """Make a stream of highest priority without flags."""
    _create(acl, "aclrtCreateStream", stream, 0, 0)


@entry(null("stream"), waits_for_snapshot=True)
def aclrtCreateStreamWithConfig(acl: Acl, stream: Out[Handle], priority: U32, flag: U32) -> None:
    """Make a stream with a priority (0 to 7, larger ones count as 7) and ACL_STREAM_* flags."""
    create_configured(acl, "aclrtCreateStreamWithConfig", stream, priority, flag)


def create_configured(acl: Acl, call: str, stream: Out[int], priority: int, asked: int) -> None:
    """Make a stream with a priority and ACL_STREAM_* flags."""
    need(call, stream=stream)
    flags = 0
    if asked & _DEVICE_USE_ONLY and asked != _DEVICE_USE_ONLY:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: DEVICE_USE_ONLY goes with no other flag, flag is {asked:#x}",
            ee="EE1006", params=(call, f"flag {asked:#x}", "DEVICE_USE_ONLY excludes other flags"),
            hint="leave the other flags out",
        )
    for bit, meaning in _FLAGS.items():
        if asked & bit:
            flags |= meaning
    signed = priority & 0xFFFFFFFF
    _create(acl, call, stream, signed - (1 << 32) if signed >> 31 else signed, flags)


@entry(null_rt("stm"), waits_for_snapshot=True)
def rtStreamCreate(acl: Acl, stm: Out[Handle], priority: I32) -> None:
    """Make a stream with a priority; values outside 0 to 7 are moved to the nearest."""
    _create(acl, "rtStreamCreate", stm, priority, 0)


@entry(null_rt("stm"))
def rtStreamCreateWithFlags(acl: Acl, stm: Out[Handle], priority: I32, flags: U32) -> None:
    """Make a stream with the runtime's own flags (RT_STREAM_*)."""
    _create(acl, "rtStreamCreateWithFlags", stm, priority, flags)


@entry(null_rt("grp"), waits_for_snapshot=True)
def rtDvppGroupCreate(acl: Acl, grp: Out[Handle], flags: U32) -> None:
    """Make a DVPP group."""
    grp.value = acl.runtime.current_context().device.create_dvpp_group().handle


@entry()
def rtDvppGroupDestroy(acl: Acl, grp: Handle) -> None:
    """End a DVPP group with its streams."""
    handle_of(acl, grp, DvppGroup).close()


@entry(null_rt("stm", "grp"), waits_for_snapshot=True)
def rtStreamCreateByGrp(acl: Acl, stm: Out[Handle], priority: I32, flags: U32, grp: Handle) -> None:
    """Make a stream that shares a DVPP group's completion queue."""
    call = "rtStreamCreateByGrp"
    _create(acl, call, stm, priority, flags, handle_of(acl, grp, DvppGroup))


def _create(acl: Acl, call: str, stream: Out[int], priority: int, flags: int, group: DvppGroup | None = None) -> None:
    need(call, stream=stream)
    context = acl.runtime.current_context()
    stream.value = kept(acl, context.create_stream(priority=priority, flags=flags, group=group))


@entry(null("stream"), live("stream", Stream), uncaptured("stream"), own("stream"), waits_for_snapshot=True)
def aclrtDestroyStream(acl: Acl, stream: Handle) -> None:
    """Wait for a stream's tasks and end it."""
    _destroy(acl, "aclrtDestroyStream", stream, force=False)


@entry(null("stream"), live("stream", Stream), uncaptured("stream"), own("stream"), waits_for_snapshot=True)
def aclrtDestroyStreamForce(acl: Acl, stream: Handle) -> None:
    """End a stream together with its tasks."""
    _destroy(acl, "aclrtDestroyStreamForce", stream, force=True)


def _destroy(acl: Acl, call: str, stream: int, *, force: bool) -> None:
    need(call, stream=stream)
    found = own_stream_of(acl, call, stream)
    if found.is_default:
        # the stream lives as long as its context; only this handle ends
        acl.runtime.handles.remove(stream)
        return
    found.close(force=force)


# -- waiting -------------------------------------------------------------------------------------------------------


@entry(live("stream", Stream), uncaptured("stream"), anywhere("stream"))
def aclrtSynchronizeStream(acl: Acl, stream: Stream) -> None:
    """Wait for a stream, NULL for the default one."""
    stream.synchronize()


@entry(
    refuse("timeout < -1", "timeout", "at least -1", code=107000), live("stream", Stream),
    zero("timeout", message="EE1003"), uncaptured("stream"), context(),
)  # fmt: skip
def aclrtSynchronizeStreamWithTimeout(acl: Acl, stream: Handle, timeout: I32) -> None:
    """Wait for a stream for so many milliseconds; -1 for ever."""
    acl.runtime.current_context()
    stream_of(acl, stream).synchronize(timeout)


@entry(null("status"), live("stream", Stream), uncaptured("stream"), anywhere("stream"))
def aclrtStreamQuery(acl: Acl, stream: Stream, status: Out[Enum]) -> None:
    """Tell whether a stream is idle."""
    status.value = _COMPLETE if stream.query() else _NOT_READY


# -- what a stream is ----------------------------------------------------------------------------------------------


@entry(null("streamId"), live("stream", Stream), context("not stream"))
def aclrtStreamGetId(acl: Acl, stream: Handle, streamId: Out[I32]) -> None:
    """Return the driver's number of a stream."""
    streamId.value = stream_of(acl, stream).stream_id


@entry(null("priority"), live("stream", Stream), context())
def aclrtStreamGetPriority(acl: Acl, stream: Handle, priority: Out[U32]) -> None:
    """Return the priority that a stream was given."""
    priority.value = stream_of(acl, stream).priority


@entry(null("flags"), live("stream", Stream), context())
def aclrtStreamGetFlags(acl: Acl, stream: Handle, flags: Out[U32]) -> None:
    """Return the ACL_STREAM_* flags that a stream was made with."""
    found = stream_of(acl, stream)
    made_with = found.flags | (StreamFlag.FAST_LAUNCH | StreamFlag.FAST_SYNC if found.is_default else 0)
    flags.value = sum(bit for bit, meaning in _FLAGS.items() if made_with & meaning)


@entry(null("streamCount"), context())
def aclrtGetStreamAvailableNum(acl: Acl, streamCount: Out[U32]) -> None:
    """Return how many streams the device has in all; it does not count down."""
    streamCount.value = acl.runtime.current_context().device.ids.usage("STREAM")[0]


@entry(null("taskId"))
def aclrtGetThreadLastTaskId(acl: Acl, taskId: Out[U32]) -> None:
    """Return the id of the thread's last task, all ones when it has sent none."""
    taskId.value = last_task_id()


@entry()
def rtNopTask(acl: Acl, stm: Handle) -> None:
    """Queue a task that does nothing; old schedulers of STARS v1 do not know it."""
    device = acl.runtime.current_context().device
    if device.chip.traits.abort_by_capability:
        device.need_of_scheduler("NOP_TASK", "rtNopTask")
    own_stream_of(acl, "rtNopTask", stm).submit(Nop(), owner="nop")


# -- settings ------------------------------------------------------------------------------------------------------

_ATTRIBUTE_OF = (
    refuse("stmAttrType == 5 and not stream", "stream", "not NULL for the priority", "EE1004"),
    context("not stream and stmAttrType in (1, 4)", code=107000),
    refuse("stmAttrType == 5 and has_flag(stream_, CPU_SCHEDULE)", "stream", "not AICPU", "EE1006", code=207000),
)
"""Which streams have which attributes."""


def _own_for(*attributes: int) -> Check:
    """Refuse streams of another context for some of the attributes: 107003 with EE1010."""
    return refuse(
        f"stmAttrType in {attributes} and is_foreign(acl, stream_)", "stream", "a stream of the current context",
        "EE1010", code=107003, rule=f"stream belongs to another context, and stmAttrType is one of {attributes}",
    )




@entry(
    live("stream", Stream), context("not stream", code=107000, message="EE1018"),
    refuse("has_flag(stream_, DEVICE_USE_ONLY)", "stream", "a stream that the host feeds", "", code=207000),
    context(), too_old("SET_STREAM_MODE"), unbound("stream", code=207000),
    succeed("has_failure_mode(stream_, mode)", "the stream has the mode already"),
    refuse("keeps_failure_mode(stream_, mode)", "mode", "the mode that was chosen first", "EE1016", code=207000),
    own("stream"),
)  # fmt: skip
def aclrtSetStreamFailureMode(acl: Acl, stream: Stream, mode: U64) -> None:
    """Let the context go on (0) or stop (1) at a failed task; it can be chosen once."""
    stream.context.failure.set_mode(stream, mode)


@entry(
    null("value"), live("stream", Stream), one_of("stmAttrType", 1, 2, 3, 4, 5, message="EE1003"),
    refuse("stmAttrType == 2 and word_at(value) > 1", "value", "0 or 1", "EE1003"),
    refuse("stmAttrType == 4 and word_at(value) > 1", "value", "0 or 1", "EE1001"),
    *_ATTRIBUTE_OF,
    too_old("SET_STREAM_MODE", "stmAttrType == 1"),
    refuse("stmAttrType == 1 and is_bound(stream_)", "stream", "a stream of no model", "EE1017", code=207000),
    succeed("stmAttrType == 1 and has_failure_mode(stream_, word_at(value))", "it has the failure mode already"),
    refuse(
        "stmAttrType == 1 and keeps_failure_mode(stream_, word_at(value))", "value", "the mode that was chosen first",
        "EE1016", code=207000,
    ),
    refuse("stmAttrType in (2, 3) and is_captured(stream_)", "stream", "not captured", "EE1016", code=107027),
    context("stmAttrType != 4"), _own_for(_FAILURE_MODE, _OVERFLOW, _USER_TAG),
)  # fmt: skip
def aclrtSetStreamAttribute(acl: Acl, stream: Handle, stmAttrType: Enum, value: Address) -> None:
    """Set an attribute: 1 failure mode, 2 overflow check, 3 user tag, 4 cache information, 5 priority."""
    word, found = caller.at(ctypes.c_uint32, value).value, stream_of(acl, stream)
    if stmAttrType == _FAILURE_MODE:
        found.context.failure.set_mode(found, word)
    elif stmAttrType == _OVERFLOW:
        overflow.set_check(found, bool(word))
    elif stmAttrType == _USER_TAG:
        found.user_tag = word
    elif stmAttrType == _PRIORITY:
        set_scheduler_priority(found, word)


@entry(
    null("value"), live("stream", Stream), one_of("stmAttrType", 1, 2, 3, 4, 5, message="EE1003"),
    *_ATTRIBUTE_OF, context("stmAttrType not in (1, 4)"), _own_for(_OVERFLOW, _USER_TAG),
)  # fmt: skip
def aclrtGetStreamAttribute(acl: Acl, stream: Handle, stmAttrType: Enum, value: Address) -> None:
    """Read an attribute into a union of 16 bytes."""
    found = stream_of(acl, stream)
    readers: dict[int, Callable[[], int]] = {
        _FAILURE_MODE: lambda: found.failure_mode, _OVERFLOW: lambda: found.env.overflow_enabled,
        _USER_TAG: lambda: found.user_tag, _CACHE_INFO: lambda: 0, _PRIORITY: lambda: scheduler_priority(found),
    }  # fmt: skip
    image = STREAM_VALUE.pack(int(readers[stmAttrType]()))
    caller.write(value, image, len(image))



@entry()
def aclrtNonBlockingLaunchBegin(acl: Acl, stream: U64) -> None:
    """Let launches stay asynchronous until the matching end, whatever launch blocking says."""
    blocking.begin(own_stream_of(acl, "aclrtNonBlockingLaunchBegin", stream))


@entry()
def aclrtNonBlockingLaunchEnd(acl: Acl, stream: U64) -> None:
    """End a section; the end of the outermost one waits for the stream."""
    blocking.end(own_stream_of(acl, "aclrtNonBlockingLaunchEnd", stream))


@entry(
    live("stream", Stream), null_rt("stream"),
    refuse("not has_flag(stream_, PERSISTENT)", "stream", "a stream made with PERSISTENT", "EE1011", code=507000,
           rule="stream does not keep its tasks"),
    refuse("not is_bound(stream_)", "stream", "a stream of a model", "EE1017", code=507000,
           rule="stream is bound to no model"),
    refuse("has_flag(stream_, CPU_SCHEDULE)", "stream", "a stream without CPU_SCHEDULE", "EE1017", code=507000,
           rule="the AICPU schedules stream"),
    refuse("not is_complete(stream_.bound)", "stream", "a stream of a model whose build was ended", "EE1017",
           code=507000, rule="the build of the stream's model was not ended"),
    refuse("of_branch(stream_)", "stream", "a stream of no branch", "", code=207000,
           rule="stream belongs to a branch of a conditional node"),
    own("stream"),
)  # fmt: skip
def aclrtPersistentTaskClean(acl: Acl, stream: Handle) -> None:
    """Empty a stream that keeps its tasks for a model; one that is in no model is refused."""
    found = own_stream_of(acl, "aclrtPersistentTaskClean", stream)
    model = bound_model(found)
    assert model is not None
    model.clean(found)
