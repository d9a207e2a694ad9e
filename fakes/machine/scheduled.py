"""Models that the AICPU schedules: what the host has described, and where an execution is (rt_model.h).

The AICPU scheduler walks through the tasks of its own streams. Two of its built-in kernels matter here: one starts
another stream of the model, one says that the end was reached; queues of the task scheduler may run the second as well.
"""

from __future__ import annotations

import ctypes
import struct
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import TaskFault
from fakes.faults import Effect
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

_INFO = struct.Struct("<IIHH4xQQH6xQ")
_TASK = struct.Struct("<III4xQQQI4x")
_STREAM = struct.Struct("<II")
_AICPU, _HEAD = 0x8, 0x20
"""Flags of a stream: the AICPU schedules it; it starts with the model."""


@dataclass(slots=True)
class ScheduledModel:
    """One model: its streams by number, what the AICPU's hold, and the execution that goes on."""

    model_id: int
    first: int
    streams: dict[int, int]
    tasks: dict[int, list[Mapping[str, int]]]
    runner: SubmissionQueue | None = None
    position: int = 0
    done: int = 0
    began: int = -1
    """When the first task of the execution began."""
    ended: bool = False
    walking: deque[list[int]] = field(default_factory=deque)
    """Streams of the AICPU that were started and have tasks left: stream and index of the next task."""

    @property
    def running(self) -> bool:
        """Whether an execution goes on; whoever asked for it may have been stopped from outside."""
        sq = self.runner
        return sq is not None and not sq.destroyed and (sq.head, sq.done) == (self.position, self.done)

    def begin(self, task: Task) -> None:
        """Start from the first task of all streams of the AICPU, also of those that do not start with the model."""
        self.runner, self.position, self.done = task.sq, task.position, task.sq.done
        self.began, self.ended = -1, False
        self.walking.clear()
        others = (stream for stream, flags in self.streams.items() if flags & _AICPU and stream != self.first)
        self.walking.extend([stream, 0] for stream in (self.first, *others) if stream in self.tasks)

    @property
    def next(self) -> Mapping[str, int] | None:
        """The task that is next; the streams take turns."""
        return self.tasks[self.walking[0][0]][self.walking[0][1]] if self.walking else None

    def behind(self) -> deque[list[int]]:
        """Return what is walked through when the next task is done: the next stream has its turn."""
        (stream, index), *others = self.walking
        return deque([*others, *([[stream, index + 1]] if index + 1 < len(self.tasks[stream]) else [])])

    def stop(self) -> None:
        """Forget the execution."""
        self.runner = None
        self.walking.clear()


def load(device: Device, address: int, model_id: int) -> ScheduledModel:
    """Read what the host has described; TaskFault where the scheduler could not work with it."""
    number, _, stream_count, task_count, streams_at, tasks_at, _, _ = _INFO.unpack(_bytes(device, address, _INFO.size))
    if number != model_id or not stream_count or not task_count:
        raise TaskFault(
            f"the description of model {model_id} is that of model {number}, with {stream_count} streams and "
            f"{task_count} tasks", Effect.EXCEPTION.value,
        )  # fmt: skip
    streams = dict(_STREAM.iter_unpack(_bytes(device, streams_at, stream_count * _STREAM.size)))
    first = [stream for stream, flags in streams.items() if flags & _AICPU and flags & _HEAD]
    if len(first) != 1:
        raise TaskFault(f"model {model_id}: {len(first)} streams of the AICPU start with it, there must be 1",
                        Effect.EXCEPTION.value)  # fmt: skip
    tasks: dict[int, list[Mapping[str, int]]] = {}
    for row in _TASK.iter_unpack(_bytes(device, tasks_at, task_count * _TASK.size)):
        _, stream, kind, function, library, arguments, _ = row
        tasks.setdefault(stream, []).append(
            {"kind": kind, "func_name": function, "so_name": library, "param": arguments, "block_dim": 1}
        )
    return ScheduledModel(model_id, first[0], streams, tasks)


def _bytes(device: Device, address: int, size: int) -> bytes:
    memory = device.machine.memory
    return ctypes.string_at(memory.device_pointer(address, size, "description of a model"), size)


def _word(device: Device, address: int) -> int:
    return int.from_bytes(_bytes(device, address, 4), "little")


def _end(task: Task, argument: int) -> None:
    """The end of a model was reached."""
    number = _word(task.device, argument)
    model = task.device.models.scheduled.get(number)
    if model is None:
        raise TaskFault(f"the AICPU knows no model {number} that could end", Effect.EXCEPTION.value)
    model.ended = True
    task.device.wake()


def _activate(task: Task, argument: int) -> None:
    """Start another stream of the model; one of the AICPU's has started with the execution."""
    device, stream = task.device, _word(task.device, argument)
    model = next((each for each in device.models.scheduled.values() if stream in each.streams), None)
    if model is None:
        raise TaskFault(f"stream {stream} is in no model that the AICPU knows", Effect.EXCEPTION.value)
    if model.streams[stream] & _AICPU:
        return
    sq = device.by_stream.get(stream)
    if sq is None:
        raise TaskFault(f"stream {stream} has no queue that could start", Effect.EXCEPTION.value)
    sq.reset(0, sq.tail)
    sq.enabled = True
    sq.clock = max(sq.clock, task.sq.clock)
    if task.machine.checks is not None:
        task.machine.checks.activates(task, sq)
    device.activate(sq)


OPERATORS: Mapping[str, Callable[[Task, int], None]] = {"endGraph": _end, "activeEntryStream": _activate}
"""Built-in kernels of the AICPU scheduler, by name."""
