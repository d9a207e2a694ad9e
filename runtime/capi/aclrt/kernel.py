"""Binaries and their functions by name (core_spec 12)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from chips.binary import BinaryError, LoadOptions
from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need, need_rt
from runtime.capi.aclrt.layouts import CHOICE, LIST
from runtime.capi.aclrt.state import Acl
from runtime.core.callbacks.exceptions import ExceptionInfo
from runtime.core.process.context import Context
from runtime.launch.binary import Binary, Function
from runtime.launch.kernel import Kernel
from runtime.launch.source import fault_of

_LAZY_LOAD, _MAGIC, _CPU_KERNEL_MODE = 1, 2, 3
"""aclrtBinaryLoadOptionType."""
_ATTRIBUTES = ("type", "ratio", "schedule")
"""aclrtFuncAttribute, from 1 on."""


class _Description:
    """An image in memory, described for aclrtBinaryLoad; the data stay the caller's."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size


def _options(call: str, address: int | None) -> LoadOptions:
    """Read loader options; unknown types and wrong values are 107000 with EE1003."""
    if not address:
        return LoadOptions()
    first, count = LIST.unpack(ctypes.string_at(address, LIST.size))
    if count and not first:
        need_rt(call, **{"options->options": first})
    words: dict[int, int] = {}
    for number in range(count):
        kind, value, *_ = CHOICE.unpack(ctypes.string_at(first + number * CHOICE.size, CHOICE.size))
        if kind not in (_LAZY_LOAD, _MAGIC, _CPU_KERNEL_MODE):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: there is no loader option {kind}", ee="EE1003",
                params=(call, kind, "options", "[1, 3]"), hint="1 lazy load, 2 magic, 3 CPU kernel mode",
            )
        words[kind] = value
    try:
        return LoadOptions(
            lazy_load=words.get(_LAZY_LOAD, 0), magic=words.get(_MAGIC), cpu_kernel_mode=words.get(_CPU_KERNEL_MODE)
        )
    except BinaryError as error:
        raise fault_of(error, call) from error


def _context(acl: Acl, call: str) -> Context:
    """Return the thread's context; a thread without one is 107000 with EE1018 here."""
    context = acl.runtime.find_context()
    if context is None:
        why = "the thread has no context"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {why}", ee="EE1018", params=(call, why), hint="set a device first",
        )
    return context


def binary_of(acl: Acl, handle: int) -> Binary:
    """Return the binary of a handle; an unloaded or foreign one is 107017 with EE1017."""
    return acl.runtime.handles.get(handle, Binary)


def function_of(acl: Acl, handle: int) -> Function:
    """Return the function of a handle; one whose binary was unloaded, or a foreign one, is 107017 with EE1017."""
    return acl.runtime.handles.get(handle, Function)


def function_or_symbol(acl: Acl, handle: int) -> Function:
    """Return the function of a handle, or of the host address that stands for it (rtRegisterFuncSymbol)."""
    context = acl.runtime.find_context()
    by_symbol = None if context is None else acl.runtime.function_symbols.find(handle, context.device)
    return by_symbol or function_of(acl, handle)


# -- loading -------------------------------------------------------------------------------------------------------


@entry(waits_for_snapshot=True)
def aclrtBinaryLoadFromFile(acl: Acl, binPath: str | None, options: int | None, binHandle: Out | None) -> None:
    """Read a kernel file, and load it on the current device if there is one; NULL options are none."""
    call = "aclrtBinaryLoadFromFile"
    _clear(binHandle)
    if binPath is None:
        need(call, binPath=None)
    need(call, binHandle=binHandle)
    assert binPath is not None
    assert binHandle is not None
    binHandle.value = _load(acl, binPath, _options(call, options)).handle


@entry(waits_for_snapshot=True)
def aclrtBinaryLoadFromData(
    acl: Acl, data: int | None, length: int | None, options: int | None, binHandle: Out | None
) -> None:
    """Read a kernel image in memory; it is copied."""
    call = "aclrtBinaryLoadFromData"
    _clear(binHandle)
    need(call, data=data, binHandle=binHandle)
    assert data is not None
    assert binHandle is not None
    binHandle.value = _load(acl, ctypes.string_at(data, length or 0), _options(call, options)).handle


