"""Fault events and repair."""

TABLE = """
from ascend_hal_base.h
halGetFaultEvent(
        devId: u32, filter: halEventFilter*, eventInfo: out halFaultEventInfo*, len: u32, eventCount: out u32*
) -> drvError_t
halReadFaultEvent(
        devId: i32, timeout: i32, filter: halEventFilter*, eventInfo: out halFaultEventInfo*
) -> drvError_t
halSubscribeFaultEvent(device_id: i32, filter: halEventFilter, handler: halfaulteventcb) -> drvError_t
halRepairFault(devid: u32, info: halRepairFaultInfo*) -> drvError_t

struct halEventFilter { filter_flag: u64, event_id: u32, severity: u8, node_type: u16, resv: u8[32] }
struct halFaultEventInfo {
    alarm_raised_time: u64, event_id: u32, tgid: i32, event_serial_num: i32, notify_serial_num: i32, deviceid: u16,
    node_type: u16, sub_node_type: u16, node_id: u8, sub_node_id: u8, severity: u8, assertion: u8,
    event_name: char[256], additional_info: char[32], os_id: u8, resv: u8[32]
}
struct hal_repair_fault_info halRepairFaultInfo { fault_type: halRepairFaultType, payload_size: u32, payload: u8* }
struct hal_fault_occurr_syscnt HAL_FAULT_OCCUR_SYSCNT_STRU { reserved: u32, event_id: u32, sys_cnt: u64 }
struct hal_fault_event_resume { event_id: u32, node_type: u16, node_id: u8, resv: u8[9] }

enum halRepairFaultType { HAL_REPAIR_FAULT_TYPE_UBMEM = 5, HAL_REPAIR_FAULT_TYPE_MAX }
enum HAL_DMS_SENSOR_TYPE_T { HAL_DMS_SEN_TYPE_HEARTBEAT = 39, HAL_DMS_SEN_TYPE_GENERAL_SOFTWARE_FAULT = 208 }
enum HAL_HEARTBEAT_ERROR_T {
    HAL_HEARTBEAT_ERROR_TYPE_LOST, HAL_HEARTBEAT_ERROR_TYPE_LOST2, HAL_HEARTBEAT_ERROR_TYPE_RECOVER,
    HAL_HEARTBEAT_ERROR_TYPE_ERR_TYPE_MAX
}
enum HAL_GENERAL_SOFTWARE_FAULT_ERR_TYPE_T {
    HAL_GENERAL_SOFTWARE_FAULT_PROCESS_START_FAILED_OR_EXIT, HAL_GENERAL_SOFTWARE_FAULT_MEMORY_OVER_LIMIT,
    HAL_GENERAL_SOFTWARE_FAULT_NORMAL_RESOURCE_RECYCLE_FAILED = 5,
    HAL_GENERAL_SOFTWARE_FAULT_CRITICAL_RESOURCE_RECYCLE_FAILED, HAL_GENERAL_SOFTWARE_FAULT_ERR_TYPE_MAX
}
enum halGeneralEventType_t {
    GENERAL_EVENT_TYPE_RESUME, GENERAL_EVENT_TYPE_OCCUR, GENERAL_EVENT_TYPE_ONE_TIME, GENERAL_EVENT_TYPE_MAX
}

from ascend_hal*.h
macros {
    HAL_EVENT_FILTER_FLAG_EVENT_ID = 1, HAL_EVENT_FILTER_FLAG_HOST_PID = 8, HAL_EVENT_FILTER_FLAG_NODE_TYPE = 4,
    HAL_EVENT_FILTER_FLAG_SERVERITY = 2, HAL_MAX_EVENT_DATA_LENGTH = 32, HAL_MAX_EVENT_NAME_LENGTH = 0x100,
    HAL_MAX_EVENT_RESV_LENGTH = 32
}

from ascend_hal_base.h
halGetNotifyEvent @7.36.25(
        devId: u32, filter: halEventFilter*, eventInfo: out halFaultEventInfo*, len: u32, eventCount: out u32*
) -> drvError_t
callback halfaulteventcb(info: halFaultEventInfo*) -> void
"""
