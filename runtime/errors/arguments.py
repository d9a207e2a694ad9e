"""Whether an argument is what it should be: one answer for every way into the API.

*Whole numbers*: sizes, counts, values, indices, ids, block counts and time limits. Whatever acts as an index is taken,
NumPy's integers among them, and goes on as a plain `int`: what is packed, hashed or compared behind the entry never
meets another type. `bool`, `float` and text are refused, for they are mistakes.

*Objects*: streams, events, buffers and functions are of the right kind, open, and of the right device or runtime;
texts, bytes, real numbers and members of enumerations are what they are called. Flags (`bool`) take the truth of
anything.
"""

from __future__ import annotations

import contextlib
import enum
import numbers
import operator
from typing import Any, NoReturn, SupportsIndex, TypeVar, overload

from npuhal.words import a, shown
from runtime.errors.raising import fault

__all__ = [
    "BUFFERS", "EVENTS", "STREAMS", "check_callable", "check_instance", "check_same_runtime", "check_stream",
    "check_text", "is_whole", "member", "number", "octets", "several", "whole", "whole_or_none", "wholes",
]  # fmt: skip

STREAMS = "pass a stream from device.create_stream(), or leave it out for the device's default stream"
"""Where streams come from."""
BUFFERS = "pass a buffer from device.alloc() or device.upload()"
"""Where buffers come from."""
EVENTS = "pass an event from device.create_event(), or a notify from device.create_notify()"
"""Where events come from."""

_LEAST, _MOST = -1 << 63, (1 << 64) - 1
"""What 64 bits can be taken for: nothing below is wider."""

StreamKind = TypeVar("StreamKind")
Choice = TypeVar("Choice", bound=enum.Enum)


# -- whole numbers -------------------------------------------------------------------------------------------------


def is_whole(value: object) -> bool:
    """Whether `whole` takes an argument: to be asked where it was found as a key, for 8.0 and True find 8 and 1."""
    return type(value) is int or (hasattr(value, "__index__") and not _is_truth(value))


def _is_truth(value: object) -> bool:
    """Whether a value is True or False, also NumPy's; older versions of NumPy let these be used as numbers."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


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
    elif not _is_truth(value):
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


# -- objects -------------------------------------------------------------------------------------------------------


def check_instance(call: str, name: str, value: object, kinds: type | tuple[type, ...], hint: str) -> None:
    """Refuse an argument of another kind.

    Args:
        call: what was called, for the message.
        name: what the argument is called there.
        hint: where such objects come from.

    Raises:
        InvalidArgument 107000: it is none of these.
    """
    if not isinstance(value, kinds):
        _refuse(call, name, value, hint, *(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,))))


def check_callable(call: str, name: str, value: object) -> None:
    """Refuse what cannot be called.

    Raises:
        InvalidArgument 107000: it is no function.
    """
    if not callable(value):
        _refuse(call, name, value, "pass a function, or another object that can be called", "function")


def check_text(call: str, **texts: object) -> None:
    """Refuse arguments, given by their names, that are no `str`.

    Raises:
        InvalidArgument 107000: naming the first that is none.
    """
    for name, value in texts.items():
        if not isinstance(value, str):
            _refuse(call, name, value, f"pass text for {name}", "str")


def number(call: str, name: str, value: Any) -> float:
    """Return an argument as a plain float; whatever is a real number fits, NumPy's among them, but `bool`.

    Raises:
        InvalidArgument 107000: it is no number.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        _refuse(call, name, value, f"pass an int or a float for {name}", "number")
    return float(value)


def octets(call: str, name: str, value: Any, hint: str) -> bytes:
    """Return an argument that holds bytes as `bytes`.

    Raises:
        InvalidArgument 107000: it has no bytes.
    """
    if not isinstance(value, (bytes, bytearray, memoryview)):
        _refuse(call, name, value, hint, "bytes")
    return bytes(value)


def several(call: str, name: str, value: Any, kinds: type | tuple[type, ...], hint: str) -> tuple[Any, ...]:
    """Return an argument that holds several things as a tuple; text is not taken for its letters.

    Raises:
        InvalidArgument 107000: it holds nothing, or something of another kind.
    """
    if isinstance(value, (str, bytes)):
        _refuse(call, name, value, hint, "sequence")
    try:
        found = tuple(value)  # asked, because arrays of ctypes are no `Iterable`
    except TypeError:
        _refuse(call, name, value, hint, "sequence")
    for each in found:
        check_instance(call, f"an item of {name}", each, kinds, hint)
    return found


def member(call: str, name: str, value: Any, kind: type[Choice]) -> Choice:
    """Return an argument as the member of an enumeration that it is or whose number it is.

    Raises:
        InvalidArgument 107000: it is none; the message lists all.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(f"{each.name} {each.value}" for each in kind)
        raise fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {shown(value)}; known are {known}", ee="EE1003",
            params=(call, value, name, known), hint=f"pass a member of {kind.__name__}",
        ) from None


def _refuse(call: str, name: str, value: object, hint: str, *kinds: str) -> NoReturn:
    needed = " or ".join(map(a, kinds))
    raise fault(
        "ACL_ERROR_RT_PARAM_INVALID",
        f"{call}: {name} is {shown(value)}, {a(type(value).__name__)}; it must be {needed}",
        ee="EE1003", params=(call, shown(value), name, needed), hint=hint,
    )


def check_stream(
    call: str, stream: object, kind: type[StreamKind], device: Any, what: str = "", hint: str = ""
) -> StreamKind:
    """Return a stream that is one, open, and on a device.

    Args:
        kind: the class of streams.
        what: what it is used with, and hint: what to do, for the message.

    Raises:
        InvalidArgument 107000: it is no stream. InvalidHandle 107017: it was closed.
        ContextError 107003: it is on another device.
    """
    check_instance(call, "stream", stream, kind, STREAMS)
    found: Any = stream
    found.check_open()
    if found.device is not device:
        raise fault(
            "ACL_ERROR_RT_STREAM_CONTEXT", f"{call}: the stream is on device {found.device.user_id}, "
            f"{what or 'what it is used with'} on device {device.user_id}", ee="EE1010",
            params=(call, "stream", "it belongs to another device"),
            hint=hint or f"use a stream of device {device.user_id}",
        )
    return found  # type: ignore[no-any-return]


def check_same_runtime(call: str, device: Any, *others: Any) -> None:
    """Refuse things of another `Runtime` than a device's; what has no device (plain host memory) passes.

    Raises:
        InvalidArgument 107000: naming the thing.
    """
    runtime = device.runtime
    for other in others:
        owner: Any = other if hasattr(other, "runtime") else getattr(other, "device", None)
        if owner is not device and getattr(owner, "runtime", runtime) is not runtime:
            raise fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {other!r} belongs to another Runtime ({owner.runtime.url}) "
                f"than device {device.user_id} ({runtime.url})", ee="EE1006",
                params=(call, "object of another Runtime", "not usable here"),
                hint="use the objects of one Runtime together; copy through NumPy arrays between two",
            )
