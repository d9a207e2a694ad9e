"""Copies, fills and cache operations (RtDavidStarsMemcpySqe and its neighbours)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips import credit
from chips.generations.v200.doorbell import doorbell, wqe_bytes
from chips.generations.v200.generation import Generation, Rule, direct
from chips.tasks import Cmo, CmoDescriptor, CopyKind, MemcpyAsync, MemcpyDescriptor, Memset, SqeUpdate, UbJob

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

D2D_QOS = 6
"""QoS of every copy inside a device, whatever the caller asks for."""

STREAM_ID = 0x1F
"""SMMU stream of the copy engine; its sub stream is `SUB_STREAM_ID`."""

SUB_STREAM_ID = 1

_MEMSET = 5  # opcode
_UNSUPPORTED = 0xF0  # opcode of a reduction that the engine cannot do
_OPERATIONS = {CopyKind.ADD: 1, CopyKind.MAX: 2, CopyKind.MIN: 3, CopyKind.EQUAL: 4}
_DATA_TYPES = {0: 0x70, 1: 0x60, 2: 0x10, 4: 0x00, 5: 0x20, 6: 0x80, 10: 0x50}  # rtDataType_t -> opcode bits
_BY_PCIE = frozenset({CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.PCIE})
_BY_UB = frozenset({CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.UB})
_INSIDE = frozenset({CopyKind.SDMA, CopyKind.SDMA_BY_ADDRESS})
_UB_COPY_SOURCE = 2  # who posted the work behind a doorbell: the runtime's copy
_PREFETCH, _WRITE_BACK = 6, 7

_ENGINE = {
    "src_stream_id": STREAM_ID,
    "src_sub_stream_id": SUB_STREAM_ID,
    "dst_stream_id": STREAM_ID,
    "dst_sub_stream_id": SUB_STREAM_ID,
}


def reduce_opcode(kind: CopyKind, data_type: int) -> int:
    """Return the engine's opcode of a reduction, or the one that it refuses; 0 for a plain copy."""
    operation = _OPERATIONS.get(kind)
    if operation is None:
        return 0
    bits = _DATA_TYPES.get(data_type)
    return _UNSUPPORTED if bits is None else bits | operation


