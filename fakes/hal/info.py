"""HAL chapter "info": what a card is, and what the driver can do (hal_semantics 3)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from npuhal import constants as c
from npuhal import structs as s

if TYPE_CHECKING:
    from fakes.machine.card import Device

API_VERSION = 0x072418
"""What halGetAPIVersion answers: 7.36.24, the driver tree's header (hal_loading 4)."""
_SOC_VERSION_LEN = 32
_FIRST_BUS = 0x81
_REAL_TIME = 64
"""SYSTEM/REAL_TIME: the device's clock; newer than the enumerators of ascend_hal_base.h."""
_FAILED_MEMORY = 34
"""MEMORY: the addresses that errors beyond correction have hit; as new."""


def soc_value(device: Device, key: str, default: int) -> int:
    """Return a number of the chip's description, section SoCInfo."""
    value = device.chip.ini.get("SoCInfo", {}).get(key, default)
    return value if isinstance(value, int) else default


def _failed(device: Device) -> Any:
    rows = device.failed_memory[: c.MEM_REPAIR_MAX_CNT]
    block = s.MemRepairInPara(devid=device.index, count=len(rows))
    for entry, (address, size) in zip(block.repairAddrs, rows, strict=False):
        entry.ptr, entry.len = address, size
    return block


def _version(device: Device) -> int:
    return device.chip.chip_value << 8 | device.machine.chip_revision


_INFO: Mapping[tuple[int, int], Callable[[Any], int]] = {
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_ENV): lambda d: 0,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_VERSION): _version,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_MASTERID): lambda d: d.machine.devices[d.index & ~1].identity.physical,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_CORE_NUM): lambda d: int(d.chip.properties["tsCount"]),
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_PHY_CHIP_ID): lambda d: d.identity.chip_id,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_PHY_DIE_ID): lambda d: d.identity.die_id,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_ADDR_MODE): lambda d: c.ADDR_MODE_INDEPENDENT,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_RUN_MACH): lambda d: c.RUN_MACHINE_PHYCICAL,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_HD_CONNECT_TYPE): lambda d: 2 if d.machine.options.args == "ub" else 0,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_SYS_COUNT): lambda d: d.ticks(d.engines.now),
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_DEV_OSC_FREQUE): lambda d: d.ticks_per_ms * 1000,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_HOST_OSC_FREQUE): lambda d: 1_000_000_000,
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_PRODUCT_TYPE): lambda d: c.HAL_PRODUCT_TYPE_A_K,
    (c.MODULE_TYPE_SYSTEM, _REAL_TIME): lambda d: d.ticks(max(d.engines.now, d.host_time)),
    (c.MODULE_TYPE_AICPU, c.INFO_TYPE_CORE_NUM): lambda d: soc_value(d, "ai_cpu_cnt", 6),
    (c.MODULE_TYPE_CCPU, c.INFO_TYPE_CORE_NUM): lambda d: 1,
    (c.MODULE_TYPE_DCPU, c.INFO_TYPE_CORE_NUM): lambda d: 0,
    (c.MODULE_TYPE_TSCPU, c.INFO_TYPE_CORE_NUM): lambda d: 1,
    (c.MODULE_TYPE_AICORE, c.INFO_TYPE_CORE_NUM): lambda d: d.machine.cores["AIC"],
    (c.MODULE_TYPE_AICORE, c.INFO_TYPE_CORE_NUM_LEVEL): lambda d: 0,
    (c.MODULE_TYPE_AICORE, c.INFO_TYPE_FREQUE_LEVEL): lambda d: 0,
    (c.MODULE_TYPE_AICORE, c.INFO_TYPE_DIE_NUM): lambda d: d.machine.dies,
    (c.MODULE_TYPE_AICORE, c.INFO_TYPE_UTILIZATION): lambda d: 0,
    (c.MODULE_TYPE_AICORE, c.INFO_TYPE_ERROR_MAP): lambda d: 0,
    (c.MODULE_TYPE_VECTOR_CORE, c.INFO_TYPE_CORE_NUM): lambda d: d.machine.cores["AIV"],
    (c.MODULE_TYPE_HCOM_CPU, c.INFO_TYPE_CORE_NUM): lambda d: 0,
}
"""(module, info) -> value, as far as a runtime asks (hal_trace 2)."""

_FEATURES: Mapping[int, Callable[[Any], bool]] = {
    c.FEATURE_TRSDRV_SQ_DEVICE_MEM_PRIORITY: lambda m: False,
    c.FEATURE_PROF_AICPU_CHAN: lambda m: False,
    c.FEATURE_SVM_GET_USER_MALLOC_ATTR: lambda m: True,
    c.FEATURE_MEMCPY_BATCH_ASYNC: lambda m: False,
    c.FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND: lambda m: bool(m.options.software_sq),
    c.FEATURE_TRSDRV_IS_SQ_SUPPORT_DYNAMIC_BIND_VERSION: lambda m: True,
    c.FEATURE_APM_RES_MAP_REMOTE: lambda m: True,
}


