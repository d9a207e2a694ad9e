"""Questions that conditions of checks ask of the objects behind handles; None is a NULL handle."""

from __future__ import annotations

import ctypes
from operator import gt
from typing import TYPE_CHECKING, Any

from chips.binary import AicpuProgram
from runtime.core.stream.failure import FailureMode
from runtime.core.stream.stream import Stream, StreamFlag
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import WAITABLE, EventFlag
from runtime.core.sync.label import Label
from runtime.driver.memory import MemoryDriver
from runtime.driver.visible import MaskState
from runtime.feature.graph import Model
from runtime.launch.binary import Binary
from runtime.launch.copy.reduce import DATA_TYPES as REDUCED  # noqa: F401 - named by conditions
from runtime.memory import caller
from runtime.memory.location import Location, locate

if TYPE_CHECKING:
    from runtime.capi.aclrt.state import Acl

_bits = int.__and__
"""The & of flags makes a flag of the result, which takes ten times as long."""
_FOR_CORES, _OUTSIDE, _SHARED = int(EventFlag.DEVICE_ONLY), int(EventFlag.EXTERNAL), int(EventFlag.IPC)
_WAITABLE = int(WAITABLE)


def is_captured(stream: Stream | None) -> bool:
    """Whether a stream is being captured into a graph."""
    return stream is not None and stream.branch is not None


def is_foreign(acl: Acl, stream: Stream | None) -> bool:
    """Whether a stream belongs to another context than the thread's, which has one."""
    return stream is not None and stream.context is not acl.runtime.current_context()


def is_bound(stream: Stream | None) -> bool:
    """Whether a stream belongs to a model: one built by hand, or a graph's own stream."""
    return stream is not None and stream.bound is not None


def capture_of(stream: Stream | None) -> str:
    """Say into what a stream is being captured, since where, and by whom."""
    if stream is None or stream.branch is None:
        return ""
    return f"stream {stream.stream_id}, made at {stream.site}, into {stream.branch.told()}"


def model_of(stream: Stream | None) -> str:
    """Say which model a stream is bound to."""
    return "" if stream is None else f"stream {stream.stream_id}, made at {stream.site}, to {stream.bound!r}"


def has_flag(stream: Stream | None, flags: StreamFlag) -> bool:
    """Whether a stream was made with one of the flags."""
    return stream is not None and bool(stream.flags & flags)


def is_default(stream: Stream | None) -> bool:
    """Whether a stream is a context's default one: its handle, or NULL."""
    return stream is None or stream.is_default


def is_for_cores(event: Event | None) -> bool:
    """Whether an event is one that only code on the cores uses (MC2)."""
    return event is not None and _bits(event.flags, _FOR_CORES) != 0


def is_external(event: Event | None) -> bool:
    """Whether an event lives outside of graphs, which record it or wait for it from inside (EXTERNAL)."""
    return event is not None and _bits(event.flags, _OUTSIDE) != 0


def is_waitable(event: Event | None) -> bool:
    """Whether streams can wait for an event, or take its record back."""
    return event is None or _bits(event.flags, _WAITABLE) != 0


def is_shared(event: Event | None) -> bool:
    """Whether an event was made for other processes, too (IPC)."""
    return event is not None and _bits(event.flags, _SHARED) != 0


def is_in_model(event: Event | None) -> bool:
    """Whether a stream of a model has recorded an event last: nobody knows when it will, unless the model runs."""
    if event is None or event.in_graph is not None or event.latest is None:
        return False
    return event.latest.stream.bound is not None


def is_in_graph(event: Event | None) -> bool:
    """Whether an event's newest record is part of a graph."""
    return event is not None and event.in_graph is not None


def is_no_condition(acl: Acl, handle: int) -> bool:
    """Whether a handle, other than NULL, is of no condition that is alive."""
    from runtime.feature.graph.recording.condition import Handle as ConditionHandle

    return bool(handle) and not (
        acl.runtime.handles.holds(handle) and isinstance(acl.runtime.handles.get(handle, object), ConditionHandle)
    )


