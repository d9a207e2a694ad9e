"""How host processes and device processes belong together."""

TABLE = """
from ascend_hal_base.h
drvDeviceGetBareTgid() -> i32
drvGetProcessSign(sign: out process_sign*) -> drvError_t
drvBindHostPid(info: drvBindHostpidInfo) -> drvError_t
drvUnbindHostPid(info: drvBindHostpidInfo) -> drvError_t
drvQueryProcessHostPid(pid: i32, chip_id: u32*, vfid: u32*, host_pid: u32*, cp_type: u32*) -> drvError_t
halQueryDevpid(info: halQueryDevpidInfo, dev_pid: out i32*) -> drvError_t
halCheckProcessStatus(
        device: u32, process_type: processType_t, status: processStatus_t, is_matched: out bool*
) -> drvError_t
halCheckProcessStatusEx(
        device: u32, process_type: processType_t, status: processStatus_t, out: out drv_process_status_output*
) -> drvError_t
halDrvEventThreadInit(devId: u32) -> drvError_t
halDrvEventThreadUninit(devId: u32) -> drvError_t
halGetCurrentThreadNumaNode() -> i32

from ascend_hal_external.h
halCentreNotifyGet(index: i32, value: inout i32*) -> drvError_t
halCentreNotifySet(index: i32, value: i32) -> drvError_t

from ascend_hal_base.h
struct process_sign { tgid: i32, sign: char[49], resv: char[4] }
struct drvBindHostpidInfo {
    host_pid: i32, vfid: u32, chip_id: u32, mode: i32, cp_type: devdrv_process_type, len: u32, sign: char[49]
}
struct halQueryDevpidInfo { hostpid: i32, devid: u32, vfid: u32, proc_type: devdrv_process_type, resv: char[8] }
struct drv_process_status_output { result: u32, reserve: u32[8] }

from hal_pkg/common_pkg.h
enum tagProcStatus processStatus_t {
    STATUS_NOMEM = 1, STATUS_SVM_PAGE_FALUT_ERR_OCCUR, STATUS_SVM_PAGE_FALUT_ERR_CNT, STATUS_MAX
}
enum tagProcType processType_t {
    PROCESS_CP1, PROCESS_CP2, PROCESS_DEV_ONLY, PROCESS_QS, PROCESS_HCCP, PROCESS_USER, PROCESS_CPTYPE_MAX
}

from hal_pkg/dpa_pkg.h
enum BIND_CGROUP_TYPE { BIND_AICPU_CGROUP, BIND_DATACPU_CGROUP, BIND_COMCPU_CGROUP, BIND_CGROUP_MAX_TYPE }

from ascend_hal_define.h
enum devdrv_process_type {
    DEVDRV_PROCESS_CP1, DEVDRV_PROCESS_CP2, DEVDRV_PROCESS_DEV_ONLY, DEVDRV_PROCESS_QS, DEVDRV_PROCESS_HCCP,
    DEVDRV_PROCESS_USER, DEVDRV_PROCESS_CPTYPE_MAX
}

from ascend_hal*.h
macros {
    HAL_BIND_ALL_DEVICE = 0xffffffff, HAL_QUERY_RESV_LENGTH = 8, PROCESS_RESV_LENGTH = 4, PROCESS_SIGN_LENGTH = 49
}
"""
