"""Profiling by name (acl_prof.h): configurations, state, records of operators.

State and arguments are checked as the vendor's. Collection itself needs the device's profiler, which no host process
has without the toolkit: starting it says that the feature is not there. `npuhal trace` records launches instead.
"""

from __future__ import annotations

import ctypes
import struct

from npuhal.records import dataclass
from runtime import errors
from runtime.capi.aclrt.checks import live, null, own, refuse
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I8, I32, U32, U64, Address, Enum, Handle, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.memory import caller

_MOST_DEVICES = 64
_METRICS = (*range(12), 0xFF)
"""aclprofAicoreMetrics; the last one is none."""
_STAMPS = 0x0080
"""Bit of a configuration's data types: stamps, which need no device (ACL_PROF_MSPROFTX)."""
_LONGEST_PATH, _LONGEST_VALUE, _LONGEST_MARK = 4096, 256, 18
_KINDS = range(1, 10)
"""aclprofConfigType."""
_RECORD_BYTES = 8
"""Bytes of a subscription's record here: its number alone; there are none."""
_FIRST_ID = 1
_EVENT = struct.Struct("<HHIQQ")
"""aclprofEventAttributes: version, size, type of the message, reserved, the message."""
_EVENT_BYTES, _EVENT_VERSION, _MESSAGE_TEXT = _EVENT.size, 1, 0


@dataclass(slots=True, eq=False)
class Configuration:
    """What is to be collected, on which devices."""

    devices: tuple[int, ...]
    metrics: int
    data_types: int


@dataclass(slots=True, eq=False)
class Subscription:
    """What of a model is to be written to a pipe."""

    metrics: int
    descriptor: int


def _unfit(call: str, why: str) -> errors.RuntimeFault:
    return errors.fault("ACL_ERROR_INVALID_PARAM", f"{call}: {why}")


def _not_there(call: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_FEATURE_UNSUPPORTED", f"{call}: the device's profiler belongs to the toolkit",
        hint="npuhal trace records launches and the times of the host",
    )


# -- state ---------------------------------------------------------------------------------------------------------


@entry()
def aclprofInit(acl: Acl, profilerResultPath: Text | None, length: Size) -> None:
    """Begin; the path's length must be right, and at most 4096. Nothing is written there."""
    path = profilerResultPath
    if path is None or not 0 < length <= _LONGEST_PATH or length != len(caller.octets(path)):
        raise _unfit("aclprofInit", f"length {length} of path {path!r}")
    acl.profiling = True


@entry()
def aclprofFinalize(acl: Acl) -> None:
    """End; 100043 where it has not begun."""
    _need_begun(acl, "aclprofFinalize")
    acl.profiling = False


@entry()
def aclprofSetConfig(acl: Acl, configType: Enum, config: Text | None, configLength: Size) -> None:
    """Set a value of the collection; it is checked and has no effect."""
    if configType not in _KINDS or not config or not 0 < configLength <= _LONGEST_VALUE:
        raise _unfit("aclprofSetConfig", f"configType {configType}, {configLength} bytes of {config!r}")


@entry()
def aclprofStart(acl: Acl, profilerConfig: Handle) -> None:
    """Refuse: nothing can be collected (200006)."""
    _configuration(acl, "aclprofStart", profilerConfig)
    _need_begun(acl, "aclprofStart")
    raise _not_there("aclprofStart")


@entry()
def aclprofStop(acl: Acl, profilerConfig: Handle) -> None:
    """Refuse: nothing runs (100043)."""
    _configuration(acl, "aclprofStop", profilerConfig)
    raise _not_running("aclprofStop")


def _need_begun(acl: Acl, call: str) -> None:
    if not acl.profiling:
        raise _not_running(call)


def _not_running(call: str) -> errors.RuntimeFault:
    return errors.fault("ACL_ERROR_PROF_NOT_RUN", f"{call}: profiling does not run", hint="call aclprofInit first")


# -- configurations ------------------------------------------------------------------------------------------------


@entry(failure=0)
def aclprofCreateConfig(
    acl: Acl, deviceIdList: Address, deviceNums: U32, aicoreMetrics: Enum, aicoreEvents: Address, dataTypeConfig: U64
) -> Handle:
    """Describe a collection and return the handle; NULL for devices, metrics or events that cannot be."""
    call, count = "aclprofCreateConfig", deviceNums
    if count > _MOST_DEVICES or (count and not deviceIdList):
        raise _unfit(call, f"deviceNums is {count}")
    devices = tuple(caller.array(ctypes.c_uint32, count, deviceIdList)) if count else ()
    known = range(len(acl.runtime.slots))
    if len(set(devices)) < count or any(each not in known for each in devices):
        raise _unfit(call, f"devices {devices}")
    if aicoreEvents or aicoreMetrics not in _METRICS or not (count or dataTypeConfig & _STAMPS):
        raise _unfit(call, f"metrics {aicoreMetrics}, data types {dataTypeConfig:#x}")
    return acl.runtime.handles.add(Configuration(devices, aicoreMetrics, dataTypeConfig))


@entry()
def aclprofDestroyConfig(acl: Acl, profilerConfig: Handle) -> None:
    """Forget a description."""
    _configuration(acl, "aclprofDestroyConfig", profilerConfig)
    acl.runtime.handles.remove(profilerConfig)


def _configuration(acl: Acl, call: str, handle: int) -> Configuration:
    try:
        return acl.runtime.handles.get(handle, Configuration)
    except errors.RuntimeFault:
        raise _unfit(call, f"profilerConfig {handle:#x} was not made by aclprofCreateConfig") from None


