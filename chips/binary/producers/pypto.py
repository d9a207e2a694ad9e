"""Kernel bundles of PyPTO (`.pyptokb`): a mix ELF, the AICPU library that gives out its work, and what both need.

A head of 64 bytes, entries of 32 bytes, values from multiples of 4 KiB on; head and values have checksums (CRC32 as of
zlib). Running one needs PyPTO's scheduler on the AICPU; here it is only taken apart. Source:
`framework/src/machine/runtime/bundle/kernel_bundle_format.h` of pypto.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import Final

from chips.binary.errors import BinaryError
from npuhal.records import dataclass

__all__ = ["Bundle", "BundleEntry", "EntryKind", "MalformedBundle", "is_bundle", "read_bundle"]

MAGIC: Final = b"PYPTOKB\0"
_HEAD: Final = struct.Struct("<8sIIIIQ28s")
_CHECKED: Final = _HEAD.size
_ENTRY: Final = struct.Struct("<IIQQII")
_VERSION: Final = 1


class MalformedBundle(BinaryError):
    """A kernel bundle does not hold together: a size, an offset or a checksum is wrong."""


class EntryKind(IntEnum):
    """What an entry of a bundle is."""

    AI_CORE_ELF = 1
    AICPU_LIBRARY = 2
    PROGRAM = 3
    CONTROL_FLOW = 4
    SYMBOLS = 5


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """One part: `kind` stays a number where it is not known, `offset` is where the value starts in the file."""

    kind: EntryKind | int
    flags: int
    offset: int
    value: memoryview

    @property
    def label(self) -> str:
        """How people call it."""
        return _LABELS.get(self.kind, f"type {int(self.kind)}")


_LABELS: Final[dict[int, str]] = {
    EntryKind.AI_CORE_ELF: "AI core ELF", EntryKind.AICPU_LIBRARY: "AICPU library", EntryKind.PROGRAM: "program",
    EntryKind.CONTROL_FLOW: "control flow", EntryKind.SYMBOLS: "symbols (JSON)",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bundle:
    """The parts of a bundle, in the file's order."""

    version: int
    flags: int
    entries: tuple[BundleEntry, ...]


def is_bundle(data: bytes | memoryview) -> bool:
    """Return whether the data starts as a bundle."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def read_bundle(data: bytes | memoryview) -> Bundle:
    """Take a bundle apart; values are views.

    Raises:
        MalformedBundle: another version, sizes that do not fit the file, or a checksum that is wrong.
    """
    view = memoryview(data)
    if len(view) < _CHECKED + 4 or not is_bundle(view):
        raise MalformedBundle("the bundle's head", bytes(view[:8]).hex(" "), f"it starts with {MAGIC!r}", _AGAIN)
    _, version, flags, count, head_size, total, _ = _HEAD.unpack_from(view)
    (stated,) = struct.unpack_from("<I", view, _CHECKED)
    _check("the checksum of the head", stated, zlib.crc32(view[:_CHECKED]))
    if version != _VERSION:
        raise MalformedBundle("the bundle's version", version, f"version {_VERSION} is known")
    if total > len(view) or head_size + count * _ENTRY.size > len(view):
        raise MalformedBundle("the bundle's size", total, f"the file has {len(view)} bytes", _AGAIN)
    rows = [_ENTRY.unpack_from(view, head_size + number * _ENTRY.size) for number in range(count)]
    return Bundle(version, flags, tuple(_entry(view, number, *row) for number, row in enumerate(rows)))


_AGAIN: Final = "get the file again"


def _check(part: str, stated: int, found: int) -> None:
    if stated != found:
        raise MalformedBundle(part, f"{stated:#010x}", f"the bytes give {found:#010x}", _AGAIN)


def _entry(
    view: memoryview, number: int, kind: int, flags: int, offset: int, size: int, crc: int, _: int
) -> BundleEntry:
    if offset + size > len(view):
        rule = f"the file has {len(view)} bytes"
        raise MalformedBundle(f"the end of entry {number}", offset + size, rule, _AGAIN)
    value = view[offset : offset + size]
    _check(f"the checksum of entry {number}", crc, zlib.crc32(value))
    known = kind in tuple(EntryKind)
    return BundleEntry(EntryKind(kind) if known else kind, flags, offset, value)
