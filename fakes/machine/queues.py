"""Submission and completion queues: rings in fake memory, pointers, states, and completion entries (CQEs).

Delivery and its rules: hal_semantics 4.8 and 4.9.
"""

from __future__ import annotations

import ctypes
import struct
from collections import deque
from typing import TYPE_CHECKING, Any

from chips.completion import (
    ERROR_BITS,
    STATUS_ROW,
    STATUS_VALID,
    Cqe,
    TaskReport,
    pack_logic_cqe,
    pack_task_report,
)
from fakes.errors import MemoryFault, TaskFault
from fakes.machine.blocks import Allocation
from fakes.machine.lent import Lent
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.memory import Memory

SQE_BYTES = 64
ANY_SQ = 0xFFFFFFFF
WQE = struct.Struct("<8sQQ40x")
"""A work queue element of the fake, by which copies over UB are rung: a mark, where its chain of copies is kept, how
many bytes it moves. What a real one looks like only driver and hardware know; the runtime carries its bytes."""
WQE_MARK = b"NPU-WQE1"

_HARDWARE = struct.Struct("<HHHHII")
_PLACEHOLDER, _EVENT_RECORD = 3, 4
"""SQE types whose completions carry a time stamp."""


def completion(
    stream_id: int, task_id: int, sq_id: int, sq_head: int, sqe_type: int, error_type: int = 0, error_code: int = 0,
    match: bool = False, timestamp: int = 0,
) -> Cqe:  # fmt: skip
    """Return a completion as the task scheduler writes it; the flags follow from the error bits."""
    failed = bool(error_type & ERROR_BITS)
    return Cqe(
        stream_id, task_id, error_code, error_type, sqe_type, sq_id, sq_head, match, False, failed, False, False, False,
        timestamp, timestamp,
    )  # fmt: skip


def hardware_entry(cqe: Cqe, size: int, phase: int) -> bytes:
    """Lay a completion out as the hardware CQ entry that a receiver of type NORMAL reads (hal_semantics 4.9)."""
    head = phase | (cqe.sq_id & 0x7FF) << 4 | cqe.error << 15
    if not cqe.error and cqe.sqe_type in (_PLACEHOLDER, _EVENT_RECORD):
        head |= 8 if cqe.sqe_type == _PLACEHOLDER else 4
        low, high = cqe.timestamp & 0xFFFFFFFF, cqe.timestamp >> 32
    else:
        low, high = cqe.error_type & 0xFF | (cqe.sqe_type & 0x3F) << 10, cqe.error_code
    entry = _HARDWARE.pack(head, cqe.sq_head, cqe.stream_id | cqe.match << 15, cqe.task_id, low, high)
    return entry[:size].ljust(size, b"\0")


@dataclass(slots=True, eq=False)
class LogicQueue:
    """A software CQ of 32-byte reports. When it is full the next report is lost, and only a counter grows."""

    cq_id: int
    depth: int
    entry_bytes: int
    stream_id: int
    entries: deque[Cqe | bytes] = field(default_factory=deque)
    """Reports; those about commands as they are."""
    lost: int = 0
    freed: bool = False

    def put(self, cqe: Cqe | bytes) -> None:
        """Queue a report, or lose it."""
        if len(self.entries) >= self.depth:
            self.lost += 1
        else:
            self.entries += (cqe,)  # no call, and none behind it: an interrupt comes before it or behind all of it

    def take(self, wanted: int, stream_id: int, task_id: int) -> list[bytes]:
        """Take one run for a caller that waits for (stream, task).

        Reports with the match flag go only to the caller they name, and end the run; the run stops before a report
        that is matched to somebody else. When the first one is such, it stays and later ones are looked at.
        """
        entries = self.entries
        run: list[bytes] = []
        index = 0
        while index < len(entries) and len(run) < wanted:
            cqe = entries[index]
            if isinstance(cqe, bytes):
                del entries[index]
                run.append(cqe)
                continue
            if cqe.match and (cqe.stream_id, cqe.task_id) != (stream_id, task_id):
                if run:
                    break
                index += 1
                continue
            del entries[index]
            run.append(pack_logic_cqe(cqe)[: self.entry_bytes])
            if cqe.match:
                break
        return run


@dataclass(slots=True)
class StreamMemory:
    """The memory that a stream's tasks are written to: where it begins and ends, and how far it is written."""

    base: int
    end: int
    tail: int = 0


