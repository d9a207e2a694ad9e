"""Cache operations on device memory, in a stream (aclrtCmoAsync)."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from chips.tasks import Cmo
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream


class CacheOperation(enum.IntEnum):
    """What is done with the cached copy of a range (acl_rt.h, aclrtCmoType)."""

    PREFETCH = 0
    WRITE_BACK = 1
    INVALIDATE = 2
    FLUSH = 3


_FIRST_OPCODE = 6  # prefetch; the others follow in the same order


def op_code(operation: int) -> int:
    """Return the copy engine's number of a cache operation (rt_external_stars_define.h, rtCmoOpCode_t)."""
    return _FIRST_OPCODE + operation


def queue_cache(stream: Stream, address: int, size: int, operation: int, call: str) -> None:
    """Queue a cache operation.

    Raises:
        NotSupported 207000: there is no such operation.
    """
    stream.check_open()
    if operation not in tuple(CacheOperation):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: cache operation {operation} does not exist",
            hint="0 prefetch, 1 write back, 2 invalidate, 3 flush",
        )
    task = Cmo(op_code=op_code(operation), src=address, length=size)
    stream.submit(task, owner=f"cache {CacheOperation(operation).name.lower()}")
