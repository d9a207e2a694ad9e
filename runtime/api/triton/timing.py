"""Measuring kernels by the device's own clock, for Triton's autotuner and `do_bench`; needs no torch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.api.streams import Stream
    from runtime.api.triton.driver import NpuDriver

_FEWEST, _MOST = 3, 1000
"""Measured runs of one candidate."""
_NEVER_MS = 1e-6


def benchmark(stream: Stream, call: Callable[[], object], *, warmup: float = 25, rep: float = 100,
              quantiles: Sequence[float] | None = None, return_mode: str = "mean", grad_to_none: Any = None) -> Any:
    """Return how long a call keeps the device busy, in milliseconds by the stream's time stamps.

    Args:
        warmup: milliseconds of the device's time to run before.
        rep: milliseconds of the device's time to measure; and no longer than so many of the host's time.
        quantiles: return these of all runs, instead of one figure.
        return_mode: "min", "max", "mean", "median" or "all".
        grad_to_none: taken for the sake of the protocol; there are no gradients.
    """
    estimate = max(_once(stream, call), _NEVER_MS)
    for _ in range(min(int(warmup / estimate), _FEWEST)):
        call()
    until = time.monotonic() + rep / 1000
    times: list[float] = []
    for _ in range(min(max(int(rep / estimate), _FEWEST), _MOST)):
        times.append(_once(stream, call))
        if len(times) >= _FEWEST and time.monotonic() > until:
            break
    return _summary(times, quantiles, return_mode)


def _once(stream: Stream, call: Callable[[], object]) -> float:
    device: Any = stream.device
    with device.create_event(timing=True) as start, device.create_event(timing=True) as end:
        stream.record(start)
        call()
        stream.record(end)
        stream.synchronize()
        return float(end - start)


def _summary(times: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    import numpy as np

    if quantiles is not None:
        found = [float(each) for each in np.quantile(times, list(quantiles))]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    summaries: dict[str, Any] = {"min": np.min, "max": np.max, "mean": np.mean, "median": np.median}
    return float(summaries[return_mode](times))


class DeviceInterface:
    """Events and waits under the names that `triton.testing.do_bench` uses."""

    def __init__(self, driver: NpuDriver) -> None:
        self._driver = driver

    def Event(self, enable_timing: bool = False, **_: Any) -> TimedEvent:
        """Return a new event."""
        return TimedEvent(self._driver)

    def synchronize(self, device: Any = None) -> None:
        """Wait for everything that was submitted to the device."""
        self._driver.device().synchronize()

    def current_device(self) -> int:
        """Return the index of the thread's device."""
        return self._driver.get_current_device()

    def set_device(self, index: int) -> None:
        """Let the thread's kernels run on another device."""
        self._driver.set_current_device(index)

    def current_stream(self, device: Any = None) -> Stream:
        """Return the stream that kernels are launched in."""
        return self._driver.get_current_stream()

    def is_available(self) -> bool:
        """Say that there is a device."""
        return True


class TimedEvent:
    """An event with a time stamp."""

    def __init__(self, driver: NpuDriver) -> None:
        self._driver = driver
        self.event = driver.device().create_event(timing=True)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the point that the stream has reached."""
        (self._driver.get_current_stream() if stream is None else stream).record(self.event)

    def synchronize(self) -> None:
        """Wait for the event."""
        self.event.synchronize()

    def query(self) -> bool:
        """Return whether the event has come."""
        return bool(self.event.query())

    def elapsed_time(self, end: TimedEvent) -> float:
        """Return the milliseconds from this event to a later one."""
        return float(end.event - self.event)
