"""Ids, budgets and signals of a card that several processes have open: the table in the form that the fake uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fakes.machine.blocks import Budget, PageKind
from fakes.machine.ids import IdPool
from fakes.machine.signal import Signal
from fakes.shared.folder import Folder
from fakes.shared.names import Names, Source
from fakes.shared.table import Table

if TYPE_CHECKING:
    from fakes.machine.blocks import Allocation
    from fakes.machine.memory import Memory


class SharedIdPool(IdPool):
    """Ids that all processes take from; `used` are those of this one. The lowest free one comes first."""

    def __init__(self, name: str, limit: int, first: int, table: Table, card: int) -> None:
        super().__init__(name, limit, first)
        self._table, self._card = table, card
        self._for_others = False

    @property
    def in_use(self) -> int:
        """How many ids are taken, by whomever."""
        self._table.sweep()
        return self._table.ids_used(self._card, self.name)

    def taken(self, number: int) -> bool:
        """Whether an id is taken, by whomever."""
        return 0 <= number < self.limit and self._table.owner(self._card, self.name, number) != 0

    def take(self, ceiling: int | None = None) -> int | None:
        """Return a free id below `ceiling`, or None."""
        with self._table.folder.locked():
            number = super().take(ceiling)
            if number is None and self._table.sweep():
                number = super().take(ceiling)
        return number

    def _lowest(self, start: int, end: int) -> int | None:
        return self._table.find_free(self._card, self.name, start, end)

    def _own(self, number: int) -> None:
        self._table.own(self._card, self.name, number, other=self._for_others)
        if not self._for_others:
            super()._own(number)

    def take_this(self, number: int) -> bool:
        """Take a given id; False when it is in use or out of range."""
        if not 0 <= number < self.limit:
            return False
        if number in self.reserved:
            self.reserved.discard(number)
            return True
        with self._table.folder.locked():
            if self.taken(number) and not (self._table.sweep() and not self.taken(number)):
                return False
            self._table.own(self._card, self.name, number)
        self.used.add(number)
        return True

    def give(self, number: int) -> bool:
        """Return an id; False when this process has not taken it."""
        if number not in self.used:
            return False
        self.used.discard(number)
        self.reserved.discard(number)
        self._table.disown(self._card, self.name, number)
        return True

    def occupy(self, count: int) -> None:
        """Let somebody who is no process hold `count` ids from now on."""
        self._for_others = True
        try:
            super().occupy(count)
        finally:
            self._for_others = False

    def reset(self) -> None:
        """Give back what this process has."""
        for number in list(self.used):
            self.give(number)


class SharedBudget(Budget):
    """Bytes of one page kind that all processes take from; `used` are those of this one."""

    __slots__ = ("_card", "_names", "_pool", "_table")

    def __init__(self, total: int, shared: Shared, card: int, pool: int) -> None:
        super().__init__(total)
        self._table, self._names, self._card, self._pool = shared.table, shared.names, card, pool

    @property
    def free(self) -> int:
        """Bytes that no process has."""
        with self._table.folder.locked():
            self._table.sweep()
            elsewhere = self._table.bytes_elsewhere(self._card, self._pool)
            elsewhere += self._names.left_behind(self._card, self._pool)
        return max(self.total - self.used - self.others - elsewhere, 0)

    def take(self, size: int) -> bool:
        """Take bytes; False when there are too few."""
        with self._table.folder.locked():
            taken = super().take(size)
            if taken:
                self._table.set_bytes(self._card, self._pool, self.used)
        return taken

    def give(self, size: int) -> None:
        """Give bytes back."""
        super().give(size)
        self._table.set_bytes(self._card, self._pool, self.used)


class SharedSignal(Signal):
    """An event or notify whose value all processes see; when this one has set it last is its own affair."""

    __slots__ = ("_card", "_kind", "_number", "_table")

    def __init__(self, table: Table, card: int, kind: str, number: int) -> None:
        self._table, self._card, self._kind, self._number = table, card, kind, number
        self.time = 0

    @property
    def value(self) -> int:
        """The value now."""
        return self._table.signal(self._card, self._kind, self._number)

    @value.setter
    def value(self, value: int) -> None:
        self._table.set_signal(self._card, self._kind, self._number, value)


class SharedSignals(dict[int, Signal]):
    """The events or notifies of a card by id: every id has one."""

    def __init__(self, table: Table, card: int, kind: str) -> None:
        super().__init__()
        self._table, self._card, self._kind = table, card, kind

    def get(self, number: int, default: Any = None) -> Any:
        """Return the signal of an id; `default` is never needed."""
        found = super().get(number)
        if found is None and 0 <= number < self._table.sizes[self._kind]:
            found = self[number] = SharedSignal(self._table, self._card, self._kind, number)
        return found if found is not None else default

    def pop(self, number: int, default: Any = None) -> Any:
        """Set an id's signal to 0: it changes hands."""
        if 0 <= number < self._table.sizes[self._kind]:
            self._table.set_signal(self._card, self._kind, number, 0)
        return super().pop(number, default)

    def clear(self) -> None:
        """Set the signals of this process's ids to 0."""
        for number in list(self):
            if self._table.mine(self._card, self._kind, number):
                self.pop(number)
        super().clear()


class Shared:
    """What the machines of several processes have in common."""

    def __init__(self, name: str, cards: int, sizes: Mapping[str, int], signature: str) -> None:
        self.table = Table(Folder(name), cards, sizes, signature)
        self.names = Names(self.table)

    def budget(self, card: int, pool: PageKind, total: int) -> Budget:
        """Return the budget of one page kind of a card."""
        return SharedBudget(total, self, card, list(PageKind).index(pool))

    def signals(self, card: int, kind: str) -> dict[int, Signal]:
        """Return the signals of one kind of a card."""
        return SharedSignals(self.table, card, kind)

    def pool(self, card: int, kind: str, limit: int, first: int) -> IdPool:
        """Return the ids of one kind of a card."""
        return SharedIdPool(kind, limit, first, self.table, card)

    def source(self, memory: Memory, block: Allocation) -> Source | None:
        """Return where the bytes of a block are for others; None where they are not this process's to export."""
        folder = memory.source(block)
        if folder is None:
            return None
        number = list(PageKind).index(block.pool)
        return Source(self.table.slot, *self.table.identity(self.table.slot), *folder, block.span, block.device, number)

    def leave(self) -> None:
        """Give back what this process holds."""
        self.table.leave()

    def forget(self) -> None:
        """Let go of everything in a forked child: it is the parent's."""
        self.names.reset()
        self.table.forget()
