"""Entries that their caller wrote: media engines, random numbers, and tasks of several commands, on STARS v1.

Sources: task_info_base.hpp (rtStarsCommonSqe_t), stars_kernel.hpp (RtStarsDvppSqe); sqe_fill_rules 8.
"""

from __future__ import annotations

from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.aicpu import aicpu_kernel
from chips.generations.v100.tables import DEFAULT_CREDIT, LAYOUTS, ops
from chips.layout import SQE_BYTES
from chips.tasks import DvppPart, KernelFlag, MultipleTask, StarsCommon

_HEADER = LAYOUTS["header"]
_DVPP = LAYOUTS["dvpp"]
_CREDIT = _DVPP.field("kernel_credit").offset // 8
_BODY = _DVPP.field("command").offset // 8


class BadCommand(ValueError):
    """A caller's entry that is not one."""


def _checked(sqe: bytes, of: str) -> bytes:
    if len(sqe) != SQE_BYTES:
        raise BadCommand(f"{of}: the caller's entry has {len(sqe)} bytes; it must have {SQE_BYTES}")
    return sqe


def stars_common(task: StarsCommon, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build a media or DSA entry: the caller's words, our ids."""
    sqe = _checked(task.sqe, "STARS_COMMON")
    header = _HEADER.decode(sqe[: _HEADER.size])
    header |= {
        "stream_id": env.stream_id,
        "task_id": ids.task_id,
        "ie": 0,
        "pre_p": 0,
        "post_p": bool(task.flags & KernelFlag.DUMP),
        "wr_cqe": env.dvpp_group,
        "overflow": 0,
    }
    return _HEADER.encode(**header) + sqe[_HEADER.size :]


def multiple_task(task: MultipleTask, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build accelerator commands and AICPU kernels that belong together, in the caller's order."""
    return b"".join(
        _command(part, env, ids) if isinstance(part, DvppPart) else aicpu_kernel(part, env, ids, report=True)
        for part in task.parts
    )


def multiple_task_sqes(task: MultipleTask, env: EncodeEnv) -> int:
    """SQEs of a multiple task: one per part."""
    return len(task.parts)


def _command(part: DvppPart, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build one accelerator command: the caller's words (reserved bits too) under our header, credit and position."""
    sqe = _checked(part.sqe, "MULTIPLE_TASK")
    given = _DVPP.decode(sqe)
    front = _DVPP.encode(
        type=given["type"],
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=given["wr_cqe"],
        kernel_credit=min(given["kernel_credit"] if part.credit is None else part.credit, DEFAULT_CREDIT),
        ptr_mode=given["ptr_mode"],
        task_pos=part.position,
    )
    return front[: _HEADER.size] + sqe[_HEADER.size : _CREDIT] + front[_CREDIT:_BODY] + sqe[_BODY:]


_MEDIA_SQE = bytes([12]) + bytes(63)

OPS = (
    ops(stars_common, "vpc jpege jpegd dsa", StarsCommon(sqe=_MEDIA_SQE)),
    ops(
        multiple_task,
        "vpc jpege jpegd aicpu",
        MultipleTask(parts=(DvppPart(sqe=_MEDIA_SQE),)),
        sqes=multiple_task_sqes,
    ),
)
"""Builders of this module."""
