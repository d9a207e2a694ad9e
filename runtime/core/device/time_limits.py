"""All time limits in one table: what holds, who set it, and which of them hides another.

Limits nest: an operator runs inside a wait for an event, and both inside a synchronize. An inner limit that is not
shorter than the outer one never gets to say what hangs.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from npuhal.late import logger
from npuhal.records import dataclass
from runtime.core.device import teardown
from runtime.core.diagnostics import hang
from runtime.errors.misuse import advise

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort, TimeoutsPort

_LOG = logger(__name__)
STREAM_LIMIT_S = 60.0
"""How long an abort waits for the end of a stream's tasks."""
_FIXED, _DEFAULT = "fixed", "default"


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """One limit: what it limits, milliseconds (infinity for none), and who has set it."""

    name: str
    milliseconds: float
    source: str

    def __str__(self) -> str:
        value = "none" if math.isinf(self.milliseconds) else f"{self.milliseconds:.0f} ms"
        return f"{self.name}: {value} ({self.source})"


def time_limits(device: DevicePort) -> tuple[TimeLimit, ...]:
    """Return the limits that hold on a device where calls state none, innermost first."""
    runtime = device.runtime
    timeouts = runtime.timeouts
    wait_ms = (timeouts.wait_limit_s or 0) * 1000 or math.inf
    hang_source = hang.VARIABLE if runtime.hang_s != hang.DEFAULT_S else _DEFAULT
    return (
        _operator(device),
        TimeLimit("wait for an event", wait_ms, _DEFAULT if timeouts.wait_limit_s is None else "set_wait"),
        TimeLimit("synchronize", math.inf, _DEFAULT),
        TimeLimit("description of a stream that is waited for", runtime.hang_s * 1000, hang_source),
        TimeLimit("close of a stream", teardown.LIMIT_S * 1000, _FIXED),
        TimeLimit("abort of a stream", STREAM_LIMIT_S * 1000, _FIXED),
    )


def _operator(device: DevicePort) -> TimeLimit:
    timeouts = device.runtime.timeouts
    source = _DEFAULT if timeouts.operator_limit_us is None else "set_operator"
    return TimeLimit("operator", timeouts.operator_ms(device.env), source)


def inversions(*limits: TimeLimit) -> tuple[str, ...]:
    """Return a sentence for each limit, innermost first, that is not shorter than the one around it."""
    return tuple(
        f"{inner} is not shorter than {outer}: the second ends first, so the first is never reported"
        for inner, outer in itertools.pairwise(limits)
        if not inner.milliseconds < outer.milliseconds and not math.isinf(outer.milliseconds)
    )


def warn(timeouts: TimeoutsPort) -> None:
    """Warn, after a limit of the process was set, where an operator may run as long as a wait for it lasts."""
    if not timeouts.operator_limit_us or not timeouts.wait_limit_s:
        return  # 0 is no limit, or the hardware's own
    operator = TimeLimit("operator", timeouts.operator_limit_us / 1000, "set_operator")
    for sentence in inversions(operator, TimeLimit("wait for an event", timeouts.wait_limit_s * 1000, "set_wait")):
        advise(_LOG, f"time limits: {sentence}")


def hint(stream: StreamPort, timeout_ms: int) -> str:
    """Return the cure of a wait that ended too early, and the limit of operators where that was set and is longer."""
    operator = _operator(stream.device)
    chosen = [] if operator.source == _DEFAULT else inversions(operator, TimeLimit("this wait", timeout_ms, "its call"))
    return "; ".join(["wait longer, or call stream.abort()", *chosen])
