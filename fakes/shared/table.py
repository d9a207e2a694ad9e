"""What all processes of a shared machine read and write: fixed fields of one mapped file.

The file begins with a digest of what the machine is like, the last number given out, and the namespace of the process
ids in it. A row per process follows, then for each card a byte per id (whose it is) and a word per id (its signal).
Every change is the store of one word or byte, or can be made again from the start: a process may be killed between any
two of them. What a process holds is cleared when it is found to be gone.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Mapping

from fakes.errors import NotShareable
from fakes.shared.folder import Folder, gone, namespace, started
from npuhal.tuples import NamedTuple

SLOTS = 254
"""Processes that may have a machine open at once."""
PER_CARD = 64
"""Processes that may have one card open at once (hal_semantics 10)."""
POOLS = 3
"""Kinds of pages."""
_OTHERS = 255
"""Owner of ids that an imagined process holds."""
_HEAD = struct.Struct("@32sQQ")
_NUMBER_AT, _SPACE_AT = 32, 40
_NUMBER = struct.Struct("@Q")
_WORD = struct.Struct("@I")
_PID, _STARTED, _OPENED, _IMPORTS, _BYTES = range(5)
"""Numbers of a row: the process (0: nobody), when it began, a bit per open card, how often it has memory of others
open; then the bytes it has of each page kind of each card."""


class User(NamedTuple):
    """What a process has of a card: bytes of memory, and how many ids by kind."""

    pid: int
    memory: int
    ids: dict[str, int]


class Table:
    """The common state of the cards of one machine, and the row of this process in it.

    Args:
        folder: the folder and its lock.
        cards: how many there are.
        sizes: ids of each kind per card.
        signature: in words what the machine is like; all processes must open the same.
        slots: processes that may have it open at once.

    Raises:
        NotShareable: the name is in use for a machine that is not like this one, or in another container; or too many
            processes have it open.
        HostRefused: there is no space for the table, or the system refuses the folder.
    """

    def __init__(
        self, folder: Folder, cards: int, sizes: Mapping[str, int], signature: str, slots: int = SLOTS
    ) -> None:
        self.folder, self.cards, self.sizes, self.slots = folder, cards, dict(sizes), slots
        self._row = (_BYTES + cards * POOLS) * _NUMBER.size
        self._first = _HEAD.size + self.slots * self._row
        self._ids: dict[str, int] = {}
        self._signals: dict[str, int] = {}
        at = 0
        for table, width in ((self._signals, _WORD.size), (self._ids, 1)):
            for kind, count in sizes.items():
                table[kind] = at
                at += count * width
        self._card = -(-at // _NUMBER.size) * _NUMBER.size
        self.slot = -1
        self.fresh = False
        """Whether this process was the first to come: what a scenario says of others is then for it to write."""
        self._signature = signature
        self._map: mmap.mmap
        self.enter()

    # -- coming and going ---------------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Take a row."""
        with self.folder.entered():
            self._enter(self.folder.fd)

    def _enter(self, fd: int) -> None:
        import hashlib  # late: it brings a large library

        size = self._first + self.cards * self._card
        wanted = hashlib.sha256(self._signature.encode()).digest()
        name, here, began = self.folder.name, namespace(), started(os.getpid())
        if not began:
            raise NotShareable("shared machines need a /proc that shows the processes of this container; mount one")
        self.fresh = self.folder.alone
        if self.fresh:
            os.ftruncate(fd, 0)
            os.posix_fallocate(fd, 0, size)  # a page that cannot be had later would be SIGBUS
            os.pwrite(fd, _HEAD.pack(wanted, 0, here), 0)
        head = os.pread(fd, _HEAD.size, 0)
        if head[_SPACE_AT:] != _NUMBER.pack(here):
            raise NotShareable(
                f"shared={name} is open in another container, whose processes cannot be seen from here; give the "
                "containers one namespace of process ids (--pid), or choose another name"
            )
        if head[: len(wanted)] != wanted or os.fstat(fd).st_size != size:
            raise NotShareable(
                f"shared={name} is open elsewhere as a machine with other chips or options than {self._signature}; "
                "open it alike everywhere, or choose another name"
            )
        self._map = mmap.mmap(fd, size)
        self.sweep()
        slot = next((slot for slot in range(self.slots) if not self._get(slot, _PID)), None)
        if slot is None:
            raise NotShareable(f"shared={name} is open in {self.slots} processes already")
        at = _HEAD.size + slot * self._row
        self._map[at : at + self._row] = bytes(self._row)
        self.slot = slot
        self._put(_STARTED, began)
        self._put(_PID, os.getpid())

    def leave(self) -> None:
        """Give everything back; the last one takes the folder away. Twice does nothing."""
        if self.slot < 0:
            return
        with self.folder.locked():
            self._wipe(self.slot)
            self.sweep()
            if next(self.living(), None) is None:
                self.folder.remove()
        self.forget()

    def forget(self) -> None:
        """Let go of the file without a word to the others: a forked child has no part in what its parent holds."""
        self.slot = -1
        self._map.close()
        self.folder.leave()

    def sweep(self) -> bool:
        """Take from processes that are gone what they held; returns whether there were any."""
        with self.folder.locked():
            return self._sweep()

    def _sweep(self) -> bool:
        """Do that under the lock; the loop is in no `with`, see `npuhal.changed` on interrupts."""
        swept = False
        for slot in range(self.slots):
            pid = self._get(slot, _PID)
            if pid and gone(pid, self._get(slot, _STARTED)):
                self._wipe(slot)
                swept = True
        return swept

    def _wipe(self, slot: int) -> None:
        """Clear all fields of a row, the process id last, so that who is killed in between leaves work to be found."""
        mine, free = slot + 1, bytes.maketrans(bytes([slot + 1]), b"\0")
        for card in range(self.cards):
            for kind, count in self.sizes.items():
                at = self._id_at(card, kind)
                owners = self._map[at : at + count]
                if mine in owners:
                    self._map[at : at + count] = owners.translate(free)
        self.folder.discard(slot)
        for column in range(self._row // _NUMBER.size - 1, -1, -1):
            if self._get(slot, column):
                self._put(column, 0, slot)

    def living(self) -> Iterator[int]:
        """Yield the rows in use."""
        return (slot for slot in range(self.slots) if self._get(slot, _PID))

    def users(self, card: int) -> list[User]:
        """Return the processes that have a card open or hold something of it, by process id."""
        self.sweep()
        found = []
        for slot in self.living():
            first = _BYTES + card * POOLS
            size = sum(self._get(slot, column) for column in range(first, first + POOLS))
            ids = {}
            for kind, count in self.sizes.items():
                at = self._id_at(card, kind)
                ids[kind] = self._map[at : at + count].count(slot + 1)
            if self._get(slot, _OPENED) >> card & 1 or size or any(ids.values()):
                found.append(User(self._get(slot, _PID), size, ids))
        return sorted(found)

    def identity(self, slot: int) -> tuple[int, int]:
        """Return process id and beginning of the process of a row."""
        return self._get(slot, _PID), self._get(slot, _STARTED)

    # -- numbers of rows ----------------------------------------------------------------------------------------------

    def _get(self, slot: int, column: int) -> int:
        value: int = _NUMBER.unpack_from(self._map, _HEAD.size + slot * self._row + column * _NUMBER.size)[0]
        return value

    def _put(self, column: int, value: int, slot: int | None = None) -> None:
        row = self.slot if slot is None else slot
        _NUMBER.pack_into(self._map, _HEAD.size + row * self._row + column * _NUMBER.size, value)

    def next_number(self) -> int:
        """Return a number that nobody got before, from 1."""
        with self.folder.locked():
            number: int = _NUMBER.unpack_from(self._map, _NUMBER_AT)[0] + 1
            _NUMBER.pack_into(self._map, _NUMBER_AT, number)
        return number

    def open_card(self, card: int) -> bool:
        """Note that this process has a card open; False when 64 have."""
        bit = 1 << card
        with self.folder.locked():
            for _ in range(2):
                if sum(bool(self._get(slot, _OPENED) & bit) for slot in self.living()) < PER_CARD:
                    self._put(_OPENED, self._get(self.slot, _OPENED) | bit)
                    return True
                self.sweep()
        return False

    def close_card(self, card: int) -> None:
        """Note that this process has closed a card."""
        self._put(_OPENED, self._get(self.slot, _OPENED) & ~(1 << card))

    @property
    def imports(self) -> bool:
        """Whether any process has memory of another one open."""
        return any(self._get(slot, _IMPORTS) for slot in self.living())

    def count_imports(self, count: int) -> None:
        """Note how much memory of others this process has open."""
        self._put(_IMPORTS, count)

    def bytes_elsewhere(self, card: int, pool: int) -> int:
        """Return the bytes of a page kind that the other processes have."""
        column = _BYTES + card * POOLS + pool
        return sum(self._get(slot, column) for slot in self.living() if slot != self.slot)

    def set_bytes(self, card: int, pool: int, size: int) -> None:
        """Say how many bytes of a page kind this process has."""
        self._put(_BYTES + card * POOLS + pool, size)

    # -- ids and signals of cards -------------------------------------------------------------------------------------

    def _id_at(self, card: int, kind: str) -> int:
        return self._first + card * self._card + self._ids[kind]

    def find_free(self, card: int, kind: str, first: int, end: int) -> int | None:
        """Return the lowest free id from `first` on and below `end`."""
        base = self._id_at(card, kind)
        found = self._map.find(b"\0", base + first, base + end) if first < end else -1
        return None if found < 0 else found - base

    def owner(self, card: int, kind: str, number: int) -> int:
        """Return whose an id is: 0 nobody's."""
        return self._map[self._id_at(card, kind) + number]

    def own(self, card: int, kind: str, number: int, *, other: bool = False) -> None:
        """Take an id, for this process or for an imagined one."""
        self._map[self._id_at(card, kind) + number] = _OTHERS if other else self.slot + 1

    def disown(self, card: int, kind: str, number: int) -> None:
        """Give an id back."""
        self._map[self._id_at(card, kind) + number] = 0

    def mine(self, card: int, kind: str, number: int) -> bool:
        """Whether an id is this process's."""
        return self.owner(card, kind, number) == self.slot + 1

    def ids_used(self, card: int, kind: str) -> int:
        """Return how many ids are taken, by whomever."""
        base, count = self._id_at(card, kind), self.sizes[kind]
        return count - self._map[base : base + count].count(0)

    def signal(self, card: int, kind: str, number: int) -> int:
        """Return the value of an event or notify."""
        value: int = _WORD.unpack_from(self._map, self._signal_at(card, kind, number))[0]
        return value

    def set_signal(self, card: int, kind: str, number: int, value: int) -> None:
        """Set the value of an event or notify."""
        _WORD.pack_into(self._map, self._signal_at(card, kind, number), value)

    def _signal_at(self, card: int, kind: str, number: int) -> int:
        return self._first + card * self._card + self._signals[kind] + number * _WORD.size
