"""Streams that take over from a full one of a model: the last task of each starts the next one (auto-split)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from runtime import errors
from runtime.core.stream import creation
from runtime.core.submission.software import has_space
from runtime.feature.graph.model.links import chain

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports

_MOST_ENTRIES = 8
"""More than any task has."""


class FurtherStreams:
    """What a bound stream keeps beyond the largest queue goes to these, in order."""

    __slots__ = ("_chaining", "_first", "_lock", "_model", "streams")

    def __init__(self, model: ports.Model, first: Stream) -> None:
        self._model, self._first = model, first
        self.streams: list[Stream] = []
        self._lock = threading.RLock()
        self._chaining = False
        """Whether the last stream is getting the task that starts the next."""

    def next_for(self, count: int = _MOST_ENTRIES) -> Stream:
        """Return the stream that takes a task of so many entries next, a new one when the last is full.

        Raises:
            InvalidArgument 107000: the model is complete (EE1016).
        """
        model = self._model
        if model.execution.complete:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"stream {self._first.stream_id} takes no tasks: model "
                f"{model.model_id} is complete", ee="EE1016", params=("submit", "the model is complete"),
                hint="submit before the model is loaded",
            )
        with self._lock:
            last = self.streams[-1] if self.streams else self._first
            return last if self._chaining or has_space(last, count) else self._go_on(last)

    def _go_on(self, last: Stream) -> Stream:
        following = creation.create_split(self._first)
        try:
            self._model.stream_set.add(following, head=False)
            self._chaining = True
            chain(self._model, last, following)
        finally:
            self._chaining = False
        self.streams.append(following)
        return following
