"""The device side: reads 64-byte SQEs out of the ring, decodes them with the chip's plug-in, and executes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.traits import EntryFormat
from fakes.errors import NotModelled
from npuhal import late

if TYPE_CHECKING:
    from chips.chip import Chip
    from fakes.executor.executor import Executor, handlers
    from fakes.executor.task import WAIT, Handler, Task
else:  # what executes is loaded with the first task: null:// never needs it
    __getattr__, __dir__ = late.names(__name__, {
        "fakes.executor.executor": "Executor handlers", "fakes.executor.task": "WAIT Handler Task",
    })

__all__ = ["ENTRIES", "WAIT", "Executor", "Handler", "Task", "check_entries", "handlers"]

ENTRIES = (EntryFormat.COMMANDS, EntryFormat.STARS, EntryFormat.STARS_V2)
"""Formats of entries that the fake executes."""


def check_entries(chip: Chip) -> None:
    """Raise NotModelled unless the fake executes the entries of a chip."""
    if chip.traits.entries not in ENTRIES:
        known = ", ".join(each.value for each in ENTRIES)
        asked = f"entries of {chip.soc} ({chip.traits.entries.value})"
        raise NotModelled(asked, f"the fake executes entries of the formats {known}")
