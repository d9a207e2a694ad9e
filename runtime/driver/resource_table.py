"""What a process holds by its driver: ids, queues and memory of each device, and virtual memory of all of them.

Kept up by the drivers that take and free. It says what has to be taken again on another card, under the same numbers
and addresses, without asking every object that uses some of it.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from npuhal.records import dataclass, field
from runtime import errors

if TYPE_CHECKING:
    from runtime.driver.queues import QueueOptions


_NEAR = 1 << 30
"""How far behind a block a wrong address is still taken for one that was meant to lie in it."""


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


@dataclass(slots=True, eq=False)
class Physical:
    """Physical memory that a process has a handle of, or has mapped."""

    handle: int
    size: int
    device: int
    """The driver's id of the device that has it; -1: it is not a device's."""
    foreign: bool
    """Another process has made it; `size` is not known."""
    exported: bool = False
    """Other processes can import it."""
    handles: int = 1
    """How often the handle must still be given up."""
    addresses: list[int] = field(default_factory=list)
    """Where it is mapped, in the order in which that was done."""


class VirtualMemory:
    """The physical memory of a process, its mappings, and the addresses for them: of the process, not of a device."""

    def __init__(self, enter: Callable[[], None] = _nothing, in_use: Callable[[], bool] = lambda: False) -> None:
        self.enter = enter
        """Called before something is taken; waits, or raises, while the process is locked."""
        self.in_use = in_use
        """Whether a device of the process is open, other than one that is being closed: addresses go with the last."""
        self.ranges: dict[int, object] = {}
        """Reserved ranges by address; each has a mark of its own, because addresses are given again."""
        self.observers: dict[int, Callable[[bool, Physical], None]] = {}
        """By device: who is told of memory that was made (True), or given up with its last handle and mapping."""
        self._physical: dict[int, Physical] = {}
        self._mapped: dict[int, Physical] = {}
        self._lock = threading.Lock()

    def of(self, device: int) -> list[Physical]:
        """Return what there is of a device's memory, by handle."""
        with self._lock:
            return sorted((one for one in self._physical.values() if one.device == device), key=lambda one: one.handle)

    def find(self, handle: int) -> Physical | None:
        """Return the memory behind a handle."""
        return self._physical.get(handle)

    def take(self, handle: int, size: int, device: int, *, foreign: bool = False) -> None:
        """A handle was made or imported; one that was there before counts once more."""
        with self._lock:
            known = self._physical.get(handle)
            if known is None:
                known = self._physical[handle] = Physical(handle, size, device, foreign)
                self._notify(True, known)
            else:
                known.handles += 1

    def retain(self, handle: int) -> None:
        """A handle counts once more."""
        with self._lock:
            if handle in self._physical:
                self._physical[handle].handles += 1

    def export(self, handle: int) -> None:
        """Other processes can import it from now on."""
        with self._lock:
            if handle in self._physical:
                self._physical[handle].exported = True

    def give(self, handle: int) -> None:
        """A handle was given up once."""
        with self._lock:
            known = self._physical.get(handle)
            if known is not None:
                known.handles -= 1
                self._drop(known)

    def map(self, address: int, handle: int) -> None:
        """Memory was mapped at an address."""
        with self._lock:
            known = self._physical.get(handle)
            if known is not None:
                known.addresses.append(address)
                self._mapped[address] = known

    def unmap(self, address: int) -> None:
        """Nothing is mapped at an address any more."""
        with self._lock:
            known = self._mapped.pop(address, None)
            if known is not None:
                known.addresses.remove(address)
                self._drop(known)

    def _drop(self, known: Physical) -> None:
        if known.handles <= 0 and not known.addresses:
            del self._physical[known.handle]
            self._notify(False, known)

    def _notify(self, made: bool, memory: Physical) -> None:
        if (observer := self.observers.get(memory.device)) is not None and not memory.foreign:
            observer(made, memory)

    def spans(self) -> list[tuple[int, int, str]]:
        """Return (address, bytes, description) of what is mapped; memory of another process has no known size."""
        with self._lock:
            known = list(self._mapped.items())
        return [(at, one.size, f"mapping of handle {one.handle:#x}") for at, one in known if one.size]

    def forget(self, device: int) -> None:
        """A device was closed: its memory is gone."""
        with self._lock:
            self._forget(device)

    def _forget(self, device: int) -> None:
        for one in [one for one in self._physical.values() if one.device == device]:
            del self._physical[one.handle]
            for address in one.addresses:
                del self._mapped[address]


class BlockFollower(Protocol):
    """What is told before blocks of memory go away."""

    def let_go(self, base: int, size: int) -> None:
        """Forget what holds only while a block is where it is."""

    def clear(self) -> None:
        """Forget it of all blocks; nothing is under way."""


@dataclass(slots=True)
class ResourceTable:
    """Everything that one device's drivers have taken and not given back."""

    enter: Callable[[], None] = _nothing
    """Called before something is taken; waits, or raises, while the process is locked."""
    virtual: VirtualMemory = field(default_factory=VirtualMemory)
    """Of all devices of the process."""
    keys: set[bytes] = field(default_factory=set)
    """Keys by which other processes can open memory of this device."""
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
    refused: dict[tuple[str, str], Callable[[], object]] = field(default_factory=dict)
    """What the driver has refused to take back, by call and thing, with what asks once more; see `ask_again`."""
    followers: list[BlockFollower] = field(default_factory=list)
    """What goes by where blocks lie, and has to know before that changes."""
    changing: Any = field(default_factory=threading.RLock)
    """Held while the driver is asked to hand something out, or to take it back, until that stands here."""

    def count(self, kind: str) -> int:
        """Return how many ids of a kind, or queues ("SQ"), this process holds."""
        return len(self.queues) if kind == "SQ" else sum(each == kind for each, _ in list(self.ids))

    dropped: deque[Any] = field(default_factory=deque)
    """Takes what asks once more for such things, at the next wait."""

    def ask(self, key: tuple[str, str]) -> None:
        """Give one thing back that the driver has refused, unless somebody has done so.

        Raises:
            RuntimeFault: it refuses again.
        """
        if (again := self.refused.get(key)) is not None:
            again()

    def ask_again(self) -> None:
        """Give back what the driver has refused until now, in that order; what it refuses once more goes with the card.

        For the end of the device: until then, who holds such a thing may use it, or close it again.
        """
        for again in list(self.refused.values()):
            with contextlib.suppress(errors.RuntimeFault):
                again()

    def misses(self, address: int, size: int) -> str:
        """Say what is wrong with a range beside or across the end of memory that we know; empty where nothing is.

        Only the block below is looked at, and only nearby: farther on the range may be anybody's.
        """
        known = [(at, span.size, "block") for at, span in list(self.memory.items())] + self.virtual.spans()
        below = max((block for block in known if block[0] <= address), default=None)
        if below is None or not (end := below[0] + below[1]) < address + size <= end + _NEAR:
            return ""
        return f"nothing is mapped at {max(address, end):#x}: the {below[2]} at {below[0]:#x} has {below[1]} bytes"
