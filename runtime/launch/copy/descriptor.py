"""Copies and cache operations whose description lies in device memory, where a later task may still change it.

The description is written once (`describe_copy`, `describe_cache`) and used by as many tasks as its owner likes; the
engine reads it when it reaches the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips import descriptor
from chips.tasks import CmoDescriptor, CopyKind, MemcpyAsync, MemcpyDescriptor
from runtime import errors
from runtime.launch.copy.cmo import CacheOperation, op_code
from runtime.launch.copy.copy import check_capacity
from runtime.memory.location import Location, locate

if TYPE_CHECKING:
    from chips import Chip
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream

LARGEST = 4 << 30
"""Most bytes of a copy inside a device that is not cut into pieces."""
_LENGTH, _OFFSET = (1 << 32) - 1, (1 << 48) - 1  # what the fields hold


def copy_bytes(chip: Chip, call: str) -> int:
    """Return the size of a copy's description; 207000 on chips whose copies are no entries of the STARS scheduler."""
    if not chip.is_stars:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {chip.soc} has no copies by description",
            hint="queue the copy itself",
        )
    return descriptor.copy_bytes(chip)


def describe_copy(context: Context, where: int, src: int, dst: int, count: int, call: str) -> None:
    """Write the description of a copy inside a device to device memory.

    Raises:
        InvalidArgument 107000: more than 4 GiB (EE1003), an address that is not aligned to 64 bytes (EE1011), or ends
            that are not both memory of one device (EE1017).
    """
    copy_bytes(context.device.chip, call)
    if not 0 < count <= LARGEST:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: count is {count}; it must be in (0, {LARGEST}]", ee="EE1003",
            params=(call, count, "count", f"(0, {LARGEST}]"), hint="describe a part per descriptor",
        )
    _check_aligned(where, call)
    memory = context.device.memory
    _check_on_device(context, where, call)
    found = [locate(memory, address) for address in (src, dst)]
    if any(each.location is not Location.DEVICE for each in found) or found[0].device_id != found[1].device_id:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {src:#x} and {dst:#x} are not both memory of one device: "
            f"{found[0]}, {found[1]}", ee="EE1017",
            params=(call, "dstAddr or srcAddr", "they are not both memory of one device"),
            hint="a described copy stays inside a device",
        )
    memory.write(where, descriptor.copy_body(context.device.chip, src, dst, count & _LENGTH))


def queue_described_copy(stream: Stream, where: int, call: str) -> None:
    """Queue the copy that a description in device memory stands for.

    Raises:
        InvalidArgument 107000: no description can lie there (EE1011: not aligned to 64 bytes).
    """
    stream.check_open()
    copy_bytes(stream.device.chip, call)
    _check_on_device(stream.context, where, call)
    _check_aligned(where, call)
    stream.device.memory.write(where, descriptor.copy_head(stream.env))
    stream.submit(MemcpyDescriptor(descriptor=where), owner="copy by descriptor")


def cache_bytes(chip: Chip) -> int:
    """Return the size of a cache operation's description; 0 on chips that have none."""
    return descriptor.cache_bytes(chip)


def _need_cache(chip: Chip, call: str) -> None:
    if not cache_bytes(chip):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {chip.soc} has no cache operations by description",
            hint="queue the operation itself",
        )


def describe_cache(context: Context, where: int, src: int, size: int, call: str) -> None:
    """Write the description of a cache operation to device memory; 207000 on chips that have none."""
    _need_cache(context.device.chip, call)
    _check_on_device(context, where, call)
    context.device.memory.write(where, descriptor.cache_body(context.device.chip, src, size & _LENGTH))


def queue_described_cache(stream: Stream, where: int, operation: int, call: str) -> None:
    """Queue a cache operation on the range that a description in device memory names; in models only.

    Raises:
        InvalidArgument: there is no such operation (EE1003), or the stream is in no model.
        NotSupported 207000: the chip has no such descriptions.
    """
    stream.check_open()
    _need_cache(stream.device.chip, call)
    if operation not in tuple(CacheOperation):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: cache operation {operation} does not exist", ee="EE1003",
            params=(call, operation, "cmoType", "[0, 3]"), hint="0 prefetch, 1 write back, 2 invalidate, 3 flush",
        )
    if stream.bound is None:
        raise errors.fault(
            "RT_ERROR_MODEL_NULL", f"{call}: stream {stream.stream_id} is in no model", hint="use aclrtCmoAsync",
        )
    stream.device.memory.write(where, descriptor.cache_head(stream.env, op_code(operation)))
    task = CmoDescriptor(descriptor=where, op_code=op_code(operation))
    stream.submit(task, owner=f"cache {CacheOperation(operation).name.lower()} by descriptor")


def queue_indirect_copy(
    stream: Stream, dst: int, capacity: int, dst_offset: int, src: int, count: int, src_offset: int, call: str
) -> None:
    """Queue a copy whose ends are found when it runs: the address that lies at `dst` (at `src`), plus an offset.

    Raises:
        InvalidArgument 107000: too many bytes, or an offset of more than 48 bits (EE1003).
        NotSupported 207000: the chip's copy engine cannot.
    """
    stream.check_open()
    if not stream.device.chip.has("TASK_MEMCPY_D2D_BY_OFFSET"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {stream.device.chip.soc} has no copies by offset",
        )
    check_capacity(call, capacity, count)
    asked = (("count", count, LARGEST), ("dstDataOffset", dst_offset, _OFFSET), ("srcDataOffset", src_offset, _OFFSET))
    for name, value, most in asked:
        if not 0 <= value <= most:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; it must be in [0, {most}]", ee="EE1003",
                params=(call, value, name, f"[0, {most}]"),
            )
    if stream.device.chip.traits.abort_by_capability and not stream.device.scheduler_has("D2D_ADDR_ASYNC"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the task scheduler is too old for copies by offset",
            hint="update driver and firmware",
        )
    task = MemcpyAsync(src=src, dst=dst, size=count, kind=CopyKind.SDMA_BY_ADDRESS, offsets=(src_offset, dst_offset))
    stream.submit(task, owner="copy by address and offset")


def _check_aligned(where: int, call: str) -> None:
    if where % descriptor.ALIGN:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: desc {where:#x} is not aligned to {descriptor.ALIGN} bytes",
            ee="EE1011", params=(call, f"{where:#x}", "desc", f"it is not aligned to {descriptor.ALIGN} bytes"),
            hint="device memory from aclrtMalloc is",
        )


def _check_on_device(context: Context, where: int, call: str) -> None:
    found = locate(context.device.memory, where)
    if found.location is not Location.DEVICE:
        reason = f"{call}: desc {where:#x} is {found.location.name}, not device memory"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", reason, ee="EE1001", params=(reason,),
            hint="allocate it with aclrtMalloc",
        )
