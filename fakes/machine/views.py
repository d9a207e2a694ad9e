"""NumPy views of memory by address."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


def view(pointer: int, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """Return `count` elements at a real (not device) address as a writable array; nothing is copied."""
    import numpy as np

    kind = np.dtype(dtype)
    if count <= 0:
        return np.empty(0, kind)
    raw = (ctypes.c_char * (count * kind.itemsize)).from_address(pointer)
    array: NDArray[Any] = np.ndarray((count,), kind, memoryview(raw))
    return array
