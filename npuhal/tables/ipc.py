"""Shared memory between processes."""

TABLE = """
from ascend_hal_base.h
halShmemCreateHandle(vptr: u64, byte_count: u64, name: out char*, name_len: u32) -> drvError_t
halShmemDestroyHandle(name: char*) -> drvError_t
halShmemSetPidHandle(name: char*, pid: i32*, num: i32) -> drvError_t
halShmemSetPodPid(name: char*, sdid: u32, pid: i32*, num: i32) -> drvError_t
halShmemOpenHandle(name: char*, vptr: out u64*) -> drvError_t
halShmemOpenHandleByDevId(dev_id: u32, name: char*, vptr: out u64*) -> drvError_t
halShmemOpenHandleV2(dev_id: u32, name: char*, vptr: out u64*, flag: u64) -> drvError_t
halShmemCloseHandle(vptr: u64) -> drvError_t
halShmemSetAttribute(name: char*, type: u32, attr: u64) -> drvError_t
halShmemGetAttribute(name: char*, type: ShmemAttrType, attr: out u64*) -> drvError_t
halShmemInfoGet(name: char*, info: out ShmemGetInfo*) -> drvError_t
halShmemMapRouteCheck(name: char*, dst_devid: u32, map_route: u32) -> drvError_t
halSetMemSharing(para: drvMemSharingPara*) -> drvError_t

from ascend_hal_define.h
struct ShmemGetInfo { phyDevid: u32, reserve: u32[8] }
struct drvMemSharingPara {
    ptr: void*, size: u64, id: u32, side: drv_mem_side, accessor: accessMember_t, pg_prot: u32, enable_flag: u32,
    resv: u32[8]
}

from hal_pkg/dpa_pkg.h
enum tagAccessMember accessMember_t { TS_ACCESSOR, ACCESSOR_MAX }

from ascend_hal_define.h
enum ShmemAttrType { SHMEM_ATTR_TYPE_MEM_MAP, SHMEM_ATTR_TYPE_NO_WLIST_IN_SERVER, SHMEM_ATTR_TYPE_MAX }

from ascend_hal*.h
macros {
    SHMEM_NO_WLIST_ENABLE = 1, SHMEM_WLIST_ENABLE = 0, SVM_AGENT_DEVICE = 0, SVM_AGENT_HOST = 1,
    SVM_GRP_NAME_LEN = 32, SVM_MEM_BIND_SP_GRP = 2, SVM_MEM_BIND_SP_GRP_NO_ALLOC = 4, SVM_MEM_BIND_SVM_GRP = 1
}
"""