class InfoCalls(Chapter):
    """Functions of ascend_hal_base.h that only ask."""

    def halGetDeviceInfo(self, devid: int, module: int, info: int, value: Any) -> int:
        """Return one number about a card; INVALID_VALUE for what it has no number for."""
        device = self.device(devid)
        answer = _INFO.get((module, info))
        if device is None or value is None or answer is None:
            return c.DRV_ERROR_INVALID_VALUE
        value.value = answer(device)
        return 0

    def halGetDeviceInfoByBuff(self, devid: int, module: int, info: int, buf: int, size: Any) -> int:
        """Return a block of facts about a card: its unique id, or its place on the PCIe bus."""
        device = self.device(devid)
        if device is None or not buf or size is None:
            return c.DRV_ERROR_INVALID_VALUE
        if module == c.MODULE_TYPE_MEMORY and info == _FAILED_MEMORY:
            block = bytes(_failed(device))
        elif module != c.MODULE_TYPE_SYSTEM:
            return c.DRV_ERROR_NOT_SUPPORT
        elif info == c.INFO_TYPE_UUID:
            import hashlib  # late: it brings a large library

            block = hashlib.md5(f"{self.machine.options.seed}/{device.chip.soc}/{devid}".encode()).digest()
        elif info == c.INFO_TYPE_PCIE_ID_INFO:
            block = bytes(s.HAL_PCIE_INFO(domain=0, bus=_FIRST_BUS + devid, device=0, function=0))
        else:
            return c.DRV_ERROR_NOT_SUPPORT
        if size.value != len(block):
            return c.DRV_ERROR_PARA_ERROR
        self.machine.memory.write(buf, block, "halGetDeviceInfoByBuff to")
        return 0

    def halGetPhyDeviceInfo(self, physical: int, module: int, info: int, value: Any) -> int:
        """Return one of four numbers by physical id."""
        for device in self.machine.devices:
            if device.identity.physical == physical and value is not None and module == c.MODULE_TYPE_SYSTEM:
                answers = {
                    c.PHY_INFO_TYPE_CHIPTYPE: device.chip.chip_value,
                    c.PHY_INFO_TYPE_MASTER_ID: self.machine.devices[device.index & ~1].identity.physical,
                    c.PHY_INFO_TYPE_PHY_CHIP_ID: device.identity.chip_id,
                    c.PHY_INFO_TYPE_PHY_DIE_ID: device.identity.die_id,
                }
                if info in answers:
                    value.value = answers[info]
                    return 0
        return c.DRV_ERROR_INVALID_VALUE

    def halGetSocVersion(self, devid: int, text: int, length: int) -> int:
        """Return the SoC's name, such as Ascend910B3."""
        device = self.device(devid)
        if device is None or not text or length < _SOC_VERSION_LEN:
            return c.DRV_ERROR_INVALID_VALUE
        name = device.chip.soc.encode()
        ctypes.memmove(text, name + b"\0", len(name) + 1)
        return 0

    def halGetChipInfo(self, devid: int, info: Any) -> int:
        """Return type, name and version as text."""
        device = self.device(devid)
        if device is None or info is None:
            return c.DRV_ERROR_PARA_ERROR
        for field, text in (("type", b"Ascend"), ("name", device.chip.soc.removeprefix("Ascend").encode()),
                            ("version", b"V1")):  # fmt: skip
            getattr(info, field)[:] = text.ljust(32, b"\0")
        return 0

    def halGetChipCapability(self, devid: int, info: Any) -> int:
        """Say what the SDMA engine can reduce and which memory there is."""
        device = self.device(devid)
        if device is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if info is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.sdma_reduce_support = 0xFFFFFFFF
        info.sdma_reduce_kind = 0xFFFFFFFF
        info.memory_support = c.CAP_MEM_SUPPORT_HBM
        info.ts_group_number = 1
        return 0

    def halGetAPIVersion(self, version: Any) -> int:
        """Return the version of the header the library was built with."""
        if version is None:
            return c.DRV_ERROR_INVALID_VALUE
        version.value = API_VERSION
        return 0

    def halSetRuntimeApiVer(self, version: int) -> None:
        """Remember the client's version; some ids are withheld from clients that never say it."""
        self.machine.client_version = version

    def halSupportFeature(self, devid: int, feature: int) -> bool:
        """Tell whether the driver has a feature; false for numbers it does not know."""
        mask = self.machine.options.features
        if mask is not None:
            return self.device(devid) is not None and bool(mask >> feature & 1)
        answer = _FEATURES.get(feature)
        return answer is not None and self.device(devid) is not None and answer(self.machine)

    def halMapErrorCode(self, _code: int) -> int:
        """Map to a user-facing code: there is none for any (9999)."""
        return 9999

    def halGetDeviceSplitMode(self, devid: int, mode: Any) -> int:
        """Tell whether the card is split into virtual ones: it is not."""
        if self.device(devid) is None or mode is None:
            return c.DRV_ERROR_INVALID_VALUE
        mode.value = c.VMNG_NORMAL_NONE_SPLIT_MODE
        return 0

    def halGetChipFromDevice(self, devid: int, chip: Any) -> int:
        """Return the number of the chip a card is part of."""
        device = self.device(devid)
        if device is None or chip is None:
            return c.DRV_ERROR_INVALID_VALUE
        chip.value = device.identity.chip_id
        return 0
