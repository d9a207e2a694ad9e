"""The multiplexer /dev/davinci_manager, the task scheduler driver (TSDRV) and shared notify ids (TRS_SHR_ID)."""

TABLE = """
from sdk_driver
requests davinci_manager Z none davinci_intf_open_arg { DAVINCI_INTF_IOCTL_OPEN = 0 }
requests davinci_manager Z none davinci_intf_close_arg { DAVINCI_INTF_IOCTL_CLOSE = 1 }
requests davinci_manager Z none { DAVINCI_INTF_IOCTL_GET_MODULE_STATUS = 2 }
requests TSDRV X both trs_res_id_para {
    TRS_RES_ID_ALLOC = 0, TRS_RES_ID_NUM_QUERY = 4, TRS_RES_ID_MAX_QUERY, TRS_RES_ID_USED_NUM_QUERY,
    TRS_RES_ID_AVAIL_NUM_QUERY, TRS_RES_ID_REG_OFFSET_QUERY, TRS_RES_ID_REG_SIZE_QUERY
}
requests TSDRV X write trs_res_id_para {
    TRS_RES_ID_FREE = 1, TRS_RES_ID_ENABLE, TRS_RES_ID_DISABLE, TRS_RES_ID_CFG = 10
}
requests TSDRV X both trs_ssid_query_para { TRS_SSID_QUERY = 11 }
requests TSDRV X both trs_hw_info_query_para { TRS_HW_INFO_QUERY = 12 }
requests TSDRV X both trs_ctrl_msg_para { TRS_MSG_CTRL = 13 }
requests TSDRV X both halSqCqInputInfo { TRS_SQCQ_ALLOC = 15, TRS_ID_SQCQ_GET = 27, TRS_ID_SQCQ_RESTORE }
requests TSDRV X write halSqCqFreeInfo { TRS_SQCQ_FREE = 16 }
requests TSDRV X write halSqCqConfigInfo { TRS_SQCQ_CONFIG = 17 }
requests TSDRV X both halSqCqQueryInfo { TRS_SQCQ_QUERY = 18 }
requests TSDRV X write halTaskSendInfo { TRS_SQCQ_SEND = 19 }
requests TSDRV X both halReportRecvInfo { TRS_SQCQ_RECV = 20 }
requests TSDRV X none { TRS_STL_BIND = 21 }
requests TSDRV X write trs_stl_launch_para { TRS_STL_LAUNCH = 22 }
requests TSDRV X read trs_stl_query_para { TRS_STL_QUERY = 23 }
requests TSDRV X read trs_cmd_res_map { TRS_ID_RES_MAP = 24 }
requests TSDRV X read trs_ub_info_query_para { TRS_UB_INFO_QUERY = 25 }
requests TSDRV X read trs_set_close_para { TRS_SET_CLOSE_TYPE = 26 }
requests TSDRV X both trs_cmd_dma_desc { TRS_DMA_DESC_CREATE = 29 }
requests TSDRV X both trs_cmd_cmdlist_map_unmap { TRS_TS_CMDLIST_MAP_UNMAP = 30 }
requests TSDRV X both trs_stream_task_para { TRS_STREAM_TASK_FILL = 31 }
requests TSDRV X both trs_sq_switch_stream_para { TRS_SQ_SWITCH_STREAM = 32 }
requests TRS_SHR_ID N both shr_id_ioctl_info {
    SHR_ID_CREATE = 1, SHR_ID_OPEN, SHR_ID_CLOSE, SHR_ID_GET_ATTR = 9, SHR_ID_GET_INFO
}
requests TRS_SHR_ID N write shr_id_ioctl_info {
    SHR_ID_DESTROY = 4, SHR_ID_SET_PID, SHR_ID_RECORD, SHR_ID_SET_ATTR = 8
}
requests TRS_SHR_ID N write shr_id_pod_pid_ioctl_info { SHR_ID_SET_POD_PID = 7 }

struct davinci_intf_open_arg { module_name: char[256], device_id: i32 }
struct davinci_intf_close_arg { module_name: char[256], device_id: i32 }
struct trs_res_id_usr_para { stream_pri: u32, flag: u32, vfid: u32 }
struct trs_res_id_para {
    tsid: u32, res_type: i32, id: u32, usr_para: trs_res_id_usr_para, para: u32, flag: u32, prop: i32, value: u32[2]
}
struct trs_ssid_query_para { ssid: i32 }
struct trs_hw_info_query_para { hw_type: i32, tsnum: i32, connection_type: i32, sq_send_mode: i32, rsv: u32[4] }
struct trs_ctrl_msg_para { devid: u32, tsid: u32, msg_len: u32, msg: u8[256], rsv: u32[4] }
struct trs_stl_launch_para { tsid: u32, timeout: u32 }
struct trs_stl_query_para { tsid: u32, aic_num: u8, aic_status: u8[10] }
struct trs_cmd_res_map { devid: u32, res_info: res_addr_info, va: u64, len: u32 }
struct trs_ub_info_query_para { tsid: u32, die_id: u32, func_id: u32, rsv: u32[4] }
struct trs_set_close_para { tsid: u32, close_type: u32, rsv: u32[4] }
struct trs_cmd_dma_desc {
    tsid: u32, type: i32, src: void*, sq_id: u32, sqe_pos: u32, len: u32, dir: u32, dma_base: u64,
    dma_node_num: u32, rsv: u32[4]
}
struct trs_cmd_cmdlist_map_unmap { tsid: u32, op: u32 }
struct trs_stream_task_para { stream_mem: void*, task_info: void*, task_cnt: u32, stream_id: u32 }
struct trs_sq_switch_stream_para { info: sq_switch_stream_info*, num: u32 }
struct shr_id_ioctl_info {
    opened_devid: u32, devid: u32, tsid: u32, shr_id: u32, id_type: u32, dev_addr: u64, host_addr: u64,
    name: char[65], pid: i32[16], flag: u32, enable_flag: u32, rsv: u32[4]
}
struct shr_id_pod_pid_ioctl_info { name: char[65], sdid: u32, pid: i32, rsv: u32[4] }
struct trs_uio_info {
    sq_que_addr: u64, sq_ctrl_addr: u64[6], sq_mem_local_flag: u8, soft_que_flag: u8, uio_flag: u8
}
struct trs_sq_shr_info { cqe_status: u32, rsv: u8[1020], send_full: u64, send_ok: u64 }
struct trs_cb_cqe {
    u16 { phase:1, SOP:1, MOP:1, EOP:1, cq_id:12 }, stream_id: u16, task_id: u16, sq_id: u16, sq_head: u16,
    sequence_id: u16, is_block: u8, reserved1: u8, event_id: u16, host_func_cb_ptr: u64, fn_data_ptr: u64
}
struct trs_cb_stars_event {
    u32 { cqid:16, cb_groupid:16 }, u32 { devid:16, stream_id:16 }, u32 { event_id:16, is_block:16 },
    u32 { task_id:16, res1:16 }, host_func_low: u32, host_func_high: u32, fn_data_low: u32, fn_data_high: u32
}
"""
