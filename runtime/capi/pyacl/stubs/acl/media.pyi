"""Types of acl.media; made from the tables of calls by tests/tools/acl_stubs.py."""

from collections.abc import Callable
from typing import Any

def dvpp_clear_hist(hist: int, /) -> int:
    """acl.media.dvpp_clear_hist; not supported here: warns and answers 200001."""
def dvpp_create_batch_pic_desc(batch_size: int, /) -> int:
    """acl.media.dvpp_create_batch_pic_desc; not supported here: warns and answers 200001."""
def dvpp_create_border_config(*given: object) -> int:
    """acl.media.dvpp_create_border_config; not supported here: warns and answers 200001."""
def dvpp_create_channel(channel_desc: int, /) -> int:
    """acl.media.dvpp_create_channel; not supported here: warns and answers 200001."""
def dvpp_create_channel_desc(*given: object) -> int:
    """acl.media.dvpp_create_channel_desc; not supported here: warns and answers 200001."""
def dvpp_create_hist(*given: object) -> int:
    """acl.media.dvpp_create_hist; not supported here: warns and answers 200001."""
def dvpp_create_jpege_config(*given: object) -> int:
    """acl.media.dvpp_create_jpege_config; not supported here: warns and answers 200001."""
def dvpp_create_lut_map(*given: object) -> int:
    """acl.media.dvpp_create_lut_map; not supported here: warns and answers 200001."""
def dvpp_create_pic_desc(*given: object) -> int:
    """acl.media.dvpp_create_pic_desc; not supported here: warns and answers 200001."""
def dvpp_create_resize_config(*given: object) -> int:
    """acl.media.dvpp_create_resize_config; not supported here: warns and answers 200001."""
def dvpp_create_roi_config(left: int, right: int, top: int, bottom: int, /) -> int:
    """acl.media.dvpp_create_roi_config; not supported here: warns and answers 200001."""
def dvpp_create_stream_desc(*given: object) -> int:
    """acl.media.dvpp_create_stream_desc; not supported here: warns and answers 200001."""
def dvpp_destroy_batch_pic_desc(batch_pic_desc: int, /) -> int:
    """acl.media.dvpp_destroy_batch_pic_desc; not supported here: warns and answers 200001."""
def dvpp_destroy_border_config(config: int, /) -> int:
    """acl.media.dvpp_destroy_border_config; not supported here: warns and answers 200001."""
def dvpp_destroy_channel(channel_desc: int, /) -> int:
    """acl.media.dvpp_destroy_channel; not supported here: warns and answers 200001."""
def dvpp_destroy_channel_desc(channel_desc: int, /) -> int:
    """acl.media.dvpp_destroy_channel_desc; not supported here: warns and answers 200001."""
def dvpp_destroy_hist(hist: int, /) -> int:
    """acl.media.dvpp_destroy_hist; not supported here: warns and answers 200001."""
def dvpp_destroy_jpege_config(config: int, /) -> int:
    """acl.media.dvpp_destroy_jpege_config; not supported here: warns and answers 200001."""
def dvpp_destroy_lut_map(lut_map: int, /) -> int:
    """acl.media.dvpp_destroy_lut_map; not supported here: warns and answers 200001."""
def dvpp_destroy_pic_desc(pic_desc: int, /) -> int:
    """acl.media.dvpp_destroy_pic_desc; not supported here: warns and answers 200001."""
def dvpp_destroy_resize_config(config: int, /) -> int:
    """acl.media.dvpp_destroy_resize_config; not supported here: warns and answers 200001."""
def dvpp_destroy_roi_config(config: int, /) -> int:
    """acl.media.dvpp_destroy_roi_config; not supported here: warns and answers 200001."""
def dvpp_destroy_stream_desc(stream_desc: int, /) -> int:
    """acl.media.dvpp_destroy_stream_desc; not supported here: warns and answers 200001."""
def dvpp_free(dev_ptr: int, /) -> int:
    """acldvppFree."""
def dvpp_get_border_config_border_type(config: int, /) -> int:
    """acl.media.dvpp_get_border_config_border_type; not supported here: warns and answers 200001."""
