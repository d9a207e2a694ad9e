"""Argument lists of kernels by name (core_spec 8.4)."""

from __future__ import annotations

import ctypes

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need
from runtime.capi.aclrt.kernel import function_of
from runtime.capi.aclrt.state import Acl
from runtime.launch.arguments import ArgumentList, ArgumentLists, block_size, handle_size


def lists_of(acl: Acl) -> ArgumentLists:
    """Return the argument lists of the process."""
    return acl.runtime.argument_lists


def _list(acl: Acl, handle: int | None) -> ArgumentList:
    return lists_of(acl).find(handle or 0)


def _data(call: str, param: int | None, size: int | None) -> bytes:
    """Return the bytes of a parameter; no bytes at all are 100000 with EH0007."""
    if not size:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: paramSize is 0", ee="EH0007",
            params=(call, 0, "paramSize", "at least 1"), hint="a parameter has at least one byte",
        )
    return ctypes.string_at(param or 0, size)


@entry
def aclrtKernelArgsInit(acl: Acl, funcHandle: int | None, argsHandle: Out | None) -> None:
    """Start the thread's list over, for a function; it is the same list each time."""
    need("aclrtKernelArgsInit", funcHandle=funcHandle, argsHandle=argsHandle)
    assert argsHandle is not None
    argsHandle.value = lists_of(acl).start(function_of(acl, funcHandle or 0)).handle


@entry
def aclrtKernelArgsInitByUserMem(
    acl: Acl, funcHandle: int | None, argsHandle: int | None, userHostMem: int | None, actualArgsSize: int | None
) -> None:
    """Start a list in memory of the caller's own; the handle is the memory that it gave for it."""
    call = "aclrtKernelArgsInitByUserMem"
    need(call, funcHandle=funcHandle)
    if not argsHandle:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: argsHandle is NULL", ee="EE1017",
            params=(call, "argsHandle", "it is memory for the handle"), hint="see aclrtKernelArgsGetHandleMemSize",
        )
    need(call, userHostMem=userHostMem)
    if not actualArgsSize:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: actualArgsSize is 0", ee="EH0007",
            params=(call, 0, "actualArgsSize", "at least 1"), hint="see aclrtKernelArgsGetMemSize",
        )
    lists_of(acl).start_at(function_of(acl, funcHandle or 0), argsHandle, userHostMem or 0, actualArgsSize)


@entry
def aclrtKernelArgsGetHandleMemSize(acl: Acl, funcHandle: int | None, memSize: Out | None) -> None:
    """Return the bytes that a handle in the caller's memory takes."""
    need("aclrtKernelArgsGetHandleMemSize", funcHandle=funcHandle, memSize=memSize)
    assert memSize is not None
    memSize.value = handle_size(function_of(acl, funcHandle or 0))


@entry
def aclrtKernelArgsGetMemSize(
    acl: Acl, funcHandle: int | None, userArgsSize: int | None, actualArgsSize: Out | None
) -> None:
    """Return the bytes that a list with so many bytes of the caller's takes."""
    need("aclrtKernelArgsGetMemSize", funcHandle=funcHandle, actualArgsSize=actualArgsSize)
    assert actualArgsSize is not None
    actualArgsSize.value = block_size(function_of(acl, funcHandle or 0), userArgsSize or 0)


@entry
def aclrtKernelArgsAppend(
    acl: Acl, argsHandle: int | None, param: int | None, paramSize: int | None, paramHandle: Out | None
) -> None:
    """Copy a parameter into the list."""
    call = "aclrtKernelArgsAppend"
    if paramHandle is not None:
        paramHandle.value = None
    need(call, argsHandle=argsHandle, param=param, paramHandle=paramHandle)
    assert paramHandle is not None
    paramHandle.value = _list(acl, argsHandle).append(_data(call, param, paramSize))


@entry
def aclrtKernelArgsAppendPlaceHolder(acl: Acl, argsHandle: int | None, paramHandle: Out | None) -> None:
    """Reserve a pointer to data that will lie in the list itself."""
    if paramHandle is not None:
        paramHandle.value = None
    need("aclrtKernelArgsAppendPlaceHolder", argsHandle=argsHandle, paramHandle=paramHandle)
    assert paramHandle is not None
    paramHandle.value = _list(acl, argsHandle).append_placeholder()


@entry
def aclrtKernelArgsGetPlaceHolderBuffer(
    acl: Acl, argsHandle: int | None, paramHandle: int | None, dataSize: int | None, bufferAddr: Out | None
) -> None:
    """Return where the caller puts a placeholder's data."""
    call = "aclrtKernelArgsGetPlaceHolderBuffer"
    if bufferAddr is not None:
        bufferAddr.value = None
    need(call, argsHandle=argsHandle, paramHandle=paramHandle, bufferAddr=bufferAddr)
    if not dataSize:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: dataSize is 0", ee="EH0007",
            params=(call, 0, "dataSize", "at least 1"), hint="leave a placeholder without data alone",
        )
    assert bufferAddr is not None
    bufferAddr.value = _list(acl, argsHandle).placeholder_buffer(paramHandle or 0, dataSize)


@entry
def aclrtKernelArgsParaUpdate(
    acl: Acl, argsHandle: int | None, paramHandle: int | None, param: int | None, paramSize: int | None
) -> None:
    """Give a parameter another value of the same size; the list must be finalised again."""
    call = "aclrtKernelArgsParaUpdate"
    need(call, argsHandle=argsHandle, paramHandle=paramHandle, param=param)
    _list(acl, argsHandle).update(paramHandle or 0, _data(call, param, paramSize))


@entry
def aclrtKernelArgsFinalize(acl: Acl, argsHandle: int | None) -> None:
    """Complete a list; launches take complete ones only."""
    need("aclrtKernelArgsFinalize", argsHandle=argsHandle)
    _list(acl, argsHandle).finalise()
