"""``npuhal sqe send``: print the function that sends one shape of task, as the runtime writes and compiles it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chips.env import EncodeEnv
from chips.registry import plugin
from chips.tasks import (
    AicKernel,
    EventRecord,
    EventWait,
    MemcpyAsync,
    MixKernel,
    MixKind,
    ModelExecute,
    NotifyRecord,
    NotifyWait,
    Task,
)
from npuhal.tuples import NamedTuple
from runtime.cli import UsageError
from runtime.core.submission import prepared
from runtime.core.submission.prepared import ARGUMENTS, COUNTED, FINISHED, KEPT, NOTHING, POSITIONED, STORED, Shape

if TYPE_CHECKING:
    from chips import Chip


class _Sent(NamedTuple):
    """A kind of prepared send: its tasks, and how the runtime prepares them."""

    tasks: Callable[[], tuple[Task, ...]]
    parameters: tuple[str, ...]
    carries: str
    what: str
    launch: bool = False
    captured: bool = False
    stored: bool = False
    late: bool = False


def _kernel() -> tuple[Task, ...]:
    return (AicKernel(pc=0, args=0, block_dim=1),)


def _mix() -> tuple[Task, ...]:
    return (MixKernel(pc=0, args=0, block_dim=1, mix=MixKind.MAIN_AIC, ratio=1),)


def _model() -> tuple[Task, ...]:
    program = {"function": 256, "function_bytes": 4, "trace_addr": 0}
    start = ModelExecute(model_id=0, head_sq_ids=(0,), exec_times_addrs=(0,), **program)
    return (start, NotifyWait(notify_id=0))


SENDS = {
    "launch": _Sent(_kernel, ("args",), ARGUMENTS, "a kernel, with its block of arguments", launch=True),
    "mix": _Sent(_mix, ("args",), ARGUMENTS, "a kernel on both kinds of core", launch=True),
    "captured": _Sent(_kernel, ("args",), NOTHING, "a launch into a graph with a hardware queue", captured=True),
    "stored": _Sent(
        _kernel, ("args",), NOTHING, "a launch into a graph that the host keeps", captured=True, stored=True
    ),
    "record": _Sent(lambda: (EventRecord(event_id=0),), ("event_id",), FINISHED, "the record of an event"),
    "wait": _Sent(lambda: (EventWait(event_id=0),), ("event_id",), FINISHED, "the wait for an event"),
    "notify": _Sent(lambda: (NotifyRecord(notify_id=0),), (), FINISHED, "the record of a notify"),
    "copy": _Sent(lambda: (MemcpyAsync(src=0, dst=0, size=1),), ("src", "dst", "size"), KEPT, "a copy in a stream"),
    "execute": _Sent(_model, (), FINISHED, "the execution of a graph: two tasks with one call"),
}
"""What can be printed, by the name for the command line."""

_COUNTED = {
    "record": SENDS["record"]._replace(
        tasks=lambda: (EventRecord(event_id=0, counted=True),), parameters=("count",), late=True
    ),
    "wait": SENDS["wait"]._replace(tasks=lambda: (EventWait(event_id=0, counted=True),), parameters=("count",)),
}
"""Those of events on chips that have counters in their place."""


def shape_of(name: str, chip: Chip, *, ub: bool = False) -> Shape:
    """Return the shape of a prepared send on a chip.

    Args:
        ub: the device is connected over UB.

    Raises:
        UsageError: the chip has no such send.
    """
    made = plugin(chip)
    if not chip.is_stars:
        raise UsageError(f"{chip.soc} takes commands, which the runtime does not send; choose a chip with STARS")
    env = EncodeEnv(chip=chip, ub_connected=ub)
    counted = chip.generation == "v100"
    sent = SENDS[name] if counted else _COUNTED.get(name, SENDS[name])
    entries = []
    for task in sent.tasks():
        template = made.template(task, env)
        wanted = sent.parameters
        if template is not None and not sent.launch and not sent.captured:
            template = template.varying(template.names[0], *wanted)
        if template is None or (wanted and len(template.names) == 1):
            raise UsageError(f"{chip.soc} has no prepared send for {sent.what}")
        entries.append(template.names)
    numbering = STORED if sent.stored else COUNTED if counted else POSITIONED
    return Shape(
        numbering, tuple(entries), sent.parameters, sent.carries,
        publishes=chip.traits.head_update_every if ub and not counted else 0,
        captured=sent.captured, closable=sent.launch or sent.captured, fallback=sent.launch,
        late=sent.late,
    )


def text_of(name: str, chip: Chip, *, ub: bool = False) -> str:
    """Return the function as Python text, under a comment that says what it sends."""
    shape = shape_of(name, chip, ub=ub)
    return f"# {SENDS[name].what} on {chip.soc}: {shape.title}\n{prepared.text_of(shape)}"
