"""Types of acl.rt; made from the tables of calls by tests/tools/acl_stubs.py."""

from collections.abc import Callable
from typing import Any

def allocator_create_desc(*given: object) -> int:
    """aclrtAllocatorCreateDesc."""
def allocator_destroy_desc(desc: int, /) -> int:
    """aclrtAllocatorDestroyDesc.

    Refuses: allocatorDesc is NULL (100000 EH0008).
    """
def allocator_register(stream: int, desc: int, /) -> int:
    """aclrtAllocatorRegister.

    Refuses: stream is NULL (100000 EH0008); allocatorDesc is NULL (100000 EH0008).
    """
def allocator_set_alloc_advise_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetAllocAdviseFuncToDesc.

    Refuses: allocatorDesc is NULL (100000 EH0008); func is NULL (100000 EH0008).
    """
def allocator_set_alloc_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetAllocFuncToDesc.

    Refuses: allocatorDesc is NULL (100000 EH0008); func is NULL (100000 EH0008).
    """
def allocator_set_free_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetFreeFuncToDesc.

    Refuses: allocatorDesc is NULL (100000 EH0008); func is NULL (100000 EH0008).
    """
def allocator_set_get_addr_from_block_func_to_desc(desc: int, fn: Callable[..., object], /) -> int:
    """aclrtAllocatorSetGetAddrFromBlockFuncToDesc.

    Refuses: allocatorDesc is NULL (100000 EH0008); func is NULL (100000 EH0008).
    """
def allocator_set_obj_to_desc(desc: int, allocator: int, /) -> int:
    """aclrtAllocatorSetObjToDesc.

    Refuses: allocatorDesc is NULL (100000 EH0008); allocator is NULL (100000 EH0008).
    """
def allocator_unregister(stream: int, /) -> int:
    """aclrtAllocatorUnregister.

    Refuses: stream is NULL (100000 EH0008).
    """
def binary_get_function(bin_handle: int, kernel_name: str, /) -> tuple[int, int]:
    """aclrtBinaryGetFunction; gives (func_handle, ret).

    Refuses: binHandle is NULL (100000 EH0008); kernelName is NULL (100000 EH0008); funcHandle is NULL (100000
    EH0008); binHandle is dead, foreign or of another kind (107017 EE1017).
    """
def binary_load(binary: int, /) -> tuple[int, int]:
    """aclrtBinaryLoad; gives (bin_handle, ret).

    Refuses: binary is NULL (100000 EH0008); binHandle is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def binary_load_from_data(data: int, length: int, options: list[dict[str, Any]], /) -> tuple[int, int]:
    """aclrtBinaryLoadFromData; gives (bin_handle, ret); length in bytes.

    Refuses: data is NULL (100000 EH0008); binHandle is NULL (100000 EH0008); length is 0 (107000 EE1003).
    """
def binary_load_from_file(path: str, options: list[dict[str, Any]], /) -> tuple[int, int]:
    """aclrtBinaryLoadFromFile; gives (bin_handle, ret).

    Refuses: binPath is NULL (100000 EH0008); binHandle is NULL (100000 EH0008).
    """
def binary_unload(bin_handle: int, /) -> int:
    """aclrtBinaryUnLoad.

    Refuses: binHandle is NULL (100000 EH0008); binHandle is dead, foreign or of another kind (107017 EE1017).
    """
def cmo_async(src: int, size: int, cmo_type: int, stream: int, /) -> int:
    """aclrtCmoAsync; size in bytes.

    Refuses: src is NULL (100000 EH0008); size is 0 (100000 EH0007); stream is dead, foreign or of another kind
    (107017 EE1017); cmoType not in (0, 1, 2, 3) (207000); is_bound(stream_) and not is_graph(stream_.bound)
    (207000).
    """
def create_binary(data: int, size: int, /) -> int:
    """aclrtCreateBinary; size in bytes.

    Refuses: data is NULL (100000 EH0008).
    """
def create_context(device_id: int, /) -> tuple[int, int]:
    """aclrtCreateContext; gives (context, ret).

    Refuses: context is NULL (100000 EH0008); deviceId is no visible device (107001 EE1003).
    """
def create_event(*given: object) -> tuple[int, int]:
    """aclrtCreateEvent; gives (event, ret).

    Refuses: event is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def create_event_ex_with_flag(flag: int, /) -> tuple[int, int]:
    """aclrtCreateEventExWithFlag; gives (event, ret).

    Refuses: event is NULL (100000 EH0008); the chip has no IPC_EVENT, and flag == 0x40 (207000); flag & 0x70 and
    flag & (flag - 1) (107000 EE1006); not flag & 0x4f or flag > 0x4f (107000 EE1003); no current context (107002
    EE1018).
    """
def create_event_with_flag(flag: int, /) -> tuple[int, int]:
    """aclrtCreateEventWithFlag; gives (event, ret).

    Refuses: event is NULL (100000 EH0008); not flag & 0x3f or flag > 0x3f (107000 EE1003); flag & 0x30 and flag &
    (flag - 1) (107000 EE1006); no current context (107002 EE1018).
    """
def create_group_info(*given: object) -> int:
    """aclrtCreateGroupInfo."""
def create_notify(flag: int, /) -> tuple[int, int]:
    """aclrtCreateNotify; gives (notify, ret).

    Refuses: notify is NULL (100000 EH0008); flag not in (0, 1) (107000 EE1003).
    """
def create_stream(*given: object) -> tuple[int, int]:
    """aclrtCreateStream; gives (stream, ret).

    Refuses: stream is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def create_stream_with_config(priority: int, flag: int, /) -> tuple[int, int]:
    """aclrtCreateStreamWithConfig; gives (stream, ret).

    Refuses: stream is NULL (100000 EH0008).
    """
