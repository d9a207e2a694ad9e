"""Traces that begin and end in any order: each sees everything of its time, and launching goes on."""

from __future__ import annotations

import threading

import pytest

from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.trace import Tracing, tracing
from tests.unit.runtime.machines import MakeKernel


def names(trace: Tracing) -> list[str]:
    return [task.name for task in trace.launches]


@pytest.fixture
def launch(make_kernel: MakeKernel, stream: Stream) -> object:
    """A function that launches a kernel once; prepared before anybody watches."""
    kernels = {}

    def once(name: str) -> None:
        if name not in kernels:
            kernels[name] = make_kernel(name)
        kernels[name][1](0, stream=stream)
        stream.synchronize(30_000)

    return once


def test_traces_that_overlap_see_their_own_time_each(machine: Runtime, stream: Stream, launch: object) -> None:
    assert callable(launch)
    launch("before")
    first, second = tracing(runtime=machine), tracing(runtime=machine)
    first.__enter__()
    launch("one")
    second.__enter__()
    launch("both")
    first.__exit__(None, None, None)
    launch("two")
    second.__exit__(None, None, None)
    for _ in range(3):
        launch("behind")
    assert names(first) == ["kernel one", "kernel both"]
    assert names(second) == ["kernel both", "kernel two"]
    assert first.result.unseen == second.result.unseen == 0
    assert machine.tracer is None
    assert stream.tracer is None


def test_an_inner_trace_takes_nothing_from_the_outer_one(machine: Runtime, launch: object) -> None:
    assert callable(launch)
    with tracing(runtime=machine) as outer:
        with tracing(runtime=machine) as inner:
            launch("within")
        launch("around")
    assert names(inner) == ["kernel within"]
    assert names(outer) == ["kernel within", "kernel around"]
    assert all(task.wait_us > 0 for task in outer.launches)


def test_a_trace_may_be_made_again_but_not_twice_at_once(machine: Runtime, launch: object) -> None:
    assert callable(launch)
    trace = tracing(runtime=machine)
    for name in ("first", "second"):
        with trace:
            launch(name)
            with pytest.raises(errors.InvalidArgument, match="is being made already"), trace:
                pass
        assert names(trace) == [f"kernel {name}"]


def test_a_stretch_that_began_before_a_trace_is_not_its_own(machine: Runtime) -> None:
    with tracing(runtime=machine) as outer:
        marks = machine.annotations
        marks.push("long")
        with tracing(runtime=machine) as inner:
            marks.pop()
    assert [bar.name for bar in outer.result.bars if bar.named_by_program] == ["long"]
    assert [bar.name for bar in inner.result.bars if bar.named_by_program] == []


def test_threads_begin_and_end_traces_while_another_one_launches(machine: Runtime, device: Device, launch: object,
                                                                 ) -> None:
    assert callable(launch)
    failed: list[BaseException] = []
    stop = threading.Event()

    def watch() -> None:
        try:
            for _ in range(20):
                with tracing(runtime=machine) as trace:
                    pass
                trace.launches  # noqa: B018
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=watch) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        launch("busy")
    stop.set()
    for thread in threads:
        thread.join(30)
    assert failed == []
    assert machine.tracer is None
    launch("busy")
    device.close()
