"""Sizes, cores, saturation: what users set for devices, streams and threads (core_spec 2.8, 4.3)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need
from runtime.capi.aclrt.state import Acl
from runtime.core.device.limits import CoreLimits
from runtime.core.stream.stream import Stream


@entry
def aclrtDeviceSetLimit(acl: Acl, limit: int, value: int) -> None:
    """Set one of the process's sizes; kinds that the chip lacks are 207000."""
    acl.runtime.limits.set(limit or 0, value or 0, acl.runtime.machine.chip)


@entry
def aclrtDeviceGetLimit(acl: Acl, limit: int, value: Out | None) -> None:
    """Return one of the process's sizes as it was set."""
    need("aclrtDeviceGetLimit", value=value)
    assert value is not None
    value.value = acl.runtime.limits.get(limit or 0, acl.runtime.machine.chip)


# -- cores ---------------------------------------------------------------------------------------------------------


@entry
def aclrtSetDeviceResLimit(acl: Acl, deviceId: int, type: int, value: int) -> None:
    """Limit the cores that kernels of a device may use."""
    _of_device(acl, "aclrtSetDeviceResLimit", deviceId).limit_device(type or 0, value or 0)


@entry
def aclrtGetDeviceResLimit(acl: Acl, deviceId: int, type: int, value: Out | None) -> None:
    """Return the cores that kernels of a device may use."""
    need("aclrtGetDeviceResLimit", value=value)
    assert value is not None
    value.value = _of_device(acl, "aclrtGetDeviceResLimit", deviceId).of_device(type or 0)


@entry
def aclrtResetDeviceResLimit(acl: Acl, deviceId: int) -> None:
    """Allow all cores again."""
    _of_device(acl, "aclrtResetDeviceResLimit", deviceId).free_device()


@entry
def aclrtSetStreamResLimit(acl: Acl, stream: int, type: int, value: int) -> None:
    """Limit the cores that kernels of a stream may use."""
    target = _stream(acl, stream)
    target.device.core_limits.limit_stream(target, type or 0, value or 0)


@entry
def aclrtGetStreamResLimit(acl: Acl, stream: int, type: int, value: Out | None) -> None:
    """Return the cores that kernels of a stream may use: its own limit, or the device's."""
    need("aclrtGetStreamResLimit", value=value)
    assert value is not None
    target = _stream(acl, stream)
    limits = target.device.core_limits
    value.value = limits.in_force(type or 0, limits.of_stream(target))


@entry
def aclrtResetStreamResLimit(acl: Acl, stream: int) -> None:
    """Take a stream's own limits away."""
    target = _stream(acl, stream)
    target.device.core_limits.of_stream(target).clear()


@entry
def aclrtUseStreamResInCurrentThread(acl: Acl, stream: int) -> None:
    """Let the thread work under a stream's limits, even after the stream is gone."""
    target = _stream(acl, stream)
    acl.runtime.thread_limits.own = target.device.core_limits.of_stream(target)


@entry
def aclrtUnuseStreamResInCurrentThread(acl: Acl, stream: int) -> None:
    """Let the thread work under its device's limits again."""
    _stream(acl, stream)
    acl.runtime.thread_limits.own = None


@entry
def aclrtGetResInCurrentThread(acl: Acl, type: int, value: Out | None) -> None:
    """Return the cores that the thread may use now."""
    need("aclrtGetResInCurrentThread", value=value)
    assert value is not None
    limits = acl.runtime.current_context().device.core_limits
    value.value = limits.in_force(type or 0, acl.runtime.thread_limits.own)


def _of_device(acl: Acl, call: str, index: int) -> CoreLimits:
    """Return the limits of an open device; 107001 for a wrong id, 507033 for a device that nobody has set."""
    device = acl.runtime.slot(index or 0, call).device
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


@entry
def rtSetDeviceFailureMode(acl: Acl, mode: int) -> None:
    """Choose the failure mode of streams made from now on, on the thread's device; it can be chosen once."""
    acl.runtime.current_context().device.set_failure_mode(mode or 0)


@entry
def aclrtSetDeviceSatMode(acl: Acl, mode: int) -> None:
    """Choose what becomes of results out of range, in streams made from now on."""
    acl.runtime.saturation = mode or 0


@entry
def aclrtGetDeviceSatMode(acl: Acl, mode: Out | None) -> None:
    """Return what becomes of results out of range."""
    need("aclrtGetDeviceSatMode", mode=mode)
    assert mode is not None
    context = acl.runtime.find_context()
    mode.value = int(acl.runtime.saturation if context is None else context.device.saturation)