def ctx_get_current_default_stream(*given: object) -> tuple[int, int]:
    """aclrtCtxGetCurrentDefaultStream; gives (stream, ret).

    Refuses: stream is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def ctx_get_sys_param_opt(opt: int, /) -> tuple[int, int]:
    """aclrtCtxGetSysParamOpt; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); opt is not [0, 2] (100000 EH0007); no current context (107002 EE1018).
    """
def ctx_set_sys_param_opt(opt: int, value: int, /) -> int:
    """aclrtCtxSetSysParamOpt.

    Refuses: opt is not [0, 2] (100000 EH0007); not 0 <= value <= (1 if opt else 3) (107000 EE1003); no current
    context (107002 EE1018).
    """
def destroy_binary(binary: int, /) -> int:
    """aclrtDestroyBinary.

    Refuses: binary is NULL (100000 EH0008).
    """
def destroy_context(context: int, /) -> int:
    """aclrtDestroyContext.

    Refuses: context is NULL (100000 EH0008).
    """
def destroy_event(event: int, /) -> int:
    """aclrtDestroyEvent.

    Refuses: event is NULL (100000 EH0008); event is dead, foreign or of another kind (107017 EE1017).
    """
def destroy_group_info(group_info: int, /) -> int:
    """aclrtDestroyGroupInfo.

    Refuses: groupInfo is NULL (100000 EH0008).
    """
def destroy_notify(notify: int, /) -> int:
    """aclrtDestroyNotify.

    Refuses: notify is NULL (100000 EH0008); notify is dead, foreign or of another kind (107017 EE1017); no current
    context (107002 EE1018).
    """
def destroy_stream(stream: int, /) -> int:
    """aclrtDestroyStream.

    Refuses: stream is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); stream is
    being captured (107027 EE1016); stream belongs to another context (107003 EE1010).
    """
def destroy_stream_force(stream: int, /) -> int:
    """aclrtDestroyStreamForce.

    Refuses: stream is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); stream is
    being captured (107027 EE1016); stream belongs to another context (107003 EE1010).
    """
def device_can_access_peer(device_id: int, peer_device_id: int, /) -> tuple[int, int]:
    """aclrtDeviceCanAccessPeer; gives (can_access, ret).

    Refuses: deviceId == peerDeviceId (100000 EH0009); not 0 <= peerDeviceId < len(acl.runtime.slots) (107001);
    ASCEND_RT_VISIBLE_DEVICES is set, and deviceId is none of its devices (107001 EE1003); not 0 <= deviceId < 64
    (107000 EE1003); canAccessPeer is NULL (107000 EE1004).
    """
def device_disable_peer_access(peer_device_id: int, /) -> int:
    """aclrtDeviceDisablePeerAccess."""
def device_enable_peer_access(peer_device_id: int, flags: int, /) -> int:
    """aclrtDeviceEnablePeerAccess.

    Refuses: flags (200006 EH0009).
    """
def device_get_bare_tgid(*given: object) -> tuple[int, int]:
    """aclrtDeviceGetBareTgid; gives (pid, ret).

    Refuses: pid is NULL (100000 EH0008).
    """
def device_get_limit(limit: int, /) -> tuple[int, int]:
    """aclrtDeviceGetLimit; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); limit is not [0, 4] (100000 EH0007).
    """
def device_get_stream_priority_range(*given: object) -> tuple[int, int, int]:
    """aclrtDeviceGetStreamPriorityRange; gives (least, greatest, ret)."""
def device_get_uuid(device_id: int, /) -> tuple[dict[str, Any], int]:
    """aclrtDeviceGetUuid; gives (value, ret).

    Refuses: uuid is NULL (100000 EH0008); deviceId < 0 (107001 EE1003); deviceId is no visible device (107001
    EE1003).
    """
def device_peer_access_status(device_id: int, peer_device_id: int, /) -> tuple[int, int]:
    """aclrtDevicePeerAccessStatus; gives (status, ret).

    Refuses: status is NULL (100000 EH0008); ASCEND_RT_VISIBLE_DEVICES is set, and deviceId is none of its devices
    (107001 EE1003); not 0 <= deviceId < 64 (107000 EE1003); not 0 <= peerDeviceId < 64 (107000 EE1003).
    """
def device_set_limit(limit: int, value: int, /) -> int:
    """aclrtDeviceSetLimit.

    Refuses: limit is not [0, 4] (100000 EH0007); value > 0xFFFFFFFF (100000 EH0007); not has_limit(acl, limit)
    (207000).
    """
def device_task_abort(device_id: int, timeout_ms: int, /) -> int:
    """aclrtDeviceTaskAbort; timeout_ms in milliseconds.

    Refuses: the chip has no DFX_FAST_RECOVER (207000); timeout > 2160000 (107000 EE1003); deviceId is no visible
    device (107001 EE1003).
    """
def event_elapsed_time(start_event: int, end_event: int, /) -> tuple[float, int]:
    """aclrtEventElapsedTime; gives (ms, ret); ms in milliseconds.

    Refuses: ms is NULL (100000 EH0008); startEvent is NULL (100000 EH0008); endEvent is NULL (100000 EH0008);
    startEvent is dead, foreign or of another kind (107017 EE1017); endEvent is dead, foreign or of another kind
    (107017 EE1017); one of the events is part of a capture (107028 EE1016); one of the events is external (0x20),
    or for other processes (0x40) (207000).
    """
def event_get_timestamp(event: int, /) -> tuple[int, int]:
    """aclrtEventGetTimestamp; gives (timestamp, ret); timestamp in microseconds of the device's clock.

    Refuses: timestamp is NULL (100000 EH0008); event is NULL (100000 EH0008); event is dead, foreign or of another
    kind (107017 EE1017).
    """
def free(dev_ptr: int, /) -> int:
    """aclrtFree.

    Refuses: devPtr is NULL (100000 EH0008).
    """
def free_host(host_ptr: int, /) -> int:
    """aclrtFreeHost.

    Refuses: hostPtr is NULL (100000 EH0008).
    """
def free_physical(handle: int, /) -> int:
    """aclrtFreePhysical.

    Refuses: handle is NULL (100000 EH0008).
    """
def get_all_group_info(group_info: int, /) -> int:
    """aclrtGetAllGroupInfo.

    Refuses: groupInfo is NULL (100000 EH0008).
    """
def get_context(*given: object) -> tuple[int, int]:
    """aclrtGetCurrentContext; gives (context, ret).

    Refuses: context is NULL (100000 EH0008); no current context (107002).
    """
def get_device(*given: object) -> tuple[int, int]:
    """aclrtGetDevice; gives (device_id, ret).

    Refuses: deviceId is NULL (100000 EH0008).
    """
def get_device_capability(device_id: int, feature_type: int, /) -> tuple[int, int]:
    """aclrtGetDeviceCapability; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); devFeatureType not in (1, 21) (107000 EE1003); deviceId is no visible
    device (107001 EE1003).
    """
def get_device_count(*given: object) -> tuple[int, int]:
    """aclrtGetDeviceCount; gives (count, ret).

    Refuses: count is NULL (100000 EH0008).
    """
def get_device_id_from_exception_info(info: int, /) -> int:
    """aclrtGetDeviceIdFromExceptionInfo.

    Refuses: info is NULL (100000 EH0008).
    """
def get_device_info(device_id: int, attr: int, /) -> tuple[int, int]:
    """aclrtGetDeviceInfo; gives (value, ret).

    Refuses: value is NULL (100000 EH0008).
    """
def get_device_res_limit(device_id: int, type: int, /) -> tuple[int, int]:
    """aclrtGetDeviceResLimit; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); deviceId < 0 (107001 EE1003); type > 1 (107000 EE1003); deviceId is no
    visible device (107001 EE1003).
    """
def get_device_sat_mode(*given: object) -> tuple[int, int]:
    """aclrtGetDeviceSatMode; gives (mode, ret).

    Refuses: mode is NULL (100000 EH0008).
    """
def get_device_utilization_rate(device_id: int, /) -> tuple[dict[str, Any], int]:
    """aclrtGetDeviceUtilizationRate; gives (value, ret).

    Refuses: utilizationInfo is NULL (100000 EH0008); utilizationInfo has an utilizationExtend (100000 EH0012).
    """
def get_devices_topo(device_id: int, other_device_id: int, /) -> tuple[int, int]:
    """aclrtGetDevicesTopo; gives (value, ret).

    Refuses: value is NULL (100000 EH0008).
    """
def get_error_code_from_exception_info(info: int, /) -> int:
    """aclrtGetErrorCodeFromExceptionInfo.

    Refuses: info is NULL (100000 EH0008).
    """
def get_event_avail_num(*given: object) -> tuple[int, int]:
    """aclrtGetEventAvailNum; gives (count, ret).

    Refuses: eventCount is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def get_event_id(event: int, /) -> tuple[int, int]:
    """aclrtGetEventId; gives (id, ret).

    Refuses: event is NULL (100000 EH0008); eventId is NULL (100000 EH0008); event is dead, foreign or of another
    kind (107017 EE1017); event is for other processes (0x40) (207000).
    """
