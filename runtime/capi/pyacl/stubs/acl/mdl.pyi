"""Types of acl.mdl; made from the tables of calls by tests/tools/acl_stubs.py."""

from typing import Any

def add_dataset_buffer(dataset: int, data_buffer: int, /) -> tuple[int, int]:
    """acl.mdl.add_dataset_buffer; gives (dataset, ret); not supported here: warns and answers 200001."""
def bundle_get_model_id(bundle_id: int, index: int, /) -> tuple[int, int]:
    """acl.mdl.bundle_get_model_id; gives (model_id, ret); not supported here: warns and answers 200001."""
def bundle_get_model_num(bundle_id: int, /) -> tuple[int, int]:
    """acl.mdl.bundle_get_model_num; gives (number, ret); not supported here: warns and answers 200001."""
def bundle_load_from_file(path: str, /) -> tuple[int, int]:
    """acl.mdl.bundle_load_from_file; gives (bundle_id, ret); not supported here: warns and answers 200001."""
def bundle_load_from_mem(model: int, size: int, /) -> tuple[int, int]:
    """acl.mdl.bundle_load_from_mem; gives (bundle_id, ret); size in bytes; not supported here: warns and answers 200001."""
def bundle_unload(bundle_id: int, /) -> int:
    """acl.mdl.bundle_unload; not supported here: warns and answers 200001."""
def create_aipp(batch_size: int, /) -> int:
    """acl.mdl.create_aipp; not supported here: warns and answers 200001."""
def create_and_get_op_desc(device_id: int, stream_id: int, task_id: int, op_name_len: int, /) -> tuple[str, int, int, int, int, int]:
    """acl.mdl.create_and_get_op_desc; gives (op_name, input_desc, inputs, output_desc, outputs, ret); not supported here: warns and answers 200001."""
def create_config_handle(*given: object) -> int:
    """acl.mdl.create_config_handle; not supported here: warns and answers 200001."""
def create_dataset(*given: object) -> int:
    """acl.mdl.create_dataset; not supported here: warns and answers 200001."""
def create_desc(*given: object) -> int:
    """acl.mdl.create_desc; not supported here: warns and answers 200001."""
def create_exec_config_handle(*given: object) -> int:
    """acl.mdl.create_exec_config_handle; not supported here: warns and answers 200001."""
def destroy_aipp(aipp: int, /) -> int:
    """acl.mdl.destroy_aipp; not supported here: warns and answers 200001."""
def destroy_config_handle(handle: int, /) -> int:
    """acl.mdl.destroy_config_handle; not supported here: warns and answers 200001."""
def destroy_dataset(dataset: int, /) -> int:
    """acl.mdl.destroy_dataset; not supported here: warns and answers 200001."""
def destroy_desc(desc: int, /) -> int:
    """acl.mdl.destroy_desc; not supported here: warns and answers 200001."""
def destroy_exec_config_handle(handle: int, /) -> int:
    """acl.mdl.destroy_exec_config_handle; not supported here: warns and answers 200001."""
def dump_reg_callback(fn: int, flag: int, /) -> int:
    """acldumpRegCallback."""
def dump_unreg_callback(*given: object) -> None:
    """acldumpUnregCallback."""
def execute(model_id: int, input: int, output: int, /) -> int:
    """acl.mdl.execute; not supported here: warns and answers 200001."""
def execute_async(model_id: int, input: int, output: int, stream: int, /) -> int:
    """acl.mdl.execute_async; not supported here: warns and answers 200001."""
def execute_v2(model_id: int, input: int, output: int, stream: int, handle: int, /) -> int:
    """acl.mdl.execute_v2; not supported here: warns and answers 200001."""
def finalize_dump(*given: object) -> int:
    """aclmdlFinalizeDump.

    Refuses: aclInit has not been called (100001); no dump is initialised (100045).
    """
def get_aipp_data_size(batch_size: int, /) -> tuple[int, int]:
    """acl.mdl.get_aipp_data_size; gives (size, ret); size in bytes; not supported here: warns and answers 200001."""
def get_aipp_type(model_id: int, index: int, /) -> tuple[int, int, int]:
    """acl.mdl.get_aipp_type; gives (type, index, ret); not supported here: warns and answers 200001."""
