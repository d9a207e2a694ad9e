"""Pinned host memory: what the device can copy from and to without the help of the CPU."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from runtime import errors

if TYPE_CHECKING:
    import numpy as np

    from runtime.driver.memory import MemoryDriver


class HostBuffer:
    """A block of pinned host memory, made by `device.alloc_host(size)`.

    It has the buffer interface through `view` and `numpy`; both must not be used after `close`.
    """

    __slots__ = ("__weakref__", "_memory", "address", "closed", "device", "finalizer", "size", "view")

    def __init__(self, device: Any, memory: MemoryDriver, address: int, size: int) -> None:
        self.device, self._memory = device, memory
        self.address, self.size = address, size
        self.view = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        self.finalizer: Any = None
        self.closed = False

    def check_open(self) -> None:
        """Raise where the memory was given back."""
        if self.closed:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"the host buffer at {self.address:#x} ({self.size} bytes) was freed",
                hint="keep a buffer open until the copies that use it are done",
            )

    def numpy(self, dtype: Any = "u1", shape: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
        """Return an array over the memory, without a copy."""
        import numpy as np

        self.check_open()
        array = np.frombuffer(self.view, dtype=dtype)
        return array if shape is None else array.reshape(shape)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array protocol: the whole block as unsigned bytes."""
        self.check_open()
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, False)}

    def __len__(self) -> int:
        return self.size

    def close(self) -> None:
        """Free the block; twice does nothing."""
        if self.closed:
            return
        self.closed = True
        if self.finalizer is not None:
            self.finalizer.detach()
        self.device.buffers.pop(self.address, None)
        self._memory.free(self.address)

    def __enter__(self) -> HostBuffer:
        self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.size} pinned bytes at {self.address:#x}{', freed' if self.closed else ''}>"
