"""Types of acl.prof; made from the tables of calls by tests/tools/acl_stubs.py."""


def create_config(device_ids: list[int], aicore_metrics: int, aicore_events: int, data_type_config: int, /) -> int:
    """aclprofCreateConfig."""
def create_stamp(*given: object) -> int:
    """aclprofCreateStamp."""
def create_step_info(*given: object) -> int:
    """aclprofCreateStepInfo."""
def create_subscribe_config(time_info_switch: int, aicore_metrics: int, fd: int, /) -> int:
    """aclprofCreateSubscribeConfig."""
def destroy_config(config: int, /) -> int:
    """aclprofDestroyConfig."""
def destroy_stamp(stamp: int, /) -> None:
    """aclprofDestroyStamp."""
def destroy_step_info(step_info: int, /) -> None:
    """aclprofDestroyStepInfo."""
def destroy_subscribe_config(config: int, /) -> int:
    """aclprofDestroySubscribeConfig."""
def finalize(*given: object) -> int:
    """aclprofFinalize."""
def get_model_id(op_info: int, len: int, index: int, /) -> int:
    """aclprofGetModelId."""
def get_op_desc_size(*given: object) -> tuple[int, int]:
    """aclprofGetOpDescSize; gives (size, ret); size in bytes.

    Refuses: opDescSize is NULL (100000).
    """
def get_op_duration(op_info: int, len: int, index: int, /) -> int:
    """aclprofGetOpDuration."""
def get_op_end(op_info: int, len: int, index: int, /) -> int:
    """aclprofGetOpEnd."""
def get_op_name(op_info: int, len: int, index: int, op_name_len: int, /) -> tuple[str, int]:
    """aclprofGetOpName; gives (name, ret)."""
def get_op_name_len(op_info: int, len: int, index: int, /) -> tuple[int, int]:
    """aclprofGetOpNameLen; gives (len, ret)."""
def get_op_name_v2(op_info: int, len: int, index: int, /) -> tuple[str | None, int]:
    """aclprofGetOpName; gives (name, ret)."""
def get_op_num(op_info: int, op_info_len: int, /) -> tuple[int, int]:
    """aclprofGetOpNum; gives (num, ret).

    Refuses: opInfo is NULL (100000); opNumber is NULL (100000).
    """
def get_op_start(op_info: int, len: int, index: int, /) -> int:
    """aclprofGetOpStart."""
def get_op_type(op_info: int, len: int, index: int, op_type_len: int, /) -> tuple[str, int]:
    """aclprofGetOpType; gives (type, ret)."""
def get_op_type_len(op_info: int, len: int, index: int, /) -> tuple[int, int]:
    """aclprofGetOpTypeLen; gives (len, ret)."""
def get_op_type_v2(op_info: int, len: int, index: int, /) -> tuple[str | None, int]:
    """aclprofGetOpType; gives (type, ret)."""
def get_step_timestamp(step_info: int, tag: int, stream: int, /) -> int:
    """aclprofGetStepTimestamp."""
def init(result_path: str, /) -> int:
    """aclprofInit."""
def mark(stamp: int, /) -> int:
    """aclprofMark."""
def mark_ex(msg: str, stream: int, /) -> int:
    """aclprofMarkEx.

    Refuses: stream is NULL (100000 EH0008).
    """
def model_subscribe(model_id: int, subscribe_config: int, /) -> int:
    """aclprofModelSubscribe."""
def model_un_subscribe(model_id: int, /) -> int:
    """aclprofModelUnSubscribe."""
def model_unsubscribe(model_id: int, /) -> int:
    """aclprofModelUnSubscribe."""
def pop(*given: object) -> int:
    """aclprofPop."""
def push(stamp: int, /) -> int:
    """aclprofPush."""
def range_start(stamp: int, /) -> tuple[int, int]:
    """aclprofRangeStart; gives (range_id, ret).

    Refuses: rangeId is NULL (100000 EH0008).
    """
def range_stop(range_id: int, /) -> int:
    """aclprofRangeStop."""
def set_config(config_type: int, config: str, /) -> int:
    """aclprofSetConfig."""
def set_stamp_trace_message(stamp: int, msg: str, msg_len: int, /) -> int:
    """aclprofSetStampTraceMessage."""
def start(config: int, /) -> int:
    """aclprofStart."""
def stop(config: int, /) -> int:
    """aclprofStop."""
