"""HAL chapter "p2p": which cards reach each other's memory, and how they are linked (hal_semantics 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.url.options import FakeOptions

_LINKS = {"HCCS": 0, "PIX": 1, "PIB": 2, "PHB": 3, "SYS": 4, "SIO": 5, "HCCS_SW": 6, "UB": 7}
_CARDS_PER_GROUP = 4


def link(one: int, other: int, options: FakeOptions) -> str:
    """Return how two cards are linked (see `FakeOptions.topology`); "mixed" goes over the host beyond four cards."""
    if options.args == "ub":
        return "UB"
    if options.topology == "pcie":
        return "PHB"
    if options.topology == "hccs":
        return "HCCS"
    if one // 2 == other // 2:
        return "SIO"
    if options.topology == "switch":
        return "HCCS_SW"
    return "HCCS" if one // _CARDS_PER_GROUP == other // _CARDS_PER_GROUP else "SYS"


class PeerCalls(Chapter):
    """Functions of ascend_hal_base.h about pairs of cards. Peers are named by physical id where the header says so."""

    def _physical(self, number: int) -> int | None:
        return next((d.index for d in self.machine.devices if d.identity.physical == number), None)

    def halDeviceEnableP2P(self, dev: int, peer_dev: int, _flag: int) -> int:
        """Let `dev` reach the memory of the card with the physical id `peer_dev`; counted."""
        device, peer = self.device(dev), self._physical(peer_dev)
        if device is None or peer is None or peer == dev:
            return c.DRV_ERROR_INVALID_DEVICE
        device.peers[peer] = device.peers.get(peer, 0) + 1
        return 0

    def halDeviceDisableP2P(self, dev: int, peer_dev: int, _flag: int) -> int:
        """Take one permission back."""
        device, peer = self.device(dev), self._physical(peer_dev)
        if device is None or peer is None or peer == dev:
            return c.DRV_ERROR_INVALID_DEVICE
        if not device.peers.get(peer):
            return c.DRV_ERROR_INVALID_VALUE
        device.peers[peer] -= 1
        return 0

    def halDeviceEnableP2PNotify(self, dev: int, peer_dev: int, _flag: int) -> int:
        """Let one card set notifies of another, both by physical ids: cards that are linked can from the start."""
        one, two = self._physical(dev), self._physical(peer_dev)
        return c.DRV_ERROR_INVALID_DEVICE if one is None or two is None or one == two else 0

    def halDeviceDisableP2PNotify(self, dev: int, peer_dev: int, flag: int) -> int:
        """Undo halDeviceEnableP2PNotify."""
        return self.halDeviceEnableP2PNotify(dev, peer_dev, flag)

    def halDeviceCanAccessPeer(self, can: Any, dev: int, peer_dev: int) -> int:
        """Say whether two cards could reach each other: any two different ones can, unless PCIe joins them."""
        if can is None:
            return c.DRV_ERROR_INVALID_HANDLE
        if self.device(dev) is None or self._physical(peer_dev) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        can.value = int(self._physical(peer_dev) != dev and self.machine.options.topology != "pcie")
        return 0

    def drvGetP2PStatus(self, dev: int, peer_dev: int, status: Any) -> int:
        """Say whether P2P is enabled from `dev` to the card with the physical id `peer_dev`; off on any problem."""
        if status is None:
            return c.DRV_ERROR_INVALID_HANDLE
        device, peer = self.device(dev), self._physical(peer_dev)
        status.value = int(device is not None and peer is not None and device.peers.get(peer, 0) > 0)
        return 0

    def halGetPairDevicesInfo(self, dev: int, other: int, info: int, value: Any) -> int:
        """Return the kind of link between two cards."""
        if self.device(dev) is None or self.device(other) is None or info != c.DEVS_INFO_TYPE_TOPOLOGY or value is None:
            return c.DRV_ERROR_INVALID_VALUE
        value.value = _LINKS[link(dev, other, self.machine.options)]
        return 0

    def halGetPairPhyDevicesInfo(self, dev: int, other: int, info: int, value: Any) -> int:
        """Return the kind of link between two cards by physical ids."""
        if value is not None and info != c.DEVS_INFO_TYPE_TOPOLOGY:
            return c.DRV_ERROR_NOT_SUPPORT
        one, two = self._physical(dev), self._physical(other)
        if one is None or two is None:
            return c.DRV_ERROR_INVALID_VALUE
        return self.halGetPairDevicesInfo(one, two, info, value)
