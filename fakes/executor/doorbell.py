"""Doorbells of UB: they run what the driver queued at a jetty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakes.errors import NotModelled, TaskFault
from fakes.executor.memory import follow
from fakes.faults import Effect

if TYPE_CHECKING:
    from fakes.executor.task import Task


def doorbell(task: Task) -> int:
    """Doorbell: runs what the driver queued at the jetty up to the producer index."""
    fields = task.fields
    if fields["doorbell_num"] != 1:
        raise NotModelled("doorbell for two jetties")
    queued = task.device.jetties.get(fields["jetty_1"], [])
    index = fields["pi_1"]
    if not 1 <= index <= len(queued):
        raise TaskFault(f"jetty {fields['jetty_1']} has {len(queued)} elements, not {index}", Effect.SQE_ERROR.value)
    follow(task, queued[index - 1])
    return 1 + fields["sqe_length"]


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {}
STARS_V2: Mapping[str, tuple[str, Handler]] = {"ub_doorbell": ("copy", doorbell)}
COMMANDS: Mapping[str, tuple[str, Handler]] = {}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {}
