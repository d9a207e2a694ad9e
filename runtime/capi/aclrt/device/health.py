"""Failed memory and its repair, the second-level cache, atomic operations across links, by name."""

from __future__ import annotations

import ctypes

from npuhal import constants as c
from runtime import errors
from runtime.capi.aclrt.checks import context, null, null_rt, refuse, reserved, visible, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, U32, Address, Size
from runtime.capi.aclrt.layouts import FAILED_RANGE
from runtime.capi.aclrt.state import Acl
from runtime.driver.faults import MOST_RANGES, RepairDriver
from runtime.driver.info import DeviceInfo
from runtime.driver.p2p import PeerDriver
from runtime.memory import caller

_COHERENT_LINKS = frozenset((c.TOPOLOGY_HCCS, c.TOPOLOGY_SIO, c.TOPOLOGY_HCCS_SW, c.TOPOLOGY_UB))
"""Links between devices over which the chip's atomic operations work."""


# -- failed memory -------------------------------------------------------------------------------------------------


@entry(null("memUceInfoArray", "retSize"), visible("deviceId"))
def aclrtGetMemUceInfo(
    acl: Acl, deviceId: I32, memUceInfoArray: Address, arraySize: Size, retSize: Out[Size]
) -> None:
    """Write the ranges that memory errors beyond correction have hit."""
    call = "aclrtGetMemUceInfo"
    rows = _repair(acl, call, deviceId).failed()
    if arraySize < len(rows):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: there are {len(rows)} ranges, space for {arraySize}", ee="EH0009",
            params=(call, arraySize, "arraySize", f"there are {len(rows)} ranges"), hint=f"pass {MOST_RANGES}",
        )
    for number, (address, size) in enumerate(rows):
        data = FAILED_RANGE.pack(address, size, b"")
        caller.write(memUceInfoArray + number * FAILED_RANGE.size, data, len(data))
    retSize.value = len(rows)


@entry(null("memUceInfoArray"), refuse("arraySize > 20", "arraySize", "at most 20", "EH0009"))
def aclrtMemUceRepair(acl: Acl, deviceId: I32, memUceInfoArray: Address, arraySize: Size) -> None:
    """Repair ranges that `aclrtGetMemUceInfo` has listed; their contents are lost."""
    call = "aclrtMemUceRepair"
    count = arraySize
    if count > MOST_RANGES:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: arraySize is {count}; at most {MOST_RANGES} ranges go at once",
            ee="EH0009", params=(call, count, "arraySize", f"at most {MOST_RANGES} ranges go at once"),
            hint="repair in several calls",
        )
    rows = caller.rows(FAILED_RANGE, count, memUceInfoArray)
    if any(any(reserved) for _, _, reserved in rows):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: reserved words are not 0", ee="EH0012",
            params=(call, "memUceInfoArray.reserved"), hint="set address and length only",
        )
    _repair(acl, call, deviceId).repair([(address, size) for address, size, _ in rows])


def _repair(acl: Acl, call: str, index: int) -> RepairDriver:
    """Return the driver of a device, which must be set; 207000 on chips without repair."""
    chip = acl.runtime.machine.chip
    if not chip.has("DFX_FAST_RECOVER"):
        raise errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: memory of {chip.soc} is not repaired")
    slot = acl.runtime.slot(index, call)
    if slot.device is None:
        acl.runtime.current_context()
    return RepairDriver(acl.runtime.hal, acl.runtime.visible.ids[slot.index])


@entry(reserved("rsv"), context())
def aclrtDeviceL2CacheFlush(acl: Acl, rsv: Address) -> None:
    """Write back what the second-level cache of the thread's device holds."""
    call = "aclrtDeviceL2CacheFlush"
    try:
        RepairDriver(acl.runtime.hal, acl.runtime.current_context().device.device_id).flush_l2()
    except errors.NotSupported as old:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the driver cannot", ee="EE1015",
            params=(call, "it has no flush of the second-level cache"), hint="update the driver",
        ) from old


# -- atomic operations ---------------------------------------------------------------------------------------------


@entry(null_rt("capabilities", "operations"), zero("count", message="EE1003"), visible("deviceId"))
def aclrtDeviceGetHostAtomicCapabilities(
    acl: Acl, capabilities: Address, operations: Address, count: U32, deviceId: I32
) -> None:
    """Write for each operation how a device may do it on host memory: bits of aclrtAtomicOperationCapability."""
    call = "aclrtDeviceGetHostAtomicCapabilities"
    _need_count(call, count)
    slot = acl.runtime.slot(deviceId, call)
    info = DeviceInfo(acl.runtime.hal, acl.runtime.visible.ids[slot.index])
    joined = info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_HD_CONNECT_TYPE", c.HOST_DEVICE_CONNECT_TYPE_PCIE)
    coherent = joined == c.HOST_DEVICE_CONNECT_TYPE_UB
    _write_capabilities(acl, call, "hostAtomicCapabilities", capabilities, operations, count, coherent)


@entry(null_rt("capabilities", "operations"), zero("count", message="EE1003"))
def aclrtDeviceGetP2PAtomicCapabilities(
    acl: Acl, capabilities: Address, operations: Address, count: U32, srcDeviceId: I32, dstDeviceId: I32
) -> None:
    """Write for each operation how one device may do it on another one's memory."""
    call = "aclrtDeviceGetP2PAtomicCapabilities"
    _need_count(call, count)
    if srcDeviceId == dstDeviceId:
        raise errors.fault(
            "RT_ERROR_DEVICE_ID", f"{call}: device {srcDeviceId} is its own peer", ee="EE1003",
            params=(call, srcDeviceId, "srcDeviceId", "another device than dstDeviceId"),
        )
    ids = acl.runtime.visible.ids
    source, target = (ids[acl.runtime.slot(index or 0, call).index] for index in (srcDeviceId, dstDeviceId))
    coherent = PeerDriver(acl.runtime.hal, source).link(target) in _COHERENT_LINKS
    _write_capabilities(acl, call, "p2pAtomicCapabilities", capabilities, operations, count, coherent)


def _need_count(call: str, count: int) -> None:
    if not count:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: count is 0", ee="EE1003", params=(call, 0, "count", "more than 0"),
        )


def _write_capabilities(
    acl: Acl, call: str, table: str, capabilities: int, operations: int, count: int, coherent: bool
) -> None:
    known = acl.runtime.machine.chip.prop(table)
    asked = list(caller.array(ctypes.c_int32, count, operations))
    for number, operation in enumerate(asked):
        if not 0 <= operation < len(known):
            reason = f"operations are 0 to {len(known) - 1}"
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: operations[{number}] is {operation}: {reason}", ee="EE1011",
                params=(call, operation, f"operations[{number}]", reason),
            )
    found = (known[operation] if coherent else 0 for operation in asked)
    caller.write(capabilities, bytes((ctypes.c_uint32 * (count))(*found)), 4 * (count))
