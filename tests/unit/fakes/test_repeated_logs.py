"""The same program with the same seed: the same log, in every process and whatever the host's clock says."""

from __future__ import annotations

import random
import threading

import pytest

import runtime
from runtime.cli.sample import minimal_kernel
from tests.tools.repeated_logs import cases, differing

FEW = (
    ("fake://ascend910b3?seed=3&hbm=1g&policy=random", 1),
    ("fake-abi://ascend950?seed=3&hbm=1g&check=all", 2),
    ("fake://ascend910b3?seed=3&hbm=1g&devices=2&plan=0:5:1,0:9:2", 3),
    ("fake-abi://ascend950?seed=3&hbm=1g&fault=task:17:EXCEPTION&transient=5", 4),
)


def test_two_processes_that_differ_in_hashes_sends_and_time_limits_log_the_same() -> None:
    told: list[object] = []
    assert differing(list(FEW), told.append) == [], told


@pytest.mark.soak
def test_many_programs_log_the_same_in_two_processes() -> None:
    told: list[object] = []
    assert differing(list(cases(4)), told.append) == [], told


@pytest.mark.parametrize("chip", ["ascend910b3", "ascend950"])
def test_calls_that_the_thread_of_the_program_takes_itself_race_with_nothing(chip: str) -> None:
    assert len({log_with_calls(f"fake://{chip}?seed=2") for _ in range(3)}) == 1


def log_with_calls(url: str) -> str:
    """Return the log of a program whose streams wait for calls, which it takes in its own thread."""
    drawn, made, waiting = random.Random(5), [0], 0
    machine = runtime.Runtime(url)
    device, me = machine.device(0), threading.get_ident()
    streams, event = [device.create_stream() for _ in range(3)], device.create_event()
    kernel, buffer = device.load(minimal_kernel("kernel", 1), name="kernel").only, device.alloc(64)
    machine.hal.fake.attach(kernel.code, lambda _: None, name="kernel", grid=True)
    for stream in streams:
        machine.callbacks.subscribe(me, stream)

    def call(_: int) -> None:
        made[0] += 1

    for step in range(60):
        stream, other = drawn.sample(streams, 2)
        kernel[1](buffer, stream=stream)
        if step % 4 == 0:
            machine.callbacks.launch(stream, call, block=True)
            waiting += 1
        if step % 5 == 0:
            stream.record(event)
            other.wait(event)
        if step % 7 == 0:
            for _ in range(waiting):
                machine.callbacks.process(me, 5000)
            waiting = 0
            stream.synchronize(5000)
    for _ in range(waiting):
        machine.callbacks.process(me, 5000)
    for stream in streams:
        stream.synchronize(5000)
        machine.callbacks.unsubscribe(me, stream)
    assert made == [15]
    log: str = machine.hal.fake.log_text()
    machine.close()
    return log
