"""The machine: cards, memory, ids, queues, models, and the log of what was executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakes.machine.machine import Machine

__all__ = ["Machine"]


def __getattr__(name: str) -> Any:
    """Load `Machine` when it is asked for: the modules below import each other through this package."""
    if name == "Machine":
        from fakes.machine.machine import Machine

        return Machine
    raise AttributeError(f"module 'fakes.machine' has no attribute {name!r}")
