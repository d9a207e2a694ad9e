"""Device memory as objects: a clear refusal to be read from the host, and DLPack for libraries that know NPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.errors.arguments import STREAMS, check_instance, check_same_runtime
from runtime.memory import dlpack
from runtime.memory.buffer import Buffer, Release
from runtime.memory.location import Location

if TYPE_CHECKING:
    from runtime.memory.array import DeviceArray


class DeviceBuffer(Buffer):
    """A block of device memory. Made by `device.alloc(size)`; freed by `close()` or with the device.

    `address` is a device address: the host cannot read it. Addition gives a view that starts later in the block.
    """

    __slots__ = ("word",)
    location = Location.DEVICE

    def __init__(self, device: Any, address: int, size: int, release: Release | None = None, *,
                 owner: Buffer | None = None) -> None:
        self.word: int | None = address + device.owner_tag
        """The address as long as the memory is there, then None: what a launch puts into an argument slot.

        Above its 64 bits stands the number of the Runtime (`Device.owner_tag`), which the launches of that one take
        off: what is of another does not fit a slot, so that launches need not ask.
        """
        Buffer.__init__(self, device, address, size, release, owner=owner)

    def _end(self) -> None:
        self.alive = False
        self.word = None

    def _revive(self) -> None:
        self.alive = True
        self.word = self.address + self.device.owner_tag

    def as_array(self, dtype: Any, shape: Any = None) -> DeviceArray:
        """Return the same memory as an array that lives as long as this buffer; one dimension by default.

        Raises:
            InvalidArgument 107000: no whole number of elements, or another number than the shape has.
        """
        from runtime.memory.array import as_array  # a subclass of this class

        return as_array(self, dtype, shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's device: its extension type, and the user's device id."""
        return dlpack.EXTENSION, int(self.device.user_id)

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:
        """Return a capsule over the block as unsigned bytes.

        Args:
            stream: None, -1, or a Stream of the device that the consumer works in: what was queued elsewhere is not
                waited for.
            dl_device: None, the buffer's own DLPack device, or (1, 0) for a copy on the CPU.
            copy: True: a copy on the device, which lives as long as its consumer.

        Raises:
            BufferError: another device or stream, or a copy to the CPU with `copy=False`.
        """
        return self._export(None, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def _export(self, contents: dlpack.Contents | None, **wishes: Any) -> Any:
        self.check_open()
        return dlpack.export(self, contents, duplicate=self._duplicate, **wishes)

    def _duplicate(self) -> tuple[object, int]:
        made = self.device.alloc(self.size)
        self.device.copy(made, self)
        return made, made.address

    def _refuse(self) -> errors.RuntimeFault:
        return errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"the buffer at {self.address:#x} is memory of device {self.device.user_id}; the host cannot read it",
            hint="copy it first: device.download(buffer), or stream.copy(host, buffer)",
        )

    def __array__(self, dtype: Any = None, **_: Any) -> Any:
        raise self._refuse()

    def __getitem__(self, _: object) -> Any:
        raise self._refuse()

    def __setitem__(self, _: object, __: object) -> None:
        raise self._refuse()

    def __bytes__(self) -> bytes:
        raise self._refuse()

    @property
    def _kind(self) -> str:
        return f"device {self.device.user_id}"


class PooledBuffer(DeviceBuffer):
    """A block from `device.pool`. Closing it lets later work of its stream use the memory at once."""

    __slots__ = ()

    def _finish_later(self, entry: Any, row: object) -> bool:
        if self.device.pool.holder(self.address) is entry:
            self.device.deferred_frees.leave(entry.release)
        return True

    def record_stream(self, stream: Any) -> None:
        """Tell that a stream uses the block too, so that it is not used again before that work is done."""
        self.check_open()
        check_instance("record_stream", "stream", stream, self.device.stream_type, STREAMS)
        check_same_runtime("record_stream", self.device, stream)
        pool = self.device.pool
        pool.record(pool.block(self.address if self.owner is None else self.owner.address), stream)
