"""Cache operations that others can wait for, by ids of their own (aclrtCmoAsyncWithBarrier); Ascend 310B has them.

Both kinds of tasks belong to a model. What a user calls an id stands for an id of the device within that model; it is
taken by the first operation that names it, and goes with the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chips.tasks import Barrier, Cmo
from runtime import errors
from runtime.driver import resources as id_kinds
from runtime.launch.copy.cmo import CacheOperation, op_code

if TYPE_CHECKING:
    from chips import Chip
    from runtime.core.stream.stream import Stream

MOST = 6
"""Operations that one task waits for."""


def check_supported(chip: Chip, call: str, message: str) -> None:
    """Raise NotSupported 207000 with a message (EE1005, or "") where the chip has no such ids."""
    if not chip.has("TASK_ASYNC_CMO"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {chip.soc} has no barriers for cache operations",
            ee=message, params=(call,) if message else (),
            hint="queue the operation with aclrtCmoAsync; later work of the stream waits for it",
        )


def queue_operation(stream: Stream, address: int, size: int, operation: int, barrier: int, call: str) -> None:
    """Queue a cache operation in a stream of a model.

    Args:
        barrier: what the operation can be waited for by; not 0 for an invalidation, and 0 for every other one.

    Raises:
        NotSupported 207000: there is no such operation.
        InvalidArgument 107000: the size is 0 (EE1003), or the id does not fit the operation (EE1011).
        InternalError 507000: the stream is no model's.
    """
    if not size:
        raise _bad(call, size, "size", "more than 0", "EE1003")
    if operation not in tuple(CacheOperation):
        raise errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: cache operation {operation} does not exist",
                           hint="0 prefetch, 1 write back, 2 invalidate, 3 flush")  # fmt: skip
    if (operation == CacheOperation.INVALIDATE) != bool(barrier):
        wanted = "not 0 for an invalidation" if operation == CacheOperation.INVALIDATE else "0 but for an invalidation"
        raise _bad(call, barrier, "barrierId", wanted, "EE1011")
    model = _model_of(stream, call)
    task = Cmo(op_code=op_code(operation), src=address, length=size, logic_id=_take(model, barrier))
    stream.submit(task, owner=f"cache {CacheOperation(operation).name.lower()}")


def queue_wait(stream: Stream, waits: Sequence[tuple[int, int]], call: str) -> None:
    """Queue a wait for up to six operations, as pairs (operation, id); see `check_waits`.

    Raises:
        InternalError 507000: the stream is no model's.
        StreamError 107005: no operation of the model has one of the ids.
    """
    known = _model_of(stream, call).cache_ids
    for _, barrier in waits:
        if barrier not in known:
            raise errors.fault("RT_ERROR_MODEL_EXIT_ID", f"{call}: no cache operation of the model has id {barrier}",
                               hint="queue the operation first (aclrtCmoAsyncWithBarrier)")  # fmt: skip
    pairs = tuple((op_code(operation), known[barrier]) for operation, barrier in waits)
    stream.submit(Barrier(ids=pairs), owner="cache barrier")


def check_waits(waits: Sequence[tuple[int, int]], call: str) -> None:
    """Raise InvalidArgument 107000 (EE1003) for a wait that is not for an invalidation, or by id 0."""
    for operation, barrier in waits:
        if operation != CacheOperation.INVALIDATE:
            raise _bad(call, operation, "cmoType", f"{int(CacheOperation.INVALIDATE)}, invalidate", "EE1003")
        if not barrier:
            raise _bad(call, barrier, "barrierId", "not 0", "EE1003")


def _model_of(stream: Stream, call: str) -> Any:
    stream.check_open()
    if stream.bound is None:
        raise errors.fault(
            "RT_ERROR_MODEL_NULL", f"{call}: stream {stream.stream_id} belongs to no model",
            hint="bind the stream to a model first",
        )
    return stream.bound


def _take(model: Any, barrier: int) -> int:
    """Return the device's id for one of a model; 0 on chips that tell the operations apart by nothing."""
    device = model.device
    if not device.chip.has("MODEL_CMO_BARRIER"):
        return 0
    number = model.cache_ids.get(barrier)
    if number is None:
        number = model.cache_ids[barrier] = device.ids.alloc(id_kinds.CACHE)
        model.resources.callback(device.ids.free, id_kinds.CACHE, number)
    return int(number)


def _bad(call: str, value: int, name: str, expected: str, message: str) -> errors.RuntimeFault:
    text = f"{call}: {name} is {value}; expected {expected}"
    params = (call, value, name, expected)
    return errors.fault("ACL_ERROR_RT_PARAM_INVALID", text, ee=message, params=params)
