"""What a code or name from any level means, how it becomes a public result, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from npuhal import constants
from npuhal import errors as hal_errors
from npuhal.records import dataclass, replace
from npuhal.words import close_names
from runtime.errors import tables

__all__ = ["Explanation", "UnknownCode", "explain", "find"]

# Users write names with or without what comes before the telling part.
_PREFIXES: Final = ("", "ACL_ERROR_", "ACL_ERROR_RT_", "RT_ERROR_", "DRV_ERROR_", "TS_ERROR_", "TS_")
_SHOWN_NEIGHBOURS: Final = 4


class UnknownCode(LookupError):
    """No table has this code; `hint` names the ones nearest in spelling."""

    def __init__(self, text: str, near: list[str]) -> None:
        super().__init__(f"no error code or message is called '{text}'")
        self.hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else "give a public code (107002, ACL_ERROR_...), a message (EE1023), a driver code (DRV_ERROR_...), "
            "an inner code (RT_ERROR_..., 0x07030002) or a device code (TS_ERROR_..., 0x26)"
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one code means.

    Attributes:
        kind: public, message, inner, driver or device.
        number: as it is usually written: decimal for public and driver codes, hexadecimal for inner and device codes.
        family, layer: the fault class it raises and the layer that answers; "" for messages.
        chain: how it travels up, lowest first: driver or device code, inner code, public code.
        also: what else the text could mean; a bare small number is a driver code and a device code.
    """

    kind: str
    number: str
    name: str
    family: str
    layer: str
    cause: str
    cure: str
    chain: tuple[str, ...] = ()
    also: tuple[Explanation, ...] = ()


def explain(text: str) -> Explanation:
    """Explain a code given as number, hexadecimal number or name, in any letter case.

    Raises:
        UnknownCode: no table has it; its hint names near ones.
    """
    wanted = text.strip()
    found = list(_by_number(int(wanted, 0)) if _is_number(wanted) else _by_name(wanted.upper()))
    if wanted.lower().startswith("0x"):  # device codes are written so, driver codes are not
        found.sort(key=lambda explanation: explanation.kind == "driver")
    if not found:
        raise UnknownCode(wanted, _near(wanted.upper()))
    first, *others = found
    return replace(first, also=tuple(others))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"0[xX][0-9a-fA-F]+|[1-9][0-9]*|0", text) is not None


def _by_number(number: int) -> Iterator[Explanation]:
    if number in tables.public_codes():
        yield _public(tables.public_codes()[number])
    for inner in tables.internal_codes().values():
        if inner.value == number and number:
            yield _inner(inner)
    if number and number in _driver_codes():
        yield _driver(_driver_codes()[number], number)
    if number and number in tables.device_codes():
        yield _device(tables.device_codes()[number])


def _by_name(name: str) -> Iterator[Explanation]:
    message = tables.user_messages().get(name)
    if message is not None:
        parameters = ", ".join(message.parameters)
        yield Explanation("message", name, name, "", "", message.text, message.cure, (f"parameters: {parameters}",))
        return
    driver = {called: number for number, called in _driver_codes().items()}
    device = {row.name: row for row in tables.device_codes().values()}
    seen = set()
    for full in (prefix + name for prefix in _PREFIXES):
        if full in tables.public_names() and full not in seen:
            yield _public(tables.public_codes()[tables.public_names()[full]])
        elif full in tables.internal_codes():
            yield _inner(tables.internal_codes()[full])
        elif full in driver:
            yield _driver(full, driver[full])
        elif full in device:
            yield _device(device[full])
        seen.add(full)


def _public(row: tables.PublicCode) -> Explanation:
    sources = [inner.name for inner in tables.internal_codes().values() if inner.public == row.code and row.code]
    chain = []
    if sources:
        more = len(sources) - _SHOWN_NEIGHBOURS
        shown = ", ".join(sources[:_SHOWN_NEIGHBOURS]) + (f" and {more} more" if more > 0 else "")
        chain.append(f"made from {shown}")
    return Explanation("public", str(row.code), row.name, row.family, row.layer, row.cause, row.cure, tuple(chain))


def _inner(row: tables.InternalCode) -> Explanation:
    public = tables.public_codes()[row.public]
    chain = (f"{row.value:#010x} {row.name}", f"{public.code} {public.name}")
    number = f"{row.value:#010x}"
    return Explanation("inner", number, row.name, public.family, public.layer, public.cause, public.cure, chain)


def _driver(name: str, number: int) -> Explanation:
    kind = hal_errors.error_class(number)
    inner = tables.hal_code(name)
    public = tables.public_codes()[inner.public]
    chain = (f"{number} {name}", f"{inner.value:#010x} {inner.name}", f"{public.code} {public.name}")
    cause = public.cause if kind is hal_errors.HalError else (kind.__doc__ or "").partition("\n")[0]
    cure = hal_errors.HINTS.get(name, kind.cure)
    return Explanation("driver", str(number), name, public.family, "driver", cause, cure, chain)


def _device(row: tables.DeviceCode) -> Explanation:
    inner = tables.internal_codes()[row.internal]
    public = tables.public_codes()[row.public]
    message = tables.message_families()[row.family]
    chain = (
        f"{row.value:#x} {row.name} (filed under {message})",
        f"{inner.value:#010x} {inner.name}",
        f"{public.code} {public.name}",
    )
    number = f"{row.value:#x}"
    return Explanation("device", number, row.name, public.family, public.layer, public.cause, public.cure, chain)


def _driver_codes() -> dict[int, str]:
    return {number: name for name, number in constants.enum("drvError_t").items()}


def find(words: str) -> list[Explanation]:
    """Return the codes and messages whose name, cause or cure contains each of some words, in any letter case.

    Public codes come first, then messages, driver codes and device codes.
    """
    wanted = words.lower().split()
    everything = [
        *map(_public, tables.public_codes().values()),
        *(next(_by_name(name)) for name in tables.user_messages()),
        *(_driver(name, number) for number, name in _driver_codes().items() if number),
        *map(_device, tables.device_codes().values()),
    ]
    return [
        each for each in everything
        if all(word in f"{each.name} {each.cause} {each.cure}".replace("_", " ").lower() for word in wanted)
    ] if wanted else []


def _near(text: str) -> list[str]:
    if _is_number(text):
        return []  # a number near another one means nothing
    names = (
        *tables.public_names(),
        *tables.internal_codes(),
        *_driver_codes().values(),
        *(row.name for row in tables.device_codes().values()),
    )
    # Both with and without what comes before the telling part, so that a slip in a short form is found too.
    forms = {name.removeprefix(prefix): name for prefix in reversed(_PREFIXES) for name in reversed(names)}
    forms.update({number: number for number in tables.user_messages()})
    return list(dict.fromkeys(forms[match] for match in close_names(text, forms, 3, 0.75)))