def dvpp_get_border_config_bottom(config: int, /) -> int:
    """acl.media.dvpp_get_border_config_bottom; not supported here: warns and answers 200001."""
def dvpp_get_border_config_left(config: int, /) -> int:
    """acl.media.dvpp_get_border_config_left; not supported here: warns and answers 200001."""
def dvpp_get_border_config_right(config: int, /) -> int:
    """acl.media.dvpp_get_border_config_right; not supported here: warns and answers 200001."""
def dvpp_get_border_config_top(config: int, /) -> int:
    """acl.media.dvpp_get_border_config_top; not supported here: warns and answers 200001."""
def dvpp_get_border_config_value(config: int, index: int, /) -> float:
    """acl.media.dvpp_get_border_config_value; not supported here: warns and answers 200001."""
def dvpp_get_channel_desc_channel_id(channel_desc: int, /) -> int:
    """acl.media.dvpp_get_channel_desc_channel_id; not supported here: warns and answers 200001."""
def dvpp_get_channel_desc_param(channel_desc: int, param_type: int, /) -> tuple[int, int, int]:
    """acl.media.dvpp_get_channel_desc_param; gives (size, param, ret); size in bytes; not supported here: warns and answers 200001."""
def dvpp_get_hist_data(hist: int, dim: int, /) -> tuple[int, int, int]:
    """acl.media.dvpp_get_hist_data; gives (data, len, ret); not supported here: warns and answers 200001."""
def dvpp_get_hist_dims(hist: int, /) -> int:
    """acl.media.dvpp_get_hist_dims; not supported here: warns and answers 200001."""
def dvpp_get_hist_ret_code(hist: int, /) -> int:
    """acl.media.dvpp_get_hist_ret_code; not supported here: warns and answers 200001."""
def dvpp_get_jpege_config_level(config: int, /) -> int:
    """acl.media.dvpp_get_jpege_config_level; not supported here: warns and answers 200001."""
def dvpp_get_lut_map_data(lut_map: int, dim: int, /) -> tuple[int, int, int]:
    """acl.media.dvpp_get_lut_map_data; gives (data, len, ret); not supported here: warns and answers 200001."""
