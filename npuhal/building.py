"""How the packages are built (pyproject.toml names these commands): with the optional extension, or pure Python.

NPUHAL_PURE=1 in the environment of a build leaves the extension out: the wheel is then one for all machines
(py3-none-any). Without a C compiler, or on an interpreter that the sources refuse, it is left out as well.
"""

from __future__ import annotations

import os

from setuptools.command.bdist_wheel import bdist_wheel  # type: ignore[import-untyped]
from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

VARIABLE = "NPUHAL_PURE"
"""1: no extension."""


def is_pure() -> bool:
    """Return whether this build leaves the extension out."""
    return os.environ.get(VARIABLE) == "1"


class BuildExtensions(build_ext):  # type: ignore[misc]
    """Builds the extension, unless the build is pure; what fails to compile is left out (`optional`)."""

    def run(self) -> None:
        """Build it."""
        if not is_pure():
            super().run()


class Wheel(bdist_wheel):  # type: ignore[misc]
    """Names a pure wheel as one."""

    def finalize_options(self) -> None:
        """Forget the extension before the wheel's tag is worked out."""
        if is_pure():
            self.distribution.ext_modules = None
        super().finalize_options()
