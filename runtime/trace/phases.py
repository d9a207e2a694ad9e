"""One launch, phase by phase, with the time each took; for people who ask which phase is slow."""

from __future__ import annotations

from typing import Any

from npuhal.records import dataclass
from runtime.core.stream.stream import Stream
from runtime.launch.kernel import Kernel
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.task_records import PHASES, REST
from runtime.trace import tracing

__all__ = ["PHASES", "LaunchTrace", "trace_launch"]


@dataclass(frozen=True, slots=True)
class LaunchTrace:
    """What one launch did.

    Attributes:
        phases_us: time of each phase in microseconds, in the order of PHASES; the first is prepared, and takes none.
        position: where the SQE is in the ring.
        sqe: the bytes that went there.
        way: the submission path they took.
        arguments_way: how the arguments reached the device: dma, bar or copy.
    """

    phases_us: tuple[float, ...]
    position: int
    sqe: bytes
    way: str
    arguments_way: str

    @property
    def beats_us(self) -> tuple[float, ...]:
        """The former name of `phases_us`."""
        return self.phases_us


def trace_launch(kernel: Kernel, stream: Stream, blocks: int, *arguments: Any,
                 options: LaunchOptions = PLAIN) -> LaunchTrace:
    """Launch once, watched, and wait for the end; the result is the same as of a plain launch."""
    with tracing(runtime=stream.device.runtime) as trace:
        kernel.launch(stream, blocks, *arguments, options=options)
        sqe = bytes(stream.senders[1].buffer)
        stream.synchronize()
    (launch,) = trace.launches
    track = trace.result.tracks[launch.lane]
    position = launch.position % stream.ring.depth
    return LaunchTrace(tuple(launch.phases_us()[:REST]), position, sqe, track.way, track.arguments)
