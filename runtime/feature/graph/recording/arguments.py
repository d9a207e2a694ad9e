"""Where the arguments of captured kernels lie: memory of the graph, filled on the host and brought over in one piece.

Nothing runs before the first execution, so that a launch that is captured writes to the host only.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from runtime.errors.closing import each
from runtime.memory.arguments import ArgumentBlock

if TYPE_CHECKING:
    from runtime.core.device.device import Device

_FIRST_BYTES, _LARGEST_BYTES = 8 << 10, 256 << 10
_ALIGNED = 128
"""What contexts of mix kernels need, which precede their arguments."""


class StagedBlock(ArgumentBlock):
    """A piece of a graph's argument memory; it goes with the graph."""

    __slots__ = ()

    def __init__(self, address: int, size: int, view: memoryview, offset: int, home: list[ArgumentBlock]) -> None:
        self.pool, self.home, self.descriptor, self.reference = None, home, None, None
        self.address, self.size, self.view, self.offset = address, size, view, offset


class StagedArguments:
    """The argument memory of one graph: spans that double in size, each cut from its start."""

    __slots__ = ("_device", "_lock", "_spans", "_spent", "_used", "_view")

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._spans: list[tuple[int, memoryview]] = []
        self._spent: list[ArgumentBlock] = []
        """Blocks that nothing uses any more; they stay where they are."""
        self._view = memoryview(b"")
        self._used = 0

    def take(self, size: int) -> StagedBlock:
        """Return a block of at least so many bytes, a multiple of 128 from a multiple of 128."""
        size_bytes = -(-size // _ALIGNED) * _ALIGNED
        with self._lock:
            start = self._used
            if start + size_bytes > len(self._view):
                self._grow(size_bytes)
                start = 0
            self._used = start + size_bytes
            address, view = self._spans[-1]
            return StagedBlock(address + start, size_bytes, view, start, self._spent)

    def _grow(self, size_bytes: int) -> None:
        size = max(size_bytes, min(2 * len(self._view), _LARGEST_BYTES), _FIRST_BYTES)
        address = self._allocate(size)
        self._view, self._used = memoryview(bytearray(size)), 0
        self._spans.append((address, self._view))

    def _allocate(self, size: int) -> int:
        return self._device.memory.alloc(size, internal_flags(hbm=True))

    @property
    def size_bytes(self) -> int:
        """Device memory taken."""
        return sum(len(view) for _, view in self._spans)

    def spans(self) -> list[tuple[int, memoryview]]:
        """Return the memory in the order in which it was taken: device address, and what the host keeps of it."""
        return list(self._spans)

    def bring_over(self) -> None:
        """Copy everything to the device."""
        for address, view in self._spans:
            used = self._used if view is self._view else len(view)
            if used:
                self._device.memory.write(address, view[:used])

    def close(self) -> None:
        """Free the memory."""
        self._spent.clear()
        spans, self._spans = self._spans, []
        self._view, self._used = memoryview(b""), 0
        each(self._device.memory.freeing(address) for address, _ in reversed(spans))
