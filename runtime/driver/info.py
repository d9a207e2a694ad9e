"""What the driver says about a machine and its devices before anything is opened."""

from __future__ import annotations

import ctypes

import chips
import npuhal
from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.calls import HalCalls

_SOC_NAME_BYTES = 50
_UNIQUE_ID_BYTES = 16
_UNTOUCHED = -1


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What was read once per process, before any device was opened."""

    device_count: int
    known_chip: chips.Chip | None
    soc_name: str
    version_word: int
    ts_count: int
    aicpu_count: int
    callback_groups: int
    on_host: bool
    api_version: int

    @property
    def chip(self) -> chips.Chip:
        """The chip of the machine's devices; a machine without devices has none and raises DeviceUnavailable 207004."""
        if self.known_chip is None:
            raise errors.fault(
                "ACL_ERROR_RT_NO_DEVICE", "this machine has no NPU that the process may see", hint=_NO_DEVICE_HINT
            )
        return self.known_chip


_NO_DEVICE_HINT = (
    "check `npu-smi info` and the container's devices, or work without one: NPUHAL_URL=fake://ascend910b3"
)


class DeviceInfo(HalCalls):
    """halGetDeviceInfo and its neighbours for one device."""

    def get(self, module: str, info: str) -> int:
        """Return one item; the output is pre-set so that a library that answers without writing is noticed."""
        rc, value = self.ask(module, info)
        self.check(rc, "halGetDeviceInfo", f"{module}, {info}, device {self.device_id}")
        return value

    def ask(self, module: str, info: str) -> tuple[int, int]:
        """Return (HAL code, value) of one item without judging the code."""
        value = ctypes.c_int64(_UNTOUCHED)
        rc = self.hal.halGetDeviceInfo(
            self.device_id, getattr(c, module), getattr(c, info), ctypes.byref(value)
        )
        return rc, value.value

    def get_or(self, module: str, info: str, default: int) -> int:
        """Return one item, or the default where the driver does not know it."""
        rc, value = self.ask(module, info)
        return default if rc else value

    def get_if_known(self, module: str, info: str, default: int) -> int:
        """Return one item, or the default where the driver says that it has no such item; any other failure is raised.
        """
        rc, value = self.ask(module, info)
        if rc in (c.DRV_ERROR_NOT_SUPPORT, c.DRV_ERROR_INVALID_VALUE):
            return default
        self.check(rc, "halGetDeviceInfo", f"{module}, {info} of device {self.device_id}")
        return value

    def soc_version(self) -> str:
        """Return the SoC name that the firmware gives, or "" where the driver has no such function."""
        if not self.hal.has("halGetSocVersion"):
            return ""
        name = ctypes.create_string_buffer(_SOC_NAME_BYTES)
        rc = self.hal.halGetSocVersion(self.device_id, name, _SOC_NAME_BYTES)
        if rc == c.DRV_ERROR_NOT_SUPPORT:
            return ""
        self.check(rc, "halGetSocVersion", f"device {self.device_id}")
        return name.value.decode("ascii", "replace")

    def sdma_reduce_kinds(self) -> int:
        """Return the bit set of reduce kinds that SDMA offers (struct halCapabilityInfo)."""
        info = s.halCapabilityInfo()
        self.check(self.hal.halGetChipCapability(self.device_id, ctypes.byref(info)), "halGetChipCapability")
        return int(info.sdma_reduce_kind)

    def status(self) -> int:
        """Return drvDeviceStatus: 0 starting, 1 working, 2 exception, 3 sleeping, 4 link lost."""
        value = ctypes.c_int32(_UNTOUCHED)
        self.check(self.hal.drvDeviceStatus(self.device_id, ctypes.byref(value)), "drvDeviceStatus")
        return value.value

    def unique_id(self) -> bytes:
        """Return the 16 bytes that name the device among all there are."""
        return self._block("MODULE_TYPE_SYSTEM", "INFO_TYPE_UUID", _UNIQUE_ID_BYTES)

    def pci_address(self) -> str:
        """Return where the device sits on the PCIe bus, as domain:bus:device.function (struct HAL_PCIE_INFO)."""
        address = s.HAL_PCIE_INFO.from_buffer_copy(
            self._block("MODULE_TYPE_PCIE", "INFO_TYPE_PCIE_ID_INFO", ctypes.sizeof(s.HAL_PCIE_INFO))
        )
        return f"{address.domain:04x}:{address.bus:02x}:{address.device:02x}.{address.function:x}"

    def _block(self, module: str, info: str, size: int) -> bytes:
        block, length = ctypes.create_string_buffer(size), ctypes.c_int32(size)
        rc = self.hal.halGetDeviceInfoByBuff(
            self.device_id, getattr(c, module), getattr(c, info), ctypes.addressof(block), ctypes.byref(length)
        )
        self.check(rc, "halGetDeviceInfoByBuff", f"{module}, {info}, device {self.device_id}")
        return block.raw

    def physical_id(self) -> int:
        """Return the physical id behind the logic id."""
        value = ctypes.c_uint32(0)
        self.check(
            self.hal.drvDeviceGetPhyIdByIndex(self.device_id, ctypes.byref(value)), "drvDeviceGetPhyIdByIndex"
        )
        return value.value


