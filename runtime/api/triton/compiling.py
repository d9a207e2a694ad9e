"""The last step of a compile where there is no device compiler: an ELF with the kernel's symbols and no instructions.

Its bytes of code are a digest of the kernel's IR, by which the fake tells kernels apart; they are no instructions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from chips import find_chip
from chips.binary.cores import flags_of
from chips.binary.writer import KernelText, write_elf

_MIX = "mix"
_SIMT_MARK = bytes.fromhex("0c000400" "03000000" "07000400" "00000000")
"""AIV_TYPE_FLAG 3 (SIMT) and COMPILER_ALLOC_UB_SIZE 0 (TLV 12 and 7 of a kernel's meta data)."""


def stand_in_stages(backend: type) -> Callable[..., None]:
    """Return `add_stages(self, stages, options)` for the compiler's backend class, whose last stage needs no compiler.

    Of the backend's module the functions are used that read a kernel's name and kind out of IR.
    """
    original: Any = backend.add_stages  # type: ignore[attr-defined]
    readers: Mapping[str, Any] = original.__globals__

    def add_stages(self: Any, stages: dict[str, Any], options: Any, *more: Any) -> None:
        original(self, stages, options, *more)
        if "npubin" in stages:
            read = readers["_parse_linalg_metadata" if "ttadapter" in stages else "_parse_ttir_metadata"]
            simt = "ttadapter" not in stages
            stages["npubin"] = lambda source, metadata: _stand_in(read, str(source), metadata, simt)

    return add_stages


def _stand_in(read: Callable[..., Any], text: str, metadata: dict[str, Any], simt: bool) -> bytes:
    """Return the ELF of a kernel and fill in what the compiler would say of it."""
    read(text, metadata)
    name, mix = metadata["kernel_name"], metadata["mix_mode"]
    symbols = (f"{name}_mix_aic", f"{name}_mix_aiv") if mix == _MIX else (name,)
    meta = _SIMT_MARK if simt or "simt" in str(metadata.get("parallel_mode", "")) else b""
    digest = hashlib.sha512(text.encode()).digest()
    kernels = [KernelText(symbol, hashlib.sha512(digest + symbol.encode()).digest(), meta) for symbol in symbols]
    return write_elf(kernels, flags=flags_of(find_chip(metadata["target"].arch)))