def get_function_addr(func_handle: int, /) -> tuple[int, int, int]:
    """aclrtGetFunctionAddr; gives (aic_addr, aiv_addr, ret).

    Refuses: funcHandle is NULL (100000 EH0008); aicAddr is NULL (100000 EH0008); aivAddr is NULL (100000 EH0008);
    funcHandle is dead, foreign or of another kind (107017 EE1017); funcHandle_.for_cpu (107000 EE1017); no current
    context (107002 EE1018).
    """
def get_function_name(func_handle: int, max_len: int, /) -> tuple[str, int]:
    """aclrtGetFunctionName; gives (name, ret).

    Refuses: name is NULL (100000 EH0008); funcHandle is dead, foreign or of another kind (107017 EE1017);
    funcHandle is NULL (107000 EE1004).
    """
def get_group_count(placeholder: int, /) -> tuple[int, int]:
    """aclrtGetGroupCount; gives (count, ret).

    Refuses: count is NULL (100000 EH0008).
    """
def get_group_info_detail(group_info: int, group_id: int, attr: int, /) -> tuple[list[Any], int]:
    """aclrtGetGroupInfoDetail; gives (value, ret).

    Refuses: groupInfo is NULL (100000 EH0008); attrValue is NULL (100000 EH0008); paramRetSize is NULL (100000
    EH0008).
    """
def get_last_error(level: int, /) -> int:
    """aclrtGetLastError.

    Refuses: level (100000 EH0007).
    """
def get_logic_dev_id_by_phy_dev_id(phy_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetLogicDevIdByPhyDevId; gives (logic_dev_id, ret).

    Refuses: logicDevId is NULL (100000 EH0008); phyDevId < 0 (107000 EE1003).
    """
def get_logic_dev_id_by_user_dev_id(user_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetLogicDevIdByUserDevId; gives (logic_dev_id, ret).

    Refuses: logicDevId is NULL (100000 EH0008); userDevid < 0 (107000 EE1003).
    """
def get_mem_info(attr: int, /) -> tuple[int, int, int]:
    """aclrtGetMemInfo; gives (free, total, ret); free, total in bytes.

    Refuses: free is NULL (100000 EH0008); total is NULL (100000 EH0008); not 0 <= attr <= 17 (107016 EE1003); no
    current context (107002 EE1001).
    """
def get_mem_uce_info(device_id: int, array_size: int, /) -> tuple[list[Any], int]:
    """aclrtGetMemUceInfo; gives (value, ret).

    Refuses: memUceInfoArray is NULL (100000 EH0008); retSize is NULL (100000 EH0008); deviceId is no visible device
    (107001 EE1003).
    """
def get_memcpy_desc_size(kind: int, /) -> tuple[int, int]:
    """aclrtGetMemcpyDescSize; gives (desc_size, ret); desc_size in bytes.

    Refuses: descSize is NULL (100000 EH0008); not 0 <= kind < 8 (100000 EH0007); kind is not 6 (inside a device),
    which alone is described (207000).
    """
def get_notify_id(notify: int, /) -> tuple[int, int]:
    """aclrtGetNotifyId; gives (id, ret).

    Refuses: notify is NULL (100000 EH0008); notifyId is NULL (100000 EH0008); notify is dead, foreign or of another
    kind (107017 EE1017); no current context (107002 EE1018).
    """
def get_op_execute_timeout(*given: object) -> tuple[int, int]:
    """aclrtGetOpExecuteTimeout; gives (timeout_ms, ret); timeout_ms in milliseconds.

    Refuses: timeoutMs is NULL (100000 EH0008).
    """
def get_op_timeout_interval(*given: object) -> tuple[int, int]:
    """aclrtGetOpTimeOutInterval; gives (interval_us, ret); interval_us in microseconds.

    Refuses: interval is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def get_overflow_status(output_addr: int, output_size: int, stream: int, /) -> int:
    """aclrtGetOverflowStatus; output_size in bytes.

    Refuses: outputAddr is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017);
    outputSize != 64 (107000 EE1001); stream is being captured (107027 EE1016); stream belongs to another context
    (107003 EE1010).
    """
def get_phy_dev_id_by_logic_dev_id(logic_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetPhyDevIdByLogicDevId; gives (phy_dev_id, ret).

    Refuses: phyDevId is NULL (100000 EH0008); logicDevId < 0 (107000 EE1003).
    """
def get_primary_ctx_state(device_id: int, /) -> tuple[int, int, int]:
    """aclrtGetPrimaryCtxState; gives (active, flags, ret).

    Refuses: active is NULL (100000 EH0008); flags is reserved (100000 EH0012); deviceId is no visible device
    (107001 EE1003).
    """
def get_res_in_current_thread(type: int, /) -> tuple[int, int]:
    """aclrtGetResInCurrentThread; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); type > 1 (107000 EE1003).
    """
def get_run_mode(*given: object) -> tuple[int, int]:
    """aclrtGetRunMode; gives (run_mode, ret).

    Refuses: runMode is NULL (100000 EH0008).
    """
def get_stream_attribute(stream: int, attr: int, /) -> tuple[dict[str, Any], int]:
    """aclrtGetStreamAttribute; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); stmAttrType
    is not [1, 5] (107000 EE1003); stmAttrType == 5 and not stream (107000 EE1004); no current context, and not
    stream and stmAttrType in (1, 4) (107000 EE1018); stmAttrType == 5 and has_flag(stream_, CPU_SCHEDULE) (207000
    EE1006); no current context, and stmAttrType not in (1, 4) (107002 EE1018); stream belongs to another context,
    and stmAttrType is one of (2, 3) (107003 EE1010).
    """
