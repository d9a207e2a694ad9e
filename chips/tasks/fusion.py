"""Tasks of several engines: FFTS+ graphs, missions of collective communication, fused kernels."""

from __future__ import annotations

from typing import ClassVar

from chips.tasks.aicpu import AicpuKind
from chips.tasks.kernel import CoreKernel
from chips.tasks.types import Task, TaskType, described
from npuhal.records import dataclass

__all__ = [
    "CcuLaunch",
    "CcuPart",
    "FftsPlus",
    "FusionAic",
    "FusionAicpu",
    "FusionKernel",
]


@described
class FftsPlus(Task):
    """A ready FFTS+ graph: ``contexts`` is the device address of its context blocks, ``sqe`` the caller's words.

    ``dump``: the graph has dynamic shapes and is dumped, which wraps it in two placeholder SQEs.
    """

    type: ClassVar[TaskType] = TaskType.FFTS_PLUS
    contexts: int
    total_contexts: int
    ready_contexts: int = 1
    preload_contexts: int = 1
    sub_type: int = 0
    timeout: int = 0
    prefetch_limit: int = 0
    maintenance_limit: int = 0
    aic_prefetch: tuple[int, int] = (0, 0)
    aiv_prefetch: tuple[int, int] = (0, 0)
    dump: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionAic:
    """The AI-core part of a fusion task; ``vector`` picks the AIV type for a single-core kernel."""

    kernel: CoreKernel
    vector: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionAicpu:
    """An AICPU part of a fusion task; ``args_format_offset`` is the offset its argument format starts at."""

    so_name: int
    func_name: int
    args: int
    block_dim: int = 1
    kind: int = AicpuKind.KFC
    flags: int = 0
    timeout_us: int = 0
    args_format_offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CcuPart:
    """One CCU mission: instruction range, token key and arguments (64-bit each, up to 13).

    ``short`` is a mission of one argument, which takes 32 bytes where others take 128.
    """

    mission_id: int
    die_id: int = 0
    timeout_s: int = 0
    start_id: int = 0
    instruction_count: int = 0
    key: int = 0
    args: tuple[int, ...] = ()
    short: bool = False


@described
class CcuLaunch(Task):
    """One CCU mission on its own: two SQEs, whatever its size."""

    type: ClassVar[TaskType] = TaskType.CCU_LAUNCH
    part: CcuPart


@described
class FusionKernel(Task):
    """Several engines started by one task (core_spec 15): AICPU or CCU parts first, the AI cores last.

    ``sqe_count`` is what the launch reserved, ``sub_type`` the engine bits of the first SQE.
    """

    type: ClassVar[TaskType] = TaskType.FUSION_KERNEL
    sub_type: int
    sqe_count: int
    aicpu: tuple[FusionAicpu, ...] = ()
    ccu: tuple[CcuPart, ...] = ()
    aic: FusionAic | None = None