def get_cur_output_dims(desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_cur_output_dims; gives (dims, ret); not supported here: warns and answers 200001."""
def get_dataset_buffer(dataset: int, index: int, /) -> int:
    """acl.mdl.get_dataset_buffer; not supported here: warns and answers 200001."""
def get_dataset_num_buffers(dataset: int, /) -> int:
    """acl.mdl.get_dataset_num_buffers; not supported here: warns and answers 200001."""
def get_dataset_tensor_desc(dataset: int, index: int, /) -> int:
    """acl.mdl.get_dataset_tensor_desc; not supported here: warns and answers 200001."""
def get_desc(desc: int, model_id: int, /) -> int:
    """acl.mdl.get_desc; not supported here: warns and answers 200001."""
def get_desc_from_file(desc: int, path: str, /) -> int:
    """acl.mdl.get_desc_from_file; not supported here: warns and answers 200001."""
def get_desc_from_mem(desc: int, model: int, size: int, /) -> int:
    """acl.mdl.get_desc_from_mem; size in bytes; not supported here: warns and answers 200001."""
def get_dynamic_batch(desc: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_dynamic_batch; gives (batch, ret); not supported here: warns and answers 200001."""
def get_dynamic_hw(desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_dynamic_hw; gives (hw, ret); not supported here: warns and answers 200001."""
def get_first_aipp_info(model_id: int, index: int, /) -> tuple[str | None, int]:
    """acl.mdl.get_first_aipp_info; gives (info, ret); not supported here: warns and answers 200001."""
def get_input_data_type(desc: int, index: int, /) -> int:
    """acl.mdl.get_input_data_type; not supported here: warns and answers 200001."""
def get_input_dims(desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_input_dims; gives (dims, ret); not supported here: warns and answers 200001."""
def get_input_dims_range(desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_input_dims_range; gives (range, ret); not supported here: warns and answers 200001."""
def get_input_dims_v2(desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_input_dims_v2; gives (dims, ret); not supported here: warns and answers 200001."""
def get_input_dynamic_dims(desc: int, index: int, gear_count: int, /) -> tuple[list[Any], int]:
    """acl.mdl.get_input_dynamic_dims; gives (dims, ret); not supported here: warns and answers 200001."""
def get_input_dynamic_gear_count(desc: int, index: int, /) -> tuple[int, int]:
    """acl.mdl.get_input_dynamic_gear_count; gives (count, ret); not supported here: warns and answers 200001."""
def get_input_format(desc: int, index: int, /) -> int:
    """acl.mdl.get_input_format; not supported here: warns and answers 200001."""
def get_input_index_by_name(desc: int, name: str, /) -> tuple[int, int]:
    """acl.mdl.get_input_index_by_name; gives (index, ret); not supported here: warns and answers 200001."""
def get_input_name_by_index(desc: int, index: int, /) -> str | None:
    """acl.mdl.get_input_name_by_index; not supported here: warns and answers 200001."""
def get_input_size_by_index(desc: int, index: int, /) -> int:
    """acl.mdl.get_input_size_by_index; not supported here: warns and answers 200001."""
def get_num_inputs(desc: int, /) -> int:
    """acl.mdl.get_num_inputs; not supported here: warns and answers 200001."""
def get_num_outputs(desc: int, /) -> int:
    """acl.mdl.get_num_outputs; not supported here: warns and answers 200001."""
def get_op_attr(desc: int, op_name: str, attr: str, /) -> str | None:
    """acl.mdl.get_op_attr; not supported here: warns and answers 200001."""
def get_output_data_type(desc: int, index: int, /) -> int:
    """acl.mdl.get_output_data_type; not supported here: warns and answers 200001."""
def get_output_dims(desc: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.mdl.get_output_dims; gives (dims, ret); not supported here: warns and answers 200001."""
def get_output_format(desc: int, index: int, /) -> int:
    """acl.mdl.get_output_format; not supported here: warns and answers 200001."""
def get_output_index_by_name(desc: int, name: str, /) -> tuple[int, int]:
    """acl.mdl.get_output_index_by_name; gives (index, ret); not supported here: warns and answers 200001."""
def get_output_name_by_index(desc: int, index: int, /) -> str | None:
    """acl.mdl.get_output_name_by_index; not supported here: warns and answers 200001."""
def get_output_size_by_index(desc: int, index: int, /) -> int:
    """acl.mdl.get_output_size_by_index; not supported here: warns and answers 200001."""
def get_tensor_real_name(desc: int, name: str, /) -> str | None:
    """acl.mdl.get_tensor_real_name; not supported here: warns and answers 200001."""
def init_dump(*given: object) -> int:
    """aclmdlInitDump.

    Refuses: aclInit has not been called (100001); a dump is initialised already (100002).
    """
def load_from_file(path: str, /) -> tuple[int, int]:
    """acl.mdl.load_from_file; gives (model_id, ret); not supported here: warns and answers 200001."""
def load_from_file_with_mem(path: str, work_ptr: int, work_size: int, weight_ptr: int, weight_size: int, /) -> tuple[int, int]:
    """acl.mdl.load_from_file_with_mem; gives (model_id, ret); not supported here: warns and answers 200001."""
def load_from_file_with_q(path: str, input_q: int, input_q_num: int, output_q: int, output_q_num: int, /) -> tuple[int, int]:
    """acl.mdl.load_from_file_with_q; gives (model_id, ret); not supported here: warns and answers 200001."""
def load_from_mem(model: int, size: int, /) -> tuple[int, int]:
    """acl.mdl.load_from_mem; gives (model_id, ret); size in bytes; not supported here: warns and answers 200001."""
def load_from_mem_with_mem(model: int, size: int, work_ptr: int, work_size: int, weight_ptr: int, weight_size: int, /) -> tuple[int, int]:
    """acl.mdl.load_from_mem_with_mem; gives (model_id, ret); size in bytes; not supported here: warns and answers 200001."""
def load_from_mem_with_q(model: int, size: int, input_q: int, input_q_num: int, output_q: int, output_q_num: int, /) -> tuple[int, int]:
    """acl.mdl.load_from_mem_with_q; gives (model_id, ret); size in bytes; not supported here: warns and answers 200001."""
def load_with_config(handle: int, /) -> tuple[int, int]:
    """acl.mdl.load_with_config; gives (model_id, ret); not supported here: warns and answers 200001."""
def query_size(path: str, /) -> tuple[int, int, int]:
    """acl.mdl.query_size; gives (work_size, weight_size, ret); not supported here: warns and answers 200001."""
def query_size_from_mem(model: int, size: int, /) -> tuple[int, int, int]:
    """acl.mdl.query_size_from_mem; gives (work_size, weight_size, ret); size in bytes; not supported here: warns and answers 200001."""
def ri_capture_begin(stream: int, mode: int, /) -> int:
    """aclmdlRICaptureBegin.

    Refuses: stream is NULL (100000 EH0008); the chip has no MODEL_ACL_GRAPH (207000 EE1001); stream is dead,
    foreign or of another kind (107017 EE1017); mode is not [0, 2] (107000 EE1003); forbids_capture(stream_) (507000
    EE1011); stream belongs to another context (107003 EE1010); stream is bound to a model (107005 EE1017);
    is_default(stream_) (207000 EE1017); stream is being captured (107027 EE1016).
    """
def ri_capture_end(stream: int, /) -> tuple[int, int]:
    """aclmdlRICaptureEnd; gives (model, ret).

    Refuses: stream is NULL (100000 EH0008); the chip has no MODEL_ACL_GRAPH (207000 EE1001); stream is dead,
    foreign or of another kind (107017 EE1017); forbids_capture(stream_) (507000 EE1011); modelRI is None and
    is_captured(stream_) (107000 EE1004); stream belongs to another context (107003 EE1010); stream is bound to a
    model (107005 EE1017); is_default(stream_) (207000 EE1017).
    """
def ri_capture_get_info(stream: int, /) -> tuple[int, int, int]:
    """aclmdlRICaptureGetInfo; gives (status, model, ret).

    Refuses: stream is NULL (100000 EH0008); status and modelRI are both NULL (100000 EH0009); the chip has no
    MODEL_ACL_GRAPH (207000 EE1001).
    """
def ri_capture_thread_exchange_mode(mode: int, /) -> tuple[int, int]:
    """aclmdlRICaptureThreadExchangeMode; gives (mode, ret).

    Refuses: mode is NULL (100000 EH0008); the chip has no MODEL_ACL_GRAPH (207000 EE1001).
    """
def ri_destroy(model: int, /) -> int:
    """aclmdlRIDestroy.

    Refuses: modelRI is NULL (100000 EH0008); modelRI is dead, foreign or of another kind (107017 EE1017);
    is_branch(modelRI_) (207000); modelRI belongs to another context (107004 EE1010).
    """
def ri_execute(model: int, timeout_ms: int, /) -> int:
    """aclmdlRIExecute; timeout_ms in milliseconds.

    Refuses: modelRI is NULL (100000 EH0008); modelRI is dead, foreign or of another kind (107017 EE1017); timeout <
    -1 or timeout == 0 (107000 EE1003); is_graph(modelRI_) (107000 EE1016); modelRI belongs to another context
    (107004 EE1010).
    """
def ri_execute_async(model: int, stream: int, /) -> int:
    """aclmdlRIExecuteAsync.

    Refuses: modelRI is NULL; the last capture of the stream has failed (100000 EH0008); modelRI is NULL (100000
    EH0008); modelRI is dead, foreign or of another kind (107017 EE1017); stream is dead, foreign or of another kind
    (107017 EE1017); stream is bound to a model (107000 EE1017); stream is being captured (107027 EE1016);
    cannot_execute(stream_) (107000 EE1006); is_branch(modelRI_) (207000); modelRI belongs to another context
    (107004 EE1010); stream belongs to another context (107003 EE1010).
    """
def set_aipp_ax_swap_switch(aipp: int, switch: int, /) -> int:
    """acl.mdl.set_aipp_ax_swap_switch; not supported here: warns and answers 200001."""
def set_aipp_by_input_index(model_id: int, dataset: int, index: int, aipp: int, /) -> int:
    """acl.mdl.set_aipp_by_input_index; not supported here: warns and answers 200001."""
def set_aipp_crop_params(aipp: int, switch: int, left: int, top: int, width: int, height: int, batch_index: int, /) -> int:
    """acl.mdl.set_aipp_crop_params; width in bytes; not supported here: warns and answers 200001."""
def set_aipp_csc_params(aipp: int, switch: int, r0c0: int, r0c1: int, r0c2: int, r1c0: int, r1c1: int, r1c2: int, r2c0: int, r2c1: int, r2c2: int, out0: int, out1: int, out2: int, in0: int, in1: int, in2: int, /) -> int:
    """acl.mdl.set_aipp_csc_params; not supported here: warns and answers 200001."""
def set_aipp_dtc_pixel_mean(aipp: int, channel0: int, channel1: int, channel2: int, channel3: int, batch_index: int, /) -> int:
    """acl.mdl.set_aipp_dtc_pixel_mean; not supported here: warns and answers 200001."""
def set_aipp_dtc_pixel_min(aipp: int, channel0: float, channel1: float, channel2: float, channel3: float, batch_index: int, /) -> int:
    """acl.mdl.set_aipp_dtc_pixel_min; not supported here: warns and answers 200001."""
def set_aipp_input_format(aipp: int, format: int, /) -> int:
    """acl.mdl.set_aipp_input_format; not supported here: warns and answers 200001."""
def set_aipp_padding_params(aipp: int, switch: int, top: int, bottom: int, left: int, right: int, batch_index: int, /) -> int:
    """acl.mdl.set_aipp_padding_params; not supported here: warns and answers 200001."""
def set_aipp_pixel_var_reci(aipp: int, channel0: float, channel1: float, channel2: float, channel3: float, batch_index: int, /) -> int:
    """acl.mdl.set_aipp_pixel_var_reci; not supported here: warns and answers 200001."""
def set_aipp_rbuv_swap_switch(aipp: int, switch: int, /) -> int:
    """acl.mdl.set_aipp_rbuv_swap_switch; not supported here: warns and answers 200001."""
def set_aipp_scf_params(aipp: int, switch: int, input_width: int, input_height: int, output_width: int, output_height: int, batch_index: int, /) -> int:
    """acl.mdl.set_aipp_scf_params; not supported here: warns and answers 200001."""
def set_aipp_src_image_size(aipp: int, width: int, height: int, /) -> int:
    """acl.mdl.set_aipp_src_image_size; width in bytes; not supported here: warns and answers 200001."""
def set_config_opt(handle: int, attr: int, value: Any, /) -> int:
    """acl.mdl.set_config_opt; not supported here: warns and answers 200001."""
def set_dataset_tensor_desc(dataset: int, tensor_desc: int, index: int, /) -> tuple[int, int]:
    """acl.mdl.set_dataset_tensor_desc; gives (dataset, ret); not supported here: warns and answers 200001."""
def set_dump(dump_cfg_path: str = ..., /) -> int:
    """aclmdlSetDump.

    Refuses: aclInit has not been called (100001); no dump is initialised (100045); dumpCfgPath is NULL (100000
    EH0008).
    """
def set_dynamic_batch_size(model_id: int, dataset: int, index: int, batch_size: int, /) -> int:
    """acl.mdl.set_dynamic_batch_size; not supported here: warns and answers 200001."""
def set_dynamic_hw_size(model_id: int, dataset: int, index: int, height: int, width: int, /) -> int:
    """acl.mdl.set_dynamic_hw_size; width in bytes; not supported here: warns and answers 200001."""
def set_exec_config_opt(handle: int, attr: int, value: int, /) -> int:
    """acl.mdl.set_exec_config_opt; not supported here: warns and answers 200001."""
def set_input_aipp(model_id: int, dataset: int, index: int, aipp: int, /) -> int:
    """acl.mdl.set_input_aipp; not supported here: warns and answers 200001."""
def set_input_dynamic_dims(model_id: int, dataset: int, index: int, dims: dict[str, Any], /) -> int:
    """acl.mdl.set_input_dynamic_dims; not supported here: warns and answers 200001."""
def unload(model_id: int, /) -> int:
    """acl.mdl.unload; not supported here: warns and answers 200001."""
