"""The same as `runtime.capi.aclrt`, under the name that programs know."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Hand on what `runtime.capi.aclrt` has."""
    return getattr(importlib.import_module("runtime.capi.aclrt"), name)


def __dir__() -> list[str]:
    return dir(importlib.import_module("runtime.capi.aclrt"))
