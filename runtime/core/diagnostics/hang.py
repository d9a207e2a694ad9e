"""The hang report of a stream: head and tail of its queue, the tasks in it, what it waits for."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chips.tasks import TaskType
from npuhal.late import logger
from runtime import errors
from runtime.core.sync.recording import Waiting
from runtime.core.sync.signals import Signal
from runtime.driver.queues import SQE_BYTES

if TYPE_CHECKING:
    from chips.registry import Decoded
    from runtime.core.ports import StreamPort

VARIABLE = "NPUHAL_HANG_S"
"""Seconds that somebody waits for a stream before it is described, once per wait; 0 never does."""

DEFAULT_S = 60.0

_LOG = logger(__name__)
_SHOWN = 8
"""Pending tasks and queue entries that are listed."""


def patience(environ: Mapping[str, str]) -> float:
    """Return the seconds that the variable states, infinity for 0; what is no such number counts as not set."""
    try:
        seconds = float(environ.get(VARIABLE, ""))
    except ValueError:
        return DEFAULT_S
    return DEFAULT_S if seconds < 0 or math.isnan(seconds) else seconds or math.inf


def report(stream: StreamPort, waited_s: float) -> None:
    """Say where a stream stands: to the log, and to standard error unless the log variables have sent it elsewhere."""
    try:
        text = f"waiting for {waited_s:.1f} s; {describe(stream)}"
    except errors.RuntimeFault as problem:  # the driver may be what hangs
        text = f"waiting for {waited_s:.1f} s for {stream!r}, which cannot be looked at: {problem}"
    _LOG.warning("%s", text)
    if not stream.device.runtime.logs.wanted:
        print(f"npuhal: {text}", file=sys.stderr)


def describe(stream: StreamPort) -> str:
    """Return head, tail and status of a stream's queue, its pending tasks, what they wait for, and entries decoded."""
    queues, sq_id, ring = stream.device.queues, stream.queues.sq_id, stream.ring
    head, tail, enabled = queues.head(sq_id), queues.tail(sq_id), queues.enabled(sq_id)
    with stream.lock:
        first, count = ring.reclaimed, ring.pending
        pending = [(at % ring.depth, ring.owners[at % ring.depth]) for at in range(first, first + min(count, _SHOWN))]
    name = f" {stream.name!r}" if stream.name else ""
    lines = [
        f"stream {stream.stream_id}{name} of device {stream.device.user_id}, made at {stream.site}:",
        f"  queue {sq_id}: head {head}, tail {tail}, depth {ring.depth}, {count} SQEs pending, "
        f"{'enabled' if enabled else 'stopped, as after a failed task'}",
    ]
    for position, owner in pending:
        site = "" if stream.tracer is None else stream.tracer.call_site(stream, position)
        lines.append(f"  [{position}] {owner}{f', submitted at {site}' if site else ''}"
                     f"{'  <- the device is here' if position == head % ring.depth else ''}")
        if owner is not None and owner.inside is not None and position == head % ring.depth:
            lines += [f"      inside: {task.info} ({task.where})" for task in owner.inside.standing()]
    if count > len(pending):
        lines.append(f"  ... and {count - len(pending)} more")
    lines += [f"  waits for {text}" for text in awaited(stream)]
    lines += [f"  SQE at {position}: {_shown(entry)}" for position, entry in _entries(stream, head, tail)]
    if not count:
        lines.append("  nothing is pending: the wait is for a callback or a report on the host")
    return "\n".join(lines)


def awaited(stream: StreamPort) -> list[str]:
    """Say what the pending waits of a stream are for, and how far the stream that would end them is."""
    found, ring = [], stream.ring
    for end, finished in list(ring.completion_callbacks)[:_SHOWN]:
        awaited = getattr(finished, "__self__", None)
        if isinstance(awaited, Waiting):
            found.append(_source(stream, awaited.signal))
        elif isinstance(awaited, Signal):
            owner = ring.owners[(end - 1) % ring.depth]
            if owner is not None and owner.type in (TaskType.STREAM_WAIT_EVENT, TaskType.NOTIFY_WAIT):
                found.append(stream.device.runtime.callbacks.standing(stream, awaited) or _source(stream, awaited))
    return found


def _source(stream: StreamPort, signal: Signal) -> str:
    for event in stream.device.signals.events:
        if getattr(event, "signal", None) is signal:  # a notify has none
            return str(event.standing())
    return f"signal {signal.number}, which no event of this process records any more"


def _entries(stream: StreamPort, head: int, tail: int) -> list[tuple[int, Decoded]]:
    """Decode entries from the head on where the ring is mapped, else the one that was sent last."""
    pair, decode = stream.queues, stream.plugin.decode
    if not pair.ring_base:
        count = _length_of_last(stream)
        sqes = bytes(stream.senders[count].buffer) if count else b""
        return [((tail - count + at) % pair.depth, decode(sqes[at * SQE_BYTES : (at + 1) * SQE_BYTES]))
                for at in range(count)]  # fmt: skip
    positions = [(head + offset) % pair.depth for offset in range(min((tail - head) % pair.depth, _SHOWN))]
    read: Any = ctypes.string_at
    return [(each, decode(read(pair.ring_base + each * SQE_BYTES, SQE_BYTES))) for each in positions]


def _length_of_last(stream: StreamPort) -> int:
    """Return how many entries the task that was sent last has; 0 where none was sent."""
    ring = stream.ring
    last = ring.submitted - 1
    count = min(ring.pending, 1)
    while 0 < count < ring.pending and ring.id_at((last - count) % ring.depth) == ring.id_at(last % ring.depth):
        count += 1
    return count


def _shown(entry: Decoded) -> str:
    problems = ", ".join(entry.problems)
    fields = " ".join(f"{name}={value:#x}" for name, value in entry.fields.items() if value)
    return f"{entry.layout}: {fields}{f' ({problems})' if problems else ''}"
