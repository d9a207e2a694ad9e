"""Host memory that an asynchronous copy is to read: it must be the same when the copy runs as when it was queued."""

from __future__ import annotations

import ctypes
import zlib
from typing import TYPE_CHECKING

from fakes.checkers.order import HOST, Actor, Stamp
from fakes.checkers.report import SOURCE, Report
from fakes.errors import MemoryFault
from fakes.machine.blocks import Kind
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.checkers.shadow import Work
    from fakes.executor.task import Task
    from fakes.machine.blocks import Allocation

_CURE = "Write it again only after the stream, or an event behind the copy, was waited for"


class Piece(NamedTuple):
    """A part of host memory that a queued copy will read, and what was in it."""

    address: int
    pointer: int
    size: int
    digest: int
    block: Allocation | None
    serial: int
    """Number of the last thing that had happened when the copy was queued."""


class Sources:
    """Digests of host memory, per queued copy."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def look(self, task: Task) -> list[Piece]:
        """Return the digests for a copy that was just queued; nothing for one that reads no host memory."""
        from fakes.executor import memory as copies

        memory, serial = self._checks.machine.memory, self._checks.serial
        pieces = []
        for _dst, address, size in copies.ends(task):
            block = memory.find(address)
            if block is None if memory.owns(address) else block is not None and block.kind is Kind.DEVICE:
                continue
            if block is not None and (block.kind is Kind.DEVICE or address + size > block.base + block.size):
                continue
            pointer = address if block is None else block.pointer + address - block.base
            if (digest := self._digest(address, size)) is not None:
                pieces.append(Piece(address, pointer, size, digest, block, serial))
        return pieces

    def compare(self, actor: Actor, submitted: Stamp, pieces: list[Piece], work: Work) -> None:
        """Look again, now that the copy runs."""
        if actor.known.get(HOST, 0) > submitted.tick:
            return  # a function of the host, or one it has signalled, came in between in the stream's order
        checks = self._checks
        for piece in pieces:
            if piece.block is not None and checks.machine.memory.find(piece.address) is not piece.block:
                continue  # freed meanwhile: that is another report
            if self._digest(piece.address, piece.size) in (piece.digest, None):
                continue
            if any(
                segment.write is not None and segment.write.actor != HOST and segment.write.serial > piece.serial
                for segment in checks.races.shadow.within(piece.pointer, piece.pointer + piece.size)
            ):
                continue  # a task has written it
            what = "host memory" if piece.block is None else checks.names.block(piece.block)
            who = checks.names.work(work)
            text = f"the source of {who}, {piece.size} bytes at {piece.address:#x} of {what}, was changed by the host "
            text += "between the submission and the copy"
            checks.report(Report(SOURCE, text, _CURE, (who,)), (work.stream, work.site, piece.address))

    def _digest(self, address: int, size: int) -> int | None:
        """Return a digest of memory; None where there is none, as the copy itself will find."""
        try:
            pointer = self._checks.machine.memory.pointer(address, size, "look from")
        except MemoryFault:
            return None
        return zlib.crc32((ctypes.c_char * size).from_address(pointer))
