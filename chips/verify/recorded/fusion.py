"""Descriptions of recorded fusion tasks."""

from __future__ import annotations

from chips import tasks as t
from chips.verify.recorded.machine import Inputs, constants


def fusion(variant: str, i: Inputs) -> t.Task:
    """Parts of a fusion task; only the variant's name tells which kernel it had."""
    fixed = constants()
    core = {
        "pc": i["pc_addr"],
        "args": i["args_addr"],
        "block_dim": i["block_dim_aic"],
        "args_size": fixed["fused_args_size"],
        "simt_memory": 0,
    }
    first, _, last = variant.partition("+")
    vector = bool(i["aic_aiv_type"])
    aic: t.FusionAic | None = None
    if last == "mix":
        aic = t.FusionAic(kernel=t.MixKernel(**core, pc2=i["pc_addr2"], mix=t.MixKind.MAIN_AIC, ratio=2))
    elif last:
        aic = t.FusionAic(kernel=(t.AivKernel if vector else t.AicKernel)(**core), vector=vector)
    if not first.startswith("ccu"):
        part = t.FusionAicpu(
            so_name=i["so_name_addr"],
            func_name=i["func_name_addr"],
            args=i["args_addr"],
            block_dim=i["aicpu_block_dim"],
            kind=t.AicpuKind.AICPU,
            args_format_offset=i["kfc_args_fmt_offset"],
        )
        return t.FusionKernel(sub_type=i["sqe_sub_type"], sqe_count=i["sqe_len"], aicpu=(part,), aic=aic)
    missions = dict(fixed["fused_ccu"])
    first_arg = missions.pop("first_arg")
    ccu = tuple(
        t.CcuPart(
            mission_id=missions["mission_id"] + n,
            die_id=n,
            timeout_s=missions["timeout_s"],
            start_id=missions["start_id"] + n,
            instruction_count=missions["instruction_count"] + n,
            key=missions["key"] + n,
            args=tuple(first_arg + number for number in range(fixed["ccu_args"])),
        )
        for n in range(2 if "2x" in first else 1)
    )
    return t.FusionKernel(sub_type=i["sqe_sub_type"], sqe_count=i["sqe_len"], ccu=ccu, aic=aic)
