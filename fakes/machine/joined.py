"""Accesses that go on from one mapped piece of memory into the next: the pieces get one view, side by side.

Each piece has bytes of its own in some file of the machine. What crosses from one into the next is rare, so the view is
made then, and kept until one of its pieces is unmapped.
"""

from __future__ import annotations

from collections.abc import Callable

from fakes.errors import MemoryFault
from fakes.machine.address_space import BackingFile, mapped_together, unmapped
from fakes.machine.blocks import Allocation
from npuhal.words import count


class Joined:
    """The views of one machine's memory."""

    def __init__(
        self, at: Callable[[int], Allocation | None], file: Callable[[Allocation], BackingFile | None]
    ) -> None:
        """Make an empty set of views.

        Args:
            at: the block that begins at an address.
            file: the file that has a block's bytes.
        """
        self._at, self._file = at, file
        self._views: dict[int, tuple[int, int]] = {}
        """First address -> bytes, and where they really are."""

    def pointer(self, block: Allocation, size: int) -> int | None:
        """Return where `size` bytes from the start of a block on are side by side; None: they are not all there."""
        known = self._views.get(block.base)
        if known is not None and size <= known[0]:
            return known[1]
        parts, span = [], 0
        piece: Allocation | None = block
        while span < size:
            file = None if piece is None or not piece.alias or piece.device != block.device else self._file(piece)
            if piece is None or file is None:
                return None
            parts.append((file.fd, file.start + piece.pointer - file.address, piece.span))
            span += piece.span
            piece = self._at(block.base + span)
        if known is not None:
            unmapped(known[1], known[0])
        address = mapped_together(parts)
        self._views[block.base] = span, address
        return address

    def forget(self, block: Allocation) -> None:
        """Give up the views that have a block, which is unmapped."""
        if not block.alias or not self._views:
            return
        for base, (span, address) in list(self._views.items()):
            if base <= block.base < base + span:
                unmapped(address, span)
                del self._views[base]

    def close(self) -> None:
        """Give up all views."""
        for span, address in self._views.values():
            unmapped(address, span)
        self._views.clear()


def beyond(use: str, address: int, size: int, block: Allocation) -> MemoryFault:
    """Return what an access fails with that goes on behind its block."""
    behind = address + size - block.base - (block.asked or block.size)  # the rest is padding or the end of a page
    return MemoryFault(
        f"{use} of {count(size, 'byte')} at {address:#x} ends {count(behind, 'byte')} behind {block}",
        use, address, size, block, behind,
    )  # fmt: skip
