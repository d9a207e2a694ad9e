# Written by `python -m npuhal.stubgen` from npuhal/tables; edit those.

from ctypes import *
from typing import Any

def names() -> list[str]: ...

class hal_dev_open_in(Structure):
    reserve: Array[c_uint64]
halDevOpenIn = hal_dev_open_in

class hal_dev_open_out(Structure):
    reserve: Array[c_uint64]
halDevOpenOut = hal_dev_open_out

class hal_dev_close_in(Structure):
    close_type: int
    reserve0: int
    reserve: Array[c_uint64]
halDevCloseIn = hal_dev_close_in

class drvDevInfo(Structure):
    fd: int

class tag_state_info(Structure):
    state: int
    devId: int
devdrv_state_info_t = tag_state_info

class halSqCqInputInfo(Structure):
    type: int
    tsId: int
    sqeSize: int
    cqeSize: int
    sqeDepth: int
    cqeDepth: int
    grpId: int
    flag: int
    cqId: int
    sqId: int
    info: Array[c_uint32]
    ext_info_len: int
    ext_info: int | None
    res: Array[c_uint32]

class halSqCqFreeInfo(Structure):
    type: int
    tsId: int
    sqId: int
    cqId: int
    flag: int
    res: Array[c_uint32]

class halSqCqQueryInfo(Structure):
    type: int
    tsId: int
    sqId: int
    cqId: int
    prop: int
    value: Array[c_uint32]

class halSqCqConfigInfo(Structure):
    type: int
    tsId: int
    sqId: int
    cqId: int
    prop: int
    value: Array[c_uint32]

class halTaskSendInfo(Structure):
    type: int
    tsId: int
    sqId: int
    timeout: int
    sqe_addr: int | None
    sqe_num: int
    pos: int
    res: Array[c_uint32]

class halReportRecvInfo(Structure):
    type: int
    tsId: int
    cqId: int
    timeout: int
    cqe_addr: int | None
    cqe_num: int
    report_cqe_num: int
    stream_id: int
    task_id: int
    res: Array[c_uint32]

class halSqCqOutputInfo(Structure):
    sqId: int
    cqId: int
    queueVAddr: int
    flag: int
    res: Array[c_uint32]

class halTsegInfo(Structure):
    tseg_local_flag: int
    tseg_ptr: int | None
    rsv: Array[c_uint32]

class halSqTaskArgsInfo(Structure):
    type: int
    tsId: int
    sqId: int
    size: int
    src: int
    dst: int
    srcTsegInfo: int | None
    dstTsegInfo: int | None
    rsv: Array[c_uint32]

class sq_switch_stream_info(Structure):
    sq_id: int
    stream_id: int
    sq_depth: int
    rsv: int
    stream_mem: int | None

class tsdrv_ctrl_msg(Structure):
    tsid: int
    msg_len: int
    msg: int | None

class trs_ext_info_header(Structure):
    type: int
    host_ssid: int
    hccp_pid: int
    cp_pid: int
    vfid: int
    rsv: Array[c_uint32]
    data: bytes

class callback_event_info(Structure):
    cqid: int
    cb_groupid: int
    devid: int
    stream_id: int
    event_id: int
    is_block: int
    res1: int
    host_func_low: int
    host_func_high: int
    fn_data_low: int
    fn_data_high: int
    res2: int
    res3: int

class halSqMsgInfo(Structure):
    type: int
    tsId: int
    sqId: int
    cmdCount: int
    reportCount: int
    res: Array[c_uint32]

class halSqMemGetInput(Structure):
    type: int
    tsId: int
    sqId: int
    cmdCount: int
    res: Array[c_uint32]

class halSqMemGetOutput(Structure):
    cmdCount: int
    cmdPtr: int | None
    pos: int
    res: Array[c_uint32]

class halReportInfoInput(Structure):
    type: int
    grpId: int
    tsId: int
    timeout: int
    res: Array[c_uint32]

