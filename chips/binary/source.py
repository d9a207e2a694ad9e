"""Where programs come from: a file, bytes in memory, or a host file with device binaries inside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chips.binary.aicpu import AicpuProgram, library_name, read_aicpu_program
from chips.binary.errors import BadLoadOption, BadOptionCombination, BinaryNotFound, EmptyBinary, UnreadableBinary
from chips.binary.fat import DeviceBinary, find_device_binaries
from chips.binary.kernels import Magic
from chips.binary.meta import DEFAULT_STACK_LIMIT
from chips.binary.program import Program, read_program
from chips.binary.side_file import side_file_of
from npuhal.files import read_bytes
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["LoadOptions", "load_data", "load_embedded", "load_file", "read_binary", "read_side"]

CPU_JSON_ONLY: Final = 0
CPU_LIBRARY_AND_JSON: Final = 1
CPU_DATA: Final = 2

_DATA_MAGICS: Final = (Magic.ELF, Magic.ELF_AICUBE, Magic.ELF_AIVEC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """Options of aclrtBinaryLoadFromFile and FromData (aclrtBinaryLoadOptionType): core_spec 12.6.

    ``lazy_load`` 1 postpones placing the program on a device to its first use; ``magic`` says what kernels without
    other information are (from data only, a file has its JSON); ``cpu_kernel_mode`` makes it an AICPU program: 0 the
    JSON file alone, 1 library and JSON file, 2 a library given as data. Raises BadLoadOption.
    """

    lazy_load: int = 0
    magic: int | None = None
    cpu_kernel_mode: int | None = None

    def __post_init__(self) -> None:
        if self.lazy_load not in (0, 1):
            raise BadLoadOption("LAZY_LOAD", self.lazy_load, "it is 0 or 1")
        if self.magic is not None and self.magic not in [magic.value for magic in _DATA_MAGICS]:
            known = ", ".join(f"{magic.name} {magic.value:#x}" for magic in _DATA_MAGICS)
            raise BadLoadOption("MAGIC", self.magic, f"it is one of {known}")
        if self.cpu_kernel_mode not in (None, CPU_JSON_ONLY, CPU_LIBRARY_AND_JSON, CPU_DATA):
            raise BadOptionCombination("CPU_KERNEL_MODE", self.cpu_kernel_mode, "it is 0, 1 or 2")


def load_file(
    path: str | os.PathLike[str],
    chip: Chip,
    options: LoadOptions | None = None,
    *,
    stack_limit: int = DEFAULT_STACK_LIMIT,
) -> Program | AicpuProgram:
    """Read a program from a file and the JSON file of the same stem. Raises BinaryError."""
    options = options or LoadOptions()
    if not os.fspath(path):
        raise BinaryNotFound(path, "the name is empty", "give the path of a kernel file")
    path = Path(path)
    if options.cpu_kernel_mode is not None:
        return _load_aicpu_file(path, options.cpu_kernel_mode)
    if options.magic is not None:
        cure = "leave it out; the JSON file beside the kernel says what it is"
        raise BadLoadOption("MAGIC", options.magic, "it is for binaries given as data", cure)
    return read_program(read_binary(path), chip, side_json=read_side(path), stack_limit=stack_limit)


def load_data(
    data: bytes | bytearray | memoryview,
    chip: Chip,
    options: LoadOptions | None = None,
    *,
    taken: frozenset[str] = frozenset(),
    stack_limit: int = DEFAULT_STACK_LIMIT,
) -> Program | AicpuProgram:
    """Read a program from bytes, which it keeps a view of. Raises BinaryError.

    ``taken`` are the names of AICPU libraries on the device, which a new one must not collide with.
    """
    options = options or LoadOptions()
    if not len(data):
        raise BadLoadOption("the length of the data", 0, "a binary has at least one byte", "give the whole file")
    if options.cpu_kernel_mode is None:
        return read_program(data, chip, magic=options.magic, stack_limit=stack_limit)
    if options.cpu_kernel_mode != CPU_DATA:
        rule = f"only {CPU_DATA} is for binaries given as data"
        raise BadOptionCombination("CPU_KERNEL_MODE", options.cpu_kernel_mode, rule, "load from a file")
    return read_aicpu_program(None, data, library_name(data, taken))


def load_embedded(
    data: bytes | bytearray | memoryview, chip: Chip, *, stack_limit: int = DEFAULT_STACK_LIMIT
) -> tuple[tuple[DeviceBinary, Program], ...]:
    """Read every device binary inside a host file, each with the magic its host code would register it with.

    No copy is made. Raises BinaryError for a host file that breaks off and for the first binary that is refused.
    """
    found = find_device_binaries(data)
    return tuple((each, read_program(each.data, chip, magic=each.magic, stack_limit=stack_limit)) for each in found)


def read_side(path: Path) -> bytes | None:
    """Return the content of the JSON file of a kernel file, None when it cannot be read."""
    try:
        return read_bytes(side_file_of(path))
    except (OSError, ValueError):
        return None


def _load_aicpu_file(path: Path, mode: int) -> AicpuProgram:
    if mode == CPU_DATA:
        rule = "mode 2 is for binaries given as data"
        raise BadOptionCombination("CPU_KERNEL_MODE", mode, rule, "use 0 (JSON file) or 1 (library too)")
    op_list = read_binary(side_file_of(path))
    library = read_binary(path) if mode == CPU_LIBRARY_AND_JSON else None
    return read_aicpu_program(op_list, library, path.name if library is not None else "")


def read_binary(path: Path) -> bytes:
    """Return the content of a file; BinaryNotFound and UnreadableBinary say why there is none."""
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        raise BinaryNotFound(path) from None
    except (OSError, ValueError) as problem:  # a ValueError is a name that no file can have
        rule = f"it cannot be read ({getattr(problem, 'strerror', None) or problem})"
        raise UnreadableBinary("the file", str(path), rule, "give a readable file") from None
    if not content:
        raise EmptyBinary("the file", str(path), "it is empty", "give a kernel file")
    return content