def is_complete(model: Any) -> bool:
    """Whether the build of a model was ended."""
    return bool(model.execution.complete)


def is_graph(model: Model | None) -> bool:
    """Whether a model was captured."""
    return model is not None and model.captured


def is_branch(model: Any) -> bool:
    """Whether a model is a branch of a conditional node."""
    return model is not None and getattr(model, "parent", None) is not None


PERSISTENT = StreamFlag.PERSISTENT
CPU_SCHEDULE = StreamFlag.CPU_SCHEDULE
DEVICE_USE_ONLY = StreamFlag.DEVICE_USE_ONLY
FAST_LAUNCH = StreamFlag.FAST_LAUNCH
"""Flags of streams, as conditions name them."""


def forbids_capture(stream: Stream | None) -> bool:
    """Whether a stream's flags keep it out of captures; where tasks have numbers of their own, also PERSISTENT."""
    if stream is None:
        return False
    kept = StreamFlag.DEFAULT if stream.counts_ids else StreamFlag.PERSISTENT | StreamFlag.SQ_LOCK
    return bool(stream.flags & (_HOST_OR_DEVICE_ONLY | kept))


def cannot_execute(stream: Stream | None) -> bool:
    """Whether a stream's flags keep it from executing models, on chips where tasks have numbers of their own."""
    return stream is not None and not stream.counts_ids and bool(
        stream.flags & (StreamFlag.PERSISTENT | StreamFlag.CPU_SCHEDULE | StreamFlag.DEVICE_USE_ONLY)
    )


def stops_at_failures(stream: Stream | None) -> bool:
    """Whether a stream has another failure mode than going on."""
    return stream is not None and bool(stream.failure_mode)


def ends_model(model: Model, stream: Stream | None) -> bool:
    """Whether a model's end may be put into a stream: one of its own; where the AICPU schedules it, any."""
    return stream is not None and (stream.bound is model or model.scheduled)


def is_for_cpu(binary: Binary | None) -> bool:
    """Whether a binary holds kernels of the AICPU."""
    return binary is not None and isinstance(binary.content, AicpuProgram)


def lost_capture(acl: Acl, stream: int) -> bool:
    """Whether the last capture of a stream has failed, so that there is no graph."""
    if not stream or not acl.runtime.handles.holds(stream):
        return False
    found = acl.runtime.handles.get(stream, object)
    return bool(getattr(found, "lost_capture", ""))


_HOST_OR_DEVICE_ONLY = (
    StreamFlag.CPU_SCHEDULE | StreamFlag.FORBIDDEN_DEFAULT | StreamFlag.DEVICE_USE_ONLY | StreamFlag.VECTOR_CORE
)


def runs_host_functions(acl: Acl, stream: Stream | None) -> bool:
    """Whether a stream's calls are made by a thread of the runtime: it has run a host function."""
    group = None if stream is None else acl.runtime.callbacks.group_of(stream)
    return group is not None and group.internal


def runs_callbacks(acl: Acl, stream: Stream | None) -> bool:
    """Whether a thread of the user's takes a stream's calls."""
    group = None if stream is None else acl.runtime.callbacks.group_of(stream)
    return group is not None and not group.internal


def is_foreign_label(acl: Acl, label: Label | None) -> bool:
    """Whether a label was made in another context."""
    return label is not None and label.context is not acl.runtime.current_context()


def of_branch(stream: Stream | None) -> bool:
    """Whether a stream belongs to a branch of a conditional node."""
    return stream is not None and is_branch(stream.bound)


def keeps_failure_mode(stream: Stream | None, mode: int) -> bool:
    """Whether a stream's failure mode was chosen already, and cannot become this one: it is never taken back."""
    if stream is None or not stream.failure_mode:
        return False
    return not mode & 1 or (stream.failure_mode is FailureMode.ABORT and mode != int(FailureMode.ABORT))