class halReportInfoOutput(Structure):
    cqIdBitmap: int | None
    cqIdBitmapSize: int
    res: Array[c_uint32]

class halReportGetInput(Structure):
    type: int
    tsId: int
    cqId: int
    res: Array[c_uint32]

class halReportGetOutput(Structure):
    count: int
    reportPtr: int | None
    res: Array[c_uint32]

class halReportReleaseInfo(Structure):
    type: int
    tsId: int
    cqId: int
    count: int
    res: Array[c_uint32]

class drvTsExceptionInfo(Structure):
    tsId: int
    exception_code: int

class MemAddrInfo(Structure):
    addr: int | None
    cnt: int
    mem_type: int
    flag: int

class MemNumaInfo(Structure):
    node_cnt: int
    node_id: Array[c_int32]

class MemPhyInfo(Structure):
    total: int
    free: int
    huge_total: int
    huge_free: int
    giant_total: int
    giant_free: int

class MemSvmGrpInfo(Structure):
    name: bytes

class MemUbTokenInfo(Structure):
    va: int
    size: int
    token_id: int
    token_value: int

class MemInfo(Structure):
    phy_info: MemPhyInfo
    addr_info: MemAddrInfo
    numa_info: MemNumaInfo
    grp_info: MemSvmGrpInfo
    ub_token_info: MemUbTokenInfo

class memcpy_info(Structure):
    dir: int
    devid: int
    reserve: Array[c_uint64]

class DVattribute(Structure):
    memType: int
    resv1: int
    resv2: int
    devId: int
    pageSize: int
    resv: Array[c_uint32]

class mem_module_usage(Structure):
    name: bytes
    cur_mem_size: int
    mem_peak_size: int
    reserved: Array[c_uint64]

class computing_token(Structure):
    value: float
    type: int
    reserve_c: int
    reserve_s: int

class drvMem2D(Structure):
    dst: int | None
    dpitch: int
    src: int | None
    spitch: int
    width: int
    height: int
    fixed_size: int
    direction: int
    resv1: int
    resv2: int

class drvMem2DAsync(Structure):
    copy2dInfo: drvMem2D
    dmaAddr: int | None

class MEMCPY2D(Structure):
    type: int
    resv: int
    copy2d: drvMem2D
    copy2dAsync: drvMem2DAsync

class supportFeaturePara(Structure):
    support_feature: int
    devid: int

class AddrMapInPara(Structure):
    addr_type: int
    devid: int

class AddrMapOutPara(Structure):
    ptr: int
    len: int

class AddrUnmapInPara(Structure):
    addr_type: int
    devid: int
    ptr: int
    len: int

class MemRepairAddr(Structure):
    ptr: int
    len: int

class MemRepairInPara(Structure):
    devid: int
    count: int
    repairAddrs: Array[MemRepairAddr]

class ProcessCpMmap(Structure):
    devid: int
    ptr: int
    size: int
    flag: int

class ProcessCpMunmap(Structure):
    devid: int
    ptr: int
    size: int

class DMA_OFFSET_ADDR(Structure):
    offset: int
    devid: int

class DMA_PHY_ADDR(Structure):
    src: int | None
    dst: int | None
    len: int
    flag: int
    priv: int | None

class DMA_ADDR(Structure):
    phyAddr: DMA_PHY_ADDR
    offsetAddr: DMA_OFFSET_ADDR
    fixed_size: int
    virt_id: int

class va_info(Structure):
    size: int
    reserved: Array[c_uint8]
    va_addr: int

class hbm_pa_va_info(Structure):
    dev_id: int
    host_pid: int
    va_num: int
    va_info: Array[va_info]

class memory_fault_timestamp(Structure):
    dev_id: int
    host_pid: int
    event_id: int
    reserved: int
    syscnt: int

class halResourceIdInputInfo(Structure):
    type: int
    tsId: int
    resourceId: int
    res: Array[c_uint32]

class halResourceIdOutputInfo(Structure):
    resourceId: int
    res: Array[c_uint32]

