"""Device memory as objects: size, device, kind, and a clear refusal to be read from the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime import errors

if TYPE_CHECKING:
    from runtime.driver.memory import MemoryDriver


class DeviceBuffer:
    """A block of device memory. Made by `device.alloc(size)`; freed by `close()` or with the device.

    `address` is a device address: the host cannot read it. Addition gives a view that starts later in the block.
    """

    __slots__ = ("__weakref__", "_memory", "_owned", "address", "closed", "device", "finalizer", "parent", "size")

    def __init__(self, device: Any, memory: MemoryDriver, address: int, size: int, *,
                 parent: DeviceBuffer | None = None) -> None:
        self.device, self._memory = device, memory
        self.address, self.size = address, size
        self.parent = parent
        self._owned = parent is None
        self.finalizer: Any = None
        """Set by the factory: gives the block up when the object is dropped without `close`."""
        self.closed = False

    @property
    def alive(self) -> bool:
        """Whether the memory is still there: neither this view nor the block it belongs to was closed."""
        return not self.closed and (self.parent is None or not self.parent.closed)

    def check_open(self) -> None:
        """Raise where the memory was given back."""
        if not self.alive:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"the buffer at {self.address:#x} ({self.size} bytes) was freed",
                hint="keep a buffer open until the work that uses it is done",
            )

    def view(self, offset: int, size: int | None = None) -> DeviceBuffer:
        """Return a part of the block, `offset` bytes in; it shares the block's life."""
        length = self.size - offset if size is None else size
        if offset < 0 or length < 0 or offset + length > self.size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"a view of {length} bytes at {offset} does not fit a buffer of {self.size} bytes",
                hint="offset and size must lie inside the buffer",
            )
        self.check_open()
        return DeviceBuffer(self.device, self._memory, self.address + offset, length, parent=self.parent or self)

    def __add__(self, offset: int) -> DeviceBuffer:
        return self.view(offset)

    def __len__(self) -> int:
        return self.size

    def close(self) -> None:
        """Free the block; twice does nothing, and views do not own it."""
        if self.closed:
            return
        self.closed = True
        if self._owned:
            if self.finalizer is not None:
                self.finalizer.detach()
            self.device.buffers.pop(self.address, None)
            self._memory.free(self.address)

    def __enter__(self) -> DeviceBuffer:
        self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse(self) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"the buffer at {self.address:#x} is memory of device {self.device.user_id}; the host cannot read it",
            hint="copy it first: device.download(buffer), or stream.copy(host, buffer)",
        )

    def __array__(self, *_: object, **__: object) -> Any:
        raise self._refuse()

    def __getitem__(self, _: object) -> Any:
        raise self._refuse()

    def __setitem__(self, _: object, __: object) -> None:
        raise self._refuse()

    def __bytes__(self) -> bytes:
        raise self._refuse()

    def __repr__(self) -> str:
        state = ", freed" if self.closed else ""
        return f"<{self.size} bytes at {self.address:#x} on device {self.device.user_id}{state}>"
