"""Copies and cache operations on STARS v1.

Sources: stars_dma.hpp (RtStarsMemcpyAsyncSqe, RtStarsMemcpyAsyncPtrSqe, RtStarsPcieDmaSqe), stars_kernel.hpp
(RtCmoKernelSqe, RtBarrierKernelSqe); sqe_fill_rules 4 and 8.
"""

from __future__ import annotations

from functools import cache

from chips import credit
from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import DEFAULT_CREDIT, DESCRIPTORS, LAYOUTS, ops, watched_after
from chips.packing import Encode
from chips.registry import Later
from chips.tasks import (
    Barrier,
    Cmo,
    CmoDescriptor,
    CopyConfig,
    CopyKind,
    MemcpyAsync,
    MemcpyDescriptor,
    SqeUpdate,
    UpdateAddress,
)

_OVER_PCIE = frozenset({CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.PCIE})
_ON_DEVICE = frozenset({CopyKind.SDMA, CopyKind.SDMA_BY_ADDRESS})
_OPERATION = {CopyKind.ADD: 1, CopyKind.MAX: 2, CopyKind.MIN: 3, CopyKind.EQUAL: 4}
_DATA_TYPE = {0: 0x70, 1: 0x60, 2: 0x10, 4: 0x00, 5: 0x20, 6: 0x80, 10: 0x50}  # by rtDataType_t
_NO_REDUCTION = 0xF0
_DSA_OFFSET = 16
_CMO_QOS, _CMO_PART = 6, 63
_CMO_V2 = "CMO_SQE_VERSION_V2"
_FFTS_STREAM = 0x1F
_SDMA_LENGTH = 0xFFFFFFFF
_QOS_UNSET = 0xFFFFFFFF
_NO_CONFIG = CopyConfig()
_SDMA = LAYOUTS["sdma"]
_COPY_FIELDS = (
    "stream_id", "task_id", "wr_cqe", "pre_p", "post_p", "kernel_credit", "opcode", "qos", "part_id", "length", "src",
    "dst",
)  # fmt: skip
_OFFSET_FIELDS = ("d2d_offset", "src_offset_low", "src_offset_high", "dst_offset_low", "dst_offset_high")
_POINTER = LAYOUTS["sdma_pointer"]
_PCIE = LAYOUTS["pcie_dma"]
_BY_CPU = LAYOUTS["memcpy_cpu"]
_CMO = LAYOUTS["cmo"]
_BARRIER = LAYOUTS["barrier"]
_UPDATE = LAYOUTS["update_address"]
_INVALID_TYPE = LAYOUTS["invalid"].when["type"]
_DESCRIPTOR = DESCRIPTORS["sdma_descriptor"]


@cache
def _encoder(*more: str) -> Encode:
    """Return what encodes a copy, with more fields than every copy has; compiled for the first one."""
    return _SDMA.encoder(*_COPY_FIELDS, *more)


def memcpy(task: MemcpyAsync | MemcpyDescriptor | SqeUpdate, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of any asynchronous copy, by the engine that serves it."""
    if isinstance(task, MemcpyDescriptor):
        return pointer_copy(task.descriptor, env, ids)
    if isinstance(task, SqeUpdate):
        return _sqe_update(task, env, ids)
    if not env.chip.prop("isMemcpyAsyncTaskSqeType"):
        return _copy_by_cpu(task, env, ids)
    if env.online and task.kind in _OVER_PCIE:
        return _pcie(task, env, ids)
    return _sdma(task, env, ids)


def reduction_opcode(kind: CopyKind, data_type: int) -> int:
    """SDMA opcode of a copy (0) or a reduction; 0xf0 for a data type SDMA cannot reduce."""
    if kind not in _OPERATION:
        return 0
    code = _DATA_TYPE.get(data_type)
    return _NO_REDUCTION if code is None else code | _OPERATION[kind]


def pointer_copy(descriptor: int, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a copy or cache operation whose descriptor lies in memory; an invalid one if it has none."""
    fields = {} if descriptor else {"type": _INVALID_TYPE}
    return _POINTER.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        kernel_credit=credit.sdma(env),
        descriptor=descriptor,
        **fields,
    )


def sdma_descriptor(length: int, config: CopyConfig | None, env: EncodeEnv) -> bytes:
    """First 16 bytes of a pointer-mode copy's descriptor (rtStarsSdmaSqe_t); ``length`` 0 for the descriptor API."""
    asked = config or _NO_CONFIG
    fixed = _device_qos(env)
    return _DESCRIPTOR.encode(
        qos=fixed if fixed is not None and config and not config.cross_device else asked.qos,
        part_id=asked.part_id,
        src_sub_stream_id=env.ssid,
        dst_sub_stream_id=env.ssid,
        length=length,
    )


def _device_qos(env: EncodeEnv) -> int | None:
    """QoS the chip fixes for copies on one device; None where it leaves them to the caller."""
    qos: int = env.chip.prop("memcpyAsyncTaskD2DQos")
    return None if qos == _QOS_UNSET else qos