class res_addr_info(Structure):
    id: int
    target_proc_type: int
    res_type: int
    res_id: int
    flag: int
    rudevid: int
    rsv: Array[c_uint32]

class trs_res_map_priv(Structure):
    flag: int
    local_devid: int
    remote_devid: int
    rsv: Array[c_uint32]

class halResourceConfigInfo(Structure):
    prop: int
    value: Array[c_uint32]

class halResourceDetailInfo(Structure):
    type: int
    value0: int
    value1: int
    reserve: Array[c_uint32]

class res_map_info_in(Structure):
    id: int
    target_proc_type: int
    res_type: int
    res_id: int
    flag: int
    priv_len: int
    priv: int | None
    rsv: Array[c_uint32]

class res_map_info_out(Structure):
    va: int
    len: int
    rsv: Array[c_uint32]

class halResourceInfo(Structure):
    capacity: int
    usedNum: int
    reserve: Array[c_uint32]

class drvResIdKey(Structure):
    ruDevId: int
    tsId: int
    resType: int
    resId: int
    flag: int
    rsv: Array[c_uint32]

class drvNotifyInfo(Structure):
    tsId: int
    notifyId: int
    devAddrOffset: int

class res_map_info(Structure):
    target_proc_type: int
    res_type: int
    res_id: int
    flag: int
    rsv: Array[c_uint32]

class hal_chip_info(Structure):
    type: Array[c_uint8]
    name: Array[c_uint8]
    version: Array[c_uint8]
halChipInfo = hal_chip_info

class halSDIDParseInfo(Structure):
    server_id: int
    chip_id: int
    die_id: int
    udevid: int
    reserve: Array[c_uint32]

class halCapabilityInfo(Structure):
    sdma_reduce_support: int
    memory_support: int
    ts_group_number: int
    sdma_reduce_kind: int
    res: Array[c_uint32]

class capability_group_info(Structure):
    group_id: int
    state: int
    extend_attribute: int
    aicore_number: int
    aivector_number: int
    sdma_number: int
    aicpu_number: int
    active_sq_number: int
    aicore_mask: Array[c_uint32]
    vfid: int
    poolid: int
    poolid_max: int
    res: Array[c_uint32]

class halSingleCpuTopologyInfo(Structure):
    cpu_mask: int
    cpu_id: int
    is_share: int
    phy_cpu_id: int
    hyperthread_id: int

class halCpuTopologyInfo(Structure):
    total_nums: int
    single_cpu_topo_info: Array[halSingleCpuTopologyInfo]

class HAL_CC_MODE(Structure):
    cc_mode: int
    crypto_mode: int
    resv: Array[c_uint32]

class HAL_CC_INFO(Structure):
    cc_running_info: HAL_CC_MODE
    cc_cfg_info: HAL_CC_MODE

class hal_ub_status(Structure):
    ub_link_status: int
    ub_port_status: Array[c_int]

class HAL_PCIE_INFO(Structure):
    domain: int
    bus: int
    device: int
    function: int
    reserved: Array[c_uint32]

class drv_sqe_update_info(Structure):
    sq_id: int
    sqe_pos: int

class halAsyncDmaInputPara(Structure):
    type: int
    tsId: int
    sqId: int
    dir: int
    len: int
    async_dma_type: int
    src: int | None
    dst: int | None
    info: drv_sqe_update_info
    rsv: Array[c_uint32]

class halAsyncDmaOutputPara(Structure):
    dieId: int
    functionId: int
    jettyId: int
    size: int
    wqe: int | None
    pi: int
    fixedSize: int
    fixedCnt: int
    dma_addr: DMA_ADDR
    rsv: Array[c_uint32]

class halAsyncDmaDestoryPara(Structure):
    type: int
    tsId: int
    sqId: int
    size: int
    wqe: int | None
    dma_addr: int | None
    rsv: Array[c_uint32]

