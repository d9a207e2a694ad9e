"""Graphs put together step by step: the same graphs as captures make, with the order said instead of captured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.core.device.device import Device
from runtime.core.diagnostics.resource_report import caller
from runtime.errors.arguments import check_callable, check_instance, check_text, several, whole
from runtime.feature.graph.recording import capture
from runtime.feature.graph.recording.branch import branch_of
from runtime.launch.copy.endpoints import ends
from runtime.launch.kernel import Kernel

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.core.sync.event import Event
    from runtime.feature.graph.graph import Graph

Submit = Callable[[Any], object]


class Step:
    """One piece of work of a graph to be, and what has to be done before it; both may be changed until it is built."""

    __slots__ = ("after", "name", "origin", "submit")

    def __init__(self, name: str, submit: Submit, after: Iterable[Step]) -> None:
        self.name, self.submit = name, submit
        self.after = list(after)
        self.origin = caller()
        """Code and line that have added it: the call site of its nodes."""

    def __repr__(self) -> str:
        return f"<step {self.name}, after {[step.name for step in self.after]}>"


def _steps(call: str, after: Iterable[Step]) -> tuple[Step, ...]:
    return several(call, "after", after, Step, "pass a list of steps: what add(), kernel() and copy() return")


class GraphBuilder:
    """Collects steps; `instantiate` makes a graph of them. `steps` is a list that may be edited.

    >>> builder = GraphBuilder(device)
    >>> first = builder.kernel(fill, 8, x)
    >>> second = builder.kernel(fill, 8, y)
    >>> builder.kernel(add, 8, x, y, z, after=[first, second])
    >>> graph = builder.instantiate()
    """

    __slots__ = ("_device", "steps")

    def __init__(self, device: Any) -> None:
        """Collect steps for a device."""
        check_instance("GraphBuilder", "device", device, Device, "pass a device from runtime.device(index)")
        self._device = device
        self.steps: list[Step] = []

    def add(self, submit: Submit, *, after: Iterable[Step] = (), name: str = "step") -> Step:
        """Add a step: a function that submits tasks to the stream that it is given."""
        check_callable("GraphBuilder.add", "submit", submit)
        check_text("GraphBuilder.add", name=name)
        step = Step(name, submit, _steps("GraphBuilder.add", after))
        self.steps.append(step)
        return step

    def kernel(self, kernel: Kernel, blocks: int, *arguments: Any, after: Iterable[Step] = ()) -> Step:
        """Add a launch."""
        check_instance("GraphBuilder.kernel", "kernel", kernel, Kernel, "pass a kernel from program.kernel(name)")
        blocks = whole("GraphBuilder.kernel", "blocks", blocks)
        return self.add(lambda stream: kernel.launch(stream, blocks, *arguments), after=after, name=kernel.name)

    def copy(self, dst: Any, src: Any, size: int | None = None, *, after: Iterable[Step] = ()) -> Step:
        """Add a copy between device buffers and pinned host buffers."""
        ends(dst, src, size)
        return self.add(lambda stream: stream.copy(dst, src, size), after=after, name="copy")

    def host_function(self, function: Callable[..., object], *arguments: Any, after: Iterable[Step] = ()) -> Step:
        """Add a call of a Python function."""
        check_callable("GraphBuilder.host_function", "function", function)
        return self.add(lambda stream: stream.host_function(function, *arguments), after=after, name="host function")

    def instantiate(self) -> Graph:
        """Return a graph of all steps, ready to launch; the builder may be used again.

        Raises:
            InvalidArgument 107000: there is no step, or steps wait for each other or for one that is not in the list.
            ResourceExhausted: no stream or event is left; parallel steps take a stream each.
        """
        lanes = _lanes(_ordered(self.steps))
        lane_of = {step: lane for lane in lanes for step in lane}
        with ExitStack() as made:
            streams = [made.enter_context(self._device.create_stream(name=f"lane {n}")) for n in range(len(lanes))]
            stream_of = {step: streams[lanes.index(lane)] for step, lane in lane_of.items()}
            made.callback(_give_up, streams[0])
            graph = capture.begin(streams[0])
            graph.recording.sites = True
            events: dict[Step, Event] = {}

            def record(stream: Any) -> Event:
                event: Event = made.enter_context(self._device.create_event())
                return event.record(stream)

            def queue(step: Step) -> None:
                stream = stream_of[step]
                if start is not None and not step.after and stream is not streams[0] and lane_of[step][0] is step:
                    stream.wait(start)
                for before in step.after:
                    if lane_of[before] is not lane_of[step]:
                        stream.wait(events[before])
                graph.recording.other_site = step.origin
                step.submit(stream)
                graph.recording.other_site = None
                if any(step in other.after and lane_of[other] is not lane_of[step] for other in self.steps):
                    events[step] = record(stream)

            start = record(streams[0]) if len(lanes) > 1 else None
            for step in _ordered(self.steps):
                queue(step)
            for stream in streams[1:]:
                streams[0].wait(record(stream))
            return capture.end(streams[0])


def _give_up(stream: Stream) -> None:
    """End a capture that an error has left open."""
    branch = branch_of(stream)
    if branch is not None and branch.graph.capturing:
        branch.graph.abandon("a step could not be submitted")


def _ordered(steps: list[Step]) -> list[Step]:
    """Return the steps so that each comes behind those it waits for, else in the order of the list."""
    if not steps:
        raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", "a graph without steps", hint="add steps first")
    done: dict[Step, None] = {}
    left = list(steps)
    while left:
        ready = [step for step in left if all(before in done for before in step.after)]
        if not ready:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"steps wait for each other, or for steps that are not in the graph: "
                f"{', '.join(map(repr, left))}", hint="let no step come after itself, and add what others wait for",
            )
        done.update(dict.fromkeys(ready))
        left = [step for step in left if step not in done]
    return list(done)


def _lanes(ordered: list[Step]) -> list[list[Step]]:
    """Return the streams' worth of steps: a step goes on behind one that it waits for, if nothing else does yet."""
    lanes: list[list[Step]] = []
    for step in ordered:
        lane = next((lane for lane in lanes if lane[-1] in step.after), None)
        if lane is None:
            lane = []
            lanes.append(lane)
        lane.append(step)
    return lanes
