"""AI-core kernels, mix kernels and FFTS+ graphs on STARS v1; ``ffts`` builds the contexts they point to.

Sources: the runtime's stars_kernel.hpp (RtFftsPlusKernelSqe), rt_external_stars_define.h (rtFftsPlusSqe_t),
rt_external_ffts_define.h; sqe_fill_rules 2.
"""

from __future__ import annotations

from chips import credit
from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import DEFAULT_CREDIT, LAYOUTS, NEVER_CREDIT, watched_after
from chips.tasks import AivKernel, CoreKernel, FftsPlus, KernelFlag, MixKernel, MixKind

STACK_32K = 32768
"""Bytes of the core stack that every kernel gets unless it asks for more."""

_STACK_UNIT = 16384
_LEVEL_MASK = 0xFFF  # the level is cut to its field: a custom pool of size 0 gives 0xffe

_DUMP_FLAG = int(KernelFlag.DUMP)  # plain numbers: flag arithmetic would cost more than the rest of a builder
_FLAG_DUMP, _FLAG_BIU, _FLAG_L2 = 1, 2, 4
_HIGHEST_SCHEM = 1

_HCCL_SUB_TYPES = (0x5A, 0x5B)
_HCCL_DEFAULT_S = 1770
_HCCL_FOREVER = 0xFFFF
_DUMP_UNLOAD = 0x20

_FIELDS = (
    "stream_id", "task_id", "wr_cqe", "block_dim", "kernel_credit", "schem", "stack_base", "pmg", "part_id", "qos",
    "pc", "param", "stack_level", "args_size", "feature_flag", "pre_p", "post_p",
)  # fmt: skip
_ENCODE_AIC = LAYOUTS["kernel_aic"].encoder(*_FIELDS)
_ENCODE_AIV = LAYOUTS["kernel_aiv"].encoder(*_FIELDS)
_ENCODE_ONE_CORE = LAYOUTS["kernel_one_core"].encoder(*_FIELDS)
_MIX_C = LAYOUTS["kernel_mix"]
_MIX_V = LAYOUTS["kernel_mix_aiv"]
_MIX_LOCK = LAYOUTS["kernel_mix_locked"]
_GRAPH = LAYOUTS["ffts_plus"]
_DUMP = LAYOUTS["dump_load_info"]
_INVALID = LAYOUTS["invalid"]


def core_kernel(task: CoreKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a cube or vector kernel; a mix kernel goes to ``mix_kernel``."""
    if isinstance(task, MixKernel):
        return mix_kernel(task, env, ids)
    chip = env.chip
    vector = isinstance(task, AivKernel)
    if vector:
        encode, qos = _ENCODE_AIV, env.aiv_qos
    elif chip.has("KERNEL_BINARY_MACHINE_CVMIX"):
        encode, qos = _ENCODE_ONE_CORE, None
    else:
        encode, qos = _ENCODE_AIC, env.aic_qos
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


def ffts_plus(task: FftsPlus, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of an FFTS+ graph, between two placeholders if it is dumped."""
    timeout, limit = task.timeout, DEFAULT_CREDIT
    if task.sub_type in _HCCL_SUB_TYPES and env.ts_has("FFTSPLUS_TIMEOUT") and not env.bound:
        limit = NEVER_CREDIT
        timeout = {0: _HCCL_DEFAULT_S, _HCCL_FOREVER: 0}.get(task.timeout, task.timeout)
    graph = _GRAPH.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        kernel_credit=limit,
        sub_type=task.sub_type,
        schedule_dfx=env.info_log,
        stack_base=env.stack_base_32k,
        total_contexts=task.total_contexts,
        ready_contexts=task.ready_contexts,
        preload_contexts=task.preload_contexts,
        timeout=timeout,
        prefetch_ost=task.prefetch_limit,
        cmaint_ost=task.maintenance_limit,
        aic_prefetch_lower=task.aic_prefetch[0],
        aic_prefetch_upper=task.aic_prefetch[1],
        aiv_prefetch_lower=task.aiv_prefetch[0],
        aiv_prefetch_upper=task.aiv_prefetch[1],
        contexts=task.contexts,
    )
    if not task.dump:
        return graph
    head = {"stream_id": env.stream_id, "task_id": ids.task_id, "wr_cqe": env.dvpp_group}
    return _DUMP.encode(**head) + graph + _DUMP.encode(**head, reload=_DUMP_UNLOAD)


def ffts_plus_sqes(task: FftsPlus, env: EncodeEnv) -> int:
    """SQEs of an FFTS+ graph: three when it is dumped, else one."""
    return 3 if task.dump else 1


def _schem(task: CoreKernel, env: EncodeEnv) -> int:
    """Schedule mode; a chip without FFTS+ has none, and modes above batch are not told to the hardware."""
    return task.schem_mode if task.schem_mode <= _HIGHEST_SCHEM and env.chip.has("TASK_FFTS_PLUS") else 0


def _stack(min_stack_size: int, env: EncodeEnv) -> tuple[int, int]:
    """Stack level and base address for what a kernel needs (0: not stated)."""
    if min_stack_size <= STACK_32K:
        return 0, env.stack_base_32k
    return (env.custom_stack_size // _STACK_UNIT - 2) & _LEVEL_MASK, env.custom_stack_base


def _observers(task: CoreKernel, env: EncodeEnv) -> tuple[bool, bool, int]:
    """Who looks before and after the kernel, and why (pre-pause, post-pause, feature flags)."""
    dump = bool(task.flags & _DUMP_FLAG)
    flag = _FLAG_DUMP * dump | _FLAG_L2 * task.l2_cache_perf
    after = dump or watched_after(env) or task.l2_cache_perf
    before = dump and env.overflow_enabled
    if task.biu_perf and not env.bound and not after:
        return True, True, flag | _FLAG_BIU
    return before, after, flag