class halAsyncDmaInput2DPara(Structure):
    type: int
    tsId: int
    sqId: int
    dir: int
    dst: int | None
    dpitch: int
    src: int | None
    spitch: int
    width: int
    height: int
    fixedSize: int
    rsv: Array[c_uint32]

class halAsyncDmaDestroy2DPara(Structure):
    type: int
    tsId: int
    sqId: int
    ci: int
    rsv: Array[c_uint32]

class halAsyncDmaInputBatchPara(Structure):
    type: int
    tsId: int
    sqId: int
    dir: int
    dst: int | None
    src: int | None
    len: int | None
    count: int
    rsv: Array[c_uint32]

class halAsyncDmaDestroyBatchPara(Structure):
    type: int
    tsId: int
    sqId: int
    ci: int
    rsv: Array[c_uint32]

class halAsyncDmaJettyCreateIn(Structure):
    jettyType: int
    piMode: int
    dir: int
    depth: int
    rsv: Array[c_uint32]

class halAsyncJettyHandle(Structure):
    handle: bytes
    rsv: Array[c_uint32]

class halAsyncDmaJettyCreateOut(Structure):
    jettyHandle: int | None
    rsv: Array[c_uint32]

class halAsyncJettyDestroyPara(Structure):
    jettyHandle: int | None
    rsv: Array[c_uint32]

class halAsyncDmaJettyQueryIn(Structure):
    jettyHandle: int | None
    rsv: Array[c_uint32]

class halAsyncDmaJettyQueryOut(Structure):
    dieId: int
    funcId: int
    jettyId: int
    rsv: Array[c_uint32]

class drv2dWqeInputPara(Structure):
    dst: int | None
    dpitch: int
    src: int | None
    spitch: int
    width: int
    height: int
    fixedSize: int

class drvBatchWqeInputPara(Structure):
    dst: int | None
    src: int | None
    len: int | None
    count: int

class drvNopWqeInputPara(Structure):
    nopCnt: int

class drvNormalWqeInputPara(Structure):
    asyncDmaType: int
    len: int
    src: int | None
    dst: int | None
    info: drv_sqe_update_info

class halAsyncDmaWqeInputPara(Structure):
    wqeType: int
    wqeBuffer: int | None
    wqeBufferLen: int
    normal: drvNormalWqeInputPara
    batch: drvBatchWqeInputPara
    matrix2d: drv2dWqeInputPara
    nop: drvNopWqeInputPara
    rsv: Array[c_uint32]

class halAsyncDmaWqeOutputPara(Structure):
    wqeCnt: int
    fixedCnt: int
    fixedSize: int
    rsv: Array[c_uint32]

class halAsyncDmaJettyFillInfo(Structure):
    jettyHandle: int | None
    offset: int
    srcWqe: int | None
    size: int
    rsv: Array[c_uint32]

class drv_mem_prop(Structure):
    side: int
    devid: int
    module_id: int
    pg_type: int
    mem_type: int
    reserve: int

class drv_mem_location(Structure):
    id: int
    side: int

class drv_mem_access_desc(Structure):
    type: int
    location: drv_mem_location
    rsv: Array[c_uint32]

class MemShareHandle(Structure):
    share_info: Array[c_uint8]

class HandleAttr(Structure):
    mem_map_route: int
    rsv: Array[c_uint32]

class ShareHandleAttr(Structure):
    enableFlag: int
    rsv: Array[c_uint32]

class ShareHandleGetInfo(Structure):
    phyDevid: int
    reserve: Array[c_uint32]

class halEventFilter(Structure):
    filter_flag: int
    event_id: int
    severity: int
    node_type: int
    resv: Array[c_uint8]

class halFaultEventInfo(Structure):
    alarm_raised_time: int
    event_id: int
    tgid: int
    event_serial_num: int
    notify_serial_num: int
    deviceid: int
    node_type: int
    sub_node_type: int
    node_id: int
    sub_node_id: int
    severity: int
    assertion: int
    event_name: bytes
    additional_info: bytes
    os_id: int
    resv: Array[c_uint8]

