"""What a device is and who reaches it: attributes, names, peers, links (acl_rt.h, aclrtDevAttr)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import chips
from runtime import errors
from runtime.capi.aclrt.checks import null, null_rt, refuse, visible
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, I64, U32, U64, Address, Enum, Handle, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.driver.info import DeviceInfo
from runtime.driver.p2p import PeerDriver
from runtime.memory import caller

if TYPE_CHECKING:
    from chips import Chip

_Attribute = Callable[[DeviceInfo, "Chip"], int]


def _asked(module: str, item: str) -> _Attribute:
    return lambda info, chip: info.get_or(module, item, 0)


def _property(name: str) -> _Attribute:
    return lambda info, chip: int(chip.prop(name))


def _described(key: str) -> _Attribute:
    return lambda info, chip: int(chip.spec("SoCInfo", key))


_CUBES = _asked("MODULE_TYPE_AICORE", "INFO_TYPE_CORE_NUM")
_VECTORS = _asked("MODULE_TYPE_VECTOR_CORE", "INFO_TYPE_CORE_NUM")
_SIMT = (
    "simtWarpSize", "simtMaxThreadPerVectorCore", "simtUbufPerVectorCore", "simtMaxGridDimX", "simtMaxGridDimY",
    "simtMaxGridDimZ", "simtMaxBlockPerGrid", "simtMaxThreadsPerBlock", "simtMaxBlockDimX", "simtMaxBlockDimY",
    "simtMaxBlockDimZ",
)  # fmt: skip
_SYSTEM = (
    "PHY_DIE_ID", "PHY_CHIP_ID", "SDID", "SERVER_ID", "SUPER_POD_ID", "CUST_OP_ENHANCE", "MAINBOARD_ID",
    "HD_CONNECT_TYPE", "PRODUCT_TYPE",
)  # fmt: skip
_ATTRIBUTES: Mapping[int, _Attribute] = MappingProxyType({
    1: _asked("MODULE_TYPE_AICPU", "INFO_TYPE_CORE_NUM"),
    101: _CUBES, 102: _CUBES, 201: _VECTORS,
    **{202 + number: _property(name) for number, name in enumerate(_SIMT)},
    301: _described("memory_size"), 302: _described("l2_size"),
    **{401 + number: _asked("MODULE_TYPE_SYSTEM", f"INFO_TYPE_{item}") for number, item in enumerate(_SYSTEM)},
    501: _asked("MODULE_TYPE_SYSTEM", "INFO_TYPE_RUN_MACH"),
    601: lambda info, chip: int(chip.spec("version", "NpuArch")),
})  # fmt: skip
"""aclrtDevAttr -> where the value comes from: 1.. AI CPUs, 1xx cubes, 2xx vector cores, 3xx memory, 4xx position."""

_CAPABILITIES: Mapping[int, _Attribute] = MappingProxyType({0: _CUBES, 1: _VECTORS, 2: _described("l2_size")})
"""aclDeviceInfo."""

_TASK_UPDATE = 1
"""aclrtDevFeatureType."""


@entry(null("value"))
def aclrtGetDeviceInfo(acl: Acl, deviceId: U32, attr: Enum, value: Out[I64]) -> None:
    """Return one attribute; a wrong device or attribute is 107000."""
    call, count = "aclrtGetDeviceInfo", len(acl.runtime.slots)
    if not 0 <= deviceId < count:
        raise _out_of_range(call, deviceId, "deviceId", f"[0, {count})")
    attribute = _ATTRIBUTES.get(attr)
    if attribute is None:
        raise _out_of_range(call, attr, "attr", "a value of aclrtDevAttr")
    value.value = attribute(acl.runtime.ask(deviceId), acl.runtime.machine.chip)


@entry(null("value"), refuse("deviceId >= len(acl.runtime.slots)", "deviceId", "a device of this machine", "EH0009"))
def aclGetDeviceCapability(acl: Acl, deviceId: U32, deviceInfo: Enum, value: Out[I64]) -> None:
    """Return core counts (0 cube, 1 vector) or the size of the L2 cache (2)."""
    attribute = _CAPABILITIES.get(deviceInfo)
    if attribute is None:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclGetDeviceCapability: there is no item {deviceInfo}; 0, 1 and 2 exist"
        )
    slot = acl.runtime.slot(deviceId, "aclGetDeviceCapability")
    value.value = attribute(acl.runtime.ask(slot.index), acl.runtime.machine.chip)


@entry(
    null("value"), refuse("devFeatureType not in (1, 21)", "devFeatureType", "1 or 21", "EE1003"), visible("deviceId"),
)  # fmt: skip
def aclrtGetDeviceCapability(acl: Acl, deviceId: I32, devFeatureType: Enum, value: Out[I32]) -> None:
    """Return whether a device has a feature: 1 task update (needs a context), 21 queues across devices."""
    has = True
    if devFeatureType == _TASK_UPDATE:
        device = acl.runtime.current_context().device
        has = device.chip.has("KERNEL_TILING_KEY_SINK") and device.scheduler_has("TILING_KEY_SINK")
    value.value = int(has)


@entry(null_rt("socVersion", "canCompatible"))
def aclrtCheckArchCompatibility(acl: Acl, socVersion: Text, canCompatible: Out[I32]) -> None:
    """Return whether binaries for a SoC run on this one: those of the same family do."""
    if not socVersion:
        raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", "aclrtCheckArchCompatibility: no SoC is named", ee="EE1001")
    ours, theirs = acl.runtime.machine.chip, known_soc("aclrtCheckArchCompatibility", socVersion)
    same = ours.spec("version", "Short_SoC_version") == theirs.spec("version", "Short_SoC_version")
    canCompatible.value = int(same or (bool(ours.binaries) and ours.binaries == theirs.binaries))


def known_soc(call: str, name: str) -> Chip:
    """Return the chip of a SoC name; 107000 with EE1011 for one that nobody knows."""
    try:
        return chips.find_chip(name)
    except chips.UnknownChip as error:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {error}", ee="EE1011", params=(call, name, "SoC name", "unknown")
        ) from error


# -- identity ------------------------------------------------------------------------------------------------------


@entry(null("uuid"), refuse("deviceId < 0", "deviceId", "at least 0", "EE1003", code=107001), visible("deviceId"))
def aclrtDeviceGetUuid(acl: Acl, deviceId: I32, uuid: Address) -> None:
    """Write the 16 bytes that name a device among all there are."""
    slot = acl.runtime.slot(deviceId, "aclrtDeviceGetUuid")
    name = acl.runtime.ask(slot.index).unique_id()
    caller.write(uuid, name, len(name))


@entry(
    null("pciBusId"), refuse("deviceId < 0", "deviceId", "at least 0", "EE1003", code=107001),
    refuse("len < 13", "len", "at least 13", "EE1001"), visible("deviceId"),
)  # fmt: skip
def aclrtDeviceGetPCIBusId(acl: Acl, deviceId: I32, pciBusId: Address, len: I32) -> None:
    """Write a device's address on the PCIe bus as text."""
    slot = acl.runtime.slot(deviceId, "aclrtDeviceGetPCIBusId")
    _write_text("aclrtDeviceGetPCIBusId", pciBusId, len, acl.runtime.ask(slot.index).pci_address())


