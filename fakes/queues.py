"""Submission and completion queues: rings in fake memory, pointers, states, and completion entries (CQEs).

Layouts: trs_pkg.h / the logic CQ report of the runtime (rtLogicCqReport_t), hal_semantics 4.8 and 4.9.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field

from fakes.memory import Block

SQE_BYTES = 64
LOGIC_CQE_BYTES = 32
ANY_SQ = 0xFFFFFFFF

_LOGIC = struct.Struct("<HHIBBHHHQQ")
_HARDWARE = struct.Struct("<HHHHII")

MATCH, DROP, ERROR = 1, 2, 4
"""Bits of the flag word at byte 14 of a logic CQE."""


@dataclass(slots=True)
class Cqe:
    """One completion, before it is laid out for the queue it goes to."""

    stream_id: int
    task_id: int
    sq_id: int
    sq_head: int
    sqe_type: int
    error_type: int = 0
    error_code: int = 0
    match: bool = False
    timestamp: int = 0

    def logic_bytes(self, size: int, now: int) -> bytes:
        """Lay it out as the 32-byte report of a logic CQ, cut to the entry size of the queue."""
        flags = (MATCH if self.match else 0) | (ERROR if self.error_type & 0x3F else 0)
        return _LOGIC.pack(
            self.stream_id, self.task_id, self.error_code, self.error_type, self.sqe_type, self.sq_id, self.sq_head,
            flags, self.timestamp, now,
        )[:size].ljust(size, b"\0")  # fmt: skip

    def hardware_bytes(self, size: int, phase: int) -> bytes:
        """Lay it out as the hardware CQ entry that a receiver of type NORMAL reads."""
        error = bool(self.error_type & 0x3F)
        head = phase | (self.sq_id & 0x7FF) << 4 | (0x8000 if error else 0)
        if not error and self.sqe_type in (3, 4):
            head |= 8 if self.sqe_type == 3 else 4
            low, high = self.timestamp & 0xFFFFFFFF, self.timestamp >> 32
        else:
            low, high = self.error_type & 0xFF | (self.sqe_type & 0x3F) << 10, self.error_code
        stream = self.stream_id | (0x8000 if self.match else 0)
        return _HARDWARE.pack(head, self.sq_head, stream, self.task_id, low, high)[:size].ljust(size, b"\0")


@dataclass(slots=True, eq=False)
class LogicQueue:
    """A software CQ of 32-byte reports. When it is full the next report is lost, and only a counter grows."""

    cq_id: int
    depth: int
    entry_bytes: int
    stream_id: int
    entries: deque[tuple[Cqe, int]] = field(default_factory=deque)
    lost: int = 0
    freed: bool = False

    def put(self, cqe: Cqe, now: int) -> None:
        """Queue a report, or lose it."""
        if len(self.entries) >= self.depth:
            self.lost += 1
        else:
            self.entries.append((cqe, now))

    def take(self, wanted: int, stream_id: int, task_id: int) -> list[bytes]:
        """Take one run for a caller that waits for (stream, task).

        Reports with the match flag go only to the caller they name, and end the run; the run stops before a report
        that is matched to somebody else. When the first one is such, it stays and later ones are looked at.
        """
        entries = self.entries
        run: list[bytes] = []
        index = 0
        while index < len(entries) and len(run) < wanted:
            cqe, now = entries[index]
            if cqe.match and (cqe.stream_id, cqe.task_id) != (stream_id, task_id):
                if run:
                    break
                index += 1
                continue
            del entries[index]
            run.append(cqe.logic_bytes(self.entry_bytes, now))
            if cqe.match:
                break
        return run


@dataclass(slots=True, eq=False)
class SubmissionQueue:
    """One SQ and its paired hardware CQ.

    `head` is what the device has finished, `tail` what the host has submitted; both are ring positions.
    """

    sq_id: int
    cq_id: int
    stream_id: int
    depth: int
    ring: Block
    cqe_bytes: int
    cq_depth: int
    device: int
    in_place: bool
    sendable: bool = True
    head: int = 0
    tail: int = 0
    enabled: bool = True
    paused: bool = False
    held: bool = False
    hung: str = ""
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

    @property
    def pending(self) -> int:
        """SQEs submitted and not finished."""
        return (self.tail - self.head) % self.depth

    @property
    def credit(self) -> int:
        """SQEs that can be submitted now; one slot of the ring stays empty."""
        return self.depth - 1 - (self.tail - self.head) % self.depth

    @property
    def runnable(self) -> bool:
        """Whether the device may look at the head: enabled, not paused, not held, not hanging, not empty."""
        return self.enabled and not (self.paused or self.held or self.hung) and self.head != self.tail

    def reset(self, head: int = 0, tail: int = 0) -> None:
        """Set both pointers and forget a hanging task."""
        self.head, self.tail = head % self.depth, tail % self.depth
        self.hung = ""

    def deliver(self, cqe: Cqe, now: int) -> None:
        """Deliver a completion: to the bound logic CQ, else it stays in the hardware CQ; overflow disables the SQ."""
        self.cqe_status = 1
        if self.logic is not None and not self.logic.freed:
            self.logic.put(cqe, now)
        elif len(self.hardware) >= self.cq_depth:
            self.hardware_lost += 1
            self.enabled = False
        else:
            self.hardware.append(cqe)

    def receive_hardware(self, wanted: int) -> list[bytes]:
        """Take raw entries as a receiver of type NORMAL does; the phase bit is 1 on the first lap and flips."""
        out = []
        while self.hardware and len(out) < wanted:
            phase = 1 - (self.hardware_seen // max(self.cq_depth, 1)) % 2
            out.append(self.hardware.popleft().hardware_bytes(self.cqe_bytes, phase))
            self.hardware_seen += 1
        return out
