"""Function prototypes of the HAL, and which of them our own runtime cannot do without."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

from npuhal import declarations
from npuhal.layouts import layouts
from npuhal.tuples import NamedTuple


class Arg(NamedTuple):
    """One argument."""

    name: str
    """C name."""
    ctype: Any
    """ctypes type it is passed as."""
    direction: str
    """`in`, `out` or `inout`: what the function does with what a pointer points to."""
    text: str
    """Its type as the tables spell it, pointee included."""


class Prototype(NamedTuple):
    """One function."""

    name: str
    """C name."""
    restype: Any
    """ctypes type of the result (c_int for error codes), or None."""
    args: tuple[Arg, ...]
    """Arguments in order."""
    chapter: str
    """Chapter of the tables."""
    required: bool
    """Whether every generation needs it (see `REQUIRED`)."""
    header: str
    """The header that declares it."""


_STARS = frozenset({"halSqTaskSend", "halCqReportRecv", "halResourceConfig"})
_TWO_STEP = frozenset({"halSqMemGet", "halSqMsgSend", "halCqReportIrqWait", "halCqReportGet", "halReportRelease",
                       "halCqReportRecv"})

REQUIRED: Mapping[str, frozenset[str]] = {
    "": frozenset({
        "drvGetDevNum", "drvGetPlatformInfo", "drvDeviceGetPhyIdByIndex", "drvDeviceStatus", "halGetDeviceInfo",
        "halDeviceOpen", "halDeviceClose", "halTsdrvCtl", "drvMemSmmuQuery", "halMemAlloc", "halMemFree", "halMemCtl",
        "halMemGetInfo", "drvMemcpy", "drvMemsetD8", "drvMemGetAttribute", "drvMemAddressTranslate",
        "drvMemConvertAddr", "drvMemDestroyAddr", "halResourceIdAlloc", "halResourceIdFree",
        "halSqCqAllocate", "halSqCqFree", "halSqCqQuery", "halSqCqConfig",
    }),
    "stars": _STARS,
    "stars_v2": _STARS,
    "stars_small": _STARS,
    "commands": _TWO_STEP,
    "v100": _STARS,
    "v200": _STARS,
    "v201": _STARS,
    "arch5162": _STARS,
    "hwts": _TWO_STEP,
}  # fmt: skip
"""What our runtime calls without asking first: for every chip (key ""), and in addition for each generation."""


@cache
def prototype(name: str, version: int = declarations.FIRST_VERSION) -> Prototype:
    """Return the prototype of a function as the header of `version` has it; KeyError if the tables do not know it."""
    row = declarations.find(name, ("function",), version)
    if row is None:
        raise KeyError(name)
    types = layouts(version)
    args = tuple(
        Arg(item.name, types.argument_type(item.type), item.direction, item.type)
        for item in declarations.parse_items(row.body)
    )
    return Prototype(name, result_type(row.result), args, row.chapter, name in REQUIRED[""], row.header)


def chapter_of(name: str, version: int = declarations.FIRST_VERSION) -> str:
    """Return the chapter of a function; KeyError if the tables do not know it. No types are made for that."""
    row = declarations.find(name, ("function",), version)
    if row is None:
        raise KeyError(name)
    return row.chapter


def result_type(text: str) -> Any:
    """Return the ctypes type of a result; a C string comes back as bytes."""
    return ctypes.c_char_p if text == "char*" else layouts().argument_type(text)


def names() -> list[str]:
    """Return the name of every function in the tables."""
    return list(dict.fromkeys(row.name for row in declarations.all_rows("function")))
