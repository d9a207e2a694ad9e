"""Condition entries: runs their programs on the device's memory, queue registers and queues."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

from chips.env import EncodeEnv
from chips.programs.device import CondDevice, generation_of
from chips.programs.execute import execute
from chips.programs.stream import ENABLE_OFFSET, HEAD_OFFSET
from chips.traits import EventKind
from fakes.checkers.access import LOAD, RELEASE
from fakes.errors import TaskFault
from fakes.faults import Effect
from fakes.machine.blocks import Kind
from fakes.machine.identity import QUEUE_PAGE
from fakes.schedule.scheduler import CONTROL_NS

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

_PROGRAM_OFFSET = 16
_EVENT_TABLES, _EVENTS_PER_TABLE = 16, 4096
_EVENT_TABLE_STRIDE, _EVENT_BYTES = 0x10000, 4
"""Bytes between tables and entries of event registers of STARS v1."""
_TABLES_BYTES = _EVENT_TABLES * _EVENT_TABLE_STRIDE
_WORD = 8
"""Bytes of the largest word that a condition loads."""
_STATE = struct.Struct("<II")
"""Head and enable register of a queue, which follow each other."""
_BEGUN = (None,)
_POLLING = ("memory_wait", "mem_wait")


def facts(device: Device) -> CondDevice:
    """Return where the programs of a card find the state machine selector and the tail register."""
    card = device.identity
    env = EncodeEnv(
        chip=device.chip, stars_base=card.stars_base, phy_chip_id=card.chip_id, phy_die_id=card.die_id
    )
    return CondDevice.of(env)


def event_tables(device: Device) -> list[tuple[int, Device]]:
    """Return where a card of STARS v1 reads the events of each card, its own first; other chips have no tables."""
    from chips.addresses import by_device_info, chip_offset

    if device.chip.traits.events is not EventKind.IDS:
        return []
    base, tables = int(device.chip.prop("eventBase")), []
    for card in (device, *(other for other in device.machine.devices if other is not device)):
        env = EncodeEnv(chip=card.chip, phy_chip_id=card.identity.chip_id, phy_die_id=card.identity.die_id)
        tables.append((base + (chip_offset(env) if by_device_info(env) else 0), card))
    return tables


class Registers:
    """What a card shows besides its memory: a register page per queue, the selector, and words nobody reads back."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._facts = facts(device)
        self._selected = 0
        self._words: dict[int, bytes] = {}
        self._tables = event_tables(device)
        bases = [base for base, _ in self._tables]
        self._first_event = min(bases, default=0)
        self._behind_events = max(bases, default=-_TABLES_BYTES) + _TABLES_BYTES
        """Where the tables begin and end, all of them together."""
        self._memory = device.machine.memory
        self._known: dict[tuple[int, int], Any] = {}
        """What programs have come by of the card's own memory, by address and size, while its blocks are what they
        were."""
        self._version = self._memory.version

    def load(self, address: int, size: int, physical: bool) -> bytes:
        """Read registers or memory."""
        if physical:
            if address == self._facts.selector:
                return self._selected.to_bytes(8, "little")[:size]
            return self._words.get(address, b"").ljust(size, b"\0")[:size]
        own = self._own(address, size)
        if own is not None:
            data: bytes = own.raw
            return data
        found = self._queue(address)
        if found is None:
            if (event := self.event(address)) is not None:
                card, number = event
                values = (card.signal(card.events, number + step).value for step in range(-(-size // _EVENT_BYTES)))
                return b"".join(value.to_bytes(_EVENT_BYTES, "little") for value in values)[:size]
            needed = self._needed(address, size)
            return ctypes.string_at(self._device.reach(address, needed, "load by a condition"), size)
        sq, offset = found
        if offset == HEAD_OFFSET and size == _STATE.size:  # most loads
            return _STATE.pack(sq.head, sq.enabled)
        page = bytearray(64)
        page[self._facts.tail_offset : self._facts.tail_offset + 4] = sq.tail.to_bytes(4, "little")
        page[HEAD_OFFSET : HEAD_OFFSET + _STATE.size] = _STATE.pack(sq.head, sq.enabled)
        return bytes(page[offset : offset + size].ljust(size, b"\0"))

    def _own(self, address: int, size: int) -> Any:
        """Return the bytes at an address, to read and to write, where the card has them itself; else None."""
        memory = self._memory
        if self._version != memory.version:
            self._known.clear()
            self._version = memory.version
        known = self._known.get((address, size))
        if known is not None or self._queue(address) is not None:
            return known
        block = memory.find(address)
        if block is None or block.kind is not Kind.DEVICE or block.device != self._device.index or block.alias:
            return None
        if address + size > block.base + block.size:
            return None
        known = self._known[address, size] = (ctypes.c_char * size).from_address(memory.pointer(address, size))
        return known

    def _needed(self, address: int, size: int) -> int:
        """Return how many bytes of a load must belong to a block: a card reads whole words, also where a program, as
        the vendor's runtime does, allocates only the two bytes of it that are tested.
        """
        block = self._device.machine.memory.find(address)
        if block is None or block.kind is Kind.REGISTERED or address % size or size > _WORD:
            return size
        return max(min(size, block.base + block.size - address), 1)

    def store(self, address: int, data: bytes, physical: bool) -> None:
        """Write registers or memory."""
        if physical:
            if address == self._facts.selector:
                self._selected = int.from_bytes(data, "little") & self._facts.sq_mask
            else:
                self._words[address] = data
            return
        own = self._own(address, len(data))
        if own is not None:
            own.raw = data
            return
        found = self._queue(address)
        if found is None:
            ctypes.memmove(self._device.reach(address, len(data), "store by a condition", writes=True), data, len(data))
            return
        sq, offset = found
        if offset == ENABLE_OFFSET:
            sq.enabled = bool(data[0] & 1)
        elif offset == HEAD_OFFSET:
            sq.head = int.from_bytes(data[:2], "little") % sq.depth

    def event(self, address: int) -> tuple[Device, int] | None:
        """Return the card and the number of the event whose state a card reads at an address, if there is one."""
        if not self._first_event <= address < self._behind_events:
            return None
        for base, card in self._tables:
            if base <= address < base + _TABLES_BYTES:
                table, offset = divmod(address - base, _EVENT_TABLE_STRIDE)
                number = table * _EVENTS_PER_TABLE + offset // _EVENT_BYTES
                return (card, number) if offset < _EVENTS_PER_TABLE * _EVENT_BYTES else None
        return None

    def _queue(self, address: int) -> tuple[SubmissionQueue, int] | None:
        number, offset = divmod(address - self._device.identity.rtsq_base, QUEUE_PAGE)
        sq = self._device.queues.get(number)
        return None if sq is None else (sq, offset)


class _Reach:
    """What one program reaches (chips.programs.execute.Machine); a move of its own queue's head is kept for the end."""

    def __init__(self, task: Task) -> None:
        self._registers = task.device.registers
        self._task = task
        self.head: int | None = None

    def load(self, address: int, size: int, physical: bool) -> bytes:
        """Read registers or memory; a program that was broken off reads again what it has read (see `task.once`)."""
        task = self._task
        memo, number = task.sq.memo, task.steps
        task.steps = number + 1
        if number == len(memo):
            memo += (self._registers.load(address, size, physical),)
        data: bytes = memo[number]
        if task.touched is not None:
            self._note(address, size, physical, LOAD)
        if not physical and (event := self._registers.event(address)) is not None:
            self._seen(*event)
        return data

    def _seen(self, card: Device, number: int) -> None:
        """The program has read an event: when it is set, what was done before that is done."""
        signal, task = card.signal(card.events, number), self._task
        if not signal.value:
            return
        if task.machine.checks is not None:
            task.machine.checks.takes(task, signal)
        task.sq.clock = max(task.sq.clock, signal.time)

    def store(self, address: int, data: bytes, physical: bool) -> None:
        """Write registers or memory."""
        self._registers.store(address, data, physical)
        if self._task.touched is not None:
            self._note(address, len(data), physical, RELEASE)

    def _note(self, address: int, size: int, physical: bool, how: int) -> None:
        task = self._task
        if not physical and task.machine.memory.owns(address):
            task.touch(address, size, how)

    def goto(self, sq_id: int, head: int) -> int:
        """Move the head of a queue; 1 when there is no such queue."""
        sq = self._task.device.queues.get(sq_id)
        if sq is None:
            return 1
        if sq is self._task.sq:
            self.head = head % sq.depth
        else:
            sq.reset(head, sq.tail)
        return 0

    def activate(self, sq_id: int) -> int:
        """Let a queue run from its head on."""
        return self._enable(sq_id, True)

    def deactivate(self, sq_id: int) -> int:
        """Stop a queue."""
        return self._enable(sq_id, False)

    def _enable(self, sq_id: int, on: bool) -> int:
        device = self._task.device
        sq = device.queues.get(sq_id)
        if sq is None:
            return 1
        sq.enabled = on
        if on:
            device.models.started(sq, self._task.sq)
        if on and self._task.machine.checks is not None:
            self._task.machine.checks.activates(self._task, sq)
        sq.clock = max(sq.clock, self._task.sq.clock)
        device.activate(sq)
        return 0


def program(task: Task) -> int:
    """Run a condition entry; a faulting program fails the task with the status word it left."""
    if task.layout == "model_execute":
        if not task.sq.memo:  # else it was broken off, and may have started queues
            if task.device.models.busy(task.fields["model_id"]):
                return 0
            task.sq.memo += _BEGUN
        task.steps = len(_BEGUN)
    reach = _Reach(task)
    run = execute(task.raw[_PROGRAM_OFFSET:], reach, generation_of(task.device.chip))
    if run.fault is not None:
        raise TaskFault(f"condition program: {run.fault}", Effect.EXCEPTION.value, run.status)
    if task.layout in _POLLING and reach.head is not None and _is_before(task, reach.head):
        return 0  # waits here: going back would only reset the wait's own flag, and look like work done
    task.device.wake()
    if task.layout == "model_execute":
        task.device.models.execute(task.fields["model_id"], task.sq, task.position)
        task.detail = f"model {task.fields['model_id']}"
    if reach.head is None:
        task.occupy(CONTROL_NS)
        return 1
    task.occupy(CONTROL_NS)
    return (reach.head - task.position) % task.sq.depth or task.sq.depth


def _is_before(task: Task, head: int) -> bool:
    """Whether a ring position lies behind the entry that runs: the program goes back to look again."""
    depth = task.sq.depth
    return (task.position - head) % depth < depth // 2