def dvpp_get_lut_map_dims(lut_map: int, /) -> int:
    """acl.media.dvpp_get_lut_map_dims; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc(batch_pic_desc: int, index: int, /) -> int:
    """acl.media.dvpp_get_pic_desc; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_data(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_data; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_format(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_format; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_height(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_height; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_height_stride(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_height_stride; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_ret_code(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_ret_code; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_size(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_size; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_width(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_width; not supported here: warns and answers 200001."""
def dvpp_get_pic_desc_width_stride(pic_desc: int, /) -> int:
    """acl.media.dvpp_get_pic_desc_width_stride; not supported here: warns and answers 200001."""
def dvpp_get_resize_config_interpolation(config: int, /) -> int:
    """acl.media.dvpp_get_resize_config_interpolation; not supported here: warns and answers 200001."""
def dvpp_get_stream_desc_data(stream_desc: int, /) -> int:
    """acl.media.dvpp_get_stream_desc_data; not supported here: warns and answers 200001."""
def dvpp_get_stream_desc_eos(stream_desc: int, /) -> int:
    """acl.media.dvpp_get_stream_desc_eos; not supported here: warns and answers 200001."""
def dvpp_get_stream_desc_format(stream_desc: int, /) -> int:
    """acl.media.dvpp_get_stream_desc_format; not supported here: warns and answers 200001."""
def dvpp_get_stream_desc_ret_code(stream_desc: int, /) -> int:
    """acl.media.dvpp_get_stream_desc_ret_code; not supported here: warns and answers 200001."""
def dvpp_get_stream_desc_size(stream_desc: int, /) -> int:
    """acl.media.dvpp_get_stream_desc_size; not supported here: warns and answers 200001."""
def dvpp_get_stream_desc_timestamp(stream_desc: int, /) -> int:
    """acl.media.dvpp_get_stream_desc_timestamp; not supported here: warns and answers 200001."""
def dvpp_jpeg_decode_async(channel_desc: int, data: int, size: int, output_desc: int, stream: int, /) -> int:
    """acl.media.dvpp_jpeg_decode_async; size in bytes; not supported here: warns and answers 200001."""
def dvpp_jpeg_encode_async(channel_desc: int, input_desc: int, data: int, size: int, config: int, stream: int, /) -> int:
    """acl.media.dvpp_jpeg_encode_async; size in bytes; not supported here: warns and answers 200001."""
def dvpp_jpeg_get_image_info(data: int, size: int, /) -> tuple[int, int, int, int]:
    """acl.media.dvpp_jpeg_get_image_info; gives (width, height, components, ret); size, width in bytes; not supported here: warns and answers 200001."""
def dvpp_jpeg_get_image_info_v2(data: int, size: int, /) -> tuple[int, int, int, int, int]:
    """acl.media.dvpp_jpeg_get_image_info_v2; gives (width, height, components, format, ret); size, width in bytes; not supported here: warns and answers 200001."""
def dvpp_jpeg_predict_dec_size(data: int, size: int, format: int, /) -> tuple[int, int]:
    """acl.media.dvpp_jpeg_predict_dec_size; gives (dec_size, ret); size in bytes; not supported here: warns and answers 200001."""
def dvpp_jpeg_predict_enc_size(input_desc: int, config: int, /) -> tuple[int, int]:
    """acl.media.dvpp_jpeg_predict_enc_size; gives (enc_size, ret); not supported here: warns and answers 200001."""
def dvpp_malloc(size: int, /) -> tuple[int, int]:
    """acldvppMalloc; gives (dev_ptr, ret); size in bytes."""
def dvpp_malloc_with_cfg(size: int, policy: int, cfg: dict[str, Any], /) -> tuple[int, int]:
    """acldvppMallocWithCfg; gives (dev_ptr, ret); size in bytes."""
def dvpp_png_decode_async(channel_desc: int, data: int, size: int, output_desc: int, stream: int, /) -> int:
    """acl.media.dvpp_png_decode_async; size in bytes; not supported here: warns and answers 200001."""
def dvpp_png_get_image_info(data: int, size: int, /) -> tuple[int, int, int, int]:
    """acl.media.dvpp_png_get_image_info; gives (width, height, components, ret); size, width in bytes; not supported here: warns and answers 200001."""
def dvpp_png_predict_dec_size(data: int, size: int, format: int, /) -> tuple[int, int]:
    """acl.media.dvpp_png_predict_dec_size; gives (dec_size, ret); size in bytes; not supported here: warns and answers 200001."""
def dvpp_set_border_config_border_type(config: int, type: int, /) -> int:
    """acl.media.dvpp_set_border_config_border_type; not supported here: warns and answers 200001."""
def dvpp_set_border_config_bottom(config: int, bottom: int, /) -> int:
    """acl.media.dvpp_set_border_config_bottom; not supported here: warns and answers 200001."""
def dvpp_set_border_config_left(config: int, left: int, /) -> int:
    """acl.media.dvpp_set_border_config_left; not supported here: warns and answers 200001."""
def dvpp_set_border_config_right(config: int, right: int, /) -> int:
    """acl.media.dvpp_set_border_config_right; not supported here: warns and answers 200001."""
def dvpp_set_border_config_top(config: int, top: int, /) -> int:
    """acl.media.dvpp_set_border_config_top; not supported here: warns and answers 200001."""
def dvpp_set_border_config_value(config: int, index: int, value: float, /) -> int:
    """acl.media.dvpp_set_border_config_value; not supported here: warns and answers 200001."""
def dvpp_set_channel_desc_mode(channel_desc: int, mode: int, /) -> int:
    """acl.media.dvpp_set_channel_desc_mode; not supported here: warns and answers 200001."""
def dvpp_set_channel_desc_param(channel_desc: int, param_type: int, param: int, /) -> tuple[int, int]:
    """acl.media.dvpp_set_channel_desc_param; gives (channel_desc, ret); not supported here: warns and answers 200001."""
def dvpp_set_jpege_config_level(config: int, level: int, /) -> int:
    """acl.media.dvpp_set_jpege_config_level; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_data(pic_desc: int, data: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_data; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_format(pic_desc: int, format: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_format; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_height(pic_desc: int, height: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_height; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_height_stride(pic_desc: int, stride: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_height_stride; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_ret_code(pic_desc: int, code: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_ret_code; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_size(pic_desc: int, size: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_size; size in bytes; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_width(pic_desc: int, width: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_width; width in bytes; not supported here: warns and answers 200001."""
def dvpp_set_pic_desc_width_stride(pic_desc: int, stride: int, /) -> int:
    """acl.media.dvpp_set_pic_desc_width_stride; not supported here: warns and answers 200001."""
def dvpp_set_resize_config_interpolation(config: int, interpolation: int, /) -> int:
    """acl.media.dvpp_set_resize_config_interpolation; not supported here: warns and answers 200001."""
def dvpp_set_roi_config(config: int, left: int, right: int, top: int, bottom: int, /) -> int:
    """acl.media.dvpp_set_roi_config; not supported here: warns and answers 200001."""
def dvpp_set_roi_config_bottom(config: int, bottom: int, /) -> int:
    """acl.media.dvpp_set_roi_config_bottom; not supported here: warns and answers 200001."""
def dvpp_set_roi_config_left(config: int, left: int, /) -> int:
    """acl.media.dvpp_set_roi_config_left; not supported here: warns and answers 200001."""
def dvpp_set_roi_config_right(config: int, right: int, /) -> int:
    """acl.media.dvpp_set_roi_config_right; not supported here: warns and answers 200001."""
def dvpp_set_roi_config_top(config: int, top: int, /) -> int:
    """acl.media.dvpp_set_roi_config_top; not supported here: warns and answers 200001."""
def dvpp_set_stream_desc_data(stream_desc: int, data: int, /) -> int:
    """acl.media.dvpp_set_stream_desc_data; not supported here: warns and answers 200001."""
def dvpp_set_stream_desc_eos(stream_desc: int, eos: int, /) -> int:
    """acl.media.dvpp_set_stream_desc_eos; not supported here: warns and answers 200001."""
def dvpp_set_stream_desc_format(stream_desc: int, format: int, /) -> int:
    """acl.media.dvpp_set_stream_desc_format; not supported here: warns and answers 200001."""
def dvpp_set_stream_desc_ret_code(stream_desc: int, code: int, /) -> int:
    """acl.media.dvpp_set_stream_desc_ret_code; not supported here: warns and answers 200001."""
def dvpp_set_stream_desc_size(stream_desc: int, size: int, /) -> int:
    """acl.media.dvpp_set_stream_desc_size; size in bytes; not supported here: warns and answers 200001."""
def dvpp_set_stream_desc_timestamp(stream_desc: int, timestamp: int, /) -> int:
    """acl.media.dvpp_set_stream_desc_timestamp; timestamp in microseconds of the device's clock; not supported here: warns and answers 200001."""
def dvpp_vpc_batch_crop_and_paste_async(channel_desc: int, src_batch: int, roi_nums: list[Any], dst_batch: int, crop_areas: list[Any], paste_areas: list[Any], stream: int, /) -> tuple[int, int]:
    """acl.media.dvpp_vpc_batch_crop_and_paste_async; gives (dst_batch, ret); not supported here: warns and answers 200001."""
def dvpp_vpc_batch_crop_async(channel_desc: int, src_batch: int, roi_nums: list[Any], dst_batch: int, crop_areas: list[Any], stream: int, /) -> tuple[int, int]:
    """acl.media.dvpp_vpc_batch_crop_async; gives (dst_batch, ret); not supported here: warns and answers 200001."""
def dvpp_vpc_batch_crop_resize_async(channel_desc: int, src_batch: int, roi_nums: list[Any], dst_batch: int, crop_areas: list[Any], resize_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_batch_crop_resize_async; not supported here: warns and answers 200001."""
def dvpp_vpc_batch_crop_resize_make_border_async(channel_desc: int, src_batch: int, roi_nums: list[Any], dst_batch: int, crop_areas: list[Any], border_configs: list[Any], resize_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_batch_crop_resize_make_border_async; not supported here: warns and answers 200001."""
def dvpp_vpc_batch_crop_resize_paste_async(channel_desc: int, src_batch: int, roi_nums: list[Any], dst_batch: int, crop_areas: list[Any], paste_areas: list[Any], resize_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_batch_crop_resize_paste_async; not supported here: warns and answers 200001."""
def dvpp_vpc_calc_hist_async(channel_desc: int, src_desc: int, hist: int, reserve: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_calc_hist_async; not supported here: warns and answers 200001."""
def dvpp_vpc_convert_color_async(channel_desc: int, input_desc: int, output_desc: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_convert_color_async; not supported here: warns and answers 200001."""
def dvpp_vpc_crop_and_paste_async(channel_desc: int, input_desc: int, output_desc: int, crop_area: int, paste_area: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_crop_and_paste_async; not supported here: warns and answers 200001."""
def dvpp_vpc_crop_async(channel_desc: int, input_desc: int, output_desc: int, crop_area: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_crop_async; not supported here: warns and answers 200001."""
def dvpp_vpc_crop_resize_async(channel_desc: int, input_desc: int, output_desc: int, crop_area: int, resize_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_crop_resize_async; not supported here: warns and answers 200001."""
def dvpp_vpc_crop_resize_paste_async(channel_desc: int, input_desc: int, output_desc: int, crop_area: int, paste_area: int, resize_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_crop_resize_paste_async; not supported here: warns and answers 200001."""
def dvpp_vpc_equalize_hist_async(channel_desc: int, input_desc: int, output_desc: int, lut_map: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_equalize_hist_async; not supported here: warns and answers 200001."""
def dvpp_vpc_make_border_async(channel_desc: int, input_desc: int, output_desc: int, border_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_make_border_async; not supported here: warns and answers 200001."""
def dvpp_vpc_pyr_down_async(channel_desc: int, input_desc: int, output_desc: int, reserve: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_pyr_down_async; not supported here: warns and answers 200001."""
def dvpp_vpc_resize_async(channel_desc: int, input_desc: int, output_desc: int, resize_config: int, stream: int, /) -> int:
    """acl.media.dvpp_vpc_resize_async; not supported here: warns and answers 200001."""
def vdec_create_channel(channel_desc: int, /) -> int:
    """acl.media.vdec_create_channel; not supported here: warns and answers 200001."""
def vdec_create_channel_desc(*given: object) -> int:
    """acl.media.vdec_create_channel_desc; not supported here: warns and answers 200001."""
def vdec_create_frame_config(*given: object) -> int:
    """acl.media.vdec_create_frame_config; not supported here: warns and answers 200001."""
def vdec_destroy_channel(channel_desc: int, /) -> int:
    """acl.media.vdec_destroy_channel; not supported here: warns and answers 200001."""
def vdec_destroy_channel_desc(channel_desc: int, /) -> int:
    """acl.media.vdec_destroy_channel_desc; not supported here: warns and answers 200001."""
def vdec_destroy_frame_config(config: int, /) -> int:
    """acl.media.vdec_destroy_frame_config; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_bit_depth(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_bit_depth; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_callback(channel_desc: int, /) -> None:
    """acl.media.vdec_get_channel_desc_callback; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_channel_id(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_channel_id; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_entype(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_entype; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_out_mode(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_out_mode; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_out_pic_format(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_out_pic_format; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_out_pic_height(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_out_pic_height; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_out_pic_width(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_out_pic_width; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_param(channel_desc: int, param_type: int, /) -> tuple[int, int, int]:
    """acl.media.vdec_get_channel_desc_param; gives (size, param, ret); size in bytes; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_ref_frame_num(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_ref_frame_num; not supported here: warns and answers 200001."""
def vdec_get_channel_desc_thread_id(channel_desc: int, /) -> int:
    """acl.media.vdec_get_channel_desc_thread_id; not supported here: warns and answers 200001."""
def vdec_send_frame(channel_desc: int, input: int, output: int, config: int, user_data: Any, /) -> int:
    """acl.media.vdec_send_frame; not supported here: warns and answers 200001."""
def vdec_send_skipped_frame(channel_desc: int, input: int, config: int, user_data: Any, /) -> int:
    """acl.media.vdec_send_skipped_frame; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_bit_depth(channel_desc: int, bit_depth: int, /) -> int:
    """acl.media.vdec_set_channel_desc_bit_depth; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_callback(channel_desc: int, fn: Callable[..., object], /) -> int:
    """acl.media.vdec_set_channel_desc_callback; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_channel_id(channel_desc: int, channel_id: int, /) -> int:
    """acl.media.vdec_set_channel_desc_channel_id; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_entype(channel_desc: int, entype: int, /) -> int:
    """acl.media.vdec_set_channel_desc_entype; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_out_mode(channel_desc: int, mode: int, /) -> int:
    """acl.media.vdec_set_channel_desc_out_mode; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_out_pic_format(channel_desc: int, format: int, /) -> int:
    """acl.media.vdec_set_channel_desc_out_pic_format; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_out_pic_height(channel_desc: int, height: int, /) -> int:
    """acl.media.vdec_set_channel_desc_out_pic_height; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_out_pic_width(channel_desc: int, width: int, /) -> int:
    """acl.media.vdec_set_channel_desc_out_pic_width; width in bytes; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_param(channel_desc: int, param_type: int, param: int, /) -> tuple[int, int]:
    """acl.media.vdec_set_channel_desc_param; gives (channel_desc, ret); not supported here: warns and answers 200001."""
def vdec_set_channel_desc_ref_frame_num(channel_desc: int, frames: int, /) -> int:
    """acl.media.vdec_set_channel_desc_ref_frame_num; not supported here: warns and answers 200001."""
def vdec_set_channel_desc_thread_id(channel_desc: int, thread_id: int, /) -> int:
    """acl.media.vdec_set_channel_desc_thread_id; not supported here: warns and answers 200001."""
def venc_create_channel(channel_desc: int, /) -> int:
    """acl.media.venc_create_channel; not supported here: warns and answers 200001."""
def venc_create_channel_desc(*given: object) -> int:
    """acl.media.venc_create_channel_desc; not supported here: warns and answers 200001."""
def venc_create_frame_config(*given: object) -> int:
    """acl.media.venc_create_frame_config; not supported here: warns and answers 200001."""
def venc_destroy_channel(channel_desc: int, /) -> int:
    """acl.media.venc_destroy_channel; not supported here: warns and answers 200001."""
def venc_destroy_channel_desc(channel_desc: int, /) -> int:
    """acl.media.venc_destroy_channel_desc; not supported here: warns and answers 200001."""
def venc_destroy_frame_config(config: int, /) -> int:
    """acl.media.venc_destroy_frame_config; not supported here: warns and answers 200001."""
def venc_get_channel_desc_buf_addr(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_buf_addr; not supported here: warns and answers 200001."""
def venc_get_channel_desc_buf_size(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_buf_size; not supported here: warns and answers 200001."""
def venc_get_channel_desc_callback(channel_desc: int, /) -> None:
    """acl.media.venc_get_channel_desc_callback; not supported here: warns and answers 200001."""
def venc_get_channel_desc_channel_id(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_channel_id; not supported here: warns and answers 200001."""
def venc_get_channel_desc_entype(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_entype; not supported here: warns and answers 200001."""
def venc_get_channel_desc_key_frame_interval(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_key_frame_interval; not supported here: warns and answers 200001."""
def venc_get_channel_desc_max_bit_rate(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_max_bit_rate; not supported here: warns and answers 200001."""
def venc_get_channel_desc_param(channel_desc: int, param_type: int, /) -> tuple[int, int]:
    """acl.media.venc_get_channel_desc_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_channel_desc_pic_format(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_pic_format; not supported here: warns and answers 200001."""
def venc_get_channel_desc_pic_height(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_pic_height; not supported here: warns and answers 200001."""
def venc_get_channel_desc_pic_width(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_pic_width; not supported here: warns and answers 200001."""
def venc_get_channel_desc_rc_mode(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_rc_mode; not supported here: warns and answers 200001."""
def venc_get_channel_desc_src_rate(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_src_rate; not supported here: warns and answers 200001."""
def venc_get_channel_desc_thread_id(channel_desc: int, /) -> int:
    """acl.media.venc_get_channel_desc_thread_id; not supported here: warns and answers 200001."""
def venc_get_frame_config_eos(config: int, /) -> int:
    """acl.media.venc_get_frame_config_eos; not supported here: warns and answers 200001."""
def venc_get_frame_config_force_i_frame(config: int, /) -> int:
    """acl.media.venc_get_frame_config_force_i_frame; not supported here: warns and answers 200001."""
def venc_send_frame(channel_desc: int, input: int, reserve: int, config: int, user_data: Any, /) -> int:
    """acl.media.venc_send_frame; not supported here: warns and answers 200001."""
def venc_set_channel_desc_buf_addr(channel_desc: int, address: int, /) -> int:
    """acl.media.venc_set_channel_desc_buf_addr; not supported here: warns and answers 200001."""
def venc_set_channel_desc_buf_size(channel_desc: int, size: int, /) -> int:
    """acl.media.venc_set_channel_desc_buf_size; size in bytes; not supported here: warns and answers 200001."""
def venc_set_channel_desc_callback(channel_desc: int, fn: Callable[..., object], /) -> int:
    """acl.media.venc_set_channel_desc_callback; not supported here: warns and answers 200001."""
def venc_set_channel_desc_entype(channel_desc: int, entype: int, /) -> int:
    """acl.media.venc_set_channel_desc_entype; not supported here: warns and answers 200001."""
def venc_set_channel_desc_key_frame_interval(channel_desc: int, interval: int, /) -> int:
    """acl.media.venc_set_channel_desc_key_frame_interval; not supported here: warns and answers 200001."""
def venc_set_channel_desc_max_bit_rate(channel_desc: int, rate: int, /) -> int:
    """acl.media.venc_set_channel_desc_max_bit_rate; not supported here: warns and answers 200001."""
def venc_set_channel_desc_param(channel_desc: int, param_type: int, param: Any, /) -> int:
    """acl.media.venc_set_channel_desc_param; not supported here: warns and answers 200001."""
def venc_set_channel_desc_pic_format(channel_desc: int, format: int, /) -> int:
    """acl.media.venc_set_channel_desc_pic_format; not supported here: warns and answers 200001."""
def venc_set_channel_desc_pic_height(channel_desc: int, height: int, /) -> int:
    """acl.media.venc_set_channel_desc_pic_height; not supported here: warns and answers 200001."""
def venc_set_channel_desc_pic_width(channel_desc: int, width: int, /) -> int:
    """acl.media.venc_set_channel_desc_pic_width; width in bytes; not supported here: warns and answers 200001."""
def venc_set_channel_desc_rc_mode(channel_desc: int, mode: int, /) -> int:
    """acl.media.venc_set_channel_desc_rc_mode; not supported here: warns and answers 200001."""
def venc_set_channel_desc_src_rate(channel_desc: int, rate: int, /) -> int:
    """acl.media.venc_set_channel_desc_src_rate; not supported here: warns and answers 200001."""
def venc_set_channel_desc_thread_id(channel_desc: int, thread_id: int, /) -> int:
    """acl.media.venc_set_channel_desc_thread_id; not supported here: warns and answers 200001."""
def venc_set_frame_config_eos(config: int, eos: int, /) -> int:
    """acl.media.venc_set_frame_config_eos; not supported here: warns and answers 200001."""
def venc_set_frame_config_force_i_frame(config: int, force: int, /) -> int:
    """acl.media.venc_set_frame_config_force_i_frame; not supported here: warns and answers 200001."""
