"""Ways to put kernel arguments on the device without a copy call: windows over the PCIe BAR, and UB segments."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any

from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls
from runtime.driver.resource_table import ResourceTable

if TYPE_CHECKING:
    from npuhal import HalApi


class WindowDriver(HalCalls):
    """halHostRegister for device memory, and halSqTaskArgsAsyncCopy with the segments that it names."""

    __slots__ = ("resource_table",)

    def __init__(self, hal: HalApi, device_id: int, resource_table: ResourceTable | None = None) -> None:
        super().__init__(hal, device_id)
        self.resource_table = resource_table or ResourceTable()

    def open(self, address: int, size: int) -> int:
        """Let the host store to P2P device memory; return the address at which it does."""
        where = ctypes.c_void_p(0)
        rc = self.hal.halHostRegister(address, size, c.DEV_SVM_MAP_HOST, self.device_id, ctypes.byref(where))
        self.check(rc, "halHostRegister", f"{size} bytes at {address:#x}, DEV_SVM_MAP_HOST")
        return where.value or address

    def close(self, address: int) -> None:
        """Undo `open`."""
        self.give_back(
            self.resource_table, partial(self.hal.halHostUnregister, address, self.device_id),
            partial(self.close, address), "halHostUnregister", f"{address:#x}",
        )

    @property
    def copies_over_ub(self) -> bool:
        """Whether the driver can copy arguments over UB."""
        return all(map(self.hal.has, ("halGetTsegInfoByVa", "halPutTsegInfo", "halSqTaskArgsAsyncCopy")))

    def segment(self, address: int, size: int, *, host: bool) -> Any:
        """Return the UB segment of a block (struct halTsegInfo); give it back with `release`."""
        info = s.halTsegInfo()
        self.renew(info, address, size, host=host)
        return info

    def renew(self, segment: Any, address: int, size: int, *, host: bool) -> None:
        """Find the segment of a block again after the device was opened again."""
        rc = self.hal.halGetTsegInfoByVa(self.device_id, address, size, int(host), ctypes.byref(segment))
        self.check(rc, "halGetTsegInfoByVa", f"{size} bytes at {address:#x}")

    def release(self, segment: Any) -> None:
        """Give a segment back."""
        self.give_back(
            self.resource_table, partial(self.hal.halPutTsegInfo, self.device_id, ctypes.byref(segment)),
            partial(self.release, segment), "halPutTsegInfo", f"segment at {ctypes.addressof(segment):#x}",
        )

    def ub_copy(self, src: int, dst: int, source: Any, target: Any) -> Any:
        """Describe a copy from host to device memory (struct halSqTaskArgsInfo); queue and size are the launch's.

        The segments have to outlive it.
        """
        return s.halSqTaskArgsInfo(
            type=c.DRV_NORMAL_TYPE, src=src, dst=dst, srcTsegInfo=ctypes.addressof(source),
            dstTsegInfo=ctypes.addressof(target),
        )
