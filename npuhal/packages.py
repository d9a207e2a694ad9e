"""Are `runtime`, `chips` and `fakes` the packages that came with this one? Other software uses such general names too.

A file `runtime.py` beside a script, or a package of that name earlier on the path, is found first by `import runtime`.
"""

from __future__ import annotations

import importlib.util
import os

from npuhal.errors import ForeignPackage

SIBLINGS = ("runtime", "chips", "fakes")


def foreign(*names: str) -> dict[str, str]:
    """Return which of the names lead elsewhere, each with the path that is found instead ("" for none at all)."""
    home = _home()
    here = {name: os.path.join(home, name, "__init__.py") for name in names or SIBLINGS}
    return {name: path for name in here if (path := _found(name)) != here[name]}


def check(*names: str) -> None:
    """Raise ForeignPackage where one of the names, by default any of ours, leads elsewhere."""
    if found := foreign(*names):
        raise ForeignPackage(found, _home())


def _home() -> str:
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


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
    return os.path.realpath(spec.origin)
