"""Measures the ABI of HAL headers with a C compiler, as a document that `npuhal.abi.check` understands.

The probe prints size, alignment and field offsets of every struct in the tables and the value of every enumerator, as
far as the headers at hand declare them. Bit-fields have no offset in C and are left out.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from npuhal import declarations
from npuhal.abi import Bindings, Difference, Report, check
from npuhal.compiler import find_compiler
from npuhal.declarations import FIRST_VERSION, Item, Row
from npuhal.errors import NpuhalError

_ERROR = re.compile(r"^row:(?P<key>.+?):\d+(?::\d+)?: error: (?P<text>.*)$", re.MULTILINE)
_VERSION_PROBE = 'printf("M __HAL_API_VERSION %lld\\n", (long long)__HAL_API_VERSION);'


class MeasureError(NpuhalError):
    """The headers could not be measured."""


def measure_and_check(folder: Path, compiler: str | None = None) -> Report:
    """Measure the headers in a folder and compare; what does not compile against them is a difference.

    Raises MeasureError if there is no compiler or none of the tables' headers is in the folder.
    """
    compiler = compiler or find_compiler()
    if compiler is None:
        raise MeasureError("no C compiler found: install gcc or clang, or name one in CC")
    headers = sorted({row.header for row in _rows() if (folder / row.header).is_file()})
    if not headers:
        raise MeasureError(
            f"{folder}: none of the HAL's headers is here (for example ascend_hal_base.h): name the folder that "
            "holds it, usually pkg_inc of the driver or include/driver of the toolkit"
        )
    build = _Build(compiler, folder, headers)
    version, _ = build.run({"version": (_VERSION_PROBE,)})
    number = int(version.split()[-1]) if version else FIRST_VERSION
    rows = {_key(row): row for row in _rows(number) if row.header in headers}
    output, failed = build.run({key: _statements(row, tagged=True) for key, row in rows.items()})
    # The header may know a struct by its typedef alone: then there is no such tag, and the plain name is tried.
    untagged = {key: rows[key] for key, complaint in failed.items() if "incomplete" in complaint}
    more, failed_again = build.run({key: _statements(row, tagged=False) for key, row in untagged.items()})
    report = check(_document(output + more), Bindings(number))
    for key in [key for key in failed if key not in untagged or key in failed_again]:
        row, complaint = rows[key], failed_again.get(key, failed[key])
        report.add([Difference(row.kind, row.name, "declaration", complaint, "as in the tables")])
    return report


class _Build:
    """Compiles and runs probes against one set of headers."""

    def __init__(self, compiler: str, folder: Path, headers: Sequence[str]) -> None:
        self.compiler = compiler
        self.folder = folder
        self.headers = headers

    def run(self, probes: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, str]]:
        """Return what the probes print, and the compiler's first complaint about each one it refused."""
        wanted = dict(probes)
        failed: dict[str, str] = {}
        with tempfile.TemporaryDirectory() as scratch:
            source, program = Path(scratch, "probe.c"), Path(scratch, "probe")
            while wanted:
                source.write_text(self._source(wanted), encoding="utf-8")
                command = [self.compiler, "-w", "-I", str(self.folder), str(source), "-o", str(program)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True)
                    return printed.stdout, failed
                complaints: dict[str, str] = {}
                for match in _ERROR.finditer(done.stderr):
                    complaints.setdefault(match["key"], match["text"])
                if not complaints:
                    raise MeasureError(f"{self.compiler} cannot compile the headers in {self.folder}:\n{done.stderr}")
                failed.update(complaints)
                wanted = {key: lines for key, lines in wanted.items() if key not in failed}
        return "", failed

    def _source(self, probes: Mapping[str, Sequence[str]]) -> str:
        includes = [f'#include "{header}"' for header in self.headers]
        lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <stdio.h>", "#include <sys/time.h>", *includes]
        lines.append("int main(void) {")
        for key, statements in probes.items():
            lines += [f'#line 1 "row:{key}"', "{ " + " ".join(statements) + " }"]
        return "\n".join([*lines, "return 0; }", ""])


def _rows(version: int | None = None) -> Iterator[Row]:
    """Return the rows that hold at a version of the headers; None: those of the first, and what newer ones add."""
    for row in declarations.all_rows("struct", "union", "enum"):
        if version is not None and row.since > version:
            continue
        if not row.name or declarations.find(row.name, (row.kind,), version or FIRST_VERSION) == row:
            yield row


def _key(row: Row) -> str:
    return f"{row.kind} {row.name or row.body[:40].split(',')[0].strip()}"


def _statements(row: Row, tagged: bool) -> list[str]:
    if row.kind == "enum":
        return [f'printf("E {name} %lld\\n", (long long){name});' for name in declarations.parse_values(row.body)]
    lines = [
        f"typedef {f'{row.kind} ' if tagged else ''}{row.name} probed;",
        f'printf("S {row.name} {row.kind} %zu %zu\\n", sizeof(probed), _Alignof(probed));',
    ]
    for name, is_open in _plain_fields(declarations.parse_items(row.body)):
        size = "(size_t)0" if is_open else f"sizeof(((probed *)0)->{name})"
        lines.append(f'printf("F {row.name} {name} %zu %zu\\n", offsetof(probed, {name}), {size});')
    return lines


def _plain_fields(items: tuple[Item, ...]) -> Iterator[tuple[str, bool]]:
    """Yield (name, is an open array) of the fields that have an address, those of anonymous members included."""
    for item in items:
        if item.name:
            yield item.name, item.type.endswith("[0]")
        elif item.type in ("struct", "union"):
            yield from _plain_fields(item.items)


def _document(output: str) -> dict[str, Any]:
    structs: dict[str, dict[str, Any]] = {}
    values: dict[str, int] = {}
    for line in output.splitlines():
        mark, name, *rest = line.split()
        if mark == "S":
            kind, size, align = rest
            structs[name] = {"kind": kind, "size": int(size), "align": int(align), "fields": [], "partial": True}
        elif mark == "F":
            field, offset, size = rest
            structs[name]["fields"].append({"name": field, "offset": int(offset), "size": int(size)})
        else:
            values[name] = int(rest[0])
    return {"structs": structs, "macros_int": values}
