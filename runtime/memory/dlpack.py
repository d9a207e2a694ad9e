"""DLPack capsules over plain blocks (dlpack.h): one dimension of unsigned bytes.

Consumers that ask for version 1 get a DLManagedTensorVersioned, which they may write to; others a DLManagedTensor.
"""

from __future__ import annotations

import ctypes
from typing import Any

CPU = 1
"""kDLCPU."""
EXTENSION = 12
"""kDLExtDev: a device kind that the standard has no number for; NPUs are passed on as it."""

_UNSIGNED = 1  # kDLUInt
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
    """DLManagedTensor, and behind it what its pointers point to."""

    _fields_ = (
        ("tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("sizes", ctypes.c_int64 * 1), ("steps", ctypes.c_int64 * 1),
    )  # fmt: skip


class _ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, and behind it what its pointers point to."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
        ("sizes", ctypes.c_int64 * 1), ("steps", ctypes.c_int64 * 1),
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


def capsule(
    owner: object, address: int, size: int, device: tuple[int, int], max_version: tuple[int, int] | None = None
) -> Any:
    """Return a new capsule; `owner` stays alive until the consumer lets go.

    Args:
        device: DLPack's device type and id.
        max_version: the newest form that the consumer understands; None: the unversioned one.
    """
    versioned = max_version is not None and max_version[0] >= 1
    managed: Any = _ManagedVersioned(major=1) if versioned else _Managed()
    tensor = managed.tensor
    tensor.data, (tensor.device_type, tensor.device_id) = address, device
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = 1, _UNSIGNED, 8, 1
    managed.sizes[0], managed.steps[0] = size, 1
    start = ctypes.addressof(managed)
    tensor.shape = ctypes.cast(start + type(managed).sizes.offset, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(start + type(managed).steps.offset, ctypes.POINTER(ctypes.c_int64))
    holder = (managed, owner)
    managed.manager_ctx = id(holder)
    managed.deleter = ctypes.cast(_versioned_deleter if versioned else _old_deleter, ctypes.c_void_p)
    _keep(holder)
    return _new(start, _VERSIONED if versioned else _OLD, ctypes.cast(_destructor, ctypes.c_void_p))