class hal_repair_fault_info(Structure):
    fault_type: int
    payload_size: int
    payload: int | None
halRepairFaultInfo = hal_repair_fault_info

class hal_fault_occurr_syscnt(Structure):
    reserved: int
    event_id: int
    sys_cnt: int
HAL_FAULT_OCCUR_SYSCNT_STRU = hal_fault_occurr_syscnt

class hal_fault_event_resume(Structure):
    event_id: int
    node_type: int
    node_id: int
    resv: Array[c_uint8]

class process_sign(Structure):
    tgid: int
    sign: bytes
    resv: bytes

class drvBindHostpidInfo(Structure):
    host_pid: int
    vfid: int
    chip_id: int
    mode: int
    cp_type: int
    len: int
    sign: bytes

class halQueryDevpidInfo(Structure):
    hostpid: int
    devid: int
    vfid: int
    proc_type: int
    resv: bytes

class drv_process_status_output(Structure):
    result: int
    reserve: Array[c_uint32]

class ShmemGetInfo(Structure):
    phyDevid: int
    reserve: Array[c_uint32]

class drvMemSharingPara(Structure):
    ptr: int | None
    size: int
    id: int
    side: int
    accessor: int
    pg_prot: int
    enable_flag: int
    resv: Array[c_uint32]

class drvShrIdInfo(Structure):
    devid: int
    tsid: int
    id_type: int
    shrid: int
    flag: int
    rsv: Array[c_uint32]

class shrIdGetInfo(Structure):
    phyDevid: int
    rsv: Array[c_uint32]

class shrIdAttr(Structure):
    enableFlag: int
    rsv: Array[c_uint32]

class drvIpcNotifyInfo(Structure):
    tsId: int
    devId: int
    notifyId: int

class drv_uvm_location(Structure):
    type: int
    id: int

class soma_mem_pool_t(Structure):
    poolId: int
    devId: int

class soma_mem_pool_prop(Structure):
    handle_type: int
    mem_prop: drv_mem_prop
    va: int
    maxSize: int

class soma_mem_pool_ptr_export_data(Structure):
    pool_offset: int
    size: int

class stream_backup_info(Structure):
    type: int
    id_num: int
    id_list: int | None
    rsv1: int
    va_num: int
    va_list: int | None
    rsv: bytes

class hal_proc_res_backup_info(Structure):
    reserve: Array[c_uint64]
halProcResBackupInfo = hal_proc_res_backup_info

class hal_proc_res_restore_info(Structure):
    reserve: Array[c_uint64]
halProcResRestoreInfo = hal_proc_res_restore_info

class event_info_common(Structure):
    event_id: int
    subevent_id: int
    pid: int
    host_pid: int
    grp_id: int
    submit_timestamp: int
    sched_timestamp: int

class event_info_priv(Structure):
    msg_len: int
    msg: bytes

class event_info(Structure):
    comm: event_info_common
    priv: event_info_priv

class esched_grp_para(Structure):
    type: int
    threadNum: int
    grp_name: bytes
    rsv: Array[c_int32]

class event_summary(Structure):
    pid: int
    grp_id: int
    event_id: int
    subevent_id: int
    msg_len: int
    msg: int | None
    dst_engine: int
    policy: int
    tid: int
    rsv: Array[c_int32]

class esched_input_info(Structure):
    inBuff: int | None
    inLen: int

class esched_output_info(Structure):
    outBuff: int | None
    outLen: int

class event_sync_msg(Structure):
    dev_id: int
    pid: int
    dst_engine: int
    gid: int
    tid: int
    event_id: int
    subevent_id: int
    msg: bytes

class esched_table_key(Structure):
    key: int | None
    key_len: int

class esched_table_key_entry_stat(Structure):
    matchNum: int
    rsv: Array[c_uint32]

