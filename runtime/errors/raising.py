"""Making faults: from a public or inner code, and from an error of the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from runtime.errors import faults, tables

if TYPE_CHECKING:
    from npuhal.errors import HalError

__all__ = ["fault", "from_hal", "user_text"]


def fault(
    code: int | str,
    message: str = "",
    *,
    ee: str = "",
    params: Sequence[object] = (),
    hal: HalError | None = None,
    hint: str = "",
    layer: str = "",
    family: str = "",
    details: Mapping[str, object] = MappingProxyType({}),
) -> faults.RuntimeFault:
    """Return the fault of a code, of the class of its family, ready to be raised.

    Args:
        code: a public number (107002) or name (ACL_ERROR_RT_CONTEXT_NULL), or an inner one (0x07070001,
            RT_ERROR_CONTEXT_NULL).
        message: what happened, with the values; when empty, the user message or the code's usual cause.
        ee, params: number and parameters of the user message to post (EE1003, ...), none by default; without parameters
            the message posts the fault's own text.
        hal: the driver error below this fault.
        hint: what to do; the code's usual cure by default.
        layer: who answers, where it is not the layer that usually does.
        family: the class, where it is another one than the code's usual.
        details: further facts for tools.

    Raises:
        ValueError: the code or the message number is unknown, or the parameters do not fit the message.
    """
    row = _public_row(code)
    posted = _catalogue(ee) if ee else None
    if posted and params and not message:
        message = posted.render(tuple(params))
    made: faults.RuntimeFault = getattr(faults, family or row.family)(
        message or row.cause,
        code=row.code,
        name=row.name,
        layer=layer or row.layer,
        message_id=ee,
        params=params,
        hal_call=hal.call if hal else "",
        hal_code=hal.code if hal else 0,
        hal_name=hal.name if hal else "",
        hint=hint or row.cure,
        details=details,
    )
    made.__cause__ = hal
    return made


def from_hal(error: HalError, doing: str = "") -> faults.RuntimeFault:
    """Return the fault that a driver error becomes; `doing` says what the runtime was about to do."""
    inner = tables.hal_code(error.name)
    what = f"{doing}: " if doing else ""
    detail = f" ({error.detail})" if error.detail else ""
    return fault(
        inner.public,
        f"{what}the driver refused {error.call}{detail}",
        hal=error,
        hint=error.hint,
    )


def user_text(problem: faults.RuntimeFault) -> str:
    """Return what the C API says of a fault: the error's own text, behind the number of the message that it posts."""
    return f"{problem.message_id}: {problem}" if problem.message_id else str(problem)


def _public_row(code: int | str) -> tables.PublicCode:
    number: int | None
    if isinstance(code, int):
        number = tables.public_code(code)
    elif code in tables.public_names():
        number = tables.public_names()[code]
    else:
        inner = tables.internal_codes().get(code)
        number = None if inner is None else inner.public
    row = None if number is None else tables.public_codes().get(number)
    if row is None or row.code == 0:
        raise ValueError(f"{code!r} is no error code: give a public aclError or an inner RT_ERROR number or name")
    return row


def _catalogue(number: str) -> tables.UserMessage:
    message = tables.user_messages().get(number)
    if message is None:
        raise ValueError(f"{number!r} is no user message: see runtime/errors/messages.yaml")
    return message
