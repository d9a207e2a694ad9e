"""Enumerators and macros of the HAL headers by their C names, read on first use: `constants.DRV_NORMAL_TYPE`."""

from __future__ import annotations

from npuhal import declarations


def __getattr__(name: str) -> int | str:
    value = None if name.startswith("__") and name.endswith("__") else declarations.find_value(name)
    if value is None:
        raise AttributeError(f"no constant {name!r} in the HAL tables; npuhal.constants.names() lists them")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(names())


def names() -> list[str]:
    """Return the name of every enumerator and macro."""
    return [name for row in declarations.all_rows("enum", "macros") for name in declarations.parse_values(row.body)]


def enum(name: str) -> dict[str, int]:
    """Return the enumerators of one C enum by its tag or typedef name; KeyError if there is none."""
    row = declarations.find(name, ("enum",))
    if row is None:
        raise KeyError(name)
    return {key: value for key, value in declarations.parse_values(row.body).items() if isinstance(value, int)}
