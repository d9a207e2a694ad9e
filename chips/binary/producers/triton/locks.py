"""The lock area of a launch: how large it is and what it holds before the kernel starts.

Up to 3.5 it is a row of 64-bit words. From 3.6 on an ordered lock takes 8 words, an unordered one 8 words and 16 more
for each participant; the first word says how many there are. Source: `prepareLocks` of launcher_args.h,
launcher_runtime.cpp.
"""

from __future__ import annotations

import struct
from typing import Final

from npuhal.records import dataclass

__all__ = ["LockArea", "LockRule"]

_WORD: Final = 8
_LINE: Final = 8
"""Words of one ordered lock."""
_WORD_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class LockArea:
    """`size` bytes, each 64-bit word `fill`, but for the words at the byte offsets of `marks`, which are `mark`."""

    size: int
    fill: int = 0
    marks: tuple[int, ...] = ()
    mark: int = 0

    def image(self) -> bytes:
        """Return the area's contents."""
        data = bytearray(struct.pack("<Q", self.fill) * (self.size // _WORD))
        for offset in self.marks:
            struct.pack_into("<Q", data, offset, self.mark)
        return bytes(data)


@dataclass(frozen=True, slots=True)
class LockRule:
    """The locks that a kernel uses.

    `words` is `lock_num` of compilers up to 3.5; `ordered` and `unordered` are those of newer ones. Each block takes
    part `factor` times in an unordered lock. `initial` is the value of all words where there are no unordered locks.
    """

    words: int = 0
    ordered: int = 0
    unordered: int = 0
    factor: int = 1
    initial: int = 0

    def __bool__(self) -> bool:
        return bool(self.words or self.ordered or self.unordered)

    def area(self, blocks: int) -> LockArea:
        """Return the area for a launch on so many physical blocks."""
        initial = self.initial & _WORD_MASK
        if not self.unordered:
            return LockArea((self.words + _LINE * self.ordered) * _WORD, initial)
        people = blocks * self.factor
        stride = _LINE * (1 + 2 * people) * _WORD
        start = _LINE * self.ordered * _WORD
        marks = tuple(start + number * stride for number in range(self.unordered))
        return LockArea(start + self.unordered * stride, 0, marks, people)
