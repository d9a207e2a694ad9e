"""Types of elements: NumPy's, Triton's names for them, and DLPack's codes.

bfloat16 and the 8-bit floats are NumPy types of the package ml_dtypes, which is only imported for them.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from runtime import errors
from runtime.memory.buffer import Buffer

if TYPE_CHECKING:
    import numpy as np

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
"""DLDataTypeCode of dlpack.h."""
_BY_KIND: Final = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_EXTENDED: Final = {
    "bfloat16": ("bf16", _BFLOAT), "float8_e3m4": ("fp8e3m4", 7), "float8_e4m3": ("fp8e4m3", 8),
    "float8_e4m3b11fnuz": ("fp8e4b15", 9), "float8_e4m3fn": ("fp8e4nv", 10), "float8_e4m3fnuz": ("fp8e4b8", 11),
    "float8_e5m2": ("fp8e5", 12), "float8_e5m2fnuz": ("fp8e5b16", 13),
}  # fmt: skip
"""Types of ml_dtypes: Triton's name and DLPack's code (dlpack.h 1.1)."""
_MOST_TYPES: Final = 256
"""Types of which the name is remembered: NumPy works `dtype.name` out each time."""


def dtype_of(given: Any) -> np.dtype[Any]:
    """Return a NumPy type by itself or by a name, those of ml_dtypes among them.

    Raises:
        InvalidArgument 107000: no such type, one of Python objects, or one that needs ml_dtypes, which is not there.
    """
    import numpy as np

    if isinstance(given, str) and given in _EXTENDED:
        try:
            extended = importlib.import_module("ml_dtypes")
        except ImportError:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"dtype {given!r}: NumPy has it from the package ml_dtypes, which is not "
                "installed", hint="pip install ml_dtypes",
            ) from None
        found: np.dtype[Any] = np.dtype(getattr(extended, given))
        return found
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError as error:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"dtype {given!r}: {error}", hint="pass a NumPy type, or its name: 'float32'",
        ) from None
    if dtype.hasobject or not dtype.itemsize:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"dtype {given!r}: it has no fixed size, or holds Python objects",
            hint="use a numeric type",
        )
    return dtype


def contents_of(thing: Any) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """Return type and shape of what an array or a tensor of another library holds; None for plain bytes."""
    import numpy as np

    dtype, shape = getattr(thing, "dtype", None), getattr(thing, "shape", None)
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return None
    if not isinstance(dtype, np.dtype) and hasattr(thing, "__dlpack__") and not isinstance(thing, Buffer):
        array = np.from_dlpack(thing)
        return array.dtype, array.shape
    if not isinstance(dtype, np.dtype) or not isinstance(shape, tuple):
        return None
    return dtype, shape


def as_bytes(thing: Any) -> Any:
    """Return the bytes of an array of bfloat16 or 8-bit floats, which the buffer protocol cannot express.

    Anything else, or what is not contiguous, is returned as it is.
    """
    import numpy as np

    if not isinstance(thing, np.ndarray) or not thing.flags.c_contiguous or thing.dtype.name not in _EXTENDED:
        return thing
    return thing.reshape(-1).view(np.uint8)


@lru_cache(_MOST_TYPES)
def element_of(dtype: np.dtype[Any]) -> str:
    """Return Triton's name of a type of elements; "" for one that Triton does not have."""
    if dtype.name in _EXTENDED:
        return _EXTENDED[dtype.name][0]
    bits = 8 * dtype.itemsize
    return {"f": f"fp{bits}", "i": f"i{bits}", "u": f"u{bits}", "b": "i1"}.get(dtype.kind, "")


def dlpack_type(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return DLPack's code and bits of a type.

    Raises:
        InvalidArgument 107000: DLPack has no code for it.
    """
    extended = _EXTENDED.get(dtype.name)
    code = extended[1] if extended else _BY_KIND.get(dtype.kind)
    if code is None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"DLPack has no code for the type {dtype}", hint="pass a view of the bytes",
        )
    return code, 8 * dtype.itemsize
