"""Copies and cache operations by a description in device memory, by name (core_spec 13.7, 13.9)."""

from __future__ import annotations

import struct

from runtime import errors
from runtime.capi.aclrt.checks import Check, feature, live, null, null_rt, refuse, reserved, succeed, zero
from runtime.capi.aclrt.entry import Out, entry, need_rt, own_stream_of
from runtime.capi.aclrt.kinds import U32, Address, Enum, Handle, Size
from runtime.capi.aclrt.memory.allocation import device_of
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.launch.copy import barrier, descriptor
from runtime.memory import caller

_KINDS = 8
"""Values of aclrtMemcpyKind."""
_INSIDE_DEVICE = 6
"""ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, the only kind that is described."""
_COUNT = struct.Struct("<Q")
"""aclrtBarrierTaskInfo begins so: how many pairs follow."""
_WAIT = struct.Struct("<II")
"""aclrtBarrierCmoInfo: cache operation, id."""


_KIND = refuse(f"not 0 <= kind < {_KINDS}", "kind", f"[0, {_KINDS})")
"""What is no kind of copy."""


def _inside(message: str = "") -> Check:
    """Refuse kinds that are not described: 207000, with this message."""
    return refuse(
        f"kind != {_INSIDE_DEVICE}", "kind", "ACL_MEMCPY_INNER_DEVICE_TO_DEVICE (6)", message, code=207000,
        rule="kind is not 6 (inside a device), which alone is described",
    )


# -- copies --------------------------------------------------------------------------------------------------------


@entry(null("descSize"), _KIND, _inside())
def aclrtGetMemcpyDescSize(acl: Acl, kind: Enum, descSize: Out[Size]) -> None:
    """Return how many bytes of device memory the description of a copy takes."""
    call = "aclrtGetMemcpyDescSize"
    descSize.value = descriptor.copy_bytes(acl.runtime.machine.chip, call)


@entry(null("desc"), _KIND, null("srcAddr", "dstAddr"), zero("count"), reserved("config"), _inside())
def aclrtSetMemcpyDesc(
    acl: Acl, desc: Address, kind: Enum, srcAddr: Address, dstAddr: Address, count: Size, config: Address
) -> None:
    """Write the description of a copy inside a device; `desc` is device memory, aligned to 64 bytes."""
    call = "aclrtSetMemcpyDesc"
    descriptor.describe_copy(device_of(acl).context, desc, srcAddr, dstAddr, count, call)


@entry(null("desc"), _KIND, null("stream"), live("stream", Stream), _inside(), waits_for_snapshot=True)
def aclrtMemcpyAsyncWithDesc(acl: Acl, desc: Address, kind: Enum, stream: Handle) -> None:
    """Queue a copy that was described before."""
    call = "aclrtMemcpyAsyncWithDesc"
    descriptor.queue_described_copy(own_stream_of(acl, call, stream), desc, call)


@entry(
    succeed("not count"), refuse("kind != 6", "kind", "6", "EE1003"), feature("TASK_MEMCPY_D2D_BY_OFFSET"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyAsyncWithOffset(
    acl: Acl, dst: Address, destMax: Size, dstDataOffset: Size, src: Address, count: Size, srcDataOffset: Size,
    kind: Enum, stream: Handle,
) -> None:
    """Queue a copy whose ends are the addresses that lie at `dst` and `src` when it runs, plus offsets."""
    call = "aclrtMemcpyAsyncWithOffset"
    if kind != _INSIDE_DEVICE:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: kind is {kind}; it must be 6", ee="EE1003",
            params=(call, kind, "kind", _INSIDE_DEVICE), hint="pass ACL_MEMCPY_INNER_DEVICE_TO_DEVICE",
        )
    need_rt(call, dst=dst, src=src)
    where = own_stream_of(acl, call, stream)
    descriptor.queue_indirect_copy(
        where, dst, destMax, dstDataOffset, src, count, srcDataOffset, call
    )


# -- cache operations ----------------------------------------------------------------------------------------------


@entry(feature("TASK_CMO"), null_rt("size"))
def aclrtCmoGetDescSize(acl: Acl, size: Out[Size]) -> None:
    """Return how many bytes the description of a cache operation takes; 0 on chips that have none."""
    size.value = descriptor.cache_bytes(acl.runtime.machine.chip)


@entry(feature("TASK_CMO"), null_rt("cmoDesc", "src"))
def aclrtCmoSetDesc(acl: Acl, cmoDesc: Address, src: Address, size: Size) -> None:
    """Write the description of a cache operation to device memory."""
    call = "aclrtCmoSetDesc"
    if not size:
        raise _out_of_range(call, 0, "size", "more than 0")
    descriptor.describe_cache(device_of(acl).context, cmoDesc, src, size, call)


@entry(refuse("reserve", "reserve", "NULL", "EE1003"), feature("TASK_CMO"), waits_for_snapshot=True)
def aclrtCmoAsyncWithDesc(acl: Acl, cmoDesc: Address, cmoType: Enum, stream: Handle, reserve: Address) -> None:
    """Queue a cache operation that was described before; the stream must be a model's."""
    call = "aclrtCmoAsyncWithDesc"
    need_rt(call, cmoDesc=cmoDesc)
    descriptor.queue_described_cache(own_stream_of(acl, call, stream), cmoDesc, cmoType, call)


@entry(null("src"), waits_for_snapshot=True)
def aclrtCmoAsyncWithBarrier(acl: Acl, src: Address, size: Size, cmoType: Enum, barrierId: U32, stream: Handle) -> None:
    """Queue a cache operation in a stream of a model; an invalidation has an id that others wait by. 310B only."""
    call = "aclrtCmoAsyncWithBarrier"
    barrier.check_supported(acl.runtime.machine.chip, call, "")
    target = own_stream_of(acl, call, stream)
    barrier.queue_operation(target, src, size, cmoType, barrierId, call)


@entry(null("taskInfo"), waits_for_snapshot=True)
def aclrtCmoWaitBarrier(acl: Acl, taskInfo: Address, stream: Handle, flag: U32) -> None:
    """Let a stream of a model wait for invalidations by their ids; `flag` means nothing. 310B only."""
    call = "aclrtCmoWaitBarrier"
    (count,) = _COUNT.unpack(caller.read(taskInfo, _COUNT.size))
    if not 0 < count <= barrier.MOST:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: barrierNum is {count}; it must be in (0, {barrier.MOST}]",
            ee="EH0007", params=(call, count, "taskInfo->barrierNum", f"(0, {barrier.MOST}]"),
        )
    waits = caller.rows(_WAIT, count, taskInfo + _COUNT.size)
    barrier.check_waits(waits, call)
    barrier.check_supported(acl.runtime.machine.chip, call, "EE1005")
    barrier.queue_wait(own_stream_of(acl, call, stream), waits, call)


def _out_of_range(call: str, value: int, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )
