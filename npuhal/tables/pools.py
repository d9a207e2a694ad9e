"""Managed (UVM) memory and stream-ordered memory pools."""

TABLE = """
from ascend_hal_base.h
halMemManagedAdvise(ptr: u64, size: u64, advise: u32, location: drv_uvm_location) -> drvError_t
halMemManagedPrefetch(ptr: u64, size: u64, location: drv_uvm_location, flags: u32) -> drvError_t
halMemManagedPrefetchBatch(
        ptrs: inout u64*, sizes: inout u64*, count: u64, prefetchLocs: inout drv_uvm_location*,
        prefetchLocIdxs: inout u64*, numPrefetchLocs: u64, flags: u64
) -> drvError_t
halMemManagedRangeGetAttributes(
        data: void**, data_sizes: inout u64*, attributes: inout u32*, attribute_num: u64, ptr: u64, size: u64
) -> drvError_t
halMemPoolCreate(pool: soma_mem_pool_t, prop: soma_mem_pool_prop) -> drvError_t
halMemPoolDestroy(pool: soma_mem_pool_t) -> drvError_t
halMemPoolMalloc(pool: soma_mem_pool_t, va: u64, size: u64, policy: i32) -> drvError_t
halMemPoolFree(pool: soma_mem_pool_t, va: u64, size: u64, policy: i32) -> drvError_t
halMemPoolSetAttr(pool: soma_mem_pool_t, attr: soma_mem_pool_attr, value: void*) -> drvError_t
halMemPoolGetAttr(pool: soma_mem_pool_t, attr: soma_mem_pool_attr, value: out void*) -> drvError_t
halMemPoolTrim(pool: soma_mem_pool_t, reservedSize: inout u64*, usedSize: u64, freeSize: u64) -> drvError_t
halMemPoolAsyncConfig(pool: soma_mem_pool_t, va: u64, size: u64, flag: u32) -> drvError_t

from ascend_hal_define.h
struct drv_uvm_location { type: drv_uvm_location_type, id: i32 }

from ascend_hal_base.h
struct soma_mem_pool_t { poolId: u64, devId: u32 }
struct soma_mem_pool_prop { handle_type: drv_mem_handle_type, mem_prop: drv_mem_prop, va: u64, maxSize: u64 }

from ascend_hal_define.h
enum DEVMM_MEM_RANGE_ATTRIBUTE {
    MEM_RANGE_ATTR_READ_MOSTLY = 1, MEM_RANGE_ATTR_PREFERRED_LOC, MEM_RANGE_ATTR_ACCESS_BY,
    MEM_RANGE_ATTR_PREFERRED_LOC_TYPE, MEM_RANGE_ATTR_PREFERRED_LOC_ID, MEM_RANGE_ATTR_LAST_PREFETCH_LOC,
    MEM_RANGE_ATTR_LAST_PREFETCH_LOC_TYPE, MEM_RANGE_ATTR_LAST_PREFETCH_LOC_ID, MEM_RANGE_ATTR_MAX
}
enum drv_uvm_location_type {
    DRV_UVM_LOCATION_TYPE_INVALID, DRV_UVM_LOCATION_TYPE_DEVICE, DRV_UVM_LOCATION_TYPE_HOST,
    DRV_UVM_LOCATION_TYPE_HOST_NUMA
}
enum uvmMemAdviseType {
    READ_MOSTLY, UNSET_READ_MOSTLY, PREFER_LOCATION, UNSET_PREFER_LOCATION, ACCESS_BY_LOCATION,
    UNSET_ACCESS_BY_LOCATION
}

from ascend_hal_base.h
enum soma_mem_pool_attr {
    SOMA_MEM_POOL_ATTR_RELEASE_THRESHOLD = 1, SOMA_MEM_POOL_ATTR_RESERVED_MEM_CURRENT,
    SOMA_MEM_POOL_ATTR_RESERVED_MEM_HIGH, SOMA_MEM_POOL_ATTR_USED_MEM_CURRENT, SOMA_MEM_POOL_ATTR_USED_MEM_HIGH
}

from ascend_hal*.h
macros { MEM_RANGE_CPU_DEVICE_ID = -1, MEM_RANGE_INVALID_DEVICE_ID = -2 }

from ascend_hal_base.h
halMemPoolAsyncConfig @7.36.25(pool: soma_mem_pool_t, va: u64, size: u64, is_malloc: bool) -> drvError_t
struct soma_mem_pool_ptr_export_data @7.36.25 { pool_offset: u64, size: u64 }
enum soma_mem_pool_attr @7.36.25 {
    MEM_POOL_ATTR_RELEASE_THRESHOLD = 1, MEM_POOL_ATTR_RESERVED_MEM_CURRENT, MEM_POOL_ATTR_RESERVED_MEM_HIGH,
    MEM_POOL_ATTR_USED_MEM_CURRENT, MEM_POOL_ATTR_USED_MEM_HIGH, MEM_POOL_ATTR_MAX
}
"""
