"""Argument lists of kernels by name (core_spec 8.4)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import live, null, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kernel.argument_lists import ArgumentList, ArgumentLists, block_size, handle_size
from runtime.capi.aclrt.kernel.binary import function_of
from runtime.capi.aclrt.kinds import Address, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.launch.binary import Function
from runtime.memory import caller


def lists_of(acl: Acl) -> ArgumentLists:
    """Return the argument lists of the process."""
    return acl.argument_lists


def _list(acl: Acl, handle: int) -> ArgumentList:
    return lists_of(acl).find(handle)


def _data(call: str, param: int, size: int) -> bytes:
    """Return the bytes of a parameter; no bytes at all are 100000 with EH0007."""
    if not size:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: paramSize is 0", ee="EH0007",
            params=(call, 0, "paramSize", "at least 1"), hint="a parameter has at least one byte",
        )
    return caller.read(param, size)


@entry(null("funcHandle", "argsHandle"), live("funcHandle", Function))
def aclrtKernelArgsInit(acl: Acl, funcHandle: Handle, argsHandle: Out[Handle]) -> None:
    """Start the thread's list over, for a function; it is the same list each time."""
    argsHandle.value = lists_of(acl).start(function_of(acl, funcHandle)).handle


@entry(null("funcHandle", "argsHandle", "userHostMem"), zero("actualArgsSize"), live("funcHandle", Function))
def aclrtKernelArgsInitByUserMem(
    acl: Acl, funcHandle: Handle, argsHandle: Handle, userHostMem: Address, actualArgsSize: Size
) -> None:
    """Start a list in memory of the caller's own; the handle is the memory that it gave for it."""
    acl.argument_lists.start_at(function_of(acl, funcHandle), argsHandle, userHostMem, actualArgsSize)


@entry(null("funcHandle", "memSize"), live("funcHandle", Function))
def aclrtKernelArgsGetHandleMemSize(acl: Acl, funcHandle: Handle, memSize: Out[Size]) -> None:
    """Return the bytes that a handle in the caller's memory takes."""
    memSize.value = handle_size(function_of(acl, funcHandle))


@entry(null("funcHandle", "actualArgsSize"), live("funcHandle", Function))
def aclrtKernelArgsGetMemSize(
    acl: Acl, funcHandle: Handle, userArgsSize: Size, actualArgsSize: Out[Size]
) -> None:
    """Return the bytes that a list with so many bytes of the caller's takes."""
    actualArgsSize.value = block_size(function_of(acl, funcHandle), userArgsSize)


@entry(null("argsHandle", "param"), zero("paramSize"), null("paramHandle"))
def aclrtKernelArgsAppend(
    acl: Acl, argsHandle: Handle, param: Address, paramSize: Size, paramHandle: Out[Handle]
) -> None:
    """Copy a parameter into the list."""
    call = "aclrtKernelArgsAppend"
    paramHandle.value = _list(acl, argsHandle).append(_data(call, param, paramSize))


@entry(null("argsHandle", "paramHandle"))
def aclrtKernelArgsAppendPlaceHolder(acl: Acl, argsHandle: Handle, paramHandle: Out[Handle]) -> None:
    """Reserve a pointer to data that will lie in the list itself."""
    paramHandle.value = _list(acl, argsHandle).append_placeholder()


@entry(null("argsHandle", "paramHandle"), zero("dataSize"), null("bufferAddr"))
def aclrtKernelArgsGetPlaceHolderBuffer(
    acl: Acl, argsHandle: Handle, paramHandle: Handle, dataSize: Size, bufferAddr: Out[Address]
) -> None:
    """Return where the caller puts a placeholder's data."""
    bufferAddr.value = _list(acl, argsHandle).placeholder_buffer(paramHandle, dataSize)


@entry(null("argsHandle", "paramHandle", "param"), zero("paramSize"))
def aclrtKernelArgsParaUpdate(
    acl: Acl, argsHandle: Handle, paramHandle: Handle, param: Address, paramSize: Size
) -> None:
    """Give a parameter another value of the same size; the list must be finalised again."""
    call = "aclrtKernelArgsParaUpdate"
    _list(acl, argsHandle).update(paramHandle, _data(call, param, paramSize))


@entry(null("argsHandle"))
def aclrtKernelArgsFinalize(acl: Acl, argsHandle: Handle) -> None:
    """Complete a list; launches take complete ones only."""
    found = _list(acl, argsHandle)
    acl.runtime.current_context()
    found.finalise()
