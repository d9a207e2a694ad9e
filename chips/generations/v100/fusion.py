"""FFTS+ graphs on STARS v1; ``ffts`` builds the contexts they point to.

Sources: rt_external_stars_define.h (rtFftsPlusSqe_t), rt_external_ffts_define.h; sqe_fill_rules 2.
"""

from __future__ import annotations

from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import DEFAULT_CREDIT, LAYOUTS, NEVER_CREDIT, ops
from chips.registry import Later
from chips.tasks import FftsPlus

_HCCL_SUB_TYPES = (0x5A, 0x5B)
_HCCL_DEFAULT_S = 1770
_HCCL_FOREVER = 0xFFFF
_DUMP_UNLOAD = 0x20
_GRAPH = LAYOUTS["ffts_plus"]
_DUMP = LAYOUTS["dump_load_info"]


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


OPS = (
    ops(
        ffts_plus,
        "ffts_plus kernel_mix kernel_mix_aiv dump_load_info",
        Later(FftsPlus, total_contexts=2),
        Later(FftsPlus, total_contexts=2, dump=True),
        sqes=ffts_plus_sqes,
    ),
)
"""Builders of this module."""