def memcpy(at: Generation, task: MemcpyAsync, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a copy or reduction by the engine that its kind and the connection of the device call for."""
    if env.online and env.ub_connected and task.kind in _BY_UB:
        job = task.ub or UbJob()
        if _by_doorbell(task, env):
            return doorbell(at, env, ids, (job,), source=_UB_COPY_SOURCE)
        return _async_dma(at, env, ids, job)
    if env.online and task.kind in _BY_PCIE:
        return at.encode("pcie_dma", env, ids, sq_addr=task.dma_queue, sq_tail=task.dma_count)
    return memcpy_sdma(at, task, env, ids)


def memcpy_sdma(at: Generation, task: MemcpyAsync, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a copy or reduction by the copy engine; lengths are taken modulo 4 GiB as the engine does."""
    config = task.config
    fields = {
        "kernel_credit": credit.sdma(env),
        "pre_p": task.kind == CopyKind.SDMA_BY_ADDRESS,
        "post_p": env.debug_registered and not env.bound,
        "opcode": reduce_opcode(task.kind, task.data_type),
        "part_id": config.part_id if config else 0,
        "qos": D2D_QOS if task.kind in _INSIDE else config.qos if config else 0,
        "src": task.src,
        "dst": task.dst,
        "length": task.size & 0xFFFF_FFFF,
    }
    if task.kind == CopyKind.SDMA_BY_ADDRESS and task.offsets is not None:
        src, dst = task.offsets
        fields |= {
            "d2d_offset_flag": 1,
            "src_offset_low": src & 0xFFFF_FFFF,
            "src_offset_high": src >> 32,
            "dst_offset_low": dst & 0xFFFF_FFFF,
            "dst_offset_high": dst >> 32,
        }
    return at.encode("sdma", env, ids, **fields, **_ENGINE)


def memcpy_sqes(task: MemcpyAsync, env: EncodeEnv) -> int:
    """Return the entries of a copy: two for one that takes its UB work queue element along."""
    direct_ub = env.online and env.ub_connected and task.kind in _BY_UB and not _by_doorbell(task, env)
    return 2 if direct_ub else 1


def sqe_update(at: Generation, task: SqeUpdate, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a copy over a waiting entry; the driver's conversion fills the DMA queue in, so it stays empty here."""
    if env.ub_connected:
        return _async_dma(at, env, ids, task.ub or UbJob())
    return at.encode("pcie_dma", env, ids)


def sqe_update_sdma(at: Generation, task: SqeUpdate, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a copy over a waiting entry where the copy engine does all copies (v201)."""
    return memcpy_sdma(at, MemcpyAsync(src=task.src, dst=0, size=task.size, kind=CopyKind.HOST_TO_DEVICE), env, ids)


def memset(at: Generation, task: Memset, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a fill: its target stands where copies have their source, its pattern where they have their target."""
    return at.encode(
        "memset",
        env,
        ids,
        kernel_credit=credit.sdma(env),
        opcode=_MEMSET,
        src=task.addr,
        dst=task.value,
        length=task.count,
        **_ENGINE,
    )


def cmo(at: Generation, task: Cmo, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a cache operation; inside a model the caller makes a descriptor and a `CmoDescriptor` instead."""
    fields = {
        "opcode": task.op_code,
        "part_id": task.part_id,
        "pmg": task.pmg,
        "qos": task.qos,
        "src": task.src,
        "length": task.length,
    }
    if task.op_code in (_PREFETCH, _WRITE_BACK):
        # the id of the operation is the stream's number from 1, as far as eight bits go
        return at.encode("cmo", env, ids, cmo_type=task.cmo_type, cmo_id=(env.stream_id + 1) & 0xFF, **fields)
    return at.encode("sdma", env, ids, **fields)


def _by_doorbell(task: MemcpyAsync, env: EncodeEnv) -> bool:
    return env.bound or task.doorbell


def _async_dma(at: Generation, env: EncodeEnv, ids: TaskIds, job: UbJob) -> bytes:
    head = at.encode("async_dma", env, ids, jetty=job.jetty_id, function=job.function_id, die_id=job.die_id)
    return head + wqe_bytes(job, 64)


_DESCRIPTORS = (
    direct(MemcpyDescriptor, "sdma_pointer", descriptor="descriptor"),
    direct(CmoDescriptor, "sdma_pointer", descriptor="descriptor"),
)

_CMO = Rule(
    Cmo,
    cmo,
    ("cmo", "sdma"),
    samples=(Cmo(op_code=_PREFETCH, src=0x1000, length=64), Cmo(op_code=8, src=0x1000, length=64)),
)

RULES = (
    Rule(
        MemcpyAsync,
        memcpy,
        ("sdma", "pcie_dma", "async_dma", "ub_doorbell"),
        sqes=memcpy_sqes,
        samples=(
            MemcpyAsync(src=0x1000, dst=0x2000, size=64),
            MemcpyAsync(src=0x1000, dst=0x2000, size=64, kind=CopyKind.HOST_TO_DEVICE),
        ),
    ),
    Rule(SqeUpdate, sqe_update, ("pcie_dma", "async_dma"), sqes=lambda task, env: 2 if env.ub_connected else 1),
    Rule(Memset, memset, ("memset",)),
    _CMO,
    *_DESCRIPTORS,
)
"""Builders of this module for v200."""

SDMA_ONLY = (
    Rule(MemcpyAsync, memcpy_sdma, ("sdma",), samples=(MemcpyAsync(src=0x1000, dst=0x2000, size=64),)),
    Rule(SqeUpdate, sqe_update_sdma, ("sdma",)),
    _CMO,
    *_DESCRIPTORS,
)
"""Builders of this module for a generation whose copy engine does every copy."""
