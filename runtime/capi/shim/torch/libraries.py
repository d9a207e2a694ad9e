"""Writes the libraries that stand in for CANN under an installed torch_npu (`npuhal shim torch`).

libascendcl.so is the one of `npuhal shim runtime` with what torch_npu wants beside it; each other library is a small
one that leads to it, because torch_npu looks up symbols through any of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from npuhal import release
from npuhal.compiler import c_text, compile_library
from runtime.capi.shim import build, by_name, declarations, stubs
from runtime.capi.shim.torch import calls, operators
from runtime.capi.shim.torch.calls import QUEUE
from runtime.capi.shim.torch.wheel import Wheel, read_wheel

ENVIRONMENT = "env.sh"
HOME = "cann"
"""The folder that stands for an installation of CANN: torch_npu looks for files there."""
_HERE = Path(__file__).parent
_SWITCHES = "data/ascendcl_config/swFeatureList.json"
_VERSION_FILE = "share/info/runtime/version.info"
_VERSION = "8.5.0"
"""Of CANN; torch_npu compares it to know what it may use, and looks whether functions are there."""
_START = "import runtime.capi.shim.torch.session as session; session.start()"
_DEFINED = re.compile(r"^\w[\w *]*?\b(acl\w+)\(", re.MULTILINE)
_MADE = re.compile(r"^(ARRAY|LIST|DESTROY|ATTRIBUTE|ATTRIBUTE_LIST)\((\w+),", re.MULTILINE)
_NAMES = {
    "ARRAY": "aclCreate{}Array", "LIST": "aclCreate{}List", "DESTROY": "aclDestroy{}", "ATTRIBUTE": "aclopSetAttr{}",
    "ATTRIBUTE_LIST": "aclopSetAttrList{}",
}  # fmt: skip


def write(out: Path, url: str) -> list[Path]:
    """Write the libraries, the files that torch_npu reads, and env.sh, into a folder; returns the files.

    Args:
        url: machine that env.sh names.

    Raises:
        BuildError: there is no torch_npu, no compiler, or the compiler fails.
        BinaryError: a library of the wheel is damaged.
    """
    wheel = read_wheel()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="npuhal-shim-") as folder:
        text = Path(folder) / "torch.c"
        text.write_text("\n".join(source(wheel)) + "\n", encoding="ascii")
        options = [f"-DSHIM_START={c_text(_START)}", "-DSHIM_BEFORE=npuhal_torch_gate"]
        options += [f"-Wl,--version-script={_versions(Path(folder), wheel)}"] if wheel.versions else []
        replaced = {each.name for each in calls.functions()}
        library = build.compile_with(out, [text, _HERE / "objects.c", _HERE / "gate.c"], *options, without=replaced)
        empty = Path(folder) / "empty.c"
        empty.write_text("typedef int nothing;\n", encoding="ascii")
        others = [out / name for name in wheel.libraries if name != by_name.LIBRARY]
        for other in others:
            compile_library(other, [empty], f"-L{out}", "-Wl,--no-as-needed", "-lascendcl", "-Wl,-rpath,$ORIGIN")
    return [library, *others, *_files(out / HOME), _environment(out, url)]


def source(wheel: Wheel) -> Iterator[str]:
    """Iterate over lines of C: what a wheel wants beside the C API and the objects of operators."""
    yield "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>"
    yield '#include "library.h"'
    yield "int64_t npuhal_torch_absent(const char *name);"
    yield "int npuhal_torch_prepare(const char *, const char *, const uint64_t *, uint64_t *, void **);"
    yield "int npuhal_torch_run(void *executor, void *stream);"
    for number, function in enumerate(calls.functions()):
        yield from stubs.stub(calls.FIRST + number, function)
    for operator in operators.aclnn():
        yield from _operator(operator)
    there = {each.name for each in (*declarations.functions(), *calls.functions())} | in_objects()
    known = {operator.name for operator in operators.aclnn()}
    for name in sorted(wheel.symbols - there):
        yield from _absent(name)
    for name in sorted(wheel.operators - known):
        yield from _absent(f"{name}GetWorkspaceSize", name)
        yield from _absent(name)


def in_objects() -> frozenset[str]:
    """Return the names of the functions of objects.c."""
    text = (_HERE / "objects.c").read_text(encoding="ascii")
    made = {_NAMES[kind].format(name) for kind, name in _MADE.findall(text)}
    return frozenset(made | set(_DEFINED.findall(text)))


def _operator(operator: operators.Operator) -> Iterator[str]:
    kinds = operator.kinds
    parameters = [f"{'double' if kind == 'd' else 'float' if kind == 'f' else 'uint64_t'} a{at}"
                  for at, kind in enumerate(kinds)]  # fmt: skip
    yield f"int {operator.name}GetWorkspaceSize({', '.join([*parameters, 'uint64_t *size', 'void **executor'])}) {{"
    yield f"    uint64_t args[{len(kinds) or 1}];"
    for at, kind in enumerate(kinds):
        if kind in "df":
            yield f"    {{ double each = a{at}; memcpy(args + {at}, &each, 8); }}"
        else:
            yield f"    args[{at}] = a{at};"
    name, letters = c_text(operator.name), c_text(kinds.replace("f", "d"))
    yield f"    return npuhal_torch_prepare({name}, {letters}, args, size, executor);"
    yield "}"
    yield f"int {operator.name}(void *space, uint64_t size, void *executor, void *stream) {{"
    yield "    (void)space, (void)size;"
    yield "    return npuhal_torch_run(executor, stream);"
    yield "}"


def _absent(symbol: str, name: str = "") -> Iterator[str]:
    """Iterate over a function that says that it is not there: by a code, or where C++ expects an object by the end."""
    yield f"int64_t {symbol}(void);"
    if symbol.startswith("_Z"):
        yield f"int64_t {symbol}(void) {{ npuhal_torch_absent({c_text(symbol)}); abort(); }}"
    else:
        yield f"int64_t {symbol}(void) {{ return npuhal_torch_absent({c_text(name or symbol)}); }}"


def _versions(folder: Path, wheel: Wheel) -> Path:
    script = folder / "versions"
    script.write_text("".join(f"{name} {{ }};\n" for name in wheel.versions) + "{ global: *; };\n", encoding="ascii")
    return script


def _files(home: Path) -> list[Path]:
    made = {
        _SWITCHES: json.dumps({}),
        _VERSION_FILE: f"Version={_VERSION}\n",
        "runtime/version.info": f"Version={_VERSION}\n",
        "compiler/version.info": f"Version={_VERSION}\n",
    }
    for name, text in made.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="ascii")
    return [home / name for name in made]


def variables(out: Path) -> dict[str, str]:
    """Return the variables that a process with torch_npu needs, beside NPUHAL_URL."""
    folder, home = str(out.resolve()), str((out / HOME).resolve())
    path = os.environ.get("LD_LIBRARY_PATH", "")
    kept = [each for each in path.split(os.pathsep) if each and each != folder]
    return {
        "LD_LIBRARY_PATH": os.pathsep.join([folder, *kept]), "ASCEND_HOME_PATH": home, "ASCEND_OPP_PATH": home,
        "NPUHAL_TORCH": folder,
    }  # fmt: skip


def _environment(out: Path, url: str) -> Path:
    folder = shlex.quote(str(out.resolve()))
    lines = [
        f"# written by npuhal {release.__version__} for {sys.executable}; use: source {ENVIRONMENT}",
        f"export LD_LIBRARY_PATH={folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}",
        *(f"export {name}={shlex.quote(value)}" for name, value in variables(out).items() if name != "LD_LIBRARY_PATH"),
        f"export {QUEUE}=${{{QUEUE}:-0}}  # 1: operators are submitted by a thread of torch_npu's",
        f"export NPUHAL_URL=${{NPUHAL_URL:-{shlex.quote(url)}}}",
    ]
    path = out / ENVIRONMENT
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def uncomputed(names: Iterable[str]) -> list[str]:
    """Return those of some aclnn functions that no row computes."""
    return sorted(set(names) - {operator.name for operator in operators.aclnn()})
