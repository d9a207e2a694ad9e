"""AI-core kernels and mix kernels on STARS v1; ``ffts`` builds the contexts that mix kernels point to.

Sources: the runtime's stars_kernel.hpp (RtFftsPlusKernelSqe), rt_external_stars_define.h (rtFftsPlusSqe_t),
rt_external_ffts_define.h; sqe_fill_rules 2.
"""

from __future__ import annotations

from functools import cache

from chips import credit
from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import LAYOUTS, ops, watched_after
from chips.packing import Encode
from chips.registry import Later
from chips.tasks import AicKernel, AivKernel, CoreKernel, KernelFlag, MixKernel, MixKind

STACK_32K = 32768
"""Bytes of the core stack that every kernel gets unless it asks for more."""
_STACK_UNIT = 16384
_LEVEL_MASK = 0xFFF  # the level is cut to its field: a custom pool of size 0 gives 0xffe
_DUMP_FLAG = int(KernelFlag.DUMP)  # plain numbers: flag arithmetic would cost more than the rest of a builder
_FLAG_DUMP, _FLAG_BIU, _FLAG_L2 = 1, 2, 4
_HIGHEST_SCHEM = 1
_FIELDS = (
    "stream_id", "task_id", "wr_cqe", "block_dim", "kernel_credit", "schem", "stack_base", "pmg", "part_id", "qos",
    "pc", "param", "stack_level", "args_size", "feature_flag", "pre_p", "post_p",
)  # fmt: skip
_MIX_C = LAYOUTS["kernel_mix"]
_MIX_V = LAYOUTS["kernel_mix_aiv"]
_MIX_LOCK = LAYOUTS["kernel_mix_locked"]
_INVALID = LAYOUTS["invalid"]


@cache
def _encoder(layout: str) -> Encode:
    """Return what encodes a kernel of one kind of core, compiled for the first one."""
    return LAYOUTS[layout].encoder(*_FIELDS)


def core_kernel(task: CoreKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a cube or vector kernel; a mix kernel goes to ``mix_kernel``."""
    if isinstance(task, MixKernel):
        return mix_kernel(task, env, ids)
    chip = env.chip
    vector = isinstance(task, AivKernel)
    if vector:
        encode, qos = _encoder("kernel_aiv"), env.aiv_qos
    elif chip.has("KERNEL_BINARY_MACHINE_CVMIX"):
        encode, qos = _encoder("kernel_one_core"), None
    else:
        encode, qos = _encoder("kernel_aic"), env.aic_qos
    pre_p, post_p, flag = _observers(task, env)
    level, base = _stack(task.min_stack_size, env)
    return encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        block_dim=task.block_dim,
        kernel_credit=credit.aicore(task.timeout_us, env),
        schem=_schem(task, env),
        stack_base=base,
        pmg=qos.pmg if qos else 0,
        part_id=qos.part_id if qos else task.part_id,
        qos=qos.qos if qos else task.qos,
        pc=task.pc,
        param=task.args,
        stack_level=level,
        args_size=task.args_size if chip.has("TASK_DAVINCI_WITH_SCHEM_MODE") else 0,
        feature_flag=flag,
        pre_p=pre_p,
        post_p=post_p,
    )


def mix_kernel(task: MixKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE around the one context of a kernel that uses both kinds of core."""
    pre_p, post_p, flag = _observers(task, env)
    vector = task.mix in (MixKind.AIV, MixKind.MAIN_AIV)
    if task.min_stack_size == 0:
        base = env.stack_base_16k if task.small_stack else env.stack_base_32k
    else:
        base = _stack(task.min_stack_size, env)[1]
    fields = {
        "stream_id": env.stream_id,
        "task_id": ids.task_id,
        "wr_cqe": env.dvpp_group,
        "overflow": env.overflow_enabled,
        "block_dim": task.block_dim,
        "kernel_credit": credit.aicore(task.timeout_us, env),
        "stack_base": base,
        "contexts": task.context,
        "feature_flag": flag,
        "pre_p": pre_p,
        "post_p": post_p or task.dcache_lock,
    }
    if task.context_failed:
        fields["type"] = _INVALID.when["type"]
    if task.dcache_lock:
        return _MIX_LOCK.encode(**fields)
    return (_MIX_V if vector else _MIX_C).encode(**fields)


def _schem(task: CoreKernel, env: EncodeEnv) -> int:
    """Schedule mode; a chip without FFTS+ has none, and modes above batch are not told to the hardware."""
    return task.schem_mode if task.schem_mode <= _HIGHEST_SCHEM and env.chip.has("TASK_FFTS_PLUS") else 0


def _stack(min_stack_size: int, env: EncodeEnv) -> tuple[int, int]:
    """Stack level and base address for what a kernel needs (0: not stated)."""
    if min_stack_size <= STACK_32K:
        return 0, env.stack_base_32k
    return (env.custom_stack_size // _STACK_UNIT - 2) & _LEVEL_MASK, env.custom_stack_base


def _observers(task: CoreKernel, env: EncodeEnv) -> tuple[bool, bool, int]:
    """Stops before and after the kernel, and their reasons (pre-pause, post-pause, feature flags)."""
    dump = bool(task.flags & _DUMP_FLAG)
    flag = _FLAG_DUMP * dump | _FLAG_L2 * task.l2_cache_perf
    after = dump or watched_after(env) or task.l2_cache_perf
    before = dump and env.overflow_enabled
    if task.biu_perf and not env.bound and not after:
        return True, True, flag | _FLAG_BIU
    return before, after, flag


_CORE_LAYOUTS = "kernel_aic kernel_aiv kernel_one_core kernel_mix kernel_mix_aiv kernel_mix_locked invalid"

OPS = (
    ops(
        core_kernel,
        _CORE_LAYOUTS,
        AicKernel,
        Later(MixKernel, mix=MixKind.MAIN_AIC),
        Later(MixKernel, mix=MixKind.AIC, dcache_lock=True),
    ),
    ops(core_kernel, _CORE_LAYOUTS, AivKernel),
)
"""Builders of this module."""