def device_count(hal: npuhal.HalApi) -> int:
    """Return how many devices this process may see; a machine without devices gives 0.

    Raises RuntimeFault with the driver's own code where the device nodes are missing or do not open.
    """
    value = ctypes.c_uint32(0)
    rc = hal.drvGetDevNum(ctypes.byref(value))
    if rc == c.DRV_ERROR_NO_DEVICE:
        return 0
    if rc:
        fault = HalCalls(hal, 0).fault(rc, "drvGetDevNum", "the driver does not get to its kernel modules")
        fault.hint = "look at /dev/davinci_manager: it is missing, closed to this user, or busy (`npuhal doctor` says)"
        raise fault
    return value.value


def platform_is_host(hal: npuhal.HalApi) -> bool:
    """Return True where the process runs on a host and the devices are behind a bus (drvGetPlatformInfo = 1)."""
    value = ctypes.c_uint32(0)
    HalCalls(hal, 0).check(hal.drvGetPlatformInfo(ctypes.byref(value)), "drvGetPlatformInfo")
    return value.value == 1


def _host_without_devices(hal: npuhal.HalApi) -> bool:
    """Ask where the process runs; a driver without any card does not tell, and is on a host."""
    try:
        return platform_is_host(hal)
    except errors.RuntimeFault:
        return True


def read_machine(hal: npuhal.HalApi) -> MachineFacts:
    """Read chip, SoC name and counts in the order that the vendor's runtime asks for them.

    A machine without devices gives facts without a chip. Raises RuntimeFault 507000 where there are devices but none
    answers, npuhal.HalError trees below it, and chips.UnknownChip where the SoC is none that this package knows.
    """
    answering = _first_answering(hal)
    if answering is None:
        return MachineFacts(
            device_count=0, known_chip=None, soc_name="", version_word=0, ts_count=0, aicpu_count=0, callback_groups=0,
            on_host=_host_without_devices(hal), api_version=npuhal.shake_hands(hal).library,
        )
    info, word = answering
    soc_name = info.soc_version()
    chip = _chip(info, word, soc_name)
    if chip.traits.asks_connection:
        info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_HD_CONNECT_TYPE", 0)
    ts_count = info.get("MODULE_TYPE_SYSTEM", "INFO_TYPE_CORE_NUM")
    if not 1 <= ts_count <= 2:
        raise errors.fault(
            "ACL_ERROR_RT_DRV_INTERNAL_ERROR",
            f"the driver reports {ts_count} task schedulers; 1 or 2 are possible",
            hint="the driver package does not fit this device: check its version with `npuhal doctor`",
        )
    aicpu_count = info.get("MODULE_TYPE_AICPU", "INFO_TYPE_CORE_NUM")
    if chip.traits.asks_dynamic_bind:
        info.supports("FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND")
    groups = _callback_groups(hal)
    on_host = platform_is_host(hal)
    api_version = npuhal.shake_hands(hal).library
    return MachineFacts(
        device_count=device_count(hal), known_chip=chip, soc_name=soc_name or chip.soc, version_word=word,
        ts_count=ts_count, aicpu_count=aicpu_count, callback_groups=groups, on_host=on_host, api_version=api_version,
    )


def _first_answering(hal: npuhal.HalApi) -> tuple[DeviceInfo, int] | None:
    """Ask device 0, then every other one, for the version word; None on a machine without devices."""
    info = DeviceInfo(hal, 0)
    rc, word = info.ask("MODULE_TYPE_SYSTEM", "INFO_TYPE_VERSION")
    if rc == 0 and word != _UNTOUCHED:
        return info, word
    count = device_count(hal)
    for device_id in range(1, count):
        info = DeviceInfo(hal, device_id)
        rc, word = info.ask("MODULE_TYPE_SYSTEM", "INFO_TYPE_VERSION")
        if rc == 0 and word != _UNTOUCHED:
            return info, word
    if count == 0:
        return None
    raise info.fault(rc or c.DRV_ERROR_NO_DEVICE, "halGetDeviceInfo", "SYSTEM, VERSION on every device")


def _chip(info: DeviceInfo, word: int, soc_name: str) -> chips.Chip:
    """Name the chip: by its SoC name, or by the version word and what else tells its kinds apart."""
    if soc_name:
        return chips.find_chip(soc_name)

    def told(module: str, item: str) -> int | None:
        rc, value = info.ask(module, item)
        return None if rc else value

    return chips.chip_from_version(
        word,
        aicore_count=info.get("MODULE_TYPE_AICORE", "INFO_TYPE_CORE_NUM"),
        aicore_level=told("MODULE_TYPE_AICORE", "INFO_TYPE_CORE_NUM_LEVEL"),
        frequency_level=told("MODULE_TYPE_AICORE", "INFO_TYPE_FREQUE_LEVEL"),
        vector_count=told("MODULE_TYPE_VECTOR_CORE", "INFO_TYPE_CORE_NUM"),
    )


def _callback_groups(hal: npuhal.HalApi) -> int:
    """Number of host-callback groups; 128 where the driver cannot tell."""
    value, size = ctypes.c_uint32(0), ctypes.c_size_t(4)
    rc = hal.halTsdrvCtl(0, c.TSDRV_CTL_CMD_CB_GROUP_NUM_GET, None, 0, ctypes.byref(value), ctypes.byref(size))
    return value.value if rc == 0 and value.value else 128
