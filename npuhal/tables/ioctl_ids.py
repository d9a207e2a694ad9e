"""Device lists and ids (uda), process relations (apm), resource maps (rmo)."""

TABLE = """
from sdk_driver
requests apm U read apm_cmd_get_sign { APM_GET_SIGN = 0 }
requests apm U both apm_cmd_query_slave_pid { APM_QUERY_SLAVE_PID = 1, APM_QUERY_SLAVE_PID_BY_LOCAL_MASTER }
requests apm U write apm_cmd_bind { APM_BIND = 3, APM_UNBIND }
requests apm U both apm_cmd_query_master_info {
    APM_QUERY_MASTER_INFO = 5, APM_QUERY_MASTER_INFO_BY_DEVICE_SLAVE, APM_QUERY_MASTER_INFO_BY_HOST_SLAVE
}
requests apm U both apm_cmd_res_map { APM_RES_ADDR_MAP = 8 }
requests apm U write apm_cmd_res_unmap { APM_RES_ADDR_UNMAP = 9 }
requests apm U both apm_cmd_slave_status { APM_QUERY_SLAVE_STATUS = 12 }
requests apm U both apm_cmd_slave_ssid { APM_QUERY_SSID = 13 }
requests apm U both apm_cmd_slave_meminfo { APM_QUERY_SLAVE_MEMINFO = 14 }
requests apm U write apm_cmd_bind_cgroup { APM_BIND_CGROUP = 15 }
requests rmo U both rmo_cmd_res_map { RMO_RES_MAP = 0, RMO_RES_UNMAP, RMO_GET_RES_LEN }
requests rmo U both rmo_cmd_res_io { RMO_RES_READ = 3 }
requests rmo U write rmo_cmd_res_io { RMO_RES_WRITE = 4 }
requests rmo U read rmo_cmd_mem_sharing { RMO_MEM_SHARING = 5 }
requests uda U read uda_user_info { UDA_GET_USER_INFO = 0 }
requests uda U write uda_setup_table { UDA_SETUP_DEV_TABLE = 1 }
requests uda U both uda_dev_list { UDA_GET_DEV_LIST = 2 }
requests uda U both uda_devid_trans {
    UDA_UDEVID_TO_DEVID = 3, UDA_DEVID_TO_UDEVID, UDA_LUDEVID_TO_RUDEVID, UDA_RUDEVID_TO_LUDEVID
}

struct apm_cmd_get_sign { cur_tgid: u32, rsv: u32[4] }
struct apm_cmd_query_slave_pid {
    devid: u32, proc_type: i32, master_pid: i32, query_in_all_stage: u32, slave_pid: i32, slave_tgid: i32,
    rsv: u32[4]
}
struct apm_cmd_bind { devid: u32, proc_type: i32, mode: i32, master_pid: i32, slave_pid: i32, rsv: u32[4] }
struct apm_cmd_query_master_info {
    slave_pid: u32, master_pid: u32, master_tgid: u32, udevid: u32, mode: i32, proc_type_bitmap: u32, rsv: u32[4]
}
struct apm_cmd_res_map { devid: u32, res_info: res_map_info_in, va: u64, len: u32, rsv: u32[8] }
struct apm_cmd_res_unmap { devid: u32, res_info: res_map_info_in, va: u64, rsv: u32[8] }
struct apm_cmd_slave_status { devid: u32, proc_type: i32, type: i32, status: i32, rsv: u32[4] }
struct apm_cmd_slave_ssid { devid: u32, proc_type: i32, ssid: i32, rsv: u32[4] }
struct apm_cmd_slave_meminfo { devid: u32, proc_type: i32, master_pid: i32, type: i32, size: u64, rsv: u32[4] }
struct apm_cmd_bind_cgroup { bind_type: i32, rsv: u32[4] }
struct rmo_cmd_res_map { devid: u32, res_info: res_map_info, va: u64, len: u32, repeat_map_flag: bool, rsv: u32[4] }
struct rmo_cmd_res_io { devid: u32, res_info: res_map_info, len: u32, data: void*, rsv: u32[4] }
struct rmo_cmd_mem_sharing {
    devid: u32, side: i32, ptr: void*, size: u64, accessor: i32, pg_prot: u32, enable_flag: u32, rsv: u32[4]
}
struct uda_user_info {
    admin_flag: u32, local_flag: u32, max_dev_num: u32, max_udev_num: u32, support_udev_mng: u32
}
struct uda_setup_table { dev_num: u32 }
struct uda_logic_dev { u8 { valid:1, hw_type:7 }, sub_devid: u8, phy_devid: u16, devid: u16, udevid: u16 }
struct uda_dev_list { start_devid: u32, end_devid: u32, logic_dev: uda_logic_dev* }
struct uda_devid_trans { raw_devid: u32, trans_devid: u32 }
"""
