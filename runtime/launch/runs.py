"""Runs: neighbouring tasks of one SQE each that the driver gets with one call.

The device sees what single sends would give it, in the same order. How long a run is depends on the free places of the
ring, the ids, and the staging buffer; a full ring makes the next run wait, as it makes a single send wait.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from chips.v200.generation import HEAD_UPDATE_EVERY
from runtime.core.ring import NO_TASK, Label, RingV100, RingV200
from runtime.core.submit import flip, make_room, send_again, was_sent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runtime.core.stream import Stream

LONGEST_RUN = 256
_SQE_BYTES = 64
RAMP = array("H", range(1 << 16))
"""All ids and positions in order: a slice of it names a run."""


class RunSender:
    """Sends runs in one stream from a staging buffer of its own; each method is called with the stream's lock held."""

    __slots__ = ("_columns", "_ramp", "_sender", "_stream", "rows", "writers")

    def __init__(self, stream: Stream) -> None:
        import numpy as np

        self._stream = stream
        self._sender = stream.senders.for_runs(LONGEST_RUN)
        self._ramp = np.frombuffer(RAMP, np.uint16)
        self.rows: NDArray[np.uint8] = np.frombuffer(self._sender.buffer, np.uint8).reshape(LONGEST_RUN, _SQE_BYTES)
        """The SQEs of the next run."""
        self._columns: dict[tuple[int, int], NDArray[Any]] = {}
        self.writers: dict[Any, Callable[..., None]] = {}
        """What writes arguments into a block of a pool, by pool and size; for who has no place of its own for that."""

    def column(self, word: tuple[int, int]) -> NDArray[Any]:
        """Return a word of all rows, given by its first byte and its bytes."""
        import numpy as np

        found = self._columns.get(word)
        if found is None:
            offset, size = word
            found = np.ndarray((LONGEST_RUN,), f"<u{size}", self.rows.data, offset, (_SQE_BYTES,))
            self._columns[word] = found
        return found

    def room(self, label: Label, wanted: int) -> int:
        """Return how many tasks may go with the next send, at least one.

        Raises:
            RuntimeFault: what keeps a task from being sent.
        """
        stream, ring = self._stream, self._stream.ring
        if stream.barred:
            stream.check_send(label.type)
        if not ring.fits(1):
            make_room(stream, 1)
        count = min(wanted, LONGEST_RUN, ring.limit - ring.submitted, ring.depth - ring.tail)
        return min(count, NO_TASK - ring.next_id) if isinstance(ring, RingV100) else count

    def name(self, labels: Sequence[Label], ids: NDArray[Any]) -> None:
        """Write down who comes next, and the numbers of these tasks into their SQEs."""
        import numpy as np

        ring, count = self._stream.ring, len(labels)
        position = ring.tail
        end = position + count
        ring.owners[position:end] = labels
        if isinstance(ring, RingV100):
            ring.ids[position:end] = RAMP[ring.next_id : ring.next_id + count]
            ids[:count] = self._ramp[ring.next_id : ring.next_id + count]
            return
        assert isinstance(ring, RingV200)
        ring.firsts[position:end] = RAMP[position:end]
        serials = islice(iter(self._stream.device.next_serial, None), count)
        ids[:count] = np.fromiter(serials, np.uint64, count)

    def publishing(self, count: int) -> slice:
        """Return which of the next tasks ask the hardware to publish the queue's head (devices over UB)."""
        ring = self._stream.ring
        assert isinstance(ring, RingV200)
        return slice(-(ring.allocations + 1) % HEAD_UPDATE_EVERY, count, HEAD_UPDATE_EVERY)

    def send(self, count: int, sent: Callable[[int], None]) -> None:
        """Send the first `count` rows; `sent(position)` is called once they have left, with the place of the first."""
        stream, sender, ring = self._stream, self._sender, self._stream.ring
        sender.info.sqe_num = count
        try:
            if rc := sender.send(sender.device_id, sender.reference):
                send_again(stream, sender, rc)
        except BaseException:
            if was_sent(stream, ring.submitted + count):
                self._settle(count, sent)
            stream.senders.seek(ring.tail)
            raise
        self._settle(count, sent)

    def _settle(self, count: int, sent: Callable[[int], None]) -> None:
        """Make the run part of the ring."""
        ring = self._stream.ring
        sent(ring.tail)
        ring.submitted += count
        if isinstance(ring, RingV200):
            ring.allocations += count
        elif isinstance(ring, RingV100):
            ring.next_id += count
            if ring.next_id == NO_TASK:
                ring.wrap_ids()
                flip(self._stream)
