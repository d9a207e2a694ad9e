"""Virtual memory management: address ranges, physical handles, mappings, and handles shared between processes."""

TABLE = """
from ascend_hal_base.h
halMemAddressReserve(ptr: out void**, size: u64, alignment: u64, addr: void*, flag: u64) -> drvError_t
halMemAddressFree(ptr: void*) -> drvError_t
halMemCreate(handle: out drv_mem_handle**, size: u64, prop: drv_mem_prop*, flag: u64) -> drvError_t
halMemRelease(handle: drv_mem_handle*) -> drvError_t
halMemMap(ptr: void*, size: u64, offset: u64, handle: drv_mem_handle*, flag: u64) -> drvError_t
halMemUnmap(ptr: void*) -> drvError_t
halMemSetAccess(ptr: void*, size: u64, desc: drv_mem_access_desc*, count: u64) -> drvError_t
halMemGetAccess(ptr: void*, location: drv_mem_location*, flags: out u64*) -> drvError_t
halMemGetAddressRange(ptr: u64, pbase: out u64*, psize: out u64*) -> drvError_t
halMemGetAddressReserveRange(
        ptr: out void**, size: out u64*, type: drv_mem_addr_reserve_type, flag: u64
) -> drvError_t
halMemGetAllocationGranularity(
        prop: drv_mem_prop*, option: drv_mem_granularity_options, granularity: out u64*
) -> drvError_t
halMemGetAllocationPropertiesFromHandle(prop: out drv_mem_prop*, handle: drv_mem_handle*) -> drvError_t
halMemRetainAllocationHandle(handle: out drv_mem_handle**, ptr: void*) -> drvError_t
halMemHandleSetAttribute(handle: drv_mem_handle*, type: HandleAttrType, attr: HandleAttr) -> drvError_t
halMemHandleGetAttribute(handle: drv_mem_handle*, type: HandleAttrType, attr: out HandleAttr*) -> drvError_t
halMemExportToShareableHandle(
        handle: drv_mem_handle*, handle_type: drv_mem_handle_type, flags: u64, shareable_handle: out u64*
) -> drvError_t
halMemExportToShareableHandleV2(
        handle: drv_mem_handle*, handle_type: drv_mem_handle_type, flags: u64, share_handle: out MemShareHandle*
) -> drvError_t
halMemImportFromShareableHandle(shareable_handle: u64, devid: u32, handle: out drv_mem_handle**) -> drvError_t
halMemImportFromShareableHandleV2(
        handle_type: drv_mem_handle_type, share_handle: MemShareHandle*, devid: u32, handle: out drv_mem_handle**
) -> drvError_t
halMemTransShareableHandle(
        handle_type: drv_mem_handle_type, share_handle: MemShareHandle*, server_id: out u32*,
        shareable_handle: out u64*
) -> drvError_t
halMemSetPidToShareableHandle(shareable_handle: u64, pid: i32*, pid_num: u32) -> drvError_t
halMemShareHandleSetAttribute(shareable_handle: u64, type: ShareHandleAttrType, attr: ShareHandleAttr) -> drvError_t
halMemShareHandleGetAttribute(
        shareable_handle: u64, type: ShareHandleAttrType, attr: out ShareHandleAttr*
) -> drvError_t
halMemShareHandleInfoGet(shareable_handle: u64, info: out ShareHandleGetInfo*) -> drvError_t

struct drv_mem_prop { side: u32, devid: u32, module_id: u32, pg_type: u32, mem_type: u32, reserve: u64 }

from ascend_hal_define.h
struct drv_mem_location { id: u32, side: drv_mem_side }
struct drv_mem_access_desc { type: drv_mem_access_type, location: drv_mem_location, rsv: u32[2] }
struct MemShareHandle { share_info: u8[128] }

from hal_pkg/common_pkg.h
struct HandleAttr { mem_map_route: u32, rsv: u32[8] }
struct ShareHandleAttr { enableFlag: u32, rsv: u32[8] }
struct ShareHandleGetInfo { phyDevid: u32, reserve: u32[8] }

enum drv_mem_access_type {
    MEM_ACCESS_TYPE_NONE, MEM_ACCESS_TYPE_READ, MEM_ACCESS_TYPE_READWRITE = 3, MEM_ACCESS_TYPE_MAX = 0x7fffffff
}
enum drv_mem_handle_type {
    MEM_HANDLE_TYPE_NONE, MEM_HANDLE_TYPE_FABRIC, MEM_HANDLE_TYPE_POSIX, MEM_HANDLE_TYPE_MAX
}

from hal_pkg/dpa_pkg.h
enum drv_mem_side { MEM_HOST_SIDE, MEM_DEV_SIDE, MEM_HOST_NUMA_SIDE, MEM_MAX_SIDE }

from ascend_hal_define.h
enum ShareHandleAttrType { SHR_HANDLE_ATTR_NO_WLIST_IN_SERVER, SHR_HANDLE_ATTR_TYPE_MAX }
enum HandleAttrType { HANDLE_ATTR_MEM_MAP_ROUTE, HANDLE_ATTR_TYPE_MAX }
enum drv_mem_pg_type { MEM_NORMAL_PAGE_TYPE, MEM_HUGE_PAGE_TYPE, MEM_GIANT_PAGE_TYPE, MEM_MAX_PAGE_TYPE }
enum drv_mem_type { MEM_HBM_TYPE, MEM_DDR_TYPE, MEM_P2P_HBM_TYPE, MEM_P2P_DDR_TYPE, MEM_TS_DDR_TYPE, MEM_MAX_TYPE }
enum drv_mem_trans_type {
    MEM_TRANS_TYPE_SDMA, MEM_TRANS_TYPE_PCIE_DMA, MEM_TRANS_TYPE_HCCS, MEM_TRANS_TYPE_UB_DMA, MEM_TRANS_TYPE_MAX
}

from ascend_hal_base.h
enum drv_mem_addr_reserve_type { MEM_ADDR_RESERVE_TYPE_DCACHE, MEM_ADDR_RESERVE_TYPE_MAX }
enum drv_mem_granularity_options {
    MEM_ALLOC_GRANULARITY_MINIMUM, MEM_ALLOC_GRANULARITY_RECOMMENDED, MEM_ALLOC_GRANULARITY_INVALID
}

from ascend_hal*.h
macros {
    MEM_MAP_ATTR_BIT = 0, MEM_MAP_DEFAULT_PATH = 0, MEM_MAP_EXBUS = 1, MEM_MAP_INBUS = 0,
    MEM_MAP_UB_MULTI_PORT_PATH = 3, MEM_MAP_UB_ONE_PORT_PATH = 2, MEM_RSV_TYPE_DEVICE_SHARE = 0x100,
    MEM_RSV_TYPE_DEVICE_SHARE_BIT = 8, MEM_RSV_TYPE_REMOTE_MAP = 0x200, MEM_RSV_TYPE_REMOTE_MAP_BIT = 9,
    MEM_SHARE_HANDLE_LEN = 128, SHR_HANDLE_NO_WLIST_ENABLE = 1, SHR_HANDLE_WLIST_ENABLE = 0
}

from hal_pkg/common_pkg.h
struct HandleAttr @7.36.25 { mem_map_route: u32, rev: u32[4] }
"""
