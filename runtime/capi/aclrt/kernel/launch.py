"""Launches by name (core_spec 8)."""

from __future__ import annotations

from chips.binary import AicpuKernel, MixType
from npuhal.late import logger
from runtime import errors
from runtime.capi.aclrt.checks import context, live, null, own, reserved, zero
from runtime.capi.aclrt.entry import entry, need, need_rt, own_stream_of, stream_of
from runtime.capi.aclrt.kernel.arguments import lists_of
from runtime.capi.aclrt.kernel.binary import function_of, function_or_symbol
from runtime.capi.aclrt.kinds import U32, Address, Dim3, Handle, Size
from runtime.capi.aclrt.layouts import CHOICE, LIST, PLACEHOLDER
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.errors.misuse import advise
from runtime.launch import simt
from runtime.launch.aicpu.cpu import CpuKernel
from runtime.launch.binary import Function
from runtime.launch.block import HostBlock
from runtime.launch.kernel import Kernel
from runtime.launch.options import PLAIN, LaunchOptions, check_engine, from_attributes
from runtime.memory import caller

_LOG = logger(__name__)
_BLOCK_MASK = 0xFFFF


def launch_options(acl: Acl, call: str, function: Function, address: int) -> LaunchOptions:
    """Return the options in an aclrtLaunchKernelCfg at an address; none for NULL."""
    options = PLAIN
    if address:
        first, count = LIST.unpack(caller.read(address, LIST.size))
        need_rt(call, **{"cfg->attrs": first})
        options = from_attributes(call, [row[:3] for row in caller.rows(CHOICE, count, first)])
    mix = MixType.NONE if isinstance(function.entry, AicpuKernel) else function.entry.mix
    return check_engine(call, acl.runtime.machine.chip, mix, options)


def _blocks(call: str, function: Function, count: int) -> int:
    """Return the number of blocks as the task carries it: the low 16 bits. 0 is 107000 with EE1003."""
    if not count:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: numBlocks is 0, kernel {function.name} cannot be launched",
            ee="EE1003", params=(call, 0, "numBlocks", "at least 1"), hint="launch at least one block",
        )
    if count > _BLOCK_MASK:
        advise(_LOG, f"{call}: {count} blocks of kernel {function.name}: the hardware sees {count & _BLOCK_MASK}")
    return count & _BLOCK_MASK


def _placeholders(call: str, address: int, count: int) -> tuple[tuple[int, int], ...]:
    if not count:
        return ()
    need_rt(call, placeHolderArray=address)
    return tuple((pointer, data) for pointer, data in caller.rows(PLACEHOLDER, count, address))


# -- arguments on the device ---------------------------------------------------------------------------------------


