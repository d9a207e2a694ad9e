"""Random programs over streams and events: as graphs they do what they do at once, or end in the code they must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.event import Event
from runtime.core.event_flags import EventFlag
from runtime.feature import graph
from runtime.feature.graph import CaptureStatus

MACHINES = ("fake://ascend910b1?seed=1", "fake://ascend910b1?seed=1&swsq=0", "fake://ascend950pr_9599?seed=1")
STREAMS = 3
STEPS = st.lists(
    st.tuples(st.sampled_from(["launch", "launch", "order"]), st.integers(0, STREAMS - 1), st.integers(0, STREAMS - 1)),
    min_size=1, max_size=14,
)  # fmt: skip
MISTAKES = st.lists(
    st.sampled_from(
        ["launch", "fork", "join", "synchronize", "query", "close", "end elsewhere", "begin again", "plain"]
    ),
    min_size=1, max_size=12,
)  # fmt: skip


class Machine:
    """A device with streams, and a kernel that adds its place in the program to what its stream has seen."""

    def __init__(self, url: str) -> None:
        self.runtime = Runtime(url)
        self.device: Device = self.runtime.device(0)
        self.streams: list[Stream] = [self.device.create_stream() for _ in range(STREAMS)]
        self.seen: list[list[int]] = [[] for _ in range(STREAMS)]
        self.kernel = self.device.load(minimal_kernel("mark", 2), name="mark").only
        self.device.hal.fake.attach(
            self.kernel.code, lambda context: self.seen[context.args[0]].append(context.args[1]), name="mark", grid=True
        )

    def run(self, steps: list[tuple[str, int, int]]) -> None:
        """Do the steps, between a fork into all streams and a join of all of them."""
        first, *others = self.streams
        for other in others:
            other.wait(self.device.create_event().record(first))
        for number, (what, one, two) in enumerate(steps):
            if what == "launch":
                self.kernel[1](one, number, stream=self.streams[one])
            elif one != two:
                self.streams[two].wait(self.device.create_event().record(self.streams[one]))
        for other in others:
            first.wait(self.device.create_event().record(other))

    def take_seen(self) -> list[list[int]]:
        """Return what each stream has seen since the last call."""
        for stream in self.streams:
            stream.synchronize(2000)
        seen, self.seen = self.seen, [[] for _ in range(STREAMS)]
        return seen


@pytest.mark.parametrize("url", MACHINES)
def test_replay_does_what_eager_execution_does(url: str) -> None:
    machine = Machine(url)

    @settings(max_examples=15)
    @given(STEPS)
    def program(steps: list[tuple[str, int, int]]) -> None:
        machine.run(steps)
        eager = machine.take_seen()
        with machine.streams[0].capture() as made:
            machine.run(steps)
        assert machine.take_seen() == [[]] * STREAMS
        for stream in machine.streams[:2]:
            made.launch(stream)
            assert machine.take_seen() == eager
        assert len(made.kernels) == sum(map(len, eager))
        made.close()

    program()
    machine.runtime.close(force=True)


@pytest.mark.parametrize("url", MACHINES)
def test_illegal_programs_end_in_their_code_and_leave_all_streams_usable(url: str) -> None:
    machine = Machine(url)
    first, side, _ = machine.streams
    device = machine.device

    def code_of(function: Callable[[], Any]) -> int:
        try:
            function()
        except errors.RuntimeFault as fault:
            return fault.code
        return 0

    @settings(max_examples=15)
    @given(MISTAKES)
    def program(mistakes: list[str]) -> None:
        graph.begin(first)
        forked = joined = False
        for what in mistakes:
            if what == "launch":
                machine.kernel[1](0, 1, stream=first)
            elif what == "fork":
                side.wait(device.create_event().record(first))
                forked, joined = True, False
            elif what == "join" and forked:
                first.wait(device.create_event().record(side))
                joined = True
            elif what == "synchronize":
                assert code_of(first.synchronize) == 107027
            elif what == "query":
                assert code_of(side.query) == (107027 if forked else 0)
            elif what == "close":
                assert code_of(lambda: first.close(force=True)) == 107027
            elif what == "end elsewhere":
                assert code_of(lambda: graph.end(side)) == (107036 if forked else 107029)
            elif what == "begin again":
                assert code_of(lambda: graph.begin(first)) == 107027
            elif what == "plain":

                with Event(device, EventFlag.DDSYNC, renewed=False) as event:
                    assert code_of(lambda: first.record(event)) == 207000
        if forked and not joined:
            assert code_of(lambda: graph.end(first)) == 107025
        else:
            graph.end(first).close()
        assert [graph.status(stream)[0] for stream in machine.streams] == [CaptureStatus.NONE] * STREAMS
        machine.run([("launch", place, 0) for place in range(STREAMS)])
        assert machine.take_seen() == [[0], [1], [2]]

    program()
    machine.runtime.close(force=True)
