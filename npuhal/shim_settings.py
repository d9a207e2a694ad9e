"""What programs on a library of `npuhal shim` set by variables: NPUHAL_SHIM_SETUP and NPUHAL_SHIM_STRICT."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from npuhal.errors import NpuhalError

SETUP, STRICT = "NPUHAL_SHIM_SETUP", "NPUHAL_SHIM_STRICT"


def setup() -> Callable[[Any], None] | None:
    """Return what NPUHAL_SHIM_SETUP names, to be called with the machine; the program's folders are searched last.

    Raises:
        NpuhalError: it is not of the form module:function, or there is no such function. What the function raises when
            it is called becomes this error, too; the traceback is on standard error.
    """
    text = os.environ.get(SETUP, "")
    if not text:
        return None
    module, separator, name = text.partition(":")
    if not (module and separator and name):
        raise NpuhalError(f"{SETUP}={text!r} is not of the form module:function")
    sys.path += [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), os.getcwd()]
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise NpuhalError(f"{SETUP}={text!r}: {problem}") from None
    except Exception as problem:
        traceback.print_exc()
        raise NpuhalError(f"{SETUP}={text!r}: the module raises {type(problem).__name__}: {problem}") from None
    if not callable(function):
        raise NpuhalError(f"{SETUP}={text!r}: {name} is {type(function).__name__} and no function")

    def call(machine: Any) -> None:
        try:
            function(machine)
        except Exception as problem:
            traceback.print_exc()
            raise NpuhalError(f"{SETUP}={text!r} raises {type(problem).__name__}: {problem}") from problem

    return call


def strict() -> bool:
    """Return whether reports decide the program's exit status; NpuhalError if NPUHAL_SHIM_STRICT is neither 0 nor 1."""
    text = os.environ.get(STRICT, "")
    if text not in ("", "0", "1"):
        raise NpuhalError(f"{STRICT}={text!r} is neither 0 nor 1")
    return text == "1"
