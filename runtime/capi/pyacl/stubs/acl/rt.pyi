"""Types of acl.rt; made from the tables of calls by tests/tools/acl_stubs.py."""

from collections.abc import Callable
from typing import Any

def allocator_create_desc(*given: object) -> int:
    """aclrtAllocatorCreateDesc."""
def allocator_destroy_desc(desc: int, /) -> int:
    """aclrtAllocatorDestroyDesc."""
def allocator_register(stream: int, desc: int, /) -> int:
    """aclrtAllocatorRegister."""
def allocator_set_alloc_advise_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetAllocAdviseFuncToDesc."""
def allocator_set_alloc_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetAllocFuncToDesc."""
def allocator_set_free_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetFreeFuncToDesc."""
def allocator_set_get_addr_from_block_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetGetAddrFromBlockFuncToDesc."""
def allocator_set_obj_to_desc(desc: int, allocator: int, /) -> int:
    """aclrtAllocatorSetObjToDesc."""
def allocator_unregister(stream: int, /) -> int:
    """aclrtAllocatorUnregister."""
def binary_get_function(bin_handle: int, kernel_name: str, /) -> tuple[int, int]:
    """aclrtBinaryGetFunction; gives (func_handle, ret)."""
def binary_load(binary: int, /) -> tuple[int, int]:
    """aclrtBinaryLoad; gives (bin_handle, ret)."""
def binary_load_from_data(data: int, length: int, options: list[dict[str, Any]], /) -> tuple[int, int]:
    """aclrtBinaryLoadFromData; gives (bin_handle, ret); length in bytes."""
def binary_load_from_file(path: str, options: list[dict[str, Any]], /) -> tuple[int, int]:
    """aclrtBinaryLoadFromFile; gives (bin_handle, ret)."""
def binary_unload(bin_handle: int, /) -> int:
    """aclrtBinaryUnLoad."""
def cmo_async(src: int, size: int, cmo_type: int, stream: int, /) -> int:
    """aclrtCmoAsync; size in bytes."""
def create_binary(data: int, size: int, /) -> int:
    """aclrtCreateBinary; size in bytes."""
def create_context(device_id: int, /) -> tuple[int, int]:
    """aclrtCreateContext; gives (context, ret)."""
def create_event(*given: object) -> tuple[int, int]:
    """aclrtCreateEvent; gives (event, ret)."""
def create_event_ex_with_flag(flag: int, /) -> tuple[int, int]:
    """aclrtCreateEventExWithFlag; gives (event, ret)."""
def create_event_with_flag(flag: int, /) -> tuple[int, int]:
    """aclrtCreateEventWithFlag; gives (event, ret)."""
def create_group_info(*given: object) -> int:
    """aclrtCreateGroupInfo."""
def create_notify(flag: int, /) -> tuple[int, int]:
    """aclrtCreateNotify; gives (notify, ret)."""
def create_stream(*given: object) -> tuple[int, int]:
    """aclrtCreateStream; gives (stream, ret)."""
def create_stream_with_config(priority: int, flag: int, /) -> tuple[int, int]:
    """aclrtCreateStreamWithConfig; gives (stream, ret)."""
def ctx_get_current_default_stream(*given: object) -> tuple[int, int]:
    """aclrtCtxGetCurrentDefaultStream; gives (stream, ret)."""
def ctx_get_sys_param_opt(opt: int, /) -> tuple[int, int]:
    """aclrtCtxGetSysParamOpt; gives (value, ret)."""
def ctx_set_sys_param_opt(opt: int, value: int, /) -> int:
    """aclrtCtxSetSysParamOpt."""
def destroy_binary(binary: int, /) -> int:
    """aclrtDestroyBinary."""
def destroy_context(context: int, /) -> int:
    """aclrtDestroyContext."""
def destroy_event(event: int, /) -> int:
    """aclrtDestroyEvent."""
def destroy_group_info(group_info: int, /) -> int:
    """aclrtDestroyGroupInfo."""
def destroy_notify(notify: int, /) -> int:
    """aclrtDestroyNotify."""
def destroy_stream(stream: int, /) -> int:
    """aclrtDestroyStream."""
def destroy_stream_force(stream: int, /) -> int:
    """aclrtDestroyStreamForce."""
def device_can_access_peer(device_id: int, peer_device_id: int, /) -> tuple[int, int]:
    """aclrtDeviceCanAccessPeer; gives (can_access, ret)."""
