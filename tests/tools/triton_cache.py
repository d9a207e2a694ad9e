"""Cache folders as Triton-Ascend leaves them, for tests: own kernels, ELFs that stand in for compiled ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.tools.elf_writer import ElfWriter, u32

ARCHS = {"ascend910b1": "Ascend910B3", "ascend950pr_9599": "Ascend950PR_9579"}
"""What a kernel for the family of a chip of the tests is compiled for."""
FLAGS_OF_950 = 0x990000
SIMT = u32(12, 3) + u32(7, 0)
ADD = ("*fp32", "*fp32", "*fp32", "i32")
_MLIR = {"fp16": "f16", "fp32": "f32", "fp64": "f64"}
OLD = {"force_simt_only": False}
V36 = {
    "triton_version": "3.6.0", "is_pure_simt": False, "shared_mem_dynamic_size": 221184,
    "auto_tile_and_bind_subblock": True, "coalesce_factor": 1, "coalesce_axis": -1, "coalesce_grid_ceil_div": False,
    "has_auto_blockify_blacklist_op": False,
}  # fmt: skip
NEW = {
    **V36, "program_grid_mapping_applied": False, "row_coalescing_applied": False, "auto_blockify_enabled": False,
    "ptsm_cap_authorized": False,
}  # fmt: skip
_VERSIONS: dict[str, dict[str, Any]] = {"3.2": OLD, "3.5": {**OLD, "triton_version": "3.5.0"}, "3.6": V36, "new": NEW}


def transforms(*rows: tuple[int, int, bool]) -> dict[str, Any]:
    """`program_grid_transforms` of rows of (axis, factor, blocks loop)."""
    return {
        "version": 2, "extent_source": "runtime_original_grid", "hidden_extent_axes": [0, 1],
        "hidden_argument_order": ["originalGridX", "originalGridY"], "hidden_argument_types": ["i32", "i32"],
        "transforms": [
            {"order": number, "kind": "ceil_div", "axis": axis, "factor": factor, "persistent_coverage": loops,
             "grid_stride_abi_verified": loops}
            for number, (axis, factor, loops) in enumerate(rows)
        ],
    }  # fmt: skip


def metadata(kernel: str, version: str = "3.2", *, mix: str = "aiv", arch: str = "Ascend910B3", **more: Any) -> dict:
    """The content of a kernel's JSON file."""
    fields = {
        "target": {"backend": "npu", "arch": arch, "warp_size": 0}, "debug": False, "kernel_name": kernel,
        "name": f"{kernel} {mix}" if version == "3.2" else kernel, "mix_mode": mix, "parallel_mode": "simd",
        "shared": 1, "compile_on_910_95": arch.startswith("Ascend950"), "tensor_kinds": [0, 0, 1],
        **_VERSIONS[version], **more,
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value is not ...}


def ir(kernel: str, types: Sequence[str]) -> str:
    """The text of a `.ttir`."""
    rows = []
    for number, kind in enumerate(types):
        element = _MLIR.get(kind.lstrip("*"), kind.lstrip("*"))
        text = f"!tt.ptr<{element}> {{tt.divisibility = 16 : i32}}" if kind.startswith("*") else element
        rows.append(f'%arg{number}: {text} loc("/k, (1)/k.py":5:0)')
    return f"module {{\n  tt.func public @{kernel}({', '.join(rows)}) attributes {{noinline = false}} {{\n  }}\n}}\n"


def elf(*symbols: str, flags: int = 0, meta: bytes | None = None) -> bytes:
    """A device ELF with such functions, of 64 bytes of code each."""
    writer = ElfWriter(flags=flags)
    for symbol in symbols:
        writer.kernel(symbol, meta, size=64)
    return writer.build()


def cache_folder(
    root: Path, kernel: str = "add_kernel", version: str = "3.2", types: Sequence[str] = ADD, *,
    mix: str = "aiv", arch: str = "Ascend910B3", symbols: Sequence[str] | None = None, with_ir: bool = True,
    meta: bytes | None = None, **more: Any,
) -> Path:  # fmt: skip
    """Write a folder and return its path."""
    folder = root / f"{kernel}_{version}"
    folder.mkdir(parents=True, exist_ok=True)
    halves = (f"{kernel}_mix_aic", f"{kernel}_mix_aiv") if mix == "mix" else (kernel,)
    flags = FLAGS_OF_950 if arch.startswith("Ascend950") else 0x930000
    (folder / f"{kernel}.npubin").write_bytes(elf(*(symbols or halves), flags=flags, meta=meta))
    (folder / f"{kernel}.json").write_text(json.dumps(metadata(kernel, version, mix=mix, arch=arch, **more)))
    if with_ir:
        (folder / f"{kernel}.ttir").write_text(ir(kernel, types))
    stale = {name: f"/home/user/.triton/cache/X/{name}" for name in (f"{kernel}.npubin", f"{kernel}.json")}
    (folder / f"__grp__{kernel}.json").write_text(json.dumps({"child_paths": stale}))
    return folder