def _sdma(task: MemcpyAsync, env: EncodeEnv, ids: TaskIds) -> bytes:
    config = task.config or _NO_CONFIG
    fixed = _device_qos(env)
    encode, fields = _encoder(), {}
    if task.kind is CopyKind.SDMA_BY_ADDRESS and task.offsets is not None:
        encode = _encoder(*_OFFSET_FIELDS)
        source, target = task.offsets
        fields = {
            "d2d_offset": 1,
            "src_offset_low": source & 0xFFFFFFFF,
            "src_offset_high": source >> 32,
            "dst_offset_low": target & 0xFFFFFFFF,
            "dst_offset_high": target >> 32,
        }
    return encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        pre_p=task.kind is CopyKind.SDMA_BY_ADDRESS,
        post_p=watched_after(env),
        kernel_credit=credit.sdma(env),
        opcode=reduction_opcode(task.kind, task.data_type),
        qos=fixed if fixed is not None and task.kind in _ON_DEVICE and not config.cross_device else config.qos,
        part_id=config.part_id,
        length=task.size & _SDMA_LENGTH,  # the engine takes the low word; longer copies are split before
        src=task.src,
        dst=task.dst,
        **fields,
    )


def _pcie(task: MemcpyAsync, env: EncodeEnv, ids: TaskIds) -> bytes:
    head = {"stream_id": env.stream_id, "task_id": ids.task_id, "wr_cqe": task.kernel_convert and not env.bound}
    if task.kernel_convert:
        return _PCIE.encode(**head, src=task.src, dst=task.dst, length=task.size)
    return _PCIE.encode(**head, converted=1, sq_addr=task.dma_queue, sq_tail=task.dma_count)


def _sqe_update(task: SqeUpdate, env: EncodeEnv, ids: TaskIds) -> bytes:
    return _PCIE.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        dsa_update=task.dsa,
        sqe_update=not task.dsa,
        offset=_DSA_OFFSET if task.dsa else task.offset,
        src=task.src,
        dst=task.target_sq << 32 | task.target_position,
        length=task.size,
    )


def _copy_by_cpu(task: MemcpyAsync, env: EncodeEnv, ids: TaskIds) -> bytes:
    return _BY_CPU.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        src=task.src,
        dst=task.dst,
        length=task.size & _SDMA_LENGTH,
        pid=0 if env.chip.has("MEMCPY_ASYNC_DOT_BY_PLACEHOLDER") else task.host_pid or env.host_pid,
    )


def cmo(task: Cmo | CmoDescriptor, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a cache operation: SDMA where the chip has that form, else an FFTS entry."""
    if env.chip.prop("CmoSqeVersion") != _CMO_V2:
        return _cmo_ffts(_seen_as_range(task) if isinstance(task, CmoDescriptor) else task, env, ids)
    if isinstance(task, CmoDescriptor):
        return pointer_copy(task.descriptor, env, ids)
    return _SDMA.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        kernel_credit=DEFAULT_CREDIT,
        opcode=task.op_code,
        qos=_CMO_QOS,
        part_id=_CMO_PART,
        length=task.length & _SDMA_LENGTH,
        src=task.src,
    )


def _seen_as_range(task: CmoDescriptor) -> Cmo:
    """What the FFTS builder of the vendor finds in a descriptor task: its words at the positions of a range task's."""
    return Cmo(
        op_code=0,
        src=0,
        length=0,
        num_inner=task.descriptor & 0xFFFF,
        num_outer=task.descriptor >> 16 & 0xFFFF,
        stride_inner=task.op_code,
    )


def _cmo_ffts(task: Cmo, env: EncodeEnv, ids: TaskIds) -> bytes:
    return _CMO.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        cmo_type=task.cmo_type,
        cmo_id=task.logic_id,
        opcode=task.op_code,
        sssv=1,
        dssv=1,
        sns=1,
        dns=1,
        qos=task.qos,
        part_id=task.part_id,
        pmg=task.pmg,
        src_stream_id=_FFTS_STREAM,
        src_sub_stream_id=env.ssid,
        num_outer=task.num_outer,
        num_inner=task.num_inner,
        length=task.length,
        src=task.src,
        stride_outer=task.stride_outer,
        stride_inner=task.stride_inner,
    )


def barrier(task: Barrier, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE that waits for cache operations."""
    pairs = {f"cmo[{index}]": kind | number << 16 for index, (kind, number) in enumerate(task.ids)}
    return _BARRIER.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        cmo_bitmap=(1 << len(task.ids)) - 1,
        **pairs,
    )


def update_address(task: UpdateAddress, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the message that a memory range changed."""
    return _UPDATE.encode(
        stream_id=env.stream_id, task_id=ids.task_id, wr_cqe=env.dvpp_group, addr=task.addr, length=task.length
    )


OPS = (
    ops(
        memcpy,
        "sdma sdma_pointer pcie_dma memcpy_cpu invalid",
        MemcpyAsync,
        Later(MemcpyAsync, kind=CopyKind.HOST_TO_DEVICE),
        MemcpyDescriptor,
        SqeUpdate,
    ),
    ops(cmo, "sdma sdma_pointer cmo", Cmo, CmoDescriptor),
    ops(barrier, "barrier", Barrier(ids=((1, 1),))),
    ops(update_address, "update_address", UpdateAddress),
)
"""Builders of this module."""
