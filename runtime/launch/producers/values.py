"""What Python values become in a block whose types are known: addresses and numbers, checked by name."""

from __future__ import annotations

import operator
import struct
import warnings
from collections.abc import Mapping
from typing import Any, Final

from runtime import errors
from runtime.memory.array import DeviceArray
from runtime.memory.buffer import Buffer
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import ManagedBuffer, RegisteredBuffer

REACHED: Final = (DeviceBuffer, ManagedBuffer, RegisteredBuffer)
"""Buffers that kernels reach."""
_U64: Final = (1 << 64) - 1
_UNSIGNED: Final = {"u1": "i1", "u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64"}
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    letter: (-(1 << bits - 1), (1 << bits - 1) - 1) if letter.islower() else (0, (1 << bits) - 1)
    for letters, bits in (("bB", 8), ("hH", 16), ("iI", 32), ("qQ", 64))
    for letter in letters
}


class ElementTypeWarning(UserWarning):
    """A kernel gets an array whose elements are of another type than its signature says."""


def unfit(what: str, value: Any, rule: str, cure: str) -> errors.RuntimeFault:
    """Return the fault for an argument that does not fit its parameter: 107000."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return errors.fault("ACL_ERROR_RT_PARAM_INVALID", f"{what} is {shown}: {rule}", hint=cure, layer="launch")


def pointer(what: str, value: Any, device: Any, element: str = "", *, strict: bool = False) -> Any:
    """Return what stands for an address in a block: a buffer itself, or a number.

    Args:
        what: names the parameter in messages.
        device: the device of the kernel; memory of another one is refused.
        element: Triton's name of what the parameter points to; "" or a pointer: anything.
        strict: refuse an array of other elements, instead of warning.

    Raises:
        InvalidArgument 107000: no address, one that does not fit 64 bits, a freed buffer, memory of another device or
            of the host, or, if strict, elements of another type.
    """
    if value is None:
        return 0
    if isinstance(value, REACHED):
        value.check_open()
        if value.device is not device:
            rule = f"it is memory of device {value.device.user_id}, the kernel is on {device.user_id}"
            raise unfit(what, value, rule, "copy it to the kernel's device")
        if isinstance(value, DeviceArray) and not same_element(value.element, element):
            rule = f"its elements are {value.element or value.dtype}, the kernel was compiled for {element}"
            if strict:
                raise unfit(what, value, rule, "convert the array, or compile the kernel for its type")
            warnings.warn(f"{what}: {rule}", ElementTypeWarning, stacklevel=4)
        return value
    if isinstance(value, Buffer):
        raise unfit(what, value, "a kernel cannot reach it", "copy it to the device: stream.copy(buffer, pinned)")
    number = value.data_ptr() if hasattr(value, "data_ptr") else value
    if isinstance(number, (bool, float)):
        number = None
    try:
        address = operator.index(number)
    except TypeError:
        host = getattr(value, "__array_interface__", None) is not None
        cure = "copy it to the device first: device.upload(array)" if host else "pass a buffer, an address, or None"
        raise unfit(what, value, "the parameter is a pointer", cure) from None
    if not 0 <= address <= _U64:
        raise unfit(what, value, "an address has 64 bits", "pass the buffer itself")
    return address


def address_of(pointed: Any) -> int:
    """Return the number of what `pointer` has returned."""
    return pointed.word & _U64 if isinstance(pointed, REACHED) else pointed  # type: ignore[operator]


def same_element(held: str, wanted: str) -> bool:
    """Return whether an array's elements are what a parameter points to.

    IR does not tell unsigned from signed, and flags are bytes. Anything goes where pointers, or nothing, are wanted.
    """
    if not wanted or wanted.startswith("*"):
        return True
    first, second = _UNSIGNED.get(held, held), _UNSIGNED.get(wanted, wanted)
    return first == second or {first, second} == {"i1", "i8"}


def misfit(what: str, kind: str, code: str, value: Any) -> errors.RuntimeFault:
    """Return why a number does not fit a scalar parameter of a type that `struct` packs with a code."""
    if code in _RANGES:
        low, high = _RANGES[code]
        try:
            number = operator.index(value)
        except TypeError:
            return unfit(what, value, f"the parameter is {kind}, a whole number", "pass an int")
        return unfit(what, number, f"{kind} takes {low} to {high}", "compile the kernel for a wider type")
    try:
        float(value)
    except (TypeError, ValueError):
        return unfit(what, value, f"the parameter is {kind}, a number", "pass a float")
    return unfit(what, value, f"it does not fit {kind}", "pass a smaller number, or float('inf')")


def fits(code: str, value: Any) -> bool:
    """Return whether `struct` packs a value with a code."""
    try:
        struct.pack("<" + code, value)
    except (struct.error, OverflowError, TypeError):
        return False
    return True