def device_disable_peer_access(peer_device_id: int, /) -> int:
    """aclrtDeviceDisablePeerAccess."""
def device_enable_peer_access(peer_device_id: int, flags: int, /) -> int:
    """aclrtDeviceEnablePeerAccess."""
def device_get_bare_tgid(*given: object) -> tuple[int, int]:
    """aclrtDeviceGetBareTgid; gives (pid, ret)."""
def device_get_limit(limit: int, /) -> tuple[int, int]:
    """aclrtDeviceGetLimit; gives (value, ret)."""
def device_get_stream_priority_range(*given: object) -> tuple[int, int, int]:
    """aclrtDeviceGetStreamPriorityRange; gives (least, greatest, ret)."""
def device_get_uuid(device_id: int, /) -> tuple[dict[str, Any], int]:
    """aclrtDeviceGetUuid; gives (value, ret)."""
def device_peer_access_status(device_id: int, peer_device_id: int, /) -> tuple[int, int]:
    """aclrtDevicePeerAccessStatus; gives (status, ret)."""
def device_set_limit(limit: int, value: int, /) -> int:
    """aclrtDeviceSetLimit."""
def device_task_abort(device_id: int, timeout_ms: int, /) -> int:
    """aclrtDeviceTaskAbort; timeout_ms in milliseconds."""
def event_elapsed_time(start_event: int, end_event: int, /) -> tuple[float, int]:
    """aclrtEventElapsedTime; gives (ms, ret); ms in milliseconds."""
def event_get_timestamp(event: int, /) -> tuple[int, int]:
    """aclrtEventGetTimestamp; gives (timestamp, ret); timestamp in microseconds of the device's clock."""
def free(dev_ptr: int, /) -> int:
    """aclrtFree."""
def free_host(host_ptr: int, /) -> int:
    """aclrtFreeHost."""
def free_physical(handle: int, /) -> int:
    """aclrtFreePhysical."""
def get_all_group_info(group_info: int, /) -> int:
    """aclrtGetAllGroupInfo."""
def get_context(*given: object) -> tuple[int, int]:
    """aclrtGetCurrentContext; gives (context, ret)."""
def get_device(*given: object) -> tuple[int, int]:
    """aclrtGetDevice; gives (device_id, ret)."""
def get_device_capability(device_id: int, feature_type: int, /) -> tuple[int, int]:
    """aclrtGetDeviceCapability; gives (value, ret)."""
def get_device_count(*given: object) -> tuple[int, int]:
    """aclrtGetDeviceCount; gives (count, ret)."""
def get_device_id_from_exception_info(info: int, /) -> int:
    """aclrtGetDeviceIdFromExceptionInfo."""
def get_device_info(device_id: int, attr: int, /) -> tuple[int, int]:
    """aclrtGetDeviceInfo; gives (value, ret)."""
def get_device_res_limit(device_id: int, type: int, /) -> tuple[int, int]:
    """aclrtGetDeviceResLimit; gives (value, ret)."""
def get_device_sat_mode(*given: object) -> tuple[int, int]:
    """aclrtGetDeviceSatMode; gives (mode, ret)."""
def get_device_utilization_rate(device_id: int, /) -> tuple[dict[str, Any], int]:
    """aclrtGetDeviceUtilizationRate; gives (value, ret)."""
def get_devices_topo(device_id: int, other_device_id: int, /) -> tuple[int, int]:
    """aclrtGetDevicesTopo; gives (value, ret)."""
def get_error_code_from_exception_info(info: int, /) -> int:
    """aclrtGetErrorCodeFromExceptionInfo."""
def get_event_avail_num(*given: object) -> tuple[int, int]:
    """aclrtGetEventAvailNum; gives (count, ret)."""
def get_event_id(event: int, /) -> tuple[int, int]:
    """aclrtGetEventId; gives (id, ret)."""
def get_function_addr(func_handle: int, /) -> tuple[int, int, int]:
    """aclrtGetFunctionAddr; gives (aic_addr, aiv_addr, ret)."""
def get_function_name(func_handle: int, max_len: int, /) -> tuple[str, int]:
    """aclrtGetFunctionName; gives (name, ret)."""
def get_group_count(placeholder: int, /) -> tuple[int, int]:
    """aclrtGetGroupCount; gives (count, ret)."""
def get_group_info_detail(group_info: int, group_id: int, attr: int, /) -> tuple[list[Any], int]:
    """aclrtGetGroupInfoDetail; gives (value, ret)."""
def get_last_error(level: int, /) -> int:
    """aclrtGetLastError."""
