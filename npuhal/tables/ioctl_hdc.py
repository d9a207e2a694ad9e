"""The host-device channel: one union is the argument of every request."""

TABLE = """
from sdk_driver
requests HISI_HDC H none hdcdrv_cmd {
    HDCDRV_CMD_SERVER_WAKEUP_WAIT = 4, HDCDRV_CMD_CLIENT_WAKEUP_WAIT, HDCDRV_CMD_CLIENT_DESTROY,
    HDCDRV_CMD_GET_PEER_DEV_ID, HDCDRV_CMD_CONFIG, HDCDRV_CMD_SET_SERVICE_LEVEL, HDCDRV_CMD_GET_SPEC_DEVID,
    HDCDRV_CMD_GET_P2P_COM_STATUS, HDCDRV_CMD_SERVER_CREATE = 16, HDCDRV_CMD_SERVER_DESTROY, HDCDRV_CMD_ACCEPT,
    HDCDRV_CMD_CONNECT, HDCDRV_CMD_CLOSE, HDCDRV_CMD_SEND, HDCDRV_CMD_RECV_PEEK, HDCDRV_CMD_RECV,
    HDCDRV_CMD_SET_SESSION_OWNER, HDCDRV_CMD_GET_STAT, HDCDRV_CMD_GET_SESSION_ATTR, HDCDRV_CMD_SET_SESSION_TIMEOUT,
    HDCDRV_CMD_GET_SESSION_UID, HDCDRV_CMD_GET_PAGE_SIZE, HDCDRV_CMD_GET_SESSION_INFO, HDCDRV_CMD_ALLOC_MEM = 32,
    HDCDRV_CMD_FREE_MEM, HDCDRV_CMD_FAST_SEND, HDCDRV_CMD_FAST_RECV, HDCDRV_CMD_DMA_MAP, HDCDRV_CMD_DMA_UNMAP,
    HDCDRV_CMD_DMA_REMAP, HDCDRV_CMD_REGISTER_MEM, HDCDRV_CMD_UNREGISTER_MEM, HDCDRV_CMD_WAIT_MEM,
    HDCDRV_CMD_EPOLL_ALLOC_FD = 64, HDCDRV_CMD_EPOLL_FREE_FD, HDCDRV_CMD_EPOLL_CTL, HDCDRV_CMD_EPOLL_WAIT,
    HDCDRV_CMD_WAIT_CTRL_MSG = 80, HDCDRV_CMD_SEND_CTRL_MSG, HDCDRV_CMD_INIT_CTRL_NODE, HDCDRV_CMD_UNINIT_CTRL_NODE
}

struct hdcdrv_cmd_common { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64 }
struct hdcdrv_cmd_get_peer_dev_id { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, peer_dev_id: i32 }
struct hdcdrv_cmd_config { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, segment: i32, reserved: u32[4] }
struct hdcdrv_cmd_set_service_level {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32, level: i32
}
struct hdcdrv_cmd_client_destroy {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32, reserved: u32[4]
}
struct hdcdrv_cmd_server_create {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32, reserved: u32[5]
}
struct hdcdrv_cmd_server_destroy {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32, reserved: u32[4]
}
struct hdcdrv_cmd_accept {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32, session: i32, session_cur_alloc_idx: u32,
    peer_pid: u64, remote_session: u32, run_env: i32, euid: i32, uid: i32, root_privilege: i32, unique_val: u32,
    user_va: u64, reserved: u32[10]
}
struct hdcdrv_cmd_connect {
    peer_pid: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32, session: i32, timeout: u32,
    session_cur_alloc_idx: u32, ret: i32, unique_val: u32, user_va: u64, reserved: u32[8]
}
struct hdcdrv_cmd_close {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, unique_val: u32, task_start_time: u64,
    remote_session: u32, local_close_state: i32, remote_local_state: i32, session_cur_alloc_idx: u32,
    reserved: u32[8]
}
struct hdcdrv_cmd_send {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, src_buf: void*, len: i32, pool_buf: void*,
    pool_addr: u64, wait_flag: i32, timeout: u32, reserved: u32[8]
}
struct hdcdrv_cmd_recv_peek {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, len: i32, wait_flag: i32, timeout: u32,
    group_flag: i32, count: i32, session_cur_alloc_idx: u32, reserved: u32[8]
}
struct hdcdrv_cmd_recv {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, dst_buf: void*, len: i32, pool_buf: void*,
    out_len: i32, buf_count: i32, group_flag: i32, buf_list: void*[8], buf_len: u32[8], reserved: u32[8]
}
struct hdcdrv_cmd_set_session_owner {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, ppid: u64, session: i32, reserved: u32[4]
}
struct hdcdrv_cmd_get_session_attr {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, cmd_type: i32, session: i32, output: i32,
    session_cur_alloc_idx: u32, reserved: u32[4]
}
struct hdcdrv_timeout { send_timeout: u32, recv_timeout: u32, fast_send_timeout: u32, fast_recv_timeout: u32 }
struct hdcdrv_cmd_set_session_timeout {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, timeout: hdcdrv_timeout
}
struct hdcdrv_cmd_get_uid_stat {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, euid: u32, uid: u32, root_privilege: i32,
    reserved: u32[4]
}
struct hdcdrv_cmd_alloc_mem {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, len: u32, va: u64, page_type: u32, map: i32
}
struct hdcdrv_cmd_free_mem {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, len: u32, page_type: u32, va: u64
}
struct hdcdrv_cmd_fast_send {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, wait_flag: i32, src_data_addr: u64,
    dst_data_addr: u64, src_ctrl_addr: u64, dst_ctrl_addr: u64, data_len: i32, ctrl_len: i32, timeout: u32
}
struct hdcdrv_cmd_fast_recv {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, wait_flag: i32, timeout: u32, data_addr: u64,
    ctrl_addr: u64, data_len: i32, ctrl_len: i32
}
struct hdcdrv_cmd_dma_map { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, va: u64 }
struct hdcdrv_cmd_dma_unmap { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, va: u64 }
struct hdcdrv_cmd_dma_remap { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, va: u64 }
struct hdcdrv_cmd_register_mem {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, len: u32, va: u64, flag: u32
}
struct hdcdrv_cmd_unregister_mem {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, type: u32, len: u32, page_type: u32, va: u64
}
struct hdcdrv_cmd_wait_mem {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, session: i32, timeout: i32, result_type: u32,
    data_addr: u64, ctrl_addr: u64, data_len: i32, ctrl_len: i32, result: i32
}
struct hdcdrv_cmd_epoll_alloc_fd {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, size: i32, epfd: i32, reserved: u32[4]
}
struct hdcdrv_cmd_epoll_free_fd { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, epfd: i32, reserved: u32[4] }
struct hdcdrv_event { events: u32, sub_data: i32, data: u64 }
struct hdcdrv_cmd_epoll_ctl {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, epfd: i32, op: i32, para1: i32, para2: i32,
    event: hdcdrv_event, reserved: u32[4]
}
struct hdcdrv_cmd_epoll_wait {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, epfd: i32, timeout: i32, maxevents: i32, ready_event: i32,
    event: hdcdrv_event*, vevent: hdcdrv_event[5], reserved: u32[4]
}
struct hdcdrv_cmd_get_page_size {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, page_size: u32, hpage_size: u32, page_bit: u32,
    reserved: u32[4]
}
struct hdcdrv_cmd_get_session_info {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, fid: u32, session_fd: i32, reserved: u32[4]
}
struct hdcdrv_cmd_client_wakeup_wait { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32 }
struct hdcdrv_cmd_server_wakeup_wait { ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, service_type: i32 }
struct hdcdrv_cmd_get_spec_devid {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, chip_name: char[16], os_name: char[16], spec_devid: u32
}
struct hdcdrv_cmd_wait_ctrl_msg { ret: i32, dev_id: i32, pid: u64, msg_len: u32, msg_buf: void* }
struct hdcdrv_cmd_send_ctrl_msg { ret: i32, dev_id: i32, pid: u64, msg_len: u32, msg_buf: void* }
struct hdcdrv_cmd_get_com_status {
    ret: i32, dev_id: i32, pid: u64, reserve_comm: u64, buff_len: u32, status_buff: void*
}
union hdcdrv_cmd {
    cmd_com: hdcdrv_cmd_common, get_peer_dev_id: hdcdrv_cmd_get_peer_dev_id, config: hdcdrv_cmd_config,
    set_level: hdcdrv_cmd_set_service_level, client_destroy: hdcdrv_cmd_client_destroy,
    server_create: hdcdrv_cmd_server_create, server_destroy: hdcdrv_cmd_server_destroy, accept: hdcdrv_cmd_accept,
    connect: hdcdrv_cmd_connect, close: hdcdrv_cmd_close, send: hdcdrv_cmd_send, recv_peek: hdcdrv_cmd_recv_peek,
    recv: hdcdrv_cmd_recv, set_owner: hdcdrv_cmd_set_session_owner, get_session_attr: hdcdrv_cmd_get_session_attr,
    set_session_timeout: hdcdrv_cmd_set_session_timeout, get_uid_stat: hdcdrv_cmd_get_uid_stat,
    alloc_mem: hdcdrv_cmd_alloc_mem, free_mem: hdcdrv_cmd_free_mem, fast_send: hdcdrv_cmd_fast_send,
    fast_recv: hdcdrv_cmd_fast_recv, dma_map: hdcdrv_cmd_dma_map, dma_unmap: hdcdrv_cmd_dma_unmap,
    dma_remap: hdcdrv_cmd_dma_remap, register_mem: hdcdrv_cmd_register_mem,
    unregister_mem: hdcdrv_cmd_unregister_mem, wait_mem: hdcdrv_cmd_wait_mem,
    epoll_alloc_fd: hdcdrv_cmd_epoll_alloc_fd, epoll_free_fd: hdcdrv_cmd_epoll_free_fd,
    epoll_ctl: hdcdrv_cmd_epoll_ctl, epoll_wait: hdcdrv_cmd_epoll_wait, get_page_size: hdcdrv_cmd_get_page_size,
    get_session_info: hdcdrv_cmd_get_session_info, client_wakeup_wait: hdcdrv_cmd_client_wakeup_wait,
    server_wakeup_wait: hdcdrv_cmd_server_wakeup_wait, get_spec_devid: hdcdrv_cmd_get_spec_devid,
    wait_ctrl_msg: hdcdrv_cmd_wait_ctrl_msg, send_ctrl_msg: hdcdrv_cmd_send_ctrl_msg,
    init_ctrl_node: hdcdrv_cmd_common, uninit_ctrl_node: hdcdrv_cmd_common,
    p2p_com_status: hdcdrv_cmd_get_com_status
}
"""
