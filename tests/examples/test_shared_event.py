"""Events that a process records and others wait for, on one device and on several."""

from __future__ import annotations

from contextlib import closing

import pytest

from runtime.api import Runtime
from tests.tools.processes import Line, processes, shared_name

CHIPS = ("ascend910b3", "ascend950pr_9599")


def produce(line: Line, url: str) -> tuple[bool, bool]:
    """Record a shared event behind a stream's work; returns whether it was done before and after."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        buffer = device.alloc(64)
        with device.create_event(shared=True) as event, device.create_stream() as stream:
            stream.wait_value(buffer, 1)
            stream.record(event)
            line.send(event.share())
            before = event.query()
            assert line.hear() == "go"
            device.copy(buffer, (1).to_bytes(8, "little"), 8)
            event.synchronize()
            line.send("recorded")
            assert line.hear() == "done"
            return before, event.query()


def consume(line: Line, url: str, index: int) -> bool:
    """Let a stream wait for another process's event; returns whether the event is done then."""
    with closing(Runtime(url)) as machine:
        device = machine.device(index)
        with device.open_event(line.hear()) as event, device.create_stream() as stream:
            stream.wait(event)
            line.send(stream.query())
            stream.synchronize(30_000)
            return event.query()


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("consumers", [(0,), (1, 2)], ids=["one device", "several devices"])
def test_shared_event(soc: str, consumers: tuple[int, ...]) -> None:
    url = f"fake://{soc}?devices=3&shared={shared_name('event')}"
    with processes((produce, url), *((consume, url, index) for index in consumers)) as (producer, *others):
        key = producer.hear()
        for other in others:
            other.send(key)
            assert other.hear() is False  # the stream stands and waits
        producer.send("go")
        assert producer.hear() == "recorded"
        assert [other.end() for other in others] == [True] * len(others)
        producer.send("done")
        assert producer.end() == (False, True)
