"""Host libraries with device binaries inside, as AscendC's two ways of building leave them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from tests.tools.elf_writer import ElfWriter

_X86 = 62
_SHARED = 3
_MAGIC = 0x41415246
"""RT_DEV_BINARY_MAGIC_ELF_AIVEC."""


def ascendc_library(parts: Mapping[str, Sequence[tuple[int, bytes]]], name: str = "mykernels") -> bytes:
    """A library with binaries of (type, ELF) for each SoC; types: 0 mix, 1 aiv, 2 aic."""
    writer = ElfWriter(machine=_X86, type=_SHARED, flags=0)
    for soc, binaries in parts.items():
        content = struct.pack("<II", 1, len(binaries))
        for kind, data in binaries:
            content += struct.pack("<III", kind, len(data), len(data)) + data
        writer.section(f".ascend.kernel.{soc}.{name}", content)
    return writer.build()


def launch_library(*, linked: bytes = b"", relocatable: bytes = b"", magic: int = _MAGIC) -> bytes:
    """A library of a `<<<>>>` build with either binary, or both."""
    writer = ElfWriter(machine=_X86, type=_SHARED, flags=0)
    for content, section, record in (
        (linked, ".aicore_binary", ".aicoreBinRec"), (relocatable, "__aicore_rel_binary", "__aicore_rel_rec"),
    ):  # fmt: skip
        if content:
            writer.section(section, content)
            writer.section(record, struct.pack("<IIQQ", magic, 2, 0, len(content)))
    return writer.build()