@dataclass(slots=True, eq=False)
class SubmissionQueue:
    """One SQ and its paired hardware CQ.

    `head` is what the device has finished, `tail` what the host has submitted; both are ring positions.
    """

    sq_id: int
    cq_id: int
    stream_id: int
    depth: int
    ring: Allocation
    """Where the SQEs lie: the queue's own ring, or the memory of the stream that is bound to it."""
    cqe_bytes: int
    cq_depth: int
    device: int
    in_place: bool
    sendable: bool = True
    head: int = 0
    tail: int = 0
    returned: int = 0
    """With slow credit: the ring position up to which senders got their space back."""
    enabled: bool = True
    paused: bool = False
    held: bool = False
    failure: TaskFault | MemoryFault | None = None
    """Why its last failed task has failed, until somebody has asked."""
    entries: Any = None
    """The bytes of the ring; a slice of them is a copy."""
    space: Any = None
    """The same to write to."""
    hung: str = ""
    """Why the task at the head never ends; empty when it does not hang."""
    hang_limit: int = -1
    """Idle time at which the hanging task is stopped by its credit; -1: never."""
    wait_since: int = -1
    """Idle time at which the task at the head began to wait; -1: it does not wait."""
    cqe_status: int = 0
    sent: int = 0
    done: int = 0
    full: int = 0
    clock: int = 0
    seen_time: int = 0
    """What the host had seen of the device's time at its last send."""
    arrivals: deque[tuple[int, int]] = field(default_factory=deque)
    """(SQE number, earliest start): submissions that came after the host had seen the device get further."""
    logic: LogicQueue | None = None
    hardware: deque[Cqe] = field(default_factory=deque)
    hardware_lost: int = 0
    hardware_seen: int = 0
    registers: int = 0
    destroyed: bool = False
    staging: Lent | None = None
    """Private area of the old two-step send (halSqMemGet), and how many entries of it are reserved."""
    reserved: int = 0
    memo: deque[Any] = field(default_factory=deque)
    """What came of steps that the task at the head must not make again, where an interrupt has broken it off; see
    `fakes.executor.task.once`."""

    def __post_init__(self) -> None:
        self.lie_in(self.ring, self.depth)

    def lie_in(self, ring: Allocation, depth: int) -> None:
        """Have the SQEs in this memory."""
        self.ring, self.depth = ring, depth
        self.entries = (ctypes.c_char * ring.size).from_address(ring.pointer)
        self.space = memoryview(self.entries).cast("B")

    def entry(self, position: int) -> bytes:
        """Return a copy of the SQE at a position."""
        made: bytes = self.entries[position * SQE_BYTES : (position + 1) * SQE_BYTES]
        return made

    @property
    def pending(self) -> int:
        """SQEs submitted and not finished."""
        return (self.tail - self.head) % self.depth

    @property
    def credit(self) -> int:
        """SQEs that can be submitted now; one slot of the ring stays empty."""
        return self.depth - 1 - (self.tail - self.head) % self.depth

    def slow_credit(self, slots: int) -> int:
        """Give at most `slots` finished slots back to senders (fault: slow credit); returns what may be sent now."""
        late = (self.head - self.returned) % self.depth
        if self.pending + late >= self.depth:  # the position is one of an earlier lap
            late = 0
        late = max(late - slots, 0)
        self.returned = (self.head - late) % self.depth
        return self.depth - 1 - self.pending - late

    @property
    def runnable(self) -> bool:
        """Whether the device may execute the head: enabled, not paused, not held, not hanging, not empty."""
        return self.head != self.tail and self.enabled and not (self.paused or self.held or self.hung)

    def arrive(self) -> None:
        """The task at the head cannot start before the host, which had seen the device get so far, has sent it."""
        arrivals = self.arrivals
        while arrivals and arrivals[0][0] <= self.done:
            self.clock = max(self.clock, arrivals.popleft()[1])

    def drop(self) -> None:
        """Forget everything that is queued, as the task scheduler does when it ends a queue's tasks."""
        self.done += self.pending
        self.head, self.hung, self.enabled = self.tail, "", True
        self.arrivals.clear()
        self.memo.clear()

    def reset(self, head: int = 0, tail: int = 0) -> None:
        """Set both pointers and forget a hanging task."""
        self.head, self.tail = head % self.depth, tail % self.depth
        self.hung = ""
        self.hang_limit = self.wait_since = -1
        self.memo.clear()

    def deliver(self, cqe: Cqe) -> None:
        """Deliver a completion: to the bound logic CQ, else it stays in the hardware CQ; overflow disables the SQ."""
        target = self.receiver()
        # nothing from here on can be interrupted
        self.cqe_status = 1
        if target is None:
            self.lose()
        else:
            target += (cqe,)

    def receiver(self) -> deque[Any] | None:
        """Return where completions go; None where there is no space for one."""
        if self.logic is not None and not self.logic.freed:
            return self.logic.entries if len(self.logic.entries) < self.logic.depth else None
        return self.hardware if len(self.hardware) < self.cq_depth else None

    def lose(self) -> None:
        """Count a completion for which there is no space."""
        if self.logic is not None and not self.logic.freed:
            self.logic.lost += 1
        else:
            self.hardware_lost += 1
            self.enabled = False

    def receive_hardware(self, wanted: int) -> list[bytes]:
        """Take raw entries as a receiver of type NORMAL does; the phase bit is 1 on the first lap and flips."""
        out: list[bytes] = []
        while self.hardware and len(out) < wanted:
            phase = 1 - (self.hardware_seen // max(self.cq_depth, 1)) % 2
            out.append(hardware_entry(self.hardware.popleft(), self.cqe_bytes, phase))
            self.hardware_seen += 1
        return out


class HostCalls:
    """Requests of a card that the host call functions: by groups of threads, one per thread that listens."""

    __slots__ = ("_frees", "_staged", "_waiting", "groups")

    def __init__(self) -> None:
        self.groups: dict[int, int] = {}
        """The group of each callback CQ."""
        self._waiting: dict[int, deque[bytes]] = {}
        self._frees: dict[int, int] = {}
        self._staged: dict[int, tuple[Lent, int]] = {}

    @staticmethod
    def queue_of(report: bytes) -> int:
        """Return the CQ that a request names."""
        return int.from_bytes(report[:2], "little") >> 4

    def waiting(self, group: int) -> deque[bytes]:
        """Return the requests that nobody has taken."""
        return self._waiting.setdefault(group, deque())

    def frees(self, group: int) -> int:
        """Return how often a CQ of a group was freed."""
        return self._frees.get(group, 0)

    def stage(self, memory: Memory, report: bytes) -> None:
        """Put a request that was taken where the host finds it: each CQ has one address for that."""
        number = self.queue_of(report)
        lent, _ = self._staged.get(number) or (memory.lend(report), 0)
        self._staged[number] = (lent, 1)
        memory.write(lent.address, report, "halCqReportIrqWait to")

    def staged(self, number: int) -> tuple[int, int]:
        """Return the address for requests of a CQ, 0 if there is none yet, and how many are there: 0 or 1."""
        lent, count = self._staged.get(number, (None, 0))
        return (0 if lent is None else lent.address), count

    def release(self, number: int) -> None:
        """The host has read what was staged."""
        self._staged[number] = (self._staged[number][0], 0)

    def free(self, number: int) -> bool:
        """Free a CQ with its requests; False if there is none."""
        group = self.groups.pop(number, None)
        if group is None:
            return False
        waiting = self.waiting(group)
        kept = [report for report in waiting if self.queue_of(report) != number]
        waiting.clear()
        waiting.extend(kept)
        self._frees[group] = self.frees(group) + 1
        if number in self._staged:
            self._staged.pop(number)[0].close()
        return True

    def reset(self) -> None:
        """Free all: the card is closed."""
        for number in list(self.groups):
            self.free(number)


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

    def reset(self, memory: Memory) -> None:
        """Forget everything a process was told, or has said."""
        self.free_table(memory)
        self.__init__()  # type: ignore[misc]

    def write_row(self, stream_id: int, task_id: int, code: int = 0) -> None:
        """Write how far a stream is into the table (struct rtShmQuery_t), with the code of a task that has failed."""
        at, size = stream_id * STATUS_ROW.size, STATUS_ROW.size
        if self.table is None or at + size > self.table.size:
            return
        pointer = self.table.pointer + at
        _, first, first_task, last, last_task, said, last_said, _ = STATUS_ROW.unpack(ctypes.string_at(pointer, size))
        if code:
            last, last_task, last_said = code, task_id, task_id << 16 | stream_id & 0xFFFF
            if not first:
                first, first_task, said = last, last_task, last_said
        row = STATUS_ROW.pack(task_id, first, first_task, last, last_task, said, last_said, STATUS_VALID)
        ctypes.memmove(pointer, row, size)

    def report(self, stream_id: int, task_id: int, sq_id: int, head: int, *payloads: int) -> None:
        """Report a task (struct tagTsTaskReportMsg), in as many parts as there are payloads."""
        parts = []
        for index, payload in enumerate(payloads):
            part = TaskReport(stream_id, task_id, first=not index, last=index == len(payloads) - 1)
            parts.append(pack_task_report(part, payload, sq_id, head))
        self.reports += parts  # no call, and none behind it