def get_stream_available_num(*given: object) -> tuple[int, int]:
    """aclrtGetStreamAvailableNum; gives (count, ret).

    Refuses: streamCount is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def get_stream_id_from_exception_info(info: int, /) -> int:
    """aclrtGetStreamIdFromExceptionInfo.

    Refuses: info is NULL (100000 EH0008).
    """
def get_stream_overflow_switch(stream: int, /) -> tuple[int, int]:
    """aclrtGetStreamOverflowSwitch; gives (flag, ret).

    Refuses: flag is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); stream
    belongs to another context (107003 EE1010).
    """
def get_stream_res_limit(stream: int, type: int, /) -> tuple[int, int]:
    """aclrtGetStreamResLimit; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); type > 1
    (107000 EE1003); no current context, and not stream (107002 EE1018).
    """
def get_sys_param_opt(opt: int, /) -> tuple[int, int]:
    """aclrtGetSysParamOpt; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); opt is not [0, 3] (100000 EH0007).
    """
def get_task_id_from_exception_info(info: int, /) -> int:
    """aclrtGetTaskIdFromExceptionInfo.

    Refuses: info is NULL (100000 EH0008).
    """
def get_thread_id_from_exception_info(info: int, /) -> int:
    """aclrtGetThreadIdFromExceptionInfo.

    Refuses: info is NULL (100000 EH0008).
    """
def get_thread_last_task_id(*given: object) -> tuple[int, int]:
    """aclrtGetThreadLastTaskId; gives (task_id, ret).

    Refuses: taskId is NULL (100000 EH0008).
    """
def get_user_dev_id_by_logic_dev_id(logic_dev_id: int, /) -> tuple[int, int]:
    """aclrtGetUserDevIdByLogicDevId; gives (user_dev_id, ret).

    Refuses: userDevid is NULL (100000 EH0008); logicDevId < 0 (107000 EE1003).
    """
def host_get_device_pointer(host_ptr: int, flag: int, /) -> tuple[int, int]:
    """aclrtHostGetDevicePointer; gives (dev_ptr, ret).

    Refuses: pHost is NULL (100000 EH0008); pDevice is NULL (100000 EH0008); flag (100000 EH0009); no current
    context (107002 EE1018).
    """
def host_register(ptr: int, size: int, type: int, /) -> tuple[int, int]:
    """aclrtHostRegister; gives (dev_ptr, ret); size in bytes.

    Refuses: ptr is NULL (100000 EH0008); devPtr is NULL (100000 EH0008); size is 0 (100000 EH0007); type & ~12
    (207000 EE1001); no current context (107002 EE1001).
    """
def host_register_v2(ptr: int, size: int, flag: int, /) -> int:
    """aclrtHostRegisterV2; size in bytes.

    Refuses: ptr is NULL (100000 EH0008); size is 0 (100000 EH0007); not flag & 0x1000000E or flag & ~0x1000000E
    (107000 EE1011); no current context (107002 EE1001).
    """
def host_unregister(ptr: int, /) -> int:
    """aclrtHostUnregister.

    Refuses: ptr is NULL (100000 EH0008); no current context (107002 EE1001).
    """
def ipc_mem_close(key: str, /) -> int:
    """aclrtIpcMemClose.

    Refuses: key is NULL (100000 EH0008); the chip has no IPC_MEMORY (207000 EE1001).
    """
def ipc_mem_get_export_key(dev_ptr: int, size: int, key_len: int, flag: int, /) -> tuple[str, int]:
    """aclrtIpcMemGetExportKey; gives (key, ret); size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); key is NULL (100000 EH0008); size is 0 (107000 EE1003); len is 0
    (107000 EE1003); flags > 1 (107000 EE1003); no current context (107002 EE1018).
    """
def ipc_mem_import_by_key(key: str, flag: int, /) -> tuple[int, int]:
    """aclrtIpcMemImportByKey; gives (dev_ptr, ret).

    Refuses: devPtr is NULL (100000 EH0008); key is NULL (100000 EH0008); flags > 1 (107000 EE1003); no current
    context (107002 EE1018).
    """
def ipc_mem_set_import_pid(key: str, pids: list[int], /) -> int:
    """aclrtIpcMemSetImportPid.

    Refuses: key is NULL (100000 EH0008); pid is NULL (100000 EH0008); not 0 < num & 0xffffffff < 1 << 31 (107000
    EE1003); no current context (107002 EE1018).
    """
def kernel_args_append(args_handle: int, param: int, param_size: int, /) -> tuple[int, int]:
    """aclrtKernelArgsAppend; gives (param_handle, ret); param_size in bytes.

    Refuses: argsHandle is NULL (100000 EH0008); param is NULL (100000 EH0008); paramSize is 0 (100000 EH0007);
    paramHandle is NULL (100000 EH0008).
    """
def kernel_args_append_place_holder(args_handle: int, /) -> tuple[int, int]:
    """aclrtKernelArgsAppendPlaceHolder; gives (param_handle, ret).

    Refuses: argsHandle is NULL (100000 EH0008); paramHandle is NULL (100000 EH0008).
    """
def kernel_args_finalize(args_handle: int, /) -> int:
    """aclrtKernelArgsFinalize.

    Refuses: argsHandle is NULL (100000 EH0008).
    """
def kernel_args_get_handle_mem_size(func_handle: int, /) -> tuple[int, int]:
    """aclrtKernelArgsGetHandleMemSize; gives (mem_size, ret); mem_size in bytes.

    Refuses: funcHandle is NULL (100000 EH0008); memSize is NULL (100000 EH0008); funcHandle is dead, foreign or of
    another kind (107017 EE1017).
    """
def kernel_args_get_mem_size(func_handle: int, user_args_size: int, /) -> tuple[int, int]:
    """aclrtKernelArgsGetMemSize; gives (actual_size, ret); user_args_size, actual_size in bytes.

    Refuses: funcHandle is NULL (100000 EH0008); actualArgsSize is NULL (100000 EH0008); funcHandle is dead, foreign
    or of another kind (107017 EE1017).
    """
def kernel_args_get_place_holder_buffer(args_handle: int, param_handle: int, data_size: int, /) -> tuple[int, int]:
    """aclrtKernelArgsGetPlaceHolderBuffer; gives (buffer_addr, ret); data_size in bytes.

    Refuses: argsHandle is NULL (100000 EH0008); paramHandle is NULL (100000 EH0008); dataSize is 0 (100000 EH0007);
    bufferAddr is NULL (100000 EH0008).
    """
def kernel_args_init(func_handle: int, /) -> tuple[int, int]:
    """aclrtKernelArgsInit; gives (args_handle, ret).

    Refuses: funcHandle is NULL (100000 EH0008); argsHandle is NULL (100000 EH0008); funcHandle is dead, foreign or
    of another kind (107017 EE1017).
    """
def kernel_args_init_by_user_mem(func_handle: int, args_handle: int, user_host_mem: int, actual_args_size: int, /) -> int:
    """aclrtKernelArgsInitByUserMem.

    Refuses: funcHandle is NULL (100000 EH0008); argsHandle is NULL (100000 EH0008); userHostMem is NULL (100000
    EH0008); actualArgsSize is 0 (100000 EH0007); funcHandle is dead, foreign or of another kind (107017 EE1017).
    """
def kernel_args_para_update(args_handle: int, param_handle: int, param: int, param_size: int, /) -> int:
    """aclrtKernelArgsParaUpdate; param_size in bytes.

    Refuses: argsHandle is NULL (100000 EH0008); paramHandle is NULL (100000 EH0008); param is NULL (100000 EH0008);
    paramSize is 0 (100000 EH0007).
    """
def launch_callback(fn: Callable[..., object], user_data: Any, block_type: int, stream: int, /) -> int:
    """aclrtLaunchCallback.

    Refuses: blockType is not 0 or 1 (100000 EH0007); stream is dead, foreign or of another kind (107017 EE1017); fn
    is NULL (107000 EE1004); runs_host_functions(acl, stream_) (107011 EE1016); stream belongs to another context
    (107003 EE1010).
    """
def launch_kernel(func_handle: int, block_dim: int, args_data: int, args_size: int, stream: int, /) -> int:
    """aclrtLaunchKernel; args_size in bytes.

    Refuses: funcHandle is NULL (100000 EH0008); argsData is NULL (100000 EH0008); funcHandle is dead, foreign or of
    another kind (107017 EE1017); stream is dead, foreign or of another kind (107017 EE1017); numBlocks is 0 (107000
    EE1003); argsSize is 0 (107000 EE1003); no current context (107002 EE1018); stream belongs to another context
    (107003 EE1010).
    """
def launch_kernel_with_config(func_handle: int, block_dim: int, stream: int, cfg: list[dict[str, Any]], args_handle: int, reserve: int, /) -> int:
    """aclrtLaunchKernelWithConfig.

    Refuses: funcHandle is NULL (100000 EH0008); numBlocks is 0 (100000 EH0007); argsHandle is NULL (100000 EH0008);
    reserve is reserved (100000 EH0012); funcHandle is dead, foreign or of another kind (107017 EE1017).
    """
def launch_kernel_with_host_args(func_handle: int, block_dim: int, stream: int, cfg: list[dict[str, Any]], host_args: int, args_size: int, placeholders: list[dict[str, Any]], /) -> int:
    """aclrtLaunchKernelWithHostArgs; args_size in bytes.

    Refuses: funcHandle is NULL (100000 EH0008); hostArgs is NULL (100000 EH0008); funcHandle is dead, foreign or of
    another kind (107017 EE1017); stream is dead, foreign or of another kind (107017 EE1017); argsSize is 0 (107000
    EE1003).
    """
def malloc(size: int, policy: int, /) -> tuple[int, int]:
    """aclrtMalloc; gives (dev_ptr, ret); size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); size is 0 (100000 EH0007); size > 0xFFFF_FFFF_FFFF_FFDF (100000); no
    current context (107002 EE1018).
    """
def malloc_align32(size: int, policy: int, /) -> tuple[int, int]:
    """aclrtMallocAlign32; gives (dev_ptr, ret); size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); size is 0 (100000 EH0007).
    """
def malloc_cached(size: int, policy: int, /) -> tuple[int, int]:
    """aclrtMallocCached; gives (dev_ptr, ret); size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); size is 0 (100000 EH0007).
    """
def malloc_for_task_scheduler(size: int, policy: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """aclrtMallocForTaskScheduler; gives (dev_ptr, ret); size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); cfg counts attributes and has none (100000 EH0009); size is 0 (100000
    EH0007).
    """
def malloc_host(size: int, /) -> tuple[int, int]:
    """aclrtMallocHost; gives (host_ptr, ret); size in bytes.

    Refuses: hostPtr is NULL (100000 EH0008); size is 0 (100000 EH0007); no current context (107002 EE1018); hostPtr
    is 0 from here on (goes on); size > 0xffffffffffffffc0 (107000).
    """
def malloc_host_with_cfg(size: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """aclrtMallocHostWithCfg; gives (host_ptr, ret); size in bytes.

    Refuses: ptr is NULL (100000 EH0008); size is 0 (100000 EH0007).
    """
def malloc_physical(size: int, prop: dict[str, Any], flags: int, /) -> tuple[int, int]:
    """aclrtMallocPhysical; gives (handle, ret); size in bytes.

    Refuses: handle is NULL (100000 EH0008); prop is NULL (100000 EH0008); size is 0 (100000 EH0007); flags (100000
    EH0009); word_at(prop) (100000 EH0007); word_at(prop + 4) (100000 EH0007); word_at(prop + 16) in (2, 3) (100000
    EH0009); memAttr is DDR, and location.type a device (100000 EH0007); memAttr is no kind of physical memory
    (100000 EH0009).
    """
def malloc_with_cfg(size: int, policy: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """aclrtMallocWithCfg; gives (dev_ptr, ret); size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); cfg counts attributes and has none (100000 EH0009); size is 0 (100000
    EH0007).
    """
def map_mem(vir_ptr: int, size: int, offset: int, handle: int, flags: int, /) -> int:
    """aclrtMapMem; size, offset in bytes.

    Refuses: virPtr is NULL (100000 EH0008); handle is NULL (100000 EH0008); size is 0 (100000 EH0007); flags
    (100000 EH0007).
    """
def mem_export_to_shareable_handle(handle: int, handle_type: int, flags: int, /) -> tuple[int, int]:
    """aclrtMemExportToShareableHandle; gives (shareable_handle, ret).

    Refuses: handle is NULL (100000 EH0008); handleType (100000 EH0007); shareableHandle is NULL (100000 EH0008);
    flags > 1 (107000 EE1003).
    """
def mem_flush(dev_ptr: int, size: int, /) -> int:
    """aclrtMemFlush; size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); size is 0 (100000 EH0007); no current context (107002 EE1018).
    """
def mem_get_allocation_granularity(prop: dict[str, Any], option: int, /) -> tuple[int, int]:
    """aclrtMemGetAllocationGranularity; gives (granularity, ret); granularity in bytes.

    Refuses: prop is NULL (100000 EH0008); granularity is NULL (100000 EH0008); memAttr is DDR, and location.type a
    device (100000 EH0007); memAttr is no kind of physical memory (100000 EH0009).
    """
def mem_import_from_shareable_handle(shareable_handle: int, device_id: int, /) -> tuple[int, int]:
    """aclrtMemImportFromShareableHandle; gives (handle, ret).

    Refuses: handle is NULL (100000 EH0008); deviceId is no visible device (107001 EE1003).
    """
def mem_invalidate(dev_ptr: int, size: int, /) -> int:
    """aclrtMemInvalidate; size in bytes.

    Refuses: devPtr is NULL (100000 EH0008); size is 0 (100000 EH0007); no current context (107002 EE1018).
    """
def mem_set_pid_to_shareable_handle(shareable_handle: int, pids: list[int], /) -> int:
    """aclrtMemSetPidToShareableHandle.

    Refuses: pid is NULL (100000 EH0008); pidNum is 0 (100000 EH0007).
    """
def mem_uce_repair(device_id: int, infos: list[dict[str, Any]], /) -> int:
    """aclrtMemUceRepair.

    Refuses: memUceInfoArray is NULL (100000 EH0008); arraySize > 20 (100000 EH0009).
    """
def memcpy(dst: int, dest_max: int, src: int, count: int, kind: int, /) -> int:
    """aclrtMemcpy; dest_max, count in bytes.

    Refuses: not count (0); dst is NULL (100000 EH0008); src is NULL (100000 EH0008); kind is not [0, 5] (100000
    EH0007); count > destMax (107000 EE1003); dst == src (0); no current context (107002 EE1018).
    """
def memcpy2d(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, /) -> int:
    """aclrtMemcpy2d; dpitch, spitch, width in bytes.

    Refuses: not width or not height (0); dst is NULL (100000 EH0008); src is NULL (100000 EH0008); width > dpitch
    (100000 EH0009); width > spitch (100000 EH0009); kind is not [1, 4] (100000 EH0007).
    """
def memcpy2d_async(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpy2dAsync; dpitch, spitch, width in bytes.

    Refuses: not width or not height (0); dst is NULL (100000 EH0008); src is NULL (100000 EH0008); width > dpitch
    (100000 EH0009); width > spitch (100000 EH0009); kind is not [1, 4] (100000 EH0007); stream is dead, foreign or
    of another kind (107017 EE1017); no current context, and not stream (107000 EE1018).
    """
