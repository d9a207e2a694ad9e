"""How long the opening of a device took, phase by phase, for programs whose first use is slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from npuhal.late import logger
from npuhal.records import dataclass
from runtime.core.diagnostics.tracing import span

if TYPE_CHECKING:
    from runtime.core.ports import RuntimePort

_LOG = logger(__name__)
_SLOW_S = 2.0
"""A phase that takes longer is worth a warning: it is then most of what the user waits for."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One step of the opening and how long it took."""

    name: str
    seconds: float


class Opening:
    """The phases of one device, in order; a phase that failed is among them."""

    __slots__ = ("_clock", "_device", "_runtime", "phases")

    def __init__(self, runtime: RuntimePort, device: int, clock: Callable[[], float]) -> None:
        self._runtime, self._device, self._clock = runtime, device, clock
        self.phases: list[Phase] = []

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the body, as a bar in the trace if somebody watches; a slow one is warned of."""
        began = self._clock()
        try:
            with span(self._runtime, f"open device: {name}", device=self._device):
                yield
        finally:
            self.phases.append(Phase(name, self._clock() - began))
            if self.phases[-1].seconds > _SLOW_S:
                _LOG.warning("opening device %d: %s took %.1f s", self._device, name, self.phases[-1].seconds)

    @property
    def slowest(self) -> Phase:
        """The phase that took longest."""
        return max(self.phases, key=lambda phase: phase.seconds)

    def __str__(self) -> str:
        return ", ".join(f"{phase.name} {phase.seconds:.2f} s" for phase in self.phases)
