"""The seams at which somebody may watch what streams do; who watches is decided elsewhere (runtime.launch.recorder).

Nothing asks per launch whether somebody does: launchers are written with the lines that note its phases, or without,
and the slow path is watched by a sink in front of the hardware queue.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.core.ports import RuntimePort

(AT_LANE, AT_LABEL, AT_CODE, AT_INSTRUCTION, AT_POSITION, AT_PENDING, AT_THREAD, AT_SQES,
 AT_CALLED, AT_DESCRIBED, AT_MOVED, AT_TAKEN, AT_BUILT, AT_SENT, AT_END) = range(15)  # fmt: skip
"""What the stamps of a task have where; from AT_CALLED on times of the tracer's clock, 0 for what did not happen."""

_NOBODY: AbstractContextManager[object] = nullcontext()


def span(runtime: RuntimePort, name: str, **facts: Any) -> AbstractContextManager[object]:
    """Return a context manager around work of the host: a bar in the trace, if somebody watches.

    For work of milliseconds or of a driver call: opening, loading, blocking copies.
    """
    return _NOBODY if runtime.tracer is None else runtime.tracer.span(name, **facts)
