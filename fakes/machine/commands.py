"""What a card keeps for chips that take commands: how far streams are, and what it was told about them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.machine.blocks import Allocation
    from fakes.machine.lent import Lent
    from fakes.machine.memory import Memory


class CommandState:
    """The part of a card that only commands use."""

    def __init__(self) -> None:
        self.table: Allocation | None = None
        """Where the state of each stream is told, of chips that share such a table."""
        self.reports: deque[bytes] = deque()
        """What was reported of commands, where there is no table."""
        self.given: Lent | None = None
        """Reports that the host is reading."""
        self.stops_at_failures: set[int] = set()
        """Streams that end at their first failed command."""
        self.operator_limit_s = self.wait_limit_s = 0
        """Limits for all operators and waits of the card; 0: none."""

    def free_table(self, memory: Memory) -> None:
        """Take the table back from the host."""
        if self.table is not None:
            memory.free(self.table.base)
            self.table = None
