"""RDMA doorbells on STARS v1.

Sources: stars_dma.hpp (RtStarsRdmaSinkSqe1/2), stars_sqe.hpp (RtStarsFunctionCallSqe); sqe_fill_rules 7.
"""

from __future__ import annotations

from chips.addresses import chip_offset
from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import LAYOUTS, call, ops
from chips.tasks import RdmaDoorbell, RdmaPiValueModify

_ROCE_BASE = 0x2000000000
_ROCE_FUNCTION_STRIDE = 0x100000
_ROCE_DOORBELL = 0x230
_DOUBLE_WORD = 3  # awsize code of 64 bits
_PRODUCER_BITS = 0xFFFF << 32
_PI_MODIFY = LAYOUTS["pi_modify"]
_SINK_1 = LAYOUTS["rdma_sink_1"]
_SINK_2 = LAYOUTS["rdma_sink_2"]
_DOORBELL = LAYOUTS["rdma_doorbell"]


def pi_modify(task: RdmaPiValueModify, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that corrects RDMA producer indices."""
    return call(_PI_MODIFY, env, ids, task.function, task.function_bytes)


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


_FUNCTION = {"function": 0x100, "function_bytes": 8}

OPS = (
    ops(pi_modify, "pi_modify", RdmaPiValueModify(addresses=(8,), **_FUNCTION)),
    ops(rdma_doorbell, "rdma_doorbell rdma_sink_1 rdma_sink_2", RdmaDoorbell),
)
"""Builders of this module."""