def _write_text(call: str, where: int, capacity: int, text: str) -> None:
    data = text.encode() + b"\0"
    if capacity < len(data):
        raise _out_of_range(call, capacity, "len", f"at least {len(data)}")
    caller.write(where, data, len(data))


@entry(null("pciBusId", "deviceId"))
def aclrtDeviceGetByPCIBusId(acl: Acl, pciBusId: Text, deviceId: Out[I32]) -> None:
    """Return the device at an address on the PCIe bus."""
    for slot in acl.runtime.slots:
        if acl.runtime.ask(slot.index).pci_address() == str(pciBusId).lower():
            deviceId.value = slot.index
            return
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"aclrtDeviceGetByPCIBusId: no device sits at {pciBusId!r}", ee="EE1001"
    )


@entry(
    null("utilizationInfo"),
    refuse("address_at(utilizationInfo + 16)", "utilizationInfo", "NULL as its utilizationExtend", "EH0012",
           rule="utilizationInfo has an utilizationExtend"),
)  # fmt: skip
def aclrtGetDeviceUtilizationRate(acl: Acl, deviceId: I32, utilizationInfo: Address) -> None:
    """Write what a device does in percent: cubes, vector cores, AI CPUs, memory (-1: nobody can tell).

    A device that does not exist has no rates either; the vendor's call answers success then, too.
    """
    if not 0 <= deviceId < acl.runtime.device_count:
        caller.write(utilizationInfo, struct.pack("<4i", -1, -1, -1, -1), 16)
        return
    info = acl.runtime.ask(deviceId)
    modules = ("MODULE_TYPE_AICORE", "MODULE_TYPE_VECTOR_CORE", "MODULE_TYPE_AICPU", "MODULE_TYPE_MEMORY")
    rates = [info.get_or(module, "INFO_TYPE_UTILIZATION", -1) for module in modules]
    caller.write(utilizationInfo, struct.pack("<4i", *rates), 16)


