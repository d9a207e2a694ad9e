"""Message queues of the host (QUEUE)."""

TABLE = """
from sdk_driver
requests QUEUE Q write queue_ioctl_host_common_op { QUEUE_HOST_COMMON_OP_CMD = 1 }
requests QUEUE Q write queue_ioctl_enqueue { QUEUE_ENQUEUE_CMD = 2 }
requests QUEUE Q write queue_ioctl_ctrl_msg_send { QUEUE_CTRL_MSG_SEND_CMD = 6 }
requests QUEUE Q both queue_ioctl_copy { QUEUE_COPY_CMD = 3 }
requests QUEUE Q write queue_ioctl_reply { QUEUE_REPLY_CLIENT_CMD = 4 }
requests QUEUE Q write queue_init_para { QUEUE_SESSION_INIT = 5 }
requests QUEUE Q both queue_ioctl_ctrl_msg_recv { QUEUE_CTRL_MSG_RECV_CMD = 7 }
requests QUEUE Q both queue_ioctl_iovec_num { QUEUE_GET_IOVEC_NUM_CMD = 8 }

struct queue_ioctl_host_common_op { devid: u32, op_flag: u32 }
struct sched_published_event_info {
    dst_engine: u32, policy: u32, pid: i32, gid: u32, tid: u32, event_id: u32, subevent_id: u32, dst_devid: u32,
    msg_len: u32, msg: char*, event_num: u32, publish_timestamp: u64, publish_timestamp_of_day: u64, priv: void*
}
struct queue_ioctl_enqueue {
    event_info: sched_published_event_info, devid: u32, qid: u32, type: u32, time_out: i32, iovec_count: u32,
    vector: buff_iovec*
}
struct queue_ioctl_ctrl_msg_send {
    event_info: sched_published_event_info, devid: u32, ctrl_data_addr: void*, ctrl_data_len: u32,
    host_timestamp: u32
}
struct queue_ioctl_copy {
    op_flag: u32, devid: u32, qid: u32, type: u32, hostpid: u32, ctx_addr: void*, ctx_addr_len: u64, addr: void*,
    addr_len: u64, copy_flag: u32, count: u32, ptr: iovec_info*
}
struct queue_ioctl_reply { devid: u32, qid: u32, hostpid: i32 }
struct queue_init_para { devid: u32, hostpid: i32 }
struct queue_ctrl_data_search { serial_num: u64, ctrl_data_len: u32, host_timestamp: u32 }
struct queue_ioctl_ctrl_msg_recv { search_flag: queue_ctrl_data_search, ctrl_data_addr: void* }
struct queue_ioctl_iovec_num { devid: u32, qid: u32, hostpid: i32, num: u32 }
"""