class esched_table_op_send_event(Structure):
    dev_id: int
    dst_engine: int
    policy: int
    gid: int
    event_id: int
    sub_event_id: int
    data_src: int
    data: Array[c_uint8]
    data_len: int

class esched_table_op_next_table(Structure):
    dev_id: int
    table_id: int

class esched_table_entry(Structure):
    op: int
    send_event: esched_table_op_send_event
    next_table: esched_table_op_next_table

class event_reply(Structure):
    buf: int | None
    buf_len: int
    reply_len: int

class esched_query_gid_input(Structure):
    pid: int
    grp_name: bytes

class esched_query_gid_output(Structure):
    grp_id: int

class event_sched_grp_qos(Structure):
    maxNum: int
    rsv: Array[c_uint32]

class event_proc_result(Structure):
    ret: int
    data: bytes

class QueueStat(Structure):
    enqueCnt: int
    dequeCnt: int
    enqueFailCnt: int
    dequeFailCnt: int
    enqueEventOk: int
    enqueEventFail: int
    f2nfEventOk: int
    f2nfEventFail: int
    lastEnqueTime: timeval
    lastDequeTime: timeval
    reserve: Array[c_int32]

class QueueInfo(Structure):
    id: int
    name: bytes
    size: int
    depth: int
    status: int
    workMode: int
    type: int
    subGroupId: int
    subPid: int
    subF2NFGroupId: int
    subF2NFPid: int
    headDataPtr: int | None
    entity_type: int
    reserve: Array[c_int32]
    stat: QueueStat

class QueueAttr(Structure):
    name: bytes
    depth: int
    workMode: int
    flowCtrlFlag: bool
    flowCtrlDropTime: int
    overWriteFlag: bool
    deploy_type: int
    queue_entity_type: int
    resv: int

class QueueShareAttr(Structure):
    manage: int
    read: int
    write: int
    rsv: int

class QueueQueryInputPara(Structure):
    inBuff: int | None
    inLen: int

class QueueQueryOutputPara(Structure):
    outBuff: int | None
    outLen: int

class QueueSetInputPara(Structure):
    inBuff: int | None
    inLen: int

class QidsOfPid(Structure):
    qids: int | None
    queNum: int
    reserve: Array[c_uint32]

class QUEUE_DROP_PKT_STAT(Structure):
    enqueDropCnt: int
    dequeDropCnt: int

class QueueSubscriber(Structure):
    devId: int
    pid: int
    spGrpId: int
    groupId: int
    rsv: Array[c_int32]

class QueueGrantPara(Structure):
    devid: int
    qid: int
    pid: int
    attr: QueueShareAttr

class QueueAttachPara(Structure):
    devid: int
    qid: int
    timeout: int

class QueQueryQueueAttr(Structure):
    qid: int

class QueQueryQueueMbuf(Structure):
    qid: int

class QueQueryDeploy(Structure):
    qid: int

class QueueQueryInput(Union):
    queQueryQueueAttr: QueQueryQueueAttr
    queQueryQueueMbuf: QueQueryQueueMbuf
    queQueryDeploy: QueQueryDeploy

class QueQueryQueueAttrInfo(Structure):
    attr: QueueShareAttr

class QueQueryQuesOfProcInfo(Structure):
    qid: int
    attr: QueueShareAttr

class QueQueryQueueMbufInfo(Structure):
    timestamp: int

class QueQueryMaxIovecNum(Structure):
    count: int

class QueQueryDeployInfo(Structure):
    deployType: int

class QueQuerySupportInterDevQue(Structure):
    value: int

class QueueQueryOutput(Union):
    queQueryQueueAttrInfo: QueQueryQueueAttrInfo
    queQueryQuesOfProcInfo: Array[QueQueryQuesOfProcInfo]
    queQueryQueueMbufInfo: QueQueryQueueMbufInfo
    queQueryMaxIovecNum: QueQueryMaxIovecNum
    queQueryDeployInfo: QueQueryDeployInfo
    queQuerySupportInterDevQue: QueQuerySupportInterDevQue