def memcpy_async(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpyAsync; dest_max, count in bytes.

    Refuses: not count (0); dst is NULL (100000 EH0008); src is NULL (100000 EH0008); kind is not [0, 5] (100000
    EH0007); stream is dead, foreign or of another kind (107017 EE1017); count > destMax (107000 EE1003); no current
    context (107002 EE1018); dst == src, in memory of a device (0); stream belongs to another context, unless plain
    host memory is copied at once (107003 EE1010).
    """
def memcpy_async_with_condition(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpyAsyncWithCondition; dest_max, count in bytes.

    Refuses: not count (0); dst is NULL (100000 EH0008); src is NULL (100000 EH0008); kind is not [0, 5] (100000
    EH0007); stream is dead, foreign or of another kind (107017 EE1017); count > destMax (107000 EE1003); no current
    context (107002 EE1018); dst == src, in memory of a device (0); stream belongs to another context, unless plain
    host memory is copied at once (107003 EE1010).
    """
def memcpy_async_with_desc(desc: int, kind: int, stream: int, /) -> int:
    """aclrtMemcpyAsyncWithDesc.

    Refuses: desc is NULL (100000 EH0008); not 0 <= kind < 8 (100000 EH0007); stream is NULL (100000 EH0008); stream
    is dead, foreign or of another kind (107017 EE1017); kind is not 6 (inside a device), which alone is described
    (207000).
    """
def memset(ptr: int, max_count: int, value: int, count: int, /) -> int:
    """aclrtMemset; max_count, count in bytes.

    Refuses: not count (0); devPtr is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def memset_async(ptr: int, max_count: int, value: int, count: int, stream: int, /) -> int:
    """aclrtMemsetAsync; max_count, count in bytes.

    Refuses: not count (0); devPtr is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017
    EE1017); count > maxCount (107000 EE1003); stream belongs to another context (107003 EE1010).
    """
def notify_batch_reset(notifies: list[int], /) -> int:
    """aclrtNotifyBatchReset.

    Refuses: notifies is NULL (100000 EH0008); not num & 0xffffffff (107000 EE1003).
    """
def notify_get_export_key(notify: int, key_len: int, flag: int, /) -> tuple[str, int]:
    """aclrtNotifyGetExportKey; gives (key, ret).

    Refuses: notify is NULL (100000 EH0008); key is NULL (100000 EH0008); notify is dead, foreign or of another kind
    (107017 EE1017); len is 0 (107000 EE1003); the chip has no IPC_NOTIFY (207000).
    """
def notify_import_by_key(key: str, flag: int, /) -> tuple[int, int]:
    """aclrtNotifyImportByKey; gives (notify, ret).

    Refuses: notify is NULL (100000 EH0008); key is NULL (100000 EH0008); the chip has no IPC_NOTIFY (207000); flags
    & 0xffffffff > 3 (107000 EE1003); notify is 0 from here on (goes on); no current context (107002 EE1018).
    """
def notify_set_import_pid(notify: int, pids: list[int], /) -> int:
    """aclrtNotifySetImportPid.

    Refuses: notify is NULL (100000 EH0008); pid is NULL (100000 EH0008); the chip has no IPC_NOTIFY (207000
    EE1001); notify is dead, foreign or of another kind (107017 EE1017); not 0 < num & 0xffffffff < 1 << 31 (107000
    EE1003); no current context (107002 EE1018); not notify_.exported (107000).
    """
def peek_at_last_error(level: int, /) -> int:
    """aclrtPeekAtLastError.

    Refuses: level (100000 EH0007).
    """
def pointer_get_attributes(ptr: int, /) -> tuple[dict[str, Any], int]:
    """aclrtPointerGetAttributes; gives (value, ret).

    Refuses: ptr is NULL (100000 EH0008); attributes is NULL (100000 EH0008).
    """
def process_report(timeout_ms: int, /) -> int:
    """aclrtProcessReport; timeout_ms in milliseconds.

    Refuses: timeout < -1 or timeout == 0 (100000 EH0009).
    """
def query_device_status(device_id: int, /) -> tuple[int, int]:
    """aclrtQueryDeviceStatus; gives (status, ret).

    Refuses: deviceStatus is NULL (100000 EH0008); deviceId is no visible device (107001 EE1003).
    """
def query_event(event: int, /) -> tuple[int, int]:
    """aclrtQueryEvent; gives (status, ret).

    Refuses: event is NULL (100000 EH0008); status is NULL (100000 EH0008); event is dead, foreign or of another
    kind (107017 EE1017).
    """
def query_event_status(event: int, /) -> tuple[int, int]:
    """aclrtQueryEventStatus; gives (status, ret).

    Refuses: event is NULL (100000 EH0008); status is NULL (100000 EH0008); event is dead, foreign or of another
    kind (107017 EE1017).
    """
def query_event_wait_status(event: int, /) -> tuple[int, int]:
    """aclrtQueryEventWaitStatus; gives (status, ret).

    Refuses: event is NULL (100000 EH0008); status is NULL (100000 EH0008); event is dead, foreign or of another
    kind (107017 EE1017).
    """
def record_event(event: int, stream: int, /) -> int:
    """aclrtRecordEvent.

    Refuses: event is NULL (100000 EH0008); event is dead, foreign or of another kind (107017 EE1017); stream is
    dead, foreign or of another kind (107017 EE1017); is_for_cores(event_) (107000 EE1006); event is for other
    processes (0x40), and stream is being captured (207000); stream belongs to another context (107003 EE1010).
    """
def record_notify(notify: int, stream: int, /) -> int:
    """aclrtRecordNotify.

    Refuses: notify is NULL (100000 EH0008); notify is dead, foreign or of another kind (107017 EE1017); stream is
    dead, foreign or of another kind (107017 EE1017); no current context (107002 EE1018); stream belongs to another
    context (107003 EE1010).
    """
def reduce_async(dst: int, src: int, count: int, kind: int, data_type: int, stream: int, reserve: int, /) -> int:
    """aclrtReduceAsync.

    Refuses: dst is NULL (100000 EH0008); src is NULL (100000 EH0008); reserve is reserved (100000 EH0012); type not
    in REDUCED (100000 EH0009); stream is dead, foreign or of another kind (107017 EE1017); count is 0 (107000
    EE1003); kind is not [10, 13] (107000 EE1003); count > 1 << 32 (107000 EE1011).
    """
def register_cpu_func(bin_handle: int, func_name: str, kernel_name: str, /) -> tuple[int, int]:
    """aclrtRegisterCpuFunc; gives (func_handle, ret).

    Refuses: handle is NULL (100000 EH0008); funcName is NULL (100000 EH0008); kernelName is NULL (100000 EH0008);
    funcHandle is NULL (100000 EH0008); handle is dead, foreign or of another kind (107017 EE1017); funcHandle is 0
    from here on (goes on).
    """
def release_mem_address(vir_ptr: int, /) -> int:
    """aclrtReleaseMemAddress.

    Refuses: virPtr is NULL (100000 EH0008).
    """
def reserve_mem_address(size: int, alignment: int, expect_ptr: int, flags: int, /) -> tuple[int, int]:
    """aclrtReserveMemAddress; gives (vir_ptr, ret); size in bytes.

    Refuses: virPtr is NULL (100000 EH0008); size is 0 (100000 EH0007); flags is not 0 or 1 (100000 EH0007).
    """
def reset_device(device_id: int, /) -> int:
    """aclrtResetDevice.

    Refuses: deviceId is no visible device (107001 EE1003).
    """
def reset_device_force(device_id: int, /) -> int:
    """aclrtResetDeviceForce.

    Refuses: deviceId is no visible device (107001 EE1003).
    """
def reset_device_res_limit(device_id: int, /) -> int:
    """aclrtResetDeviceResLimit.

    Refuses: deviceId < 0 (107001 EE1003); deviceId is no visible device (107001 EE1003).
    """
def reset_event(event: int, stream: int, /) -> int:
    """aclrtResetEvent.

    Refuses: event is NULL (100000 EH0008); event is dead, foreign or of another kind (107017 EE1017); stream is
    dead, foreign or of another kind (107017 EE1017); is_for_cores(event_) (107000 EE1006); event is for other
    processes (0x40) (207000); event has no task that waits for it: none of its flags is 0x1, 0x4, 0x20 or 0x40
    (207000); no current context (107002 EE1018); each record of event takes a new signal (207000).
    """
def reset_overflow_status(stream: int, /) -> int:
    """aclrtResetOverflowStatus.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); stream is being captured (107027 EE1016);
    no current context, and not stream (107000 EE1018); stream belongs to another context (107003 EE1010).
    """
def reset_stream_res_limit(stream: int, /) -> int:
    """aclrtResetStreamResLimit.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); no current context, and not stream (107002
    EE1018).
    """
def set_context(context: int, /) -> int:
    """aclrtSetCurrentContext.

    Refuses: context is NULL (100000 EH0008).
    """
def set_device(device_id: int, /) -> int:
    """aclrtSetDevice."""
def set_device_res_limit(device_id: int, type: int, value: int, /) -> int:
    """aclrtSetDeviceResLimit.

    Refuses: deviceId < 0 (107001 EE1003); type > 1 (107000 EE1003); deviceId is no visible device (107001 EE1003).
    """
def set_device_sat_mode(mode: int, /) -> int:
    """aclrtSetDeviceSatMode."""
def set_exception_info_callback(fn: Any = ..., /) -> int:
    """aclrtSetExceptionInfoCallback."""
def set_group(group_id: int, /) -> int:
    """aclrtSetGroup."""
def set_memcpy_desc(desc: int, kind: int, src_addr: int, dst_addr: int, count: int, config: int, /) -> tuple[int, int]:
    """aclrtSetMemcpyDesc; gives (desc, ret); count in bytes.

    Refuses: desc is NULL (100000 EH0008); not 0 <= kind < 8 (100000 EH0007); srcAddr is NULL (100000 EH0008);
    dstAddr is NULL (100000 EH0008); count is 0 (100000 EH0007); config is reserved (100000 EH0012); kind is not 6
    (inside a device), which alone is described (207000).
    """
def set_op_execute_time_out(timeout_s: int, /) -> int:
    """aclrtSetOpExecuteTimeOut; timeout_s in seconds.

    Refuses: the chip has TASK_OP_EXE_TIMEOUT_CONFIG (207000).
    """
def set_op_execute_timeout_v2(timeout_us: int, /) -> tuple[int, int]:
    """aclrtSetOpExecuteTimeOutV2; gives (actual_us, ret); timeout_us, actual_us in microseconds.

    Refuses: actualTimeout is NULL (100000 EH0008); no current context (107002 EE1018).
    """
def set_op_wait_timeout(timeout_s: int, /) -> int:
    """aclrtSetOpWaitTimeout; timeout_s in seconds."""
def set_stream_attribute(stream: int, attr: int, value: dict[str, Any], /) -> int:
    """aclrtSetStreamAttribute.

    Refuses: value is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); stmAttrType
    is not [1, 5] (107000 EE1003); stmAttrType == 2 and word_at(value) > 1 (107000 EE1003); stmAttrType == 4 and
    word_at(value) > 1 (107000 EE1001); stmAttrType == 5 and not stream (107000 EE1004); no current context, and not
    stream and stmAttrType in (1, 4) (107000 EE1018); stmAttrType == 5 and has_flag(stream_, CPU_SCHEDULE) (207000
    EE1006); the task scheduler has no SET_STREAM_MODE, and stmAttrType == 1 (207000 EE1015); stmAttrType == 1 and
    is_bound(stream_) (207000 EE1017); it has the failure mode already (0); stmAttrType == 1 and
    keeps_failure_mode(stream_, word_at(value)) (207000 EE1016); stmAttrType in (2, 3) and is_captured(stream_)
    (107027 EE1016); no current context, and stmAttrType != 4 (107002 EE1018); stream belongs to another context,
    and stmAttrType is one of (1, 2, 3) (107003 EE1010).
    """
def set_stream_failure_mode(stream: int, mode: int, /) -> int:
    """aclrtSetStreamFailureMode.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); no current context, and not stream (107000
    EE1018); has_flag(stream_, DEVICE_USE_ONLY) (207000); no current context (107002 EE1018); the task scheduler has
    no SET_STREAM_MODE (207000 EE1015); stream is bound to a model (207000 EE1017); the stream has the mode already
    (0); keeps_failure_mode(stream_, mode) (207000 EE1016); stream belongs to another context (107003 EE1010).
    """
def set_stream_overflow_switch(stream: int, flag: int, /) -> int:
    """aclrtSetStreamOverflowSwitch.

    Refuses: flag is not 0 or 1 (100000 EH0007); stream is dead, foreign or of another kind (107017 EE1017); stream
    is being captured (107027 EE1016); stream belongs to another context (107003 EE1010).
    """
def set_stream_res_limit(stream: int, type: int, value: int, /) -> int:
    """aclrtSetStreamResLimit.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); type > 1 (107000 EE1003); no current
    context, and not stream (107002 EE1018).
    """
def set_sys_param_opt(opt: int, value: int, /) -> int:
    """aclrtSetSysParamOpt.

    Refuses: opt is not [0, 3] (100000 EH0007); not 0 <= value <= (1 if opt else 3) (107000 EE1003).
    """
def set_ts_device(ts_id: int, /) -> int:
    """aclrtSetTsDevice.

    Refuses: tsId not in (0, 1) (100000 EH0007).
    """
def stream_abort(stream: int, /) -> int:
    """aclrtStreamAbort.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); no current context, and not stream (107000
    EE1018); stream belongs to another context (107003 EE1010); stream is bound to a model (507000 EE1016); stream
    keeps its tasks, or is bound to a model (507000 EE1006).
    """
def stream_get_id(stream: int, /) -> tuple[int, int]:
    """aclrtStreamGetId; gives (stream_id, ret).

    Refuses: streamId is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); no
    current context, and not stream (107002 EE1018).
    """
def stream_query(stream: int, /) -> tuple[int, int]:
    """aclrtStreamQuery; gives (status, ret).

    Refuses: status is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); stream is
    being captured (107027 EE1016); no current context (107002 EE1018).
    """
def stream_wait_event(stream: int, event: int, /) -> int:
    """aclrtStreamWaitEvent.

    Refuses: event is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); event is
    dead, foreign or of another kind (107017 EE1017); is_for_cores(event_) (107000 EE1006); event is for other
    processes (0x40), and stream is being captured (207000); event has no task that waits for it: none of its flags
    is 0x1, 0x4, 0x20 or 0x40 (207000); stream belongs to another context (107003 EE1010).
    """
def subscribe_report(thread_id: int, stream: int, /) -> int:
    """aclrtSubscribeReport.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); runs_host_functions(acl, stream_) (107011
    EE1016); no current context (107002 EE1018).
    """
def synchronize_device(*given: object) -> int:
    """aclrtSynchronizeDevice.

    Refuses: no current context (107002 EE1018).
    """
def synchronize_device_with_timeout(timeout_ms: int, /) -> int:
    """aclrtSynchronizeDeviceWithTimeout; timeout_ms in milliseconds.

    Refuses: timeout < -1 (107000 EH0007); no current context (107002 EE1018).
    """
def synchronize_event(event: int, /) -> int:
    """aclrtSynchronizeEvent.

    Refuses: event is NULL (100000 EH0008); event is dead, foreign or of another kind (107017 EE1017); event is
    external (0x20) (207000); a stream of a model has recorded event (107000 EE1016).
    """
def synchronize_event_with_timeout(event: int, timeout_ms: int, /) -> int:
    """aclrtSynchronizeEventWithTimeout; timeout_ms in milliseconds.

    Refuses: timeout < -1 (107000 EH0007); event is NULL (100000 EH0008); event is dead, foreign or of another kind
    (107017 EE1017); timeout is 0 (107000 EE1003); event is external (0x20) (207000); a stream of a model has
    recorded event (107000 EE1016).
    """
def synchronize_stream(stream: int, /) -> int:
    """aclrtSynchronizeStream.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); stream is being captured (107027 EE1016);
    no current context (107002 EE1018).
    """
def synchronize_stream_with_timeout(stream: int, timeout_ms: int, /) -> int:
    """aclrtSynchronizeStreamWithTimeout; timeout_ms in milliseconds.

    Refuses: timeout < -1 (107000 EH0007); stream is dead, foreign or of another kind (107017 EE1017); timeout is 0
    (107000 EE1003); stream is being captured (107027 EE1016); no current context (107002 EE1018).
    """
def unmap_mem(vir_ptr: int, /) -> int:
    """aclrtUnmapMem.

    Refuses: virPtr is NULL (100000 EH0008).
    """
def unsubscribe_report(thread_id: int, stream: int, /) -> int:
    """aclrtUnSubscribeReport.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); runs_host_functions(acl, stream_) (107011
    EE1016); no current context, and not stream (107002 EE1018).
    """
def unuse_stream_res_in_current_thread(stream: int, /) -> int:
    """aclrtUnuseStreamResInCurrentThread.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); no current context, and not stream (107002
    EE1018).
    """
def use_stream_res_in_current_thread(stream: int, /) -> int:
    """aclrtUseStreamResInCurrentThread.

    Refuses: stream is dead, foreign or of another kind (107017 EE1017); no current context, and not stream (107002
    EE1018).
    """
def value_wait(dev_addr: int, value: int, flag: int, stream: int, /) -> int:
    """aclrtValueWait.

    Refuses: devAddr is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); flag is
    not [0, 3] (107000 EE1003); not on_device(acl, devAddr) (107000 EE1001); stream belongs to another context
    (107003 EE1010).
    """
def value_write(dev_addr: int, value: int, flag: int, stream: int, /) -> int:
    """aclrtValueWrite.

    Refuses: devAddr is NULL (100000 EH0008); stream is dead, foreign or of another kind (107017 EE1017); flag
    (107000 EE1003); not on_device(acl, devAddr) (107000 EE1001); stream belongs to another context (107003 EE1010).
    """
def wait_and_reset_notify(notify: int, stream: int, timeout_s: int, /) -> int:
    """aclrtWaitAndResetNotify; timeout_s in seconds.

    Refuses: notify is NULL (100000 EH0008); notify is dead, foreign or of another kind (107017 EE1017); stream is
    dead, foreign or of another kind (107017 EE1017); no current context (107002 EE1018); stream belongs to another
    context (107003 EE1010).
    """
