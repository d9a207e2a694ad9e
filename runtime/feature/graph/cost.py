"""What graphs take of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal.records import dataclass, fields
from runtime.core.submission.software import DEPTH, RESERVED
from runtime.core.sync.signals import ByteSignal
from runtime.driver.queues import SQE_BYTES
from runtime.feature.graph.state import has_software_queues

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports


@dataclass(frozen=True, slots=True)
class Cost:
    """Ids, queue entries and device memory of one graph, or of several added up."""

    streams: int = 0
    """Stream ids, from the capture to the end of the graph."""
    queues: int = 0
    """Hardware queues: for life, or lent from the first execution on (`lends`)."""
    sqes: int = 0
    """Queue entries."""
    nodes: int = 0
    events: int = 0
    """Event ids."""
    event_bytes: int = 0
    """Bytes of the pool that stands for events."""
    notifies: int = 0
    models: int = 0
    argument_bytes: int = 0
    """Device memory of kernel arguments."""
    lends: bool = False
    """Whether queues go back to the pool when others need them."""

    @property
    def entry_bytes(self) -> int:
        """Memory of the queue entries."""
        return self.sqes * SQE_BYTES

    def __add__(self, other: Cost) -> Cost:
        total = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        return Cost(**{**total, "lends": self.lends and other.lends})

    def __str__(self) -> str:
        queues = f"{self.queues} queues{' while it is executed' if self.lends else ''}"
        return (
            f"{self.streams} streams, {queues}, {self.sqes} SQEs ({self.entry_bytes} bytes), {self.nodes} nodes, "
            f"{self.events} events, {self.notifies} notifies, {self.argument_bytes} bytes of arguments"
        )


def stream_capacity(stream: Stream) -> int:
    """Return how many SQEs one stream of a graph takes before the next one goes on."""
    chip = stream.env.chip
    depth = DEPTH if has_software_queues(stream.device) else chip.limits.rtsq_depth
    return depth - RESERVED - int(chip.prop("expandStreamRsvTaskNum")) - 1


def cost_of(graph: ports.Graph) -> Cost:
    """Return what a graph takes; while it is captured, what it would take if it ended now."""
    ends = 1 if graph.end_notify is None else 0
    unreset = len(graph.recording.captured_events) if graph.capturing else 0
    bytes_used = sum(isinstance(captured.signal, ByteSignal) for captured in graph.recording.captured_events)
    streams = sum(len(branch.streams) for branch in graph.recording.branches)
    return Cost(
        streams=streams, queues=streams, sqes=sum(node.count for node in graph.nodes) + ends + unreset,
        nodes=len(graph.nodes) + ends + unreset, events=len(graph.recording.captured_events) - bytes_used,
        event_bytes=bytes_used,
        notifies=1, models=1, lends=graph.software,
        argument_bytes=graph.arguments.size_bytes,
    )
