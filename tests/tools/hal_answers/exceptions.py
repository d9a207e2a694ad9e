"""Rows in which a fake answers otherwise on purpose, for programs: the table of docs/fake.md has the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

EXCEPTIONS: Mapping[str, str] = MappingProxyType({
    "drvDeviceGetIndexByPhyId 1": "drawn by seed",
    "notopen halMemFree": "stricter",
    "attr dev past": "stricter",
    "attr freed": "stricter",
    "attr reserved not mapped": "stricter",
    "cpy far": "stricter",
    "cpy past": "stricter",
    "cpy freed": "stricter",
    "set far": "stricter",
    "set past": "stricter",
    "unmap": "mapped",
    "addrfree twice": "mapped",
    "create pg_type=2": "the card can do it",
    "granularity ? pg 2": "the card can do it",
    "halMemAlloc 4096 MEM_PAGE_GIANT|MEM_DEV|HBM": "the card can do it",
    "halMemAlloc 4096 MEM_READONLY|MEM_DEV|HBM": "the card can do it",
    "halMemAlloc dev flag bit 29": "the card can do it",
    "halMemAlloc dev flag bit 31": "the card can do it",
})  # fmt: skip
"""Pattern of the call -> reason."""


def reason(call: str) -> str | None:
    """Return why the fake answers a call otherwise; None where it should not."""
    return next((why for pattern, why in EXCEPTIONS.items() if fnmatchcase(call, pattern)), None)
