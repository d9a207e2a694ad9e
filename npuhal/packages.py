"""Are `runtime`, `chips` and `fakes` the packages that came with this one? Other software uses such general names too.

A file `runtime.py` beside a script, or a package of that name earlier on the path, is found first by `import runtime`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from npuhal.errors import ForeignPackage

SIBLINGS = ("runtime", "chips", "fakes")


def foreign(*names: str) -> dict[str, str]:
    """Return which of the names lead elsewhere, each with the path that is found instead ("" for none at all)."""
    home = Path(__file__).resolve().parent.parent
    return {name: path for name in names or SIBLINGS if (path := _found(name)) != str(home / name / "__init__.py")}


def check(*names: str) -> None:
    """Raise ForeignPackage where one of the names, by default any of ours, leads elsewhere."""
    if found := foreign(*names):
        raise ForeignPackage(found, str(Path(__file__).resolve().parent.parent))


def _found(name: str) -> str:
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # somebody put an object without a spec into sys.modules
        return "an object in sys.modules"
    if spec is None:
        return ""
    if spec.origin is None or not spec.has_location:
        folders = list(spec.submodule_search_locations or ())
        return folders[0] if folders else str(spec.origin)
    return str(Path(spec.origin).resolve())
