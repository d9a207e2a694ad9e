"""The device side: reads 64-byte SQEs out of the ring, decodes them with the chip's plug-in, and executes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.errors import NotModelled
from npuhal import late

if TYPE_CHECKING:
    from fakes.executor.executor import WAIT, Executor, Handler, Task, handlers
else:  # what executes is loaded with the first task: null:// never needs it
    __getattr__, __dir__ = late.names(__name__, {"fakes.executor.executor": "WAIT Executor Handler Task handlers"})

__all__ = ["GENERATIONS", "WAIT", "Executor", "Handler", "Task", "check_generation", "handlers"]

GENERATIONS = ("v100", "v200", "v201")
"""Chip generations whose entries the fake executes."""


def check_generation(generation: str) -> None:
    """Raise NotModelled unless the fake executes the entries of a chip generation."""
    if generation not in GENERATIONS:
        raise NotModelled(f"chip generation {generation}", f"the fake executes entries of {', '.join(GENERATIONS)}")
