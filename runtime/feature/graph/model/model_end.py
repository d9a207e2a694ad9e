"""The end of a model: its last task, which sets a notify that whoever executes the model waits for (core_spec 17.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import NotifyRecord
from runtime.core.sync.notify import Notify

if TYPE_CHECKING:
    from chips.env import TaskIds
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports


class ModelEnd:
    """The last task of one model, and the notify that the model has taken for it."""

    __slots__ = ("_last", "_model", "notify")

    def __init__(self, model: ports.Model) -> None:
        self._model = model
        self.notify: Notify | None = None
        """The model's own notify; there once the model has an end, until it is given back."""
        self._last: tuple[Stream, TaskIds, Notify] | None = None
        """Where the last task is, and what it sets."""

    def put(self, stream: Stream, notify: Notify | None = None) -> None:
        """Put the last task at the position that a stream has reached, or let the one that is there set another notify.

        Args:
            notify: what the task sets; by default one of the model's own, which is taken if it has none.

        Raises:
            ResourceExhausted 207009: no notify is left for it.
        """
        own = notify is None
        if own and self.notify is not None:
            return
        notify = notify or Notify(self._model.device)
        task = NotifyRecord(notify_id=notify.notify_id)
        try:
            if self._last is None:
                last = stream.target
                self._last = last, last.submit(task, owner="end of a model"), notify
            elif self._last[2] is not notify:
                last, ids, _ = self._last
                self._model.stream_set.rewrite(last, ids.position, last.plugin.encode(task, last.env, ids))
                self._last = last, ids, notify
        except BaseException:
            if own:
                notify.close()
            raise
        if own:
            self.notify = notify

    def give_back(self) -> None:
        """Give the model's own notify back, for another model to take; the next execution takes one again."""
        if self.notify is not None:
            self.notify.close()
            self.notify = None
