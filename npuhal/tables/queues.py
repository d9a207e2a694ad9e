"""Submission and completion queues: creation, sending, reports, state, and messages to the task scheduler."""

TABLE = """
from ascend_hal_base.h
halSqCqAllocate(devId: u32, in: inout halSqCqInputInfo*, out: out halSqCqOutputInfo*) -> drvError_t
halSqCqFree(devId: u32, info: halSqCqFreeInfo*) -> drvError_t
halSqCqQuery(devId: u32, info: inout halSqCqQueryInfo*) -> drvError_t
halSqCqConfig(devId: u32, info: inout halSqCqConfigInfo*) -> drvError_t
halSqTaskSend(devId: u32, info: inout halTaskSendInfo*) -> drvError_t
halSqMsgSend(devId: u32, info: halSqMsgInfo*) -> drvError_t
halSqMemGet(devId: u32, in: halSqMemGetInput*, out: out halSqMemGetOutput*) -> drvError_t
halCqReportRecv(devId: u32, info: inout halReportRecvInfo*) -> drvError_t
halCqReportIrqWait(devId: u32, in: halReportInfoInput*, out: out halReportInfoOutput*) -> drvError_t
halCqReportGet(devId: u32, in: halReportGetInput*, out: out halReportGetOutput*) -> drvError_t
halReportRelease(devId: u32, info: halReportReleaseInfo*) -> drvError_t
halSqTaskArgsAsyncCopy(devId: u32, info: halSqTaskArgsInfo*) -> drvError_t
halGetTsegInfoByVa(devid: u32, va: u64, size: u64, flag: u32, tsegInfo: out halTsegInfo*) -> drvError_t
halPutTsegInfo(devid: u32, tsegInfo: halTsegInfo*) -> drvError_t
halSqSwitchStreamBatch(dev_id: u32, info: sq_switch_stream_info*, num: u32) -> drvError_t
halStreamTaskFill(dev_id: u32, stream_id: u32, stream_mem: void*, task_info: void*, task_cnt: u32) -> drvError_t
halTsdrvCtl(devId: u32, cmd: i32, param: void*, paramSize: u64, out: out void*, outSize: out u64*) -> drvError_t
drvDfxShowReport(devId: u32) -> void

from hal_pkg/trs_pkg.h
struct halSqCqInputInfo {
    type: drvSqCqType_t, tsId: u32, sqeSize: u32, cqeSize: u32, sqeDepth: u32, cqeDepth: u32, grpId: u32, flag: u32,
    cqId: u32, sqId: u32, info: u32[5], ext_info_len: u32, ext_info: void*, res: u32[5]
}
struct halSqCqFreeInfo { type: drvSqCqType_t, tsId: u32, sqId: u32, cqId: u32, flag: u32, res: u32[8] }
struct halSqCqQueryInfo {
    type: drvSqCqType_t, tsId: u32, sqId: u32, cqId: u32, prop: drvSqCqPropType_t, value: u32[8]
}
struct halSqCqConfigInfo {
    type: drvSqCqType_t, tsId: u32, sqId: u32, cqId: u32, prop: drvSqCqPropType_t, value: u32[8]
}
struct halTaskSendInfo {
    type: drvSqCqType_t, tsId: u32, sqId: u32, timeout: i32, sqe_addr: u8*, sqe_num: u32, pos: u32, res: u32[8]
}
struct halReportRecvInfo {
    type: drvSqCqType_t, tsId: u32, cqId: u32, timeout: i32, cqe_addr: u8*, cqe_num: u32, report_cqe_num: u32,
    stream_id: u32, task_id: u32, res: u32[8]
}

from ascend_hal_define.h
struct halSqCqOutputInfo { sqId: u32, cqId: u32, queueVAddr: u64, flag: u32, res: u32[5] }
struct halTsegInfo { tseg_local_flag: u32, tseg_ptr: void*, rsv: u32[16] }
struct halSqTaskArgsInfo {
    type: drvSqCqType_t, tsId: u32, sqId: u32, size: u32, src: u64, dst: u64, srcTsegInfo: halTsegInfo*,
    dstTsegInfo: halTsegInfo*, rsv: u32[4]
}
struct sq_switch_stream_info { sq_id: u32, stream_id: u32, sq_depth: u32, rsv: u32, stream_mem: void* }
struct tsdrv_ctrl_msg { tsid: u32, msg_len: u32, msg: void* }
struct trs_ext_info_header {
    type: u32, host_ssid: u32, hccp_pid: u32, cp_pid: u32, vfid: u32, rsv: u32[11], data: char[0]
}
struct callback_event_info {
    u32 { cqid:16, cb_groupid:16 }, u32 { devid:16, stream_id:16 }, u32 { event_id:16, is_block:16 }, res1: u32,
    host_func_low: u32, host_func_high: u32, fn_data_low: u32, fn_data_high: u32, res2: u32, res3: u32
}

from ascend_hal_base.h
struct halSqMsgInfo { type: drvSqCqType_t, tsId: u32, sqId: u32, cmdCount: u32, reportCount: u32, res: u32[8] }
struct halSqMemGetInput { type: drvSqCqType_t, tsId: u32, sqId: u32, cmdCount: u32, res: u32[8] }
struct halSqMemGetOutput { cmdCount: u32, cmdPtr: void*, pos: u32, res: u32[7] }
struct halReportInfoInput { type: drvSqCqType_t, grpId: u32, tsId: u32, timeout: i32, res: u32[8] }
struct halReportInfoOutput { cqIdBitmap: u64*, cqIdBitmapSize: u32, res: u32[8] }
struct halReportGetInput { type: drvSqCqType_t, tsId: u32, cqId: u32, res: u32[8] }
struct halReportGetOutput { count: u32, reportPtr: void*, res: u32[8] }
struct halReportReleaseInfo { type: drvSqCqType_t, tsId: u32, cqId: u32, count: u32, res: u32[8] }
struct drvTsExceptionInfo { tsId: u32, exception_code: u64 }

from hal_pkg/trs_pkg.h
enum tagDrvSqCqType drvSqCqType_t {
    DRV_NORMAL_TYPE, DRV_CALLBACK_TYPE, DRV_LOGIC_TYPE, DRV_SHM_TYPE, DRV_CTRL_TYPE, DRV_GDB_TYPE, DRV_INVALID_TYPE
}
enum tagDrvSqCqPropType drvSqCqPropType_t {
    DRV_SQCQ_PROP_SQ_STATUS, DRV_SQCQ_PROP_SQ_HEAD, DRV_SQCQ_PROP_SQ_TAIL, DRV_SQCQ_PROP_SQ_DISABLE_TO_ENABLE,
    DRV_SQCQ_PROP_SQ_CQE_STATUS, DRV_SQCQ_PROP_SQ_REG_BASE, DRV_SQCQ_PROP_SQ_BASE, DRV_SQCQ_PROP_SQ_DEPTH,
    DRV_SQCQ_PROP_SQ_PAUSE, DRV_SQCQ_PROP_SQ_MEM_ATTR, DRV_SQCQ_PROP_SQ_RESUME, DRV_SQCQ_PROP_SQCQ_RESET,
    DRV_SQCQ_PROP_CQ_DEPTH, DRV_SQCQ_PROP_SQE_SIZE, DRV_SQCQ_PROP_CQE_SIZE, DRV_SQCQ_PROP_H2D_ASYNC_JETTY_INFO,
    DRV_SQCQ_PROP_D2D_ASYNC_JETTY_INFO, DRV_SQCQ_PROP_MAX
}

from ascend_hal_define.h
enum tagTsDrvCtlCmdType tsDrvCtlCmdType_t {
    TSDRV_CTL_CMD_CB_GROUP_NUM_GET, TSDRV_CTL_CMD_BIND_STL, TSDRV_CTL_CMD_LAUNCH_STL, TSDRV_CTL_CMD_QUERY_STL,
    TSDRV_CTL_CMD_CTRL_MSG, TSDRV_CTL_CMD_MAX
}

from ascend_hal_base.h
enum tagDrvInterruptNum drvInterruptNum_t {
    DRV_INTERRUPT_QOS_READY, DRV_INTERRUPT_REPORT_READY, DRV_INTERRUPT_RESERVED
}
enum DRV_TS_ID { TS_AICORE, TS_AIVECTOR }

from ascend_hal*.h
macros {
    DRV_SQ_MEM_ATTR_LOCAL_MASK = 1, HWTS_RESPONSE_RSV = 3, SQCQ_CONFIG_INFO_FLAG = 7, SQCQ_CONFIG_INFO_LENGTH = 8,
    SQCQ_QUERY_INFO_FLAG = 7, SQCQ_QUERY_INFO_LENGTH = 8, SQCQ_RESV_LENGTH = 8, SQCQ_RTS_INFO_LENGTH = 5,
    SQCQ_UMAX = 0xffffffff, TSDRV_FLAG_AGENT_ID = 0x1000, TSDRV_FLAG_NO_CQ_MEM = 0x200,
    TSDRV_FLAG_NO_SQ_MEM = 0x10000, TSDRV_FLAG_ONLY_SQCQ_ID = 16, TSDRV_FLAG_PRE_ASYNC_SQ = 0x20000,
    TSDRV_FLAG_RANGE_ID = 0x2000, TSDRV_FLAG_REMOTE_ID = 32, TSDRV_FLAG_REUSE_CQ = 1, TSDRV_FLAG_REUSE_SQ = 2,
    TSDRV_FLAG_RSV_CQ_ID = 0x800, TSDRV_FLAG_RSV_SQ_ID = 0x400, TSDRV_FLAG_RTS_RSV_SQCQ_ID = 0x8000,
    TSDRV_FLAG_SHR_ID_SHADOW = 64, TSDRV_FLAG_SPECIFIED_CQ_ID = 0x100, TSDRV_FLAG_SPECIFIED_SQ_ID = 128,
    TSDRV_FLAG_SPECIFIED_SQ_MEM = 0x80000000, TSDRV_FLAG_TASK_SINK_SQ = 0x4000, TSDRV_FLAG_THREAD_BIND_IRQ = 4,
    TSRRV_FLAG_SQ_RDONLY = 8
}
"""
