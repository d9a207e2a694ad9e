"""Chip plug-ins: what each Ascend SoC is, and how tasks become 64-byte queue entries on it. Pure data and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late
from npuhal.release import __version__ as __version__

if TYPE_CHECKING:
    from chips.catalog import Catalog, all_socs, find_chip
    from chips.chip import Chip, Limits, UnknownChip, UnknownProperty
    from chips.detect import VersionWord, chip_from_version
    from chips.schema import SchemaError
    from chips.verify.compare import ChipDiff, diff
else:
    __getattr__, __dir__ = late.names(__name__, {
        "chips.catalog": "Catalog all_socs find_chip",
        "chips.chip": "Chip Limits UnknownChip UnknownProperty",
        "chips.detect": "VersionWord chip_from_version",
        "chips.schema": "SchemaError",
        "chips.verify.compare": "ChipDiff diff",
    })  # fmt: skip

__all__ = [
    "Catalog",
    "Chip",
    "ChipDiff",
    "Limits",
    "SchemaError",
    "UnknownChip",
    "UnknownProperty",
    "VersionWord",
    "all_socs",
    "chip_from_version",
    "diff",
    "find_chip",
]