def get_logic_dev_id_by_phy_dev_id(phy_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetLogicDevIdByPhyDevId; gives (logic_dev_id, ret)."""
def get_logic_dev_id_by_user_dev_id(user_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetLogicDevIdByUserDevId; gives (logic_dev_id, ret)."""
def get_mem_info(attr: int, /) -> tuple[int, int, int]:
    """aclrtGetMemInfo; gives (free, total, ret); free, total in bytes."""
def get_mem_uce_info(device_id: int, array_size: int, /) -> tuple[list[Any], int]:
    """aclrtGetMemUceInfo; gives (value, ret)."""
def get_memcpy_desc_size(kind: int, /) -> tuple[int, int]:
    """aclrtGetMemcpyDescSize; gives (desc_size, ret); desc_size in bytes."""
def get_notify_id(notify: int, /) -> tuple[int, int]:
    """aclrtGetNotifyId; gives (id, ret)."""
def get_op_execute_timeout(*given: object) -> tuple[int, int]:
    """aclrtGetOpExecuteTimeout; gives (timeout_ms, ret); timeout_ms in milliseconds."""
def get_op_timeout_interval(*given: object) -> tuple[int, int]:
    """aclrtGetOpTimeOutInterval; gives (interval_us, ret); interval_us in microseconds."""
def get_overflow_status(output_addr: int, output_size: int, stream: int, /) -> int:
    """aclrtGetOverflowStatus; output_size in bytes."""
def get_phy_dev_id_by_logic_dev_id(logic_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetPhyDevIdByLogicDevId; gives (phy_dev_id, ret)."""
def get_primary_ctx_state(device_id: int, /) -> tuple[int, int, int]:
    """aclrtGetPrimaryCtxState; gives (active, flags, ret)."""
def get_res_in_current_thread(type: int, /) -> tuple[int, int]:
    """aclrtGetResInCurrentThread; gives (value, ret)."""
def get_run_mode(*given: object) -> tuple[int, int]:
    """aclrtGetRunMode; gives (run_mode, ret)."""
def get_stream_attribute(stream: int, attr: int, /) -> tuple[dict[str, Any], int]:
    """aclrtGetStreamAttribute; gives (value, ret)."""
def get_stream_available_num(*given: object) -> tuple[int, int]:
    """aclrtGetStreamAvailableNum; gives (count, ret)."""
def get_stream_id_from_exception_info(info: int, /) -> int:
    """aclrtGetStreamIdFromExceptionInfo."""
def get_stream_overflow_switch(stream: int, /) -> tuple[int, int]:
    """aclrtGetStreamOverflowSwitch; gives (flag, ret)."""
def get_stream_res_limit(stream: int, type: int, /) -> tuple[int, int]:
    """aclrtGetStreamResLimit; gives (value, ret)."""
def get_sys_param_opt(opt: int, /) -> tuple[int, int]:
    """aclrtGetSysParamOpt; gives (value, ret)."""
def get_task_id_from_exception_info(info: int, /) -> int:
    """aclrtGetTaskIdFromExceptionInfo."""
def get_thread_id_from_exception_info(info: int, /) -> int:
    """aclrtGetThreadIdFromExceptionInfo."""
def get_thread_last_task_id(*given: object) -> tuple[int, int]:
    """aclrtGetThreadLastTaskId; gives (task_id, ret)."""
def get_user_dev_id_by_logic_dev_id(logic_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetUserDevIdByLogicDevId; gives (user_dev_id, ret)."""
def host_get_device_pointer(host_ptr: int, flag: int, /) -> tuple[int, int]:
    """aclrtHostGetDevicePointer; gives (dev_ptr, ret)."""
def host_register(ptr: int, size: int, type: int, /) -> tuple[int, int]:
    """aclrtHostRegister; gives (dev_ptr, ret); size in bytes."""
def host_register_v2(ptr: int, size: int, flag: int, /) -> int:
    """aclrtHostRegisterV2; size in bytes."""
def host_unregister(ptr: int, /) -> int:
    """aclrtHostUnregister."""
def ipc_mem_close(key: str, /) -> int:
    """aclrtIpcMemClose."""
def ipc_mem_get_export_key(dev_ptr: int, size: int, key_len: int, flag: int, /) -> tuple[str, int]:
    """aclrtIpcMemGetExportKey; gives (key, ret); size in bytes."""
def ipc_mem_import_by_key(key: str, flag: int, /) -> tuple[int, int]:
    """aclrtIpcMemImportByKey; gives (dev_ptr, ret)."""
def ipc_mem_set_import_pid(key: str, pids: list[int], /) -> int:
    """aclrtIpcMemSetImportPid."""
def kernel_args_append(args_handle: int, param: int, param_size: int, /) -> tuple[int, int]:
    """aclrtKernelArgsAppend; gives (param_handle, ret); param_size in bytes."""
def kernel_args_append_place_holder(args_handle: int, /) -> tuple[int, int]:
    """aclrtKernelArgsAppendPlaceHolder; gives (param_handle, ret)."""
def kernel_args_finalize(args_handle: int, /) -> int:
    """aclrtKernelArgsFinalize."""
def kernel_args_get_handle_mem_size(func_handle: int, /) -> tuple[int, int]:
    """aclrtKernelArgsGetHandleMemSize; gives (mem_size, ret); mem_size in bytes."""
def kernel_args_get_mem_size(func_handle: int, user_args_size: int, /) -> tuple[int, int]:
    """aclrtKernelArgsGetMemSize; gives (actual_size, ret); user_args_size, actual_size in bytes."""
def kernel_args_get_place_holder_buffer(args_handle: int, param_handle: int, data_size: int, /) -> tuple[int, int]:
    """aclrtKernelArgsGetPlaceHolderBuffer; gives (buffer_addr, ret); data_size in bytes."""
def kernel_args_init(func_handle: int, /) -> tuple[int, int]:
    """aclrtKernelArgsInit; gives (args_handle, ret)."""
def kernel_args_init_by_user_mem(func_handle: int, args_handle: int, user_host_mem: int, actual_args_size: int, /) -> int:
    """aclrtKernelArgsInitByUserMem."""
def kernel_args_para_update(args_handle: int, param_handle: int, param: int, param_size: int, /) -> int:
    """aclrtKernelArgsParaUpdate; param_size in bytes."""
def launch_callback(fn: Callable[..., object], user_data: Any, block_type: int, stream: int, /) -> int:
    """aclrtLaunchCallback."""
def launch_kernel(func_handle: int, block_dim: int, args_data: int, args_size: int, stream: int, /) -> int:
    """aclrtLaunchKernel; args_size in bytes."""
def launch_kernel_with_config(func_handle: int, block_dim: int, stream: int, cfg: list[dict[str, Any]], args_handle: int, reserve: int, /) -> int:
    """aclrtLaunchKernelWithConfig."""
def launch_kernel_with_host_args(func_handle: int, block_dim: int, stream: int, cfg: list[dict[str, Any]], host_args: int, args_size: int, placeholders: list[dict[str, Any]], /) -> int:
    """aclrtLaunchKernelWithHostArgs; args_size in bytes."""
def malloc(size: int, policy: int, /) -> tuple[int, int]:
    """aclrtMalloc; gives (dev_ptr, ret); size in bytes."""
def malloc_align32(size: int, policy: int, /) -> tuple[int, int]:
    """aclrtMallocAlign32; gives (dev_ptr, ret); size in bytes."""
def malloc_cached(size: int, policy: int, /) -> tuple[int, int]:
    """aclrtMallocCached; gives (dev_ptr, ret); size in bytes."""
def malloc_for_task_scheduler(size: int, policy: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """aclrtMallocForTaskScheduler; gives (dev_ptr, ret); size in bytes."""
def malloc_host(size: int, /) -> tuple[int, int]:
    """aclrtMallocHost; gives (host_ptr, ret); size in bytes."""
def malloc_host_with_cfg(size: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """aclrtMallocHostWithCfg; gives (host_ptr, ret); size in bytes."""
def malloc_physical(size: int, prop: dict[str, Any], flags: int, /) -> tuple[int, int]:
    """aclrtMallocPhysical; gives (handle, ret); size in bytes."""
def malloc_with_cfg(size: int, policy: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """aclrtMallocWithCfg; gives (dev_ptr, ret); size in bytes."""
def map_mem(vir_ptr: int, size: int, offset: int, handle: int, flags: int, /) -> int:
    """aclrtMapMem; size, offset in bytes."""
def mem_export_to_shareable_handle(handle: int, handle_type: int, flags: int, /) -> tuple[int, int]:
    """aclrtMemExportToShareableHandle; gives (shareable_handle, ret)."""
def mem_flush(dev_ptr: int, size: int, /) -> int:
    """aclrtMemFlush; size in bytes."""
def mem_get_allocation_granularity(prop: dict[str, Any], option: int, /) -> tuple[int, int]:
    """aclrtMemGetAllocationGranularity; gives (granularity, ret); granularity in bytes."""
def mem_import_from_shareable_handle(shareable_handle: int, device_id: int, /) -> tuple[int, int]:
    """aclrtMemImportFromShareableHandle; gives (handle, ret)."""
def mem_invalidate(dev_ptr: int, size: int, /) -> int:
    """aclrtMemInvalidate; size in bytes."""
def mem_set_pid_to_shareable_handle(shareable_handle: int, pids: list[int], /) -> int:
    """aclrtMemSetPidToShareableHandle."""
def mem_uce_repair(device_id: int, infos: list[dict[str, Any]], /) -> int:
    """aclrtMemUceRepair."""
def memcpy(dst: int, dest_max: int, src: int, count: int, kind: int, /) -> int:
    """aclrtMemcpy; dest_max, count in bytes."""
def memcpy2d(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, /) -> int:
    """aclrtMemcpy2d; dpitch, spitch, width in bytes."""
def memcpy2d_async(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpy2dAsync; dpitch, spitch, width in bytes."""
def memcpy_async(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpyAsync; dest_max, count in bytes."""
def memcpy_async_with_condition(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpyAsyncWithCondition; dest_max, count in bytes."""
def memcpy_async_with_desc(desc: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpyAsyncWithDesc."""
def memset(ptr: int, max_count: int, value: int, count: int, /) -> int:
    """aclrtMemset; max_count, count in bytes."""
def memset_async(ptr: int, max_count: int, value: int, count: int, stream: int, /) -> int:
    """aclrtMemsetAsync; max_count, count in bytes."""
def notify_batch_reset(notifies: list[int], /) -> int:
    """aclrtNotifyBatchReset."""
def notify_get_export_key(notify: int, key_len: int, flag: int, /) -> tuple[str, int]:
    """aclrtNotifyGetExportKey; gives (key, ret)."""
def notify_import_by_key(key: str, flag: int, /) -> tuple[int, int]:
    """aclrtNotifyImportByKey; gives (notify, ret)."""
def notify_set_import_pid(notify: int, pids: list[int], /) -> int:
    """aclrtNotifySetImportPid."""
def peek_at_last_error(level: int, /) -> int:
    """aclrtPeekAtLastError."""
def pointer_get_attributes(ptr: int, /) -> tuple[dict[str, Any], int]:
    """aclrtPointerGetAttributes; gives (value, ret)."""
def process_report(timeout_ms: int, /) -> int:
    """aclrtProcessReport; timeout_ms in milliseconds."""
def query_device_status(device_id: int, /) -> tuple[int, int]:
    """aclrtQueryDeviceStatus; gives (status, ret)."""
def query_event(event: int, /) -> tuple[int, int]:
    """aclrtQueryEvent; gives (status, ret)."""
def query_event_status(event: int, /) -> tuple[int, int]:
    """aclrtQueryEventStatus; gives (status, ret)."""
def query_event_wait_status(event: int, /) -> tuple[int, int]:
    """aclrtQueryEventWaitStatus; gives (status, ret)."""
def record_event(event: int, stream: int, /) -> int:
    """aclrtRecordEvent."""
def record_notify(notify: int, stream: int, /) -> int:
    """aclrtRecordNotify."""
def reduce_async(dst: int, src: int, count: int, kind: int, data_type: int, stream: int, reserve: int, /) -> int:
    """aclrtReduceAsync."""
def register_cpu_func(bin_handle: int, func_name: str, kernel_name: str, /) -> tuple[int, int]:
    """aclrtRegisterCpuFunc; gives (func_handle, ret)."""
def release_mem_address(vir_ptr: int, /) -> int:
    """aclrtReleaseMemAddress."""
def reserve_mem_address(size: int, alignment: int, expect_ptr: int, flags: int, /) -> tuple[int, int]:
    """aclrtReserveMemAddress; gives (vir_ptr, ret); size in bytes."""
def reset_device(device_id: int, /) -> int:
    """aclrtResetDevice."""
def reset_device_force(device_id: int, /) -> int:
    """aclrtResetDeviceForce."""
def reset_device_res_limit(device_id: int, /) -> int:
    """aclrtResetDeviceResLimit."""
def reset_event(event: int, stream: int, /) -> int:
    """aclrtResetEvent."""
def reset_overflow_status(stream: int, /) -> int:
    """aclrtResetOverflowStatus."""
def reset_stream_res_limit(stream: int, /) -> int:
    """aclrtResetStreamResLimit."""
def set_context(context: int, /) -> int:
    """aclrtSetCurrentContext."""
def set_device(device_id: int, /) -> int:
    """aclrtSetDevice."""
def set_device_res_limit(device_id: int, type: int, value: int, /) -> int:
    """aclrtSetDeviceResLimit."""
def set_device_sat_mode(mode: int, /) -> int:
    """aclrtSetDeviceSatMode."""
def set_exception_info_callback(fn: Any = ..., /) -> int:
    """aclrtSetExceptionInfoCallback."""
def set_group(group_id: int, /) -> int:
    """aclrtSetGroup."""
def set_memcpy_desc(desc: int, kind: int, src_addr: int, dst_addr: int, count: int, config: int, /) -> tuple[int, int]:
    """aclrtSetMemcpyDesc; gives (desc, ret); count in bytes."""
def set_op_execute_time_out(timeout_s: int, /) -> int:
    """aclrtSetOpExecuteTimeOut; timeout_s in seconds."""
def set_op_execute_timeout_v2(timeout_us: int, /) -> tuple[int, int]:
    """aclrtSetOpExecuteTimeOutV2; gives (actual_us, ret); timeout_us, actual_us in microseconds."""
def set_op_wait_timeout(timeout_s: int, /) -> int:
    """aclrtSetOpWaitTimeout; timeout_s in seconds."""
def set_stream_attribute(stream: int, attr: int, value: dict[str, Any], /) -> int:
    """aclrtSetStreamAttribute."""
def set_stream_failure_mode(stream: int, mode: int, /) -> int:
    """aclrtSetStreamFailureMode."""
def set_stream_overflow_switch(stream: int, flag: int, /) -> int:
    """aclrtSetStreamOverflowSwitch."""
def set_stream_res_limit(stream: int, type: int, value: int, /) -> int:
    """aclrtSetStreamResLimit."""
def set_sys_param_opt(opt: int, value: int, /) -> int:
    """aclrtSetSysParamOpt."""
def set_ts_device(ts_id: int, /) -> int:
    """aclrtSetTsDevice."""
def stream_abort(stream: int, /) -> int:
    """aclrtStreamAbort."""
def stream_get_id(stream: int, /) -> tuple[int, int]:
    """aclrtStreamGetId; gives (stream_id, ret)."""
def stream_query(stream: int, /) -> tuple[int, int]:
    """aclrtStreamQuery; gives (status, ret)."""
def stream_wait_event(stream: int, event: int, /) -> int:
    """aclrtStreamWaitEvent."""
def subscribe_report(thread_id: int, stream: int, /) -> int:
    """aclrtSubscribeReport."""
def synchronize_device(*given: object) -> int:
    """aclrtSynchronizeDevice."""
def synchronize_device_with_timeout(timeout_ms: int, /) -> int:
    """aclrtSynchronizeDeviceWithTimeout; timeout_ms in milliseconds."""
def synchronize_event(event: int, /) -> int:
    """aclrtSynchronizeEvent."""
def synchronize_event_with_timeout(event: int, timeout_ms: int, /) -> int:
    """aclrtSynchronizeEventWithTimeout; timeout_ms in milliseconds."""
def synchronize_stream(stream: int, /) -> int:
    """aclrtSynchronizeStream."""
def synchronize_stream_with_timeout(stream: int, timeout_ms: int, /) -> int:
    """aclrtSynchronizeStreamWithTimeout; timeout_ms in milliseconds."""
def unmap_mem(vir_ptr: int, /) -> int:
    """aclrtUnmapMem."""
def unsubscribe_report(thread_id: int, stream: int, /) -> int:
    """aclrtUnSubscribeReport."""
def unuse_stream_res_in_current_thread(stream: int, /) -> int:
    """aclrtUnuseStreamResInCurrentThread."""
def use_stream_res_in_current_thread(stream: int, /) -> int:
    """aclrtUseStreamResInCurrentThread."""
def value_wait(dev_addr: int, value: int, flag: int, stream: int, /) -> int:
    """aclrtValueWait."""
def value_write(dev_addr: int, value: int, flag: int, stream: int, /) -> int:
    """aclrtValueWrite."""
def wait_and_reset_notify(notify: int, stream: int, timeout_s: int, /) -> int:
    """aclrtWaitAndResetNotify; timeout_s in seconds."""
