"""Reductions by the copy engine: target = target (op) source, element by element, in a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import CopyKind, MemcpyAsync
from runtime import errors
from runtime.launch.copy.transfer import Keeper

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream

KINDS = (CopyKind.ADD, CopyKind.MAX, CopyKind.MIN, CopyKind.EQUAL)
"""Operations; their numbers are those of acl_rt.h, aclrtReduceKind."""

DATA_TYPES = {0: 0, 1: 1, 2: 4, 3: 5, 4: 8, 6: 2, 7: 9, 8: 10, 27: 6}
"""aclDataType -> rtDataType_t (float, float16, int8, int32, uint8, int16, uint16, uint32, bfloat16)."""

REDUCTIONS = {"add": CopyKind.ADD, "max": CopyKind.MAX, "min": CopyKind.MIN, "equal": CopyKind.EQUAL}
"""Operations by name."""

REDUCIBLE = {"float32": 0, "float16": 1, "int16": 2, "int8": 4, "int32": 5, "bfloat16": 6, "uint32": 10}
"""Types that the copy engine reduces -> rtDataType_t."""

_LARGEST = 0xFFFFFFFF


def queue_reduce(
    stream: Stream, dst: int, src: int, count: int, kind: int, data_type: int, call: str, *keep: object
) -> None:
    """Queue a reduction of `count` bytes; `data_type` is an rtDataType_t.

    Raises:
        InvalidArgument 107000: no bytes, too many for one task, or no such operation (EE1003).
        NotSupported 207000: the chip's copy engine has not the operation.
    """
    stream.check_open()
    if not 0 < count <= _LARGEST:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: count is {count}; one reduction takes (0, {_LARGEST}] bytes",
            ee="EE1003" if count <= 0 else "EE1011",
            params=(call, count, "count", f"(0, {_LARGEST}]"), hint="reduce in pieces",
        )
    if kind not in KINDS:
        raise _out_of_range(call, kind, "kind", "10 sum, 11 max, 12 min or 13 equal")
    by_engine = stream.device.chip.prop("isMemcpyAsyncTaskSqeType")  # else a CPU copies, which reduces nothing
    if not by_engine or not stream.device.facts.sdma_reduce_kinds & 1 << kind:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the copy engine of {stream.device.chip.soc} has no "
            f"{CopyKind(kind).name}", hint="reduce with a kernel",
        )
    keeper = Keeper(*keep)
    try:
        task = MemcpyAsync(src=src, dst=dst, size=count, kind=CopyKind(kind), data_type=data_type)
        stream.submit(task, owner=f"reduce {CopyKind(kind).name.lower()}", finished=keeper.piece())
    finally:
        keeper.release()


def _out_of_range(call: str, value: int, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )
