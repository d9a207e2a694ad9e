"""Type stubs of pyACL, made from the tables of calls: `python -m tests.tools.acl_stubs` writes them.

Scripts are checked against them with `MYPYPATH=$(python -c "from runtime.api import acl; print(acl.stubs())")`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from runtime.capi import pyacl as acl
from runtime.capi.aclrt.entry import find
from runtime.capi.pyacl.binding import Argument, Row

_WIDTH = 112
HEAD = '"""Types of {module}; made from the tables of calls by tests/tools/acl_stubs.py."""\n\n'
IMPORTS = {
    "Callable[": "from collections.abc import Callable\n",
    "Any": "from typing import Any\n",
    "NDArray": "from numpy.typing import NDArray\n",
}
TYPES = {
    "": "int", "null": "int", "str": "str", "float": "float", "dict": "dict[str, Any]", "any": "Any", "bytes": "bytes",
    "array": "NDArray[Any]", "shape": "tuple[int, ...]", "call": "Callable[..., object]", "list": "list[int]",
    "rows": "list[Any]", "None": "str | None",
}  # fmt: skip
DICTS = ("options", "cfg", "infos", "placeholders")
"""Arguments that are lists of dicts; other lists hold ints."""
ANSWERS = {
    "int": "int", "float": "float", "str": "str | None", "None": "None", "bytes": "bytes", "array": "NDArray[Any]",
    "array_and_ptr": "tuple[int, NDArray[Any]]",
}  # fmt: skip
UNITS = {"_ms": "milliseconds", "_us": "microseconds", "_s": "seconds"}
NAMED_UNITS = {"ms": "milliseconds", "timestamp": "microseconds of the device's clock"} | dict.fromkeys(
    ("size", "count", "dest_max", "max_count", "free", "total", "args_size", "length", "dpitch", "spitch", "width",
     "mem_size", "actual_size", "user_args_size", "param_size", "data_size", "granularity", "desc_size", "offset",
     "output_size"), "bytes",
)  # fmt: skip
NUMBERS = {"acl.rt.get_device_count": ("count",), "acl.rt.get_stream_available_num": ("count",),
           "acl.rt.get_event_avail_num": ("count",), "acl.rt.get_group_count": ("count",),
           "acl.rt.reduce_async": ("count",), "acl.mdl.get_input_dynamic_gear_count": ("count",)}  # fmt: skip
"""Names that elsewhere are sizes and here are numbers of things."""


def written() -> dict[str, str]:
    """Return the text of each stub file by its name."""
    functions: dict[str, list[str]] = {part: [] for part in ("acl", *acl.PARTS)}
    table = acl.table()
    for name, row in sorted((table | acl.missing()).items()):
        functions[_part(name)].append(_function(name, row, acts=name in table))
    files = {part: _file(part, "".join(texts)) for part, texts in functions.items()}
    return {f"{'__init__' if part == 'acl' else part}.pyi": text for part, text in files.items()}


def write(folder: Path) -> None:
    """Write the files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written().items():
        (folder / name).write_text(text, encoding="utf-8")


def _part(name: str) -> str:
    return name.split(".")[1] if name.count(".") == 2 else "acl"


def _file(part: str, body: str) -> str:
    imports = "".join(text for word, text in IMPORTS.items() if word in body)
    if part == "acl":
        imports += "from . import " + ", ".join(f"{name} as {name}" for name in sorted(acl.PARTS)) + "\n"
    return HEAD.format(module="acl" if part == "acl" else f"acl.{part}") + imports + "\n" + body


def _function(name: str, row: Row, *, acts: bool) -> str:
    arguments = ", ".join(_argument(each) for each in row.arguments)
    if row.unchecked:
        arguments = "*given: object"
    lines = "; ".join(_described(name, row, acts=acts))
    text = f'def {name.rpartition(".")[2]}({arguments}{"" if row.unchecked else ", /"}) -> {_gives(row)}:\n'
    refused = _refused(row.function) if acts else ""
    return f'{text}    """{lines}.{refused}"""\n'


def _refused(function: str) -> str:
    """Return the lines on what the C function refuses, in its order."""
    entry = find(function)
    rules = [f"{check.rule} ({check.answer})" for check in entry.checks] if entry is not None else []
    if not rules:
        return ""
    lines = textwrap.wrap(f"Refuses: {'; '.join(rules)}.", _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"\n    {line}" for line in ("", *lines)).replace("\n    \n", "\n\n") + "\n    "


def _argument(argument: Argument) -> str:
    kind = TYPES[argument.kind]
    if argument.kind in ("list", "rows") and argument.name in DICTS:
        kind = "list[dict[str, Any]]"
    return f"{argument.name}: {kind} = ..." if argument.optional else f"{argument.name}: {kind}"


def _gives(row: Row) -> str:
    if row.answer:
        return ANSWERS[row.answer]
    kinds = [TYPES[each.kind] if each.kind != "list" else "list[Any]" for each in row.outputs]
    return f"tuple[{', '.join([*kinds, 'int'])}]" if kinds else "int"


def _described(name: str, row: Row, *, acts: bool) -> Iterator[str]:
    yield row.function or name
    if row.outputs:
        yield f"gives ({', '.join(each.name for each in row.outputs)}, ret)"
    yield from _units(name, (*row.arguments, *row.outputs))
    if not acts:
        yield "not supported here: warns and answers 200001"


def _units(name: str, parts: Iterable[Argument]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for each in parts:
        unit = NAMED_UNITS.get(each.name) or next((text for end, text in UNITS.items() if each.name.endswith(end)), "")
        known = found.setdefault(unit, [])
        if unit and each.name not in NUMBERS.get(name, ()) and each.name not in known:
            known.append(each.name)
    yield from (f"{', '.join(names)} in {unit}" for unit, names in found.items() if names)


if __name__ == "__main__":
    write(acl.stubs() / "acl")
