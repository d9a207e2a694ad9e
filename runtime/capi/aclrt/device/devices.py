"""Devices by name: set and reset, numbers, state, callbacks (core_spec 2, 3.2, 18.4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import context, null, refuse, reserved, visible
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, U32, Address, Callback, Enum, Text
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.creation import LOWEST_PRIORITY

_WORKING = 1
"""drvDeviceStatus of a device that works."""
_NORMAL, _ABNORMAL = 0, 1
"""aclrtDeviceStatus."""
_SYSTEM_SCHEDULERS = 2
"""Task schedulers that a device may have (aclrtSetTsDevice: 0 AI core, 1 vector)."""


@entry(waits_for_snapshot=True)
def aclrtSetDevice(acl: Acl, deviceId: I32) -> None:
    """Make a device the thread's; one reference more."""
    acl.runtime.set_device(deviceId)


@entry(visible("deviceId"), waits_for_snapshot=True)
def aclrtResetDevice(acl: Acl, deviceId: I32) -> None:
    """Take one reference back; the last one ends what runs."""
    acl.runtime.reset_device(deviceId)


@entry(visible("deviceId"), waits_for_snapshot=True)
def aclrtResetDeviceForce(acl: Acl, deviceId: I32) -> None:
    """Take all references back; without any, 507007 without a message."""
    slot = acl.runtime.slot(deviceId, "aclrtResetDeviceForce")
    if slot.references == 0:
        raise errors.fault("RT_ERROR_CONTEXT_DEL", f"device {slot.index} is not set: nothing to reset")
    acl.runtime.reset_device(slot.index, drain=True)


@entry(null("deviceId"))
def aclrtGetDevice(acl: Acl, deviceId: Out[I32]) -> None:
    """Return the user id of the thread's device, or the default one; otherwise 107002 without a message."""
    context, default = acl.runtime.find_context(), acl.runtime.default_device
    if context is not None:
        deviceId.value = context.device.user_id
    elif default is not None:
        deviceId.value = default
    else:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", "aclrtGetDevice: this thread has no device set")


@entry(null("count"))
def aclrtGetDeviceCount(acl: Acl, count: Out[U32]) -> None:
    """Return how many devices the process may use; 207004 with EE2002 when the mask is unusable."""
    count.value = acl.runtime.device_count


@entry()
def rtSetDefaultDeviceId(acl: Acl, deviceId: I32) -> None:
    """Let threads without a device work on this one; -1 takes it back."""
    if deviceId != -1:
        acl.runtime.slot(deviceId, "rtSetDefaultDeviceId")
    acl.runtime.default_device = None if deviceId == -1 else deviceId


@entry(null("active"), reserved("flags"), visible("deviceId"))
def aclrtGetPrimaryCtxState(acl: Acl, deviceId: I32, flags: Out[U32] | None, active: Out[I32]) -> None:
    """Return whether the device has a reference; `flags` is reserved and must be NULL."""
    if flags is not None:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", "aclrtGetPrimaryCtxState: flags is reserved and must be NULL", ee="EH0012",
            params=("aclrtGetPrimaryCtxState", "flags"),
        )
    active.value = int(acl.runtime.slot(deviceId, "aclrtGetPrimaryCtxState").primary is not None)


@entry(context())
def aclrtSynchronizeDevice(acl: Acl) -> None:
    """Wait for all streams of the thread's context."""
    acl.runtime.current_context().synchronize()


@entry(refuse("timeout < -1", "timeout", "at least -1", code=107000), context())
def aclrtSynchronizeDeviceWithTimeout(acl: Acl, timeout: I32) -> None:
    """The same for so many milliseconds at most; -1 for ever."""
    acl.runtime.current_context().synchronize(timeout)


@entry(null("deviceStatus"), visible("deviceId"))
def aclrtQueryDeviceStatus(acl: Acl, deviceId: I32, deviceStatus: Out[Enum]) -> None:
    """Return 0 for a device that works, 1 for any other; it need not be set."""
    slot = acl.runtime.slot(deviceId, "aclrtQueryDeviceStatus")
    deviceStatus.value = _NORMAL if acl.runtime.ask(slot.index).status() == _WORKING else _ABNORMAL


@entry()
def aclrtDeviceGetStreamPriorityRange(
    acl: Acl, leastPriority: Out[I32] | None, greatestPriority: Out[I32] | None
) -> None:
    """Return the lowest and the highest priority of streams; either may be NULL."""
    if leastPriority is not None:
        leastPriority.value = LOWEST_PRIORITY
    if greatestPriority is not None:
        greatestPriority.value = 0


