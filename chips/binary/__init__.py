"""Device binaries: reading kernel ELFs as registration does, and finding them inside host libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from chips.binary.aicpu import AicpuKernel, AicpuProgram
    from chips.binary.errors import BinaryError
    from chips.binary.kernels import Kernel, KernelAttribute, Magic, MixType
    from chips.binary.program import Program, read_program
    from chips.binary.source import LoadOptions, load_data, load_embedded, load_file
else:
    __getattr__, __dir__ = late.names(__name__, {
        "chips.binary.aicpu": "AicpuKernel AicpuProgram",
        "chips.binary.errors": "BinaryError",
        "chips.binary.kernels": "Kernel KernelAttribute Magic MixType",
        "chips.binary.program": "Program read_program",
        "chips.binary.source": "LoadOptions load_data load_embedded load_file",
    })  # fmt: skip

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