class QueueSetWorkMode(Structure):
    qid: int
    workMode: int

class QueueSetInput(Union):
    queSetWorkMode: QueueSetWorkMode

class QueueSubPara(Structure):
    devId: int
    qid: int
    queType: int
    eventType: int
    groupId: int
    flag: int
    threadId: int
    dstDevId: int
    rev: Array[c_int32]

class QueueUnsubPara(Structure):
    devId: int
    qid: int
    eventType: int
    rev: Array[c_int32]

class QueueEventMsg(Structure):
    src_location: int
    src_udevid: int

class iovec_info(Structure):
    iovec_base: int | None
    len: int

class buff_iovec(Structure):
    context_base: int | None
    context_len: int
    count: int
    ptr: Array[iovec_info]

class shareQueInfo(Structure):
    peerDevId: int
    shareQueName: bytes
    rsv: Array[c_uint32]

class DqsQueueInfo(Structure):
    qid: int
    queType: int
    enqueOpAddr: int
    dequeOpAddr: int
    prodqOwAddr: int
    prodqStatAddr: int

class timeval(Structure):
    tv_sec: int
    tv_usec: int

class GroupCfg(Structure):
    maxMemSize: int
    cacheAllocFlag: int
    privMbufFlag: int
    addGrpTimeout: int
    rsv: Array[c_int32]

class memZoneCfg(Structure):
    cfg_id: int
    total_size: int
    blk_size: int
    max_buf_size: int
    page_type: int
    elasticEnable: int
    elasticRate: int
    elasticRateMax: int
    elasticHighLevel: int
    elasticLowLevel: int
    rsv: Array[c_int32]

class BuffCfg(Structure):
    cfg: Array[memZoneCfg]

class GrpCacheAllocPara(Structure):
    memSize: int
    memFlag: int
    allocMaxSize: int
    rsv: Array[c_int32]

class DqsPoolInfo(Structure):
    poolId: int
    poolDepth: int
    dataPoolAlign: int
    dataPoolHugePageFlag: int
    dataPoolBaseAddr: int
    dataPoolBlkSize: int
    dataPoolBlkObjSize: int
    dataPoolBlkOffset: int
    dataPoolGroupId: int
    headPoolBaseAddr: int
    headPoolBlkSize: int
    headPoolBlkObjSize: int
    headPoolBlkOffset: int
    headPoolGroupId: int
    allocOpAddr: int
    freeOpAddr: int
    copyRefOpAddr: int
    mngPoolBaseAddr: int
    mngPoolBlkSize: int
    mngPoolBlkObjSize: int
    mngPoolBlkOffset: int
    mngPoolGroupId: int

class GrpQueryGroup(Structure):
    grpName: bytes

class GrpQueryGroupsOfProc(Structure):
    pid: int

class GrpQueryGroupId(Structure):
    grpName: bytes

class GrpQueryGroupAddrPara(Structure):
    grpName: bytes
    devId: int

class GroupQueryInput(Union):
    grpQueryGroup: GrpQueryGroup
    grpQueryGroupsOfProc: GrpQueryGroupsOfProc
    grpQueryGroupId: GrpQueryGroupId
    grpQueryGroupAddrPara: GrpQueryGroupAddrPara

class GrpQueryGroupInfo(Structure):
    pid: int
    attr: GroupShareAttr

class GrpQueryGroupsOfProcInfo(Structure):
    groupName: bytes
    attr: GroupShareAttr

class GrpQueryGroupIdInfo(Structure):
    groupId: int

class GroupQueryOutput(Union):
    grpQueryGroupInfo: Array[GrpQueryGroupInfo]
    grpQueryGroupsOfProcInfo: Array[GrpQueryGroupsOfProcInfo]
    grpQueryGroupIdInfo: GrpQueryGroupIdInfo
    grpQueryGroupAddrInfo: Array[GrpQueryGroupAddrInfo]

