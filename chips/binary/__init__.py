"""Device binaries: reading kernel ELFs as registration does, and finding them inside host libraries."""

from chips.binary.aicpu import AicpuKernel, AicpuProgram
from chips.binary.errors import BinaryError
from chips.binary.kernels import Kernel, KernelAttribute, Magic, MixType
from chips.binary.program import Program, read_program
from chips.binary.source import LoadOptions, load_data, load_embedded, load_file

__all__ = [
    "AicpuKernel",
    "AicpuProgram",
    "BinaryError",
    "Kernel",
    "KernelAttribute",
    "LoadOptions",
    "Magic",
    "MixType",
    "Program",
    "load_data",
    "load_embedded",
    "load_file",
    "read_program",
]
