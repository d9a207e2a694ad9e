"""Threads on one device: memory stays right, nobody hangs, and a reset ends what they do with errors of the runtime."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from runtime import errors
from runtime.api import Runtime
from runtime.core.sync.open_captures import CaptureMode
from tests.stress.crowd import SIZE, WAIT_MS, Crowd

CHIPS = ("ascend910b3", "ascend950")
Record = Callable[[str, object], None]


@pytest.mark.parametrize("chip", CHIPS)
def test_eight_threads(chip: str, record_property: Record) -> None:
    crowd = Crowd(f"fake://{chip}?seed=1&policy=random&sqs=40", 1, 8, 30)
    record_property("cases", crowd.run())


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("url", [
    "fake://ascend910b3?policy=random&sqs=40", "fake://ascend950?policy=random&sqs=40",
    "fake-abi://ascend950?policy=random", "fake://ascend910b3?free_run=1", "fake://ascend950?policy=host_ahead",
])  # fmt: skip
def test_eight_threads_long(url: str, seed: int, record_property: Record) -> None:
    crowd = Crowd(f"{url}&seed={seed}", seed, 8, 300)
    record_property("cases", crowd.run())


@pytest.mark.parametrize("chip", CHIPS)
def test_six_threads_capture_launch_and_close_at_40_queues(chip: str) -> None:
    machine = Runtime(f"fake://{chip}?sqs=40")
    device, failures = machine.device(0), []

    def work(value: int) -> None:
        try:
            buffer = device.alloc(SIZE)
            for _ in range(4):
                with device.create_stream() as stream, device.create_stream() as other:
                    with stream.capture(CaptureMode.RELAXED) as graph:
                        stream.fill(buffer, value)
                        other.wait(stream.record(device.create_event()))
                        other.fill(buffer, value + 1)
                        stream.wait(other.record(device.create_event()))
                    graph.launch(stream)
                    stream.synchronize(WAIT_MS)
                    assert set(device.download(buffer).tolist()) == {value + 1}
                    graph.close()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(10 * number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_MS / 1000)
    assert not any(thread.is_alive() for thread in threads)
    machine.close(force=True)
    assert not failures, failures


@pytest.mark.parametrize("chip", CHIPS)
def test_a_reset_under_load(chip: str) -> None:
    machine = Runtime(f"fake://{chip}?policy=random")
    device, ended = machine.device(0), []
    begun = threading.Barrier(5)

    def work(value: int) -> None:
        try:
            stream, buffer = device.create_stream(), device.alloc(SIZE)
            begun.wait()
            while True:
                stream.fill(buffer, value)
                with device.create_stream() as other:
                    other.fill(buffer, value)
                stream.host_function(int)
                stream.synchronize(WAIT_MS)
        except BaseException as failure:
            ended.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    device.close(force=True)
    for thread in threads:
        thread.join(WAIT_MS / 1000)
    assert not any(thread.is_alive() for thread in threads)
    assert [failure for failure in ended if not isinstance(failure, errors.RuntimeFault)] == []
    assert len(ended) == 4
    again = machine.device(0)
    with again.create_stream() as stream:
        buffer = again.alloc(SIZE)
        stream.fill(buffer, 9)
        stream.synchronize(WAIT_MS)
        assert set(again.download(buffer).tolist()) == {9}
    machine.close(force=True)
