"""Reading binaries for the runtime: what is found wrong becomes the fault that the C API answers (core_spec 12.6)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips.binary import AicpuKernel, AicpuProgram, BinaryError, LoadOptions, Program, load_data, load_file
from chips.binary.kernels import Kernel
from npuhal.records import replace
from runtime import errors
from runtime.errors.arguments import check_instance, whole

if TYPE_CHECKING:
    from chips import Chip

Content = Program | AicpuProgram
"""What a binary holds: kernels for AI cores, or for the AICPU."""
Entry = Kernel | AicpuKernel


def read(
    source: str | Path | bytes | Content, chip: Chip, name: str, options: LoadOptions | None = None,
    taken: frozenset[str] = frozenset(),
) -> Content:
    """Return the content of a file or of bytes; what was read before is returned as it is.

    Args:
        taken: names of AICPU libraries that are in use; one that is given as data gets another.

    Raises:
        InvalidArgument 107000: the file is missing (EE1012), a directory (EE1013), empty (EE1001), no sound kernel file
            (EE1014), or the options do not fit it (EE1003, EE1017).
    """
    try:
        if isinstance(source, (str, Path)):
            return load_file(source, chip, options)
        if isinstance(source, (Program, AicpuProgram)):
            return source
        check_instance("load", "source", source, (bytes, bytearray, memoryview), "pass a path, or a file's bytes")
        return load_data(source, chip, options, taken=taken)
    except BinaryError as error:
        raise fault_of(error, name) from error


def libraries(programs: Iterable[Any]) -> frozenset[str]:
    """Return the names of the AICPU libraries among programs."""
    return frozenset(each.binary.library_name for each in programs if isinstance(each.binary, AicpuProgram))


def find(content: Content, which: str | int, name: str) -> Entry:
    """Return a kernel by name, or by key (function entry).

    Raises:
        InvalidArgument 107000: there is none of that name (EE1001) or key (EE1011).
    """
    try:
        if isinstance(which, str):
            return content.kernel(which)
        if isinstance(content, Program):
            return content.kernel_by_key(whole(f"kernel of {name}", "which (a name or a tiling key)", which))
    except BinaryError as error:
        raise fault_of(error, name) from error
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{name}: kernels for the AICPU have no function entry ({which} was asked for)",
        ee="EE1011", hint="find it by name",
    )


def cpu_function(content: Content, kernel_name: str, function_name: str) -> AicpuKernel:
    """Return the AICPU kernel of a name; one that no list names is made, as a function of the binary's own library.

    Raises:
        InvalidArgument 107000: the binary is none for the AICPU (EE1003).
    """
    if not isinstance(content, AicpuProgram):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "functions can only be registered in binaries for the AICPU", ee="EE1003",
            hint="load the library with CPU_KERNEL_MODE",
        )
    listed = content.kernels.get(kernel_name)
    if listed is not None:
        return listed if listed.so_name else replace(listed, so_name=content.library_name)
    from chips.binary.aicpu import AicpuKind

    return AicpuKernel(kernel_name, function_name, content.library_name, AicpuKind.CUSTOM)


def fault_of(error: BinaryError, name: str) -> errors.RuntimeFault:
    """Turn a finding in a binary into the runtime's fault."""
    text = str(error).removesuffix(f"; {error.cure}")
    return errors.fault(error.code, f"{name}: {text}", ee=error.message_id, hint=error.hint, layer="launch")
