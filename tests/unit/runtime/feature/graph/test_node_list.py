"""Nodes of captured launches are made by a look: they are what the slow path would have noted at once."""

from __future__ import annotations

from functools import partial

import pytest

from chips.tasks import Nop
from runtime.api import Device, Graph, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.feature.graph.recording import capture
from tests.tools.interrupts import Interrupter
from tests.unit.runtime.core.submission.test_interrupts import no_lock_is_held
from tests.unit.runtime.machines import OpenMachine, open_machine

__all__ = ["open_machine"]

MACHINES = [
    f"fake://{chip}?seed=1&swsq={lent}" for chip in ("ascend910b1", "ascend950pr_9599") for lent in (0, 1)
]


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Runtime:
    """A machine of each generation, whose graphs have hardware queues or are lent some."""
    return open_machine(request.param)


@pytest.fixture
def device(machine: Runtime) -> Device:
    """Its card."""
    return machine.device(0)


def captured(device: Device, *, sites: bool) -> Graph:
    kernel, addresses = device.load(minimal_kernel("noted", 1)).only, [device.alloc(64).address for _ in range(4)]
    stream = device.create_stream()
    with stream.capture(sites=sites) as graph:
        at = kernel.bind_device_arguments(stream, 2)
        at(addresses[0])
        assert len(graph.nodes) == 1
        at(addresses[1])
        stream.submit(Nop())
        kernel[3](addresses[2], stream=stream)
        at(addresses[3])
        kernel[3](-1, stream=stream)
    return graph


def test_nodes_are_those_of_the_slow_path(device: Device) -> None:
    seen, told = captured(device, sites=False), captured(device, sites=True)
    assert [node.index for node in seen.nodes] == list(range(len(seen.nodes)))
    assert [(each.name, each.blocks, each.position, each.ids.task_id) for each in seen.nodes] == [
        (each.name, each.blocks, each.position, each.ids.task_id) for each in told.nodes
    ]
    launched = [graph.kernels[at].task.args for graph in (seen, told) for at in (0, 1, 3)]
    assert [address - launched[0] for address in launched[1:3]] == [address - launched[3] for address in launched[4:]]
    assert not any(node.site for node in seen.nodes)
    assert all(node.site for node in told.kernels)
    assert seen.nodes[0] is seen.nodes[0]


def test_an_interrupt_leaves_a_launch_with_its_node_or_nothing(device: Device) -> None:
    kernel, address = device.load(minimal_kernel("noted", 1)).only, device.alloc(64).address
    interrupter = Interrupter(
        "submission/prepared.py", "submission/software.py",
        "driver/queues/send.py", "driver/queues/pairs.py", "submission/ring.py", "fakes/hal/queues/hot.py",
    )  # fmt: skip
    numbers = set()
    for site in range(60):
        stream = device.create_stream()
        graph = capture.begin(stream)
        at = kernel.bind_device_arguments(stream, 1)
        at(address)
        interrupted = interrupter.run(partial(at, address), site)
        target = stream.branch.stream
        assert no_lock_is_held(target), f"place {site}"
        assert len(graph.nodes) == target.ring.submitted, f"place {site}"
        if target.has_queue:
            assert device.queues.tail(target.queues.sq_id) == target.ring.tail, f"place {site}"
        numbers.add(len(graph.nodes))
        graph.abandon("enough was seen")
        stream.close()
        if not interrupted:
            break
    assert numbers == {1, 2}


def test_a_capture_that_nobody_looks_at_makes_no_nodes(device: Device) -> None:
    kernel, at = device.load(minimal_kernel("noted", 1)).only, device.alloc(64).address
    stream = device.create_stream()
    with stream.capture() as graph:
        for _ in range(5):
            kernel[3](at, stream=stream)
    unseen = graph.node_list.known()
    assert len(graph.nodes) >= 5
    assert len(unseen) == len(graph.nodes) - 5  # the tasks of the runtime itself
    assert [node.index for node in graph.nodes] == list(range(len(graph.nodes)))
