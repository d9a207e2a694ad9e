"""How fast this machine is at the moment, so that fences in seconds of CPU time hold on a slow or busy one too."""

from __future__ import annotations

from runtime.cli.bench.measure import calibrate

_CALLS = 4000
_MEASURED_NS = 73.0
"""What the calibration row of the bench takes on the class of machine that the fences were set on."""


def slowness() -> float:
    """Return how many times longer than there something takes here, 1.0 at least.

    Call it after what is measured: neighbours that slow one down mostly slow the other down too.
    """
    return max(1.0, calibrate(_CALLS)[0].value / _MEASURED_NS)
