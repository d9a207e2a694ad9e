"""What arch9201 (CHIP_CLOUD_V5) writes otherwise than v200: its kernels have no stack, but cache prefetch and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import CoreKernel

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_PREFETCH_LINE_BYTES = 64
_PREFETCH_LINES = 64  # at most


def complete(fields: dict[str, int], task: CoreKernel, env: EncodeEnv, alone: bool) -> None:
    """Complete the fields of a kernel: argument prefetch and allocation on the cores that run, early start, log."""
    del fields["stack_base"]
    lines = min(task.args_size // _PREFETCH_LINE_BYTES, _PREFETCH_LINES)
    cube, vector = "aic_param" in fields, "aiv_param" in fields
    fields |= {
        "aic_dcache_prefetch": lines if cube else 0,
        "aiv_dcache_prefetch": lines if vector else 0,
        "aic_pre_allocate_disable": not cube,
        "aiv_pre_allocate_disable": not vector,
        "ost": task.early_start and not fields.get("post_p"),
        "log_en": task.profile or not env.task_profiling,
    }
