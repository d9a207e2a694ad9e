"""Kernel files for cores that a device has not: one check, for every way in.

The Python API refuses such a file, unless it is told to take it. The C API and pyACL take it, as the vendor's runtime
does, with a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.binary import Program
from chips.binary.cores import core_of_chip
from npuhal.late import logger
from runtime import errors
from runtime.errors.misuse import advise

if TYPE_CHECKING:
    from chips import Chip
    from chips.binary.cores import Core
    from runtime.launch.source import Content

_LOG = logger(__name__)


def foreign_core(content: Content, chip: Chip) -> Core | None:
    """Return the core that a binary was compiled for where a chip has another one; else, or if unknown, None."""
    core = content.core if isinstance(content, Program) else None
    return None if core is None or core.runs_on(chip) else core


def check_core(content: Content, chip: Chip, name: str) -> None:
    """Refuse a binary for another core: 107000 (EE1014), naming both."""
    core = foreign_core(content, chip)
    if core is not None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", _what(core, chip, name), ee="EE1014", layer="launch",
            hint=f"compile it for {chip.soc}; allow_foreign=True loads it all the same",
        )


def warn_of_core(content: Content, chip: Chip, name: str) -> None:
    """Warn of a binary for another core, which is taken."""
    core = foreign_core(content, chip)
    if core is not None:
        advise(_LOG, f"{_what(core, chip, name)}; it is loaded, and each launch of it will fail: compile it for "
               f"{chip.soc}")


def _what(core: Core, chip: Chip, name: str) -> str:
    own = core_of_chip(chip)
    return f"{name} was compiled for {core}; the device is {chip.soc}{f', with {own.name} cores' if own else ''}"
