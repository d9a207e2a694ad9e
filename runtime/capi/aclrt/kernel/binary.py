"""Binaries and their functions by name (core_spec 12)."""

from __future__ import annotations

from pathlib import Path

from chips.binary import BinaryError, LoadOptions
from runtime import errors
from runtime.capi.aclrt.checks import context, feature, live, null, null_rt, refuse, written, zero
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I64, U32, U64, Address, Callback, Enum, Handle, Info, Size, Text
from runtime.capi.aclrt.layouts import CHOICE, LIST
from runtime.capi.aclrt.state import Acl
from runtime.core.process.context import Context
from runtime.launch import simt
from runtime.launch.binary import Binary, Function
from runtime.launch.kernel import Kernel
from runtime.launch.source import fault_of
from runtime.memory import caller

_LAZY_LOAD, _MAGIC, _CPU_KERNEL_MODE = 1, 2, 3
"""aclrtBinaryLoadOptionType."""
_ATTRIBUTES = ("type", "ratio", "schedule")
"""aclrtFuncAttribute, from 1 on."""


class _Description:
    """An image in memory, described for aclrtBinaryLoad; the data stay the caller's."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size


def _options(call: str, address: int) -> LoadOptions:
    """Read loader options; unknown types and wrong values are 107000 with EE1003."""
    if not address:
        return LoadOptions()
    first, count = LIST.unpack(caller.read(address, LIST.size))
    if not first:
        reason = f"{call}: options->options is NULL"
        raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", reason, ee="EE1001", params=(reason,))
    words: dict[int, int] = {}
    for kind, value, *_ in caller.rows(CHOICE, count, first):
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
    by_symbol = None if context is None else acl.function_symbols.find(handle, context.device)
    return by_symbol or function_of(acl, handle)


# -- loading -------------------------------------------------------------------------------------------------------


@entry(null("binPath", "binHandle"), waits_for_snapshot=True)
def aclrtBinaryLoadFromFile(acl: Acl, binPath: Text, options: Address, binHandle: Out[Handle]) -> None:
    """Read a kernel file, and load it on the current device if there is one; NULL options are none."""
    call = "aclrtBinaryLoadFromFile"
    chosen = _options(call, options)
    binHandle.value = 0  # what a load that fails leaves
    binHandle.value = _load(acl, binPath, chosen).handle


@entry(null("data", "binHandle"), zero("length", message="EE1003"), waits_for_snapshot=True)
def aclrtBinaryLoadFromData(
    acl: Acl, data: Address, length: Size, options: Address, binHandle: Out[Handle]
) -> None:
    """Read a kernel image in memory; it is copied."""
    call = "aclrtBinaryLoadFromData"
    chosen = _options(call, options)
    binHandle.value = 0  # what a load that fails leaves
    binHandle.value = _load(acl, caller.read(data, length), chosen).handle


def _load(acl: Acl, source: str | bytes, options: LoadOptions) -> Binary:
    name = Path(source).name if isinstance(source, str) else ""
    return Binary(acl.runtime, source, name=name, options=options, context=acl.runtime.find_context())


@entry(null("data"), failure=0)
def aclrtCreateBinary(acl: Acl, data: Address, dataLen: Size) -> Handle:
    """Describe a kernel image in memory; the data stay the caller's. NULL data gives NULL."""
    return acl.runtime.handles.add(_Description(data, dataLen))


@entry(null("binary"))
def aclrtDestroyBinary(acl: Acl, binary: Handle) -> None:
    """Forget a description."""
    acl.runtime.handles.get(binary, _Description)
    acl.runtime.handles.remove(binary)


@entry(null("binary", "binHandle"), context(), waits_for_snapshot=True)
def aclrtBinaryLoad(acl: Acl, binary: Handle, binHandle: Out[Handle]) -> None:
    """Read a described image."""
    described = acl.runtime.handles.get(binary, _Description)
    if not described.size:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "aclrtBinaryLoad: the description has the length 0", ee="EE1003",
            params=("aclrtBinaryLoad", 0, "dataLen", "more than 0"), hint="describe the bytes of an image",
        )
    binHandle.value = _load(acl, caller.read(described.address, described.size), LoadOptions()).handle


@entry(null("binHandle"), live("binHandle", Binary), waits_for_snapshot=True)
def aclrtBinaryUnLoad(acl: Acl, binHandle: Handle) -> None:
    """Unregister a binary, from any thread; launches that are queued still run."""
    binary_of(acl, binHandle).close()


# -- what is in a binary -------------------------------------------------------------------------------------------


