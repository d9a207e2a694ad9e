"""Time stamps of event records where completion entries carry none: words in device memory that the records fill.

A table has 512 words of 64 bits, all ones as long as no record has stored its time there (struct TsEventRecordTask).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.errors.closing import each

if TYPE_CHECKING:
    from chips.registry import CommandTasks
    from chips.tasks import EventRecord
    from runtime.core.ports import StreamPort
    from runtime.driver.memory import MemoryDriver

WORDS = 512
_WORD_BYTES = 8
_NEVER = b"\xff" * _WORD_BYTES


class Stamp(NamedTuple):
    """The time of a record, in the place of a completion entry that carries it."""

    timestamp: int


class Timelines:
    """The words of one device; tables are added as they are needed, and go with it."""

    __slots__ = ("_commands", "_free", "_lock", "_memory", "_tables")

    def __init__(self, memory: MemoryDriver, commands: CommandTasks) -> None:
        self._memory, self._commands = memory, commands
        self._tables: list[tuple[int, int]] = []
        """Address, and the same as the scheduler sees it."""
        self._free: list[tuple[int, int]] = []
        """Table and word."""
        self._lock = threading.Lock()

    def record(
        self, stream: StreamPort, task: EventRecord, finished: Callable[[], None], reported: Callable[[object], None],
    ) -> None:
        """Queue a record that stores its time; `reported` gets it, or None where there is none, before `finished`."""
        table, index = slot = self._take()
        address, base = self._tables[table]

        def done() -> None:
            stamp: Stamp | None = None
            try:
                with contextlib.suppress(errors.RuntimeFault):
                    word = self._memory.read(address + index * _WORD_BYTES, _WORD_BYTES)
                    if word != _NEVER:
                        stamp = Stamp(int.from_bytes(word, "little"))
                        self._memory.write(address + index * _WORD_BYTES, _NEVER)
                    with self._lock:
                        self._free.append(slot)
            finally:
                reported(stamp)
                finished()

        stream.submit(self._commands.timed_record(task, base, index), owner="event record", finished=done)

    def _take(self) -> tuple[int, int]:
        with self._lock:
            if not self._free:
                size = WORDS * _WORD_BYTES
                with self._memory.new(size, internal_flags()) as address:
                    self._memory.fill(address, size, 0xFF, size)
                self._tables.append((address, self._memory.physical(address)))
                self._free += ((len(self._tables) - 1, index) for index in reversed(range(WORDS)))
            return self._free.pop()

    def close(self) -> None:
        """Free the tables; no record is queued any more."""
        tables, self._tables = self._tables, []
        each(self._memory.freeing(address) for address, _ in tables)
