"""SIMT launches of STARS v2: a grid of blocks of threads, arguments by the kernel's own list (core_spec 8.2, 8.4)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from chips.tasks.kernel import SIMT_MEMORY_BYTES
from npuhal.records import replace
from runtime import errors
from runtime.launch.block import HostBlock

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel
    from runtime.launch.options import LaunchOptions

_IMPLICIT = struct.Struct("<Q3I3I")
"""What precedes the arguments: a counter for synchronising blocks, the threads of a block, the grid; z, y, x each."""

Dim3 = tuple[int, int, int]


def check_parameters(call: str, kernel: Kernel) -> None:
    """Raise where the compiler did not list the kernel's parameters (PARAM_SUMMARY).

    Raises:
        InvalidArgument 107000: it did not (EE1017).
    """
    if not kernel.binary.described_by.parameters:
        why = "its compiler listed no parameters"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: kernel {kernel.name}: {why}", ee="EE1017",
            params=(call, "func", why), hint="launch it with a packed block instead (aclrtLaunchKernelWithHostArgs)",
        )


def check_kernel(call: str, kernel: Kernel) -> None:
    """Raise where a kernel cannot be launched on a grid of threads.

    Raises:
        InvalidArgument 107000: it has no SIMT code, or no list of parameters (EE1017).
    """
    if not kernel.runs_simt:
        why = "it has no SIMT code"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: kernel {kernel.name}: {why}", ee="EE1017",
            params=(call, "func", why), hint="launch it with aclrtLaunchKernelWithHostArgs",
        )
    check_parameters(call, kernel)


def gather(call: str, kernel: Kernel, arguments: int) -> HostBlock:
    """Return the block of arguments to which an array of pointers points, in the order of the kernel's list.

    Raises:
        InvalidArgument 107000: the compiler listed no parameters, or the array is NULL (EE1017), or one of its
            pointers is (EE1004).
    """
    check_parameters(call, kernel)
    parameters = kernel.binary.described_by.parameters
    if not arguments:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: args is NULL, kernel {kernel.name} takes {len(parameters)}",
            ee="EE1017", params=(call, "args", f"the kernel takes {len(parameters)}"), hint="pass one pointer for each",
        )
    image = bytearray(max(each.offset + each.size for each in parameters))
    pointers = (ctypes.c_uint64 * len(parameters)).from_address(arguments)
    for each in parameters:
        if not pointers[each.ordinal]:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: args[{each.ordinal}] is NULL", ee="EE1004",
                params=(call, f"args[{each.ordinal}]"), hint="pass the address of the argument's value",
            )
        image[each.offset : each.offset + each.size] = ctypes.string_at(pointers[each.ordinal], each.size)
    return HostBlock(bytes(image))


def with_dynamic(call: str, options: LaunchOptions, size: int) -> LaunchOptions:
    """Return options with `size` bytes of dynamic unified buffer; more than there is is 107000 with EE1003."""
    if not size:
        return options
    if size > SIMT_MEMORY_BYTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: dynUbufSize is {size}", ee="EE1003",
            params=(call, size, "dynUbufSize", f"[0, {SIMT_MEMORY_BYTES}]"), hint="see dynamic_ub_limit of the kernel",
        )
    return replace(options, dynamic_ub_bytes=size)


def launch(
    call: str, kernel: Kernel, stream: Stream, grid: Dim3, threads: Dim3, block: HostBlock, options: LaunchOptions
) -> None:
    """Launch SIMT code on a grid of blocks.

    Raises:
        InvalidArgument 107000: a dimension is not positive (EE1003), or the kernel needs more of the unified buffer
            than there is (EE1017); see also `check_kernel`.
    """
    check_kernel(call, kernel)
    for name, dims in (("gridDim", grid), ("blockDim", threads)):
        _check_dims(call, name, dims)
    size = _IMPLICIT.size
    data = _IMPLICIT.pack(0, *reversed(threads), *reversed(grid)) + block.data
    pointers = tuple((slot + size, offset + size) for slot, offset in block.pointers)
    kernel.launch_simt(stream, prod(grid), HostBlock(data, pointers), size, options)


def _check_dims(call: str, name: str, dims: Sequence[int]) -> None:
    for axis, value in zip("xyz", dims, strict=True):
        if value < 1:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name}.{axis} is {value}", ee="EE1003",
                params=(call, value, f"{name}.{axis}", "at least 1"), hint="unused dimensions are 1",
            )
    if prod(dims) > _MOST:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} {tuple(dims)} has {prod(dims)} elements, at most {_MOST}",
            ee="EE1003", params=(call, prod(dims), name, f"[1, {_MOST}]"), hint="make it smaller",
        )


_MOST = 0xFFFF
"""Blocks of a grid, and threads of a block: both travel in 16 bits."""
