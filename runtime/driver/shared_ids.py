"""Ids under names that other processes can open (ascend_hal_base.h: halShrId*, struct drvShrIdInfo)."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime.driver.calls import HalCalls
from runtime.driver.resource_table import ResourceTable

if TYPE_CHECKING:
    from npuhal import HalApi

NAME_BYTES = 65
"""Space for a name with its final zero."""


@dataclass(frozen=True, slots=True)
class SharedId:
    """What is behind a name: the owner's logic device id, and the id there."""

    device_id: int
    number: int


class SharedIdDriver(HalCalls):
    """Names for the notify ids of one device."""

    __slots__ = ("resource_table",)

    def __init__(self, hal: HalApi, device_id: int, resource_table: ResourceTable | None = None) -> None:
        super().__init__(hal, device_id)
        self.resource_table = resource_table or ResourceTable()

    def export(self, notify_id: int) -> bytes:
        """Return a new name for a notify id, at most 64 bytes."""
        info: Any = s.drvShrIdInfo()
        info.devid, info.tsid, info.id_type, info.shrid = self.device_id, 0, c.SHR_ID_NOTIFY_TYPE, notify_id
        name = ctypes.create_string_buffer(NAME_BYTES)
        rc = self.hal.halShrIdCreate(ctypes.byref(info), ctypes.addressof(name), NAME_BYTES)
        self.check(rc, "halShrIdCreate", f"notify id {notify_id}")
        return name.value

    def withdraw(self, name: bytes) -> None:
        """Forget a name; who has it open keeps the id."""
        self.give_back(
            self.resource_table, partial(self.hal.halShrIdDestroy, name), partial(self.withdraw, name),
            "halShrIdDestroy", repr(name),
        )

    def allow(self, name: bytes, pid: int) -> None:
        """Let a process open a name."""
        value = ctypes.c_int32(pid)
        rc = self.hal.halShrIdSetPid(name, ctypes.byref(value), 1)
        self.check(rc, "halShrIdSetPid", f"{name!r}, pid {pid}")

    def allow_server(self, name: bytes, server: int, pid: int) -> None:
        """Let a process of another server of the super-pod open a name."""
        self.check(self.hal.halShrIdSetPodPid(name, server, pid), "halShrIdSetPodPid", f"{name!r}, pid {pid}")

    def allow_all(self, name: bytes) -> None:
        """Let every process open a name."""
        attribute: Any = s.shrIdAttr()
        attribute.enableFlag = c.SHRID_NO_WLIST_ENABLE
        rc = self.hal.halShrIdSetAttribute(name, c.SHR_ID_ATTR_NO_WLIST_IN_SERVER, attribute)
        self.check(rc, "halShrIdSetAttribute", repr(name))

    def open(self, name: bytes, own: int) -> SharedId:
        """Return what is behind a name, and let this device, whose physical id is `own`, set the flag of another one.

        Raises:
            RuntimeFault: a wrong name, or one that this process may not open; or the device cannot reach the other one.
        """
        info: Any = s.drvShrIdInfo()
        rc = self.hal.halShrIdOpen(name, ctypes.byref(info))
        self.check(rc, "halShrIdOpen", repr(name))
        index = ctypes.c_uint32()
        try:
            self._reach(own, info.devid)
            rc = self.hal.drvDeviceGetIndexByPhyId(info.devid, ctypes.byref(index))
            self.check(rc, "drvDeviceGetIndexByPhyId", f"the owner of {name!r} is physical card {info.devid}")
        except BaseException:
            self.close(name)
            raise
        return SharedId(index.value, int(info.shrid))

    def _reach(self, own: int, owner: int) -> None:
        """Let a card set notifies of another one, both by physical ids, where the driver wants to be asked for it."""
        if own != owner and self.hal.has("halDeviceEnableP2PNotify"):
            rc = self.hal.halDeviceEnableP2PNotify(own, owner, 0)
            self.check(rc, "halDeviceEnableP2PNotify", f"physical cards {own} and {owner}")

    def register(self, own: int, owner: int, number: int) -> int:
        """Return the address at which entries of this device reach the register of a notify.

        Args:
            own, owner: physical ids of this device and of the one that the notify belongs to.

        Raises:
            RuntimeFault: the driver does not map it.
        """
        remote = c.TSDRV_RES_REMOTE_ID if own != owner else 0
        private: Any = s.trs_res_map_priv(flag=remote, local_devid=self.device_id, remote_devid=owner)
        asked: Any = s.res_map_info_in(
            target_proc_type=c.PROCESS_CP1, res_type=c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD, res_id=number,
            priv_len=ctypes.sizeof(private), priv=ctypes.addressof(private),
        )  # fmt: skip
        out: Any = s.res_map_info_out()
        rc = self.hal.halResAddrMapV2(self.device_id, ctypes.byref(asked), ctypes.byref(out))
        self.check(rc, "halResAddrMapV2", f"notify {number} of physical card {owner}")
        return int(out.va)

    def close(self, name: bytes) -> None:
        """Undo `open`."""
        self.give_back(
            self.resource_table, partial(self.hal.halShrIdClose, name), partial(self.close, name), "halShrIdClose",
            repr(name),
        )
