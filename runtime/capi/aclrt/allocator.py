"""Allocators of the user's own by name (acl_rt_allocator.h): described, and registered for streams."""

from __future__ import annotations

from typing import Any

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, handle_of, need
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.allocator import AllocatorDescription
from runtime.core.stream.stream import Stream


@entry
def aclrtAllocatorCreateDesc(acl: Acl) -> int:
    """Make a description and return its handle."""
    return acl.runtime.handles.add(AllocatorDescription())


@entry
def aclrtAllocatorDestroyDesc(acl: Acl, allocatorDesc: int | None) -> None:
    """Give a description up; a stream that uses it goes on doing so."""
    _described(acl, "aclrtAllocatorDestroyDesc", allocatorDesc)
    acl.runtime.handles.remove(allocatorDesc or 0)


@entry
def aclrtAllocatorSetObjToDesc(acl: Acl, allocatorDesc: int | None, allocator: int | None) -> None:
    """Say what the functions are called with."""
    need("aclrtAllocatorSetObjToDesc", allocatorDesc=allocatorDesc, allocator=allocator)
    _described(acl, "aclrtAllocatorSetObjToDesc", allocatorDesc).allocator = allocator


@entry
def aclrtAllocatorSetAllocFuncToDesc(acl: Acl, allocatorDesc: int | None, func: Any) -> None:
    """Say how a block is made: func(allocator, size in bytes)."""
    _set(acl, "aclrtAllocatorSetAllocFuncToDesc", allocatorDesc, "alloc", func)


@entry
def aclrtAllocatorSetFreeFuncToDesc(acl: Acl, allocatorDesc: int | None, func: Any) -> None:
    """Say how a block is given back: func(allocator, block)."""
    _set(acl, "aclrtAllocatorSetFreeFuncToDesc", allocatorDesc, "free", func)


@entry
def aclrtAllocatorSetAllocAdviseFuncToDesc(acl: Acl, allocatorDesc: int | None, func: Any) -> None:
    """Say how a block at a wished address is made: func(allocator, size in bytes, address); may be left out."""
    _set(acl, "aclrtAllocatorSetAllocAdviseFuncToDesc", allocatorDesc, "advise", func)


@entry
def aclrtAllocatorSetGetAddrFromBlockFuncToDesc(acl: Acl, allocatorDesc: int | None, func: Any) -> None:
    """Say where a block is: func(block) gives the device address."""
    _set(acl, "aclrtAllocatorSetGetAddrFromBlockFuncToDesc", allocatorDesc, "address_of_block", func)


@entry
def aclrtAllocatorRegister(acl: Acl, stream: int | None, allocatorDesc: int | None) -> None:
    """Give a stream an allocator, instead of the one it had."""
    call = "aclrtAllocatorRegister"
    need(call, stream=stream)
    described = _described(acl, call, allocatorDesc)
    missing = described.missing()
    if missing:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: the allocator has no {', '.join(missing)}", ee="EH0008",
            params=(call, missing[0]), hint="set the object and the functions before it is registered",
        )
    handle_of(acl, stream, Stream)
    acl.runtime.allocators.register(stream or 0, allocatorDesc or 0, described)


@entry
def aclrtAllocatorUnregister(acl: Acl, stream: int | None) -> None:
    """Take a stream's allocator away, if it has one."""
    need("aclrtAllocatorUnregister", stream=stream)
    acl.runtime.allocators.unregister(stream or 0)


@entry
def aclrtAllocatorGetByStream(
    acl: Acl, stream: int | None, allocatorDesc: Out | None, allocator: Out | None, allocFunc: Out | None,
    freeFunc: Out | None, allocAdviseFunc: Out | None, getAddrFromBlockFunc: Out | None,
) -> None:  # fmt: skip
    """Give what a stream's allocator is made of; NULLs where it has none."""
    call = "aclrtAllocatorGetByStream"
    need(call, stream=stream)
    handle, found = acl.runtime.allocators.find(stream or 0) or (0, AllocatorDescription())
    given = (handle, found.allocator, found.alloc, found.free, found.advise, found.address_of_block)
    outs = (allocatorDesc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc)
    for out, value in zip(outs, given, strict=True):
        if out is not None:
            out.value = value or 0


def _set(acl: Acl, call: str, allocatorDesc: int | None, part: str, func: Any) -> None:
    described = _described(acl, call, allocatorDesc)
    need(call, func=func)
    setattr(described, part, func)


def _described(acl: Acl, call: str, allocatorDesc: int | None) -> AllocatorDescription:
    need(call, allocatorDesc=allocatorDesc)
    found: AllocatorDescription = handle_of(acl, allocatorDesc, AllocatorDescription)
    return found
