"""The seams at which somebody may watch what streams do; who watches is decided elsewhere (runtime.launch.recorder).

Nothing asks per launch whether somebody does: launchers are built with the functions that `Tracer` gives, or without,
and the slow path is watched by a sink in front of the hardware queue.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.core.ports import RuntimePort

_NOBODY: AbstractContextManager[object] = nullcontext()


def span(runtime: RuntimePort, name: str, **facts: Any) -> AbstractContextManager[object]:
    """Return a context manager around work of the host: a bar in the trace, if somebody watches.

    For work of milliseconds or of a driver call: opening, loading, blocking copies.
    """
    return _NOBODY if runtime.tracer is None else runtime.tracer.span(name, **facts)
