"""Two tasks that always follow each other, sent with one call of the driver where that can be.

What the device sees is the same, and in the same order, as from two sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.core.submission import prepared
from runtime.core.submission.ring import RingV100, RingV200

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.ports import StreamPort
    from runtime.core.submission.epoch import Epoch
    from runtime.core.submission.ring import Finished, TaskInfo

TrySend = Callable[..., int]
"""`try_send(finished=None)` sends both; 0, and nothing was done, where each task has to be sent on its own."""


class TwoTaskSend:
    """Two tasks of one SQE each that one stream sends again and again.

    `try_send` is the fast path. It does nothing and returns 0 where the slow path is right: the stream or the owner is
    blocked, somebody watches, or the ids of the stream start again between the two. Its argument is called when the
    second task was reclaimed.
    """

    __slots__ = ("_epochs", "_first", "_second", "end", "stream", "try_send")

    def __init__(
        self, stream: StreamPort, own: Epoch, first: tuple[Task, TaskInfo], second: tuple[Task, TaskInfo], end: int = 0
    ) -> None:
        """Args:
            own: the epoch of whoever the tasks belong to.
            first, second: each task, and what it is called when it fails.
            end: that of what has sent them so far, and sends no more.
        """
        self.stream, self._first, self._second = stream, first, second
        self.end = end
        """The absolute count behind the newest two; anything up to it may still be executed."""
        self._epochs: tuple[Epoch, Epoch] = stream.epoch.now, own  # before the facts that they stand for are looked at
        self.try_send: TrySend = _prepared(self, self._epochs) or _unprepared

    @property
    def pending(self) -> bool:
        """Whether the newest two are not known to be done."""
        return self.end > self.stream.ring.reclaimed

    def prepared(self, own: Epoch) -> bool:
        """Whether `try_send` sends, as long as nobody blocks it: nothing has changed of what it was made from."""
        return self.try_send is not _unprepared and self._epochs == (self.stream.epoch.now, own)

    def send_singly(self, finished: Finished | None) -> None:
        """Send one task after the other by the slow path; see `submit.submit` for the errors."""
        stream, (first, info), (second, second_info) = self.stream, self._first, self._second
        with stream.lock:
            self.end = stream.ring.submitted + 2
        try:
            stream.submit(first, owner=info)
            stream.submit(second, owner=second_info, finished=finished)
        finally:
            with stream.lock:
                self.end = stream.ring.submitted


def _unprepared(_: Finished | None = None) -> int:
    return 0


def _prepared(both: TwoTaskSend, epochs: tuple[Epoch, Epoch]) -> TrySend | None:
    """Return the prepared send of the two; None where only the slow path can."""
    stream = both.stream
    if not isinstance(stream.ring, (RingV100, RingV200)) or not prepared.sends_plainly(stream):
        return None
    parts = []
    for task, info in (both._first, both._second):
        template = prepared.template_of(stream, task)
        if template is None:
            return None
        parts.append(prepared.Part(template, info))
    return prepared.prepared_send(stream, *parts, epochs=epochs, carries=prepared.FINISHED, holder=both)
