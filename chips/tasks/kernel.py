"""Kernels for the AI cores: cube, vector, and both kinds at once (mix)."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "AicKernel",
    "AivKernel",
    "CoreKernel",
    "KernelFlag",
    "MixKernel",
    "MixKind",
    "NEVER_TIMEOUT_US",
    "SIMT_MEMORY_BYTES",
]

NEVER_TIMEOUT_US = (1 << 64) - 1
"""A kernel time limit that asks for none (core_spec 8.2)."""

SIMT_MEMORY_BYTES = 262144
"""Unified-buffer bytes of a vector core given to a kernel without SIMT parts (stars_david.hpp, aivSimtDcuSmSize)."""


class KernelFlag(enum.IntFlag):
    """Launch flags (rt_kernel.h, RT_KERNEL_*); the last three choose where an AICPU kernel runs."""

    DUMP = 0x02
    DEVICE_FIRST = 0x10
    HOST_ONLY = 0x20
    HOST_FIRST = 0x40


class MixKind(enum.IntEnum):
    """How a kernel uses both kinds of AI core (kernel.hpp, MIX_TYPE)."""

    NONE = 0
    AIC = 1
    AIV = 2
    MAIN_AIC = 3
    MAIN_AIV = 4


@described
class CoreKernel(Task):
    """What all AI-core kernels share.

    ``pc`` and ``args`` are device addresses (48 bits), ``args_size`` in bytes, ``timeout_us`` 0 = default,
    NEVER_TIMEOUT_US = none, ``min_stack_size`` in bytes from the kernel's meta data (0 = unknown), ``prefetch`` in
    units of the chip's instruction-cache prefetch, ``block_offset`` the number of the first block (310P only).
    """

    pc: int
    args: int
    block_dim: int
    block_offset: int = 0
    args_size: int = 0
    timeout_us: int = 0
    schem_mode: int = 0
    prefetch: int = 0
    min_stack_size: int = 0
    qos: int = 0
    part_id: int = 0
    flags: int = 0
    biu_perf: bool = False
    l2_cache_perf: bool = False
    group_dim: int = 0
    group_block_dim: int = 0
    simt_memory: int = SIMT_MEMORY_BYTES
    simt_args_offset: int = 0
    early_start: bool = False
    self_test: bool = False
    profile: bool = False
    """Keep the hardware's log of this kernel while per-task profiling is on (arch9201)."""


@described
class AicKernel(CoreKernel):
    """A kernel on the cube (AIC) cores."""

    type: ClassVar[TaskType] = TaskType.KERNEL_AICORE


@described
class AivKernel(CoreKernel):
    """A kernel on the vector (AIV) cores."""

    type: ClassVar[TaskType] = TaskType.KERNEL_AIVEC


@described
class MixKernel(CoreKernel):
    """A kernel on both kinds of core.

    With MAIN_AIC or MAIN_AIV, ``pc`` is the AIC entry, ``pc2`` the AIV entry and ``ratio`` the vector cores per cube
    core.  On v100 the work is described by a 128-byte context at ``context`` (128-byte aligned device address); it must
    be there before the SQE is submitted.  ``small_stack``: the program asks for the 16 KiB stack.  ``context_failed``:
    the copy of the context to the device failed, so the SQE must be an invalid one.
    """

    type: ClassVar[TaskType] = TaskType.KERNEL_AICORE
    mix: MixKind
    pc2: int = 0
    prefetch2: int = 0
    ratio: int = 0
    context: int = 0
    context_failed: bool = False
    small_stack: bool = False
    dcache_lock: bool = False

    @property
    def args2(self) -> int:
        """Argument address of the vector half: both halves share one block."""
        return self.args
