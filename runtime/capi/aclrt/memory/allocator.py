"""Allocators of the user's own by name (acl_rt_allocator.h): described, and registered for streams."""

from __future__ import annotations

from typing import Any

from runtime import errors
from runtime.capi.aclrt.checks import null, refuse
from runtime.capi.aclrt.entry import Out, entry, handle_of, need
from runtime.capi.aclrt.kinds import Callback, Handle
from runtime.capi.aclrt.memory.user_allocators import AllocatorDescription
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream


@entry()
def aclrtAllocatorCreateDesc(acl: Acl) -> Handle:
    """Make a description and return its handle."""
    return acl.runtime.handles.add(AllocatorDescription())


@entry(null("allocatorDesc"))
def aclrtAllocatorDestroyDesc(acl: Acl, allocatorDesc: Handle) -> None:
    """Give a description up; a stream that uses it goes on doing so."""
    _described(acl, "aclrtAllocatorDestroyDesc", allocatorDesc)
    acl.runtime.handles.remove(allocatorDesc)


@entry(null("allocatorDesc", "allocator"))
def aclrtAllocatorSetObjToDesc(acl: Acl, allocatorDesc: Handle, allocator: Handle) -> None:
    """Say what the functions are called with."""
    _described(acl, "aclrtAllocatorSetObjToDesc", allocatorDesc).allocator = allocator


@entry(null("allocatorDesc", "func"))
def aclrtAllocatorSetAllocFuncToDesc(acl: Acl, allocatorDesc: Handle, func: Callback) -> None:
    """Say how a block is made: func(allocator, size in bytes)."""
    _set(acl, "aclrtAllocatorSetAllocFuncToDesc", allocatorDesc, "alloc", func)


@entry(null("allocatorDesc", "func"))
def aclrtAllocatorSetFreeFuncToDesc(acl: Acl, allocatorDesc: Handle, func: Callback) -> None:
    """Say how a block is given back: func(allocator, block)."""
    _set(acl, "aclrtAllocatorSetFreeFuncToDesc", allocatorDesc, "free", func)


@entry(null("allocatorDesc", "func"))
def aclrtAllocatorSetAllocAdviseFuncToDesc(acl: Acl, allocatorDesc: Handle, func: Callback) -> None:
    """Say how a block at a wished address is made: func(allocator, size in bytes, address); may be left out."""
    _set(acl, "aclrtAllocatorSetAllocAdviseFuncToDesc", allocatorDesc, "advise", func)


@entry(null("allocatorDesc", "func"))
def aclrtAllocatorSetGetAddrFromBlockFuncToDesc(acl: Acl, allocatorDesc: Handle, func: Callback) -> None:
    """Say where a block is: func(block) gives the device address."""
    _set(acl, "aclrtAllocatorSetGetAddrFromBlockFuncToDesc", allocatorDesc, "address_of_block", func)


@entry(null("stream", "allocatorDesc"))
def aclrtAllocatorRegister(acl: Acl, stream: Handle, allocatorDesc: Handle) -> None:
    """Give a stream an allocator, instead of the one it had."""
    call = "aclrtAllocatorRegister"
    described = _described(acl, call, allocatorDesc)
    missing = described.missing()
    if missing:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: the allocator has no {', '.join(missing)}", ee="EH0008",
            params=(call, missing[0]), hint="set the object and the functions before it is registered",
        )
    handle_of(acl, stream, Stream)
    acl.allocators.register(stream, allocatorDesc, described)


@entry(null("stream"))
def aclrtAllocatorUnregister(acl: Acl, stream: Handle) -> None:
    """Take a stream's allocator away, if it has one."""
    acl.allocators.unregister(stream)


@entry(
    null("allocatorDesc", "stream"),
    refuse("acl.allocators.find(stream) is None", "stream", "a stream with an allocator", "EH0012"),
)
def aclrtAllocatorGetByStream(
    acl: Acl, stream: Handle, allocatorDesc: Out[Handle], allocator: Out[Handle] | None,
    allocFunc: Out[Callback] | None, freeFunc: Out[Callback] | None, allocAdviseFunc: Out[Callback] | None,
    getAddrFromBlockFunc: Out[Callback] | None,
) -> None:  # fmt: skip
    """Give what a stream's allocator is made of; NULLs where it has none."""
    handle, found = acl.allocators.find(stream) or (0, AllocatorDescription())
    given = (handle, found.allocator, found.alloc, found.free, found.advise, found.address_of_block)
    outs = (allocatorDesc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc)
    for out, value in zip(outs, given, strict=True):
        if out is not None:
            out.value = value or 0


def _set(acl: Acl, call: str, allocatorDesc: int, part: str, func: Any) -> None:
    described = _described(acl, call, allocatorDesc)
    need(call, func=func)
    setattr(described, part, func)


def _described(acl: Acl, call: str, allocatorDesc: int) -> AllocatorDescription:
    need(call, allocatorDesc=allocatorDesc)
    found: AllocatorDescription = handle_of(acl, allocatorDesc, AllocatorDescription)
    return found
