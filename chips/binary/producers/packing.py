"""Argument blocks as C structs: members at their own alignment, the whole rounded up to the largest of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

__all__ = ["POINTER", "BlockLayout", "Member", "lay_out"]

POINTER: Final = "Q"
"""How `struct` packs a device address."""


class Member(NamedTuple):
    """One member of a block: `code` is its `struct` letter; `offset`, `size` and `alignment` in bytes."""

    name: str
    code: str
    offset: int
    size: int
    alignment: int


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """The members of a block in order, and its size in bytes."""

    members: tuple[Member, ...]
    size: int

    def __str__(self) -> str:
        rows = [f"{each.offset:5} {each.size:3}  {each.name}" for each in self.members]
        return "\n".join([*rows, f"{self.size:5} bytes"])

    @property
    def format(self) -> str:
        """The block as a `struct` format, with padding; values go in the order of the members."""
        parts, position = ["<"], 0
        for member in self.members:
            parts.append(f"{member.offset - position}x{member.code}")
            position = member.offset + member.size
        return "".join(parts) + f"{self.size - position}x"

    def pack(self, values: Iterable[Any]) -> bytes:
        """Return the block with a value for each member; raises `struct.error` for one that does not fit."""
        return struct.pack(self.format, *values)


def lay_out(members: Iterable[tuple[str, str, int]]) -> BlockLayout:
    """Lay out members given as (name, struct letter or ``12s``, alignment in bytes)."""
    placed: list[Member] = []
    position, largest = 0, 1
    for name, code, alignment in members:
        offset = position + -position % alignment
        size = struct.calcsize("<" + code)
        placed.append(Member(name, code, offset, size, alignment))
        position, largest = offset + size, max(largest, alignment)
    return BlockLayout(tuple(placed), position + -position % largest)
