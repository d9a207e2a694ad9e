"""Shared virtual memory, generation 3 (950)."""

TABLE = """
from sdk_driver
requests svm U both svm_casm_create_key_para { SVM_CASM_CREATE_KEY = 0 }
requests svm U write svm_casm_destroy_key_para { SVM_CASM_DESTROY_KEY = 1 }
requests svm U write svm_casm_op_task_para { SVM_CASM_OP_TASK = 2 }
requests svm U both svm_casm_get_src_va_para { SVM_CASM_GET_SRC_VA = 3 }
requests svm U write svm_casm_mem_pin_para { SVM_CASM_MEM_PIN = 4 }
requests svm U write svm_casm_mem_unpin_para { SVM_CASM_MEM_UNPIN = 5 }
requests svm U both svm_casm_cs_query_src_para { SVM_CASM_CS_QUERY_SRC = 6 }
requests svm U write svm_casm_cs_set_src_para { SVM_CASM_CS_SET_SRC = 7 }
requests svm U write svm_casm_cs_clr_src_para { SVM_CASM_CS_CLR_SRC = 8 }
requests svm U both svm_async_copy_submit_para { SVM_ASYNC_COPY_SUBMIT = 10, SVM_ASYNC_COPY_SUBMIT_2D }
requests svm U both svm_async_copy_submit_batch_para { SVM_ASYNC_COPY_SUBMIT_BATCH = 12 }
requests svm U write svm_async_copy_wait_para { SVM_ASYNC_COPY_WAIT = 13 }
requests svm U write svm_dma_map_para { SVM_DMA_MAP = 15 }
requests svm U write svm_dma_unmap_para { SVM_DMA_UNMAP = 16 }
requests svm U both svm_dma_desc_convert_para { SVM_DMA_DESC_CONVERT = 20 }
requests svm U both svm_dma_desc_convert_2d_para { SVM_DMA_DESC_CONVERT_2D = 21 }
requests svm U write svm_dma_desc_submit_para { SVM_DMA_DESC_SUBMIT = 22 }
requests svm U write svm_dma_desc_wait_para { SVM_DMA_DESC_WAIT = 23 }
requests svm U write svm_dma_desc_destroy_para { SVM_DMA_DESC_DESTROY = 24 }
requests svm U both svm_smm_map_para { SVM_SMM_MAP = 25 }
requests svm U write svm_smm_unmap_para { SVM_SMM_UNMAP = 26 }
requests svm U write svm_mpl_populate_para { SVM_MPL_POPULATE = 30 }
requests svm U write svm_mpl_depopulate_para { SVM_MPL_DEPOPULATE = 31 }
requests svm U none { SVM_MEM_SHOW_FEATURE_ACK = 32 }
requests svm U both svm_dbi_query_para { SVM_DBI_QUERY = 33 }
requests svm U write mms_stats { SVM_MMS_STATS_MEM_CFG = 35 }
requests svm U both svm_soma_mem_cfg_para { SVM_SOMA_MEM_CFG = 36 }

struct svm_casm_create_key_para { task_type: u32, va: u64, size: u64, key: u64, rsv: u64 }
struct svm_casm_destroy_key_para { key: u64, rsv: u64 }
struct svm_casm_op_task_para { op: u32, key: u64, server_id: u32, tgid: i32, rsv: u64 }
struct svm_global_va { server_id: u32, udevid: u32, tgid: i32, va: u64, size: u64 }
struct svm_casm_get_src_va_para { key: u64, src_va: svm_global_va, updated_va: u64, ex_info: u64, rsv: u64 }
struct svm_casm_mem_pin_para { va: u64, size: u64, key: u64, rsv: u64 }
struct svm_casm_mem_unpin_para { va: u64, size: u64, rsv: u64 }
struct svm_casm_cs_query_src_para { key: u64, src_va: svm_global_va, owner_pid: i32, rsv: u64 }
struct svm_casm_cs_set_src_para { key: u64, src_va: svm_global_va, owner_pid: i32, rsv: u64 }
struct svm_casm_cs_clr_src_para { key: u64, rsv: u64 }
struct svm_async_copy_submit_para {
    src_va: u64, dst_va: u64, size: u64, src_devid: u32, dst_devid: u32, src_host_tgid: i32, dst_host_tgid: i32,
    flag: u32, id: i32, rsv: u64
}
struct svm_async_copy_submit_batch_para {
    src_va: u64*, dst_va: u64*, size: u64*, count: u64, src_devid: u32, dst_devid: u32, id: i32, rsv: u64
}
struct svm_async_copy_wait_para { id: i32, rsv: u64 }
struct svm_dst_va { devid: u32, task_type: u32, va: u64, size: u64 }
struct svm_dma_map_para { dst_va: svm_dst_va, flag: u32, rsv: u64 }
struct svm_dma_unmap_para { dst_va: svm_dst_va, rsv: u64 }
struct svm_dma_desc_convert_para {
    src_va: u64, dst_va: u64, size: u64, src_devid: u32, dst_devid: u32, src_host_tgid: i32, dst_host_tgid: i32,
    dma_desc: DMA_ADDR, rsv: u64
}
struct svm_dma_desc_convert_2d_para {
    src_va: u64, dst_va: u64, spitch: u64, dpitch: u64, width: u64, height: u64, src_devid: u32, dst_devid: u32,
    fixed_size: u64, dma_desc: DMA_ADDR, rsv: u64
}
struct svm_dma_desc_submit_para { dma_desc: DMA_ADDR, sync_flag: i32, rsv: u64 }
struct svm_dma_desc_wait_para { dma_desc: DMA_ADDR, rsv: u64 }
struct svm_dma_desc_destroy_para { dma_desc: DMA_ADDR, rsv: u64 }
struct svm_smm_map_para { dst_va: u64, dst_size: u64, flag: u64, src_info: svm_global_va, rsv: u64 }
struct svm_smm_unmap_para { dst_va: u64, dst_size: u64, flag: u64, src_info: svm_global_va, rsv: u64 }
struct va_array { count: u32, array: u64[4] }
struct svm_mpl_populate_para { va: u64, size: u64, flag: u32, rsv: u64, va_batch: va_array }
struct svm_mpl_depopulate_para { va: u64, size: u64, rsv: u64, va_batch: va_array }
struct svm_device_basic_info {
    npage_size: u64, hpage_size: u64, gpage_size: u64, cap_flag: u32, bus_inst_eid_flag: u32, bus_inst_eid: u8[16],
    d2h_acc_mask: u64, rsv: u64
}
struct svm_dbi_query_para { dbi: svm_device_basic_info }
struct mms_type_stats { alloced_size: u64, alloced_peak_size: u64, alloc_cnt: u64, free_cnt: u64 }
struct mms_module_stats { type_stats: mms_type_stats[4] }
struct mms_stats { module_stats: mms_module_stats[77] }
struct svm_soma_mem_cfg_para { va: u64, size: u64, flag: u32, src_info: svm_global_va }
"""
