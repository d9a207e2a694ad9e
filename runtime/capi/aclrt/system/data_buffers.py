"""Data buffers by name (acl_base_rt.h): an address and a size under one handle; the memory stays the caller's."""

from __future__ import annotations

from npuhal.records import dataclass
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import entry
from runtime.capi.aclrt.kinds import U32, Address, Handle, Size
from runtime.capi.aclrt.state import Acl


@dataclass(slots=True, eq=False)
class DataBuffer:
    """What is known of some memory of the caller's."""

    address: int
    size_bytes: int


@entry(failure=0)
def aclCreateDataBuffer(acl: Acl, data: Address, size: Size) -> Handle:
    """Describe memory and return the handle; any address and size will do."""
    return acl.data_buffers.add(DataBuffer(data, size))


@entry(null("dataBuffer"))
def aclDestroyDataBuffer(acl: Acl, dataBuffer: Handle) -> None:
    """Forget a description."""
    _buffer(acl, dataBuffer)
    acl.data_buffers.remove(dataBuffer)


@entry(null("dataBuffer"))
def aclUpdateDataBuffer(acl: Acl, dataBuffer: Handle, data: Address, size: Size) -> None:
    """Describe other memory."""
    found = _buffer(acl, dataBuffer)
    found.address, found.size_bytes = data, size


@entry(null("dataBuffer", message="", code=100000), failure=0)
def aclGetDataBufferAddr(acl: Acl, dataBuffer: Handle) -> Address:
    """Return the address."""
    return _buffer(acl, dataBuffer).address


@entry(null("dataBuffer", message="", code=100000), failure=0)
def aclGetDataBufferSize(acl: Acl, dataBuffer: Handle) -> U32:
    """Return the low 32 bits of the size."""
    return _buffer(acl, dataBuffer).size_bytes & 0xFFFFFFFF


@entry(null("dataBuffer", message="", code=100000), failure=0)
def aclGetDataBufferSizeV2(acl: Acl, dataBuffer: Handle) -> Size:
    """Return the size."""
    return _buffer(acl, dataBuffer).size_bytes


def _buffer(acl: Acl, handle: int) -> DataBuffer:
    return acl.data_buffers.get(handle, DataBuffer)
