"""Allocation, copies, attributes, host registration and memory statistics."""

TABLE = """
from ascend_hal_base.h
halMemAlloc(pp: out void**, size: u64, flag: u64) -> drvError_t
halMemFree(pp: void*) -> drvError_t
halMemCtl(
        type: i32, param_value: void*, param_value_size: u64, out_value: out void*, out_size_ret: out u64*
) -> drvError_t
halMemGetInfo(device: u32, type: u32, info: out MemInfo*) -> drvError_t
halMemGetInfoEx(device: u32, type: u32, info: inout MemInfo*) -> drvError_t
halMemAdvise(ptr: u64, count: u64, type: u32, device: u32) -> drvError_t
halMemInitSvmDevice(hostpid: i32, vfid: u32, dev_id: u32) -> drvError_t
halMemBindSibling(hostPid: i32, aicpuPid: i32, vfid: u32, dev_id: u32, flag: u32) -> drvError_t
halMemAgentOpen(devid: u32, flag: u32) -> drvError_t
halMemAgentClose(devid: u32, flag: u32) -> drvError_t
drvMemcpy(dst: u64, dest_max: u64, src: u64, byte_count: u64) -> drvError_t
halMemcpy(dst: void*, dst_size: u64, src: void*, count: u64, info: memcpy_info*) -> drvError_t
halMemcpy2D(p_copy: inout MEMCPY2D*) -> drvError_t
halMemcpyBatch(dst: u64*, src: u64*, size: u64*, count: u64) -> drvError_t
halMemCpyAsync(dst: u64, dest_max: u64, src: u64, byte_count: u64, copy_fd: out u64*) -> drvError_t
halMemCpyAsyncWaitFinish(copy_fd: u64) -> drvError_t
drvMemsetD8(dst: u64, destMax: u64, value: u8, num: u64) -> drvError_t
drvMemGetAttribute(vptr: u64, attr: out DVattribute*) -> drvError_t
drvMemPrefetchToDevice(dev_ptr: u64, len: u64, device: u32) -> drvError_t
drvMemAddressTranslate(vptr: u64, pptr: out u64*) -> drvError_t
drvMemSmmuQuery(device: u32, SSID: out u32*) -> drvError_t
drvFlushCache(base: u64, len: u32) -> void
drvDeviceGetTransWay(src: void*, dest: void*, trans_type: out u8*) -> drvError_t
halHostRegister(src_ptr: void*, size: u64, flag: u32, devid: u32, dst_ptr: out void**) -> drvError_t
halHostUnregister(src_ptr: void*, devid: u32) -> drvError_t
halHostUnregisterEx(src_ptr: void*, devid: u32, flag: u32) -> drvError_t
halHostRegisterCapabilities(devid: u32, acc_module_type: u32, mem_map_cap: out u32*) -> drvError_t
halMemHostGetDevPointer(src_ptr: void*, devid: u32, dst_ptr: out void**) -> drvError_t
halGetMemUsageInfo(dev_id: u32, mem_usage: out mem_module_usage*, in_num: u64, out_num: out u64*) -> drvError_t
halGetMemModuleName(module_id: u32) -> char*
halMemRegUbSegment(devid: u32, va: u64, size: u64) -> drvError_t
halMemUnRegUbSegment(devid: u32, va: u64) -> drvError_t
halSdmaCopy(dst: u64, dst_size: u64, src: u64, len: u64) -> drvError_t
halSdmaBatchCopy(dst: void**, src: void**, size: u64*, count: i32) -> drvError_t

from ascend_inpackage_hal.h
drvMemInitSvmDevice(hostpid: i32, vfid: u32, dev_id: u32) -> drvError_t

from ascend_hal_base.h
struct MemAddrInfo { addr: u64**, cnt: u32, mem_type: u32, flag: u32 }
struct MemNumaInfo { node_cnt: u32, node_id: i32[64] }
struct MemPhyInfo { total: u64, free: u64, huge_total: u64, huge_free: u64, giant_total: u64, giant_free: u64 }
struct MemSvmGrpInfo { name: char[32] }
struct MemUbTokenInfo { va: u64, size: u64, token_id: u32, token_value: u32 }
struct MemInfo {
    union {
        phy_info: MemPhyInfo, addr_info: MemAddrInfo, numa_info: MemNumaInfo, grp_info: MemSvmGrpInfo,
        ub_token_info: MemUbTokenInfo
    }
}
struct memcpy_info { dir: drvMemcpyKind_t, devid: u32, reserve: u64[2] }
struct DVattribute { memType: u32, resv1: u32, resv2: u32, devId: u32, pageSize: u32, resv: u32[8] }
struct mem_module_usage { name: char[32], cur_mem_size: u64, mem_peak_size: u64, reserved: u64[8] }
struct computing_token { value: f32, type: u8, reserve_c: u8, reserve_s: u16 }

from ascend_hal_define.h
struct drvMem2D {
    dst: u64*, dpitch: u64, src: u64*, spitch: u64, width: u64, height: u64, fixed_size: u64, direction: u32,
    resv1: u32, resv2: u64
}
struct drvMem2DAsync { copy2dInfo: drvMem2D, dmaAddr: DMA_ADDR* }
struct MEMCPY2D { type: u32, resv: u32, union { copy2d: drvMem2D, copy2dAsync: drvMem2DAsync } }
struct supportFeaturePara { support_feature: u64, devid: u32 }
struct AddrMapInPara { addr_type: u32, devid: u32 }
struct AddrMapOutPara { ptr: u64, len: u64 }
struct AddrUnmapInPara { addr_type: u32, devid: u32, ptr: u64, len: u64 }
struct MemRepairAddr { ptr: u64, len: u64 }
struct MemRepairInPara { devid: u32, count: u32, repairAddrs: MemRepairAddr[20] }
struct ProcessCpMmap { devid: u32, ptr: u64, size: u64, flag: u64 }
struct ProcessCpMunmap { devid: u32, ptr: u64, size: u64 }

from hal_pkg/common_pkg.h
struct DMA_OFFSET_ADDR { offset: u64, devid: u32 }
struct DMA_PHY_ADDR { src: void*, dst: void*, len: u32, flag: u8, priv: void* }
struct DMA_ADDR { union { phyAddr: DMA_PHY_ADDR, offsetAddr: DMA_OFFSET_ADDR }, fixed_size: u32, virt_id: u32 }

from hal_pkg/dms_pkg.h
struct va_info { size: u16, reserved: u8[6], va_addr: u64 }
struct hbm_pa_va_info { dev_id: u32, host_pid: u32, va_num: u32, va_info: va_info[20] }
struct memory_fault_timestamp { dev_id: u32, host_pid: u32, event_id: u32, reserved: u32, syscnt: u64 }

from hal_pkg/common_pkg.h
enum {
    UNKNOWN_MODULE_ID, IDEDD_MODULE_ID, IDEDH_MODULE_ID, HCCL_HAL_MODULE_ID, FMK_MODULE_ID, HIAIENGINE_MODULE_ID,
    DVPP_MODULE_ID, RUNTIME_MODULE_ID, CCE_MODULE_ID, HLT_MODULE_ID, DEVMM_MODULE_ID = 22, TSDRV_MODULE_ID,
    LIBMEDIA_MODULE_ID, CCECPU_MODULE_ID, ASCENDDK_MODULE_ID, HCCP_SCHE_MODULE_ID, HCCP_HAL_MODULE_ID,
    ROCE_MODULE_ID, TEFUSION_MODULE_ID, PROFILING_MODULE_ID, DP_MODULE_ID, APP_MODULE_ID, TSDUMP_MODULE_ID = 35,
    AICPU_MODULE_ID, AICPU_SCHE_MODULE_ID, TDT_MODULE_ID, FE_MODULE_ID, MD_MODULE_ID, MB_MODULE_ID, ME_MODULE_ID,
    GE_MODULE_ID = 45, ASCENDCL_MODULE_ID = 48, PROCMGR_MODULE_ID = 54, AIVECTOR_MODULE_ID = 56, TBE_MODULE_ID,
    FV_MODULE_ID, TUNE_MODULE_ID = 60, HSS_MODULE_ID, FFTS_MODULE_ID, OP_MODULE_ID, UDF_MODULE_ID, HICAID_MODULE_ID,
    TSYNC_MODULE_ID, AUDIO_MODULE_ID, TPRT_MODULE_ID, ASCENDCKERNEL_MODULE_ID, ASYS_MODULE_ID, ATRACE_MODULE_ID,
    RTC_MODULE_ID, SYSMONITOR_MODULE_ID, AML_MODULE_ID, MBUFF_MODULE_ID, CUSTOM_SCHE_MODULE_ID, MAX_MODULE_ID
}

from ascend_hal_define.h
enum DEVMM_MEMCPY2D_TYPE {
    DEVMM_MEMCPY2D_SYNC, DEVMM_MEMCPY2D_ASYNC_CONVERT, DEVMM_MEMCPY2D_ASYNC_DESTROY, DEVMM_MEMCPY2D_TYPE_MAX
}
enum ADVISE_MEM_TYPE {
    ADVISE_PERSISTENT, ADVISE_DEV_MEM, ADVISE_ACCESS_READONLY, ADVISE_ACCESS_READWRITE, ADVISE_TYPE_MAX
}
enum MEMCPY_SUMBIT_TYPE { MEMCPY_SUMBIT_SYNC, MEMCPY_SUMBIT_ASYNC, MEMCPY_SUMBIT_MAX_TYPE }
enum drvRegisterTpye {
    HOST_MEM_MAP_DEV, HOST_SVM_MAP_DEV, DEV_SVM_MAP_HOST, HOST_MEM_MAP_DEV_PCIE_TH, HOST_MEM_MAP_DEV_V2 = 3,
    DEV_MEM_MAP_HOST, HOST_MEM_MAP_DMA, HOST_IO_MAP_DEV, HOST_REGISTER_MAX_TPYE
}
enum drvAccModuleType {
    DRV_ACC_MODULE_TYPE_STARS, DRV_ACC_MODULE_TYPE_AICPU, DRV_ACC_MODULE_TYPE_AIC, DRV_ACC_MODULE_TYPE_AIV,
    DRV_ACC_MODULE_TYPE_PCIEDMA, DRV_ACC_MODULE_TYPE_RDMA, DRV_ACC_MODULE_TYPE_SDMA, DRV_ACC_MODULE_TYPE_DVPP,
    DRV_ACC_MODULE_TYPE_UDMA, DRV_ACC_MODULE_TYPE_CCU, DRV_ACC_MODULE_TYPE_MAX
}
enum drvMemMapCapability { HOST_MEM_MAP_NOT_SUPPORTED, HOST_MEM_MAP_SUPPORTED }
enum ctrlType {
    CTRL_TYPE_ADDR_MAP, CTRL_TYPE_ADDR_UNMAP, CTRL_TYPE_SUPPORT_FEATURE, CTRL_TYPE_GET_DOUBLE_PGTABLE_OFFSET,
    CTRL_TYPE_MEM_REPAIR, CTRL_TYPE_GET_ADDR_MODULE_ID, CTRL_TYPE_PROCESS_CP_MMAP, CTRL_TYPE_PROCESS_CP_MUNMAP,
    CTRL_TYPE_GET_DCACHE_ADDR, CTRL_TYPE_MAX
}
enum addrMapType {
    ADDR_MAP_TYPE_L2_BUFF, ADDR_MAP_TYPE_REG_C2C_CTRL, ADDR_MAP_TYPE_REG_AIC_CTRL, ADDR_MAP_TYPE_REG_AIC_PMU_CTRL,
    ADDR_MAP_TYPE_REG_CNT_NOTIFY_CTRL, ADDR_MAP_TYPE_MAX
}
enum memSource { SVM_NORMAL_MEM, SVM_POOL_MEM, SVM_UVM_MEM }
enum devdrv_module_type {
    HAL_MODULE_TYPE_VNIC, HAL_MODULE_TYPE_HDC, HAL_MODULE_TYPE_DEVMM, HAL_MODULE_TYPE_DEV_MANAGER,
    HAL_MODULE_TYPE_DMP, HAL_MODULE_TYPE_FAULT, HAL_MODULE_TYPE_UPGRADE, HAL_MODULE_TYPE_PROCESS_MON,
    HAL_MODULE_TYPE_LOG, HAL_MODULE_TYPE_PROF, HAL_MODULE_TYPE_DVPP, HAL_MODULE_TYPE_PCIE, HAL_MODULE_TYPE_IPC,
    HAL_MODULE_TYPE_TS_DRIVER, HAL_MODULE_TYPE_SAFETY_ISLAND, HAL_MODULE_TYPE_BSP, HAL_MODULE_TYPE_USB,
    HAL_MODULE_TYPE_NET, HAL_MODULE_TYPE_EVENT_SCHEDULE, HAL_MODULE_TYPE_BUF_MANAGER, HAL_MODULE_TYPE_QUEUE_MANAGER,
    HAL_MODULE_TYPE_DP_PROC_MNG, HAL_MODULE_TYPE_BBOX, HAL_MODULE_TYPE_VMNG, HAL_MODULE_TYPE_COMMON,
    HAL_MODULE_TYPE_ASCEND_URMA_ADAPT, HAL_MODULE_TYPE_LIDAR_DP, HAL_MODULE_TYPE_ADSPC, HAL_MODULE_TYPE_APM,
    HAL_MODULE_TYPE_ASDRV_UB, HAL_MODULE_TYPE_MAX
}
enum tagDrvL2buffInvalidType drvL2buffInvalidType {
    DRV_L2BUFF_CLEAN, DRV_L2BUFF_CLEAN_CSP, DRV_L2BUFF_CLEAN_TYPE_MAX
}

from ascend_hal_base.h
enum tagDrvMemType drvMemType_t { DRV_MEMORY_HBM, DRV_MEMORY_DDR }
enum tagDrvMemcpyKind drvMemcpyKind_t {
    DRV_MEMCPY_HOST_TO_HOST, DRV_MEMCPY_HOST_TO_DEVICE, DRV_MEMCPY_DEVICE_TO_HOST, DRV_MEMCPY_DEVICE_TO_DEVICE
}
enum MEM_CTRL_TYPE {
    MEM_TYPE_PCIE_SRAM, MEM_TYPE_PCIE_DDR, MEM_TYPE_IMU_DDR, MEM_TYPE_BBOX_DDR, MEM_TYPE_BBOX_HDR,
    MEM_TYPE_REG_SRAM, MEM_TYPE_REG_DDR, MEM_TYPE_TS_LOG, MEM_TYPE_HBOOT_SRAM, MEM_TYPE_DEBUG_OS_LOG,
    MEM_TYPE_SEC_LOG, MEM_TYPE_RUN_OS_LOG, MEM_TYPE_RUN_EVENT_LOG, MEM_TYPE_DEBUG_DEV_LOG, MEM_TYPE_KDUMP_MAGIC,
    MEM_TYPE_VMCORE_FILE, MEM_TYPE_VMCORE_STAT, MEM_TYPE_CHIP_LOG_PCIE_BAR, MEM_TYPE_TS_LOG_PCIE_BAR,
    MEM_TYPE_BBOX_PCIE_BAR, MEM_TYPE_IMP_LOG, MEM_TYPE_IMU_LOG, MEM_TYPE_HSM_LOG, MEM_CTRL_TYPE_MAX
}

from ascend_hal*.h
macros {
    ADVISE_EXE = 2, ADVISE_PIN = 16, ADVISE_PLE = 8, ADVISE_THP = 4, ADVISE_TYPE = 1, ADVISE_UNPIN = 32,
    CTRL_SUPPORT_DEV_MEM_REGISTER_BIT = 2, CTRL_SUPPORT_DEV_MEM_REGISTER_MASK = 4, CTRL_SUPPORT_GIANT_PAGE_BIT = 4,
    CTRL_SUPPORT_GIANT_PAGE_MASK = 16, CTRL_SUPPORT_NUMA_TS_BIT = 0, CTRL_SUPPORT_NUMA_TS_MASK = 1,
    CTRL_SUPPORT_PCIE_BAR_HUGE_MEM_BIT = 3, CTRL_SUPPORT_PCIE_BAR_HUGE_MEM_MASK = 8,
    CTRL_SUPPORT_PCIE_BAR_MEM_BIT = 1, CTRL_SUPPORT_PCIE_BAR_MEM_MASK = 2, CTRL_SUPPORT_SHMEM_MAP_EXBUS_BIT = 5,
    CTRL_SUPPORT_SHMEM_MAP_EXBUS_MASK = 32, DEVMM_MAX_MEM_TYPE_VALUE = 4, DEVMM_MEMCPY_BATCH_MAX_COUNT = 0x1000,
    DV_LOCK_DEVICE = 2, DV_LOCK_HOST = 1, DV_MEM_LOCK_DEV = 16, DV_MEM_LOCK_DEV_DVPP = 32, DV_MEM_LOCK_HOST = 8,
    DV_MEM_LOCK_HOST_AGENT = 64, DV_MEM_RESV = 8, DV_MEM_SOMA = 0x400, DV_MEM_SVM = 1, DV_MEM_SVM_DEVICE = 4,
    DV_MEM_SVM_HOST = 2, DV_MEM_USER_MALLOC = 128, DV_MEM_USER_REGISTER = 0x100, DV_MEM_UVM = 0x200, DV_UNLOCK = 0,
    MAX_NUMA_NUM_OF_PER_DEV = 64, MAX_RECORD_PA_NUM_PER_DEV = 20, MAX_RSV_LEN = 8, MEM_ADVISE_4G = 0x4000000,
    MEM_ADVISE_4G_BIT = 26, MEM_ADVISE_BAR = 0x10000000, MEM_ADVISE_BAR_BIT = 28, MEM_ADVISE_P2P = 0x2000000,
    MEM_ADVISE_P2P_BIT = 25, MEM_ADVISE_TS = 0x8000000, MEM_ADVISE_TS_BIT = 27, MEM_ALIGN_BIT = 20,
    MEM_CONTIGUOUS_PHY = 0x80000, MEM_CONTINUTY_BIT = 19, MEM_DEV = 0x400, MEM_DEVID_MASK = 1023,
    MEM_DEVID_WIDTH = 10, MEM_DEV_CP_ONLY = 0x100000000, MEM_DEV_CP_ONLY_BIT = 32, MEM_DEV_TYPE = 2,
    MEM_DEV_VAL = 1, MEM_DISCONTIGUOUS_PHY = 0, MEM_DVPP = 0xc00, MEM_DVPP_TYPE = 8, MEM_DVPP_VAL = 3,
    MEM_HOST = 0x800, MEM_HOST_AGENT = 0x1000, MEM_HOST_AGENT_TYPE = 16, MEM_HOST_AGENT_VAL = 4,
    MEM_HOST_RW_DEV_RO = 0x40000000, MEM_HOST_RW_DEV_RO_BIT = 30, MEM_HOST_TYPE = 4, MEM_HOST_UVA = 0x1800,
    MEM_HOST_UVA_VAL = 6, MEM_HOST_VAL = 2, MEM_INFO_TYPE_ADDR_CHECK = 5, MEM_INFO_TYPE_AI_NUMA_INFO = 7,
    MEM_INFO_TYPE_BAR_NUMA_INFO = 8, MEM_INFO_TYPE_CTRL_NUMA_INFO = 6, MEM_INFO_TYPE_DDR_P2P_SIZE = 3,
    MEM_INFO_TYPE_DDR_SIZE = 1, MEM_INFO_TYPE_HBM_P2P_SIZE = 4, MEM_INFO_TYPE_HBM_SIZE = 2, MEM_INFO_TYPE_MAX = 12,
    MEM_INFO_TYPE_SVM_GRP_INFO = 9, MEM_INFO_TYPE_SYS_NUMA_INFO = 11, MEM_INFO_TYPE_UB_TOKEN_INFO = 10,
    MEM_MAX_VAL = 8, MEM_MODULE_ID_BIT = 56, MEM_MODULE_ID_MASK = 255, MEM_MODULE_ID_WIDTH = 8, MEM_PAGE_BIT = 17,
    MEM_PAGE_GIANT = 0x80000000, MEM_PAGE_GIANT_BIT = 31, MEM_PAGE_HUGE = 0x20000, MEM_PAGE_NORMAL = 0,
    MEM_PHY_BIT = 14, MEM_PROC_TYPE_BIT = 16, MEM_READONLY = 0x20000000, MEM_READONLY_BIT = 29,
    MEM_REGISTER_HCCP_PROC_TYPE = 0x40000, MEM_REGISTER_READ_ONLY = 0x10000000, MEM_REPAIR_MAX_CNT = 20,
    MEM_RESERVE = 0x1400, MEM_RESERVE_TYPE = 32, MEM_RESERVE_VAL = 5, MEM_SVM = 0, MEM_SVM_HUGE = 0x20000,
    MEM_SVM_NORMAL = 0, MEM_SVM_TYPE = 1, MEM_SVM_VAL = 0, MEM_TYPE_DDR = 0, MEM_TYPE_HBM = 0x4000,
    MEM_UVM = 0x1c00, MEM_UVM_VAL = 7, MEM_VIRT_BIT = 10, MEM_VIRT_WIDTH = 4, RESERVED_ARRAY_SIZE = 11,
    SVM_ADDR_CHECK_MAX_NUM = 0x400, SVM_INVALID_MODULE_ID = 65535
}

from ascend_hal_base.h
halMemUnRegUbSegment @7.36.25(devid: u32, va: u64, size: u64) -> drvError_t

from ascend_hal_define.h
macros @7.36.25 { MEM_REGISTER_HOST_PINNED = 0x20000000 }
"""
