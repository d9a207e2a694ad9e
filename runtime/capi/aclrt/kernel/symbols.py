"""Device variables and kernels by the address of their host-side stand-ins: where they lie, copies from and to them."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import context, null, null_rt, one_of, refuse, succeed
from runtime.capi.aclrt.entry import Out, entry, own_stream_of
from runtime.capi.aclrt.kernel.binary import binary_of
from runtime.capi.aclrt.kernel.stand_ins import Symbol
from runtime.capi.aclrt.kinds import U32, U64, Address, Enum, Handle, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.launch.copy.copy import copy_addresses, queue_copy
from runtime.launch.copy.direction import Direction


@entry(null("binHandle", "hostVar", "deviceVarName"))
def rtRegisterVariable(
    acl: Acl, binHandle: U64, hostVar: U64, deviceVarName: Text, size: U64, flags: U32, reserve: Address
) -> None:
    """Let a host address stand for a variable of a binary; one that stands for a variable already keeps it."""
    acl.symbols.add(hostVar, Symbol(binary_of(acl, binHandle), deviceVarName, size))


@entry(null_rt("binHandle", "symbol", "kernelName"))
def rtRegisterFuncSymbol(acl: Acl, binHandle: U64, symbol: U64, kernelName: Text, reserve: Address) -> None:
    """Let a host address stand for a kernel of a binary; one that stands for a kernel already keeps it."""
    acl.function_symbols.add(symbol, binary_of(acl, binHandle), kernelName)


@entry(null("symbol", "funcHandle"), context())
def aclrtGetFuncBySymbol(acl: Acl, symbol: Address, funcHandle: Out[Handle]) -> None:
    """Return the function of a kernel by its host-side stand-in; the current device gets the binary if need be."""
    call = "aclrtGetFuncBySymbol"
    found = acl.function_symbols.find(symbol, acl.runtime.current_context().device)
    if found is None:
        why = "no kernel is registered for it, or its binary was unloaded"
        raise errors.fault(
            "ACL_ERROR_RT_INVALID_DEVICE_FUNCTION", f"{call}: symbol {symbol:#x}: {why}", ee="EE1017",
            params=(call, "symbol", why), hint="pass the address of a host function that was compiled as __global__",
        )
    funcHandle.value = found.handle


@entry(null("symbol", "devPtr"), context())
def aclrtGetSymbolAddress(acl: Acl, symbol: Address, devPtr: Out[Address]) -> None:
    """Return where a variable lies on the device of the thread's context; its binary is loaded if need be."""
    call = "aclrtGetSymbolAddress"
    devPtr.value = acl.symbols.find(symbol, call).address(acl.runtime.current_context().device)


@entry(null("symbol", "size"), context())
def aclrtGetSymbolSize(acl: Acl, symbol: Address, size: Out[Size]) -> None:
    """Return the bytes of a variable."""
    call = "aclrtGetSymbolSize"
    acl.runtime.current_context()
    size.value = acl.symbols.find(symbol, call).size


@entry(
    succeed("not count"), null("symbol", "dst"), refuse("count > dstMax", "count", "at most dstMax", "EH0001"),
    one_of("kind", 2, 4), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyFromSymbol(
    acl: Acl, dst: Address, dstMax: Size, symbol: Address, count: Size, offset: Size, kind: Enum
) -> None:
    """Copy from a device variable to the host and wait."""
    call = "aclrtMemcpyFromSymbol"
    source, _ = _resolve(acl, call, symbol, count, offset)
    copy_addresses(acl.runtime.current_context(), dst, dstMax, source, count, call)


@entry(
    succeed("not count"), null("symbol", "dst"), refuse("count > dstMax", "count", "at most dstMax", "EH0001"),
    one_of("kind", 2, 4), waits_for_snapshot=True,
)  # fmt: skip
def aclrtMemcpyFromSymbolAsync(
    acl: Acl, dst: Address, dstMax: Size, symbol: Address, count: Size, offset: Size, kind: Enum, stream: Handle
) -> None:
    """Queue a copy from a device variable to the host."""
    call = "aclrtMemcpyFromSymbolAsync"
    source, _ = _resolve(acl, call, symbol, count, offset)
    where = own_stream_of(acl, call, stream)
    queue_copy(where, dst, dstMax, source, count, Direction.DEVICE_TO_HOST, call)


@entry(succeed("not count"), null("symbol", "src"), one_of("kind", 1, 4), waits_for_snapshot=True)
def aclrtMemcpyToSymbol(acl: Acl, symbol: Address, src: Address, count: Size, offset: Size, kind: Enum) -> None:
    """Copy from the host to a device variable and wait."""
    call = "aclrtMemcpyToSymbol"
    target, left = _resolve(acl, call, symbol, count, offset)
    copy_addresses(acl.runtime.current_context(), target, left, src, count, call)


@entry(succeed("not count"), null("symbol", "src"), one_of("kind", 1, 4), waits_for_snapshot=True)
def aclrtMemcpyToSymbolAsync(
    acl: Acl, symbol: Address, src: Address, count: Size, offset: Size, kind: Enum, stream: Handle
) -> None:
    """Queue a copy from the host to a device variable."""
    call = "aclrtMemcpyToSymbolAsync"
    target, left = _resolve(acl, call, symbol, count, offset)
    where = own_stream_of(acl, call, stream)
    queue_copy(where, target, left, src, count, Direction.HOST_TO_DEVICE, call)


def _resolve(acl: Acl, call: str, stand_in: int, count: int, offset: int) -> tuple[int, int]:
    """Return the address `offset` bytes into a variable, and how many bytes follow there."""
    symbol = acl.symbols.find(stand_in, call)
    address = symbol.address(acl.runtime.current_context().device)
    start = offset
    if start + count > symbol.size:
        raise _too_much(call, "offset+count", start + count, f"{symbol.name} has {symbol.size} bytes")
    return address + start, symbol.size - start


def _too_much(call: str, name: str, value: int, why: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is {value}: {why}", ee="EH0001", params=(name, value, why),
        hint="copy fewer bytes",
    )
