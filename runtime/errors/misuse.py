"""Advice about calls that succeed and will hurt: a Python warning at the caller's line, and a line in the log.

Loggers of a library say nothing unless they are asked, so what a user has to know is a warning too. Python shows each
line once; `-W error::UserWarning`, filters and pytest treat it as any other.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

__all__ = ["MisuseWarning", "advise", "caller", "warn_at"]

_OWN = ("runtime", "npuhal", "fakes", "chips", "contextlib")
"""Packages whose frames are no user's."""


class MisuseWarning(UserWarning):
    """A call that is made wrongly, and all the same succeeds."""


def advise(log: logging.Logger, text: str) -> None:
    """Warn at the line of the program that called into the packages, and tell a log."""
    log.warning("%s", text)
    warn_at(caller(_OWN), text, MisuseWarning)


def caller(packages: tuple[str, ...]) -> FrameType:
    """Return the innermost frame that belongs to none of these packages."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _belongs(str(frame.f_globals.get("__name__", "")), packages):
        frame = frame.f_back
    return frame or sys._getframe(0)


def _belongs(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def warn_at(frame: FrameType, text: str, category: type[Warning]) -> None:
    """Warn at the line of a frame; once per line, unless filters say otherwise."""
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__") or "<unknown>"
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, module, registry)
