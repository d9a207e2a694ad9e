"""Runs: neighbouring tasks of one SQE each that the driver gets with one call.

The device sees what single sends would give it, in the same order. How long a run is depends on the free positions of
the ring, the ids, and the staging buffer; a full ring makes the next run wait, as it makes a single send wait.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from runtime.core.submission.repair import was_sent
from runtime.core.submission.ring import NO_TASK, RingV100, RingV200, TaskInfo
from runtime.core.submission.submit import flip, make_space, send_again
from runtime.driver.queues import SQE_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.core.diagnostics.counters import Counts
    from runtime.core.ports import StreamPort
    from runtime.memory.arguments import ArgumentBlock

LONGEST_RUN = 256
PUBLISHES = 1
"""The byte of an SQE that asks for the queue's head to be published."""


@cache
def ramp() -> array[int]:
    """Return all ids and positions in order: a slice of it names a run."""
    return array("H", range(1 << 16))


class RunSender:
    """Sends runs in one stream from a staging buffer of its own; each method is called with the stream's lock held."""

    __slots__ = ("_columns", "_ids", "_most", "_ramp", "_sender", "_stream", "rows", "staging")

    def __init__(self, stream: StreamPort) -> None:
        import numpy as np

        self._stream = stream
        self._sender = stream.senders.for_runs(LONGEST_RUN)
        self._most = self._sender.most
        self._ids = ramp()
        self._ramp = np.frombuffer(self._ids, np.uint16)
        self.rows: NDArray[np.uint8] = np.frombuffer(self._sender.buffer, np.uint8).reshape(self._most, SQE_BYTES)
        """The SQEs of the next run."""
        self.staging = memoryview(self._sender.buffer)
        """The same as bytes."""
        self._columns: dict[tuple[int, int], NDArray[Any]] = {}

    def column(self, word: tuple[int, int]) -> NDArray[Any]:
        """Return a word of all rows, given by its first byte and its bytes."""
        found = self._columns.get(word)
        if found is None:
            import numpy as np

            offset, size = word
            found = np.ndarray((self._most,), f"<u{size}", self.rows.data, offset, (SQE_BYTES,))
            self._columns[word] = found
        return found

    def space(self, info: TaskInfo, wanted: int) -> int:
        """Return how many tasks may go with the next send, at least one.

        Raises:
            RuntimeFault: what keeps a task from being sent.
        """
        stream, ring = self._stream, self._stream.ring
        if stream.blocked:
            stream.check_send(info.type)
        if not ring.fits(1):
            make_space(stream, 1)
        submitted, depth = ring.submitted, ring.depth
        count = min(wanted, self._most, ring.limit - submitted, depth - submitted % depth)
        return min(count, NO_TASK - ring.next_id) if isinstance(ring, RingV100) else count

    def name(self, infos: Sequence[TaskInfo], ids: NDArray[Any]) -> None:
        """Write down who comes next, and the numbers of these tasks into their SQEs."""
        ring, count = self._stream.ring, len(infos)
        position = ring.tail
        end = position + count
        ring.owners[position:end] = infos
        if isinstance(ring, RingV100):
            ring.ids[position:end] = self._ids[ring.next_id : ring.next_id + count]
            ids[:count] = self._ramp[ring.next_id : ring.next_id + count]
            return
        import numpy as np

        assert isinstance(ring, RingV200)
        ring.firsts[position:end] = self._ids[position:end]
        ids[:count] = np.fromiter(islice(self._stream.device.serials, count), np.uint64, count)

    def publishing(self, count: int) -> slice:
        """Return which of the next tasks ask the hardware to publish the queue's head (devices over UB)."""
        ring = self._stream.ring
        assert isinstance(ring, RingV200)
        every = self._stream.env.chip.traits.head_update_every
        return slice(-(ring.allocations + 1) % every, count, every)

    def send(
        self, count: int, blocks: list[ArgumentBlock], keep: Sequence[Any] = (), kinds: Counts | None = None
    ) -> None:
        """Send the first `count` rows.

        Args:
            blocks: at most one; it goes back with the last task, and is taken out of the list once they have left.
            keep: what has to live until the last of the tasks was reclaimed.
            kinds: how many there are of each kind, where that is known: nobody has to look for it then.
        """
        stream, sender, ring = self._stream, self._sender, self._stream.ring
        before, sender.info.sqe_num = ring.submitted, count
        try:
            if rc := sender.send(sender.device_id, sender.reference):
                send_again(stream, sender, rc)
            self._settle(count, blocks, keep)
            if kinds is not None:
                stream.counts.sent(before, kinds)
        except BaseException:
            if ring.submitted == before and was_sent(stream, before + count):
                self._settle(count, blocks, keep)
            ring.tidy()
            stream.senders.seek(ring.tail)
            raise

    def _settle(self, count: int, blocks: list[ArgumentBlock], keep: Sequence[Any]) -> None:
        """Make the run part of the ring; the counts move at once and last, so that an interrupt before starts again."""
        ring = self._stream.ring
        position = ring.tail
        if keep:
            ring.keep()[position + count - 1] = keep
        if blocks:
            ring.arguments[position + count - 1] = blocks[0]
            del blocks[:]
        if isinstance(ring, RingV200):
            ring.submitted += count
            ring.allocations += count
        elif isinstance(ring, RingV100):
            ring.submitted += count
            ring.next_id += count
            if ring.next_id == NO_TASK:
                ring.wrap_ids()
                flip(self._stream)
