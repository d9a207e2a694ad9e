"""NumPy views of memory by address."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from npuhal.process_memory import writable

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from fakes.machine.memory import Memory


def view(pointer: int, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """Return `count` elements at a real (not device) address as a writable array; nothing is copied."""
    import numpy as np

    kind = np.dtype(dtype)
    if count <= 0:
        return np.empty(0, kind)
    raw = (ctypes.c_char * (count * kind.itemsize)).from_address(pointer)
    array: NDArray[Any] = np.ndarray((count,), kind, memoryview(raw))
    return array


def reached(memory: Memory, address: int, dtype: DTypeLike, count: int, use: str) -> NDArray[Any]:
    """Return `count` elements at a device address as an array, writable unless the program has the memory read-only.

    MemoryFault where a core reaches nothing, as `Memory.device_pointer` says.
    """
    import numpy as np

    kind = np.dtype(dtype)
    size = max(count * kind.itemsize, 1)
    array = view(memory.device_pointer(address, size, use), kind, count)
    if not memory.owns(address) and memory.caller is None and not writable(address, size):
        array.flags.writeable = False
    return array
