"""DLPack capsules (dlpack.h) over contiguous memory: unsigned bytes, or elements in C order.

Capsules are NumPy's own: they are made of an array over the memory, and say where it really is and what it holds. So
a capsule that nobody consumes, or whose consumer fails, ends in C like everybody's, and no error is lost on the way.
Consumers that ask for version 1 get a DLManagedTensorVersioned, others a DLManagedTensor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from npuhal.tuples import NamedTuple

CPU = 1
"""kDLCPU."""
EXTENSION = 12
"""kDLExtDev: a device kind that the standard has no number for; NPUs are passed on as it."""
NO_SYNC = -1
"""What a consumer passes for a stream that nobody is to wait in."""

_UNSIGNED = 1  # kDLUInt
_BYTE_BITS = 8
_COPIED = 2  # DLPACK_FLAG_BITMASK_IS_COPIED
_OLD, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned; DLManagedTensor begins with the tensor."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


_api = ctypes.pythonapi
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


class Contents(NamedTuple):
    """What lies in a block: its shape, and DLPack's code and bits of an element."""

    shape: tuple[int, ...]
    code: int
    bits: int


class _ArrayInterface:
    """Memory as NumPy's array protocol has it; `owner` lives as long as an array over it does."""

    def __init__(self, owner: object, address: int, size: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": (size,), "typestr": "|u1", "data": (address, False)}


def capsule(
    owner: object, address: int, size: int, device: tuple[int, int], max_version: tuple[int, int] | None = None,
    contents: Contents | None = None, *, copied: bool = False,
) -> Any:
    """Return a new capsule; `owner` stays alive until the consumer lets go.

    Args:
        device: DLPack's device type and id.
        max_version: the newest form that the consumer understands; None: the unversioned one.
        contents: what the block holds; None: `size` unsigned bytes.
        copied: whether nobody else has this memory; only the versioned form says so.
    """
    import numpy as np  # late: few programs pass memory on, and NumPy takes long to load

    held = contents or Contents((size,), _UNSIGNED, _BYTE_BITS)
    array = np.asarray(_ArrayInterface(owner, address, size)).view(f"u{held.bits // 8}").reshape(held.shape)
    make: Any = array.__dlpack__
    made = make(max_version=max_version) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else make()
    if _valid(made, _VERSIONED):
        managed = _ManagedVersioned.from_address(_pointer(made, _VERSIONED))
        managed.flags |= _COPIED if copied else 0
        tensor = managed.tensor
    else:
        tensor = _Tensor.from_address(_pointer(made, _OLD))
    tensor.data, (tensor.device_type, tensor.device_id) = address, device
    tensor.code, tensor.bits = held.code, held.bits
    return made


def export(
    buffer: Any, contents: Contents | None, *, stream: Any, max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None, copy: bool | None, duplicate: Callable[[], tuple[object, int]],
) -> Any:
    """Answer `__dlpack__` (Python array API, 2024.12) for a buffer.

    Args:
        buffer: what is exported, with `address`, `size` and `__dlpack_device__`.
        stream: None, NO_SYNC or, for device memory, a stream of the same device.
        dl_device: where the consumer wants the data; None: where it is. Device memory is copied to the CPU.
        copy: True: never the memory itself; False: nothing else; None: whatever fits.
        duplicate: makes a copy on the same device; returns who owns it, and its address.

    Raises:
        BufferError: another device, a copy that is forbidden, or a stream that does not belong to the memory.
    """
    own = buffer.__dlpack_device__()
    wanted = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted != own and wanted[0] != CPU:
        raise BufferError(f"dl_device={wanted}: the memory is on DLPack device {own}; copy it there first")
    if stream is not None and (own[0] == CPU or stream != NO_SYNC):
        device = getattr(stream, "device", None)
        if own[0] == CPU or device is not buffer.device:
            where = "the CPU, where None is the only stream" if own[0] == CPU else f"device {own[1]}"
            raise BufferError(f"stream={stream!r}: the memory is on {where}; pass None, or a stream of that device")
    if wanted != own:
        if copy is False:
            raise BufferError(f"copy=False: memory of DLPack device {own} reaches the CPU by a copy only")
        host = bytearray(buffer.size)
        buffer.device.copy(host, buffer)
        address = ctypes.addressof(ctypes.c_char.from_buffer(host))
        return capsule(host, address, buffer.size, (CPU, 0), max_version, contents, copied=True)
    owner, address = duplicate() if copy else (buffer, buffer.address)
    return capsule(owner, address, buffer.size, own, max_version, contents, copied=bool(copy))
