"""Access between devices and the links between them."""

TABLE = """
from ascend_hal_base.h
halDeviceEnableP2P(dev: u32, peer_dev: u32, flag: u32) -> drvError_t
halDeviceDisableP2P(dev: u32, peer_dev: u32, flag: u32) -> drvError_t
halDeviceCanAccessPeer(can_access_peer: out i32*, dev: u32, peer_dev: u32) -> drvError_t
halDeviceEnableP2PNotify(phy_dev: u32, peer_phy_dev: u32, flag: u32) -> drvError_t
halDeviceDisableP2PNotify(phy_dev: u32, peer_phy_dev: u32, flag: u32) -> drvError_t
drvGetP2PStatus(dev: u32, peer_dev: u32, status: inout u32*) -> drvError_t
halGetPairDevicesInfo(devId: u32, otherDevId: u32, infoType: i32, value: out i64*) -> drvError_t
halGetPairPhyDevicesInfo(devId: u32, otherDevId: u32, infoType: i32, value: out i64*) -> drvError_t

from ascend_hal*.h
macros {
    DRV_P2P_STATUS_DISABLE = 0, DRV_P2P_STATUS_ENABLE = 1, TOPOLOGY_HCCS = 0, TOPOLOGY_HCCS_SW = 6,
    TOPOLOGY_PHB = 3, TOPOLOGY_PIB = 2, TOPOLOGY_PIX = 1, TOPOLOGY_SIO = 5, TOPOLOGY_SYS = 4, TOPOLOGY_UB = 7
}
"""
