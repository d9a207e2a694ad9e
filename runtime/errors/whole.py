"""Whole numbers at the entry of the API: sizes, counts, values, indices, ids, block counts and time limits.

Whatever acts as an index is taken, NumPy's integers among them, and goes on as a plain `int`: what is packed, hashed or
compared behind the entry never meets another type. `bool`, `float` and text are refused, for they are mistakes.
"""

from __future__ import annotations

import contextlib
import operator
from typing import SupportsIndex, overload

from npuhal.words import shown
from runtime.errors.raising import fault

__all__ = ["is_whole", "whole", "whole_or_none", "wholes"]


def is_whole(value: object) -> bool:
    """Whether `whole` takes an argument: to be asked where it was found as a key, for 8.0 and True find 8 and 1."""
    return type(value) is int or (hasattr(value, "__index__") and not isinstance(value, bool))

_LEAST, _MOST = -1 << 63, (1 << 64) - 1
"""What 64 bits can be taken for: nothing below is wider."""


def whole(call: str, name: str, value: SupportsIndex) -> int:
    """Return an argument as a plain int.

    Args:
        call: what was called, for the message.
        name: what the argument is called there.

    Raises:
        InvalidArgument 107000: it is no whole number, or none that fits into 64 bits, with or without a sign.
    """
    number: int | None = None
    if type(value) is int:
        number = value
    elif not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            number = operator.index(value)
    if number is not None and _LEAST <= number <= _MOST:
        return number
    rule = "a whole number" if number is None else "a whole number of 64 bits"
    raise fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {shown(value)} of type {type(value).__name__}; it must be "
        f"{rule}", ee="EE1003", params=(call, shown(value), name, rule),
        hint=f"pass an int, or an integer of NumPy, for {name}",
    )


@overload
def whole_or_none(call: str, name: str, value: None) -> None: ...


@overload
def whole_or_none(call: str, name: str, value: SupportsIndex) -> int: ...


@overload
def whole_or_none(call: str, name: str, value: SupportsIndex | None) -> int | None: ...


def whole_or_none(call: str, name: str, value: SupportsIndex | None) -> int | None:
    """Return an argument as a plain int, or None where it was left out; see `whole`."""
    return None if value is None else whole(call, name, value)


def wholes(call: str, **values: SupportsIndex) -> tuple[int, ...]:
    """Return several arguments as plain ints, by their names; see `whole`."""
    return tuple(whole(call, name, value) for name, value in values.items())