def _load(acl: Acl, source: str | bytes, options: LoadOptions) -> Binary:
    name = Path(source).name if isinstance(source, str) else ""
    return Binary(acl.runtime, source, name=name, options=options, context=acl.runtime.find_context())


@entry
def aclrtCreateBinary(acl: Acl, data: int | None, dataLen: int | None) -> int | None:
    """Describe a kernel image in memory; the data stay the caller's. NULL data gives NULL."""
    return acl.runtime.handles.add(_Description(data, dataLen or 0)) if data else None


@entry
def aclrtDestroyBinary(acl: Acl, binary: int | None) -> None:
    """Forget a description."""
    need("aclrtDestroyBinary", binary=binary)
    acl.runtime.handles.get(binary or 0, _Description)
    acl.runtime.handles.remove(binary or 0)


@entry(waits_for_snapshot=True)
def aclrtBinaryLoad(acl: Acl, binary: int | None, binHandle: Out | None) -> None:
    """Read a described image."""
    _clear(binHandle)
    need("aclrtBinaryLoad", binary=binary, binHandle=binHandle)
    described = acl.runtime.handles.get(binary or 0, _Description)
    assert binHandle is not None
    binHandle.value = _load(acl, ctypes.string_at(described.address, described.size), LoadOptions()).handle


@entry(waits_for_snapshot=True)
def aclrtBinaryUnLoad(acl: Acl, binHandle: int | None) -> None:
    """Unregister a binary; launches that are queued still run."""
    need("aclrtBinaryUnLoad", binHandle=binHandle)
    binary_of(acl, binHandle or 0).close()


# -- what is in a binary -------------------------------------------------------------------------------------------


@entry
def aclrtBinaryGetFunction(
    acl: Acl, binHandle: int | None, kernelName: str | None, funcHandle: Out | None
) -> None:
    """Return the function of a name; the current device gets the binary if it has not got it."""
    call = "aclrtBinaryGetFunction"
    _clear(funcHandle)
    need(call, binHandle=binHandle, kernelName=kernelName, funcHandle=funcHandle)
    assert kernelName is not None
    assert funcHandle is not None
    binary = binary_of(acl, binHandle or 0)
    funcHandle.value = binary.function(kernelName, _context(acl, call).device).handle


@entry
def aclrtBinaryGetFunctionByEntry(
    acl: Acl, binHandle: int | None, funcEntry: int | None, funcHandle: Out | None
) -> None:
    """Return the function of a key (tiling key)."""
    call = "aclrtBinaryGetFunctionByEntry"
    _clear(funcHandle)
    need(call, binHandle=binHandle, funcHandle=funcHandle)
    assert funcHandle is not None
    binary = binary_of(acl, binHandle or 0)
    funcHandle.value = binary.function(funcEntry or 0, _context(acl, call).device).handle


@entry
def aclrtRegisterCpuFunc(
    acl: Acl, handle: int | None, funcName: str | None, kernelName: str | None, funcHandle: Out | None
) -> None:
    """Return the function of an AICPU library; a kernel name that is known already keeps its function."""
    call = "aclrtRegisterCpuFunc"
    _clear(funcHandle)
    need(call, handle=handle, funcName=funcName, kernelName=kernelName, funcHandle=funcHandle)
    assert funcName is not None
    assert kernelName is not None
    assert funcHandle is not None
    binary = binary_of(acl, handle or 0)
    funcHandle.value = binary.cpu_function(funcName, kernelName, _context(acl, call).device).handle


@entry
def aclrtBinaryGetGlobal(
    acl: Acl, binHandle: int | None, name: str | None, dptr: Out | None, size: Out | None
) -> None:
    """Return where a global variable of the device code lies; 107042 without a message if there is none."""
    call = "aclrtBinaryGetGlobal"
    _clear(dptr)
    need(call, binHandle=binHandle, name=name)
    assert name is not None
    found = binary_of(acl, binHandle or 0).load(_context(acl, call).device).global_variable(name)
    if dptr is not None:
        dptr.value = found.address
    if size is not None:
        size.value = found.size