def has_failure_mode(stream: Stream | None, mode: int) -> bool:
    """Whether a stream is in a failure mode; only the low bit of the number counts."""
    return stream is not None and int(stream.failure_mode) == mode & 1


def is_masked(acl: Acl) -> bool:
    """Whether ASCEND_RT_VISIBLE_DEVICES says which devices the process has."""
    return acl.runtime.visible.state is not MaskState.UNSET


def on_device(acl: Acl, address: int) -> bool:
    """Whether an address is device memory; one that was freed is the driver's refusal (507899)."""
    found = MemoryDriver(acl.runtime.hal, 0).attribute(address, exists=True)
    return found is not None and found[0] in _DEVICE_MEMORY


def is_too_old(acl: Acl, capability: str) -> bool:
    """Whether the task scheduler of the thread's device lacks a capability."""
    context = acl.runtime.find_context()
    return context is not None and not context.device.scheduler_has(capability)


def is_pageable(acl: Acl, dst: int, src: int) -> bool:
    """Whether a copy goes between a device and plain host memory: the call itself makes it."""
    memory = MemoryDriver(acl.runtime.hal, 0)
    ends = {locate(memory, address).location for address in (dst, src)} if memory.classifies else set()
    return ends == {Location.UNREGISTERED, Location.DEVICE}


def is_plain(acl: Acl, address: int) -> bool:
    """Whether an address is plain host memory; freed memory of a device is the driver's refusal (507899)."""
    memory = MemoryDriver(acl.runtime.hal, 0)
    return memory.classifies and locate(memory, address, exists=True).location in (
        Location.UNREGISTERED, Location.MANAGED,
    )  # fmt: skip


def no_bytes(sizes: int, count: int) -> bool:
    """Whether a column of sizes holds nothing but zeros; not so for one that is longer than is looked at."""
    return count <= caller.MOST_ROWS and not any(caller.array(ctypes.c_uint64, count, sizes))


def exceeds(sizes: int, capacities: int, count: int) -> bool:
    """Whether a size of a column is larger than the capacity beside it."""
    looked_at = min(count, caller.MOST_ROWS)  # more are refused later, by the rule of the function
    columns = (caller.array(ctypes.c_uint64, looked_at, column) for column in (sizes, capacities))
    return any(map(gt, *columns))


def has_reserved(attributes: int, count: int, most: int) -> bool:
    """Whether a reserved byte of the attributes of a batch is set (aclrtMemcpyBatchAttr); at most `most` are read."""
    return any(any_byte(attributes + 32 * number + 16, 16) for number in range(min(count, most, caller.MOST_ROWS)))


def any_byte(address: int, count: int) -> bool:
    """Whether one of the bytes at an address is not 0."""
    return any(caller.read(address, count))


def word_at(address: int) -> int:
    """Return the 32 bits at an address."""
    return int(caller.at(ctypes.c_uint32, address).value)


def address_at(address: int) -> int:
    """Return the pointer that lies at an address."""
    return int(caller.at(ctypes.c_uint64, address).value)


def is_no_location(acl: Acl, location: int) -> bool:
    """Whether an aclrtMemManagedLocation names a device that does not exist."""
    return word_at(location) == _ON_DEVICE and not 0 <= word_at(location + 4) < acl.runtime.device_count


def has_limit(acl: Acl, limit: int) -> bool:
    """Whether the machine's chip has a size that processes set (aclrtDeviceLimit)."""
    return acl.runtime.limits.known(limit, acl.runtime.machine.chip)


def chip_has(acl: Acl, feature: str) -> bool:
    """Whether the machine's chip has a feature."""
    return acl.runtime.machine.chip.has(feature)


_ON_DEVICE = 1
"""aclrtMemManagedLocationType of a device."""
_DEVICE_MEMORY = (0x10, 0x20)
"""DVattribute.memType of device memory."""
