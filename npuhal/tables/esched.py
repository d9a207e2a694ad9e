"""The event scheduler between host threads and device processors."""

TABLE = """
from ascend_hal_external.h
halEschedAttachDevice(devId: u32) -> drvError_t
halEschedCreateGrp(devId: u32, grpId: u32, type: GROUP_TYPE) -> drvError_t
halEschedSubscribeEvent(devId: u32, grpId: u32, threadId: u32, eventBitmap: u64) -> drvError_t
halEschedWaitEvent(devId: u32, grpId: u32, threadId: u32, timeout: i32, event: out event_info*) -> drvError_t

from ascend_hal_base.h
halEschedDettachDevice(devId: u32) -> drvError_t
halEschedCreateGrpEx(devId: u32, grpPara: esched_grp_para*, grpId: out u32*) -> drvError_t
halEschedQueryInfo(
        devId: u32, type: ESCHED_QUERY_TYPE, inPut: esched_input_info*, outPut: out esched_output_info*
) -> drvError_t
halEschedSubmitEvent(devId: u32, event: event_summary*) -> drvError_t
halEschedSubmitEventSync(devId: u32, event: event_summary*, timeout: i32, reply: out event_reply*) -> drvError_t
halEschedThreadSwapout(devId: u32, grpId: u32, threadId: u32) -> drvError_t
halEschedAckEvent(devId: u32, eventId: EVENT_ID, subeventId: u32, msg: char*, msgLen: u32) -> drvError_t

from ascend_hal_external.h
struct event_info_common {
    event_id: EVENT_ID, subevent_id: u32, pid: i32, host_pid: i32, grp_id: u32, submit_timestamp: u64,
    sched_timestamp: u64
}
struct event_info_priv { msg_len: u32, msg: char[128] }
struct event_info { comm: event_info_common, priv: event_info_priv }
struct esched_grp_para { type: GROUP_TYPE, threadNum: u32, grp_name: char[16], rsv: i32[3] }
struct event_summary {
    pid: i32, grp_id: u32, event_id: EVENT_ID, subevent_id: u32, msg_len: u32, msg: char*, dst_engine: u32,
    policy: SCHEDULE_POLICY, tid: u32, rsv: i32[3]
}

from hal_pkg/esched_pkg.h
struct esched_input_info { inBuff: void*, inLen: u32 }
struct esched_output_info { outBuff: void*, outLen: u32 }
struct event_sync_msg {
    u32 { dev_id:6, pid:22, dst_engine:4 }, u32 { gid:6, tid:8, event_id:6, subevent_id:12 }, msg: char[0]
}
struct esched_table_key { key: u8*, key_len: u32 }
struct esched_table_key_entry_stat { matchNum: u64, rsv: u32[8] }
struct esched_table_op_send_event {
    dev_id: u32, dst_engine: u32, policy: u32, gid: u32, event_id: u32, sub_event_id: u32,
    data_src: esched_data_src_type, data: u8[32], data_len: u32
}
struct esched_table_op_next_table { dev_id: u32, table_id: u32 }
struct esched_table_entry {
    op: esched_table_op_type,
    union { send_event: esched_table_op_send_event, next_table: esched_table_op_next_table }
}

from ascend_hal_define.h
struct event_reply { buf: char*, buf_len: u32, reply_len: u32 }
struct esched_query_gid_input { pid: i32, grp_name: char[16] }
struct esched_query_gid_output { grp_id: u32 }
struct event_sched_grp_qos { maxNum: u32, rsv: u32[7] }
struct event_proc_result { ret: i32, data: char[36] }

from hal_pkg/esched_pkg.h
enum esched_query_type ESCHED_QUERY_TYPE { QUERY_TYPE_LOCAL_GRP_ID, QUERY_TYPE_REMOTE_GRP_ID, QUERY_TYPE_MAX }
enum esched_table_op_type {
    ESCHED_TABLE_OP_SEND_EVENT, ESCHED_TABLE_OP_NEXT_TABLE, ESCHED_TABLE_OP_DROP, ESCHED_TABLE_OP_MAX
}
enum esched_data_src_type {
    ESCHED_DATA_SRC_NONE, ESCHED_DATA_SRC_RAW_DATA, ESCHED_DATA_SRC_KEY, ESCHED_DATA_SRC_USR_CFG,
    ESCHED_DATA_SRC_MAX
}

from ascend_hal_define.h
enum group_type GROUP_TYPE {
    GRP_TYPE_UNINIT, GRP_TYPE_BIND_DP_CPU, GRP_TYPE_BIND_CP_CPU, GRP_TYPE_BIND_DP_CPU_EXCLUSIVE
}
enum submit_flag SUBMIT_FLAG { SHARED_EVENT_ENTRY, SINGLE_EVENT_ENTRY }
enum schedule_dst_engine SCHEDULE_DST_ENGINE {
    ACPU_DEVICE, ACPU_HOST, CCPU_DEVICE, CCPU_HOST, DCPU_DEVICE, TS_CPU, DVPP_CPU, ACPU_LOCAL, CCPU_LOCAL,
    VIRTUAL_CCPU_HOST, SPECIFYED_CCPU_DEVICE, SPECIFYED_ACPU_DEVICE, DST_ENGINE_MAX
}
enum schedule_policy SCHEDULE_POLICY { ONLY, FIRST, POLICY_MAX }
enum event_id EVENT_ID {
    EVENT_RANDOM_KERNEL, EVENT_DVPP_MSG, EVENT_FR_MSG, EVENT_TS_HWTS_KERNEL, EVENT_AICPU_MSG, EVENT_TS_CTRL_MSG,
    EVENT_QUEUE_ENQUEUE, EVENT_QUEUE_FULL_TO_NOT_FULL, EVENT_QUEUE_EMPTY_TO_NOT_EMPTY, EVENT_TDT_ENQUEUE,
    EVENT_TIMER, EVENT_HCFI_SCHED_MSG, EVENT_HCFI_EXEC_MSG, EVENT_ROS_MSG_LEVEL0, EVENT_ROS_MSG_LEVEL1,
    EVENT_ROS_MSG_LEVEL2, EVENT_ACPU_MSG_TYPE0, EVENT_ACPU_MSG_TYPE1, EVENT_ACPU_MSG_TYPE2, EVENT_CCPU_CTRL_MSG,
    EVENT_SPLIT_KERNEL, EVENT_DVPP_MPI_MSG, EVENT_CDQ_MSG, EVENT_FFTS_PLUS_MSG, EVENT_DRV_MSG, EVENT_QS_MSG,
    EVENT_TS_CALLBACK_MSG, EVENT_DRV_MSG_EX, EVENT_TEST, EVENT_STARS_DQS_ERR = 46, EVENT_HCCP_MSG, EVENT_USR_START,
    EVENT_USR_END = 63, EVENT_MAX_NUM
}
enum drv_subevent_id DRV_SUBEVENT_ID {
    DRV_SUBEVENT_QUEUE_INIT_MSG, DRV_SUBEVENT_HDC_INIT_MSG, DRV_SUBEVENT_CREATE_MSG, DRV_SUBEVENT_GRANT_MSG,
    DRV_SUBEVENT_ATTACH_MSG, DRV_SUBEVENT_DESTROY_MSG, DRV_SUBEVENT_SUBE2NE_MSG, DRV_SUBEVENT_UNSUBE2NE_MSG,
    DRV_SUBEVENT_SUBF2NF_MSG, DRV_SUBEVENT_UNSUBF2NF_MSG, DRV_SUBEVENT_PEEK_MSG, DRV_SUBEVENT_ENQUEUE_MSG,
    DRV_SUBEVENT_DEQUEUE_MSG, DRV_SUBEVENT_FINISH_CALLBACK_MSG, DRV_SUBEVENT_QUEUE_DFX_MSG,
    DRV_SUBEVENT_QUEUE_ALIVE_MSG, DRV_SUBEVENT_QUEUE_RESET_MSG, DRV_SUBEVENT_QUEUE_COMM_MSG_START,
    DRV_SUBEVENT_QUEUE_EXPORT_INTER_DEV_MSG = 17, DRV_SUBEVENT_QUEUE_UNEXPORT_INTER_DEV_MSG,
    DRV_SUBEVENT_QUEUE_IMPORT_MSG, DRV_SUBEVENT_QUEUE_IMPORT_INTER_DEV_MSG,
    DRV_SUBEVENT_QUEUE_UNIMPORT_INTER_DEV_MSG, DRV_SUBEVENT_SUBF2NF_INTER_DEV_MSG,
    DRV_SUBEVENT_UNSUBF2NF_INTER_DEV_MSG, DRV_SUBEVENT_QUERY_MSG, DRV_SUBEVENT_GET_QUEUE_STATUS_MSG,
    DRV_SUBEVENT_ATTACH_INTER_DEV_MSG, DRV_SUBEVENT_QUEUE_COMM_MSG_BUTT, DRV_SUBEVENT_QUEUE_MAX_NUM = 27,
    DRV_SUBEVENT_TRS_ALLOC_RES_ID_MSG = 32, DRV_SUBEVENT_TRS_FREE_RES_ID_MSG, DRV_SUBEVENT_TRS_RES_ID_CONFIG_MSG,
    DRV_SUBEVENT_TRS_ALLOC_SQCQ_MSG, DRV_SUBEVENT_TRS_FREE_SQCQ_MSG, DRV_SUBEVENT_TRS_SHR_ID_CONFIG_MSG,
    DRV_SUBEVENT_TRS_SHR_ID_DECONFIG_MSG, DRV_SUBEVENT_TRS_SHR_ID_INFO_GET_MSG = 56,
    DRV_SUBEVENT_TRS_SHR_ID_ADDR_MAP_MSG, DRV_SUBEVENT_ESCHED_SCHED_MODE_CHANGE_MSG = 64,
    DRV_SUBEVENT_PROF_START_MSG = 96, DRV_SUBEVENT_PROF_STOP_MSG, DRV_SUBEVENT_PROF_FLUSH_MSG,
    DRV_SUBEVENT_PROF_GET_CHAN_LIST_MSG, DRV_SUBEVENT_PROF_HOST_SAMPLE_START_MSG = 110,
    DRV_SUBEVENT_PROF_HOST_SAMPLE_STOP_MSG, DRV_SUBEVENT_SVM_DEV_OPEN_MSG = 128, DRV_SUBEVENT_SVM_DEV_CLOSE_MSG,
    DRV_SUBEVENT_SVM_ALLOC_JETTY_MSG, DRV_SUBEVENT_SVM_PCI_ALLOC_MEM_MSG, DRV_SUBEVENT_SVM_UB_ALLOC_MEM_MSG,
    DRV_SUBEVENT_SVM_FREE_MEM_MSG, DRV_SUBEVENT_SVM_MEMSET_MSG, DRV_SUBEVENT_SVM_ADD_GRP_MSG,
    DRV_SUBEVENT_SVM_D2D_COPY_MSG, DRV_SUBEVENT_SVM_GET_MEMSIZE_INFO_MSG, DRV_SUBEVENT_SVM_REGISTER_MEM_MSG,
    DRV_SUBEVENT_SVM_UNREGISTER_MEM_MSG, DRV_SUBEVENT_SVM_ADD_GRP_PROC_MSG, DRV_SUBEVENT_SVM_PROCESS_CP_MMAP_MSG,
    DRV_SUBEVENT_SVM_PROCESS_CP_MUNMAP_MSG, DRV_SUBEVENT_DMS_START_MSG = 160, DRV_SUBEVENT_DMS_STOP_MSG = 191,
    DRV_SUBEVENT_HDC_CREATE_LINK_MSG, DRV_SUBEVENT_HDC_CLOSE_LINK_MSG, DRV_SUBEVENT_DPA_RES_MAP_MSG = 224,
    DRV_SUBEVENT_DPA_RES_UNMAP_MSG, DRV_SUBEVENT_DPA_END_MSG = 255, DRV_SUBEVENT_MAX_MSG
}
enum schedule_priority SCHEDULE_PRIORITY {
    PRIORITY_LEVEL0, PRIORITY_LEVEL1, PRIORITY_LEVEL2, PRIORITY_LEVEL3, PRIORITY_LEVEL4, PRIORITY_LEVEL5,
    PRIORITY_LEVEL6, PRIORITY_LEVEL7, PRIORITY_MAX
}

from ascend_hal*.h
macros {
    ESCHED_GRP_PARA_RSV = 3, ESCHED_USR_CFG_DATA_MAX_LEN = 32, EVENT_MAX_GRP_NAME_LEN = 16, EVENT_MAX_MSG_LEN = 128,
    EVENT_PROC_RSP_LEN = 36, EVENT_SRC_LOCATION_DEVICE = 0, EVENT_SRC_LOCATION_HOST = 1, EVENT_SUMMARY_RSV = 3,
    EVENT_DRV_MSG_GRP_NAME = "drv_msg_grp"
}
"""
