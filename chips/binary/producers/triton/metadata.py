"""The metadata of a compiled kernel (`<kernel>.json`): which version wrote them, and what a launch needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from chips.binary.kernels import Magic
from chips.binary.producers.errors import BadMetadata
from chips.binary.producers.kinds import JsonKind, json_kind
from chips.binary.producers.triton.grid import GridRule
from chips.binary.producers.triton.locks import LockRule
from chips.binary.producers.triton.signature import Parameter, parameters_of
from chips.binary.producers.triton.transforms import FLAGS, rewritten_grid
from chips.binary.side_file import load_json
from npuhal.records import dataclass

__all__ = ["LayoutVersion", "Metadata", "read_metadata"]

_VECTOR: Final = "aiv"
_MODES: Final = (_VECTOR, "aic", "mix")
_TWICE: Final = 2
_LOW: Final = 0xFFFFFFFF


class LayoutVersion(IntEnum):
    """Versions of the launcher that differ in the block of arguments, the oldest first."""

    V32 = 32
    V35 = 35
    V36 = 36
    NEW = 100

    @property
    def text(self) -> str:
        """How people write it."""
        return _TEXTS[self]

    @classmethod
    def named(cls, text: str) -> LayoutVersion:
        """Return a version by its text; raises BadMetadata."""
        for version, each in _TEXTS.items():
            if each == text:
                return version
        raise BadMetadata("the layout", text, f"it is one of {', '.join(_TEXTS.values())}")


_TEXTS: Final = {
    LayoutVersion.V32: "3.2", LayoutVersion.V35: "3.5", LayoutVersion.V36: "3.6", LayoutVersion.NEW: "new",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What a launch needs to know of a kernel.

    `arch` is the SoC it was compiled for; `workspace_bytes` is for each logical block; `simt_bytes` is the unified
    buffer that a launch asks for on 950, 0 elsewhere; `tensor_kinds` says of each pointer whether the kernel reads (0),
    writes (1), or does both (2), as far as the compiler knew.
    """

    kernel: str
    mix_mode: str
    parallel_mode: str
    arch: str
    version: LayoutVersion
    workspace_bytes: int
    locks: LockRule
    grid: GridRule
    pure_simt: bool
    simt_bytes: int
    tensor_kinds: tuple[int, ...] = ()
    always_sync: bool = False
    """Whether the block starts with the address of the synchronisation registers on every chip (TileLang)."""
    parameters: tuple[Parameter, ...] | None = None
    """The signature, where metadata have it (TileLang)."""

    @property
    def vector(self) -> bool:
        """Whether it runs on vector cores alone, whose number then caps its blocks."""
        return self.mix_mode == _VECTOR

    @property
    def magic(self) -> Magic:
        """What the ELF is registered as; it does not say itself on which cores the kernel runs."""
        return Magic.ELF_AIVEC if self.vector else Magic.ELF

    @property
    def original_grid(self) -> bool:
        """Whether the block has the caller's grid too."""
        return self.grid.iat or self.grid.ptsm


def read_metadata(content: bytes | str | Mapping[str, Any], layout: str | None = None) -> Metadata:
    """Read metadata given as JSON or as its parsed fields.

    Args:
        layout: "3.2", "3.5", "3.6" or "new", where the fields would be taken for another version's.

    Raises:
        BadMetadata: a field is missing or has a value that is not allowed.
    """
    fields = _fields(content)
    if (kind := json_kind(fields)) not in (JsonKind.TRITON, JsonKind.TILELANG):
        rule = f"it is no {JsonKind.TRITON.value}"
        raise BadMetadata("the kind of the JSON file", kind.value, rule, "op library files: device.load(path)")
    tilelang = kind is JsonKind.TILELANG
    version = _version(fields, tilelang) if layout is None else LayoutVersion.named(layout)
    mode = _text(fields, "mix_mode")
    if mode not in _MODES:
        raise BadMetadata("mix_mode", mode, f"it is one of {', '.join(_MODES)}")
    simt = bool(fields.get("is_pure_simt", fields.get("force_simt_only", False)))
    parallel = str(fields.get("parallel_mode", "simd"))
    for_950 = bool(fields.get("compile_on_910_95"))
    target = fields.get("target")
    arch = target.get("arch") if isinstance(target, Mapping) else None
    return Metadata(
        kernel=_text(fields, "kernel_name"), mix_mode=mode, parallel_mode=parallel, arch=_soc(arch or ""),
        version=version, workspace_bytes=max(_number(fields, "workspace_size"), 0), locks=_locks(fields, mode, version),
        grid=_grid(fields, mode, version), pure_simt=simt,
        simt_bytes=_number(fields, "shared_mem_dynamic_size") if for_950 and (simt or "simt" in parallel) else 0,
        tensor_kinds=tuple(each for each in fields.get("tensor_kinds") or () if isinstance(each, int)),
        always_sync=tilelang, parameters=parameters_of(fields["param_info"]) if "param_info" in fields else None,
    )  # fmt: skip


