"""Models and captured graphs as the task scheduler sees them: which queues belong to one, and who executes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue
    from fakes.machine.scheduled import ScheduledModel


@dataclass(slots=True)
class Model:
    """One model: its streams, and the queue and position of the entry that executes it now."""

    model_id: int
    streams: set[int] = field(default_factory=set)
    executing: SubmissionQueue | None = None
    position: int = 0
    end_notify: int | None = None
    """What the last task of the model sets; whoever executes it waits for that."""
    started_by: Model | None = None
    """The model that has started it, where a condition has: its executions execute this one too."""


class Models:
    """The models of one card. A bound queue runs only when something activates it, from its head to its tail."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._models: dict[int, Model] = {}
        self._of_stream: dict[int, Model] = {}
        self.scheduled: dict[int, ScheduledModel] = {}
        """Those that the AICPU schedules, by number."""

    def __contains__(self, sq: SubmissionQueue) -> bool:
        """Whether a queue is bound to a model."""
        return sq.stream_id in self._of_stream

    def number_of(self, sq: SubmissionQueue) -> int | None:
        """Return the model that a queue is bound to."""
        return self.of_stream(sq.stream_id)

    def of_stream(self, stream_id: int) -> int | None:
        """Return the model that a stream is bound to."""
        model = self._of_stream.get(stream_id)
        return None if model is None else model.model_id

    def numbers(self) -> list[int]:
        """Return all models."""
        return list(self._models)

    def queues_of(self, model_id: int) -> list[SubmissionQueue]:
        """Return the queues that a model's streams have now."""
        model = self._models.get(model_id)
        streams = () if model is None else sorted(model.streams)
        return [sq for stream in streams if (sq := self._device.by_stream.get(stream)) is not None]

    def bind(self, model_id: int, stream_id: int) -> bool:
        """Add a stream to a model; False when the stream has no queue."""
        sq = self._device.by_stream.get(stream_id)
        if sq is None:
            return False
        model = self._models.setdefault(model_id, Model(model_id))
        model.streams.add(stream_id)
        self._of_stream[stream_id] = model
        sq.enabled = False
        return True

    def unbind(self, stream_id: int) -> None:
        """Take a stream out of its model; its queue is empty and runs at once again."""
        model = self._of_stream.pop(stream_id, None)
        if model is not None:
            model.streams.discard(stream_id)
        sq = self._device.by_stream.get(stream_id)
        if sq is not None:
            sq.reset(sq.tail, sq.tail)
            sq.enabled = True
            self._device.activate(sq)

    def prepare(self, model_id: int, end_notify: int) -> None:
        """Remember how the end of a model shows."""
        self._models.setdefault(model_id, Model(model_id)).end_notify = end_notify

    def busy(self, model_id: int) -> bool:
        """Whether an execution is going on, or its end was not seen yet: another one waits (the model lock)."""
        model = self._models.get(model_id)
        if model is None:
            return False
        signal = None if model.end_notify is None else self._device.notifies.get(model.end_notify)
        queues = (self._device.by_stream.get(stream_id) for stream_id in model.streams)
        return bool(signal and signal.value) or any(sq is not None and sq.enabled and sq.pending for sq in queues)

    def execute(self, model_id: int, sq: SubmissionQueue, position: int) -> None:
        """Remember who executes a model: an error in it is reported there."""
        model = self._models.setdefault(model_id, Model(model_id))
        model.executing, model.position = sq, position

    def abort(self, model_id: int) -> SubmissionQueue | None:
        """Stop the queues of a model, as if they were through; returns the queue that waits for its end, if any."""
        model = self.halt(model_id)
        if model is None:
            return None
        runner = model.executing
        if runner is not None and not (runner.pending and runner.head == (model.position + 1) % runner.depth):
            runner = None
        model.executing = None  # no call behind it: see `fakes.executor.task.once`
        return runner

    def halt(self, model_id: int, but: SubmissionQueue | None = None) -> Model | None:
        """Stop the queues of a model, and of those that it has started, as if they were through; all `but` one."""
        model = self._models.get(model_id)
        if model is None:
            return None
        for part in self._models.values():
            for stream_id in part.streams if model in self._outwards(part) else ():
                sq = self._device.by_stream.get(stream_id)
                if sq is not None and sq is not but:
                    sq.reset(sq.tail, sq.tail)
                    sq.enabled = False
                    self._device.activate(sq)
        return model

    def started(self, sq: SubmissionQueue, by: SubmissionQueue) -> None:
        """Take note that a task of a model has started a queue, which may be one of another model."""
        model, outer = self._of_stream.get(sq.stream_id), self._of_stream.get(by.stream_id)
        if model is not None and outer is not None and model not in self._outwards(outer):
            model.started_by = outer

    def _outwards(self, model: Model | None) -> Iterator[Model]:
        while model is not None:
            yield model
            model = model.started_by

    def of_queue(self, sq: SubmissionQueue) -> Model | None:
        """Return the model that is being executed and that a queue is part of, by itself or by a condition in it."""
        models = self._outwards(self._of_stream.get(sq.stream_id))
        return next((model for model in models if model.executing is not None), None)
