"""What an installed torch_npu asks of CANN: libraries, symbols, and operators that it looks up by name."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from chips.binary.dynamic import Dynamic, read_dynamic
from npuhal.compiler import BuildError
from npuhal.records import dataclass

_OPERATOR = re.compile(rb"\0(aclnn[A-Z]\w*)(?=\0)")
_LOADED_BY_NAME = ("libopapi.so", "libruntime.so")
"""Libraries that torch_npu opens by name: no file says so."""
_OF_PYTHON = re.compile(r"_?Py[A-Z_]")


@dataclass(frozen=True, slots=True)
class Wheel:
    """What a wheel wants of CANN."""

    folder: Path
    libraries: tuple[str, ...]
    """Names of libraries that neither it nor torch has."""
    symbols: frozenset[str]
    """Symbols that some library of its must find there."""
    versions: tuple[str, ...]
    """Names of symbol versions that it wants of them."""
    operators: frozenset[str]
    """aclnn functions that it looks up by name."""


def installed(module: str) -> Path:
    """Return the folder of an installed package, without importing it.

    Raises:
        BuildError: it is not there.
    """
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        names = {"torch_npu": "torch-npu"}
        raise BuildError(
            f"{module} is not installed for {sys.executable}: pip install {names.get(module, module)} "
            "(docs/torch.md names versions that fit each other)"
        )
    return Path(next(iter(found.submodule_search_locations)))


def read_wheel() -> Wheel:
    """Read the torch_npu of this interpreter.

    Raises:
        BuildError: torch_npu or torch is not installed.
        BinaryError: a library of theirs is damaged.
    """
    folder, torch = installed("torch_npu"), installed("torch") / "lib"
    own = {path: read_dynamic(path) for path in sorted(folder.rglob("*.so"))}
    system = system_folder()
    libraries = missing_libraries(own.values(), (folder / "lib", torch, folder.with_name("torch_npu.libs"), system))
    others = [*torch.glob("*.so*"), *(path for name in _needed(own.values()) if (path := system / name).is_file())]
    defined = frozenset().union(*(each.defined for each in (*own.values(), *map(read_dynamic, others))))
    wanted = {name for each in own.values() for name, source in each.undefined.items()
              if not source or source in libraries}  # fmt: skip
    symbols = {name for name in wanted - defined if not _OF_PYTHON.match(name)}
    versions = {name for each in own.values() for source in libraries for name in each.versions.get(source, ())}
    return Wheel(folder, libraries, frozenset(symbols), tuple(sorted(versions)), operators_of(folder))


def operators_of(folder: Path) -> frozenset[str]:
    """Return the aclnn functions that the libraries of a wheel look up by name."""
    names = {match[1].decode() for path in folder.rglob("*.so") for match in _OPERATOR.finditer(path.read_bytes())}
    return frozenset(name for name in names if not name.endswith("GetWorkspaceSize"))


def missing_libraries(objects: Iterable[Dynamic], folders: Iterable[Path]) -> tuple[str, ...]:
    """Return libraries that objects need and that are in none of some folders, nor objects themselves.

    Objects name versions of libraries of compilers; of CANN's they name none.
    """
    objects, folders = list(objects), list(folders)
    own = {each.soname for each in objects} | {name for each in objects for name in each.versions}
    missing = [name for name in _needed(objects) if name not in own and not any((f / name).exists() for f in folders)]
    return tuple(dict.fromkeys((*missing, *_LOADED_BY_NAME)))


def _needed(objects: Iterable[Dynamic]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in objects for name in each.libraries))


def system_folder() -> Path:
    """Return the folder of this process's C library, where the others of the system are."""
    found = re.search(r"(/\S*)/libc\.so\.6$", Path("/proc/self/maps").read_text(), re.MULTILINE)
    if found is None:
        raise BuildError("this process has no libc.so.6: torch_npu is made for Linux with glibc")
    return Path(found[1])