def _soc(arch: str) -> str:
    """Return the SoC's name of today; 950 was called 910_95 before its release (utils.py of 3.2.0)."""
    return arch.replace("Ascend910_95", "Ascend950PR_95")


def _fields(content: bytes | str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(content, Mapping):
        return content
    try:
        fields = load_json(content)
    except ValueError as problem:
        raise BadMetadata("the JSON file", str(problem), "it is not JSON", "get the file again") from None
    if not isinstance(fields, dict):
        raise BadMetadata("the JSON file", type(fields).__name__, "metadata are an object", "get the file again")
    return fields


def _version(fields: Mapping[str, Any], tilelang: bool) -> LayoutVersion:
    if tilelang:  # its launcher always passes the print buffer
        return LayoutVersion.V36
    if any(flag in fields for flag in FLAGS) or fields.get("program_grid_transforms") is not None:
        return LayoutVersion.NEW
    stated = str(fields.get("triton_version", "")).split(".")
    if len(stated) > 1 and all(each.isdigit() for each in stated[:2]):
        number = int(stated[0]), int(stated[1])
        return LayoutVersion.V36 if number >= (3, 6) else LayoutVersion.V35 if number >= (3, 5) else LayoutVersion.V32
    if "is_pure_simt" in fields:
        return LayoutVersion.V36
    return LayoutVersion.V32 if " " in str(fields.get("name", "")) else LayoutVersion.V35


def _locks(fields: Mapping[str, Any], mode: str, version: LayoutVersion) -> LockRule:
    if version < LayoutVersion.V36:
        # Compilers write lock_init_val, which their launchers do not read: locks start at 0.
        return LockRule(words=max(_number(fields, "lock_num"), 0), initial=_number(fields, "lock_init_value"))
    packed = _number(fields, "sync_block_lock_layout")
    ordered, unordered = packed & _LOW, packed >> 32 & _LOW
    twice = unordered and mode == "mix" and fields.get("auto_tile_and_bind_subblock") is True
    initial = _number(fields, "lock_init_value" if "lock_init_value" in fields else "lock_init_val")
    return LockRule(ordered=ordered, unordered=unordered, factor=_TWICE if twice else 1, initial=initial)


def _grid(fields: Mapping[str, Any], mode: str, version: LayoutVersion) -> GridRule:
    if version < LayoutVersion.V36:
        return GridRule()
    factor, axis = _number(fields, "coalesce_factor", 1) or 1, _number(fields, "coalesce_axis", -1)
    if factor < 1 or axis not in (-1, 0, 1, 2):
        rule = "the factor is at least 1, the axis -1 to 2"
        raise BadMetadata("coalesce_factor and coalesce_axis", (factor, axis), rule)
    found = GridRule(
        factor=factor,
        axis=axis,
        ceil=fields.get("coalesce_grid_ceil_div") is True,
        may_cap=False if fields.get("has_auto_blockify_blacklist_op") is True else None,
    )
    return rewritten_grid(fields, mode, found) if version is LayoutVersion.NEW else found


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise BadMetadata(key, value, "it is text, and has to be there", "compile the kernel again")
    return value


def _number(fields: Mapping[str, Any], key: str, default: int = 0) -> int:
    value = fields.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadMetadata(key, value, "it is a whole number", "compile the kernel again")
    return value
