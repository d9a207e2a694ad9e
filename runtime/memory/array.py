"""Device memory that knows what it holds: a type of elements and a shape. No arithmetic: kernels do that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.errors.arguments import BUFFERS, check_instance, whole
from runtime.memory import dlpack
from runtime.memory.buffer import Buffer, Release
from runtime.memory.device import DeviceBuffer
from runtime.memory.elements import dlpack_type, dtype_of, element_of

if TYPE_CHECKING:
    import numpy as np


class DeviceArray(DeviceBuffer):
    """Device memory with `dtype` and `shape`, elements in C order. Made by `device.upload` and `device.empty`.

    `size` and `len` are bytes, as of every buffer; `view` gives bytes again. NumPy takes it (`numpy.asarray(array)`
    waits for the device and copies), and so do consumers of DLPack that know NPUs.
    """

    __slots__ = ("dtype", "element", "shape")

    def __init__(self, device: Any, address: int, size: int, release: Release | None = None, *,
                 owner: Buffer | None = None, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape
        self.element = element_of(dtype)
        """Triton's name of the type, by which launches check pointers: fp32, bf16, i8."""
        DeviceBuffer.__init__(self, device, address, size, release, owner=owner)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def view(self, offset: int, size: int | None = None) -> DeviceBuffer:  # type: ignore[override]
        """Return a part of the block as bytes; see `Buffer.view`."""
        return DeviceBuffer.view(self.bytes, offset, size)

    @property
    def bytes(self) -> DeviceBuffer:
        """The block as bytes, which live as long as it does."""
        self.check_open()
        return DeviceBuffer(self.device, self.address, self.size, owner=self.owner or self)

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return the same memory with another shape; one length may be -1.

        Raises:
            InvalidArgument 107000: another number of elements.
        """
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return as_array(self.bytes, self.dtype, given)

    def data_ptr(self) -> int:
        """Return the device address, as tensors do; raises InvalidArgument where the memory was freed."""
        self.check_open()
        return self.address

    def zero_(self) -> DeviceArray:
        """Queue the clearing of the memory in the device's default stream, as tuners ask of tensors."""
        self.device.context.default_stream.fill(self, 0)
        return self

    def copy_(self, source: DeviceArray) -> DeviceArray:
        """Queue a copy of another array's contents in the device's default stream; the sizes are equal.

        Raises:
            InvalidArgument 107000: the other is larger or smaller.
        """
        check_instance("copy_", "source", source, Buffer, BUFFERS)
        if source.size != self.size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"copy_ of {source.size} bytes to {self.size}",
                hint="copy between arrays of one size",
            )
        self.device.context.default_stream.copy(self, source)
        return self

    def clone(self) -> DeviceArray:
        """Return new memory with the same contents, copied in the device's default stream."""
        made: DeviceArray = self.device.empty(self.shape, self.dtype)
        return made.copy_(self)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the contents as a new array; waits for everything that was submitted to the device.

        Raises:
            RuntimeFault: work of a stream has failed.
        """
        import numpy as np

        self.check_open()
        self.device.synchronize()
        array = np.empty(self.shape, self.dtype)
        if self.size:
            self.device.copy(array, self.bytes)
        return array

    def __array__(self, dtype: Any = None, *, copy: bool | None = None, **_: object) -> Any:
        if copy is False:
            raise ValueError("device memory cannot be an array without a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:
        """Return a capsule over the array; see `DeviceBuffer.__dlpack__`."""
        held = dlpack.Contents(self.shape, *dlpack_type(self.dtype))
        return self._export(held, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.dtype} {list(self.shape)}>"


def shape_of(given: Any, count: int | None = None) -> tuple[int, ...]:
    """Return a shape given as a number or as several.

    Args:
        count: elements that there are, where one length may be -1.

    Raises:
        InvalidArgument 107000: lengths that are no whole numbers, are negative, or do not give `count`.
    """
    rows = given if isinstance(given, (tuple, list)) else (given,)
    try:
        shape = tuple(whole("shape", "a length", each) for each in rows)
    except errors.InvalidArgument:
        shape = (-1, -1)
    if count is not None and shape.count(-1) == 1:
        known = math.prod(each for each in shape if each != -1)
        if known > 0 and count % known == 0:
            shape = tuple(count // known if each == -1 else each for each in shape)
    if any(each < 0 for each in shape):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"shape {given!r}: lengths are whole numbers of at least 0",
            hint="pass a number or a tuple: (128, 64)",
        )
    if count is not None and math.prod(shape) != count:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{count} elements have no shape {given!r}",
            hint="the product of the lengths is the number of elements",
        )
    return shape


def as_array(buffer: DeviceBuffer, dtype: Any, shape: Any = None) -> DeviceArray:
    """Return a buffer's memory as an array that lives as long as it does; one dimension by default.

    Raises:
        InvalidArgument 107000: the buffer is no whole number of elements, or has another number than the shape.
    """
    buffer.check_open()
    kind = dtype_of(dtype)
    if buffer.size % kind.itemsize:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"a buffer of {buffer.size} bytes holds no whole number of {kind} items of "
            f"{kind.itemsize} bytes", hint="take a view of the part: buffer.view(0, size)",
        )
    count = buffer.size // kind.itemsize
    return DeviceArray(
        buffer.device, buffer.address, buffer.size, owner=buffer.owner or buffer, dtype=kind,
        shape=(count,) if shape is None else shape_of(shape, count),
    )