@entry(null("binHandle", "kernelName", "funcHandle"), live("binHandle", Binary))
def aclrtBinaryGetFunction(acl: Acl, binHandle: Handle, kernelName: Text, funcHandle: Out[Handle]) -> None:
    """Return the function of a name; the current device gets the binary if it has not got it."""
    call = "aclrtBinaryGetFunction"
    binary = binary_of(acl, binHandle)
    funcHandle.value = binary.function(kernelName, _context(acl, call).device).handle


@entry(
    null("binHandle", "funcHandle"), live("binHandle", Binary),
    refuse("is_for_cpu(binHandle_)", "binHandle", "a binary for AI cores", "EE1017"),
)  # fmt: skip
def aclrtBinaryGetFunctionByEntry(
    acl: Acl, binHandle: Handle, funcEntry: U64, funcHandle: Out[Handle]
) -> None:
    """Return the function of a key (tiling key)."""
    call = "aclrtBinaryGetFunctionByEntry"
    binary = binary_of(acl, binHandle)
    funcHandle.value = binary.function(funcEntry, _context(acl, call).device).handle


@entry(
    null("handle", "funcName", "kernelName", "funcHandle"), live("handle", Binary), written("funcHandle"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtRegisterCpuFunc(
    acl: Acl, handle: Handle, funcName: Text, kernelName: Text, funcHandle: Out[Handle]
) -> None:
    """Return the function of an AICPU library; a kernel name that is known already keeps its function."""
    call = "aclrtRegisterCpuFunc"
    binary = binary_of(acl, handle)
    funcHandle.value = binary.cpu_function(funcName, kernelName, _context(acl, call).device).handle


@entry(
    null("binHandle", "name"), refuse("dptr is None and size is None", "dptr", "dptr or size", "EH0014"),
    live("binHandle", Binary),
    refuse("is_for_cpu(binHandle_)", "binHandle", "a binary for AI cores", "", code=207000), context(),
)  # fmt: skip
def aclrtBinaryGetGlobal(
    acl: Acl, binHandle: Handle, name: Text, dptr: Out[Address] | None, size: Out[Size] | None
) -> None:
    """Return where a global variable of the device code lies; 107042 without a message if there is none."""
    call = "aclrtBinaryGetGlobal"
    found = binary_of(acl, binHandle).load(_context(acl, call).device).global_variable(name)
    if dptr is not None:
        dptr.value = found.address
    if size is not None:
        size.value = found.size


@entry(null("binHandle"), live("binHandle", Binary), null_rt("binAddr"), null_rt("binSize"))
def aclrtBinaryGetDevAddress(acl: Acl, binHandle: Handle, binAddr: Out[Address], binSize: Out[Size]) -> None:
    """Return where the load image lies on the current device, and its bytes."""
    call = "aclrtBinaryGetDevAddress"
    program = binary_of(acl, binHandle).load(_context(acl, call).device)
    binAddr.value, binSize.value = program.address, program.load_size


@entry(null("binHandle", "callback"), live("binHandle", Binary))
def aclrtBinarySetExceptionCallback(acl: Acl, binHandle: Handle, callback: Callback, userData: Address) -> None:
    """Call `callback(info, userData)` when a kernel of the binary fails; the last one set counts, NULL calls none."""
    told = None if not callback else (lambda info: callback(info, userData))
    binary_of(acl, binHandle).on_exception(told)


# -- what a function is --------------------------------------------------------------------------------------------


@entry(
    null("funcHandle", "attrValue"), live("funcHandle", Function),
    refuse("not 1 <= attrType <= 3", "attrType", "[1, 3]", "EE1003"),
    feature("MODEL_ACL_GRAPH", "attrType == 2", message=""),
    refuse("attrType == 2 and funcHandle_.for_cpu", "funcHandle", "a kernel for AI cores", "EE1017"),
)  # fmt: skip
def aclrtGetFunctionAttribute(acl: Acl, funcHandle: Handle, attrType: Enum, attrValue: Out[I64]) -> None:
    """Return the kernel type, the ratio of cores (cube in the upper 16 bits, vector in the lower), or the schedule."""
    call = "aclrtGetFunctionAttribute"
    function = function_of(acl, funcHandle)
    number = attrType
    if not 1 <= number <= len(_ATTRIBUTES):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: there is no attribute {number}", ee="EE1003",
            params=(call, number, "attrType", f"[1, {len(_ATTRIBUTES)}]"), hint="1 type, 2 ratio, 3 schedule mode",
        )
    attrValue.value = function.attribute(_ATTRIBUTES[number - 1])


@entry(null("name"), live("funcHandle", Function), null_rt("funcHandle"))
def aclrtGetFunctionName(acl: Acl, funcHandle: Handle, maxLen: U32, name: Address) -> None:
    """Write a function's name with its NUL; nothing is cut."""
    call = "aclrtGetFunctionName"
    text = caller.octets(function_of(acl, funcHandle).name) + b"\0"
    if maxLen < len(text):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: maxLen is {maxLen}, the name takes {len(text)} bytes", ee="EE1003",
            params=(call, maxLen, "maxLen", f"at least {len(text)}"), hint="there must be space for the NUL",
        )
    caller.write(name, text, len(text))


