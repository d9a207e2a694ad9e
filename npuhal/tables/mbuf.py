"""Buffer groups and message buffers."""

TABLE = """
from ascend_hal_external.h
halBuffFree(buff: void*) -> i32
halMbufAlloc(size: u64, mbuf: out Mbuf**) -> i32
halMbufFree(mbuf: Mbuf*) -> i32
halMbufGetBuffAddr(mbuf: Mbuf*, buf: inout void**) -> i32
halMbufGetBuffSize(mbuf: Mbuf*, totalSize: inout u64*) -> i32
halMbufSetDataLen(mbuf: Mbuf*, len: u64) -> i32
halMbufGetDataLen(mbuf: Mbuf*, len: inout u64*) -> i32
halMbufCopyRef(mbuf: out Mbuf*, newMbuf: inout Mbuf**) -> i32
halMbufGetPrivInfo(mbuf: Mbuf*, priv: inout void**, size: inout u32*) -> i32
halMbufChainAppend(mbufChainHead: inout Mbuf*, mbuf: out Mbuf*) -> i32
halMbufChainGetMbufNum(mbufChainHead: Mbuf*, num: out u32*) -> i32
halMbufChainGetMbuf(mbufChainHead: Mbuf*, index: u32, mbuf: out Mbuf**) -> i32
halGrpCreate(name: char*, cfg: GroupCfg*) -> i32
halGrpAddProc(name: char*, pid: i32, attr: GroupShareAttr) -> i32
halGrpAttach(name: char*, timeout: i32) -> i32
halBuffInit(cfg: BuffCfg*) -> i32
halBuffGetInfo(
        cmd: BuffGetCmdType, inBuff: inout void*, inLen: u32, outBuff: inout void*, outLen: inout u32*
) -> i32

from ascend_hal_base.h
halBuffAlloc(size: u64, buff: inout void**) -> i32
halBuffGet(mbuf: Mbuf*, buf: inout void*, size: u64) -> drvError_t
halBuffPut(mbuf: Mbuf*, buf: inout void*) -> void
halMbufAllocEx(size: u64, align: u32, flag: u64, grp_id: i32, mbuf: out Mbuf**) -> i32
halMbufBuild(buff: inout void*, len: u64, mbuf: out Mbuf**) -> i32
halMbufUnBuild(mbuf: Mbuf*, buff: inout void**, len: inout u64*) -> i32
halBufEventReport(grpName: char*) -> drvError_t
halGrpCacheAlloc(name: char*, devId: u32, para: GrpCacheAllocPara*) -> drvError_t
halGrpQuery(cmd: GroupQueryCmdType, inBuff: void*, inLen: u32, outBuff: out void*, outLen: out u32*) -> i32
halBuffGetDQSPoolInfoById(poolId: u32, poolInfo: inout DqsPoolInfo*) -> drvError_t

from ascend_hal_define.h
struct GroupCfg { maxMemSize: u64, cacheAllocFlag: u32, privMbufFlag: u32, addGrpTimeout: u32, rsv: i32[29] }
struct memZoneCfg {
    cfg_id: u32, total_size: u64, blk_size: u32, max_buf_size: u64, page_type: u32, elasticEnable: i32,
    elasticRate: i32, elasticRateMax: i32, elasticHighLevel: i32, elasticLowLevel: i32, rsv: i32[8]
}
struct BuffCfg { cfg: memZoneCfg[64] }
struct GrpCacheAllocPara { memSize: u64, memFlag: u32, allocMaxSize: u32, rsv: i32[7] }
struct DqsPoolInfo {
    poolId: u32, poolDepth: u32, dataPoolAlign: u32, dataPoolHugePageFlag: u64, dataPoolBaseAddr: u64,
    dataPoolBlkSize: u32, dataPoolBlkObjSize: u32, dataPoolBlkOffset: u32, dataPoolGroupId: u32,
    headPoolBaseAddr: u64, headPoolBlkSize: u32, headPoolBlkObjSize: u32, headPoolBlkOffset: u32,
    headPoolGroupId: u32, allocOpAddr: u64, freeOpAddr: u64, copyRefOpAddr: u64, mngPoolBaseAddr: u64,
    mngPoolBlkSize: u32, mngPoolBlkObjSize: u32, mngPoolBlkOffset: u32, mngPoolGroupId: u32
}
struct GrpQueryGroup { grpName: char[32] }
struct GrpQueryGroupsOfProc { pid: i32 }
struct GrpQueryGroupId { grpName: char[32] }
struct GrpQueryGroupAddrPara { grpName: char[32], devId: u32 }
union GroupQueryInput {
    grpQueryGroup: GrpQueryGroup, grpQueryGroupsOfProc: GrpQueryGroupsOfProc, grpQueryGroupId: GrpQueryGroupId,
    grpQueryGroupAddrPara: GrpQueryGroupAddrPara
}
struct GrpQueryGroupInfo { pid: i32, attr: GroupShareAttr }
struct GrpQueryGroupsOfProcInfo { groupName: char[32], attr: GroupShareAttr }
struct GrpQueryGroupIdInfo { groupId: i32 }
union GroupQueryOutput {
    grpQueryGroupInfo: GrpQueryGroupInfo[1024], grpQueryGroupsOfProcInfo: GrpQueryGroupsOfProcInfo[1024],
    grpQueryGroupIdInfo: GrpQueryGroupIdInfo, grpQueryGroupAddrInfo: GrpQueryGroupAddrInfo[1024]
}
struct PubPoolAttr {
    pubPoolCfg: struct { blkSize: u32, blkNum: u32, align: u32, hugePageFlag: u32, reserve: i32[2] }[128]
}
struct MbufTimeoutCheckPara { enableFlag: u32, maxRecordNum: u32, timeout: u32, checkPeriod: u32 }
struct MbufDataInfo {
    mp: void*, owner: i32, ref: u32, blkSize: u32, totalBlkNum: u32, availableNum: u32, allocFailCnt: u32
}
struct MbufDebugInfo {
    timeStamp: u64, mbuf: void*, usePid: i32, allocPid: i32, useTime: u32, round: u32, dataInfo: MbufDataInfo,
    poolName: char[128], reserve: i32[8]
}
struct MbufUseInfo { allocPid: i32, usePid: i32, ref: u32, status: u32, timestamp: u64, reserve: i32[8] }
struct MbufTypeInfo { type: u32 }
struct BuffTypeInfo { type: BuffType }
struct MemPoolInfo { blk_start: void*, blk_total_len: u64 }
struct MpBlkAvailable { blk_available: u32 }
struct buf_scale_event { type: i32, grpId: i32, addr: u64, size: u64 }
struct PoolInfo { dataPoolSize: u64, dataPoolStart: void*, mbufPoolSize: u64, mbufPoolStart: void* }
struct MbufInfoConverge { totalLen: u64, dataLen: u64, privUserDataLen: u32, dataBlock: void*, privUserData: void* }
struct MemPoolBasicStatus { poolName: char[128], blkNum: u32, blkAvailable: u32, peakStat: u32, mpHandle: void* }
struct MemPoolUsageByProcess { pid: i32, totalMemPool: u32, mpBasicStatus: MemPoolBasicStatus[64] }
struct MemPoolUsedByPidStatus { pid: i32, mbufNum: u32 }
struct MemPoolUsedStatus {
    poolName: char[128], blkNum: u32, blkAvailable: u32, maxPidRecord: u32, usedByPid: MemPoolUsedByPidStatus[128]
}
struct mbuf_owner_info { u64 { op_type:8, owner_id:40, op_qid:16 } }
struct mbuf_owner_info_ext { op_type: u8, owner_id: u8[5], op_qid: u16 }
union dqs_mbuf_owner_info { bits: mbuf_owner_info, ext_bits: mbuf_owner_info_ext, value: u64 }
struct dqs_mbuf_prod_trace {
    prod_owner_info: dqs_mbuf_owner_info, alloc_req_time: u64, prodq_enque_time: u64, prod_free_time: u64
}
struct dqs_mbuf_cons_trace {
    cons_owner_info: dqs_mbuf_owner_info, cons_deque_copy_ref_time: u64, cons_free_time: u64
}

from hal_pkg/buff_pkg.h
struct GroupShareAttr { u32 { admin:1, read:1, write:1, alloc:1, rsv:28 } }
struct GrpQueryGroupAddrInfo { addr: u64, size: u64 }

from ascend_hal_external.h
struct buffPoolStat {
    owner: i32, align: u32, status: u32, totalBlkNum: u32, freeBlkNum: u32, blkSize: u32, overTimeValue: u32,
    overTimeBlkNumSum: u32, overTimeBlkNumCur: u32, maxBusyBlkNum: u32, maxBusyTime: u64, allocFailCount: u64,
    reserve: i32[8]
}
struct buff_cfg { cfg_id: u32, total_size: u32, blk_size: u32, max_buf_size: u32, page_type: u32, reserve: i32[8] }
struct mp_attr mpAttr {
    devid: i32, mGroupId: i32, blkSize: u32, blkNum: u32, align: u32, hugePageFlag: u64, poolName: char[128],
    poolType: u32, useFlag: u32, reserve: i32[6]
}
struct memzone_buff_cfg { num: u32, cfg_info: buff_cfg* }

from ascend_hal_define.h
enum group_id_type GROUP_ID_TYPE { GROUP_ID_CREATE, GROUP_ID_ADD }
enum GroupQueryCmdType {
    GRP_QUERY_GROUP, GRP_QUERY_GROUPS_OF_PROCESS, GRP_QUERY_GROUP_ID, GRP_QUERY_GROUP_ADDR_INFO, GRP_QUERY_CMD_MAX
}
enum BuffConfCmdType {
    BUFF_CONF_MBUF_TIMEOUT_CHECK, BUFF_CONF_MEMZONE_BUFF_CFG, BUFF_CONF_MBUF_TIMESTAMP_SET, BUFF_CONF_MAX
}
enum BuffGetCmdType {
    BUFF_GET_MBUF_TIMEOUT_INFO, BUFF_GET_MBUF_USE_INFO, BUFF_GET_MBUF_TYPE_INFO, BUFF_GET_BUFF_TYPE_INFO,
    BUFF_GET_POOL_INFO, BUFF_GET_MEMPOOL_INFO, BUFF_GET_MEMPOOL_BLK_AVAILABLE, BUFF_GET_MP_USAGE_OF_PROCESS,
    BUFF_GET_MEMPOOL_USE_INFO, BUFF_GET_MAX
}
enum MbufType { MBUF_CREATE_BY_ALLOC = 3, MBUF_CREATE_BY_POOL, MBUF_CREATE_BY_BUILD, MBUF_CREATE_BY_BARE_BUFF }
enum BuffType { BUFF_TYPE_NORMAL, BUFF_TYPE_MBUF_DATA, BUFF_TYPE_MAX }
enum mbuf_op_type {
    MBUF_OP_RSV_TYPE, C_CORE_ALLOC, C_CORE_ENQUE_PRODQ, C_CORE_DEQUE_CONSQ, C_CORE_FREE, DSFW_DEQUE_PRODQ,
    DSFW_COPY_REF, DSFW_QS_FINISH, DSFW_ENQUE_CONSQ, DSFW_NOTIFY_CONS, DSFW_NOTIFY_INTERCHIP, DSFW_FREE, SOFT_ALLOC,
    SOFT_ALLOC_ENQUE_PRODQ, SOFT_ALLOC_FREE, SOFT_COPY_REF, SOFT_COPY_REF_ENQUE_PRODQ, SOFT_OW_FREE,
    SOFT_DEQUE_CONSQ, SOFT_DEQUE_ENQUE_PRODQ, SOFT_FREE, MBUF_OP_TYPE_BUTT
}

from ascend_hal*.h
macros {
    BUFF_ALL_DEVID = 1, BUFF_ENABLE_PRIVATE_MBUF = 0x5a5a5b5b, BUFF_FLAGS_ALL_DEVID_OFFSET = 31,
    BUFF_FLAGS_DEVID_OFFSET = 32, BUFF_GROUP_ADDR_MAX_NUM = 0x400, BUFF_GRP_IN_PROC_MAX_NUM = 32,
    BUFF_GRP_MAX_NUM = 0x400, BUFF_GRP_NAME_LEN = 32, BUFF_MAX_CFG_NUM = 64, BUFF_MAX_MP_NUM_PROCESS = 64,
    BUFF_MAX_USED_PID_RECORD = 128, BUFF_ONE_DEVID = 0, BUFF_POOL_NAME_LEN = 128, BUFF_PROC_IN_GRP_MAX_NUM = 0x400,
    BUFF_PUB_POOL_CFG_MAX_NUM = 128, BUFF_RESERVE_LEN = 8, BUFF_SP_DVPP = 4, BUFF_SP_HUGEPAGE_ONLY = 2,
    BUFF_SP_HUGEPAGE_PRIOR = 1, BUFF_SP_NORMAL = 0, BUFF_SP_SVM = 8, UNI_ALIGN_MAX = 0x1000, UNI_ALIGN_MIN = 32,
    XSMEM_BLK_ALLOC_FROM_OS = 0x4000000000000000, XSMEM_BLK_NOT_AUTO_RECYCLE = -0x8000000000000000
}

from ascend_hal_define.h
struct DqsPoolInfo @7.36.25 {
    poolId: u32, pool_depth: u32, dataPoolBaseAddr: u64, dataPoolBlkSize: u32, dataPoolBlkObjSize: u32,
    dataPoolBlkOffset: u32, dataPoolGroupId: u32, headPoolBaseAddr: u64, headPoolBlkSize: u32,
    headPoolBlkObjSize: u32, headPoolBlkOffset: u32, headPoolGroupId: u32, allocOpAddr: u64, freeOpAddr: u64,
    copyRefOpAddr: u64, mngPoolBaseAddr: u64, mngPoolBlkSize: u32, mngPoolBlkObjSize: u32, mngPoolBlkOffset: u32,
    mngPoolGroupId: u32
}
"""
