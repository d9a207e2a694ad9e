"""Memory under a key that other processes open, and host memory that devices may use (ipc and memory chapters)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from runtime import errors
from runtime.driver.calls import HalCalls
from runtime.driver.resource_table import ResourceTable

KEY_BYTES = 65
"""Space that a key needs, its closing zero included (IPC_NAME_SIZE)."""
_MOST_KEY_BYTES = 4096


class ShareDriver(HalCalls):
    """halShmem* and halHostRegister* of one device."""

    def __init__(self, hal: Any, device_id: int, resource_table: ResourceTable | None = None) -> None:
        super().__init__(hal, device_id)
        self.resource_table = resource_table or ResourceTable()

    def export(self, address: int, size: int, capacity: int) -> bytes:
        """Give a block of device memory a key; `capacity` is what the caller has for it, at least KEY_BYTES."""
        capacity = min(capacity, _MOST_KEY_BYTES)  # the driver may clear all of it
        key = ctypes.create_string_buffer(max(capacity, KEY_BYTES))
        rc = self.hal.halShmemCreateHandle(address, size, ctypes.addressof(key), capacity)
        self.check(rc, "halShmemCreateHandle", f"{size} bytes at {address:#x}")
        self.resource_table.keys.add(key.value)
        return key.value

    def forget(self, key: bytes) -> None:
        """Take a key away; who has it open keeps the memory."""
        self.give_back(
            self.resource_table, partial(self.hal.halShmemDestroyHandle, key), partial(self.forget, key),
            "halShmemDestroyHandle", repr(key), partial(self.resource_table.keys.discard, key),
        )

    def allow(self, key: bytes, pids: Sequence[int]) -> None:
        """Let processes open a key; pids are bare tgids."""
        rows = (ctypes.c_int32 * len(pids))(*pids)
        self.check(self.hal.halShmemSetPidHandle(key, rows, len(pids)), "halShmemSetPidHandle", repr(key))

    def allow_server(self, key: bytes, server: int, pids: Sequence[int]) -> None:
        """Let processes of another server of the super-pod open a key; `server` is its super-pod device id."""
        rows = (ctypes.c_int32 * len(pids))(*pids)
        self.check(self.hal.halShmemSetPodPid(key, server, rows, len(pids)), "halShmemSetPodPid", repr(key))

    def allow_all(self, key: bytes) -> None:
        """Let every process of the machine open a key, without a list of them."""
        self.set_attribute(key, c.SHMEM_ATTR_TYPE_NO_WLIST_IN_SERVER, c.SHMEM_NO_WLIST_ENABLE)

    def set_attribute(self, key: bytes, kind: int, value: int) -> None:
        """Set an attribute of a key (SHMEM_ATTR_TYPE_*)."""
        self.check(self.hal.halShmemSetAttribute(key, kind, value), "halShmemSetAttribute", repr(key))

    def open(self, key: bytes) -> int:
        """Map the memory behind a key for this device and return its address."""
        where = ctypes.c_uint64(0)
        rc = self.hal.halShmemOpenHandleByDevId(self.device_id, key, ctypes.byref(where))
        self.check(rc, "halShmemOpenHandleByDevId", repr(key))
        return where.value

    def close(self, address: int) -> None:
        """Undo `open`."""
        self.give_back(
            self.resource_table, partial(self.hal.halShmemCloseHandle, address), partial(self.close, address),
            "halShmemCloseHandle", f"address {address:#x}",
        )

    def exporter(self, key: bytes) -> int:
        """Return the physical id of the device that has the memory of a key."""
        info = s.ShmemGetInfo()
        self.check(self.hal.halShmemInfoGet(key, ctypes.byref(info)), "halShmemInfoGet", repr(key))
        return int(info.phyDevid)

    def link_of(self, key: bytes) -> int | None:
        """Return the kind of link to the device that has the memory of a key; None when it is this device."""
        own, kind, exporter = ctypes.c_uint32(0), ctypes.c_int64(0), self.exporter(key)
        rc = self.hal.drvDeviceGetPhyIdByIndex(self.device_id, ctypes.byref(own))
        self.check(rc, "drvDeviceGetPhyIdByIndex")
        if own.value == exporter:
            return None
        rc = self.hal.halGetPairPhyDevicesInfo(own.value, exporter, c.DEVS_INFO_TYPE_TOPOLOGY, ctypes.byref(kind))
        self.check(rc, "halGetPairPhyDevicesInfo", f"physical devices {own.value} and {exporter}")
        return kind.value

    def bare_pid(self) -> int:
        """Return this process's id as the driver knows it: the thread group outside of any container.

        Raises:
            RuntimeFault 507899: the driver cannot tell.
        """
        number = int(self.hal.drvDeviceGetBareTgid())
        if number < 0:
            raise errors.fault(
                "ACL_ERROR_RT_DRV_INTERNAL_ERROR", f"drvDeviceGetBareTgid answered {number}, which is no process",
                hint="look at /dev/davinci_manager with `npuhal doctor`",
            )
        return number

    # -- host memory for devices -----------------------------------------------------------------------------------

    def register(self, address: int, size: int, flag: int) -> int:
        """Register host memory and return its device address; `flag` is a drvRegisterTpye with MEM_REGISTER_* bits."""
        where = ctypes.c_void_p(0)
        rc = self.hal.halHostRegister(address, size, flag, self.device_id, ctypes.byref(where))
        self.check(rc, "halHostRegister", f"{size} bytes at {address:#x}, flag {flag:#x}")
        return where.value or 0

    def unregister(self, address: int, flag: int) -> None:
        """Undo `register`; `flag` is the one it was registered with."""
        rc = self.hal.halHostUnregisterEx(address, self.device_id, flag)
        self.check(rc, "halHostUnregisterEx", f"address {address:#x}")

    def device_pointer(self, address: int) -> int | None:
        """Return the device address of registered memory; None where the driver does not tell at all.

        Raises InvalidArgument for an address that it does not know.
        """
        where = ctypes.c_void_p(0)
        rc = self.hal.halMemHostGetDevPointer(address, self.device_id, ctypes.byref(where))
        if rc == c.DRV_ERROR_NOT_SUPPORT:
            return None
        self.check(rc, "halMemHostGetDevPointer", f"address {address:#x}")
        return where.value or 0

    def reachable(self, engine: int) -> bool:
        """Return whether an engine (drvAccModuleType) can use registered host memory."""
        value = ctypes.c_uint32(0)
        rc = self.hal.halHostRegisterCapabilities(self.device_id, engine, ctypes.byref(value))
        self.check(rc, "halHostRegisterCapabilities", f"engine {engine}")
        return value.value == c.HOST_MEM_MAP_SUPPORTED
