"""What the parts of a fake machine see of it: cards, chapters of HAL functions, handlers and checkers receive these.

`fakes.machine.machine.Machine` puts the parts together, and stands above all of them; below it they know each other by
what they ask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import threading
    from collections import deque

    from chips.chip import Chip
    from chips.layout import Layout, LayoutSet
    from chips.registry import Plugin
    from fakes.errors import MemoryFault, TaskFault
    from fakes.executor.task import Task
    from fakes.faults import Faults
    from fakes.hal.dma import DmaCalls
    from fakes.kernels import Registry
    from fakes.machine.blocks import Allocation
    from fakes.machine.card import Device
    from fakes.machine.driver import Driver
    from fakes.machine.journal import Executed
    from fakes.machine.memory import Memory
    from fakes.machine.queues import SubmissionQueue
    from fakes.machine.shared_buffers import SharedBuffers
    from fakes.machine.signal import Signal
    from fakes.shared.card import Shared
    from fakes.shared.imports import Imports
    from fakes.shared.names import Names, Source
    from fakes.url.options import FakeOptions
    from npuhal.changed import Changed


class Registers(Protocol):
    """What condition programs of a card reach besides its memory."""

    def load(self, address: int, size: int, physical: bool) -> bytes:
        """Read registers or memory."""

    def store(self, address: int, data: bytes, physical: bool) -> None:
        """Write registers or memory."""

    def event(self, address: int) -> tuple[Device, int] | None:
        """Return the card and the number of the event at an address, if there is one."""


class Executor(Protocol):
    """Decodes and executes the tasks of all cards."""

    @property
    def layouts(self) -> LayoutSet:
        """Layouts of the entries."""

    @property
    def identify(self) -> Callable[[bytes], Layout | None]:
        """Tells which layout an entry has."""

    @property
    def header(self) -> Layout:
        """Layout of what all entries begin with."""

    @property
    def stream_ids(self) -> bool:
        """Whether entries carry a stream and a task id, not a serial number."""

    def task_id(self, task: Task) -> int:
        """Return the number of a task, as far as 16 bits say it."""

    def registers(self, device: Device) -> Registers:
        """Return what condition programs of a card reach besides its memory."""

    def execute(self, device: Device, sq: SubmissionQueue, end: int = 0) -> bool:
        """Execute the task at the head of a queue, and plain kernels behind it; False when the last has to wait."""

    @property
    def ended(self) -> int:
        """What became of the last task that was to be executed, on the fast path."""

    def run_on(self, device: Device, sq: SubmissionQueue, end: int) -> int:
        """Execute plain kernels at the head of a queue; returns what became of the last one."""

    def decode(self, device: Device, sq: SubmissionQueue) -> Task:
        """Read and decode the entry at the head of a queue."""

    def decode_at(self, device: Device, sq: SubmissionQueue, position: int) -> Task:
        """Read and decode the entry at a position of a queue."""

    def peek(self, device: Device, sq: SubmissionQueue, position: int) -> Task | None:
        """Return the entry at a position if it is a copy, decoded; None for everything else."""

    def expire(self, device: Device, sq: SubmissionQueue) -> None:
        """Stop the hanging task at the head of a queue with a time-out."""

    def stop(self, device: Device, sq: SubmissionQueue) -> None:
        """End the task at the head of a queue on request."""

    def fail_head(self, device: Device, sq: SubmissionQueue, error_type: int, code: int) -> None:
        """End the task at the head of a queue with an error."""


class Checks(Protocol):
    """The checkers that are on, as far as something tells them what happens (`fakes.checkers.hub`)."""

    def submitted(self, device: Device, sq: SubmissionQueue, position: int, count: int) -> None:
        """The host has sent entries."""

    def looked(self, sq: SubmissionQueue) -> None:
        """The host has read the head of a queue."""

    def heard(self, device: Device, kind: int, cq_id: int) -> None:
        """The host has taken reports."""

    def host_copy(self, dst: int, src: int, size: int, call: str) -> None:
        """The host has copied at once."""

    def filled(self, device: Device, sq: SubmissionQueue, address: int, size: int) -> None:
        """The host has written entries to memory of a stream."""

    def host_signalled(self, key: tuple[str, int, int], signal: Signal, value: int) -> None:
        """The host has set a signal."""

    def giving_up(self, sq: SubmissionQueue) -> None:
        """The host gives the tasks of a queue up."""

    def closing(self, device: Device) -> None:
        """The host closes a card."""

    def destroyed(self, sq: SubmissionQueue) -> None:
        """A queue is gone."""

    def begin(self, task: Task) -> None:
        """A task is about to be tried."""

    def waits(self, task: Task) -> None:
        """A task has to wait."""

    def done(self, task: Task) -> None:
        """A task has ended."""

    def failed(self, task: Task, fault: TaskFault | MemoryFault) -> None:
        """A task has failed."""

    def bound(self, device: Device, sq: SubmissionQueue) -> None:
        """A queue was lent to a stream, or taken back from one."""

    def activates(self, task: Task, sq: SubmissionQueue) -> None:
        """A task lets another queue run."""

    def passes_on(self, sq: SubmissionQueue, runner: SubmissionQueue) -> None:
        """What a queue has seen is known to another one."""

    def gives(
        self, task: Task, key: tuple[str, int, int], signal: Signal, value: int, *, adds: bool = False,
        counts: bool = False,
    ) -> None:  # fmt: skip
        """A task sets a signal."""

    def takes(self, task: Task, signal: Signal, reached: Callable[[int], bool] | None = None) -> None:
        """A wait of a task for a signal is over."""

    def calls(self, task: Task, cq_id: int) -> None:
        """A task asks the host to call a function."""

    def listens(self) -> None:
        """This thread listens for calls of host functions."""

    def idle(self) -> None:
        """A poll of the host has found nothing that can run."""


class Machine(Protocol):
    """The machine that a part belongs to."""

    client_version: int
    tells_user_memory: bool
    send: Callable[[int, Any], int]
    pending: list[tuple[int, BaseException]]

    @property
    def chip(self) -> Chip:
        """What all its cards are."""

    @property
    def options(self) -> FakeOptions:
        """What the URL says of it."""

    @property
    def plugin(self) -> Plugin:
        """Builders and readers of its entries."""

    @property
    def driver(self) -> Driver:
        """The tree of the driver that serves it."""

    @property
    def lock(self) -> threading.RLock:
        """Held by whoever reads or changes it."""

    @property
    def changed(self) -> Changed:
        """Notified when a card did something, or was let go."""

    @property
    def closing(self) -> bool:
        """Whether it is being closed."""

    @property
    def pid(self) -> int:
        """The process that the program is."""

    @property
    def devices(self) -> list[Device]:
        """Its cards by logic id."""

    @property
    def memory(self) -> Memory:
        """All memory."""

    @property
    def message_queues(self) -> dict[int, dict[int, Any]]:
        """Queues for messages by copy, by card and number."""

    @property
    def schedules(self) -> dict[int, Any]:
        """What passes messages from queue to queue, by card."""

    @property
    def buffers(self) -> SharedBuffers:
        """Message buffers and the group they come from."""

    @property
    def dma(self) -> DmaCalls:
        """Chains of descriptors."""

    @property
    def executor(self) -> Executor:
        """Executes tasks."""

    @property
    def checks(self) -> Checks | None:
        """The checkers that are on; None when none is."""

    @property
    def faults(self) -> Faults:
        """Rules of what is to fail."""

    @property
    def kernels(self) -> Registry:
        """Functions that stand for device code."""

    @property
    def shared(self) -> Shared | None:
        """What it has in common with the machines of other processes."""

    @property
    def names(self) -> Names:
        """Exports by name."""

    @property
    def imports(self) -> Imports:
        """What this process has open of other ones."""

    @property
    def in_use(self) -> list[Callable[[int], Mapping[str, list[str]]]]:
        """What says what else the process still has of a card that is being closed, by kind."""

    @property
    def on_close(self) -> list[Callable[[int], None]]:
        """Called with the logic id of a card that is closed."""

    @property
    def on_leave(self) -> list[Callable[[int], None]]:
        """Called with the logic id of a card that is closed to be opened again."""

    @property
    def log(self) -> deque[Executed]:
        """What was executed."""

    @property
    def cores(self) -> dict[str, int]:
        """Cores of one card by engine."""

    @property
    def dies(self) -> int:
        """Dies of one card."""

    @property
    def chip_revision(self) -> int:
        """Low byte of the hardware version word."""

    @property
    def program(self) -> int:
        """Process id of the program, where that is another process."""

    @property
    def raises(self) -> bool:
        """Whether exceptions on the device reach the program."""

    def problem(self, text: str) -> None:
        """Record what went wrong on the device in words."""

    def defect(self, error: BaseException) -> None:
        """Log an exception of an attached function."""

    def stand_in_failed(self, error: BaseException) -> None:
        """An attached function has raised, and its task has failed for it."""

    def raise_pending(self) -> None:
        """Raise one error that is pending for the calling thread or for any, once."""

    def in_child(self) -> None:
        """Follow a fork."""

    def physical(self, address: int, device: int) -> int:
        """Return the physical address of a device address."""

    def virtual(self, address: int, device: int) -> int:
        """Return the device address behind a physical one."""

    def source(self, block: Allocation) -> Source | None:
        """Return where other processes find the bytes of a block."""
