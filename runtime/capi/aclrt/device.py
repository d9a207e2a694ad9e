"""Devices by name: set and reset, numbers, state, callbacks (core_spec 2, 3.2, 18.4)."""

from __future__ import annotations

from typing import Any

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.creation import LOWEST_PRIORITY

_WORKING = 1
"""drvDeviceStatus of a device that works."""
_NORMAL, _ABNORMAL = 0, 1
"""aclrtDeviceStatus."""
_SYSTEM_SCHEDULERS = 2
"""Task schedulers that a device may have (aclrtSetTsDevice: 0 AI core, 1 vector)."""


@entry(waits_for_snapshot=True)
def aclrtSetDevice(acl: Acl, deviceId: int) -> None:
    """Make a device the thread's; one reference more."""
    acl.runtime.set_device(deviceId or 0)


@entry(waits_for_snapshot=True)
def aclrtResetDevice(acl: Acl, deviceId: int) -> None:
    """Take one reference back; the last one ends what runs."""
    acl.runtime.reset_device(deviceId or 0)


@entry(waits_for_snapshot=True)
def aclrtResetDeviceForce(acl: Acl, deviceId: int) -> None:
    """Take all references back; without any, 507007 without a message."""
    slot = acl.runtime.slot(deviceId or 0, "aclrtResetDeviceForce")
    if slot.references == 0:
        raise errors.fault("RT_ERROR_CONTEXT_DEL", f"device {slot.index} is not set: nothing to reset")
    acl.runtime.reset_device(slot.index, drain=True)


@entry
def aclrtGetDevice(acl: Acl, deviceId: Out | None) -> None:
    """Return the user id of the thread's device, or the default one; otherwise 107002 without a message."""
    need("aclrtGetDevice", deviceId=deviceId)
    assert deviceId is not None
    context, default = acl.runtime.find_context(), acl.runtime.default_device
    if context is not None:
        deviceId.value = context.device.user_id
    elif default is not None:
        deviceId.value = default
    else:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", "aclrtGetDevice: this thread has no device set")


@entry
def aclrtGetDeviceCount(acl: Acl, count: Out | None) -> None:
    """Return how many devices the process may use; 207004 with EE2002 when the mask is unusable."""
    need("aclrtGetDeviceCount", count=count)
    assert count is not None
    count.value = acl.runtime.device_count


@entry
def rtSetDefaultDeviceId(acl: Acl, deviceId: int) -> None:
    """Let threads without a device work on this one; -1 takes it back."""
    if deviceId != -1:
        acl.runtime.slot(deviceId or 0, "rtSetDefaultDeviceId")
    acl.runtime.default_device = None if deviceId == -1 else deviceId or 0


@entry
def aclrtGetPrimaryCtxState(acl: Acl, deviceId: int, flags: Out | None, active: Out | None) -> None:
    """Return whether the device has a reference; `flags` is reserved and must be NULL."""
    need("aclrtGetPrimaryCtxState", active=active)
    assert active is not None
    if flags is not None:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", "aclrtGetPrimaryCtxState: flags is reserved and must be NULL", ee="EH0012",
            params=("aclrtGetPrimaryCtxState", "flags"),
        )
    active.value = int(acl.runtime.slot(deviceId or 0, "aclrtGetPrimaryCtxState").primary is not None)


@entry
def aclrtSynchronizeDevice(acl: Acl) -> None:
    """Wait for all streams of the thread's context."""
    acl.runtime.current_context().synchronize()


@entry
def aclrtSynchronizeDeviceWithTimeout(acl: Acl, timeout: int) -> None:
    """The same for so many milliseconds at most; -1 for ever."""
    if timeout < -1:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"aclrtSynchronizeDeviceWithTimeout: timeout is {timeout}", ee="EH0007",
            params=("aclrtSynchronizeDeviceWithTimeout", timeout, "timeout", "-1 or more than 0"),
        )
    acl.runtime.current_context().synchronize(timeout)


@entry
def aclrtQueryDeviceStatus(acl: Acl, deviceId: int, deviceStatus: Out | None) -> None:
    """Return 0 for a device that works, 1 for any other; it need not be set."""
    need("aclrtQueryDeviceStatus", deviceStatus=deviceStatus)
    assert deviceStatus is not None
    slot = acl.runtime.slot(deviceId or 0, "aclrtQueryDeviceStatus")
    deviceStatus.value = _NORMAL if acl.runtime.ask(slot.index).status() == _WORKING else _ABNORMAL


