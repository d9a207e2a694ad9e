"""Types of acl; made from the tables of calls by tests/tools/acl_stubs.py."""

from typing import Any
from . import blas as blas, fv as fv, himpi as himpi, mdl as mdl, media as media, op as op, prof as prof, rt as rt, util as util

def app_log(level: int, message: str, /) -> None:
    """aclAppLog."""
def create_data_buffer(data: int, size: int, /) -> int:
    """aclCreateDataBuffer; size in bytes."""
def create_tensor_desc(data_type: int, dims: list[Any], format: int, /) -> int:
    """acl.create_tensor_desc; not supported here: warns and answers 200001."""
def data_type_size(data_type: int, /) -> int:
    """aclDataTypeSize."""
def destroy_data_buffer(data_buffer: int, /) -> int:
    """aclDestroyDataBuffer.

    Refuses: dataBuffer is NULL (100000 EH0008).
    """
def destroy_tensor_desc(desc: int, /) -> None:
    """acl.destroy_tensor_desc; not supported here: warns and answers 200001."""
def finalize(*given: object) -> int:
    """aclFinalize."""
def finalize_reference(*given: object) -> tuple[int, int]:
    """aclFinalizeReference; gives (ref_count, ret)."""
def float16_to_float(value: int, /) -> float:
    """aclFloat16ToFloat."""
def float_to_float16(value: float, /) -> int:
    """aclFloatToFloat16."""
def get_cann_attribute(attr: int, /) -> tuple[int, int]:
    """aclGetCannAttribute; gives (value, ret).

    Refuses: value is NULL (100000 EH0008).
    """
def get_cann_attribute_list(*given: object) -> tuple[list[Any], int, int]:
    """aclGetCannAttributeList; gives (value, num, ret).

    Refuses: cannAttrList is NULL (100000 EH0008); num is NULL (100000 EH0008).
    """
def get_cann_version(package_name: int, /) -> tuple[dict[str, Any], int]:
    """aclsysGetCANNVersion; gives (value, ret).

    Refuses: version is NULL (100000 EH0008).
    """
def get_data_buffer_addr(data_buffer: int, /) -> int:
    """aclGetDataBufferAddr.

    Refuses: dataBuffer is NULL (100000).
    """
def get_data_buffer_size(data_buffer: int, /) -> int:
    """aclGetDataBufferSize.

    Refuses: dataBuffer is NULL (100000).
    """
def get_data_buffer_size_v2(data_buffer: int, /) -> int:
    """aclGetDataBufferSizeV2.

    Refuses: dataBuffer is NULL (100000).
    """
def get_device_capability(device_id: int, device_info: int, /) -> tuple[int, int]:
    """aclGetDeviceCapability; gives (value, ret).

    Refuses: value is NULL (100000 EH0008); deviceId >= len(acl.runtime.slots) (100000 EH0009).
    """
def get_recent_err_msg(*given: object) -> str | None:
    """aclGetRecentErrMsg."""
def get_soc_name(*given: object) -> str | None:
    """aclrtGetSocName."""
def get_tensor_desc_address(desc: int, /) -> int:
    """acl.get_tensor_desc_address; not supported here: warns and answers 200001."""
def get_tensor_desc_by_index(desc: int, index: int, /) -> int:
    """acl.get_tensor_desc_by_index; not supported here: warns and answers 200001."""
def get_tensor_desc_dim(desc: int, index: int, /) -> int:
    """acl.get_tensor_desc_dim; not supported here: warns and answers 200001."""
def get_tensor_desc_dim_range(desc: int, index: int, range_num: int, /) -> tuple[str | None, int]:
    """acl.get_tensor_desc_dim_range; gives (value, ret); not supported here: warns and answers 200001."""
def get_tensor_desc_dim_v2(desc: int, index: int, /) -> tuple[int, int]:
    """acl.get_tensor_desc_dim_v2; gives (size, ret); size in bytes; not supported here: warns and answers 200001."""
def get_tensor_desc_element_count(desc: int, /) -> int:
    """acl.get_tensor_desc_element_count; not supported here: warns and answers 200001."""
def get_tensor_desc_format(desc: int, /) -> int:
    """acl.get_tensor_desc_format; not supported here: warns and answers 200001."""
def get_tensor_desc_name(desc: int, /) -> str | None:
    """acl.get_tensor_desc_name; not supported here: warns and answers 200001."""
def get_tensor_desc_num_dims(desc: int, /) -> int:
    """acl.get_tensor_desc_num_dims; not supported here: warns and answers 200001."""
def get_tensor_desc_size(desc: int, /) -> int:
    """acl.get_tensor_desc_size; not supported here: warns and answers 200001."""
def get_tensor_desc_type(desc: int, /) -> int:
    """acl.get_tensor_desc_type; not supported here: warns and answers 200001."""
def get_version(*given: object) -> tuple[int, int, int, int]:
    """aclrtGetVersion; gives (major, minor, patch, ret).

    Refuses: majorVersion is NULL (100000 EH0008); minorVersion is NULL (100000 EH0008); patchVersion is NULL
    (100000 EH0008).
    """
def get_version_str(package_name: str, /) -> tuple[str, int]:
    """aclsysGetVersionStr; gives (version, ret).

    Refuses: versionStr is NULL (100000 EH0008); pkgName is NULL (100000 EH0008).
    """
def init(config_path: str = ..., /) -> int:
    """aclInit."""
def set_tensor_const(desc: int, data: int, size: int, /) -> int:
    """acl.set_tensor_const; size in bytes; not supported here: warns and answers 200001."""
def set_tensor_desc_name(desc: int, name: str, /) -> None:
    """acl.set_tensor_desc_name; not supported here: warns and answers 200001."""
def set_tensor_dynamic_input(desc: int, name: str, /) -> int:
    """acl.set_tensor_dynamic_input; not supported here: warns and answers 200001."""
def set_tensor_format(desc: int, format: int, /) -> int:
    """acl.set_tensor_format; not supported here: warns and answers 200001."""
def set_tensor_origin_format(desc: int, format: int, /) -> int:
    """acl.set_tensor_origin_format; not supported here: warns and answers 200001."""
def set_tensor_origin_shape(desc: int, dims: list[Any], /) -> int:
    """acl.set_tensor_origin_shape; not supported here: warns and answers 200001."""
def set_tensor_place_ment(desc: int, mem_type: int, /) -> int:
    """acl.set_tensor_place_ment; not supported here: warns and answers 200001."""
def set_tensor_shape(desc: int, dims: list[Any], /) -> int:
    """acl.set_tensor_shape; not supported here: warns and answers 200001."""
def set_tensor_shape_range(desc: int, dims: list[Any], /) -> int:
    """acl.set_tensor_shape_range; not supported here: warns and answers 200001."""
def set_tensor_storage_format(desc: int, format: int, /) -> int:
    """acl.set_tensor_storage_format; not supported here: warns and answers 200001."""
def set_tensor_storage_shape(desc: int, dims: list[Any], /) -> int:
    """acl.set_tensor_storage_shape; not supported here: warns and answers 200001."""
def set_tensor_value_range(desc: int, ranges: list[Any], /) -> int:
    """acl.set_tensor_value_range; not supported here: warns and answers 200001."""
def trans_tensor_desc_format(src_desc: int, format: int, /) -> tuple[int, int]:
    """acl.trans_tensor_desc_format; gives (dst_desc, ret); not supported here: warns and answers 200001."""
def update_data_buffer(data_buffer: int, data: int, size: int, /) -> int:
    """aclUpdateDataBuffer; size in bytes.

    Refuses: dataBuffer is NULL (100000 EH0008).
    """