@entry(
    null("funcHandle", "argsData"), live("funcHandle", Function), live("stream", Stream),
    zero("numBlocks", message="EE1003"), zero("argsSize", message="EE1003"), context(), own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtLaunchKernel(
    acl: Acl, funcHandle: Handle, numBlocks: U32, argsData: Address, argsSize: Size,
    stream: Handle,
) -> None:
    """Launch with arguments that lie on the device."""
    _at("aclrtLaunchKernel", acl, funcHandle, numBlocks, argsData, argsSize, 0, stream)


@entry(
    null("funcHandle", "argsData"), live("funcHandle", Function), live("stream", Stream),
    zero("argsSize", message="EE1003"), zero("numBlocks", message="EE1003"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtLaunchKernelV2(
    acl: Acl, funcHandle: Handle, numBlocks: U32, argsData: Address, argsSize: Size,
    cfg: Address, stream: Handle,
) -> None:
    """Launch with arguments that lie on the device, and attributes."""
    _at("aclrtLaunchKernelV2", acl, funcHandle, numBlocks, argsData, argsSize, cfg, stream)


def _at(
    call: str, acl: Acl, funcHandle: int, numBlocks: int, argsData: int, argsSize: int,
    cfg: int, stream: int,
) -> None:
    need(call, funcHandle=funcHandle, argsData=argsData)
    function = function_of(acl, funcHandle)
    blocks, options = _blocks(call, function, numBlocks), launch_options(acl, call, function, cfg)
    if not argsSize:
        HostBlock(b"").check(call)
    target = own_stream_of(acl, call, stream)
    function.on(target.device).launch_at(target, blocks, argsData, argsSize, options)


# -- arguments in host memory --------------------------------------------------------------------------------------


@entry(
    null("funcHandle"), zero("numBlocks"), null("argsHandle"), reserved("reserve"), live("funcHandle", Function),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtLaunchKernelWithConfig(
    acl: Acl, funcHandle: Handle, numBlocks: U32, stream: Handle, cfg: Address,
    argsHandle: Handle, reserve: Address,
) -> None:
    """Launch with an argument list; its contents are copied, so that it can be changed and launched with again."""
    call = "aclrtLaunchKernelWithConfig"
    function = function_of(acl, funcHandle)
    blocks, options = _blocks(call, function, numBlocks), launch_options(acl, call, function, cfg)
    described = lists_of(acl).find(argsHandle)
    if stream:
        stream_of(acl, stream)
    described.check_complete()
    target = own_stream_of(acl, call, stream)
    block = described.block(target.context)
    function.on(target.device).launch_block(target, blocks, block, options)


@entry(
    null("funcHandle", "hostArgs"), live("funcHandle", Function), live("stream", Stream),
    zero("argsSize", message="EE1003"), waits_for_snapshot=True,
)  # fmt: skip
def aclrtLaunchKernelWithHostArgs(
    acl: Acl, funcHandle: Handle, numBlocks: U32, stream: Handle, cfg: Address,
    hostArgs: Address, argsSize: Size, placeHolderArray: Address, placeHolderNum: Size,
) -> None:
    """Launch with a packed block; it is copied, and its placeholders point into the copy."""
    call = "aclrtLaunchKernelWithHostArgs"
    function = function_of(acl, funcHandle)
    blocks, options = _blocks(call, function, numBlocks), launch_options(acl, call, function, cfg)
    block = _host_block(call, hostArgs, argsSize, placeHolderArray, placeHolderNum)
    target = own_stream_of(acl, call, stream)
    function.on(target.device).launch_block(target, blocks, block, options)


def _host_block(
    call: str, address: int, size: int, placeholders: int, count: int
) -> HostBlock:
    data = caller.read(address, size)
    return HostBlock(data, _placeholders(call, placeholders, count)).check(call)


@entry(null("func"), zero("numBlocks"), live("stream", Stream), context(), waits_for_snapshot=True)
def aclrtLaunchKernelWithArgsArray(
    acl: Acl, func: Address, numBlocks: U32, stream: Handle, cfg: Address, args: Address
) -> None:
    """Launch with pointers to the values of the parameters, in the order in which the compiler listed them."""
    call = "aclrtLaunchKernelWithArgsArray"
    function = function_or_symbol(acl, func)
    kernel = _core_kernel(acl, call, function)
    block = simt.gather(call, kernel, args)
    blocks, options = _blocks(call, function, numBlocks), launch_options(acl, call, function, cfg)
    kernel.launch_block(own_stream_of(acl, call, stream), blocks, block, options)


# -- SIMT ----------------------------------------------------------------------------------------------------------


@entry(null("func"), context(), waits_for_snapshot=True)
def aclrtLaunchSIMTKernelWithArgsArray(
    acl: Acl, func: Address, gridDim: Dim3, blockDim: Dim3, dynUbufSize: Size, stream: Handle,
    cfg: Address, args: Address,
) -> None:
    """Launch SIMT code with pointers to the values of its parameters; the dimensions are (x, y, z)."""
    call = "aclrtLaunchSIMTKernelWithArgsArray"
    kernel, options = _simt(acl, call, func, stream, cfg, dynUbufSize)
    block = simt.gather(call, kernel, args)
    simt.launch(call, kernel, own_stream_of(acl, call, stream), gridDim, blockDim, block, options)


@entry(
    null("func", "hostArgs"), zero("argsSize"), live("stream", Stream), context(), waits_for_snapshot=True,
)  # fmt: skip
def aclrtLaunchSIMTKernelWithHostArgs(
    acl: Acl, func: Address, gridDim: Dim3, blockDim: Dim3, dynUbufSize: Size, stream: Handle,
    cfg: Address, hostArgs: Address, argsSize: Size, placeHolderArray: Address,
    placeHolderNum: Size,
) -> None:
    """Launch SIMT code with a packed block; the dimensions are (x, y, z)."""
    call = "aclrtLaunchSIMTKernelWithHostArgs"
    kernel, options = _simt(acl, call, func, stream, cfg, dynUbufSize)
    block = _host_block(call, hostArgs, argsSize, placeHolderArray, placeHolderNum)
    simt.launch(call, kernel, own_stream_of(acl, call, stream), gridDim, blockDim, block, options)


def _simt(acl: Acl, call: str, func: int, stream: int, cfg: int, dynamic: int) -> tuple[Kernel, LaunchOptions]:
    """Return a kernel with SIMT code, which on chips without SIMT none is, and the options of its launch."""
    function = function_or_symbol(acl, func)
    stream_of(acl, stream)
    kernel = _core_kernel(acl, call, function)
    simt.check_kernel(call, kernel)
    return kernel, simt.with_dynamic(call, launch_options(acl, call, function, cfg), dynamic)


def _core_kernel(acl: Acl, call: str, function: Function) -> Kernel:
    """Return the kernel on the device of the thread's context; one for the AICPU is 207000."""
    kernel = function.on(acl.runtime.current_context().device)
    if isinstance(kernel, CpuKernel):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: {kernel.name} is a kernel for the AICPU",
            hint="use aclrtLaunchKernelWithHostArgs",
        )
    return kernel
