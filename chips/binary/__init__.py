"""Device binaries: reading kernel ELFs as registration does, and finding them inside host libraries."""

from chips.binary.errors import BinaryError
from chips.binary.kernels import Kernel, KernelAttribute, Magic, MixType
from chips.binary.program import Program, read_program

__all__ = ["BinaryError", "Kernel", "KernelAttribute", "Magic", "MixType", "Program", "read_program"]
