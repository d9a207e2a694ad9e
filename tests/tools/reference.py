"""What the reference pages of the site are about: the objects that they name, and which members of them."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
_ENTRY = re.compile(r"^::: ([\w.]+)\n((?:    .*\n)*)", re.MULTILINE)


def entries() -> dict[str, tuple[Any, list[str]]]:
    """Return what the pages name, by its last name: the object, and the members that are shown (none: all)."""
    found = {}
    for page in sorted(PAGES.glob("*.md")):
        for path, options in _ENTRY.findall(page.read_text(encoding="utf-8") + "\n"):
            shown = (yaml.safe_load(options) or {}).get("options", {}).get("members", []) if options else []
            module, _, name = path.rpartition(".")
            found[name] = (getattr(importlib.import_module(module), name), shown)
    return found


def classes() -> dict[str, type[Any]]:
    """Return the classes by name."""
    return {name: thing for name, (thing, _) in entries().items() if isinstance(thing, type)}


def functions() -> dict[str, Any]:
    """Return the functions by name."""
    return {name: thing for name, (thing, _) in entries().items() if not isinstance(thing, type)}


def members(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the members of a class that are shown, with what holds their documentation."""
    kind, shown = entries()[name]
    for member in shown:
        yield member, inspect.getattr_static(kind, member, None)


def attribute(owner: type[Any], name: str) -> str:
    """Return what the source says of an attribute set in `__init__`: the string behind it."""
    for kind in owner.__mro__:
        found = re.search(rf'self\.{name}\b[^\n]* = [^\n]*\n\s+"""(.*?)"""', _source(kind), re.DOTALL)
        if found:
            return " ".join(found[1].split())
    return ""


def _source(kind: type[Any]) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""
