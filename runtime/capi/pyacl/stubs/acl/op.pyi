"""Types of acl.op; made from the tables of calls by tests/tools/acl_stubs.py."""

from collections.abc import Callable
from typing import Any

def cast(src_desc: int, src_buffer: int, dst_desc: int, dst_buffer: int, truncate: int, stream: int, /) -> int:
    """acl.op.cast; not supported here: warns and answers 200001."""
def create_attr(*given: object) -> int:
    """acl.op.create_attr; not supported here: warns and answers 200001."""
def create_handle(op_type: str, input_desc: list[Any], output_desc: list[Any], attr: int, /) -> tuple[int, int]:
    """acl.op.create_handle; gives (handle, ret); not supported here: warns and answers 200001."""
def create_handle_for_cast(src_desc: int, dst_desc: int, truncate: int, /) -> tuple[int, int]:
    """acl.op.create_handle_for_cast; gives (handle, ret); not supported here: warns and answers 200001."""
def create_kernel(op_type: str, kernel_id: str, kernel_name: str, data: int, size: int, engine_type: int, deallocator: int, /) -> int:
    """acl.op.create_kernel; size in bytes; not supported here: warns and answers 200001."""
def destroy_attr(attr: int, /) -> None:
    """acl.op.destroy_attr; not supported here: warns and answers 200001."""
def destroy_handle(handle: int, /) -> None:
    """acl.op.destroy_handle; not supported here: warns and answers 200001."""
def execute(op_type: str, input_desc: list[Any], inputs: list[Any], output_desc: list[Any], outputs: list[Any], attr: int, stream: int, /) -> int:
    """acl.op.execute; not supported here: warns and answers 200001."""
def execute_v2(op_type: str, input_desc: list[Any], inputs: list[Any], output_desc: list[Any], outputs: list[Any], attr: int, stream: int, /) -> int:
    """acl.op.execute_v2; not supported here: warns and answers 200001."""
def execute_with_handle(handle: int, inputs: list[Any], outputs: list[Any], stream: int, /) -> int:
    """acl.op.execute_with_handle; not supported here: warns and answers 200001."""
def infer_shape(op_type: str, input_desc: list[Any], inputs: list[Any], num_outputs: int, output_desc: list[Any], attr: int, /) -> int:
    """acl.op.infer_shape; not supported here: warns and answers 200001."""
def load(model: int, size: int, /) -> int:
    """acl.op.load; size in bytes; not supported here: warns and answers 200001."""
def register_compile_func(op_type: str, fn: Callable[..., object], /) -> int:
    """acl.op.register_compile_func; not supported here: warns and answers 200001."""
def set_attr_bool(attr: int, name: str, value: int, /) -> int:
    """acl.op.set_attr_bool; not supported here: warns and answers 200001."""
def set_attr_data_type(attr: int, name: str, value: int, /) -> tuple[int, int]:
    """acl.op.set_attr_data_type; gives (attr, ret); not supported here: warns and answers 200001."""
def set_attr_float(attr: int, name: str, value: float, /) -> int:
    """acl.op.set_attr_float; not supported here: warns and answers 200001."""
def set_attr_int(attr: int, name: str, value: int, /) -> int:
    """acl.op.set_attr_int; not supported here: warns and answers 200001."""
def set_attr_list_bool(attr: int, name: str, values: Any, /) -> int:
    """acl.op.set_attr_list_bool; not supported here: warns and answers 200001."""
def set_attr_list_data_type(attr: int, name: str, values: list[Any], /) -> tuple[int, int]:
    """acl.op.set_attr_list_data_type; gives (attr, ret); not supported here: warns and answers 200001."""
def set_attr_list_float(attr: int, name: str, values: Any, /) -> int:
    """acl.op.set_attr_list_float; not supported here: warns and answers 200001."""
def set_attr_list_int(attr: int, name: str, values: Any, /) -> int:
    """acl.op.set_attr_list_int; not supported here: warns and answers 200001."""
def set_attr_list_list_int(attr: int, name: str, values: list[Any], /) -> int:
    """acl.op.set_attr_list_list_int; not supported here: warns and answers 200001."""
def set_attr_list_string(attr: int, name: str, values: list[Any], /) -> int:
    """acl.op.set_attr_list_string; not supported here: warns and answers 200001."""
def set_attr_string(attr: int, name: str, value: str, /) -> int:
    """acl.op.set_attr_string; not supported here: warns and answers 200001."""
def set_kernel_args(kernel_desc: int, kernel_id: str, block_dim: int, args: int, size: int, /) -> int:
    """acl.op.set_kernel_args; size in bytes; not supported here: warns and answers 200001."""
def set_kernel_workspace_sizes(kernel_desc: int, number: int, sizes: int, /) -> int:
    """acl.op.set_kernel_workspace_sizes; not supported here: warns and answers 200001."""
def set_max_op_queue_num(number: int, /) -> int:
    """acl.op.set_max_op_queue_num; not supported here: warns and answers 200001."""
def set_model_dir(path: str, /) -> int:
    """acl.op.set_model_dir; not supported here: warns and answers 200001."""
def start_dump_args(dump_type: int, path: str, /) -> int:
    """aclopStartDumpArgs."""
def stop_dump_args(dump_type: int, /) -> int:
    """aclopStopDumpArgs."""
def unregister_compile_func(op_type: str, /) -> int:
    """acl.op.unregister_compile_func; not supported here: warns and answers 200001."""
def update_params(op_type: str, input_desc: list[Any], output_desc: list[Any], attr: int, /) -> int:
    """acl.op.update_params; not supported here: warns and answers 200001."""