@entry
def aclrtDeviceGetStreamPriorityRange(acl: Acl, leastPriority: Out | None, greatestPriority: Out | None) -> None:
    """Return the lowest and the highest priority of streams; either may be NULL."""
    acl.runtime.current_context()
    if leastPriority is not None:
        leastPriority.value = LOWEST_PRIORITY
    if greatestPriority is not None:
        greatestPriority.value = 0


@entry
def aclrtSetTsDevice(acl: Acl, tsId: int) -> None:
    """Choose the thread's task scheduler; the devices here have one, so both numbers mean it."""
    if not 0 <= (tsId or 0) < _SYSTEM_SCHEDULERS:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclrtSetTsDevice: tsId is {tsId}; it must be 0 or 1", ee="EH0007",
            params=("aclrtSetTsDevice", tsId, "tsId", "0 or 1"),
        )


@entry
def aclrtRegDeviceStateCallback(acl: Acl, regName: str | None, callback: Any, args: Any) -> None:
    """Register a function (device id, state, args) under a name; NULL removes the one there is."""
    need("aclrtRegDeviceStateCallback", regName=regName)
    assert regName is not None
    told = None if not callback else lambda device, state: callback(device, int(state), args)
    acl.runtime.device_observers.register(regName, told)


@entry
def aclrtRegStreamStateCallback(acl: Acl, regName: str | None, callback: Any, args: Any) -> None:
    """Register a function (stream, state, args) under a name; NULL removes the one there is."""
    need("aclrtRegStreamStateCallback", regName=regName)
    assert regName is not None
    told = None if not callback else lambda stream, state: callback(stream.handle, int(state), args)
    acl.runtime.stream_observers.register(regName, told)


# -- numbers: user, logic (driver's) and physical ids --------------------------------------------------------------


@entry
def aclrtGetLogicDevIdByUserDevId(acl: Acl, userDevid: int, logicDevId: Out | None) -> None:
    """Return the driver's id of a user id; negative ones are 107000."""
    need("aclrtGetLogicDevIdByUserDevId", logicDevId=logicDevId)
    assert logicDevId is not None
    logicDevId.value = _logic_id(acl, "aclrtGetLogicDevIdByUserDevId", userDevid or 0)


@entry
def aclrtGetUserDevIdByLogicDevId(acl: Acl, logicDevId: int, userDevid: Out | None) -> None:
    """Return the user id of a driver's id."""
    need("aclrtGetUserDevIdByLogicDevId", userDevid=userDevid)
    assert userDevid is not None
    userDevid.value = acl.runtime.numbers.user_of_driver(logicDevId or 0)


@entry
def aclrtGetPhyDevIdByUserDevId(acl: Acl, userDevId: int, phyDevId: Out | None) -> None:
    """Return the physical id of a user id."""
    need("aclrtGetPhyDevIdByUserDevId", phyDevId=phyDevId)
    assert phyDevId is not None
    _logic_id(acl, "aclrtGetPhyDevIdByUserDevId", userDevId or 0)
    phyDevId.value = acl.runtime.numbers.physical_id(userDevId or 0)


@entry
def aclrtGetUserDevIdByPhyDevId(acl: Acl, phyDevId: int, userDevId: Out | None) -> None:
    """Return the user id of a physical id."""
    need("aclrtGetUserDevIdByPhyDevId", userDevId=userDevId)
    assert userDevId is not None
    userDevId.value = acl.runtime.numbers.user_of_physical(phyDevId or 0)


@entry
def aclrtGetLogicDevIdByPhyDevId(acl: Acl, phyDevId: int, logicDevId: Out | None) -> None:
    """In spite of its name, return the *user* id of a physical id (semantics_for_tests 4)."""
    need("aclrtGetLogicDevIdByPhyDevId", logicDevId=logicDevId)
    aclrtGetUserDevIdByPhyDevId(acl, phyDevId, logicDevId)


@entry
def aclrtGetPhyDevIdByLogicDevId(acl: Acl, logicDevId: int, phyDevId: Out | None) -> None:
    """In spite of its name, return the physical id of a *user* id (semantics_for_tests 4)."""
    need("aclrtGetPhyDevIdByLogicDevId", phyDevId=phyDevId)
    aclrtGetPhyDevIdByUserDevId(acl, logicDevId, phyDevId)


def _logic_id(acl: Acl, call: str, user_id: int) -> int:
    if user_id < 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: user device id {user_id} is negative", ee="EE1003",
            params=(call, user_id, "user device id", f"[0, {len(acl.runtime.slots)})"),
        )
    return acl.runtime.visible.ids[acl.runtime.slot(user_id, call).index]
