"""Entries that callers bring along: single ones, and media commands with AICPU kernels (RtDavidStarsDvppSqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips import credit
from chips.generations.v200.aicpu import DUMP, HOST_TOPICS, topic_type
from chips.generations.v200.generation import Generation, Rule
from chips.layout import SQE_BYTES
from chips.tasks import AicpuPart, DvppPart, MultipleTask, StarsCommon

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_COMMON_CLEARED = dict.fromkeys(("ie", "pre_p", "head_update", "log_en"), 0)
_DVPP_CLEARED = dict.fromkeys(("lock", "ie", "pre_p", "post_p", "log_en"), 0)


def stars_common(at: Generation, task: StarsCommon, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the caller's entry with our numbers in its header."""
    layout = at.layouts["common"]
    fields = layout.decode(_whole(task.sqe)) | _COMMON_CLEARED
    fields |= {
        "task_sn": ids.task_sn,
        "wr_cqe": env.dvpp_group,
        "post_p": task.flags & DUMP != 0,
    }
    return layout.encode(**fields)


def multiple_task(at: Generation, task: MultipleTask, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode media commands and AICPU kernels in the caller's order."""
    return b"".join(
        _dvpp(at, part, env, ids) if isinstance(part, DvppPart) else _aicpu(at, part, env, ids) for part in task.parts
    )


def _dvpp(at: Generation, part: DvppPart, env: EncodeEnv, ids: TaskIds) -> bytes:
    layout = at.layouts["dvpp"]
    fields = layout.decode(_whole(part.sqe)) | _DVPP_CLEARED
    wanted = fields["kernel_credit"] if part.credit is None else part.credit
    fields |= {"task_sn": ids.task_sn, "task_pos": part.position, "kernel_credit": credit.dvpp(wanted, env)}
    return layout.encode(**fields)


def _aicpu(at: Generation, part: AicpuPart, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode an AICPU part: where it runs follows its flags on every generation, its credit is not bound to a limit."""
    topic = topic_type(part.flags, None)
    return at.encode(
        "aicpu_host" if topic in HOST_TOPICS else "aicpu",
        env,
        ids,
        wr_cqe=1,
        block_dim=part.block_dim,
        kernel_type=part.kind,
        topic_type=topic,
        qos=env.tsd_qos,
        kernel_credit=credit.started(credit.MAX_CREDIT, env),
        so_name=part.so_name,
        param=part.args,
        func_name=part.func_name,
        overflow_en=env.overflow_enabled,
        dump_en=part.flags & DUMP != 0,
        extra_field=ids.task_sn,
    )


def _whole(sqe: bytes) -> bytes:
    if len(sqe) != SQE_BYTES:
        raise ValueError(f"sqe has {len(sqe)} bytes; an entry has {SQE_BYTES}")
    return sqe


_VPC = bytes((12,)) + bytes(SQE_BYTES - 1)
_PARTS = (DvppPart(sqe=_VPC), AicpuPart(so_name=0x100, func_name=0x200, args=0x300))

RULES = (
    Rule(StarsCommon, stars_common, ("vpc", "jpege", "jpegd"), samples=(StarsCommon(sqe=_VPC),)),
    Rule(
        MultipleTask,
        multiple_task,
        ("vpc", "jpege", "jpegd", "aicpu", "aicpu_host"),
        sqes=lambda task, env: len(task.parts),
        samples=(MultipleTask(parts=_PARTS),),
    ),
)
"""Builders of this module."""