# -- peers ---------------------------------------------------------------------------------------------------------

_NUMBERED = (
    refuse("is_masked(acl) and not 0 <= deviceId < len(acl.runtime.slots)", "deviceId", "a visible device", "EE1003",
           code=107001, rule="ASCEND_RT_VISIBLE_DEVICES is set, and deviceId is none of its devices"),
    refuse("not 0 <= deviceId < 64", "deviceId", "[0, 63]", "EE1003"),
)  # fmt: skip
"""What a device id must be that the driver looks at: without a mask, any number it could know."""


def _driver_id(acl: Acl, index: int) -> int:
    """Return the driver's number of a device that may not exist."""
    ids = acl.runtime.visible.ids
    return ids[index] if index < len(ids) else index


@entry(null("value"))
def aclrtGetDevicesTopo(acl: Acl, deviceId: U32, otherDeviceId: U32, value: Out[U64]) -> None:
    """Return the link between two devices as one bit: 1 HCCS, 2 PIX, 4 PIB, 8 PHB, 16 SYS, 32 SIO, 64 HCCS_SW."""
    driver, other = _pair(acl, deviceId, otherDeviceId)
    value.value = 1 << driver.link(acl.runtime.visible.ids[other]) if driver.device_id != other else 1


@entry(
    refuse("deviceId == peerDeviceId", "peerDeviceId", "another device", "EH0009"),
    refuse("not 0 <= peerDeviceId < len(acl.runtime.slots)", "peerDeviceId", "a visible device", "", code=107001),
    *_NUMBERED, null_rt("canAccessPeer"),
)  # fmt: skip
def aclrtDeviceCanAccessPeer(acl: Acl, canAccessPeer: Out[I32], deviceId: I32, peerDeviceId: I32) -> None:
    """Return whether one device could reach the memory of another."""
    driver = PeerDriver(acl.runtime.hal, _driver_id(acl, deviceId))
    canAccessPeer.value = int(driver.can_access(acl.runtime.ask(peerDeviceId).physical_id()))


@entry(refuse("flags", "flags", "0", "EH0009", code=200006))
def aclrtDeviceEnablePeerAccess(acl: Acl, peerDeviceId: I32, flags: U32) -> None:
    """Let the thread's device reach the memory of another."""
    call = "aclrtDeviceEnablePeerAccess"
    driver, peer = _from_current(acl, call, peerDeviceId)
    driver.enable(acl.runtime.ask(peer).physical_id())


@entry()
def aclrtDeviceDisablePeerAccess(acl: Acl, peerDeviceId: I32) -> None:
    """Take one permission back."""
    driver, peer = _from_current(acl, "aclrtDeviceDisablePeerAccess", peerDeviceId)
    driver.disable(acl.runtime.ask(peer).physical_id())


