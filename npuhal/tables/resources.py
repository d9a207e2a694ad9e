"""Stream, event, notify and model ids, and the registers and addresses mapped for them."""

TABLE = """
from ascend_hal_base.h
halResourceIdAlloc(devId: u32, in: inout halResourceIdInputInfo*, out: out halResourceIdOutputInfo*) -> drvError_t
halResourceIdFree(devId: u32, in: halResourceIdInputInfo*) -> drvError_t
halResourceEnable(devId: u32, in: halResourceIdInputInfo*) -> drvError_t
halResourceDisable(devId: u32, in: halResourceIdInputInfo*) -> drvError_t
halResourceConfig(devId: u32, in: halResourceIdInputInfo*, para: halResourceConfigInfo*) -> drvError_t
halResourceInfoQuery(devId: u32, tsId: u32, type: drvResourceType_t, info: out halResourceInfo*) -> drvError_t
halResourceDetailQuery(devId: u32, in: halResourceIdInputInfo*, info: out halResourceDetailInfo*) -> drvError_t
halResourceIdCheck(info: drvResIdKey*) -> drvError_t
halResourceIdInfoGet(key: drvResIdKey*, type: drvResIdProcType, value: out u64*) -> drvError_t
halResourceIdRestore(info: drvResIdKey*) -> drvError_t
halNotifyGetInfo(devId: u32, tsId: u32, type: u32, val: out u32*) -> drvError_t
halResMap(devId: u32, res_info: res_map_info*, va: out u64*, len: out u32*) -> drvError_t
halResUnmap(devId: u32, res_info: res_map_info*) -> drvError_t
halResAddrMap(devId: u32, res_info: res_addr_info*, va: out u64*, len: out u32*) -> drvError_t
halResAddrMapV2(devId: u32, res_info_in: res_map_info_in*, res_info_out: out res_map_info_out*) -> drvError_t
halResAddrUnmap(devId: u32, res_info: res_addr_info*) -> drvError_t
halResAddrUnmapV2(devId: u32, res_info_in: res_map_info_in*) -> drvError_t
halGetMaxResMapType() -> u32
halResRead(dev_id: u32, res_info: res_map_info*, data: out void*, len: u32) -> drvError_t
halResWrite(dev_id: u32, res_info: res_map_info*, data: void*, len: u32) -> drvError_t

from ascend_inpackage_hal.h
halTsCmdlistMemMap(devId: u32, tsId: u32) -> drvError_t
halTsCmdlistMemUnMap(devId: u32, tsId: u32) -> drvError_t

from hal_pkg/trs_pkg.h
struct halResourceIdInputInfo { type: drvIdType_t, tsId: u32, resourceId: u32, res: u32[8] }
struct halResourceIdOutputInfo { resourceId: u32, res: u32[8] }
struct res_addr_info {
    id: u32, target_proc_type: processType_t, res_type: res_addr_type, res_id: u32, flag: u32, rudevid: u32,
    rsv: u32[2]
}
struct trs_res_map_priv { flag: u32, local_devid: u32, remote_devid: u32, rsv: u32[8] }

from ascend_hal_define.h
struct halResourceConfigInfo { prop: drvResourceConfigType_t, value: u32[7] }
struct halResourceDetailInfo { type: drvResQueryType_t, value0: u32, value1: u32, reserve: u32[2] }
struct res_map_info_in {
    id: u32, target_proc_type: processType_t, res_type: res_addr_type, res_id: u32, flag: u32, priv_len: u32,
    priv: void*, rsv: u32[8]
}
struct res_map_info_out { va: u64, len: u32, rsv: u32[8] }

from ascend_hal_base.h
struct halResourceInfo { capacity: u32, usedNum: u32, reserve: u32[2] }
struct drvResIdKey { ruDevId: u32, tsId: u32, resType: drvIdType_t, resId: u32, flag: u32, rsv: u32[3] }
struct drvNotifyInfo { tsId: u32, notifyId: u32, devAddrOffset: u64 }

from hal_pkg/dpa_pkg.h
struct res_map_info { target_proc_type: processType_t, res_type: res_map_type, res_id: u32, flag: u32, rsv: u32[1] }

from hal_pkg/trs_pkg.h
enum res_addr_type {
    RES_ADDR_TYPE_STARS_NOTIFY_RECORD, RES_ADDR_TYPE_STARS_CNT_NOTIFY_RECORD, RES_ADDR_TYPE_STARS_RTSQ,
    RES_ADDR_TYPE_CCU_CKE, RES_ADDR_TYPE_CCU_XN, RES_ADDR_TYPE_STARS_CNT_NOTIFY_BIT_WR,
    RES_ADDR_TYPE_STARS_CNT_NOTIFY_BIT_ADD, RES_ADDR_TYPE_STARS_CNT_NOTIFY_BIT_CLR, RES_ADDR_TYPE_STARS_TOPIC_CQE,
    RES_ADDR_TYPE_HCCP_URMA_JETTY, RES_ADDR_TYPE_HCCP_URMA_JFC, RES_ADDR_TYPE_HCCP_URMA_DB,
    RES_ADDR_TYPE_NDA_URMA_DB, RES_ADD_TYPE_CCU, RES_ADDR_TYPE_MAX
}
enum tagDrvIdType drvIdType_t {
    DRV_STREAM_ID, DRV_EVENT_ID, DRV_MODEL_ID, DRV_NOTIFY_ID, DRV_CMO_ID, DRV_CNT_NOTIFY_ID, DRV_SQ_ID, DRV_CQ_ID,
    DRV_INVALID_ID
}

from hal_pkg/dpa_pkg.h
enum res_map_type { RES_AICORE, RES_HSCB_AICORE, RES_L2BUFF, RES_C2C, RES_MAP_TYPE_MAX = 17 }

from ascend_hal_define.h
enum tagDrvResourceConfigType drvResourceConfigType_t {
    DRV_STREAM_BIND_LOGIC_CQ, DRV_STREAM_UNBIND_LOGIC_CQ, DRV_ID_RECORD, DRV_STREAM_ENABLE_EVENT, DRV_ID_RESET,
    DRV_RES_ID_CONFIG_MAX
}
enum tagDrvResQueryType drvResQueryType_t {
    DRV_RES_QUERY_OFFSET, DRV_RES_QUERY_SQID, DRV_RES_QUERY_CQID, DRV_RES_QUERY_LOGIC_CQID, DRV_RES_INFO_QUERY,
    DRV_RES_NOTIFY_TYPE_TOTAL_SIZE, DRV_RES_NOTIFY_TYPE_NUM, DRV_RES_QUERY_MAX
}

from ascend_hal_base.h
enum tagDrvResourceType drvResourceType_t {
    DRV_RESOURCE_STREAM_ID, DRV_RESOURCE_EVENT_ID, DRV_RESOURCE_MODEL_ID, DRV_RESOURCE_NOTIFY_ID,
    DRV_RESOURCE_CMO_ID, DRV_RESOURCE_SQ_ID, DRV_RESOURCE_CQ_ID, DRV_RESOURCE_CNT_NOTIFY_ID, DRV_RESOURCE_INVALID_ID
}
enum tagDrvResIdType drvResIdProcType { TRS_RES_ID_ADDR, TRS_RES_INVALID_ID }

from ascend_hal*.h
macros {
    DRV_NOTIFY_TYPE_NUM = 2, DRV_NOTIFY_TYPE_TOTAL_SIZE = 1, HAL_TSEG_INFO_RSV_LEN = 16, RESOURCEID_RESV_FLAG = 1,
    RESOURCEID_RESV_LENGTH = 8, RESOURCEID_RESV_RANGE = 2, RESOURCEID_RESV_STREAM_PRIORITY = 0,
    RESOURCE_CONFIG_INFO_LENGTH = 7, RES_ADDR_INFO_RSV_LEN = 2, RES_ADDR_MAP_INFO_IN_RSV_LEN = 8,
    RES_ADDR_MAP_INFO_OUT_RSV_LEN = 8, RES_MAP_INFO_RSV_LEN = 1, RES_MAP_USE_UNIFIED_VA = 128,
    TRS_RES_MAP_RSV_LEN = 8, TSDRV_RES_RANGE_ID = 0x2000, TSDRV_RES_REMOTE_ID = 32, TSDRV_RES_RESERVED_ID = 1,
    TSDRV_RES_SPECIFIED_ID = 2
}

from hal_pkg/trs_pkg.h
enum res_addr_type @7.36.25 { RES_DBG_ADDR = 16 }
"""
