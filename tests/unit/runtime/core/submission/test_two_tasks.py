"""Executions of graphs send two tasks with one call: the same entries as two sends, whole or not at all."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from chips.tasks import Nop
from runtime import errors
from runtime.api import Device, Graph, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.submission import two_tasks
from runtime.core.submission.ring import RingV100
from runtime.driver.queues import Sender
from tests.tools.interrupts import Interrupter
from tests.unit.runtime.core.submission.test_interrupts import no_lock_is_held
from tests.unit.runtime.machines import MakeKernel, OpenMachine

MACHINES = ("ascend910b1?seed=1", "ascend910_9391?seed=1", "ascend950pr_9599?seed=1", "ascend950pr_9599?args=ub&seed=1")
EXECUTIONS = 1100
"""Enough for the ring of each of them to be passed."""


def captured(device: Device, stream: Stream, count: int = 1) -> Graph:
    kernel = device.load(minimal_kernel("pair", 1)).only
    with stream.capture() as graph:
        for _ in range(count):
            kernel[1](device.alloc(64), stream=stream)
    return graph


def executed(machine: Runtime, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Execute a graph often, with the ring and the ids of the stream starting again between two tasks of a pair.

    Returns the entries that reached the queue, one item per call of the driver.
    """
    sent: list[bytes] = []
    device = machine.device(0)
    send = device.hal.raw("halSqTaskSend")

    def watched(device_id: int, reference: Any) -> int:
        info = reference._obj
        sent.append(ctypes.string_at(info.sqe_addr, 64 * info.sqe_num))
        return int(send(device_id, reference))

    graph = captured(device, device.create_stream())
    monkeypatch.setattr(Sender, "send", property(lambda _: watched, lambda *_: None), raising=False)
    stream = device.create_stream()
    stream.submit(Nop())
    sent.clear()
    for number in range(EXECUTIONS):
        if number == EXECUTIONS - 1 and isinstance(stream.ring, RingV100):
            stream.synchronize()
            stream.ring.next_id = 0xFFFE
        graph.launch(stream)
        if number % 100 == 0:
            stream.submit(Nop())
    machine.close(force=True)
    return sent


@pytest.mark.parametrize("name", MACHINES)
def test_the_same_entries_as_with_two_sends(
    name: str, open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as watching:
        together = executed(open_machine(f"null://{name}"), watching)
    with monkeypatch.context() as watching:
        watching.setattr(two_tasks, "_prepared", lambda *_: None)
        singly = executed(open_machine(f"null://{name}"), watching)
    assert b"".join(together) == b"".join(singly)
    assert {len(sent) for sent in singly} == {64}
    assert sum(len(sent) == 128 for sent in together) >= EXECUTIONS - 1


@pytest.fixture
def graph(device: Device, make_kernel: MakeKernel, ran: list[int]) -> Graph:
    """A graph of one kernel that notes that it ran."""
    kernel = make_kernel("note", lambda context: ran.append(context.args[0]))
    with device.create_stream() as stream, stream.capture() as made:
        kernel[1](7, stream=stream)
    return made


@pytest.fixture
def ran() -> list[int]:
    """What the kernel was given."""
    return []


def test_a_full_ring_is_waited_for(device: Device, stream: Stream, graph: Graph, ran: list[int]) -> None:
    card = device.hal.fake.device(0)
    graph.launch(stream)
    stream.synchronize()
    card.hold()
    while stream.ring.fits(2):
        stream.submit(Nop())
    assert stream.ring.fits(1)
    card.release()
    graph.launch(stream)
    stream.synchronize()
    assert ran == [7, 7]


@pytest.mark.parametrize("times", [1, 1500])
def test_missing_credit_is_waited_for(device: Device, stream: Stream, graph: Graph, ran: list[int], times: int) -> None:
    graph.launch(stream)
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_NO_RESOURCES", times=times)
    graph.launch(stream)
    stream.synchronize()
    assert ran == [7, 7]


def test_a_refused_pair_leaves_nothing(device: Device, stream: Stream, graph: Graph, ran: list[int]) -> None:
    graph.launch(stream)
    stream.synchronize()
    device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_INNER_ERR")
    if device.chip.generation == "v100":
        graph.launch(stream)  # repeated until it passes
    else:
        with pytest.raises(errors.RuntimeFault):
            graph.launch(stream)
        assert stream.ring.pending == 0
        assert not graph.running
        graph.launch(stream)
    stream.synchronize()
    assert ran == [7, 7]


def test_what_bars_an_execution_is_seen(device: Device, stream: Stream, graph: Graph, ran: list[int]) -> None:
    card, node = device.hal.fake.device(0), graph.kernels[0]
    graph.launch(stream)
    stream.synchronize()
    card.hold()
    graph.launch(stream)
    assert graph.running
    with pytest.raises(errors.ModelError, match="not known to be over"):
        graph.update(node, enabled=False)
    with pytest.raises(errors.ModelError, match="changes of its nodes wait"):
        graph.launch(stream)
    card.release()
    stream.synchronize()
    assert not graph.running
    graph.update(node)
    graph.launch(stream)
    stream.synchronize()
    assert ran == [7, 7]
    graph.close()
    with pytest.raises(errors.InvalidArgument, match="graph"):
        graph.launch(stream)


def test_an_interrupt_leaves_both_tasks_or_none(device: Device, stream: Stream, graph: Graph, ran: list[int]) -> None:
    graph.launch(stream)
    stream.synchronize()
    ran.clear()
    interrupter = Interrupter(
        "submission/prepared.py", "model/model.py", "submission/submit.py",
        "driver/queues/send.py", "driver/queues/pairs.py",
    )  # fmt: skip
    interrupted, lost, kept = True, 0, 0
    for place in range(100):
        interrupted = interrupter.run(lambda: graph.launch(stream), place)
        assert no_lock_is_held(stream), f"place {place}"
        assert device.queues.tail(stream.queues.sq_id) == stream.ring.tail, f"place {place}"
        assert graph.running == bool(stream.ring.pending), f"place {place}"
        assert stream.ring.pending in (0, 2), f"place {place}"
        kept += stream.ring.pending == 2
        lost += stream.ring.pending == 0
        graph.launch(stream)
        stream.synchronize(10_000)
        assert stream.ring.pending == 0
        assert not graph.running
        assert set(ran) == {7}
        ran.clear()
        if not interrupted:
            break
    assert not interrupted
    assert lost
    assert kept
