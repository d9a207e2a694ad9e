"""Opening and closing devices, counting them, and translating between the kinds of device id."""

TABLE = """
from ascend_hal_base.h
halDeviceOpen(devid: u32, in: halDevOpenIn*, out: out halDevOpenOut*) -> drvError_t
halDeviceClose(devid: u32, in: halDevCloseIn*) -> drvError_t
drvDeviceOpen(devInfo: out void**, devId: u32) -> drvError_t
drvDeviceClose(devId: u32) -> drvError_t
drvMemDeviceOpen(devid: u32, devfd: i32) -> i32
drvMemDeviceClose(devid: u32) -> i32
drvGetDevNum(num_dev: out u32*) -> drvError_t
drvGetDevIDs(devices: out u32*, len: u32) -> drvError_t
halGetDevNumEx(hw_type: u32, devNum: inout u32*) -> drvError_t
halGetDevIDsEx(hw_type: u32, devices: out u32*, len: u32) -> drvError_t
halGetVdevNum(num_dev: out u32*) -> drvError_t
halGetVdevIDs(devices: out u32*, len: u32) -> drvError_t
drvDeviceGetPhyIdByIndex(devIndex: u32, phyId: out u32*) -> drvError_t
drvDeviceGetIndexByPhyId(phyId: u32, devIndex: out u32*) -> drvError_t
drvGetPlatformInfo(info: out u32*) -> drvError_t
drvDeviceStatus(devId: u32, status: out drvStatus_t*) -> drvError_t
drvGetDevIDByLocalDevID(localDevId: u32, devId: out u32*) -> drvError_t
drvGetLocalDevIDByHostDevID(host_dev_id: u32, local_dev_id: out u32*) -> drvError_t
drvGetDeviceLocalIDs(devices: out u32*, len: u32) -> drvError_t
halGetHostID(host_id: out u32*) -> drvError_t
halGetDevProbeList(devices: out u32*, len: u32) -> drvError_t

struct hal_dev_open_in halDevOpenIn { reserve: u64[8] }
struct hal_dev_open_out halDevOpenOut { reserve: u64[8] }
struct hal_dev_close_in halDevCloseIn { close_type: u32, reserve0: u32, reserve: u64[7] }
struct drvDevInfo { fd: i32 }
struct tag_state_info devdrv_state_info_t { state: devdrv_state_t, devId: u32 }

enum tagDrvStatus drvStatus_t {
    DRV_STATUS_INITING, DRV_STATUS_WORK, DRV_STATUS_EXCEPTION, DRV_STATUS_SLEEP, DRV_STATUS_COMMUNICATION_LOST,
    DRV_STATUS_RESERVED
}
enum devdrv_cmd_type_t {
    CMD_TYPE_POWERON, CMD_TYPE_POWEROFF, CMD_TYPE_CM_ALLOC, CMD_TYPE_CM_FREE, CMD_TYPE_SC_FREE, CMD_TYPE_MAX
}
enum devdrv_callback_state_t { DRVDEV_CALL_BACK_SUCCESS, DRVDEV_CALL_BACK_FAILED }
enum devdrv_state_t {
    GO_TO_SO, GO_TO_SUSPEND, GO_TO_S3, GO_TO_S4, GO_TO_D0, GO_TO_D3, GO_TO_DISABLE_DEV, GO_TO_ENABLE_DEV,
    GO_TO_STATE_MAX
}
enum DEV_CLOSE_TYPE { DEV_CLOSE_HOST_DEVICE, DEV_CLOSE_ONLY_HOST, DEV_CLOSE_HOST_USER, DEV_CLOSE_TYPE_MAX }
enum HAL_DMS_DEVICE_NODE_TYPE {
    HAL_DMS_DEV_TYPE_BASE_SERVCIE = 0x600, HAL_DMS_DEV_TYPE_PROC_MGR, HAL_DMS_DEV_TYPE_IAMMGR,
    HAL_DMS_DEV_TYPE_PROC_LAUNCHER, HAL_DMS_DEV_TYPE_ADDA, HAL_DMS_DEV_TYPE_DMP_DAEMON, HAL_DMS_DEV_TYPE_SKLOGD,
    HAL_DMS_DEV_TYPE_SLOGD, HAL_DMS_DEV_TYPE_LOG_DAEMON, HAL_DMS_DEV_TYPE_HDCD, HAL_DMS_DEV_TYPE_AICPU_SCH = 1547,
    HAL_DMS_DEV_TYPE_QUEUE_SCH, HAL_DMS_DEV_TYPE_AICPU_CUST_SCH = 1550, HAL_DMS_DEV_TYPE_HCCP,
    HAL_DMS_DEV_TYPE_TSD_DAEMON, HAL_DMS_DEV_TYPE_TIMER_SERVER = 1558, HAL_DMS_DEV_TYPE_OS_LINUX,
    HAL_DMS_DEV_TYPE_DATA_MASTER = 1561, HAL_DMS_DEV_TYPE_CFG_MGR, HAL_DMS_DEV_TYPE_DATA_GW = 1565,
    HAL_DMS_DEV_TYPE_RESMGR = 1571, HAL_DMS_DEV_TYPE_MAMI_DEV_CTRL, HAL_DMS_DEV_TYPE_DRV_KERNEL,
    HAL_DMS_DEV_TYPE_UBCFGLITE, HAL_DMS_DEV_TYPE_MAX
}

from ascend_hal*.h
macros { DEV_NUM = 64 }
"""
