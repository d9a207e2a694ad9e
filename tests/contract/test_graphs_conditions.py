"""Conditional nodes: which branches of a graph run, by a value that its kernels may write."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from runtime import errors
from runtime.api import Device, Kernel, Runtime
from runtime.feature import graph
from runtime.feature.graph import Condition, ConditionKind, Graph, Handle

MakeKernel = Callable[..., Kernel]


@pytest.fixture
def device(device: Device) -> Device:
    """A device whose graphs can have such nodes."""
    if not device.chip.has("MODEL_ACL_GRAPH_SOFTWARE_ENABLE"):
        pytest.skip(f"{device.chip.soc} has no conditional nodes")
    return device


class Program:
    """A graph around one conditional node, whose kernels note that they ran."""

    def __init__(self, device: Device, make_kernel: MakeKernel) -> None:
        self.device, self.log = device, list[int]()
        self.main, self.side = device.create_stream(), device.create_stream()
        self.note = make_kernel("note", lambda context: self.log.append(context.args[0]), 1, grid=True)

        def decrement(context: Any) -> None:
            address = context.args[0]
            value = struct.unpack("<Q", device.memory.read(address, 8))[0]
            self.log.append(value)
            device.memory.write(address, struct.pack("<Q", value - 1))

        self.decrement = make_kernel("decrement", decrement, 1, grid=True)

    def build(self, kind: ConditionKind, count: int, default: int, body: Callable[[int, Handle], None]) -> Graph:
        """Capture: note 100, the node, note 200."""
        made = graph.begin(self.main)
        self.note[1](100, stream=self.main)
        handle = Handle(made, default, assigned=True)
        node = Condition(self.main, handle, kind, count)
        for number, branch in enumerate(node.branches):
            graph.begin(self.side, into=branch)
            body(number, handle)
            assert graph.end(self.side) is branch
        self.note[1](200, stream=self.main)
        return graph.end(self.main)

    def run(self, made: Graph, times: int = 2) -> list[int]:
        """Execute, one after the other, because the value is set when it is queued; return what was noted."""
        self.log.clear()
        for _ in range(times):
            made.execute(self.main)
            self.main.synchronize(30_000)
        return self.log


@pytest.fixture
def program(device: Device, make_kernel: MakeKernel) -> Program:
    return Program(device, make_kernel)


@pytest.mark.parametrize(
    ("kind", "count", "value", "ran"),
    [
        (ConditionKind.IF, 2, 1, [0]), (ConditionKind.IF, 2, 9, [0]), (ConditionKind.IF, 2, 0, [1]),
        (ConditionKind.IF, 1, 0, []), (ConditionKind.SWITCH, 3, 0, [0]), (ConditionKind.SWITCH, 3, 2, [2]),
        (ConditionKind.SWITCH, 3, 3, []),
    ],
)  # fmt: skip
def test_the_value_chooses_a_branch(
    program: Program, kind: ConditionKind, count: int, value: int, ran: list[int]
) -> None:
    made = program.build(kind, count, value, lambda number, _: program.note[1](number, stream=program.side))
    assert program.run(made) == [100, *ran, 200] * 2
    made.close()


def test_while_repeats_its_branch_until_a_kernel_writes_0(program: Program) -> None:
    made = program.build(
        ConditionKind.WHILE, 1, 3, lambda _, handle: program.decrement[1](handle.address, stream=program.side)
    )
    assert program.run(made) == [100, 3, 2, 1, 200] * 2
    made.close()


def test_branches_have_conditions_of_their_own(program: Program) -> None:
    def body(_: int, outer: Handle) -> None:
        inner = Handle(graph.status(program.side)[1], 1, assigned=True)  # type: ignore[arg-type]
        node = Condition(program.side, inner, ConditionKind.IF, 1)
        stream = program.device.create_stream()
        graph.begin(stream, into=node.branches[0])
        program.note[1](7, stream=stream)
        graph.end(stream)
        program.decrement[1](outer.address, stream=program.side)

    made = program.build(ConditionKind.WHILE, 1, 2, body)
    assert program.run(made) == [100, 7, 2, 7, 1, 200] * 2
    made.close()


def test_branches_are_executed_with_the_graph_only(program: Program) -> None:
    branches: list[Graph] = []

    def body(number: int, handle: Handle) -> None:
        program.note[1](number, stream=program.side)
        found = graph.status(program.side)[1]
        assert found is not None
        branches.append(found)

    made = program.build(ConditionKind.IF, 1, 1, body)
    with pytest.raises(errors.NotSupported):
        branches[0].execute(program.main)
    made.close()
    assert branches[0].closed


def test_wrong_nodes_are_refused(program: Program) -> None:
    made = graph.begin(program.main)
    handle = Handle(made)
    for kind, count in ((ConditionKind.IF, 0), (ConditionKind.IF, 3), (ConditionKind.WHILE, 2),
                        (ConditionKind.SWITCH, 0)):  # fmt: skip
        with pytest.raises(errors.InvalidArgument, match="size"):
            Condition(program.main, handle, kind, count)
    with pytest.raises(errors.InvalidArgument, match="stream"):
        Condition(program.side, handle, ConditionKind.IF, 1)
    node = Condition(program.main, handle, ConditionKind.IF, 1)
    with pytest.raises(errors.InvalidArgument, match="handle"):
        Condition(program.main, handle, ConditionKind.IF, 1)
    graph.begin(program.side, into=node.branches[0])
    program.note[1](1, stream=program.side)
    graph.end(program.side)
    graph.end(program.main)
    with pytest.raises(errors.InvalidArgument, match="not being captured"):
        Handle(made)
    made.close()


def test_an_older_scheduler_or_driver_has_no_such_nodes(url: str, device: Device) -> None:
    if not url.startswith("fake"):
        pytest.skip("the machine is what it is")
    for lacking in ("swsq=0", "ts_capability=ffffffffffff07"):
        runtime = Runtime(f"{url}&{lacking}")
        stream = runtime.device(0).create_stream()
        made = graph.begin(stream)
        with pytest.raises(errors.NotSupported):
            Handle(made)
        runtime.close(force=True)