@entry(failure=0)
def aclprofCreateSubscribeConfig(acl: Acl, timeInfoSwitch: I8, aicoreMetrics: Enum, fd: Address) -> Handle:
    """Describe a subscription and return the handle; NULL for metrics or a file that cannot be."""
    descriptor = caller.at(ctypes.c_int32, fd).value if fd else -1
    if descriptor < 0 or aicoreMetrics not in _METRICS:
        raise _unfit("aclprofCreateSubscribeConfig", f"metrics {aicoreMetrics}, file {descriptor}")
    return acl.runtime.handles.add(Subscription(aicoreMetrics, descriptor))


@entry()
def aclprofDestroySubscribeConfig(acl: Acl, profSubscribeConfig: Handle) -> None:
    """Forget a description."""
    _subscription(acl, "aclprofDestroySubscribeConfig", profSubscribeConfig)
    acl.runtime.handles.remove(profSubscribeConfig)


@entry()
def aclprofModelSubscribe(acl: Acl, modelId: U32, profSubscribeConfig: Handle) -> None:
    """Refuse: nothing can be collected (200006)."""
    _subscription(acl, "aclprofModelSubscribe", profSubscribeConfig)
    raise _not_there("aclprofModelSubscribe")


@entry()
def aclprofModelUnSubscribe(acl: Acl, modelId: U32) -> None:
    """Refuse: no model is subscribed (100034)."""
    raise errors.fault("ACL_ERROR_STREAM_NOT_SUBSCRIBE", f"aclprofModelUnSubscribe: model {modelId} is not subscribed")


def _subscription(acl: Acl, call: str, handle: int) -> Subscription:
    try:
        return acl.runtime.handles.get(handle, Subscription)
    except errors.RuntimeFault:
        raise _unfit(call, f"profSubscribeConfig {handle:#x} was not made by aclprofCreateSubscribeConfig") from None


# -- records of operators ------------------------------------------------------------------------------------------


@entry(null("opDescSize", message="", code=100000))
def aclprofGetOpDescSize(acl: Acl, opDescSize: Out[Size]) -> None:
    """Return the bytes of one record."""
    opDescSize.value = _RECORD_BYTES


@entry(null("opInfo", "opNumber", message="", code=100000))
def aclprofGetOpNum(acl: Acl, opInfo: Address, opInfoLen: Size, opNumber: Out[U32]) -> None:
    """Refuse: no subscription has written records."""
    raise _no_record("aclprofGetOpNum", 0)


@entry()
def aclprofGetOpTypeLen(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32, opTypeLen: Out[Size] | None) -> None:
    """Refuse, as `aclprofGetOpNum` does."""
    raise _no_record("aclprofGetOpTypeLen", index)


@entry()
def aclprofGetOpType(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32, opType: Address, opTypeLen: Size) -> None:
    """Refuse, as `aclprofGetOpNum` does."""
    raise _no_record("aclprofGetOpType", index)


@entry()
def aclprofGetOpNameLen(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32, opNameLen: Out[Size] | None) -> None:
    """Refuse, as `aclprofGetOpNum` does."""
    raise _no_record("aclprofGetOpNameLen", index)


@entry()
def aclprofGetOpName(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32, opName: Address, opNameLen: Size) -> None:
    """Refuse, as `aclprofGetOpNum` does."""
    raise _no_record("aclprofGetOpName", index)


@entry()
def aclprofGetOpStart(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32) -> U64:
    """Return 0: there is no such record."""
    return 0


@entry()
def aclprofGetOpEnd(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32) -> U64:
    """Return 0: there is no such record."""
    return 0


@entry()
def aclprofGetOpDuration(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32) -> U64:
    """Return 0: there is no such record."""
    return 0


@entry()
def aclprofGetOpFlag(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32) -> Enum:
    """Return 0: there is no such record."""
    return 0


@entry()
def aclprofGetModelId(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32) -> Size:
    """Return 0xffffffff: there is no such record."""
    return 0xFFFFFFFF


@entry()
def aclprofGetOpAttriValue(acl: Acl, opInfo: Address, opInfoLen: Size, index: U32, attri: Enum) -> Text | None:
    """Return NULL: there is no such record."""
    return None


def _no_record(call: str, index: int) -> errors.RuntimeFault:
    return _unfit(call, f"there is no record {index}: no subscription has written any")


# -- marks ---------------------------------------------------------------------------------------------------------


@entry(
    null("userdata"), refuse("not 0 < length <= 18", "length", f"[1, {_LONGEST_MARK}]", "EE1003"),
    live("stream", Stream), own("stream"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtProfTrace(acl: Acl, userdata: Address, length: I32, stream: Stream) -> None:
    """Note a moment with up to 18 bytes of the program's own, named with the stream; a trace shows it."""
    acl.runtime.annotations.mark(f"{caller.read(userdata, length).hex()} (stream {stream.stream_id})")


@entry(null("attr", message="", code=100000))
def aclprofRangePushEx(acl: Acl, attr: Address) -> None:
    """Begin a range within the thread's innermost one; the name is the message of the attributes."""
    version, size, kind, _, message = _EVENT.unpack(caller.read(attr, _EVENT_BYTES))
    if (version, size) != (_EVENT_VERSION, _EVENT_BYTES):
        raise _unfit("aclprofRangePushEx", f"attributes of version {version} and {size} bytes")
    text = caller.text(message).decode(errors="replace") if kind == _MESSAGE_TEXT and message else ""
    acl.runtime.annotations.push(text)


@entry()
def aclprofRangePop(acl: Acl) -> None:
    """End the thread's innermost range."""
    acl.runtime.annotations.pop()


@entry()
def aclprofStr2Id(acl: Acl, message: Text | None) -> U64:
    """Return a number for a text, the same for the same text; 0 for NULL."""
    if message is None:
        return 0
    return acl.texts.setdefault(message, len(acl.texts) + _FIRST_ID)
