"""Objects at the entry of the API: streams, events, buffers, functions; anything else gets an error with its name."""

from __future__ import annotations

from npuhal.words import shown
from runtime.errors.raising import fault

__all__ = ["STREAMS", "check_callable", "check_instance"]

STREAMS = "pass a stream from device.create_stream(), or leave it out for the device's default stream"
"""Where streams come from."""


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


def _refuse(call: str, name: str, value: object, hint: str, *kinds: str) -> None:
    needed = " or ".join(kinds)
    raise fault(
        "ACL_ERROR_RT_PARAM_INVALID",
        f"{call}: {name} is {shown(value)}, a {type(value).__name__}; it must be a {needed}",
        ee="EE1003", params=(call, shown(value), name, f"a {needed}"), hint=hint,
    )
