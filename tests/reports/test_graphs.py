"""What users have reported about graphs that are executed again and again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakes.checkers import Report
from runtime.api import Device, Kernel, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.sync.event import Event
from runtime.core.sync.event_flags import EventFlag

URLS = ("fake://ascend910b1?seed=1&check=all", "fake://ascend910b1?seed=1&check=all&swsq=0",
        "fake://ascend950pr_9599?seed=1&check=all")  # fmt: skip


@pytest.fixture(params=URLS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    machine = Runtime(request.param)
    yield machine.device(0)
    machine.close()


@pytest.fixture
def log() -> list[int]:
    """What the kernel `note` was launched with."""
    return []


@pytest.fixture
def note(device: Device, log: list[int]) -> Kernel:
    """A kernel that notes its argument."""
    kernel = device.load(minimal_kernel("note", 1), name="note").only
    device.hal.fake.attach(kernel.code, lambda context: log.append(context.args[0]), name="note", grid=True)
    return kernel


def take(device: Device) -> list[Report]:
    """Return what the checkers have found, once."""
    return list(device.hal.fake.reports.take())


@pytest.mark.parametrize("ordered", [True, False])
def test_a_fast_host_records_for_the_next_step_before_the_graph_has_waited(
    device: Device, note: Kernel, log: list[int], ordered: bool
) -> None:
    """The graph waits for an event of the kind EXTERNAL and takes it back; two records in a row count once."""
    event, done = Event(device, EventFlag.EXTERNAL, renewed=False, name="inputs ready"), device.create_event()
    replay, update = device.create_stream(name="replay"), device.create_stream(name="update")
    with replay.capture() as graph:
        replay.wait(event)
        event.reset(replay)
        note[1](1, stream=replay)
    card = device.hal.fake.device(device.device_id)
    for _ in range(2):
        card.hold(replay.stream_id)
        graph.launch(replay)
        event.record(update)
        if ordered:
            replay.record(done)
            card.release(replay.stream_id)
            update.wait(done)
    update.synchronize(30_000)
    card.release(replay.stream_id)
    card.run_until_idle()
    found = take(device)
    if ordered:
        replay.synchronize(30_000)
        assert found == []
    else:
        assert {report.check for report in found} == {"deadlock"}
        report = found[-1]
        assert "'inputs ready'" in report.message
        assert "was last reset by" in report.message
        assert "Missing edge" in report.cure
        assert log == [1]
        event.record(update)
        replay.synchronize(30_000)
    assert log == [1, 1]
    graph.close()
    event.close()
