"""Writes the type stubs from the tables: `python -m npuhal.stubgen` after a change of a table.

`_calls.pyi` gives HalApi one typed method per function, `structs.pyi` one class per struct with its fields, and
`constants.pyi` one name per enumerator or macro. A test keeps them in step with the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npuhal import declarations, prototypes
from npuhal.declarations import FIRST_VERSION, Item, Row
from npuhal.layouts import OPAQUE
from npuhal.version import DRIFT_VERSION

_HEAD = "# Written by `python -m npuhal.stubgen` from npuhal/tables; edit those.\n"
_CTYPES = {
    "u8": "c_uint8", "u16": "c_uint16", "u32": "c_uint32", "u64": "c_uint64", "i8": "c_int8", "i16": "c_int16",
    "i32": "c_int32", "i64": "c_int64", "f32": "c_float", "bool": "c_bool", "char": "c_char",
}  # fmt: skip
_VALUES = {"f32": "float", "bool": "bool", "char": "bytes"}
_KEYWORDS = frozenset({"in"})


def stubs() -> Mapping[str, str]:
    """Return the text of each stub file by its name."""
    return {"_calls.pyi": _calls(), "structs.pyi": _structs(), "constants.pyi": _constants()}


def write(folder: Path) -> None:
    """Write the stub files into a folder."""
    for name, text in stubs().items():
        (folder / name).write_text(text, encoding="utf-8")


def _calls() -> str:
    lines = [
        _HEAD,
        "from ctypes import *",
        "from ctypes import _CArgObject, _Pointer",
        "from typing import Any, TypeAlias, TypeVar",
        "",
        "from npuhal.structs import *",
        "",
        "_T = TypeVar('_T', bound=Any)",
        "_To: TypeAlias = _T | Array[_T] | _Pointer[_T] | _CArgObject | None",
        "_Address: TypeAlias = int | bytes | c_void_p | Array[Any] | _Pointer[Any] | _CArgObject | None",
        "",
        "class HalCalls:",
    ]
    for name in prototypes.names():
        row = declarations.find(name, ("function",))
        assert row is not None
        arguments = [f"{_safe(item.name)}: {_argument(item.type)}" for item in declarations.parse_items(row.body)]
        newest = declarations.find(name, ("function",), DRIFT_VERSION)
        assert newest is not None
        for item in declarations.parse_items(newest.body)[len(arguments) :]:
            arguments.append(f"{_safe(item.name)}: {_argument(item.type)} = ...")
        signature = ", ".join(["self", *arguments, "/"])
        lines.append(f"    def {name}({signature}) -> {_result(row.result)}: ...")
    return "\n".join(lines) + "\n"


def _structs() -> str:
    lines = [_HEAD, "from ctypes import *", "from typing import Any", "", "def names() -> list[str]: ..."]
    for row in declarations.all_rows("struct", "union"):
        if row.since != FIRST_VERSION and declarations.find(row.name, ("struct", "union")) != row:
            continue
        lines += ["", f"class {row.name}({'Union' if row.kind == 'union' else 'Structure'}):"]
        lines += [f"    {name}: {kind}" for name, kind in _fields(declarations.parse_items(row.body))]
        if row.alias:
            lines.append(f"{row.alias} = {row.name}")
    return "\n".join(lines) + "\n"


def _constants() -> str:
    lines = [_HEAD, "def names() -> list[str]: ...", "def enum(name: str) -> dict[str, int]: ...", ""]
    kinds: dict[str, str] = {}
    for row in declarations.all_rows("enum", "macros"):
        for name, value in declarations.parse_values(row.body).items():
            kinds.setdefault(name, type(value).__name__)
    lines += [f"{name}: {kind}" for name, kind in kinds.items()]
    return "\n".join(lines) + "\n"


def _fields(items: tuple[Item, ...]) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    for item in items:
        if not item.items:
            fields.append((item.name, _field(item.type)))
        elif item.type not in ("struct", "union"):
            fields += [(part.name, "int") for part in item.items]
        elif item.name:
            fields.append((item.name, "Array[Any]" if item.repeat > 1 else "Any"))
        else:
            fields += _fields(item.items)
    return fields


def _field(text: str) -> str:
    if text.endswith("*"):
        return "int | None"
    base, bracket, _ = text.partition("[")
    if bracket:
        if base == "char":
            return "bytes"
        inner = "c_void_p" if base.endswith("*") else _CTYPES.get(base) or _named(base, "c_int")
        return f"Array[{inner}]"
    return _value(text)


def _value(text: str) -> str:
    return _VALUES.get(text, "int") if text in _CTYPES else _named(text, "int")


def _named(text: str, enum: str) -> str:
    row: Row | None = declarations.find(text, ("struct", "union", "enum", "callback"))
    assert row is not None, text
    return enum if row.kind == "enum" else "Any" if row.kind == "callback" else text


def _argument(text: str) -> str:
    if not text.endswith("*"):
        return _value(text)
    target = text[:-1]
    if target in OPAQUE or target in ("void", "char"):
        return "_Address"
    if target.endswith("*"):
        return "_To[c_void_p]"
    return f"_To[{_CTYPES.get(target) or _named(target, 'c_int')}]"


def _result(text: str) -> str:
    return "None" if text == "void" else "bytes | None" if text == "char*" else _value(text)


def _safe(name: str) -> str:
    return f"{name}_" if name in _KEYWORDS else name


if __name__ == "__main__":
    write(Path(__file__).parent)
