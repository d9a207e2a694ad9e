"""Message queues between processes and devices."""

TABLE = """
from ascend_hal_external.h
halQueueInit(devId: u32) -> drvError_t
halQueueDestroy(devId: u32, qid: u32) -> drvError_t
halQueueReset(devId: u32, qid: u32) -> drvError_t
halQueueQueryInfo(devId: u32, qid: u32, queInfo: out QueueInfo*) -> drvError_t

from ascend_hal_base.h
halQueueCreate(devId: u32, queAttr: QueueAttr*, qid: out u32*) -> drvError_t
halQueueGrant(devId: u32, qid: i32, pid: i32, attr: QueueShareAttr) -> drvError_t
halQueueAttach(devId: u32, qid: u32, timeOut: i32) -> drvError_t
halQueueEnQueue(devId: u32, qid: u32, mbuf: void*) -> drvError_t
halQueueDeQueue(devId: u32, qid: u32, mbuf: out void**) -> drvError_t
halQueueSubscribe(devId: u32, qid: u32, groupId: u32, type: i32) -> drvError_t
halQueueSubF2NFEvent(devId: u32, qid: u32, groupId: u32) -> drvError_t
halQueueGetQidbyName(devId: u32, name: char*, qid: out u32*) -> drvError_t
halQueuePeek(devId: u32, qid: u32, buf_len: out u64*, timeout: i32) -> drvError_t
halQueueEnQueueBuff(devId: u32, qid: u32, vector: buff_iovec*, timeout: i32) -> drvError_t
halQueueDeQueueBuff(devId: u32, qid: u32, vector: out buff_iovec*, timeout: i32) -> drvError_t
halQueueQuery(
        devId: u32, cmd: QueueQueryCmdType, inPut: inout QueueQueryInputPara*, outPut: inout QueueQueryOutputPara*
) -> drvError_t
halQueueSet(devId: u32, cmd: QueueSetCmdType, input: inout QueueSetInputPara*) -> drvError_t
halQueueExport(devId: u32, qid: u32, queInfo: shareQueInfo*) -> drvError_t
halQueueUnexport(devId: u32, qid: u32, queInfo: shareQueInfo*) -> drvError_t
halQueueImport(devId: u32, queInfo: shareQueInfo*, qid: u32*) -> drvError_t
halQueueUnimport(devId: u32, qid: u32, queInfo: shareQueInfo*) -> drvError_t
halQueueGetDqsQueInfo(devId: u32, qid: u32, info: out DqsQueueInfo*) -> drvError_t

from ascend_hal_external.h
struct QueueStat {
    enqueCnt: u64, dequeCnt: u64, enqueFailCnt: u64, dequeFailCnt: u64, enqueEventOk: u64, enqueEventFail: u64,
    f2nfEventOk: u64, f2nfEventFail: u64, lastEnqueTime: timeval, lastDequeTime: timeval, reserve: i32[8]
}
struct QueueInfo {
    id: i32, name: char[128], size: i32, depth: i32, status: i32, workMode: i32, type: i32, subGroupId: i32,
    subPid: i32, subF2NFGroupId: i32, subF2NFPid: i32, headDataPtr: void*, entity_type: u32, reserve: i32[7],
    stat: QueueStat
}
struct QueueAttr {
    name: char[128], depth: u32, workMode: u32, flowCtrlFlag: bool, flowCtrlDropTime: u32, overWriteFlag: bool,
    u8 { deploy_type:1, queue_entity_type:2 }, u32 { resv:29 }
}
struct QueueShareAttr { u32 { manage:1, read:1, write:1, rsv:29 } }
struct QueueQueryInputPara { inBuff: void*, inLen: u32 }
struct QueueQueryOutputPara { outBuff: void*, outLen: u32 }
struct QueueSetInputPara { inBuff: void*, inLen: u32 }
struct QidsOfPid { qids: u32*, queNum: u32, reserve: u32[8] }
struct QUEUE_DROP_PKT_STAT { enqueDropCnt: u64, dequeDropCnt: u64 }
struct QueueSubscriber { devId: u32, pid: i32, spGrpId: i32, groupId: i32, rsv: i32[5] }
struct QueueGrantPara { devid: u32, qid: u32, pid: i32, attr: QueueShareAttr }
struct QueueAttachPara { devid: u32, qid: u32, timeout: i32 }
struct QueQueryQueueAttr { qid: i32 }
struct QueQueryQueueMbuf { qid: u32 }
struct QueQueryDeploy { qid: u32 }
union QueueQueryInput {
    queQueryQueueAttr: QueQueryQueueAttr, queQueryQueueMbuf: QueQueryQueueMbuf, queQueryDeploy: QueQueryDeploy
}
struct QueQueryQueueAttrInfo { attr: QueueShareAttr }
struct QueQueryQuesOfProcInfo { qid: i32, attr: QueueShareAttr }
struct QueQueryQueueMbufInfo { timestamp: u64 }
struct QueQueryMaxIovecNum { count: u32 }
struct QueQueryDeployInfo { deployType: u32 }
struct QueQuerySupportInterDevQue { value: u32 }
union QueueQueryOutput {
    queQueryQueueAttrInfo: QueQueryQueueAttrInfo, queQueryQuesOfProcInfo: QueQueryQuesOfProcInfo[8192],
    queQueryQueueMbufInfo: QueQueryQueueMbufInfo, queQueryMaxIovecNum: QueQueryMaxIovecNum,
    queQueryDeployInfo: QueQueryDeployInfo, queQuerySupportInterDevQue: QueQuerySupportInterDevQue
}
struct QueueSetWorkMode { qid: u32, workMode: u32 }
union QueueSetInput { queSetWorkMode: QueueSetWorkMode }
struct QueueSubPara {
    devId: u32, qid: u32, queType: QUEUE_TYPE, eventType: QUEUE_EVENT_TYPE, groupId: u32, flag: u32, threadId: u32,
    dstDevId: u32, rev: i32[7]
}
struct QueueUnsubPara { devId: u32, qid: u32, eventType: QUEUE_EVENT_TYPE, rev: i32[8] }
struct QueueEventMsg { src_location: u32, src_udevid: u32 }

from ascend_hal_define.h
struct iovec_info { iovec_base: void*, len: u64 }
struct buff_iovec { context_base: void*, context_len: u64, count: u32, ptr: iovec_info[0] }
struct shareQueInfo { peerDevId: u32, shareQueName: char[64], rsv: u32[8] }
struct DqsQueueInfo {
    qid: u32, queType: QUEUE_ENTITY_TYPE, enqueOpAddr: u64, dequeOpAddr: u64, prodqOwAddr: u64, prodqStatAddr: u64
}

enum QueEventCmd QUE_EVENT_CMD { QUE_PAUSE_EVENT = 1, QUE_RESUME_EVENT }
enum queue_entity_type QUEUE_ENTITY_TYPE {
    SOFT_ENTITY_TYPE, QMNGR_ENTITY_TYPE, GQM_ENTITY_TYPE, QUEUE_ENTITY_TYPE_MAX
}
enum queue_work_mode QUEUE_WORK_MODE { QUEUE_MODE_PUSH = 1, QUEUE_MODE_PULL }

from ascend_hal_external.h
enum queue_status QUEUE_STATUS { QUEUE_NORMAL, QUEUE_EMPTY, QUEUE_FULL }
enum queue_type QUEUE_TYPE { QUEUE_TYPE_GROUP = 1, QUEUE_TYPE_SINGLE }
enum queue_query_item QUEUE_QUERY_ITEM {
    QUERY_QUEUE_DEPTH, QUERY_QUEUE_STATUS, QUERY_QUEUE_DROP_STAT, QUERY_INTER_QUEUE_IMPORT_STATUS,
    QUERY_INTER_QUEUE_ALL_IMPORT_STATUS, QUERY_QUEUE_BUTTOM
}
enum QueueQueryCmdType {
    QUEUE_QUERY_QUE_ATTR_OF_CUR_PROC, QUEUE_QUERY_QUES_OF_CUR_PROC, QUEUE_QUERY_QUEUE_MBUF_INFO,
    QUEUE_QUERY_MAX_IOVEC_NUM, QUEUE_QUERY_DEPLOY_TYPE, QUEUE_QUERY_SUPPORT_INTER_DEV_QUE, QUEUE_QUERY_CMD_MAX
}
enum QueueSetCmdType {
    QUEUE_SET_WORK_MODE, QUEUE_ENABLE_LOCAL_QUEUE, QUEUE_ENABLE_CLIENT_EVENT_MCAST, QUEUE_SET_CMD_MAX
}
enum queue_event_type QUEUE_EVENT_TYPE { QUEUE_ENQUE_EVENT, QUEUE_F2NF_EVENT, QUEUE_EVENT_TYPE_MAX }
enum QueuePeekDataType { QUEUE_PEEK_DATA_COPY_REF, QUEUE_PEEK_DATA_TYPE_MAX }

from ascend_hal*.h
macros {
    CLIENT_QUEUE_DEPLOY = 0, LOCAL_QUEUE_DEPLOY = 1, MAX_QUEUE_NUM = 0x2000, QUEUE_INFO_RESERVE_LEN = 7,
    QUEUE_MAX_IOVEC_NUM = 0xfffffffe, QUEUE_MAX_RESERV = 5, QUEUE_MAX_STR_LEN = 128, QUEUE_RESERVE_LEN = 8,
    QUEUE_SUB_FLAG_SPEC_DST_DEVID = 2, QUEUE_SUB_FLAG_SPEC_THREAD = 1, SHARE_QUEUE_NAME_LEN = 64,
    SHARE_QUEUE_NAME_MAX_LEN = 65, PROXY_HOST_QUEUE_GRP_NAME = "proxy_host_grp"
}

from sys/time.h
struct timeval { tv_sec: i64, tv_usec: i64 }
"""
