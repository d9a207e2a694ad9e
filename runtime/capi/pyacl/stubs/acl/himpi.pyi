"""Types of acl.himpi; made from the tables of calls by tests/tools/acl_stubs.py."""

from typing import Any

def dvpp_free(address: int, /) -> int:
    """acl.himpi.dvpp_free; not supported here: warns and answers 200001."""
def dvpp_get_image_info(type: int, stream: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.dvpp_get_image_info; gives (info, ret); not supported here: warns and answers 200001."""
def dvpp_get_version(*given: object) -> tuple[int, int, int, int]:
    """acl.himpi.dvpp_get_version; gives (major, minor, patch, ret); not supported here: warns and answers 200001."""
def dvpp_malloc(device_id: int, size: int, /) -> tuple[int, int]:
    """acl.himpi.dvpp_malloc; gives (address, ret); size in bytes; not supported here: warns and answers 200001."""
def png_get_image_info(stream: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.png_get_image_info; gives (info, ret); not supported here: warns and answers 200001."""
def pngd_create_chn(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.pngd_create_chn; not supported here: warns and answers 200001."""
def pngd_destroy_chn(chn: int, /) -> int:
    """acl.himpi.pngd_destroy_chn; not supported here: warns and answers 200001."""
def pngd_get_image_data(chn: int, timeout_ms: int, /) -> tuple[dict[str, Any], dict[str, Any], int]:
    """acl.himpi.pngd_get_image_data; gives (picture, stream, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def pngd_send_stream(chn: int, stream: dict[str, Any], picture: dict[str, Any], timeout_ms: int, /) -> int:
    """acl.himpi.pngd_send_stream; timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def sys_close_epoll(epoll_fd: int, /) -> int:
    """acl.himpi.sys_close_epoll; not supported here: warns and answers 200001."""
def sys_create_epoll(size: int, /) -> tuple[int, int]:
    """acl.himpi.sys_create_epoll; gives (epoll_fd, ret); size in bytes; not supported here: warns and answers 200001."""
def sys_ctl_epoll(epoll_fd: int, operation: int, fd: int, event: dict[str, Any], /) -> int:
    """acl.himpi.sys_ctl_epoll; not supported here: warns and answers 200001."""
def sys_exit(*given: object) -> int:
    """acl.himpi.sys_exit; not supported here: warns and answers 200001."""
def sys_get_chn_csc_matrix(module: int, chn: int, /) -> tuple[int, dict[str, Any], int]:
    """acl.himpi.sys_get_chn_csc_matrix; gives (matrix, coefficient, ret); not supported here: warns and answers 200001."""
def sys_get_image_align_info(modules: list[Any], number: int, image: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.sys_get_image_align_info; gives (info, ret); not supported here: warns and answers 200001."""
def sys_init(*given: object) -> int:
    """acl.himpi.sys_init; not supported here: warns and answers 200001."""
def sys_set_chn_csc_matrix(module: int, chn: int, matrix: int, coefficient: dict[str, Any], /) -> int:
    """acl.himpi.sys_set_chn_csc_matrix; not supported here: warns and answers 200001."""
def sys_wait_epoll(epoll_fd: int, max_events: int, timeout_ms: int, /) -> tuple[list[Any], int, int]:
    """acl.himpi.sys_wait_epoll; gives (events, number, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vdec_close_fd(chn: int, /) -> int:
    """acl.himpi.vdec_close_fd; not supported here: warns and answers 200001."""
def vdec_create_chn(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.vdec_create_chn; not supported here: warns and answers 200001."""
def vdec_destroy_chn(chn: int, /) -> int:
    """acl.himpi.vdec_destroy_chn; not supported here: warns and answers 200001."""
def vdec_get_chn_attr(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vdec_get_chn_attr; gives (attr, ret); not supported here: warns and answers 200001."""
def vdec_get_chn_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vdec_get_chn_param; gives (param, ret); not supported here: warns and answers 200001."""
def vdec_get_display_mode(chn: int, /) -> tuple[int, int]:
    """acl.himpi.vdec_get_display_mode; gives (mode, ret); not supported here: warns and answers 200001."""
def vdec_get_fd(chn: int, /) -> int:
    """acl.himpi.vdec_get_fd; not supported here: warns and answers 200001."""
def vdec_get_frame(chn: int, timeout_ms: int, /) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], int]:
    """acl.himpi.vdec_get_frame; gives (frame, supplement, stream, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vdec_get_jpegd_output_info(stream: dict[str, Any], format: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vdec_get_jpegd_output_info; gives (info, ret); not supported here: warns and answers 200001."""
def vdec_get_pic_buf_size(type: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.vdec_get_pic_buf_size; not supported here: warns and answers 200001."""
def vdec_get_protocol_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vdec_get_protocol_param; gives (param, ret); not supported here: warns and answers 200001."""
def vdec_get_tmv_buf_size(type: int, width: int, height: int, /) -> int:
    """acl.himpi.vdec_get_tmv_buf_size; width in bytes; not supported here: warns and answers 200001."""
def vdec_query_status(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vdec_query_status; gives (status, ret); not supported here: warns and answers 200001."""
def vdec_release_frame(chn: int, frame: dict[str, Any], /) -> int:
    """acl.himpi.vdec_release_frame; not supported here: warns and answers 200001."""
def vdec_reset_chn(chn: int, /) -> int:
    """acl.himpi.vdec_reset_chn; not supported here: warns and answers 200001."""
def vdec_send_stream(chn: int, stream: dict[str, Any], picture: dict[str, Any], timeout_ms: int, /) -> int:
    """acl.himpi.vdec_send_stream; timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vdec_set_chn_attr(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.vdec_set_chn_attr; not supported here: warns and answers 200001."""
def vdec_set_chn_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.vdec_set_chn_param; not supported here: warns and answers 200001."""
def vdec_set_display_mode(chn: int, mode: int, /) -> int:
    """acl.himpi.vdec_set_display_mode; not supported here: warns and answers 200001."""
def vdec_set_jpegd_precision_mode(chn: int, mode: int, /) -> int:
    """acl.himpi.vdec_set_jpegd_precision_mode; not supported here: warns and answers 200001."""
def vdec_set_protocol_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.vdec_set_protocol_param; not supported here: warns and answers 200001."""
def vdec_start_recv_stream(chn: int, /) -> int:
    """acl.himpi.vdec_start_recv_stream; not supported here: warns and answers 200001."""
def vdec_stop_recv_stream(chn: int, /) -> int:
    """acl.himpi.vdec_stop_recv_stream; not supported here: warns and answers 200001."""
def venc_close_fd(chn: int, /) -> int:
    """acl.himpi.venc_close_fd; not supported here: warns and answers 200001."""
def venc_compact_jpeg_tables(chn: int, table_type: int, enable: int, /) -> int:
    """acl.himpi.venc_compact_jpeg_tables; not supported here: warns and answers 200001."""
def venc_create_chn(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.venc_create_chn; not supported here: warns and answers 200001."""
def venc_destroy_chn(chn: int, /) -> int:
    """acl.himpi.venc_destroy_chn; not supported here: warns and answers 200001."""
def venc_get_chn_attr(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_chn_attr; gives (attr, ret); not supported here: warns and answers 200001."""
def venc_get_chn_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_chn_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_cu_pred(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_cu_pred; gives (prediction, ret); not supported here: warns and answers 200001."""
def venc_get_fd(chn: int, /) -> int:
    """acl.himpi.venc_get_fd; not supported here: warns and answers 200001."""
def venc_get_h264_vui(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_h264_vui; gives (vui, ret); not supported here: warns and answers 200001."""
def venc_get_h265_vui(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_h265_vui; gives (vui, ret); not supported here: warns and answers 200001."""
def venc_get_intra_refresh(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_intra_refresh; gives (refresh, ret); not supported here: warns and answers 200001."""
def venc_get_jpeg_huffman_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_jpeg_huffman_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_jpeg_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_jpeg_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_jpege_predicted_size(frame: dict[str, Any], param: dict[str, Any], /) -> tuple[int, int]:
    """acl.himpi.venc_get_jpege_predicted_size; gives (size, ret); size in bytes; not supported here: warns and answers 200001."""
def venc_get_mod_param(param: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_mod_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_qpmap_size(type: int, width: int, height: int, /) -> int:
    """acl.himpi.venc_get_qpmap_size; width in bytes; not supported here: warns and answers 200001."""
def venc_get_qpmap_stride(width: int, /) -> int:
    """acl.himpi.venc_get_qpmap_stride; width in bytes; not supported here: warns and answers 200001."""
def venc_get_rc_param(chn: int, mode: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_rc_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_ref_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_ref_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_get_roi_attr(chn: int, index: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_roi_attr; gives (attr, ret); not supported here: warns and answers 200001."""
def venc_get_scene_mode(chn: int, /) -> tuple[int, int]:
    """acl.himpi.venc_get_scene_mode; gives (mode, ret); not supported here: warns and answers 200001."""
def venc_get_slice_split(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_slice_split; gives (split, ret); not supported here: warns and answers 200001."""
def venc_get_stream(chn: int, stream: dict[str, Any], timeout_ms: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_stream; gives (stream, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def venc_get_streamcopy_param(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_get_streamcopy_param; gives (param, ret); not supported here: warns and answers 200001."""
def venc_query_status(chn: int, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.venc_query_status; gives (status, ret); not supported here: warns and answers 200001."""
def venc_release_stream(chn: int, stream: dict[str, Any], /) -> int:
    """acl.himpi.venc_release_stream; not supported here: warns and answers 200001."""
def venc_request_idr(chn: int, instant: int, /) -> int:
    """acl.himpi.venc_request_idr; not supported here: warns and answers 200001."""
def venc_send_frame(chn: int, frame: dict[str, Any], timeout_ms: int, /) -> int:
    """acl.himpi.venc_send_frame; timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def venc_send_frame_ex(chn: int, frame: dict[str, Any], timeout_ms: int, /) -> int:
    """acl.himpi.venc_send_frame_ex; timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def venc_send_jpege_frame(chn: int, frame: dict[str, Any], stream: dict[str, Any], timeout_ms: int, /) -> int:
    """acl.himpi.venc_send_jpege_frame; timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def venc_set_chn_attr(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_chn_attr; not supported here: warns and answers 200001."""
def venc_set_chn_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_chn_param; not supported here: warns and answers 200001."""
def venc_set_cu_pred(chn: int, prediction: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_cu_pred; not supported here: warns and answers 200001."""
def venc_set_h264_vui(chn: int, vui: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_h264_vui; not supported here: warns and answers 200001."""
def venc_set_h265_vui(chn: int, vui: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_h265_vui; not supported here: warns and answers 200001."""
def venc_set_intra_refresh(chn: int, refresh: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_intra_refresh; not supported here: warns and answers 200001."""
def venc_set_jpeg_huffman_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_jpeg_huffman_param; not supported here: warns and answers 200001."""
def venc_set_jpeg_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_jpeg_param; not supported here: warns and answers 200001."""
def venc_set_mod_param(param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_mod_param; not supported here: warns and answers 200001."""
def venc_set_rc_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_rc_param; not supported here: warns and answers 200001."""
def venc_set_ref_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_ref_param; not supported here: warns and answers 200001."""
def venc_set_roi_attr(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_roi_attr; not supported here: warns and answers 200001."""
def venc_set_scene_mode(chn: int, mode: int, /) -> int:
    """acl.himpi.venc_set_scene_mode; not supported here: warns and answers 200001."""
def venc_set_slice_split(chn: int, split: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_slice_split; not supported here: warns and answers 200001."""
def venc_set_streamcopy_param(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_set_streamcopy_param; not supported here: warns and answers 200001."""
def venc_start_chn(chn: int, param: dict[str, Any], /) -> int:
    """acl.himpi.venc_start_chn; not supported here: warns and answers 200001."""
def venc_stop_chn(chn: int, /) -> int:
    """acl.himpi.venc_stop_chn; not supported here: warns and answers 200001."""
def vpc_batch_crop_resize_make_border(chn: int, sources: list[Any], pictures: int, regions: list[Any], numbers: list[Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_batch_crop_resize_make_border; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_batch_crop_resize_paste(chn: int, sources: list[Any], pictures: int, regions: list[Any], numbers: list[Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_batch_crop_resize_paste; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_blur(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_blur; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_calc_hist(chn: int, source: dict[str, Any], timeout_ms: int, /) -> tuple[dict[str, Any], int, int]:
    """acl.himpi.vpc_calc_hist; gives (config, task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_calc_hist_v2(chn: int, source: dict[str, Any], timeout_ms: int, config: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_calc_hist_v2; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_convert_color(chn: int, source: dict[str, Any], dest: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_convert_color; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_convert_color_to_yuv420(chn: int, source: dict[str, Any], dest: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_convert_color_to_yuv420; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_convert_color_v2(chn: int, source: dict[str, Any], dest: dict[str, Any], conf: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_convert_color_v2; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_copy_make_border(chn: int, source: dict[str, Any], dest: dict[str, Any], border: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_copy_make_border; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_create_chn(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.vpc_create_chn; not supported here: warns and answers 200001."""
def vpc_crop(chn: int, source: dict[str, Any], regions: list[Any], number: int, timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_crop; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_crop_resize(chn: int, source: dict[str, Any], regions: list[Any], number: int, timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_crop_resize; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_crop_resize_make_border(chn: int, source: dict[str, Any], regions: list[Any], number: int, timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_crop_resize_make_border; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_crop_resize_paste(chn: int, source: dict[str, Any], regions: list[Any], number: int, timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_crop_resize_paste; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_crop_resize_resize_paste(chn: int, source: dict[str, Any], regions: list[Any], number: int, timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_crop_resize_resize_paste; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_destroy_chn(chn: int, /) -> int:
    """acl.himpi.vpc_destroy_chn; not supported here: warns and answers 200001."""
def vpc_dilate(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_dilate; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_draw_cover(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_draw_cover; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_draw_line(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_draw_line; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_draw_mosaic(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_draw_mosaic; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_draw_osd(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_draw_osd; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_equalize_hist(chn: int, source: dict[str, Any], dest: dict[str, Any], lut: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_equalize_hist; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_erode(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_erode; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_filter2d(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_filter2d; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_flip(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_flip; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_gaussian_blur(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_gaussian_blur; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_get_affine_lut(pair: dict[str, Any], interpolation: int, lut: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vpc_get_affine_lut; gives (lut, ret); not supported here: warns and answers 200001."""
def vpc_get_affine_transform(pair: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vpc_get_affine_transform; gives (matrix, ret); not supported here: warns and answers 200001."""
def vpc_get_lut_mem_size(width: int, height: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_get_lut_mem_size; gives (size, ret); width, size in bytes; not supported here: warns and answers 200001."""
def vpc_get_perspective_lut(pair: dict[str, Any], interpolation: int, lut: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vpc_get_perspective_lut; gives (lut, ret); not supported here: warns and answers 200001."""
def vpc_get_process_result(chn: int, task_id: int, timeout_ms: int, /) -> int:
    """acl.himpi.vpc_get_process_result; timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_get_remap_lut(param: dict[str, Any], lut: dict[str, Any], /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vpc_get_remap_lut; gives (lut, ret); not supported here: warns and answers 200001."""
def vpc_get_rotation_matrix(center: dict[str, Any], angle: float, scale: float, /) -> tuple[dict[str, Any], int]:
    """acl.himpi.vpc_get_rotation_matrix; gives (matrix, ret); not supported here: warns and answers 200001."""
def vpc_lut_remap(chn: int, param: dict[str, Any], lut: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_lut_remap; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_median_blur(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_median_blur; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_pyrdown(chn: int, source: dict[str, Any], dests: list[Any], level: int, filter: Any, divisor: int, border: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_pyrdown; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_resize(chn: int, source: dict[str, Any], dest: dict[str, Any], fx: float, fy: float, interpolation: int, timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_resize; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_rotate(chn: int, param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_rotate; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
def vpc_set_chn_opt_attr(chn: int, attr: dict[str, Any], /) -> int:
    """acl.himpi.vpc_set_chn_opt_attr; not supported here: warns and answers 200001."""
def vpc_set_chn_workspace(chn: int, params: list[Any], number: int, /) -> int:
    """acl.himpi.vpc_set_chn_workspace; not supported here: warns and answers 200001."""
def vpc_sys_create_chn(attr: dict[str, Any], /) -> tuple[int, int]:
    """acl.himpi.vpc_sys_create_chn; gives (chn, ret); not supported here: warns and answers 200001."""
def vpc_warp_affine(chn: int, matrix: dict[str, Any], param: dict[str, Any], timeout_ms: int, /) -> tuple[int, int]:
    """acl.himpi.vpc_warp_affine; gives (task_id, ret); timeout_ms in milliseconds; not supported here: warns and answers 200001."""