@entry(refuse("tsId not in (0, 1)", "tsId", "0 or 1"))
def aclrtSetTsDevice(acl: Acl, tsId: Enum) -> None:
    """Choose the thread's task scheduler; the devices here have one, so both numbers mean it."""
    if not 0 <= tsId < _SYSTEM_SCHEDULERS:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclrtSetTsDevice: tsId is {tsId}; it must be 0 or 1", ee="EH0007",
            params=("aclrtSetTsDevice", tsId, "tsId", "0 or 1"),
        )


@entry(null("regName"))
def aclrtRegDeviceStateCallback(acl: Acl, regName: Text, callback: Callback, args: Address) -> None:
    """Register a function (device id, state, args) under a name; NULL removes the one there is."""
    told = None if not callback else lambda device, state: callback(device, int(state), args)
    acl.runtime.device_observers.register(regName, told)


@entry(null("regName"))
def aclrtRegStreamStateCallback(acl: Acl, regName: Text, callback: Callback, args: Address) -> None:
    """Register a function (stream, state, args) under a name; NULL removes the one there is."""
    told = None if not callback else lambda stream, state: callback(stream.handle, int(state), args)
    acl.runtime.stream_observers.register(regName, told)


# -- numbers: user, logic (driver's) and physical ids --------------------------------------------------------------


@entry(null("logicDevId"), refuse("userDevid < 0", "userDevid", "at least 0", "EE1003"))
def aclrtGetLogicDevIdByUserDevId(acl: Acl, userDevid: I32, logicDevId: Out[I32]) -> None:
    """Return the driver's id of a user id; negative ones are 107000."""
    logicDevId.value = _logic_id(acl, "aclrtGetLogicDevIdByUserDevId", userDevid)


@entry(null("userDevid"), refuse("logicDevId < 0", "logicDevId", "at least 0", "EE1003"))
def aclrtGetUserDevIdByLogicDevId(acl: Acl, logicDevId: I32, userDevid: Out[I32]) -> None:
    """Return the user id of a driver's id; one beyond the machine's devices is 107001 with EE1003."""
    if logicDevId >= acl.runtime.machine.device_count:
        acl.runtime.slot(logicDevId, "aclrtGetUserDevIdByLogicDevId")
    userDevid.value = acl.runtime.numbers.user_of_driver(logicDevId)


@entry(null("phyDevId"), refuse("userDevId < 0", "userDevId", "at least 0", "EE1003"))
def aclrtGetPhyDevIdByUserDevId(acl: Acl, userDevId: I32, phyDevId: Out[I32]) -> None:
    """Return the physical id of a user id."""
    _logic_id(acl, "aclrtGetPhyDevIdByUserDevId", userDevId)
    phyDevId.value = acl.runtime.numbers.physical_id(userDevId)


@entry(null("userDevId"), refuse("phyDevId < 0", "phyDevId", "at least 0", "EE1003"))
def aclrtGetUserDevIdByPhyDevId(acl: Acl, phyDevId: I32, userDevId: Out[I32]) -> None:
    """Return the user id of a physical id."""
    userDevId.value = acl.runtime.numbers.user_of_physical(phyDevId)


@entry(null("logicDevId"), refuse("phyDevId < 0", "phyDevId", "at least 0", "EE1003"))
def aclrtGetLogicDevIdByPhyDevId(acl: Acl, phyDevId: I32, logicDevId: Out[I32]) -> None:
    """In spite of its name, return the *user* id of a physical id (semantics_for_tests 4)."""
    aclrtGetUserDevIdByPhyDevId(acl, phyDevId, logicDevId)


@entry(null("phyDevId"), refuse("logicDevId < 0", "logicDevId", "at least 0", "EE1003"))
def aclrtGetPhyDevIdByLogicDevId(acl: Acl, logicDevId: I32, phyDevId: Out[I32]) -> None:
    """In spite of its name, return the physical id of a *user* id (semantics_for_tests 4)."""
    aclrtGetPhyDevIdByUserDevId(acl, logicDevId, phyDevId)


def _logic_id(acl: Acl, call: str, user_id: int) -> int:
    if user_id < 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: user device id {user_id} is negative", ee="EE1003",
            params=(call, user_id, "user device id", f"[0, {len(acl.runtime.slots)})"),
        )
    return acl.runtime.visible.ids[acl.runtime.slot(user_id, call).index]
