"""DLPack capsules (dlpack.h) over contiguous memory: unsigned bytes, or elements in C order.

Consumers that ask for version 1 get a DLManagedTensorVersioned, which they may write to; others a DLManagedTensor.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

CPU = 1
"""kDLCPU."""
EXTENSION = 12
"""kDLExtDev: a device kind that the standard has no number for; NPUs are passed on as it."""

_UNSIGNED = 1  # kDLUInt
_BYTE_BITS = 8
_OLD, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (
        ("tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    )  # fmt: skip


class _ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", _api))
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _api))
_drop = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", _api))


def _let_go_old(address: int) -> None:
    """Let go of what a tensor stands on; the consumer calls this once, on any thread."""
    _drop(ctypes.cast(_Managed.from_address(address).manager_ctx, ctypes.py_object).value)


def _let_go_versioned(address: int) -> None:
    """The same for the other form."""
    _drop(ctypes.cast(_ManagedVersioned.from_address(address).manager_ctx, ctypes.py_object).value)


def _unconsumed(capsule: int) -> None:
    """Let go when the capsule was never consumed; consumers rename it."""
    if _valid(capsule, _OLD):
        _let_go_old(_pointer(capsule, _OLD))
    elif _valid(capsule, _VERSIONED):
        _let_go_versioned(_pointer(capsule, _VERSIONED))


_old_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_let_go_old)
_versioned_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_let_go_versioned)
_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_unconsumed)


class Contents(NamedTuple):
    """What lies in a block: its shape, and DLPack's code and bits of an element."""

    shape: tuple[int, ...]
    code: int
    bits: int


def capsule(
    owner: object, address: int, size: int, device: tuple[int, int], max_version: tuple[int, int] | None = None,
    contents: Contents | None = None,
) -> Any:
    """Return a new capsule; `owner` stays alive until the consumer lets go.

    Args:
        device: DLPack's device type and id.
        max_version: the newest form that the consumer understands; None: the unversioned one.
        contents: what the block holds; None: `size` unsigned bytes.
    """
    held = contents or Contents((size,), _UNSIGNED, _BYTE_BITS)
    versioned = max_version is not None and max_version[0] >= 1
    managed: Any = _ManagedVersioned(major=1) if versioned else _Managed()
    tensor = managed.tensor
    tensor.data, (tensor.device_type, tensor.device_id) = address, device
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = len(held.shape), held.code, held.bits, 1
    numbers = ctypes.c_int64 * len(held.shape)
    shape = numbers(*held.shape)
    strides = numbers(*(math.prod(held.shape[axis + 1 :]) for axis in range(len(held.shape))))
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
    holder = (managed, shape, strides, owner)
    managed.manager_ctx = id(holder)
    managed.deleter = ctypes.cast(_versioned_deleter if versioned else _old_deleter, ctypes.c_void_p)
    _keep(holder)
    return _new(ctypes.addressof(managed), _VERSIONED if versioned else _OLD, ctypes.cast(_destructor, ctypes.c_void_p))
