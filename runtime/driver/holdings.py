"""What a process holds of one device by its driver: ids, queues and memory, with what each of them was taken with.

Kept up by the drivers that take and free. It says what has to be taken again on another card, under the same numbers
and addresses, without asking every object that uses some of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.driver.queues import QueueOptions


def _nothing() -> None:
    """Nobody keeps anything from being taken."""


@dataclass(frozen=True, slots=True)
class QueueRecipe:
    """What a hardware queue pair was made with; see `QueueDriver.create`."""

    cq_id: int
    options: QueueOptions
    depth: int
    cqe_bytes: int
    cq_depth: int
    extended: bool
    flags: int


@dataclass(frozen=True, slots=True)
class Span:
    """A block of memory: its bytes, the halMemAlloc word, and whether nobody misses what is in it between tasks."""

    size: int
    flags: int
    scratch: bool


@dataclass(slots=True)
class Holdings:
    """Everything that one device's drivers have taken and not given back."""

    enter: Callable[[], None] = _nothing
    """Called before something is taken; waits, or raises, while the process is locked."""
    ids: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """By kind and number: priority and flags."""
    queues: dict[int, QueueRecipe] = field(default_factory=dict)
    """By SQ."""
    logic_queues: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By logic CQ: the stream that it was made for, and the thread that made it."""
    bound: dict[int, int] = field(default_factory=dict)
    """By stream: the logic CQ that its completions arrive in."""
    memory: dict[int, Span] = field(default_factory=dict)
    """By address."""
