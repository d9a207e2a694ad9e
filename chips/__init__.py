"""Chip plug-ins: what each Ascend SoC is, and how tasks become 64-byte queue entries on it. Pure data and functions."""

from __future__ import annotations

from chips.catalog import Catalog, all_socs, find_chip
from chips.chip import Chip, Limits, UnknownChip, UnknownProperty
from chips.schema import SchemaError

__all__ = ["Catalog", "Chip", "Limits", "SchemaError", "UnknownChip", "UnknownProperty", "all_socs", "find_chip"]
