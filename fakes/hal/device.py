"""HAL chapter "device": counting, opening, closing and translating the ids of cards (hal_semantics 2)."""

from __future__ import annotations

import ctypes
from typing import Any

from fakes.hal.chapter import Chapter
from fakes.machine.driver import HOST_NUMBER, QUEUE_NUMBERS
from npuhal import constants as c


def write_ids(devices: Any, numbers: list[int]) -> None:
    """Fill a C array of u32 that the caller gave."""
    filled = (ctypes.c_uint32 * len(numbers))(*numbers)
    ctypes.memmove(ctypes.addressof(devices), filled, ctypes.sizeof(filled))


class DeviceCalls(Chapter):
    """Functions of ascend_hal_base.h about cards."""

    def drvGetDevNum(self, num_dev: Any) -> int:
        """Count the cards."""
        if num_dev is None:
            return c.DRV_ERROR_INVALID_VALUE
        num_dev.value = len(self.machine.devices)
        return 0

    def drvGetDevIDs(self, devices: Any, length: int) -> int:
        """List the logic ids, at most `length` of them."""
        if devices is None:
            return c.DRV_ERROR_INVALID_VALUE
        write_ids(devices, list(range(min(length, len(self.machine.devices)))))
        return 0

    def halGetDevNumEx(self, hw_type: int, num_dev: Any) -> int:
        """Count cards of a hardware type; the fake has only davinci devices (0)."""
        if num_dev is None:
            return c.DRV_ERROR_INVALID_VALUE
        num_dev.value = len(self.machine.devices) if hw_type == 0 else 0
        return 0

    def halGetDevIDsEx(self, hw_type: int, devices: Any, length: int) -> int:
        """List the ids of a hardware type."""
        if devices is None:
            return c.DRV_ERROR_INVALID_VALUE
        return self.drvGetDevIDs(devices, length) if hw_type == 0 else 0

    def halGetVdevNum(self, num_dev: Any) -> int:
        """Count virtual devices: none."""
        if num_dev is None:
            return c.DRV_ERROR_INVALID_VALUE
        num_dev.value = 0
        return 0

    def halDeviceOpen(self, devid: int, _in: Any, out: Any) -> int:
        """Open a card for this process; a second time is REPEATED_INIT."""
        device = self.device(devid)
        if out is None:
            return c.DRV_ERROR_PARA_ERROR
        if device is None:
            attached = 0 <= devid < self.machine.driver.attached
            return c.DRV_ERROR_INVALID_DEVICE if attached else c.DRV_ERROR_PARA_ERROR
        if not device.works:
            return c.DRV_ERROR_DEVICE_NOT_READY
        if device.opened:
            return c.DRV_ERROR_REPEATED_INIT
        if device.busy_with:
            self.machine.problem(f"card {devid} is held by {device.busy_with}")
            return c.DRV_ERROR_RESOURCE_OCCUPIED
        shared = self.machine.shared
        if shared is not None and not shared.table.open_card(devid):
            self.machine.problem(f"card {devid} is open in as many processes as it can be")
            return c.DRV_ERROR_NO_RESOURCES
        device.opened = True
        return 0

    def halDeviceClose(self, devid: int, in_: Any) -> int:
        """Close a card; everything the process held on it is given back, its memory stays after HOST_USER."""
        if in_ is not None and in_.close_type == c.DEV_CLOSE_ONLY_HOST:
            return c.DRV_ERROR_NOT_SUPPORT
        if not 0 <= devid < self.machine.driver.numbers:
            return c.DRV_ERROR_PARA_ERROR
        device = self.device(devid)
        if device is None or not device.opened:
            return c.DRV_ERROR_UNINIT
        if in_ is not None and in_.close_type == c.DEV_CLOSE_HOST_USER:
            device.leave()
            for forget in self.machine.on_leave:
                forget(devid)
            return 0
        if self.machine.checks is not None:
            self.machine.checks.closing(device)
        device.opened = False
        device.reset()
        for forget in self.machine.on_close:
            forget(devid)
        self.machine.memory.release_device(devid)
        return 0

    def drvDeviceOpen(self, dev_info: Any, devid: int) -> int:
        """Open only the task-scheduler part (older programs); the same state as halDeviceOpen here."""
        if dev_info is None or not 0 <= devid < QUEUE_NUMBERS:
            return c.DRV_ERROR_INVALID_VALUE
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        return self.halDeviceOpen(devid, None, dev_info)

    def drvDeviceClose(self, devid: int) -> int:
        """Close what drvDeviceOpen opened."""
        if not 0 <= devid < QUEUE_NUMBERS:
            return c.DRV_ERROR_INVALID_VALUE
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        return self.halDeviceClose(devid, None)

    def drvMemDeviceOpen(self, devid: int, _fd: int) -> int:
        """Open only the memory part: nothing to do here."""
        return 0 if self.device(devid) is not None else c.DRV_ERROR_INVALID_DEVICE

    def drvMemDeviceClose(self, devid: int) -> int:
        """Close only the memory part."""
        return 0 if self.device(devid) is not None else c.DRV_ERROR_INVALID_DEVICE

    def drvDeviceGetPhyIdByIndex(self, index: int, physical: Any) -> int:
        """Translate a logic id to the physical one."""
        device = self.device(index)
        if device is None or physical is None:
            return c.DRV_ERROR_INVALID_VALUE
        physical.value = device.identity.physical
        return 0

    def drvDeviceGetIndexByPhyId(self, physical: int, index: Any) -> int:
        """Translate a physical id to the logic one."""
        if index is None:
            return c.DRV_ERROR_INVALID_VALUE
        for device in self.machine.devices:
            if device.identity.physical == physical:
                index.value = device.index
                return 0
        return c.DRV_ERROR_INVALID_VALUE

    def drvGetLocalDevIDByHostDevID(self, devid: int, local: Any) -> int:
        """Translate a logic id to the one the device side uses."""
        device = self.device(devid)
        if device is None or local is None:
            return c.DRV_ERROR_INVALID_VALUE
        local.value = device.identity.local
        return 0

    def drvGetDevIDByLocalDevID(self, local: int, devid: Any) -> int:
        """Translate the device side's id to the logic one."""
        if devid is None:
            return c.DRV_ERROR_INVALID_VALUE
        for device in self.machine.devices:
            if device.identity.local == local:
                devid.value = device.index
                return 0
        return c.DRV_ERROR_INVALID_DEVICE

    def drvGetDeviceLocalIDs(self, devices: Any, length: int) -> int:
        """List the device side's ids."""
        if devices is None:
            return c.DRV_ERROR_INVALID_VALUE
        write_ids(devices, [device.identity.local for device in self.machine.devices][:length])
        return 0

    def drvGetPlatformInfo(self, info: Any) -> int:
        """Say where we run: 1, on a host."""
        if info is None:
            return c.DRV_ERROR_INVALID_HANDLE
        info.value = 1
        return 0

    def drvDeviceStatus(self, devid: int, status: Any) -> int:
        """Say how a card is (drvStatus_t)."""
        device = self.device(devid)
        if device is None or status is None:
            return c.DRV_ERROR_INVALID_VALUE
        status.value = device.status
        return 0

    def halGetHostID(self, host: Any) -> int:
        """Return the number that stands for the host in memory calls."""
        if host is None:
            return c.DRV_ERROR_PARA_ERROR
        host.value = HOST_NUMBER
        return 0
