"""A device ELF with one kernel, made on the spot: what the bench launches where no kernel file is at hand."""

from __future__ import annotations

import hashlib
import struct

from chips.binary.writer import KernelText, write_elf

_VECTOR_KERNEL = 3


def minimal_kernel(name: str, arguments: int) -> bytes:
    """Return an ELF64 whose only kernel runs on vector cores and takes `arguments` arguments.

    Its 64 code bytes depend on the name, so that kernels can be told apart by them; they are no real instructions.
    """
    listed = b"".join(struct.pack(">HHQQ", 5, 2, 0x10002, 0xFFFFFFFFFFFFFFFF) for _ in range(arguments))
    meta = struct.pack("<HHI", 1, 4, _VECTOR_KERNEL) + struct.pack("<HH", 4, len(listed)) + listed
    return write_elf([KernelText(name, hashlib.sha512(name.encode()).digest(), meta)])
