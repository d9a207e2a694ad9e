"""Sizes, cores, saturation: what users set for devices, streams and threads (core_spec 2.8, 4.3)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import context, feature, live, null, one_of, refuse, visible
from runtime.capi.aclrt.entry import Out, entry, handle_of
from runtime.capi.aclrt.kinds import I32, U32, U64, Enum, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.core.device.limits import CoreLimits
from runtime.core.stream.stream import Stream


@entry(
    one_of("limit", 0, 1, 2, 3, 4), refuse("value > 0xFFFFFFFF", "value", "[0, 4294967295]"),
    refuse("not has_limit(acl, limit)", "limit", "a limit of this chip", "", code=207000),
)  # fmt: skip
def aclrtDeviceSetLimit(acl: Acl, limit: Enum, value: Size) -> None:
    """Set one of the process's sizes; kinds that the chip lacks are 207000."""
    acl.runtime.limits.set(limit, value, acl.runtime.machine.chip)


@entry(null("value"), one_of("limit", 0, 1, 2, 3, 4))
def aclrtDeviceGetLimit(acl: Acl, limit: Enum, value: Out[Size]) -> None:
    """Return one of the process's sizes as it was set."""
    value.value = acl.runtime.limits.get(limit, acl.runtime.machine.chip)


# -- cores ---------------------------------------------------------------------------------------------------------


@entry(
    refuse("deviceId < 0", "deviceId", "at least 0", "EE1003", code=107001),
    refuse("type > 1", "type", "at most 1", "EE1003"), visible("deviceId"),
)  # fmt: skip
def aclrtSetDeviceResLimit(acl: Acl, deviceId: I32, type: Enum, value: U32) -> None:
    """Limit the cores that kernels of a device may use."""
    _of_device(acl, "aclrtSetDeviceResLimit", deviceId).limit_device(type, value)


@entry(
    null("value"), refuse("deviceId < 0", "deviceId", "at least 0", "EE1003", code=107001),
    refuse("type > 1", "type", "at most 1", "EE1003"), visible("deviceId"),
)  # fmt: skip
def aclrtGetDeviceResLimit(acl: Acl, deviceId: I32, type: Enum, value: Out[U32]) -> None:
    """Return the cores that kernels of a device may use."""
    value.value = _of_device(acl, "aclrtGetDeviceResLimit", deviceId).of_device(type)


@entry(refuse("deviceId < 0", "deviceId", "at least 0", "EE1003", code=107001), visible("deviceId"))
def aclrtResetDeviceResLimit(acl: Acl, deviceId: I32) -> None:
    """Allow all cores again."""
    _of_device(acl, "aclrtResetDeviceResLimit", deviceId).free_device()


@entry(live("stream", Stream), refuse("type > 1", "type", "at most 1", "EE1003"), context("not stream"))
def aclrtSetStreamResLimit(acl: Acl, stream: Handle, type: Enum, value: U32) -> None:
    """Limit the cores that kernels of a stream may use."""
    target = _stream(acl, stream)
    target.device.core_limits.limit_stream(target, type, value)


@entry(
    null("value"), live("stream", Stream), refuse("type > 1", "type", "at most 1", "EE1003"), context("not stream"),
)
def aclrtGetStreamResLimit(acl: Acl, stream: Handle, type: Enum, value: Out[U32]) -> None:
    """Return the cores that kernels of a stream may use: its own limit, or the device's."""
    target = _stream(acl, stream)
    limits = target.device.core_limits
    value.value = limits.in_force(type, limits.of_stream(target))


@entry(live("stream", Stream), context("not stream"))
def aclrtResetStreamResLimit(acl: Acl, stream: Handle) -> None:
    """Take a stream's own limits away."""
    target = _stream(acl, stream)
    target.device.core_limits.of_stream(target).clear()


@entry(live("stream", Stream), context("not stream"))
def aclrtUseStreamResInCurrentThread(acl: Acl, stream: Handle) -> None:
    """Let the thread work under a stream's limits, even after the stream is gone."""
    target = _stream(acl, stream)
    acl.runtime.thread_limits.own = target.device.core_limits.of_stream(target)


@entry(live("stream", Stream), context("not stream"))
def aclrtUnuseStreamResInCurrentThread(acl: Acl, stream: Handle) -> None:
    """Let the thread work under its device's limits again."""
    _stream(acl, stream)
    acl.runtime.thread_limits.own = None


@entry(null("value"), refuse("type > 1", "type", "at most 1", "EE1003"))
def aclrtGetResInCurrentThread(acl: Acl, type: Enum, value: Out[U32]) -> None:
    """Return the cores that the thread may use now."""
    limits = acl.runtime.current_context().device.core_limits
    value.value = limits.in_force(type, acl.runtime.thread_limits.own)


def _of_device(acl: Acl, call: str, index: int) -> CoreLimits:
    """Return the limits of an open device; 107001 for a wrong id, 507033 for a device that nobody has set."""
    device = acl.runtime.slot(index, call).device
    if device is None:
        raise errors.fault(
            "RT_ERROR_DEVICE_NULL", f"{call}: device {index} is not set", hint="set the device first"
        )
    return device.core_limits


def _stream(acl: Acl, stream: int) -> Stream:
    if not stream:
        return acl.runtime.current_context().default_stream
    found: Stream = handle_of(acl, stream, Stream)
    return found


# -- modes ---------------------------------------------------------------------------------------------------------


@entry(feature("DEVICE_FAILURE_MODE_SET", message="EE1005"))
def rtSetDeviceFailureMode(acl: Acl, mode: U64) -> None:
    """Choose the failure mode of streams made from now on, on the thread's device; only the low bit counts.

    It can be chosen once.
    """
    acl.runtime.current_context().device.set_failure_mode(mode & 1)


@entry()
def aclrtSetDeviceSatMode(acl: Acl, mode: Enum) -> None:
    """Choose what becomes of results out of range, in streams made from now on."""
    acl.runtime.saturation = mode


@entry(null("mode"))
def aclrtGetDeviceSatMode(acl: Acl, mode: Out[Enum]) -> None:
    """Return what becomes of results out of range."""
    context = acl.runtime.find_context()
    mode.value = int(acl.runtime.saturation if context is None else context.device.saturation)
