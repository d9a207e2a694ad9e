"""Structs and unions of the HAL headers by their C names, as ctypes classes built on first use.

These are the layouts of the driver's own header; `npuhal.layouts.layouts(version)` gives those of another version.
"""

from __future__ import annotations

from typing import Any

from npuhal import declarations
from npuhal.layouts import layouts


def __getattr__(name: str) -> Any:
    try:
        built = layouts().struct(name)
    except KeyError:
        raise AttributeError(f"no struct {name!r} in the HAL tables; npuhal.structs.names() lists them") from None
    globals()[name] = built
    return built


def __dir__() -> list[str]:
    return sorted(names())


def names() -> list[str]:
    """Return the name of every struct and union, tags and typedef names alike."""
    rows = list(declarations.all_rows("struct", "union"))
    return [row.name for row in rows] + [row.alias for row in rows if row.alias]