@entry(
    null("status"), *_NUMBERED, refuse("not 0 <= peerDeviceId < 64", "peerDeviceId", "[0, 63]", "EE1003"),
)  # fmt: skip
def aclrtDevicePeerAccessStatus(acl: Acl, deviceId: I32, peerDeviceId: I32, status: Out[I32]) -> None:
    """Return whether one device may reach the memory of another now."""
    peers = acl.runtime.visible.ids
    peer = acl.runtime.ask(peerDeviceId).physical_id() if peerDeviceId < len(peers) else peerDeviceId
    status.value = int(PeerDriver(acl.runtime.hal, _driver_id(acl, deviceId)).enabled(peer))


def _from_current(acl: Acl, call: str, peer: int) -> tuple[PeerDriver, int]:
    context = acl.runtime.find_context()
    if context is None:
        raise errors.fault("ACL_ERROR_RT_CONTEXT_NULL", f"{call}: this thread has no device set")
    _different(call, context.device.user_id, peer)
    return _pair(acl, context.device.user_id, peer)


def _pair(acl: Acl, index: int, peer: int) -> tuple[PeerDriver, int]:
    """Return the driver of the first device and the checked user id of the second; 107001 without a message."""
    ids = acl.runtime.visible.ids
    for number in (index, peer):
        if not 0 <= number < len(ids):
            raise errors.fault("ACL_ERROR_RT_INVALID_DEVICEID", f"device {number}: valid are 0 to {len(ids) - 1}")
    return PeerDriver(acl.runtime.hal, ids[index]), peer


def _different(call: str, index: int, peer: int) -> None:
    if index == peer:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: device {peer} is its own peer", ee="EH0009",
            params=(call, peer, "peerDeviceId", "it is the device itself"),
        )


def _out_of_range(call: str, value: object, parameter: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {parameter} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, parameter, expected),
    )


# -- compute groups ------------------------------------------------------------------------------------------------


@entry(null("count"))
def aclrtGetGroupCount(acl: Acl, count: Out[U32]) -> None:
    """Refuse: only parts of chips without STARS v1 or v2 queues are divided into compute groups."""
    raise _no_groups(acl, "aclrtGetGroupCount")


@entry()
def aclrtCreateGroupInfo(acl: Acl) -> Handle:
    """Return NULL, and post why: see `aclrtGetGroupCount`."""
    acl.reports.post(_no_groups(acl, "aclrtCreateGroupInfo"))
    return 0


@entry(null("groupInfo"))
def aclrtDestroyGroupInfo(acl: Acl, groupInfo: Handle) -> None:
    """Refuse: nothing can have made one."""
    raise _no_groups(acl, "aclrtDestroyGroupInfo")


@entry(null("groupInfo"))
def aclrtGetAllGroupInfo(acl: Acl, groupInfo: Handle) -> None:
    """Refuse, as `aclrtDestroyGroupInfo` does."""
    raise _no_groups(acl, "aclrtGetAllGroupInfo")


@entry(null("groupInfo", "attrValue", "paramRetSize"))
def aclrtGetGroupInfoDetail(
    acl: Acl, groupInfo: Handle, groupIndex: I32, attr: Enum, attrValue: Address,
    valueLen: Size, paramRetSize: Out[Size],
) -> None:  # fmt: skip
    """Refuse, as `aclrtDestroyGroupInfo` does."""
    raise _no_groups(acl, "aclrtGetGroupInfoDetail")


@entry()
def aclrtSetGroup(acl: Acl, groupId: I32) -> None:
    """Refuse, as `aclrtGetGroupCount` does."""
    raise _no_groups(acl, "aclrtSetGroup")


def _no_groups(acl: Acl, call: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {acl.runtime.machine.chip.soc} has no compute groups",
        ee="EE1005", params=("dividing a device into compute groups",),
    )
