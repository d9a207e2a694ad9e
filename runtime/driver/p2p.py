"""Pairs of devices: who reaches whose memory, and over which link (ascend_hal_base.h, P2P)."""

from __future__ import annotations

import ctypes

from npuhal import constants as c
from runtime.driver.calls import HalCalls


class PeerDriver(HalCalls):
    """The P2P chapter of the HAL, seen from one device. Peers are named by physical id."""

    def can_access(self, peer: int) -> bool:
        """Return whether the device could reach the peer's memory."""
        value = ctypes.c_int32(0)
        rc = self.hal.halDeviceCanAccessPeer(ctypes.byref(value), self.device_id, peer)
        self.check(rc, "halDeviceCanAccessPeer", f"device {self.device_id}, physical peer {peer}")
        return bool(value.value)

    def enable(self, peer: int) -> None:
        """Let the device reach the peer's memory; the driver counts, and the way back needs a call of its own."""
        rc = self.hal.halDeviceEnableP2P(self.device_id, peer, 0)
        self.check(rc, "halDeviceEnableP2P", f"device {self.device_id}, physical peer {peer}")

    def disable(self, peer: int) -> None:
        """Take one `enable` back."""
        rc = self.hal.halDeviceDisableP2P(self.device_id, peer, 0)
        self.check(rc, "halDeviceDisableP2P", f"device {self.device_id}, physical peer {peer}")

    def enabled(self, peer: int) -> bool:
        """Return whether the device may reach the peer's memory now."""
        value = ctypes.c_uint32(0)
        self.check(self.hal.drvGetP2PStatus(self.device_id, peer, ctypes.byref(value)), "drvGetP2PStatus")
        return value.value == c.DRV_P2P_STATUS_ENABLE

    def reach(self, peer: int, *, own: int) -> None:
        """Let the device reach the peer's memory unless it does so already; `own` is the device's physical id."""
        if peer != own and not self.enabled(peer):
            self.enable(peer)

    def link(self, other: int) -> int:
        """Return the link to another logic device: HCCS 0, PIX 1, PIB 2, PHB 3, SYS 4, SIO 5, HCCS_SW 6, UB 7."""
        value = ctypes.c_int64(0)
        rc = self.hal.halGetPairDevicesInfo(self.device_id, other, c.DEVS_INFO_TYPE_TOPOLOGY, ctypes.byref(value))
        self.check(rc, "halGetPairDevicesInfo", f"devices {self.device_id} and {other}")
        return value.value
