"""What is exported under a name or a number, who may open it, and what is open.

A machine that is not shared keeps all this for itself. On a shared one each process writes down what it exports and
what it has opened, in a file of its own that is replaced as a whole, and reads the files of the others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from npuhal.records import asdict, dataclass, field, names_of

if TYPE_CHECKING:
    from fakes.machine.blocks import Block
    from fakes.shared.table import Table


@dataclass(frozen=True, slots=True)
class Source:
    """Where the bytes of exported memory are: a range of a memory file of the process that made it."""

    slot: int
    pid: int
    started: int
    fd: int
    offset: int
    span: int
    device: int
    pool: int

    @property
    def path(self) -> str:
        """The file, as another process opens it."""
        return f"/proc/{self.pid}/fd/{self.fd}"


@dataclass(slots=True, eq=False)
class Export:
    """Something under a name: memory (`source`), or an id of a card (`number`)."""

    name: str
    device: int
    pids: set[int] = field(default_factory=set)
    """Processes that may open it."""
    open_to_all: bool = False
    source: Source | None = None
    size: int = 0
    page: int = 0
    prop: tuple[int, ...] = ()
    """What physical memory was created with."""
    kind: int = 0
    number: int = 0
    block: Block | None = None
    """The memory itself, in the process that has exported it."""

    def allows(self, pid: int) -> bool:
        """Whether a process may open it."""
        return self.open_to_all or pid in self.pids


_FIELDS = [name for name in names_of(Export) if name != "block"]


class Names:
    """The exports of all processes, and what this one has opened of others."""

    def __init__(self, table: Table | None = None) -> None:
        self._table = table
        self._own: dict[str, Export] = {}
        self._opened: list[Source] = []
        self._count = 0

    def next_number(self) -> int:
        """Return a number for something that gets exported; no other process of the machine has it."""
        if self._table is not None:
            return self._table.next_number()
        self._count += 1
        return self._count

    def still(self) -> AbstractContextManager[None]:
        """Let nobody else export, free or open anything meanwhile."""
        return nullcontext() if self._table is None else self._table.place.locked()

    def publish(self, export: Export) -> None:
        """Let others find something."""
        self._own[export.name] = export
        self.changed()

    def own(self, name: str) -> Export | None:
        """Return what this process has exported under a name."""
        return self._own.get(name)

    def withdraw(self, name: str) -> bool:
        """Take a name away; who has it open keeps what is behind it. False when this process has not exported it."""
        if self._own.pop(name, None) is None:
            return False
        self.changed()
        return True

    def forget_card(self, device: int) -> None:
        """Withdraw all names of a card."""
        gone = [name for name, export in self._own.items() if export.device == device]
        for name in gone:
            del self._own[name]
        if gone:
            self.changed()

    def find(self, name: str) -> Export | None:
        """Return what is behind a name, of whichever living process."""
        found = self._own.get(name)
        if found is None and self._table is not None:
            with self._table.place.locked():
                self._table.sweep()
                rows = (row for raw in self._others() for row in raw["exports"] if row["name"] == name)
                found = next(map(_export, rows), None)
        return found

    def opened(self, source: Source) -> None:
        """Note that this process has memory of another one open."""
        self._opened.append(source)
        self.changed()

    def closed(self, source: Source) -> None:
        """Undo `opened`."""
        self._opened.remove(source)
        self.changed()

    def held(self, source: Source) -> bool:
        """Whether another process has memory of this one open."""
        if self._table is None or not self._table.imports:
            return False
        with self._table.place.locked():
            self._table.sweep()
            return source in self._sources()

    def retract(self, source: Source) -> bool:
        """Withdraw all names of memory, so that nobody new opens it; returns whether others have it open."""
        if self._table is None:
            return False
        with self._table.place.locked():
            gone = [name for name, export in self._own.items() if export.source == source]
            for name in gone:
                self.withdraw(name)
            return self.held(source)

    def orphans(self, card: int, pool: int) -> int:
        """Return the bytes of a page kind that only importers keep: who made them is gone."""
        table = self._table
        if table is None or not table.imports:
            return 0
        with table.place.locked():
            return sum(
                each.span for each in {*self._sources(), *self._opened}
                if (each.device, each.pool) == (card, pool) and table.identity(each.slot) != (each.pid, each.started)
            )

    def reset(self) -> None:
        """Forget everything, in a forked child."""
        self._own.clear()
        self._opened.clear()

    def _sources(self) -> Iterator[Source]:
        return (Source(**row) for raw in self._others() for row in raw["opened"])

    def _others(self) -> Iterator[Any]:
        assert self._table is not None
        for slot in self._table.living():
            if slot != self._table.slot:
                try:
                    yield json.loads(self._table.place.names_file(slot).read_bytes())
                except FileNotFoundError:
                    continue

    def changed(self) -> None:
        """Write down what this process exports and has opened; after a change of a white list too."""
        if self._table is None:
            return
        exports = [_row(export) for export in self._own.values()]
        text = json.dumps({"exports": exports, "opened": [asdict(source) for source in self._opened]})
        with self._table.place.locked():
            path = self._table.place.names_file(self._table.slot)
            new = path.with_suffix(".json.new")
            new.write_text(text, encoding="ascii")
            os.replace(new, path)
            self._table.count_imports(len(self._opened))


def _row(export: Export) -> dict[str, Any]:
    source = None if export.source is None else asdict(export.source)
    row = {name: getattr(export, name) for name in _FIELDS}
    return row | {"source": source, "pids": sorted(export.pids)}


def _export(row: dict[str, Any]) -> Export:
    source = row.pop("source")
    row["pids"], row["prop"] = set(row["pids"]), tuple(row["prop"])
    return Export(**row, source=None if source is None else Source(**source))
