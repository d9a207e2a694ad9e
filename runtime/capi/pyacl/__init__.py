"""pyACL: `import acl` as scripts for Ascend devices know it, on top of this runtime.

Nothing here takes the name `acl` by itself: `npuhal run script.py` does, and `install()`. The calls are loaded with the
module, which a program under `npuhal run` need not import. Handles are ints, outputs come first and the code last,
arguments are positional (see `calls.yaml` for every call). 64-bit values are returned whole where the original cuts
them to 32 bits (get_device_info, get_devices_topo). `acl.mdl.ri_*` are additions: graph capture, which the original
does not wrap.

With `NPUHAL_STRICT=1` the module warns of calls that are made wrongly (see `runtime.capi.pyacl.strict`).
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips import yaml_file

if TYPE_CHECKING:
    from runtime.capi.pyacl.binding import Function, Row

PARTS = ("rt", "mdl", "media", "op", "blas", "util", "prof", "himpi", "fv")
"""Modules below `acl`."""


def table() -> dict[str, Row]:
    """Return the calls that act, by their full name (`acl.rt.malloc`)."""
    return dict(_rows(_read("calls.yaml")))


def missing() -> dict[str, Row]:
    """Return the calls that only answer that they are not supported, by their full name."""
    return dict(_rows(_read("absent.yaml")))


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml_file.load(Path(__file__).with_name(name))
    return found


def _rows(parts: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    from runtime.capi.pyacl.binding import Row

    for part, calls in parts.items():
        prefix = "acl." if part == "acl" else f"acl.{part}."
        yield from ((prefix + name, Row.read(text)) for name, text in calls.items())


@cache
def module() -> types.ModuleType:
    """Return the module `acl` with its parts as attributes; it is made once."""
    from runtime.capi.pyacl import own, strict
    from runtime.capi.pyacl.binding import absent, bind

    root = types.ModuleType("acl", "pyACL on npuhal.")
    root.__path__ = []  # a package, so that `import acl.rt` works
    for part in PARTS:
        setattr(root, part, types.ModuleType(f"acl.{part}", f"acl.{part} on npuhal."))
    special = own.functions(root)
    made: dict[str, Function] = {name: absent(name, row) for name, row in missing().items()}
    rows = table()
    for name, row in rows.items():
        function = special.get(name.removeprefix("acl."))
        made[name] = bind(name, row) if function is None else _checked(name, row, function)
    if os.environ.get(strict.VARIABLE) == "1":
        made |= strict.watch({name: (made[name], row) for name, row in rows.items()})
    for name, function in made.items():
        part, _, last = name.removeprefix("acl.").rpartition(".")
        setattr(getattr(root, part) if part else root, last, function)
    return root


def _checked(name: str, row: Row, function: Function) -> Function:
    from runtime.capi.pyacl import own
    from runtime.capi.pyacl.binding import named, read_arguments

    def call(*given: Any) -> Any:
        return function(*given) if name in own.UNREAD else function(*read_arguments(name, row, given))

    return named(call, name, f"{name}\n\n{row.function}: {function.__doc__ or ''}")


def install() -> types.ModuleType:
    """Make `import acl` give this module in the present process, parts included; returns it."""
    root = module()
    sys.modules["acl"] = root
    for part in PARTS:
        sys.modules[f"acl.{part}"] = getattr(root, part)
    return root


def offer() -> None:
    """Make `import acl` give this module in the present process, too, but make it only when a program imports it."""
    if "acl" in sys.modules:
        install()
    elif _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _Finder:
    """Finds `acl` and its parts before any file of such a name, and gives the module that is made once."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module comes from, None for all that is not `acl`."""
        root, _, part = name.partition(".")
        if root != "acl" or (part and part not in PARTS):
            return None
        return ModuleSpec(name, self, origin="npuhal", is_package=not part)  # type: ignore[arg-type]  # no load_module

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return the module of a name that `find_spec` has found."""
        part = spec.name.partition(".")[2]
        made: types.ModuleType = getattr(module(), part) if part else module()
        return made

    def exec_module(self, made: types.ModuleType) -> None:
        """Do nothing: the module is whole."""


_FINDER = _Finder()


def stubs() -> Path:
    """Return the folder with the type stubs of `acl`: put it into MYPYPATH to have scripts checked."""
    from importlib import resources

    return Path(str(resources.files(__package__))) / "stubs"


__all__ = ["PARTS", "install", "missing", "module", "offer", "stubs", "table"]
