"""Telling apart the JSON files that lie beside kernels: each compiler writes its own."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

__all__ = ["JsonKind", "json_kind"]


class JsonKind(Enum):
    """What a JSON file is; the value is how messages call it."""

    OPERATOR = "side file of an op library"
    TRITON = "metadata of Triton-Ascend"
    TRITON_GROUP = "file list of a Triton cache folder"
    TILELANG = "metadata of TileLang"
    AICPU = "list of AICPU ops"
    UNKNOWN = "unknown"


_OPERATOR_KEYS: Final = frozenset({"magic", "binFileName", "kernelList", "opParaSize", "intercoreSync"})
_BACKENDS: Final = frozenset({"npu"})


def json_kind(fields: Any) -> JsonKind:
    """Return which compiler wrote parsed JSON.

    A key that only an op library writes decides first: such a file loads as it always did, whatever else is in it.
    """
    if not isinstance(fields, Mapping):
        return JsonKind.UNKNOWN
    if not _OPERATOR_KEYS.isdisjoint(fields):
        return JsonKind.OPERATOR
    if isinstance(fields.get("child_paths"), Mapping):
        return JsonKind.TRITON_GROUP
    if isinstance(fields.get("mix_mode"), str):
        return JsonKind.TILELANG if _is_tilelang(fields) else JsonKind.TRITON
    target = fields.get("target")
    if isinstance(target, Mapping) and target.get("backend") in _BACKENDS:
        return JsonKind.TRITON
    if fields and all(isinstance(each, Mapping) and "opInfo" in each for each in fields.values()):
        return JsonKind.AICPU
    return JsonKind.UNKNOWN


def _is_tilelang(fields: Mapping[str, Any]) -> bool:
    return "target" not in fields and not {"gridfunc", "symbolic", "param_info"}.isdisjoint(fields)
