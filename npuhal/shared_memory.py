"""What a program writes, between calls, into memory that devices read as well: no argument of a function carries it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from npuhal import constants as c

READERS = frozenset({
    "halSqTaskSend", "halSqMsgSend", "halSqCqConfig", "halSqTaskArgsAsyncCopy", "halMemcpySumbit", "drvMemcpy",
    "halMemcpy",
})  # fmt: skip
"""Functions through which, or right after which, host memory is read."""

_PAGE = 4096
_TYPE_MASK = (1 << c.MEM_VIRT_WIDTH) - 1


class SharedMemory:
    """The blocks that both sides reach, with their contents as last seen.

    These are host memory of halMemAlloc, host memory that was registered, and device memory that was mapped to the host
    (halHostRegister). Managed memory is none: to look at it would move it.
    """

    registered = True
    """Whether registered host memory can be read here: not where it is another process's."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[int, ctypes.Array[ctypes.c_char]]] = {}
        self._mapped: dict[int, int] = {}
        self._compare: Callable[[int, int, int], int] = _memcmp()

    def learn(self, name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Take note of a call that succeeded."""
        if name == "halMemAlloc":
            if before["flag"] >> c.MEM_VIRT_BIT & _TYPE_MASK == c.MEM_HOST_VAL:
                self._add(after["pp"], before["size"])
        elif name == "halHostRegister" and (self.registered or before["flag"] == c.DEV_SVM_MAP_HOST):
            start = after["dst_ptr"] if before["flag"] == c.DEV_SVM_MAP_HOST else before["src_ptr"]
            self._mapped[before["src_ptr"]] = start
            self._add(start, before["size"])

    def forget(self, name: str, before: Mapping[str, Any]) -> None:
        """Forget a block that a call is about to end: it must not be read afterwards."""
        if name == "halMemFree":
            self._blocks.pop(before["pp"], None)
        elif name in ("halHostUnregister", "halHostUnregisterEx"):
            self._blocks.pop(self._mapped.pop(before["src_ptr"], 0), None)

    def changes(self) -> Iterator[tuple[int, bytes]]:
        """Yield (address, bytes) of what differs from what was last seen, in whole pages."""
        for start, (size, shadow) in list(self._blocks.items()):
            kept = ctypes.addressof(shadow)
            for at, end in self._differing(start, kept, 0, size):
                ctypes.memmove(kept + at, start + at, end - at)
                yield start + at, ctypes.string_at(kept + at, end - at)

    def _add(self, start: int, size: int) -> None:
        self._blocks[start] = size, ctypes.create_string_buffer(size)

    def _differing(self, start: int, kept: int, at: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the pages of a range that differ, by halves: most of a block never changes."""
        if not self._compare(start + at, kept + at, end - at):
            return
        if end - at <= _PAGE:
            yield at, end
            return
        middle = at + max((end - at) // 2 // _PAGE, 1) * _PAGE
        yield from self._differing(start, kept, at, middle)
        yield from self._differing(start, kept, middle, end)


def _memcmp() -> Callable[[int, int, int], int]:
    compare = ctypes.CDLL(None).memcmp
    compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    function: Callable[[int, int, int], int] = compare
    return function
