"""What becomes of messages whose effect is the firmware's own: they are taken, and that is all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.executor.task import Task


def accepted(task: Task) -> int:
    """A message whose effect is in firmware; nothing in the fake depends on it."""
    return 1
