"""What is exported under a name or a number, who may open it, and what is open.

A machine that is not shared keeps all this for itself. On a shared one each process writes down what it exports and
what it has opened, in a file of its own that is replaced as a whole, and reads the files of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from npuhal.records import asdict, dataclass, field, names_of, replace

if TYPE_CHECKING:
    from fakes.machine.blocks import Allocation
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
    block: Allocation | None = None
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
        self._retracted: set[str] = set()
        """Names whose memory is gone: nobody finds them, and who has made them may still take them away."""
        self._count = 0

    def next_number(self) -> int:
        """Return a number for something that gets exported; no other process of the machine has it."""
        if self._table is not None:
            return self._table.next_number()
        self._count += 1
        return self._count

    def still(self) -> AbstractContextManager[None]:
        """Let nobody else export, free or open anything meanwhile."""
        return nullcontext() if self._table is None else self._table.folder.locked()

    def publish(self, export: Export) -> None:
        """Let others find something, or find it otherwise than before."""
        self._change({**self._own, export.name: export}, self._opened)

    def allow(self, export: Export, pids: Iterable[int]) -> None:
        """Let further processes open an export of this one."""
        self.publish(replace(export, pids=export.pids.union(pids)))

    def open_to(self, export: Export, everybody: bool) -> None:
        """Let any process open an export of this one, or only those on its list."""
        self.publish(replace(export, open_to_all=everybody))

    def own(self, name: str) -> Export | None:
        """Return what this process has exported under a name."""
        return self._own.get(name)

    def withdraw(self, name: str) -> bool:
        """Take a name away; who has it open keeps what is behind it. False when this process has not exported it."""
        if name in self._retracted:
            self._retracted.remove(name)
            return True
        if name not in self._own:
            return False
        self._keep(lambda export: export.name != name)
        return True

    def of_card(self, device: int) -> list[Export]:
        """Return what this process has exported of a card."""
        return [export for export in self._own.values() if export.device == device]

    def forget_card(self, device: int) -> None:
        """Withdraw all names of a card."""
        self._keep(lambda export: export.device != device)

    def _keep(self, wanted: Callable[[Export], bool]) -> None:
        kept = {name: export for name, export in self._own.items() if wanted(export)}
        if len(kept) < len(self._own):
            self._change(kept, self._opened)

    def find(self, name: str) -> Export | None:
        """Return what is behind a name, of whichever living process."""
        found = self._own.get(name)
        if found is None and self._table is not None:
            with self._table.folder.locked():
                self._table.sweep()
                rows = (row for raw in self._others() for row in raw["exports"] if row["name"] == name)
                found = next(map(_export, rows), None)
        return found

    def opened(self, source: Source) -> None:
        """Note that this process has memory of another one open."""
        self._change(self._own, [*self._opened, source])

    def closed(self, source: Source) -> None:
        """Undo `opened`."""
        left = list(self._opened)
        left.remove(source)
        self._change(self._own, left)

    def held(self, source: Source) -> bool:
        """Whether another process has memory of this one open."""
        if self._table is None or not self._table.imports:
            return False
        with self._table.folder.locked():
            self._table.sweep()
            return source in self._sources()

    def retract(self, source: Source) -> bool:
        """Withdraw all names of memory, so that nobody new opens it; returns whether others have it open."""
        if self._table is None:
            return False
        with self._table.folder.locked():
            self._retracted.update(name for name, export in self._own.items() if export.source == source)
            self._keep(lambda export: export.source != source)
            return self.held(source)

    def left_behind(self, card: int, pool: int) -> int:
        """Return the bytes of a page kind that only importers keep: who made them is gone."""
        table = self._table
        if table is None or not table.imports:
            return 0
        with table.folder.locked():
            return sum(
                each.span for each in {*self._sources(), *self._opened}
                if (each.device, each.pool) == (card, pool) and table.identity(each.slot) != (each.pid, each.started)
            )

    def reset(self) -> None:
        """Forget everything, in a forked child."""
        self._own, self._opened, self._retracted = {}, [], set()

    def _sources(self) -> Iterator[Source]:
        return (Source(**row) for raw in self._others() for row in raw["opened"])

    def _others(self) -> Iterator[Any]:
        import json

        assert self._table is not None
        for slot in self._table.living():
            if slot != self._table.slot and (text := self._table.folder.read(slot)) is not None:
                yield json.loads(text)

    def _change(self, own: dict[str, Export], opened: list[Source]) -> None:
        """Let this be what the process exports and has open: written down first, so that a full disk changes nothing.

        Raises:
            HostRefused: it cannot be written down.
        """
        table = self._table
        if table is not None:
            import json

            text = json.dumps({"exports": [_row(each) for each in own.values()], "opened": [asdict(s) for s in opened]})
            with table.folder.locked():
                table.folder.write(table.slot, text.encode())
                table.count_imports(len(opened))
        self._own, self._opened = own, opened


def _row(export: Export) -> dict[str, Any]:
    source = None if export.source is None else asdict(export.source)
    row = {name: getattr(export, name) for name in _FIELDS}
    return row | {"source": source, "pids": sorted(export.pids)}


def _export(row: dict[str, Any]) -> Export:
    source = row.pop("source")
    row["pids"], row["prop"] = set(row["pids"]), tuple(row["prop"])
    return Export(**row, source=None if source is None else Source(**source))