@entry
def aclrtBinaryGetDevAddress(acl: Acl, binHandle: int | None, binAddr: Out | None, binSize: Out | None) -> None:
    """Return where the load image lies on the current device, and its bytes."""
    call = "aclrtBinaryGetDevAddress"
    _clear(binAddr)
    need(call, binHandle=binHandle)
    need_rt(call, binAddr=binAddr, binSize=binSize)
    assert binAddr is not None
    assert binSize is not None
    program = binary_of(acl, binHandle or 0).load(_context(acl, call).device)
    binAddr.value, binSize.value = program.address, program.load_size


@entry
def aclrtBinarySetExceptionCallback(acl: Acl, binHandle: int | None, callback: Any, userData: int | None) -> None:
    """Call `callback(info, userData)` when a kernel of the binary fails; the last one set counts, NULL calls none."""
    need("aclrtBinarySetExceptionCallback", binHandle=binHandle)
    told = None if not callback else (lambda info: callback(info, userData or 0))
    binary_of(acl, binHandle or 0).on_exception(told)


# -- what a function is --------------------------------------------------------------------------------------------


@entry
def aclrtGetFunctionAttribute(
    acl: Acl, funcHandle: int | None, attrType: int | None, attrValue: Out | None
) -> None:
    """Return the kernel type, the ratio of cores (cube in the upper 16 bits, vector in the lower), or the schedule."""
    call = "aclrtGetFunctionAttribute"
    need(call, funcHandle=funcHandle, attrValue=attrValue)
    function = function_of(acl, funcHandle or 0)
    number = attrType or 0
    if not 1 <= number <= len(_ATTRIBUTES):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: there is no attribute {number}", ee="EE1003",
            params=(call, number, "attrType", f"[1, {len(_ATTRIBUTES)}]"), hint="1 type, 2 ratio, 3 schedule mode",
        )
    assert attrValue is not None
    attrValue.value = function.attribute(_ATTRIBUTES[number - 1])


@entry
def aclrtGetFunctionName(acl: Acl, funcHandle: int | None, maxLen: int | None, name: int | None) -> None:
    """Write a function's name, cut to `maxLen` bytes with its NUL."""
    call = "aclrtGetFunctionName"
    need(call, funcHandle=funcHandle, name=name)
    if not maxLen:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: maxLen is 0", ee="EH0007", params=(call, 0, "maxLen", "at least 1"),
            hint="there must be room for the NUL",
        )
    text = function_of(acl, funcHandle or 0).name.encode()[: maxLen - 1] + b"\0"
    ctypes.memmove(name or 0, text, len(text))


@entry
def aclrtGetFunctionAddr(acl: Acl, funcHandle: int | None, aicAddr: Out | None, aivAddr: Out | None) -> None:
    """Return the entries on the current device: for the cube cores, for the vector cores; 0 for one it has not."""
    call = "aclrtGetFunctionAddr"
    need(call, funcHandle=funcHandle, aicAddr=aicAddr, aivAddr=aivAddr)
    kernel = _kernel(acl, call, funcHandle or 0)
    assert aicAddr is not None
    assert aivAddr is not None
    aicAddr.value, aivAddr.value = kernel.entries


@entry
def aclrtGetFunctionSize(acl: Acl, funcHandle: int | None, aicSize: Out | None, aivSize: Out | None) -> None:
    """Return the bytes of code for the cube cores and for the vector cores."""
    call = "aclrtGetFunctionSize"
    need_rt(call, funcHandle=funcHandle, aicSize=aicSize, aivSize=aivSize)
    kernel = _kernel(acl, call, funcHandle or 0)
    assert aicSize is not None
    assert aivSize is not None
    aicSize.value, aivSize.value = kernel.code_sizes


