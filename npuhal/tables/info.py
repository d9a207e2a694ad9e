"""What a device says about itself: module/info queries, SoC and chip names, capabilities, versions, settings."""

TABLE = """
from ascend_hal_base.h
halGetDeviceInfo(devId: u32, moduleType: i32, infoType: i32, value: out i64*) -> drvError_t
halGetPhyDeviceInfo(phyId: u32, moduleType: i32, infoType: i32, value: out i64*) -> drvError_t
halGetDeviceInfoByBuff(devId: u32, moduleType: i32, infoType: i32, buf: inout void*, size: inout i32*) -> drvError_t
halSetDeviceInfoByBuff(devId: u32, moduleType: i32, infoType: i32, buf: void*, size: i32) -> drvError_t
halGetSocVersion(devId: u32, socVersion: out char*, len: u32) -> drvError_t
halGetChipInfo(devId: u32, chipInfo: out halChipInfo*) -> drvError_t
halGetChipCount(chip_count: out i32*) -> drvError_t
halGetChipList(chip_list: i32*, count: i32) -> drvError_t
halGetChipFromDevice(device_id: i32, chip_id: inout i32*) -> drvError_t
halGetDeviceCountFromChip(chip_id: i32, device_count: out i32*) -> drvError_t
halGetDeviceFromChip(chip_id: i32, device_list: i32*, count: i32) -> drvError_t
halParseSDID(sdid: u32, sdid_parse: out halSDIDParseInfo*) -> drvError_t
halGetDeviceSplitMode(dev_id: u32, mode: out u32*) -> drvError_t
halGetAPIVersion(halAPIVersion: out i32*) -> drvError_t
halSetRuntimeApiVer(Version: i32) -> void
halSupportFeature(devId: u32, type: drvFeature_t) -> bool
halGetChipCapability(devId: u32, info: out halCapabilityInfo*) -> drvError_t
halGetCapabilityGroupInfo(
        device_id: i32, ts_id: i32, group_id: i32, group_info: inout capability_group_info*, group_count: i32
) -> drvError_t
halMapErrorCode(code: drvError_t) -> i32
halGetUserConfig(devId: u32, name: char*, buf: out u8*, bufSize: out u32*) -> i32
halSetUserConfig(devId: u32, name: char*, buf: u8*, bufSize: u32) -> i32
halCtl(
        cmd: i32, param_value: void*, param_value_size: u64, out_value: out void*, out_size_ret: inout u64*
) -> drvError_t
halGetDeviceVfMax(devId: u32, vf_max_num: out u32*) -> i32
halGetDeviceVfList(devId: u32, vf_list: out u32*, list_len: u32, vf_num: out u32*) -> i32

struct hal_chip_info halChipInfo { type: u8[32], name: u8[32], version: u8[32] }
struct halSDIDParseInfo { server_id: u32, chip_id: u32, die_id: u32, udevid: u32, reserve: u32[8] }
struct halCapabilityInfo {
    sdma_reduce_support: u32, memory_support: u32, ts_group_number: u32, sdma_reduce_kind: u32, res: u32[30]
}
struct capability_group_info {
    group_id: u32, state: u32, extend_attribute: u32, aicore_number: u32, aivector_number: u32, sdma_number: u32,
    aicpu_number: u32, active_sq_number: u32, aicore_mask: u32[2], vfid: u32, poolid: u32, poolid_max: u32,
    res: u32[3]
}
struct halSingleCpuTopologyInfo { cpu_mask: u64, cpu_id: u8, is_share: u8, phy_cpu_id: u8, hyperthread_id: u8 }
struct halCpuTopologyInfo { total_nums: u32, single_cpu_topo_info: halSingleCpuTopologyInfo[64] }
struct HAL_CC_MODE { cc_mode: hal_cc_mode_type, crypto_mode: hal_crypto_mode_type, resv: u32[8] }
struct HAL_CC_INFO { cc_running_info: HAL_CC_MODE, cc_cfg_info: HAL_CC_MODE }
struct hal_ub_status { ub_link_status: hal_entire_ub_status, ub_port_status: hal_ub_port_status[36] }

from ascend_hal_define.h
enum halCtlCmdType {
    HAL_CTL_REGISTER_LOG_OUT_HANDLE = 1, HAL_CTL_UNREGISTER_LOG_OUT_HANDLE, HAL_CTL_REGISTER_RUN_LOG_OUT_HANDLE,
    HAL_CTL_CMD_MAX
}
enum tagDrvFeature drvFeature_t {
    FEATURE_TRSDRV_SQ_DEVICE_MEM_PRIORITY, FEATURE_PROF_AICPU_CHAN, FEATURE_SVM_GET_USER_MALLOC_ATTR,
    FEATURE_MEMCPY_BATCH_ASYNC, FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND, FEATURE_HOST_PIN_REGISTER_SUPPORT_UVA,
    FEATURE_SVM_VMM_NORMAL_GRANULARITY, FEATURE_TRSDRV_IS_SQ_SUPPORT_DYNAMIC_BIND_VERSION, FEATURE_SVM_MEM_HOST_UVA,
    FEATURE_DMS_GET_QOS_MASTER_CONFIG, FEATURE_DMS_QUERY_CHIP_DIE_ID, FEATURE_SVM_MEM_REGISTER_QUERY_AND_GET_ATTR,
    FEATURE_APM_RES_MAP_REMOTE, FEATURE_MAX
}
enum PSM_STATUS { PSM_STATUS_WORK, PSM_STATUS_NO_WORK, PSM_STATUS_MAX }

from ascend_hal_base.h
enum DEV_MODULE_TYPE {
    MODULE_TYPE_SYSTEM, MODULE_TYPE_AICPU, MODULE_TYPE_CCPU, MODULE_TYPE_DCPU, MODULE_TYPE_AICORE,
    MODULE_TYPE_TSCPU, MODULE_TYPE_PCIE, MODULE_TYPE_VECTOR_CORE, MODULE_TYPE_HOST_AICPU, MODULE_TYPE_QOS,
    MODULE_TYPE_MEMORY, MODULE_TYPE_LOG, MODULE_TYPE_LP, MODULE_TYPE_L2BUFF, MODULE_TYPE_CC, MODULE_TYPE_UB,
    MODULE_TYPE_HCOM_CPU, MODULE_TYPE_COMPUTING = 0x8000
}
enum DEV_INFO_TYPE {
    INFO_TYPE_ENV, INFO_TYPE_VERSION, INFO_TYPE_MASTERID, INFO_TYPE_CORE_NUM, INFO_TYPE_FREQUE, INFO_TYPE_OS_SCHED,
    INFO_TYPE_IN_USED, INFO_TYPE_ERROR_MAP, INFO_TYPE_OCCUPY, INFO_TYPE_ID, INFO_TYPE_IP, INFO_TYPE_ENDIAN,
    INFO_TYPE_P2P_CAPABILITY, INFO_TYPE_SYS_COUNT, INFO_TYPE_MONOTONIC_RAW, INFO_TYPE_CORE_NUM_LEVEL,
    INFO_TYPE_FREQUE_LEVEL, INFO_TYPE_FFTS_TYPE, INFO_TYPE_PHY_CHIP_ID, INFO_TYPE_PHY_DIE_ID, INFO_TYPE_PF_CORE_NUM,
    INFO_TYPE_PF_OCCUPY, INFO_TYPE_WORK_MODE, INFO_TYPE_UTILIZATION, INFO_TYPE_HOST_OSC_FREQUE,
    INFO_TYPE_DEV_OSC_FREQUE, INFO_TYPE_SDID, INFO_TYPE_SERVER_ID, INFO_TYPE_SCALE_TYPE, INFO_TYPE_SUPER_POD_ID,
    INFO_TYPE_ADDR_MODE, INFO_TYPE_RUN_MACH, INFO_TYPE_CURRENT_FREQ, INFO_TYPE_CONFIG, INFO_TYPE_UCE_VA,
    INFO_TYPE_HOST_KERN_LOG, INFO_TYPE_LP_AIC, INFO_TYPE_LP_BUS, INFO_TYPE_LP_FREQ_VOLT, INFO_TYPE_MAINBOARD_ID,
    INFO_TYPE_HD_CONNECT_TYPE, INFO_TYPE_DIE_NUM, INFO_TYPE_CC, INFO_TYPE_L2BUFF_RESUME,
    INFO_TYPE_L2BUFF_RESUME_CNT, INFO_TYPE_SDK_EX_VERSION, INFO_TYPE_CUST_OP_ENHANCE, INFO_TYPE_PRODUCT_TYPE,
    INFO_TYPE_CHASSIS_ID, INFO_TYPE_SUPER_POD_TYPE, INFO_TYPE_BOARD_ID, INFO_TYPE_VNIC_IP, INFO_TYPE_SPOD_VNIC_IP,
    INFO_TYPE_UB_STATUS, INFO_TYPE_UUID, INFO_TYPE_UB_PACKET_STATISTICS, INFO_TYPE_UB_QOS_INFO,
    INFO_TYPE_UB_CONFIG_INFO, INFO_TYPE_QOS_MASTER_CONFIG, INFO_TYPE_EVENT_RESUME, INFO_TYPE_CPU_TOPO,
    INFO_TYPE_SLOT_ID, INFO_TYPE_SWPLUGIN_UPGRADE_POLICY, INFO_TYPE_SUPER_POD_INTERCON_TYPE
}
enum INFO_TYPE_COMPUTING { INFO_TYPE_COMPUTING_TOKEN, INFO_TYPE_MAX_TOKEN }
enum PHY_DEV_INFO_TYPE {
    PHY_INFO_TYPE_CHIPTYPE, PHY_INFO_TYPE_MASTER_ID, PHY_INFO_TYPE_PHY_CHIP_ID, PHY_INFO_TYPE_PHY_DIE_ID
}
enum PAIR_DEVS_INFO_TYPE { DEVS_INFO_TYPE_TOPOLOGY }
enum ADDR_MODE_TYPE { ADDR_MODE_INDEPENDENT, ADDR_MODE_UNIFIED }
enum RUN_MACHINE_TYPE { RUN_MACHINE_PHYCICAL, RUN_MACHINE_VIRTUAL }
enum hal_product_type {
    HAL_PRODUCT_TYPE_POD, HAL_PRODUCT_TYPE_A_K, HAL_PRODUCT_TYPE_A_X, HAL_PRODUCT_TYPE_PCIE_CARD,
    HAL_PRODUCT_TYPE_EVB, HAL_PRODUCT_TYPE_MAX
}
enum {
    HAL_STRESS_ADJ_AIC, HAL_STRESS_ADJ_BUS, HAL_STRESS_ADJ_L2CACHE, HAL_STRESS_ADJ_MATA, HAL_STRESS_ADJ_CPU,
    HAL_STRESS_ADJ_HBM, HAL_STRESS_ADJ_HBM0V5, HAL_STRESS_ADJ_SIOE, HAL_STRESS_ADJ_SDS1V0, HAL_STRESS_ADJ_SDS0V75,
    HAL_STRESS_ADJ_PERI, HAL_STRESS_ADJ_PLL, HAL_STRESS_ADJ_DVDD, HAL_STRESS_ADJ_MAX
}
enum {
    HAL_STRESS_VOLT_SET, HAL_STRESS_VOLT_RESTORE, HAL_STRESS_FREQ_SET, HAL_STRESS_FREQ_RESTORE,
    HAL_STRESS_FUNC_OPEN, HAL_STRESS_FUNC_CLOSE, HAL_STRESS_SET_RESTORE_MAX
}
enum hal_cc_mode_type { HAL_CC_MODE_OFF, HAL_CC_MODE_NORMAL, HAL_CC_MODE_ADDITIONAL, HAL_CC_MODE_MAX }
enum hal_crypto_mode_type { HAL_CRYPTO_MODE_OFF, HAL_CRYPTO_MODE_ON, HAL_CRYPTO_MODE_MAX }
enum HAL_CPU_WORK_MODE { HAL_NORMAL_MODE, HAL_HIGH_PERFORMANCE_MODE, HAL_CPU_WORK_MODE_MAX }
enum hal_entire_ub_status {
    HAL_UB_ALL_PORT_NO_LINK, HAL_UB_ALL_PORT_LINK, HAL_UB_PARTIAL_PORT_LINK, HAL_UB_NO_NEED_LINK
}
enum hal_ub_port_status {
    HAL_UB_PORT_STATUS_NONE_LANE, HAL_UB_PORT_STATUS_FULL_LANE, HAL_UB_PORT_STATUS_PARTIAL_LANE,
    HAL_UB_PORT_STATUS_INITIAL
}
enum vmng_split_mode {
    VMNG_NORMAL_NONE_SPLIT_MODE, VMNG_VIRTUAL_SPLIT_MODE, VMNG_CONTAINER_SPLIT_MODE, VMNG_NORMAL_SPLIT_MODE,
    VMNG_INVALID_SPLIT_MODE
}

from ascend_hal*.h
macros {
    AICORE_MASK_NUM = 2, CAP_MEM_SUPPORT_HBM = 1, CAP_MEM_SUPPORT_HiBAILUV100 = 4, CAP_MEM_SUPPORT_L2BUFFER = 2,
    CAP_RESERVE_SIZE = 30, CAP_SDMA_REDUCE_BFP16 = 64, CAP_SDMA_REDUCE_BFP32 = 128, CAP_SDMA_REDUCE_FP16 = 2,
    CAP_SDMA_REDUCE_FP32 = 1, CAP_SDMA_REDUCE_INT16 = 4, CAP_SDMA_REDUCE_INT32 = 32, CAP_SDMA_REDUCE_INT4 = 8,
    CAP_SDMA_REDUCE_INT8 = 16, CAP_SDMA_REDUCE_KIND_ADD = 1, CAP_SDMA_REDUCE_KIND_EQUAL = 8,
    CAP_SDMA_REDUCE_KIND_MAX = 2, CAP_SDMA_REDUCE_KIND_MIN = 4, CAP_SDMA_REDUCE_UINT16 = 0x200,
    CAP_SDMA_REDUCE_UINT32 = 0x400, CAP_SDMA_REDUCE_UINT8 = 0x100, COMPONENT_CFG_MAGIC = 0x636f6d70,
    COMPUTE_GROUP_INFO_RES_NUM = 5, COMPUTING_POWER_MAX_VALUE = 65535, COMPUTING_POWER_MIN_VALUE = 0,
    COMPUTING_TOKEN_LAD0TKEN01 = 1, COMPUTING_TOKEN_LAD0TKEN02 = 2, COMPUTING_TOKEN_TYPE_INVALID = 255,
    HAL_CC_RESV_LEN = 8, HAL_CPM_DATA_SIZE = 0x100, HAL_LPM_SOC_STRESS_RESV_LEN = 24, HAL_MAX_CPU_TOPO_NUM = 64,
    HAL_UB_PORT_NUM = 36, HOST_DEVICE_CONNECT_PROTOCOL_UNKNOWN = 3, HOST_DEVICE_CONNECT_TYPE_HCCS = 1,
    HOST_DEVICE_CONNECT_TYPE_PCIE = 0, HOST_DEVICE_CONNECT_TYPE_UB = 2, MAX_CHIP_NAME = 32, RUN_ENV_PHYSICAL = 1,
    RUN_ENV_PHYSICAL_CONTAINER = 2, RUN_ENV_UNKNOW = 0, RUN_ENV_VIRTUAL = 3, RUN_ENV_VIRTUAL_CONTAINER = 4,
    __HAL_API_VERSION = 0x72418, __HAL_API_VER_MAJOR = 7, __HAL_API_VER_MINOR = 36, __HAL_API_VER_PATCH = 24
}

from ascend_hal_define.h
enum tagDrvFeature @7.36.25 { FEATURE_SVM_MEM_REGISTER_HOST_PINNED = 13, FEATURE_MAX }

from ascend_hal_base.h
struct HAL_PCIE_INFO @7.36.25 { domain: u32, bus: u32, device: u32, function: u32, reserved: u32[20] }
enum DEV_INFO_TYPE @7.36.25 {
    INFO_TYPE_REAL_TIME = 64, INFO_TYPE_L2BUFF_INVALID_CACHE, INFO_TYPE_PCIE_ID_INFO
}
macros @7.36.25 { __HAL_API_VERSION = 467993, __HAL_API_VER_PATCH = 25, PCIE_INFO_RESERVED_LEN = 20 }
"""