@entry(
    null("funcHandle", "aicAddr", "aivAddr"), live("funcHandle", Function),
    refuse("funcHandle_.for_cpu", "funcHandle", "a kernel for AI cores", "EE1017"), context(),
)  # fmt: skip
def aclrtGetFunctionAddr(acl: Acl, funcHandle: Handle, aicAddr: Out[Address], aivAddr: Out[Address]) -> None:
    """Return the entries on the current device: for the cube cores, for the vector cores; 0 for one it has not."""
    call = "aclrtGetFunctionAddr"
    kernel = _kernel(acl, call, funcHandle)
    aicAddr.value, aivAddr.value = kernel.entries


@entry(
    feature("MODEL_ACL_GRAPH", message=""), live("funcHandle", Function), null_rt("funcHandle", "aicSize", "aivSize"),
    refuse("funcHandle_.for_cpu", "funcHandle", "a kernel for AI cores", "EE1017"),
)  # fmt: skip
def aclrtGetFunctionSize(acl: Acl, funcHandle: Handle, aicSize: Out[Size], aivSize: Out[Size]) -> None:
    """Return the bytes of code for the cube cores and for the vector cores."""
    call = "aclrtGetFunctionSize"
    kernel = _kernel(acl, call, funcHandle)
    aicSize.value, aivSize.value = kernel.code_sizes


@entry(live("funcHandle", Function), null_rt("funcHandle", "binHandle"))
def aclrtFunctionGetBinary(acl: Acl, funcHandle: Handle, binHandle: Out[Handle]) -> None:
    """Return the binary of a function."""
    binHandle.value = function_of(acl, funcHandle).binary.handle


@entry(null("func", "paramCount"), live("func", Function))
def aclrtFunctionGetParamCount(acl: Acl, func: Address, paramCount: Out[Size]) -> None:
    """Return how many parameters the compiler listed."""
    call = "aclrtFunctionGetParamCount"
    kernel = _kernel(acl, call, func)
    simt.check_parameters(call, kernel)
    paramCount.value = len(kernel.binary.described_by.parameters)


@entry(
    null("func"),
    refuse("paramOffset is None and paramSize is None", "paramOffset", "paramOffset or paramSize", "EH0014"),
    live("func", Function),
)  # fmt: skip
def aclrtFunctionGetParamInfo(
    acl: Acl, func: Address, paramIndex: Size, paramOffset: Out[Size] | None, paramSize: Out[Size] | None
) -> None:
    """Return offset and size of a parameter in the argument block; an output that is NULL is left out."""
    call = "aclrtFunctionGetParamInfo"
    kernel = _kernel(acl, call, func)
    simt.check_parameters(call, kernel)
    parameters = kernel.binary.described_by.parameters
    index = paramIndex
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


@entry(null("func", "dynamicUbufSize"), refuse("flags", "flags", "0"), live("func", Function))
def aclrtFunctionGetAvailDynUbufPerBlock(
    acl: Acl, func: Address, flags: U32, dynamicUbufSize: Out[Size]
) -> None:
    """Return the most dynamic unified buffer that a SIMT kernel can be launched with; 0 for others."""
    call = "aclrtFunctionGetAvailDynUbufPerBlock"
    dynamicUbufSize.value = _kernel(acl, call, func).dynamic_ub_limit


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


@entry(null("info", "devArgsPtr", "devArgsLen"))
def aclrtGetArgsFromExceptionInfo(
    acl: Acl, info: Info, devArgsPtr: Out[Address], devArgsLen: Out[U32]
) -> None:
    """Return where the arguments of the failed kernel lie on the device; zeros where they were the caller's own."""
    devArgsPtr.value, devArgsLen.value = info.arguments


@entry(null("info", "func"))
def aclrtGetFuncHandleFromExceptionInfo(acl: Acl, info: Info, func: Out[Handle]) -> None:
    """Return the function of the failed kernel; 107000 where it was none, or of no registered binary."""
    call = "aclrtGetFuncHandleFromExceptionInfo"
    owner = None if info.kernel is None else info.kernel.program.owner
    if owner is None or owner.closed:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: no function of a registered binary failed", ee="EE1001",
            hint="ask only about kernels",
        )
    func.value = owner.function_of(info.kernel).handle
