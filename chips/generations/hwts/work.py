"""Kernels and copies of chips without STARS.

No recorded bytes exist for these chips; every builder follows the rule of the runtime's toCommand callback for its type
(ToCommandBodyForAicAivTask, ...AicpuTask, ...MemcpyAsyncTask, ...ReduceAsyncV2Task and neighbours).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.generations.hwts.command import Fields, HwtsFacts, Rule, named
from chips.generations.hwts.tasks import (
    ActiveAicpuStream,
    CreateL2Addr,
    DmaAddress,
    DmaCopy,
    FusionIssue,
    KernelUpdate,
    RdmaSend,
    ReduceAsync,
    SizedAicpuKernel,
)
from chips.tasks import AicKernel, AicpuKernel, AivKernel, CopyKind, CoreKernel, MemcpyAsync, RdmaDoorbell

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_DUMP_FLAGS = 0x6  # of the launch flags: dump the kernel, dump the fusion group
_CONVERTED, _BY_ADDRESS = 1, 2  # address conversion of a copy: a prepared transfer, plain addresses
_NO_ADDRESS = (1 << 64) - 1
_LOCAL_COPIES = frozenset({CopyKind.SDMA, CopyKind.ADD, CopyKind.SDMA_BY_ADDRESS})
_LOW_32 = 0xFFFF_FFFF


def _kernel(task: CoreKernel, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.pc,
        "args": task.args,
        "literal_src": task.block_offset,
        "block_dim": task.block_dim,
        "schem": task.schem_mode,
        "priority": facts.priority,
        "dump": task.flags & _DUMP_FLAGS,
    }


def _aicpu_kernel(task: AicpuKernel, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.func_name,
        "args": task.args + task.head_offset,
        "literal_src": task.so_name,
        "literal_dst": task.kind,
        "literal_size": task.args_size if isinstance(task, SizedAicpuKernel) else 0,
        "block_dim": task.block_dim,
        "priority": facts.priority,
        "dump": task.flags & _DUMP_FLAGS,
    }


def _active_aicpu_stream(task: ActiveAicpuStream, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.func_name,
        "args": task.args,
        "literal_dst": task.kind,
        "literal_size": task.args_size,
        "block_dim": 1,
        "priority": facts.priority,
    }


def _kernel_update(task: KernelUpdate, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "func": task.pc,
        "args": task.args,
        "literal_src": task.block_dim_offset,
        "literal_size": task.saturation_mode,
        "block_dim": task.block_dim,
        "target_stream_id": task.target_stream_id,
        "target_task_id": task.target_task_id,
        "schem": task.schem_mode,
    }


def _copy_layout(task: MemcpyAsync) -> str:
    by_offsets = task.kind == CopyKind.SDMA_BY_ADDRESS and task.offsets is not None
    return "memcpy_offsets" if by_offsets else "memcpy"


def _copy(task: MemcpyAsync, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    if env.online and task.kind not in _LOCAL_COPIES:
        raise ValueError(
            f"kind = {task.kind!r}: a copy between host and device needs a prepared transfer; "
            "describe it with DmaCopy (halMemcpy descriptors)"
        )
    fields = {"src": task.src, "dst": task.dst, "length": task.size, "dir": task.kind, "data_type": task.data_type}
    if task.kind != CopyKind.SDMA_BY_ADDRESS:
        return fields
    fields["convert"] = _BY_ADDRESS
    if task.offsets is None:
        return fields | {"dma_offset": _NO_ADDRESS}
    src, dst = task.offsets
    return fields | {
        "src_offset_low": src & _LOW_32,
        "src_offset_high": src >> 32,
        "dst_offset_low": dst & _LOW_32,
        "dst_offset_high": dst >> 32,
    }


def _dma_copy(task: DmaCopy, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "src": task.dma.src,
        "dst": task.dma.dst,
        "length": task.dma.length,
        "copy_type": task.dma.flag,
        "dir": task.kind,
        "convert": _CONVERTED,
        "dma_offset": task.dma.offset,
    }


def _reduce(task: ReduceAsync, env: EncodeEnv, facts: HwtsFacts) -> Fields:
    return {
        "src": task.src,
        "dst": task.dst,
        "overflow": task.overflow_addr,
        "length": task.size,
        "dir": task.kind,
        "data_type": task.data_type,
    }


RULES = (
    Rule(AicKernel, _kernel, quiet=True),
    Rule(AivKernel, _kernel, quiet=True),
    Rule(AicpuKernel, _aicpu_kernel, quiet=True),
    Rule(SizedAicpuKernel, _aicpu_kernel, quiet=True),
    Rule(ActiveAicpuStream, _active_aicpu_stream),
    Rule(KernelUpdate, _kernel_update),
    Rule(FusionIssue, named("flag")),
    Rule(
        MemcpyAsync,
        _copy,
        quiet=True,
        layout=_copy_layout,
        samples=(
            MemcpyAsync(src=1, dst=2, size=3),
            MemcpyAsync(src=1, dst=2, size=3, kind=CopyKind.SDMA_BY_ADDRESS, offsets=(4, 5)),
        ),
    ),
    Rule(
        DmaCopy,
        _dma_copy,
        quiet=True,
        layout=lambda task: "memcpy",
        samples=(DmaCopy(src=1, dst=2, size=3, kind=CopyKind.PCIE, dma=DmaAddress(src=1, dst=2, length=3)),),
    ),
    Rule(ReduceAsync, _reduce, quiet=True),
    Rule(CreateL2Addr, named("l2_base", "page_table", "pid")),
    Rule(RdmaSend, named("sq_index", "wqe_index")),
    Rule(RdmaDoorbell, named("info", "index")),
)
