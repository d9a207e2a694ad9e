"""Cube, vector and mixed kernels of STARS v2 (RtDavidStarsAicAivKernelSqe)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips import credit
from chips.generations.v200.aicpu import DUMP
from chips.generations.v200.generation import Generation, Rule
from chips.tasks import AicKernel, AivKernel, CoreKernel, MixKernel, MixKind
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds


class _Side(NamedTuple):
    """Names of the fields that exist once for each kind of core."""

    pc_low: str
    pc_high: str
    param: str
    prefetch: str
    level: str
    qos: str
    part_id: str


def _names(core: str) -> _Side:
    return _Side(
        *(
            f"{core}_{name}"
            for name in ("pc_low", "pc_high", "param", "icache_prefetch", "stack_level", "qos", "part_id")
        )
    )


_AIC, _AIV = _names("aic"), _names("aiv")

SMALL_STACK_BYTES = 32768
"""Largest stack per core that the 32 KiB pool holds; kernels that need more use the custom pool."""

_STACK_UNIT_BYTES = 16384
_STACK_LEVEL_OF_POOL = 2  # units in the 32 KiB pool, whose level is 0
_GROUPS = 2  # groups a kernel of more than one block is cut into
_SCHEM_BATCH = 1  # the only schedule mode the hardware is told about

_DUMP = 1
_BIU_PERF = 2
_L2_PERF = 4
_DCACHE_LOCK = 8

_MIX_LAYOUTS = {
    MixKind.AIC: "kernel_aic",
    MixKind.AIV: "kernel_aiv",
    MixKind.MAIN_AIC: "kernel_aic_mix",
    MixKind.MAIN_AIV: "kernel_aiv_mix",
}


def kernel(at: Generation, task: CoreKernel, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a kernel of its own."""
    fields = kernel_fields(task, env, vector=isinstance(task, AivKernel))
    at.kernel(fields, task, env, True)
    return at.encode(layout_of(task, vector=isinstance(task, AivKernel)), env, ids, **fields)


def layout_of(task: CoreKernel, *, vector: bool) -> str:
    """Return the layout a kernel takes: that of the core it starts on."""
    mix = task.mix if isinstance(task, MixKernel) else MixKind.NONE
    if mix:
        return _MIX_LAYOUTS[mix]
    return "kernel_aiv" if vector else "kernel_aic"


def kernel_fields(task: CoreKernel, env: EncodeEnv, *, vector: bool) -> dict[str, int]:
    """Return what every v2 generation writes for a kernel; ``vector`` decides where the task is not a mix."""
    layout = layout_of(task, vector=vector)
    fields = _blocks(task)
    fields["kernel_credit"] = credit.aicore(task.timeout_us, env)
    fields["simt_dcu_size"] = task.simt_memory
    if env.die_count > 1:
        fields["die_friendly"] = 1
    if task.schem_mode == _SCHEM_BATCH:
        fields["schem"] = 1
    level = 0
    if task.min_stack_size > SMALL_STACK_BYTES:
        fields["stack_base"] = env.custom_stack_base
        level = max(env.custom_stack_size // _STACK_UNIT_BYTES - _STACK_LEVEL_OF_POOL, 0)
    else:
        fields["stack_base"] = env.stack_base_32k
    if layout == "kernel_aic":
        fields |= _side(_AIC, task, task.pc, task.prefetch, level)
    elif layout == "kernel_aiv":
        fields |= _side(_AIV, task, task.pc, task.prefetch, level)
    elif isinstance(task, MixKernel):
        fields["ratio"] = task.ratio
        if layout == "kernel_aic_mix" and task.ratio == env.chip.prop("defaultTaskRatio"):
            fields["loose"] = 0
        fields |= _side(_AIC, task, task.pc, task.prefetch, level)
        fields |= _side(_AIV, task, task.pc2, task.prefetch2, level)
    return fields | _pauses(task, env)


def complete(fields: dict[str, int], task: CoreKernel, env: EncodeEnv, alone: bool) -> None:
    """Complete the fields for v200: nothing to add."""


def _side(core: _Side, task: CoreKernel, pc: int, prefetch: int, level: int) -> dict[str, int]:
    """The fields of one kind of core: the entry point, its arguments and how it may use the caches and the bus."""
    fields = {
        core.pc_low: pc & 0xFFFF_FFFF,
        core.pc_high: pc >> 32,
        core.param: task.args + task.simt_args_offset,
    }
    if prefetch:
        fields[core.prefetch] = prefetch
    if level:
        fields[core.level] = level
    if task.qos:
        fields[core.qos] = task.qos
    if task.part_id:
        fields[core.part_id] = task.part_id
    return fields


def _blocks(task: CoreKernel) -> dict[str, int]:
    """Blocks and the groups they are cut into; a group given by the launch decides the block count."""
    if task.group_dim:
        return {
            "block_dim": task.group_dim * task.group_block_dim,
            "group_dim": task.group_dim,
            "group_block_dim": task.group_block_dim,
        }
    groups = 1 if task.block_dim <= 1 else _GROUPS
    return {"block_dim": task.block_dim, "group_dim": groups, "group_block_dim": -(-task.block_dim // groups)}


def _pauses(task: CoreKernel, env: EncodeEnv) -> dict[str, int]:
    """Stops before and after the kernel for dump, debugger and profiling, and the flags that tell the reason."""
    dump = task.flags & DUMP != 0
    lock = isinstance(task, MixKernel) and task.dcache_lock
    post = dump or task.l2_cache_perf or lock or (env.debug_registered and not env.bound)
    biu = task.biu_perf and not env.bound and not post
    if not post and not biu:
        return {}
    reasons = _DUMP * dump | _L2_PERF * task.l2_cache_perf | _DCACHE_LOCK * lock | _BIU_PERF * biu
    return {"feature_flag": reasons, "pre_p": lock or (dump and env.overflow_enabled), "post_p": 1}


_CORES = ("kernel_aic", "kernel_aiv", "kernel_aic_mix", "kernel_aiv_mix")

RULES = (
    Rule(AicKernel, kernel, _CORES),
    Rule(MixKernel, kernel, _CORES, samples=(
        MixKernel(pc=0x1000, pc2=0x2000, args=0x3000, block_dim=2, ratio=2, mix=MixKind.MAIN_AIC),
        MixKernel(pc=0x1000, args=0x3000, block_dim=2, mix=MixKind.AIV),
    )),
    Rule(AivKernel, kernel, _CORES),
)  # fmt: skip
"""Builders of this module."""