class PubPoolAttr(Structure):
    pubPoolCfg: Array[Any]

class MbufTimeoutCheckPara(Structure):
    enableFlag: int
    maxRecordNum: int
    timeout: int
    checkPeriod: int

class MbufDataInfo(Structure):
    mp: int | None
    owner: int
    ref: int
    blkSize: int
    totalBlkNum: int
    availableNum: int
    allocFailCnt: int

class MbufDebugInfo(Structure):
    timeStamp: int
    mbuf: int | None
    usePid: int
    allocPid: int
    useTime: int
    round: int
    dataInfo: MbufDataInfo
    poolName: bytes
    reserve: Array[c_int32]

class MbufUseInfo(Structure):
    allocPid: int
    usePid: int
    ref: int
    status: int
    timestamp: int
    reserve: Array[c_int32]

class MbufTypeInfo(Structure):
    type: int

class BuffTypeInfo(Structure):
    type: int

class MemPoolInfo(Structure):
    blk_start: int | None
    blk_total_len: int

class MpBlkAvailable(Structure):
    blk_available: int

class buf_scale_event(Structure):
    type: int
    grpId: int
    addr: int
    size: int

class PoolInfo(Structure):
    dataPoolSize: int
    dataPoolStart: int | None
    mbufPoolSize: int
    mbufPoolStart: int | None

class MbufInfoConverge(Structure):
    totalLen: int
    dataLen: int
    privUserDataLen: int
    dataBlock: int | None
    privUserData: int | None

class MemPoolBasicStatus(Structure):
    poolName: bytes
    blkNum: int
    blkAvailable: int
    peakStat: int
    mpHandle: int | None

class MemPoolUsageByProcess(Structure):
    pid: int
    totalMemPool: int
    mpBasicStatus: Array[MemPoolBasicStatus]

class MemPoolUsedByPidStatus(Structure):
    pid: int
    mbufNum: int

class MemPoolUsedStatus(Structure):
    poolName: bytes
    blkNum: int
    blkAvailable: int
    maxPidRecord: int
    usedByPid: Array[MemPoolUsedByPidStatus]

class mbuf_owner_info(Structure):
    op_type: int
    owner_id: int
    op_qid: int

class mbuf_owner_info_ext(Structure):
    op_type: int
    owner_id: Array[c_uint8]
    op_qid: int

class dqs_mbuf_owner_info(Union):
    bits: mbuf_owner_info
    ext_bits: mbuf_owner_info_ext
    value: int

class dqs_mbuf_prod_trace(Structure):
    prod_owner_info: dqs_mbuf_owner_info
    alloc_req_time: int
    prodq_enque_time: int
    prod_free_time: int

class dqs_mbuf_cons_trace(Structure):
    cons_owner_info: dqs_mbuf_owner_info
    cons_deque_copy_ref_time: int
    cons_free_time: int

class GroupShareAttr(Structure):
    admin: int
    read: int
    write: int
    alloc: int
    rsv: int

class GrpQueryGroupAddrInfo(Structure):
    addr: int
    size: int

class buffPoolStat(Structure):
    owner: int
    align: int
    status: int
    totalBlkNum: int
    freeBlkNum: int
    blkSize: int
    overTimeValue: int
    overTimeBlkNumSum: int
    overTimeBlkNumCur: int
    maxBusyBlkNum: int
    maxBusyTime: int
    allocFailCount: int
    reserve: Array[c_int32]

class buff_cfg(Structure):
    cfg_id: int
    total_size: int
    blk_size: int
    max_buf_size: int
    page_type: int
    reserve: Array[c_int32]

class mp_attr(Structure):
    devid: int
    mGroupId: int
    blkSize: int
    blkNum: int
    align: int
    hugePageFlag: int
    poolName: bytes
    poolType: int
    useFlag: int
    reserve: Array[c_int32]
mpAttr = mp_attr

class memzone_buff_cfg(Structure):
    num: int
    cfg_info: int | None
