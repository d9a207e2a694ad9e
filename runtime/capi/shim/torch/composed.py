"""Functions of CPU tensors that operators.yaml uses where torch has none of that form."""

from __future__ import annotations

import importlib
from typing import Any

from runtime.capi.shim.torch.forms import DTYPES

torch: Any = importlib.import_module("torch")
Tensor = Any
"""A CPU tensor; torch is no dependency, so its types are not known when this is checked."""


def dtype(number: int) -> Any:
    """Return torch's type of an aclDataType."""
    return getattr(torch, DTYPES[number])
