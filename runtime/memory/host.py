"""Host memory that devices reach: pinned by the driver, or managed by it and shared with the device."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.memory import dlpack
from runtime.memory.buffer import Buffer, Release
from runtime.memory.location import Location

if TYPE_CHECKING:
    import numpy as np


class HostBuffer(Buffer):
    """A block of pinned host memory, made by `device.alloc_host(size)`.

    `memory` and `numpy` give access without a copy; NumPy and DLPack consumers take the buffer itself. None of
    these may be used after `close`.
    """

    __slots__ = ("memory",)
    location = Location.HOST

    def __init__(self, device: Any, address: int, size: int, release: Release | None = None, *,
                 owner: Buffer | None = None) -> None:
        super().__init__(device, address, size, release, owner=owner)
        self.memory = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        """The bytes, through the buffer protocol."""

    @staticmethod
    def address_of(view: memoryview) -> int:
        """Return where writable bytes are; TypeError for read-only ones."""
        return ctypes.addressof(ctypes.c_char.from_buffer(view))

    def numpy(self, dtype: Any = "u1", shape: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
        """Return an array over the memory, without a copy."""
        import numpy as np

        from runtime.memory.array import shape_of
        from runtime.memory.elements import dtype_of

        self.check_open()
        kind = dtype_of(dtype)
        if self.size % kind.itemsize:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"a buffer of {self.size} bytes holds no whole number of {kind} items of "
                f"{kind.itemsize} bytes", hint="take a view of the part: buffer.view(0, size)",
            )
        array = np.frombuffer(self.memory, dtype=kind)
        return array if shape is None else array.reshape(shape_of(shape, len(array)))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array protocol: the whole block as unsigned bytes."""
        self.check_open()
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, False)}

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device: the CPU."""
        return dlpack.CPU, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:
        """Return a capsule over the block as unsigned bytes.

        Args:
            copy: True: a copy in memory of Python's.

        Raises:
            BufferError: another device than the CPU, or a stream, which means nothing here.
        """
        self.check_open()
        return dlpack.export(
            self, None, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy,
            duplicate=self._duplicate,
        )

    def _duplicate(self) -> tuple[object, int]:
        made = bytearray(self.memory)
        return made, ctypes.addressof(ctypes.c_char.from_buffer(made))

    def __buffer__(self, _flags: int) -> memoryview:
        """Give the bytes to whoever takes buffers (Python 3.12 and later; `memory` does so everywhere)."""
        self.check_open()
        return self.memory

    def __getitem__(self, key: Any) -> Any:
        self.check_open()
        return self.memory[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.check_open()
        self.memory[key] = value

    def __bytes__(self) -> bytes:
        self.check_open()
        return bytes(self.memory)

    @property
    def _kind(self) -> str:
        return "pinned host memory"


class ManagedBuffer(HostBuffer):
    """Memory that host and device share under one address; the driver moves it to where it is used."""

    __slots__ = ()
    location = Location.MANAGED

    @property
    def word(self) -> int | None:
        """The address as long as the memory is there, then None; with the number of the Runtime, see `DeviceBuffer`."""
        return self.address + self.device.owner_tag if self.alive else None

    @property
    def _kind(self) -> str:
        return f"memory managed for device {self.device.user_id}"


class RegisteredBuffer(HostBuffer):
    """Host memory of the user's own that a device may use; `device_address` is where the device finds it.

    Closing it ends the registration; the memory stays the user's.
    """

    __slots__ = ("_source", "device_address")

    def __init__(self, device: Any, address: int, size: int, release: Release | None = None, *,
                 owner: Buffer | None = None, view: memoryview | None = None, device_address: int = 0) -> None:
        super().__init__(device, address, size, release, owner=owner)
        self._source = view
        if isinstance(owner, RegisteredBuffer):
            device_address = owner.device_address + address - owner.address
        self.device_address: int = device_address

    @property
    def word(self) -> int | None:
        """Where the device finds the memory while it is registered, then None; with the number of the Runtime."""
        return self.device_address + self.device.owner_tag if self.alive else None

    @property
    def _kind(self) -> str:
        return "registered host memory"
