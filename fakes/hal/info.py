"""HAL chapter "info": what a card is, and what the driver can do (hal_semantics 3)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from fakes.machine.facts import fact, master
from npuhal import constants as c
from npuhal import structs as s

if TYPE_CHECKING:
    from fakes.machine.card import Device

API_VERSION = 0x072418
"""What halGetAPIVersion answers: 7.36.24, the driver tree's header (hal_loading 4)."""
_SOC_VERSION_LEN = 32
_FIRST_BUS = 0x81
_FAILED_MEMORY = 34
"""MEMORY: the addresses that errors beyond correction have hit; as new."""
_BLOCKS = frozenset({
    (c.MODULE_TYPE_MEMORY, _FAILED_MEMORY), (c.MODULE_TYPE_PCIE, c.INFO_TYPE_PCIE_ID_INFO),
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_UUID),
})  # fmt: skip
"""What halGetDeviceInfoByBuff answers, by module and info."""


def _failed(device: Device) -> Any:
    rows = device.failed_memory[: c.MEM_REPAIR_MAX_CNT]
    block = s.MemRepairInPara(devid=device.index, count=len(rows))
    for entry, (address, size) in zip(block.repairAddrs, rows, strict=False):
        entry.ptr, entry.len = address, size
    return block


_FEATURES = 32
_BINDING = c.FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND
_INNER = 9999
_USER_CODES: Mapping[int, int] = {
    0: 0, c.DRV_ERROR_NO_DEVICE: 1, c.DRV_ERROR_INVALID_DEVICE: 2, c.DRV_ERROR_INVALID_VALUE: 3,
    c.DRV_ERROR_INVALID_HANDLE: 3, c.DRV_ERROR_PARA_ERROR: 3, c.DRV_ERROR_OUT_OF_MEMORY: 4,
    c.DRV_ERROR_MALLOC_FAIL: 4, c.DRV_ERROR_BUSY: 5, c.DRV_ERROR_RESOURCE_OCCUPIED: 5, c.DRV_ERROR_NO_RESOURCES: 6,
    c.DRV_ERROR_OPER_NOT_PERMITTED: 7, c.DRV_ERROR_PERMISSION: 7, c.DRV_ERROR_NO_EVENT_RESOURCES: 8,
    c.DRV_ERROR_NO_STREAM_RESOURCES: 9, c.DRV_ERROR_NO_NOTIFY_RESOURCES: 10, c.DRV_ERROR_NO_MODEL_RESOURCES: 11,
    c.DRV_ERROR_QUEUE_FULL: 12, c.DRV_ERROR_NO_CDQ_RESOURCES: 13, c.DRV_ERROR_NOT_SUPPORT: 14,
    c.DEV_ERROR_UNAUTHORIZED_ACCESS_DEVICE: 15,
}  # fmt: skip
"""Driver code -> the code for users."""


class InfoCalls(Chapter):
    """Functions of ascend_hal_base.h that only ask."""

    def halGetDeviceInfo(self, devid: int, module: int, info: int, value: Any) -> int:
        """Return one number about a card; what has none is an invalid value or not supported, see `facts`."""
        device = self.device(devid)
        if device is None and (module, info) == (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_MASTERID):
            device = self.physical_card(devid)  # the vendor's runtime asks this one with the physical id
        if device is None or value is None:
            return c.DRV_ERROR_INVALID_VALUE
        code, number = fact(device, module, info)
        if code == 0:
            value.value = number
        return code

    def halGetDeviceInfoByBuff(self, devid: int, module: int, info: int, buf: int, size: Any) -> int:
        """Return a block of facts about a card: its unique id, or its address on the PCIe bus."""
        if not 0 <= devid < self.machine.driver.numbers or not buf or size is None:
            return c.DRV_ERROR_INVALID_VALUE
        device = self.device(devid)
        if (module, info) not in _BLOCKS:
            return c.DRV_ERROR_NOT_SUPPORT
        if device is None:
            return c.DRV_ERROR_INVALID_VALUE
        if module == c.MODULE_TYPE_MEMORY:
            block = bytes(_failed(device))
        elif module == c.MODULE_TYPE_PCIE:
            block = bytes(s.HAL_PCIE_INFO(domain=0, bus=_FIRST_BUS + devid, device=0, function=0))
        else:
            import hashlib  # late: it brings a large library

            block = hashlib.md5(f"{self.machine.options.seed}/{device.chip.soc}/{devid}".encode()).digest()
        if size.value != len(block):
            return c.DRV_ERROR_PARA_ERROR
        self.machine.memory.write(buf, block, "halGetDeviceInfoByBuff to")
        return 0

    def halGetPhyDeviceInfo(self, physical: int, module: int, info: int, value: Any) -> int:
        """Return one of four numbers by physical id."""
        device = self.physical_card(physical)
        if device is None or value is None or module != c.MODULE_TYPE_SYSTEM:
            return c.DRV_ERROR_INVALID_VALUE
        answers = {
            c.PHY_INFO_TYPE_CHIPTYPE: device.chip.chip_value,
            c.PHY_INFO_TYPE_MASTER_ID: master(device),
            c.PHY_INFO_TYPE_PHY_CHIP_ID: device.identity.chip_id,
            c.PHY_INFO_TYPE_PHY_DIE_ID: device.identity.die_id,
        }
        if info not in answers:
            return c.DRV_ERROR_INVALID_VALUE
        value.value = answers[info]
        return 0

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
        machine, mask = self.machine, self.machine.options.features
        if feature == c.FEATURE_SVM_GET_USER_MALLOC_ATTR and (mask is None or mask >> feature & 1):
            machine.tells_user_memory = True
        if mask is not None:
            return 0 <= feature < _FEATURES and bool(mask >> feature & 1)
        if feature in machine.driver.features:
            return True
        if self.device(devid) is None:
            return False
        return machine.options.software_sq if feature == _BINDING else feature in machine.driver.card_features

    def halMapErrorCode(self, code: int) -> int:
        """Map to a user-facing code; 9999 stands for what has none of its own."""
        return _USER_CODES.get(code, _INNER)

    def halGetDeviceSplitMode(self, devid: int, mode: Any) -> int:
        """Tell whether the card is split into virtual ones: it is not."""
        if self.device(devid) is None or mode is None:
            return c.DRV_ERROR_PARA_ERROR
        mode.value = c.VMNG_NORMAL_NONE_SPLIT_MODE
        return 0

    def halGetChipFromDevice(self, devid: int, chip: Any) -> int:
        """Return the number of the chip a card is part of."""
        if not 0 <= devid < self.machine.driver.numbers or chip is None:
            return c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        if device is None:
            return c.DRV_ERROR_INVALID_VALUE
        chip.value = device.identity.chip_id
        return 0