@entry
def aclrtFunctionGetBinary(acl: Acl, funcHandle: int | None, binHandle: Out | None) -> None:
    """Return the binary of a function."""
    need_rt("aclrtFunctionGetBinary", funcHandle=funcHandle, binHandle=binHandle)
    assert binHandle is not None
    binHandle.value = function_of(acl, funcHandle or 0).binary.handle


@entry
def aclrtFunctionGetParamCount(acl: Acl, func: int | None, paramCount: Out | None) -> None:
    """Return how many parameters the compiler listed."""
    call = "aclrtFunctionGetParamCount"
    need(call, func=func, paramCount=paramCount)
    assert paramCount is not None
    paramCount.value = len(_kernel(acl, call, func or 0).binary.described_by.parameters)


@entry
def aclrtFunctionGetParamInfo(
    acl: Acl, func: int | None, paramIndex: int | None, paramOffset: Out | None, paramSize: Out | None
) -> None:
    """Return offset and size of a parameter in the argument block; an output that is NULL is left out."""
    call = "aclrtFunctionGetParamInfo"
    need(call, func=func)
    parameters = _kernel(acl, call, func or 0).binary.described_by.parameters
    index = paramIndex or 0
    if not 0 <= index < len(parameters):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: paramIndex is {index}, {len(parameters)} are listed", ee="EE1003",
            params=(call, index, "paramIndex", f"[0, {len(parameters)})"), hint="see aclrtFunctionGetParamCount",
        )
    found = next(each for each in parameters if each.ordinal == index)
    if paramOffset is not None:
        paramOffset.value = found.offset
    if paramSize is not None:
        paramSize.value = found.size


@entry
def aclrtFunctionGetAvailDynUbufPerBlock(
    acl: Acl, func: int | None, flags: int | None, dynamicUbufSize: Out | None
) -> None:
    """Return the most dynamic unified buffer that a SIMT kernel can be launched with; 0 for others."""
    call = "aclrtFunctionGetAvailDynUbufPerBlock"
    need(call, func=func, dynamicUbufSize=dynamicUbufSize)
    if flags:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flags is {flags}", ee="EE1003", params=(call, flags, "flags", 0),
            hint="no flag exists",
        )
    assert dynamicUbufSize is not None
    dynamicUbufSize.value = _kernel(acl, call, func or 0).dynamic_ub_limit


def _kernel(acl: Acl, call: str, handle: int) -> Kernel:
    """Return the kernel on the current device; one for the AICPU is 207000."""
    kernel = function_of(acl, handle).on(_context(acl, call).device)
    if not isinstance(kernel, Kernel):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {kernel.name} is a kernel for the AICPU",
            hint="only kernels for AI cores have this",
        )
    return kernel


# -- exceptions ----------------------------------------------------------------------------------------------------


@entry
def aclrtGetArgsFromExceptionInfo(
    acl: Acl, info: ExceptionInfo | None, devArgsPtr: Out | None, devArgsLen: Out | None
) -> None:
    """Return where the arguments of the failed kernel lie on the device; zeros where they were the caller's own."""
    need("aclrtGetArgsFromExceptionInfo", info=info, devArgsPtr=devArgsPtr, devArgsLen=devArgsLen)
    assert info is not None
    assert devArgsPtr is not None
    assert devArgsLen is not None
    devArgsPtr.value, devArgsLen.value = info.arguments


@entry
def aclrtGetFuncHandleFromExceptionInfo(acl: Acl, info: ExceptionInfo | None, func: Out | None) -> None:
    """Return the function of the failed kernel; 107000 where it was none, or of no registered binary."""
    call = "aclrtGetFuncHandleFromExceptionInfo"
    need(call, info=info, func=func)
    assert info is not None
    assert func is not None
    owner = None if info.kernel is None else info.kernel.program.owner
    if owner is None or owner.closed:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: no function of a registered binary failed", ee="EE1001",
            hint="ask only about kernels",
        )
    func.value = owner.function_of(info.kernel).handle


def _clear(output: Out | None) -> None:
    """Write NULL first, as the vendor's runtime does."""
    if output is not None:
        output.value = None
