"""Shared virtual memory, generation 2 (910B): one union is the argument of every request."""

TABLE = """
from sdk_driver
requests SVM M both devmm_ioctl_arg {
    DEVMM_SVM_MEM_QUERY_OWNER = 0, DEVMM_SVM_MEM_GET_ACCESS = 2, DEVMM_SVM_MEMCPY = 5, DEVMM_SVM_MEMCPY2D,
    DEVMM_SVM_ASYNC_MEMCPY, DEVMM_SVM_MEMCPY_RESLUT_REFRESH, DEVMM_SVM_CONVERT_ADDR = 11, DEVMM_SVM_MEMSET8 = 15,
    DEVMM_SVM_TRANSLATE = 17, DEVMM_SVM_SETUP_DEVICE = 26, DEVMM_SVM_IPC_MEM_CREATE, DEVMM_SVM_IPC_MEM_QUERY = 29,
    DEVMM_SVM_IPC_MEM_GET_ATTR = 35, DEVMM_SVM_INIT_PROCESS, DEVMM_SVM_PROCESS_STATUS_QUERY = 39,
    DEVMM_SVM_DBG_VA_STATUS = 41, DEVMM_SVM_MEM_REMOTE_MAP = 45, DEVMM_SVM_MEM_REMOTE_UNMAP,
    DEVMM_SVM_QUERY_MEM_USEDINFO, DEVMM_SVM_MAP_DEV_RESERVE = 49, DEVMM_SVM_MEM_CREATE, DEVMM_SVM_MEM_RELEASE,
    DEVMM_SVM_MEM_UNMAP = 53, DEVMM_SVM_MEM_EXPORT, DEVMM_SVM_MEM_IMPORT, DEVMM_SVM_MEM_GET_ATTR = 58,
    DEVMM_SVM_MEM_GET_INFO, DEVMM_SVM_RESERVE_ADDR_INFO_QUERY = 63, DEVMM_SVM_SOMA_POOL_TRIM = 73, DEVMM_UVM_MEMCPY,
    DEVMM_SVM_MEM_MAP_CAP = 77, DEVMM_SVM_MEM_HANDLE_GET_ATTR = 79, DEVMM_SVM_GET_MMAP_INFO = 104
}
requests SVM M write devmm_ioctl_arg {
    DEVMM_SVM_MEM_SET_ACCESS = 1, DEVMM_SVM_ALLOC = 3, DEVMM_SVM_FREE_PAGES, DEVMM_SVM_SUMBIT_CONVERT_CPY = 9,
    DEVMM_SVM_WAIT_CONVERT_CPY_RESLUT, DEVMM_SVM_DESTROY_ADDR = 12, DEVMM_SVM_ADVISE, DEVMM_SVM_PREFETCH,
    DEVMM_SVM_DESTROY_ADDR_BATCH = 16, DEVMM_SVM_IPC_MEM_OPEN = 21, DEVMM_SVM_IPC_MEM_CLOSE,
    DEVMM_SVM_IPC_MEM_DESTROY = 28, DEVMM_SVM_IPC_MEM_SET_PID = 32, DEVMM_SVM_IPC_MEM_SET_PID_POD,
    DEVMM_SVM_IPC_MEM_SET_ATTR, DEVMM_SVM_UPDATE_HEAP = 37, DEVMM_SVM_GET_PROC_STATUS, DEVMM_SVM_CLOSE_DEVICE = 42,
    DEVMM_SVM_CHECK_MEMINFO = 48, DEVMM_SVM_MEM_MAP = 52, DEVMM_SVM_MEM_SET_PID = 56, DEVMM_SVM_MEM_SET_ATTR,
    DEVMM_SVM_REGISTER_DMA = 60, DEVMM_SVM_UNREGISTER_DMA, DEVMM_SVM_MEM_REPLAIR,
    DEVMM_SVM_PREPARE_CLOSE_DEVICE = 64, DEVMM_SVM_MEMCPY_BATCH, DEVMM_SVM_SOMA_POOL_CREATE,
    DEVMM_SVM_SOMA_POOL_DESTROY, DEVMM_UVM_ALLOC, DEVMM_UVM_ADVISE, DEVMM_UVM_MEM_RANGE_GET_ATTRIBUTES,
    DEVMM_SVM_SOMA_POOL_MALLOC, DEVMM_SVM_SOMA_POOL_FREE, DEVMM_UVM_PREFETCH = 75, DEVMM_UVM_PREFETCH_BATCH,
    DEVMM_SVM_MEM_HANDLE_SET_ATTR = 78, DEVMM_SVM_ALLOC_PROC_STRUCT = 101, DEVMM_SVM_DEV_SET_SIBLING,
    DEVMM_SVM_DEV_BIND_SIBLING
}

struct devmm_devid { logical_devid: u32, devid: u32, vfid: u32 }
struct devmm_setup_dev_para {
    dvpp_mem_size: u64, support_bar_mem: u32, support_dev_read_only: u32, support_dev_mem_map_host: u32,
    support_bar_huge_mem: u32, host_support_pin_user_pages_interface: u32, support_host_rw_dev_ro: u32,
    support_host_pin_pre_register: u32, support_host_mem_pool: u32, double_pgtable_offset: u64, mem_stats_va: u64,
    support_agent_giant_page: u32, support_remote_mmap: u32, support_shmem_map_exbus: u32, support_mem_host_uva: u32
}
struct devmm_mem_alloc_host_para { p: u64, size: u64 }
struct devmm_mem_free_host_para { p: u64 }
struct devmm_mem_alloc_para { p: u64, size: u64 }
struct devmm_mem_copy_para { dst: u64, src: u64, ByteCount: u64, is_support_dev_local_addr: bool, direction: i32 }
struct devmm_mem_copy_batch_para { dst: u64*, src: u64*, size: u64*, addr_count: u32 }
struct devmm_mem_copy2d_para {
    dst: u64, src: u64, dpitch: u64, spitch: u64, width: u64, height: u64, direction: i32
}
struct devmm_mem_async_copy_para {
    dst: u64, src: u64, byte_count: u64, start_time: u64, cpy_state: u64, task_id: i32
}
struct devmm_mem_convert_copy_para { dmaAddr: DMA_ADDR, sync_flag: i32 }
struct devmm_mem_convrt_addr_para {
    pSrc: u64, pDst: u64, spitch: u64, dpitch: u64, len: u64, height: u64, fixed_size: u64, direction: i32,
    dmaAddr: DMA_ADDR, dma_node_num: u32, virt_id: u32, dev_id: u32, destroy_flag: u32, convert_id: u64,
    need_write: bool, pa_batch: void*
}
struct devmm_mem_destroy_addr_para {
    pSrc: u64, pDst: u64, spitch: u64, dpitch: u64, len: u64, height: u64, fixed_size: u64, dmaAddr: DMA_ADDR,
    host_pid: i32
}
struct devmm_destroy_addr_batch_para { dmaAddr: DMA_ADDR**, num: u32 }
struct devmm_mem_advise_para { ptr: u64, count: u64, advise: u32 }
struct devmm_mem_range_attributes {
    attributes: u32*, attribute_num: u64, ptr: u64, size: u64, data: void**, data_sizes: u64*
}
struct devmm_mem_managed_advise_para { ptr: u64, size: u64, advise: u32, type: i32, id: i32 }
struct devmm_mem_memset_para { dst: u64, value: u64, count: u64, hostmapped: u32 }
struct devmm_mem_translate_para { vptr: u64, pptr: u64, addr_in_device: u32 }
struct devmm_mem_ipc_open_para { vptr: u64, name: char[65] }
struct devmm_mem_ipc_close_para { vptr: u64 }
struct devmm_mem_ipc_create_para { vptr: u64, len: u64, name: char[65], name_len: u32 }
struct devmm_mem_ipc_set_pid_para { name: char[65], set_pid: i32[32], num: u32, sdid: u32 }
struct devmm_mem_ipc_destroy_para { name: char[65] }
struct devmm_mem_ipc_set_attr_para { type: u32, attr: u64, name: char[65] }
struct devmm_mem_ipc_get_attr_para { type: u32, attr: u64, name: char[65] }
struct devmm_mem_query_size_para { name: char[65], is_huge: i32, phy_devid: u32, len: u64 }
struct devmm_init_process_para {
    svm_page_size: u32, local_page_size: u32, huge_page_size: u32, is_enable_host_giant_page: bool,
    uvm_page_size: u32
}
struct devmm_update_heap_para { op: u32, heap_type: u32, heap_sub_type: u32, heap_idx: u32, heap_size: u64 }
struct devmm_query_process_status_para { process_type: i32, pid_status: i32, status_result: u32 }
struct devmm_free_pages_para { va: u64 }
struct devmm_svm_process_id { hostpid: i32, union { devid: u16, vm_id: u16 }, vfid: u16 }
struct devmm_dev_init_process_para { process_id: devmm_svm_process_id, devpid: i32 }
struct devmm_dev_bind_sibling_para { hostpid: i32, aicpupid: i32, vfid: u32, devid: u32, sync_da_pagetable: bool }
struct devmm_status_va_info_para { va: u64, devid: u32, mem_type: u32 }
struct devmm_status_va_check_para { va: u64, count: u64, msg_id: i32, devid: u32, heap_idx: u32 }
struct devmm_query_device_mem_usedinfo {
    mem_type: u32, normal_total_size: u64, normal_free_size: u64, huge_total_size: u64, huge_free_size: u64,
    giant_total_size: u64, giant_free_size: u64
}
struct devmm_lock_cmd { devPtr: u64, lockType: u32 }
struct devmm_program_load_cmd { devid: u32, is_loaded: i32 }
struct devmm_set_read_count { addr: u64, size: u64, rc: u32 }
struct devmm_dbg_info { hostpid: i32, user_devpid: i32, user_dbg_state: u32 }
struct devmm_mem_remote_map_para { src_va: u64, dst_va: u64, size: u64, map_type: u32, proc_type: u32, access: u32 }
struct devmm_mem_remote_unmap_para { src_va: u64, map_type: u32, proc_type: u32, dst_va: u64 }
struct devmm_mem_map_cap_para { acc_module_type: u32, mem_map_capability: u32 }
struct devmm_register_dma_para { vaddr: u64, size: u64 }
struct devmm_unregister_dma_para { vaddr: u64 }
struct devmm_check_mem_info { va: u64*, cnt: u32, heap_subtype_mask: u32 }
struct devmm_map_dev_reserve_para { addr_type: u32, va: u64, len: u64 }
struct devmm_mmap_addr_seg { va: u64, size: u64 }
struct devmm_get_mmap_para {
    seg_num: u32, is_need_map_nptmv: bool, hostpid: i32, aicpupid: i32, segs: devmm_mmap_addr_seg*
}
struct devmm_mem_create_para {
    id: i32, host_numa_id: u32, size: u64, flag: u64, side: u32, module_id: u32, pg_type: u32, mem_type: u32,
    pg_num: u64
}
struct devmm_mem_release_para { id: i32, side: u32, pg_num: u64, handle_type: u32 }
struct devmm_mem_map_para { va: u64, size: u64, id: i32, side: u32, pg_type: u32, module_id: u32, pg_num: u64 }
struct devmm_mem_unmap_para { va: u64, unmap_size: u64, side: u32, logic_devid: u32 }
struct devmm_mem_query_owner_para { va: u64, size: u64, devid: u32, local_handle_flag: u32 }
struct devmm_mem_set_access_para { va: u64, size: u64, logic_devid: u32, type: i32 }
struct devmm_mem_get_access_para { va: u64, size: u64, logic_devid: u32, type: i32 }
struct devmm_mem_export_para { side: i32, id: i32, share_id: i32 }
struct devmm_mem_import_para {
    share_id: i32, share_sdid: u32, share_devid: u32, share_phy_devid: u32, handle_type: i32, id: i32, side: u32,
    module_id: u32, pg_type: u32, pg_num: u64, mem_type: u32
}
struct devmm_mem_set_pid_para { share_id: i32, pid_num: u32, pid_list: i32* }
struct devmm_mem_set_attr_para { share_id: i32, type: u32, attr: ShareHandleAttr }
struct devmm_mem_get_attr_para { share_id: i32, share_devid: u32, type: u32, attr: ShareHandleAttr }
struct devmm_mem_get_info_para { share_id: i32, share_devid: u32, info: ShareHandleGetInfo }
struct devmm_mem_handle_set_attr_para { id: i32, type: u32, side: u32, attr: HandleAttr }
struct devmm_mem_handle_get_attr_para { id: i32, type: u32, side: u32, attr: HandleAttr }
struct devmm_mem_repair_para { count: u32, repair_addrs: MemRepairAddr[20] }
struct devmm_resv_addr_info_query_para { va: u64, start: u64, end: u64, module_id: u32, devid: u32 }
struct devmm_soma_pool_create_para { dev_id: u64, pool_id: u64, va: u64, size: u64 }
struct devmm_soma_pool_destroy_para { pool_id: u64 }
struct devmm_soma_pool_malloc_para { pool_id: u64, va: u64, size: u64, policy: i32 }
struct devmm_soma_pool_free_para { pool_id: u64, va: u64, size: u64, policy: i32 }
struct devmm_soma_pool_trim_para { pool_id: u64, reserved_size: u64, used_size: u64, free_size: u64 }
struct devmm_uvm_prefetch_para { va: u64, size: u64, location: drv_uvm_location, flags: u32 }
struct devmm_uvm_prefetch_batch_para {
    vas: u64*, sizes: u64*, count: u64, locations: drv_uvm_location*, loc_ids: u64*, num_loc: u64, flags: u64
}
struct devmm_ioctl_arg {
    head: devmm_devid,
    data: union {
        setup_dev_para: devmm_setup_dev_para, alloc_para: devmm_mem_alloc_host_para,
        free_para: devmm_mem_free_host_para, alloc_svm_para: devmm_mem_alloc_para, copy_para: devmm_mem_copy_para,
        copy_batch_para: devmm_mem_copy_batch_para, copy2d_para: devmm_mem_copy2d_para,
        async_copy_para: devmm_mem_async_copy_para, convert_copy_para: devmm_mem_convert_copy_para,
        convrt_para: devmm_mem_convrt_addr_para, desty_para: devmm_mem_destroy_addr_para,
        destroy_batch_para: devmm_destroy_addr_batch_para, advise_para: devmm_mem_advise_para,
        mem_range_attribute_paras: devmm_mem_range_attributes,
        mem_managed_advise_para: devmm_mem_managed_advise_para, prefetch_para: devmm_mem_advise_para,
        memset_para: devmm_mem_memset_para, translate_para: devmm_mem_translate_para,
        ipc_open_para: devmm_mem_ipc_open_para, ipc_close_para: devmm_mem_ipc_close_para,
        ipc_create_para: devmm_mem_ipc_create_para, ipc_set_pid_para: devmm_mem_ipc_set_pid_para,
        ipc_destroy_para: devmm_mem_ipc_destroy_para, ipc_set_attr_para: devmm_mem_ipc_set_attr_para,
        ipc_get_attr_para: devmm_mem_ipc_get_attr_para, query_size_para: devmm_mem_query_size_para,
        init_process_para: devmm_init_process_para, update_heap_para: devmm_update_heap_para,
        query_process_status_para: devmm_query_process_status_para, free_pages_para: devmm_free_pages_para,
        dev_init_process_para: devmm_dev_init_process_para, dev_bind_sibling_para: devmm_dev_bind_sibling_para,
        status_va_info_para: devmm_status_va_info_para, status_va_check_para: devmm_status_va_check_para,
        query_device_mem_usedinfo_para: devmm_query_device_mem_usedinfo, lock_cmd_para: devmm_lock_cmd,
        program_load_cmd: devmm_program_load_cmd, set_read_count: devmm_set_read_count, dbg_info: devmm_dbg_info,
        map_para: devmm_mem_remote_map_para, unmap_para: devmm_mem_remote_unmap_para,
        mem_map_cap_para: devmm_mem_map_cap_para, register_dma_para: devmm_register_dma_para,
        unregister_dma_para: devmm_unregister_dma_para, check_meminfo_para: devmm_check_mem_info,
        map_dev_reserve_para: devmm_map_dev_reserve_para, mmap_para: devmm_get_mmap_para,
        mem_create_para: devmm_mem_create_para, mem_release_para: devmm_mem_release_para,
        mem_map_para: devmm_mem_map_para, mem_unmap_para: devmm_mem_unmap_para,
        mem_query_owner_para: devmm_mem_query_owner_para, mem_set_access_para: devmm_mem_set_access_para,
        mem_get_access_para: devmm_mem_get_access_para, mem_export_para: devmm_mem_export_para,
        mem_import_para: devmm_mem_import_para, mem_set_pid_para: devmm_mem_set_pid_para,
        mem_set_attr_para: devmm_mem_set_attr_para, mem_get_attr_para: devmm_mem_get_attr_para,
        mem_get_info_para: devmm_mem_get_info_para, mem_handle_set_attr_para: devmm_mem_handle_set_attr_para,
        mem_handle_get_attr_para: devmm_mem_handle_get_attr_para, mem_repair_para: devmm_mem_repair_para,
        resv_addr_info_query_para: devmm_resv_addr_info_query_para,
        soma_pool_create_para: devmm_soma_pool_create_para, soma_pool_destroy_para: devmm_soma_pool_destroy_para,
        soma_pool_malloc_para: devmm_soma_pool_malloc_para, soma_pool_free_para: devmm_soma_pool_free_para,
        soma_pool_trim_para: devmm_soma_pool_trim_para, alloc_uvm_para: devmm_mem_alloc_para,
        uvm_prefetch_para: devmm_uvm_prefetch_para, uvm_prefetch_batch_para: devmm_uvm_prefetch_batch_para
    }
}
"""
