"""The code tables: public, inner, driver and device codes, and the user messages; each file is read once, late."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Any, Final, cast

from chips import yaml_file
from npuhal.tuples import NamedTuple

__all__ = [
    "DeviceCode",
    "InternalCode",
    "PublicCode",
    "UserMessage",
    "device_code",
    "device_codes",
    "hal_code",
    "hal_codes",
    "internal_codes",
    "message_families",
    "public_code",
    "public_codes",
    "public_names",
    "user_messages",
]

# Inner codes start here; anything smaller is a public code already (it may come from a user's callback).
_INTERNAL_BASE: Final = 0x07010000
_INTERNAL_ERROR: Final = 507000
_UNLISTED_HAL: Final = "RT_ERROR_DRV_ERR"
_UNLISTED_DEVICE: Final = "RT_ERROR_TSFW_UNKNOWN"
_DEFAULT_FAMILY: Final = "RTS"


class PublicCode(NamedTuple):
    """A public aclError: number, name, the fault family it raises, the layer that answers, its cause and cure."""

    code: int
    name: str
    family: str
    layer: str
    cause: str
    cure: str


class InternalCode(NamedTuple):
    """An inner result code (RT_ERROR_*, 0x07MMNNNN) and the public number it becomes."""

    name: str
    value: int
    public: int


class DeviceCode(NamedTuple):
    """An error the task scheduler reports (TS_*), the inner code it becomes, and the message family it belongs to."""

    name: str
    value: int
    internal: str
    public: int
    family: str


class UserMessage(NamedTuple):
    """A message of the public catalogue: number, parameters in order, and our wording with {parameter} fields."""

    number: str
    parameters: tuple[str, ...]
    text: str
    cure: str

    def render(self, params: tuple[object, ...]) -> str:
        """Return the text with the parameters filled in.

        Raises:
            ValueError: the number of parameters is not the one of this message.
        """
        if len(params) != len(self.parameters):
            expected = ", ".join(self.parameters)
            raise ValueError(f"{self.number} takes {len(self.parameters)} parameters ({expected}), got {len(params)}")
        return self.text.format_map(dict(zip(self.parameters, params, strict=True)))


@cache
def public_codes() -> MappingProxyType[int, PublicCode]:
    """Return every public code by number (acl_base_rt.h, rt_error_codes.h)."""
    table = {code: PublicCode(code, **row) for code, row in _load("codes.yaml")["codes"].items()}
    return MappingProxyType(table)


@cache
def public_names() -> MappingProxyType[str, int]:
    """Return every public name with its number; success has three names."""
    names = {row.name: code for code, row in public_codes().items()}
    names.update(_load("codes.yaml")["aliases"])
    return MappingProxyType(names)


@cache
def internal_codes() -> MappingProxyType[str, InternalCode]:
    """Return every inner code by name."""
    table = {}
    for name, (value, *public) in _load("internal.yaml").items():
        table[name] = InternalCode(name, value, public[0] if public else _INTERNAL_ERROR)
    return MappingProxyType(table)


@cache
def _public_by_value() -> dict[int, int]:
    return {code.value: code.public for code in internal_codes().values()}


@cache
def hal_codes() -> MappingProxyType[str, str]:
    """Return the inner code name of each driver answer (drvError_t) that has one of its own."""
    return MappingProxyType(cast("dict[str, str]", _load("hal.yaml")))


@cache
def device_codes() -> MappingProxyType[int, DeviceCode]:
    """Return every device error by value."""
    table = {}
    for name, (value, internal, *family) in _load("device.yaml").items():
        public = internal_codes()[internal].public
        table[value] = DeviceCode(name, value, internal, public, family[0] if family else _DEFAULT_FAMILY)
    return MappingProxyType(table)


@cache
def user_messages() -> MappingProxyType[str, UserMessage]:
    """Return the message catalogue by number (EE1003, EH0001, ...)."""
    rows = _load("messages.yaml")["messages"].items()
    return MappingProxyType(
        {number: UserMessage(number, tuple(row["parameters"]), row["text"], row["cure"]) for number, row in rows}
    )


@cache
def message_families() -> MappingProxyType[str, str]:
    """Return the message number under which failures of a component are filed, by the component's name."""
    return MappingProxyType(cast("dict[str, str]", _load("messages.yaml")["families"]))


def public_code(internal: int | str) -> int:
    """Return the public number of an inner code, given by value or by RT_ERROR_* name.

    A value below the inner range is public already and passes through; an unlisted inner value is 507000.

    Raises:
        KeyError: there is no inner code of that name.
    """
    if isinstance(internal, str):
        return internal_codes()[internal].public
    if internal < _INTERNAL_BASE:
        return internal
    return _public_by_value().get(internal, _INTERNAL_ERROR)


def hal_code(name: str) -> InternalCode:
    """Return the inner code that a driver answer (DRV_ERROR_*) becomes; unlisted ones are RT_ERROR_DRV_ERR."""
    return internal_codes()[hal_codes().get(name, _UNLISTED_HAL)]


def device_code(ts_code: int) -> DeviceCode:
    """Return what an error code from a completion entry means; an unlisted one counts as an unknown TS error."""
    known = device_codes().get(ts_code)
    if known is not None:
        return known
    public = internal_codes()[_UNLISTED_DEVICE].public
    return DeviceCode(f"unlisted TS code {ts_code:#x}", ts_code, _UNLISTED_DEVICE, public, _DEFAULT_FAMILY)


@cache
def _load(file: str) -> Any:
    return yaml_file.load(yaml_file.beside(__file__, file))
