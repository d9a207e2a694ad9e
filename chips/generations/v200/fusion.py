"""Collective-communication missions and fusion tasks: several engines started by one task (core_spec 15).

A fusion task is a row of entries in which the first carries the header type FUSION, the engines that take part, and how
many entries follow.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from chips import credit
from chips.generations.v200.aicpu import DUMP, HOST_TOPICS, kernel_credit, topic_type
from chips.generations.v200.generation import MAX_SQE, Generation, Rule
from chips.generations.v200.kernel import kernel_fields, layout_of
from chips.layout import SQE_BYTES
from chips.tasks import AicKernel, CcuLaunch, CcuPart, FusionAic, FusionAicpu, FusionKernel, MixKernel, MixKind

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_FUSION = 2  # SQE type of the first entry
_BOTH_DIES = 0x18  # sub type bits of missions on two dies
_ARGS = 13  # 64-bit arguments of a mission of 128 bytes
_FRONT_WORDS = 10  # of which these many words stand in its first entry
_AFTER_CCU = 4  # entry after which missions have left the area
_HALF_WORDS = 2


def ccu_launch(at: Generation, task: CcuLaunch, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a mission of its own: always two entries."""
    part = task.part
    fields = {"kernel_credit": credit.ccu(part.timeout_s, env), "ccu_size": part.short, "sqe_length": 1}
    return _ccu_pair(at, env, ids, part, fields)


