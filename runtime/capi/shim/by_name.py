"""Lets Python programs load libascendcl.so by its name where no such library is installed.

Apart from `build`, which makes one: most programs never ask.
"""

from __future__ import annotations

import ctypes
import os

LIBRARY = "libascendcl.so"
ALIAS = "libacl_rt.so"
"""Under this name the runtime's part of the C API is linked."""


def install() -> None:
    """Let `ctypes.CDLL("libascendcl.so")` in this process find the library, made on first use."""
    loader = ctypes.CDLL.__init__

    def load(self: ctypes.CDLL, name: str | None, *rest: object, **options: object) -> None:
        loader(self, _found(name) if name in (LIBRARY, ALIAS) else name, *rest, **options)  # type: ignore[arg-type]

    ctypes.CDLL.__init__ = load  # type: ignore[method-assign]


def _found(name: str) -> str:
    """Return the path of a library for this interpreter; OSError, as of a missing one, where none can be made."""
    if folder := os.environ.get("NPUHAL_TORCH"):
        return os.path.join(folder, LIBRARY)
    from npuhal.compiler import BuildError
    from runtime.capi.shim import build

    try:
        return str(build.provide())
    except BuildError as problem:
        raise OSError(f"{name}: {problem}") from None
