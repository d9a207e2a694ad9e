"""Shared buffers by name (acl_rt.h, aclrt*Buf; acl_tdt_queue.h, acltdt*Buf).

They lie in the memory of a group of processes, which the first one makes where there is none; a driver without the
buffer service answers 207000. acltdt*Buf are for processes on the device.
"""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import null, one_of, refuse, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, U32, Address, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.memory import caller

_PRIVATE_BYTES = 96
"""Bytes beside a buffer's data that programs may use."""


@entry(null("buf"), zero("size"), waits_for_snapshot=True)
def aclrtAllocBuf(acl: Acl, buf: Out[Handle], size: Size) -> None:
    """Make a buffer with space for `size` bytes, none of them valid yet."""
    buf.value = acl.buffers.alloc(size)


@entry(null("buf"), waits_for_snapshot=True)
def aclrtFreeBuf(acl: Acl, buf: Handle) -> None:
    """Give a buffer back, with those behind it in its chain; 107000 for another one than the first of a chain."""
    acl.buffers.free("aclrtFreeBuf", buf)


@entry(null("buf"), waits_for_snapshot=True)
def aclrtSetBufDataLen(acl: Acl, buf: Handle, len: Size) -> None:
    """Say how many bytes of a buffer are valid: 1 to all of them, else 107000."""
    acl.buffers.driver("aclrtSetBufDataLen", buf).set_length(buf, len)


@entry(null("buf", "len"))
def aclrtGetBufDataLen(acl: Acl, buf: Handle, len: Out[Size]) -> None:
    """Return how many bytes of a buffer are valid."""
    len.value = acl.buffers.driver("aclrtGetBufDataLen", buf).length(buf)


@entry(null("buf", "dataPtr", "size"))
def aclrtGetBufData(acl: Acl, buf: Handle, dataPtr: Out[Address], size: Out[Size]) -> None:
    """Return where a buffer's data lies, and what it has space for."""
    driver = acl.buffers.driver("aclrtGetBufData", buf)
    where, capacity = driver.address(buf), driver.capacity(buf)
    dataPtr.value, size.value = where, capacity


_FITS = refuse("size + offset > 96", "size", f"at most {_PRIVATE_BYTES} together with offset", "EH0009")


@entry(_FITS, null("buf", "dataPtr"))
def aclrtGetBufUserData(acl: Acl, buf: Handle, dataPtr: Address, size: Size, offset: Size) -> None:
    """Read from the 96 bytes beside a buffer's data."""
    caller.write(dataPtr, caller.read(_area(acl, "aclrtGetBufUserData", buf, size, offset), size), size)


@entry(_FITS, null("buf", "dataPtr"))
def aclrtSetBufUserData(acl: Acl, buf: Handle, dataPtr: Address, size: Size, offset: Size) -> None:
    """Write to the 96 bytes beside a buffer's data."""
    caller.write(_area(acl, "aclrtSetBufUserData", buf, size, offset), caller.read(dataPtr, size), size)


def _area(acl: Acl, call: str, buffer: int, size: int, offset: int) -> int:
    where, capacity = acl.buffers.driver(call, buffer).private_area(buffer)
    if size + offset > capacity:
        raise errors.fault("ACL_ERROR_INVALID_PARAM", f"{call}: {size} bytes at {offset} leave the area of {capacity}")
    return where + offset


@entry(null("buf", "newBuf"))
def aclrtCopyBufRef(acl: Acl, buf: Handle, newBuf: Out[Handle]) -> None:
    """Return another buffer on the same data, and another one for each that is behind it in its chain."""
    newBuf.value = acl.buffers.copy_reference("aclrtCopyBufRef", buf)


@entry(null("headBuf", "buf"))
def aclrtAppendBufChain(acl: Acl, headBuf: Handle, buf: Handle) -> None:
    """Put a buffer, with those behind it, at the end of a chain: 128 at most, else 207012."""
    acl.buffers.driver("aclrtAppendBufChain", headBuf, buf).append(headBuf, buf)


@entry(null("headBuf", "num"))
def aclrtGetBufChainNum(acl: Acl, headBuf: Handle, num: Out[U32]) -> None:
    """Return how many buffers a chain has."""
    num.value = acl.buffers.driver("aclrtGetBufChainNum", headBuf).count(headBuf)


@entry(null("headBuf", "buf"))
def aclrtGetBufFromChain(acl: Acl, headBuf: Handle, index: U32, buf: Out[Handle]) -> None:
    """Return a buffer of a chain by its index."""
    buf.value = acl.buffers.driver("aclrtGetBufFromChain", headBuf).member(headBuf, index)


# -- on the device only --------------------------------------------------------------------------------------------

ON_HOST = refuse(
    "True", "", "a process on the device", "EH0011", code=200006, rule="it is for processes on the device",
)
"""What a process on the host cannot do."""


@entry(one_of("type", 0, 1), null("buf"), ON_HOST)
def acltdtAllocBuf(acl: Acl, size: Size, type: U32, buf: Out[Handle]) -> None:
    """Refuse: only processes on the device have these buffers."""


@entry(ON_HOST)
def acltdtFreeBuf(acl: Acl, buf: Handle) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtSetBufDataLen(acl: Acl, buf: Handle, len: Size) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtGetBufDataLen(acl: Acl, buf: Handle, len: Out[Size] | None) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtGetBufData(acl: Acl, buf: Handle, dataPtr: Out[Address] | None, size: Out[Size] | None) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtGetBufUserData(acl: Acl, buf: Handle, dataPtr: Address, size: Size, offset: Size) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtSetBufUserData(acl: Acl, buf: Handle, dataPtr: Address, size: Size, offset: Size) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtCopyBufRef(acl: Acl, buf: Handle, newBuf: Out[Handle] | None) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtAppendBufChain(acl: Acl, headBuf: Handle, buf: Handle) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtGetBufChainNum(acl: Acl, headBuf: Handle, num: Out[U32] | None) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtGetBufFromChain(acl: Acl, headBuf: Handle, index: U32, buf: Out[Handle] | None) -> None:
    """Refuse, as `acltdtAllocBuf` does."""


@entry(ON_HOST)
def acltdtEnqueue(acl: Acl, qid: U32, buf: Handle, timeout: I32) -> None:
    """Refuse, as `acltdtAllocBuf` does; acltdtEnqueueData copies instead."""


@entry(ON_HOST)
def acltdtDequeue(acl: Acl, qid: U32, buf: Out[Handle] | None, timeout: I32) -> None:
    """Refuse, as `acltdtAllocBuf` does; acltdtDequeueData copies instead."""