def fusion(at: Generation, task: FusionKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a fusion task: AICPU parts, missions, then the cores, as many entries as the launch reserved.

    Entries between missions and cores that nobody fills stay zero.
    """
    if not 1 <= task.sqe_count <= MAX_SQE:
        raise ValueError(f"sqe_count = {task.sqe_count}: a fusion task takes 1..{MAX_SQE} entries")
    vector = task.aic is not None and task.aic.vector
    rows = [_aicpu(at, env, ids, task, part, first=not index) for index, part in enumerate(task.aicpu)]
    if task.ccu:
        rows += _missions(at, env, ids, task, vector)
        rows += [bytes(SQE_BYTES)] * (_AFTER_CCU - len(rows))
    if task.aic is not None:
        rows.append(_cores(at, env, ids, task.aic))
    return b"".join(rows)[: task.sqe_count * SQE_BYTES].ljust(task.sqe_count * SQE_BYTES, b"\0")


def _aicpu(
    at: Generation, env: EncodeEnv, ids: TaskIds, task: FusionKernel, part: FusionAicpu, *, first: bool
) -> bytes:
    topic = topic_type(part.flags, at.topic_type)
    fields = {
        "block_dim": part.block_dim,
        "kernel_type": part.kind,
        "topic_type": topic,
        "qos": env.tsd_qos,
        "so_name": part.so_name,
        "param": part.args,
        "kfc_args_offset": part.args_format_offset,
        "func_name": part.func_name,
        "overflow_en": env.overflow_enabled,
        "dump_en": part.flags & DUMP != 0,
        "extra_field": ids.task_sn,
    }
    if not first:
        fields["kernel_credit"] = kernel_credit(part.timeout_us, part.kind, part.flags, env)
        host = topic in HOST_TOPICS and at.topic_type is None
        return at.encode("aicpu_host" if host else "aicpu", env, ids, **fields)
    fields |= {
        "sub_type": task.sub_type,
        "aic": task.aic is not None and task.aic.vector,
        "sqe_length": task.sqe_count - 1,
        "kernel_credit": credit.aicore(task.aic.kernel.timeout_us if task.aic else part.timeout_us, env),
    }
    if task.aic is not None and task.aic.kernel.flags & DUMP:
        fields |= {"pre_p": env.overflow_enabled, "post_p": 1}
    return at.encode("aicpu_fused", env, ids, **fields)


def _missions(at: Generation, env: EncodeEnv, ids: TaskIds, task: FusionKernel, vector: bool) -> list[bytes]:
    count = len(task.ccu)
    if task.sub_type & _BOTH_DIES == _BOTH_DIES:
        count //= 2
    fields = {
        "type": _FUSION,
        "task_cnt": count - 1,
        "ccu_size": count > 1,
        "aic": vector,
        "sub_type": task.sub_type,
        "kernel_credit": credit.NEVER_CREDIT,
        "sqe_length": task.sqe_count - 1,
    }
    if count > 1:
        halves = b"".join(_ccu(at, "ccu_half", env, ids, part, _HALF_WORDS, fields) for part in task.ccu)
        return [halves[start : start + SQE_BYTES].ljust(SQE_BYTES, b"\0") for start in range(0, len(halves), SQE_BYTES)]
    pairs = b"".join(_ccu_pair(at, env, ids, part, fields) for part in task.ccu)
    return [pairs[start : start + SQE_BYTES] for start in range(0, len(pairs), SQE_BYTES)]


def _ccu_pair(at: Generation, env: EncodeEnv, ids: TaskIds, part: CcuPart, fields: dict[str, int]) -> bytes:
    return _ccu(at, "ccu", env, ids, part, _FRONT_WORDS, fields) + struct.pack(
        f"<{2 * _ARGS - _FRONT_WORDS}I", *_words(part)[_FRONT_WORDS:]
    )


def _ccu(
    at: Generation, layout: str, env: EncodeEnv, ids: TaskIds, part: CcuPart, words: int, fields: dict[str, int]
) -> bytes:
    return at.encode(
        layout,
        env,
        ids,
        mission_id=part.mission_id,
        die_id=part.die_id,
        timeout=part.timeout_s,
        inst_start_id=part.start_id,
        inst_cnt=part.instruction_count,
        inst_key=part.key,
        **{f"args[{index}]": word for index, word in enumerate(_words(part)[:words])},
        **fields,
    )


def _words(part: CcuPart) -> tuple[int, ...]:
    """Return a mission's arguments as 26 words of 32 bits."""
    if len(part.args) > _ARGS:
        raise ValueError(f"args = {len(part.args)} arguments: a mission takes at most {_ARGS}")
    padded = part.args + (0,) * (_ARGS - len(part.args))
    return struct.unpack(f"<{2 * _ARGS}I", struct.pack(f"<{_ARGS}Q", *padded))


def _cores(at: Generation, env: EncodeEnv, ids: TaskIds, part: FusionAic) -> bytes:
    fields = kernel_fields(part.kernel, env, vector=part.vector)
    at.kernel(fields, part.kernel, env, False)
    return at.encode(layout_of(part.kernel, vector=part.vector), env, ids, **fields)


_CCU_LAYOUTS = tuple(f"ccu_fused_{sub_type}" for sub_type in (8, 12, 16, 20, 24, 28))
_CCU = CcuPart(mission_id=1, start_id=1, instruction_count=1, key=1, args=(1,) * _ARGS)
_CORE = AicKernel(pc=0x1000, args=0x2000, block_dim=1)
_MIX = MixKernel(pc=0x1000, pc2=0x1100, args=0x2000, block_dim=1, ratio=2, mix=MixKind.MAIN_AIC)
_AICPU = FusionAicpu(so_name=0x100, func_name=0x200, args=0x300)

RULES = (
    Rule(CcuLaunch, ccu_launch, ("ccu",), sqes=2, samples=(CcuLaunch(part=_CCU),)),
    Rule(
        FusionKernel,
        fusion,
        ("aicpu_fused", *_CCU_LAYOUTS),
        sqes=lambda task, env: task.sqe_count,
        samples=(
            FusionKernel(sub_type=6, sqe_count=2, aicpu=(_AICPU,), aic=FusionAic(kernel=_CORE)),
            FusionKernel(sub_type=28, sqe_count=5, ccu=(_CCU, _CCU), aic=FusionAic(kernel=_MIX)),
        ),
    ),
)
"""Builders of this module."""
