"""Condition entries on STARS v1: small programs, most of which call a block in device memory.

Sources: stars_sqe.hpp (RtStarsFunctionCallSqe, RtStarsGetFloatStatusSqe), stars_dma.hpp (RtStarsRdmaSinkSqe1/2);
sqe_fill_rules 7.  ``chips.programs`` builds the blocks.
"""

from __future__ import annotations

from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import FUNCTION_ALIGN, LAYOUTS, chip_offset
from chips.layout import Layout
from chips.tasks import (
    CaptureCondition,
    CaptureWaitExternal,
    ConditionKind,
    GetFloatStatus,
    LabelSwitchByIndex,
    MemWaitValue,
    ModelExecute,
    RdmaDoorbell,
    RdmaPiValueModify,
    StreamActive,
    StreamSwitch,
)

_WORD = 4
_ROCE_BASE = 0x2000000000
_ROCE_FUNCTION_STRIDE = 0x100000
_ROCE_DOORBELL = 0x230
_DOUBLE_WORD = 3  # awsize code of 64 bits
_PRODUCER_BITS = 0xFFFF << 32

_MODEL_EXECUTE = LAYOUTS["model_execute"]
_SWITCH = LAYOUTS["stream_switch"]
_SWITCH_EX = LAYOUTS["stream_switch_ex"]
_ACTIVE = LAYOUTS["stream_active"]
_LABEL = LAYOUTS["label_switch"]
_WAIT = LAYOUTS["memory_wait"]
_WAIT_END = LAYOUTS["memory_wait_end"]
_PI_MODIFY = LAYOUTS["pi_modify"]
_CONDITION = LAYOUTS["capture_condition"]
_JUMP_BACK = LAYOUTS["capture_jump_back"]
_FLOAT_STATUS = LAYOUTS["float_status"]
_SINK_1 = LAYOUTS["rdma_sink_1"]
_SINK_2 = LAYOUTS["rdma_sink_2"]
_DOORBELL = LAYOUTS["rdma_doorbell"]
_NOP = LAYOUTS["nop"]
_WRITE = LAYOUTS["write_value"]
_NOTIFY_WAIT = LAYOUTS["notify_wait"]


class BadFunction(ValueError):
    """A function block that condition entries cannot call."""


def call(layout: Layout, env: EncodeEnv, ids: TaskIds, function: int, size: int, **fields: int) -> bytes:
    """Build the call of a block of ``size`` bytes at ``function``; BadFunction unless aligned and of whole words."""
    if function % FUNCTION_ALIGN or size % _WORD or size <= 0:
        raise BadFunction(
            f"{layout.name}: function block of {size} bytes at {function:#x}; the address must be a multiple of "
            f"{FUNCTION_ALIGN}, the size one or more whole words of {_WORD} bytes"
        )
    return layout.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        function_top=function >> 49,
        function_mid=function >> 32 & 0x1FFFF,
        function_low=function & 0xFFFFFFFF,
        length=size // _WORD,
        **fields,
    )


def model_execute(task: ModelExecute, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that starts a model; ``function_bytes`` counts its instructions, not the tables behind them."""
    return call(_MODEL_EXECUTE, env, ids, task.function, task.function_bytes, model_id=task.model_id)


def stream_switch(task: StreamSwitch, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a conditional stream activation."""
    return call(_SWITCH_EX if task.extended else _SWITCH, env, ids, task.function, task.function_bytes)


def stream_active(task: StreamActive, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that activates a stream."""
    return call(_ACTIVE, env, ids, task.function, task.function_bytes)


def label_switch(task: LabelSwitchByIndex, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a jump to one of several labels."""
    return call(_LABEL, env, ids, task.function, task.function_bytes)


def pi_modify(task: RdmaPiValueModify, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that corrects RDMA producer indices."""
    return call(_PI_MODIFY, env, ids, task.function, task.function_bytes)


def float_status(task: GetFloatStatus, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that stores the overflow status."""
    return _FLOAT_STATUS.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        debug=task.debug,
        addr_high=task.addr >> 32,
        addr_low=task.addr & 0xFFFFFFFF,
    )


def memory_wait(task: MemWaitValue, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the four SQEs of a memory wait: no-op, flag := 0, the polling call, where to go on."""
    head = {"stream_id": env.stream_id, "task_id": ids.task_id}
    return b"".join(
        (
            _NOP.encode(**head),
            _WRITE.encode(**head, wr_cqe=env.dvpp_group, addr=task.flag_addr, awsize=task.size_code),
            call(_WAIT, env, ids, task.function, task.function_bytes),
            _WAIT_END.encode(**head, position=(ids.position + 1) % env.ring_depth),
        )
    )


def wait_external(task: CaptureWaitExternal, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the three SQEs of an external event wait; no-ops until its memory is attached."""
    head = {"stream_id": env.stream_id, "task_id": ids.task_id}
    nop = _NOP.encode(**head)
    if not task.addr:
        return nop * 3
    reset = _WRITE.encode(**head, wr_cqe=env.dvpp_group, addr=task.flag_addr, awsize=0)
    return nop + reset + call(_WAIT, env, ids, task.function, task.function_bytes)


def capture_condition(task: CaptureCondition, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQEs of a conditional node: choose, wait for the sub-graph's end, and for WHILE jump back."""
    rows = call(_CONDITION, env, ids, task.function, task.function_bytes)
    rows += _NOTIFY_WAIT.encode(
        stream_id=env.stream_id, task_id=ids.task_id, notify_id=task.notify_id, timeout=task.timeout_s
    )
    if task.kind is ConditionKind.WHILE:
        rows += call(_JUMP_BACK, env, ids, task.jump_function, task.jump_function_bytes)
    return rows


def capture_condition_sqes(task: CaptureCondition, env: EncodeEnv) -> int:
    """SQEs of a conditional node: three for WHILE, else two."""
    return 3 if task.kind is ConditionKind.WHILE else 2


def rdma_doorbell(task: RdmaDoorbell, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that rings an RDMA doorbell; on a bound stream the two that work its value out on the device.

    ``index``: bits 11..0 function, 15..12 queue depth as a power of two, 23..16 die.
    """
    head = {"stream_id": env.stream_id, "task_id": ids.task_id, "wr_cqe": env.dvpp_group}
    doorbell = (
        _ROCE_BASE
        + _ROCE_DOORBELL
        + (task.index & 0xFFF) * _ROCE_FUNCTION_STRIDE
        + chip_offset(env, die_id=task.index >> 16 & 0xFF)
    )
    if env.bound and task.sequence == 1:
        return _SINK_1.encode(
            **head,
            counter_high=task.exec_times_addr >> 32,
            counter_low=task.exec_times_addr & 0xFFFFFFFF,
            shift=task.index >> 12 & 0xF,
            pi=(task.info >> 32) & 0xFFF,
        )
    if env.bound and task.sequence == 2:
        info = task.info & ~_PRODUCER_BITS
        return _SINK_2.encode(
            **head,
            info_top=info >> 49,
            info_mid=info >> 32 & 0x1FFFF,
            info_low=info & 0xFFFFFFFF,
            doorbell_top=doorbell >> 49,
            doorbell_mid=doorbell >> 32 & 0x1FFFF,
            doorbell_low=doorbell & 0xFFFFFFFF,
        )
    return _DOORBELL.encode(**head, addr=doorbell, awsize=_DOUBLE_WORD, value=task.info)
