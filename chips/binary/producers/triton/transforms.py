"""How the newest compilers rewrite the grid, as their metadata say it.

Four booleans have to be there: a file without them would select the older block of arguments without a word. Source:
`_program_grid_flags` of launcher.py, program_grid.py (version 2 of the contract).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from chips.binary.producers.errors import BadMetadata
from chips.binary.producers.triton.grid import GridRule
from npuhal.records import replace

__all__ = ["FLAGS", "rewritten_grid"]

FLAGS: Final = (
    "program_grid_mapping_applied", "row_coalescing_applied", "auto_blockify_enabled", "ptsm_cap_authorized",
)  # fmt: skip
_KEY: Final = "program_grid_transforms"
_VERSION: Final = 2
_CONTRACT: Final = {
    "extent_source": "runtime_original_grid", "hidden_extent_axes": [0, 1],
    "hidden_argument_order": ["originalGridX", "originalGridY"], "hidden_argument_types": ["i32", "i32"],
}  # fmt: skip
"""What says where the kernel finds the grid before it was rewritten; there is one way."""
_SEQUENCES: Final = {
    ((1, 16, False),): (True, False),
    ((1, 16, False), (0, 4, True)): (True, True),
    ((0, 64, True),): (False, True),
}
"""Rows of (axis, factor, blocks loop) that compilers make, and whether they are IAT and PTSM."""
_CURE: Final = "compile the kernel again, or launch it with the Triton that it is from"


def rewritten_grid(fields: Mapping[str, Any], mode: str, rule: GridRule) -> GridRule:
    """Return the rule of a kernel with what the newest compilers say of its grid.

    Raises:
        BadMetadata: one of the four booleans is missing, the transforms are none that launchers know, or two of the
            fields contradict each other.
    """
    for flag in FLAGS:
        if not isinstance(fields.get(flag), bool):
            raise BadMetadata(flag, fields.get(flag), "the newest metadata have it as a boolean", _CURE)
    mapped, coalesced, looped, persistent_allowed = (fields[flag] for flag in FLAGS)
    raw = fields.get(_KEY)
    _check(mapped == (raw is not None), _KEY, raw, "it is there exactly if program_grid_mapping_applied is true")
    iat, ptsm = _transforms(raw) if mapped else (False, False)
    _check(not (looped and (mapped or coalesced)), FLAGS[2], looped, "it excludes a rewritten or coalesced grid")
    _check(ptsm == persistent_allowed, FLAGS[3], persistent_allowed, "it is true exactly if blocks of an axis loop")
    _check(not ptsm or mode == "aiv", "mix_mode", mode, "blocks of an axis loop on vector cores only")
    plain = (rule.factor, rule.axis, rule.ceil) == (1, -1, False)
    if coalesced:
        _check(not mapped and rule.factor > 1 and rule.axis >= 0, FLAGS[1], True, "it needs a factor and an axis alone")
    else:
        _check(plain, "coalesce_factor", rule.factor, "without row_coalescing_applied nothing is coalesced")
    return replace(rule, iat=iat, ptsm=ptsm, may_cap=False if rule.may_cap is False else looped)


def _check(holds: bool, part: str, value: object, rule: str) -> None:
    if not holds:
        raise BadMetadata(part, value, rule, _CURE)


def _transforms(raw: Any) -> tuple[bool, bool]:
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError:
            raise BadMetadata(_KEY, raw, "it is JSON", _CURE) from None
    _check(isinstance(raw, Mapping) and raw.get("version") == _VERSION, _KEY, raw, f"version {_VERSION} is known")
    for key, expected in _CONTRACT.items():
        value = list(raw[key]) if isinstance(raw.get(key), tuple) else raw.get(key)
        _check(value == expected, f"{_KEY}.{key}", value, f"it is {expected}")
    rows = raw.get("transforms")
    _check(isinstance(rows, (list, tuple)), f"{_KEY}.transforms", rows, "it is a list")
    sequence = tuple(_transform(number, row) for number, row in enumerate(rows))
    _check(sequence in _SEQUENCES, f"{_KEY}.transforms", sequence, f"known are {list(_SEQUENCES)}")
    return _SEQUENCES[sequence]


def _transform(number: int, row: Any) -> tuple[int, int, bool]:
    part = f"{_KEY}.transforms[{number}]"
    _check(isinstance(row, Mapping) and row.get("kind") == "ceil_div", part, row, "its kind is ceil_div")
    _check(row.get("order") == number, f"{part}.order", row.get("order"), "transforms are in order")
    loops = row.get("persistent_coverage")
    _check(
        isinstance(loops, bool) and row.get("grid_stride_abi_verified") is loops,
        part,
        row,
        "persistent_coverage and grid_stride_abi_verified are booleans, and agree",
    )
    _check(all(type(row.get(key)) is int for key in ("axis", "factor")), part, row, "axis and factor are whole numbers")
    return row["axis"], row["factor"], row["persistent_coverage"]
