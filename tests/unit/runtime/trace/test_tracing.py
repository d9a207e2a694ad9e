"""What a trace records: phases, waits, the device's own times, who waits for whom, and what it says of them."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from fakes.faults import Effect
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.diagnostics import hang
from runtime.core.submission.sink import HardwareSink
from runtime.launch.launch_log import log_launches
from runtime.launch.task_records import BUILD, SEND, SLOT, WAIT, call_site_of
from runtime.trace import Tracing, tracing
from tests.unit.runtime.machines import MakeKernel


def traced(machine: Runtime, device: Device, make_kernel: MakeKernel, path: Path | None = None) -> Tracing:
    """Three launches, an event that another stream waits for, a copy, and a wait of the host."""
    with tracing(path, runtime=machine) as trace:
        one, two = device.create_stream(name="one"), device.create_stream(name="two")
        kernel, buffer, host = make_kernel("k"), device.alloc(4096), device.alloc_host(4096)
        for _ in range(3):
            kernel[8](buffer, stream=one)
        event = device.create_event()
        one.record(event)
        two.wait(event)
        two.copy(buffer, host)
        two.synchronize()
        one.synchronize()
    return trace


@pytest.fixture
def trace(machine: Runtime, device: Device, make_kernel: MakeKernel) -> Tracing:
    return traced(machine, device, make_kernel)


def test_launches_have_their_phases_in_order_and_name_their_line(trace: Tracing) -> None:
    assert [task.name for task in trace.launches] == ["kernel k"] * 3
    for number, task in enumerate(trace.launches):
        phases = task.phases_us()
        assert phases[SLOT] > 0
        assert phases[SEND] > 0
        assert phases[WAIT] > 0  # the host waited for the stream
        assert sum(phases) - phases[WAIT] == pytest.approx(task.ended_us - task.began_us)
        ends = [end for _, _, end in task.stretches]
        assert ends == sorted(ends)
        assert task.pending == number + 1
        assert 0 < task.send_share < 1
        assert re.search(r"test_tracing\.py:\d+$", task.site)
    assert len({task.site for task in trace.launches}) == 1


def test_other_tasks_and_event_edges_are_there(trace: Tracing) -> None:
    kinds = [task.kind for task in trace.result.tasks if not task.is_launch]
    assert kinds == ["EVENT_RECORD", "STREAM_WAIT_EVENT", "MEMCPY"]
    ((record, wait),) = trace.result.edges
    assert trace.result.tasks[record].kind == "EVENT_RECORD"
    assert trace.result.tasks[wait].kind == "STREAM_WAIT_EVENT"


def test_the_device_says_when_it_worked_and_never_before_the_send(trace: Tracing) -> None:
    for task in trace.result.tasks:
        assert task.executed is not None
        assert task.ended_us <= task.executed.began_us < task.executed.ended_us
    first, second, third = (task.executed for task in trace.launches)
    assert first.ended_us <= second.began_us <= third.began_us  # type: ignore[union-attr]


def test_the_ending_of_the_name_decides_what_is_written(
    machine: Runtime, device: Device, make_kernel: MakeKernel, tmp_path: Path
) -> None:
    traced(machine, device, make_kernel, tmp_path / "t.html").write(tmp_path / "t.json")
    assert (tmp_path / "t.html").read_text().startswith("<!doctype html>")
    assert "traceEvents" in json.loads((tmp_path / "t.json").read_text())


def test_launchers_bound_before_are_not_seen_and_the_verdict_says_so(
    machine: Runtime, device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    bound, buffer = make_kernel("k").bind(stream, 8), device.alloc(64)
    with tracing(runtime=machine) as trace:
        bound(buffer)
        stream.synchronize()
    assert trace.launches == []
    assert "1 SQE was not seen" in trace.verdict()[0]


def test_nothing_is_watched_any_more_afterwards(
    machine: Runtime, device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    kernel, buffer = make_kernel("k"), device.alloc(64)
    way = stream.sq_path
    with tracing(runtime=machine) as trace:
        assert stream.sq_path == way
        kernel[8](buffer, stream=stream)
    kernel[8](buffer, stream=stream)
    stream.synchronize()
    assert len(trace.launches) == 1
    assert (machine.tracer, stream.tracer, stream.sq_path) == (None, None, way)


def test_launchers_that_were_bound_meanwhile_note_nothing_afterwards(
    machine: Runtime, device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    kernel, buffer = make_kernel("k"), device.alloc(64)
    with tracing(runtime=machine) as trace:
        bound = kernel.bind(stream, 8)
        by_address = kernel.bind_device_arguments(stream, 8)
        bound(buffer)
        lane = stream.tracer.lanes[-1]
    seen = len(trace.launches)
    noted, kept = list(lane.by_position), [list(marks) for marks in lane.by_position if marks]
    bound(buffer)
    by_address(buffer.address)
    stream.synchronize()
    assert (seen, len(trace.launches)) == (1, 1)
    assert lane.by_position == noted
    assert [list(marks) for marks in lane.by_position if marks] == kept
    assert stream.ring.reclaimed == 3


@pytest.mark.parametrize("chip", ["ascend910b1", "ascend950pr_9599"])
@pytest.mark.parametrize("born", ["before", "under"])
def test_launches_into_a_graph_with_a_hardware_queue_are_captured_on_the_fast_path(
    chip: str, born: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Runtime(f"null://{chip}")
    try:
        device = machine.device(0)
        kernel, buffer = device.load(minimal_kernel("k", 1)).only, device.alloc(64)
        stream = device.create_stream()
        with tracing(runtime=machine) as trace:
            stream = device.create_stream() if born == "under" else stream
            kernel[8](buffer, stream=stream)
            with stream.capture() as graph, monkeypatch.context() as patch:
                patch.setattr(HardwareSink, "alloc", lambda *_: pytest.fail("a launch took the slow path"))
                for _ in range(3):
                    kernel[8](buffer, stream=stream)
            sends = [lane for lane in stream.tracer.lanes if lane.stream in graph.streams]
            by_graph = [stamps for lane in sends for stamps in lane.by_position if stamps][:3]
            graph.launch(stream)
            stream.synchronize()
        captured = [task for task in trace.result.tasks if task.captured]
        assert (len(trace.launches), len(captured)) == (1, 3)
        for task, stamps in zip(captured, by_graph, strict=True):
            phases = task.phases_us()
            assert phases[BUILD] > 0
            assert phases[SEND] > 0
            assert call_site_of(stamps) == task.site
            assert re.search(r"test_tracing\.py:\d+$", task.site)
    finally:
        machine.close(force=True)


def _code(function: Any) -> set[str]:
    """Names in the bytecode of a function, or of what a compiled one stands for, and of what it has closed over."""
    function = getattr(function, "__wrapped__", function)
    names = {*function.__code__.co_names, *function.__code__.co_freevars}
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, FunctionType) and cell.cell_contents is not function:
            names |= {*cell.cell_contents.__code__.co_names, *cell.cell_contents.__code__.co_freevars}
    return names


def test_the_plain_launcher_does_not_know_of_tracers(stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("k")
    for launch in (kernel.bind(stream, 8), kernel.bind_device_arguments(stream, 8)):
        assert not {name for name in _code(launch) if "trac" in name or "watch" in name or "clock" in name}


def test_a_failed_task_names_the_line_that_submitted_it(
    machine: Runtime, device: Device, stream: Stream, make_kernel: MakeKernel
) -> None:
    kernel, buffer = make_kernel("bad"), device.alloc(64)
    device.hal.fake.faults.on_task(Effect.EXCEPTION)
    with tracing(runtime=machine):
        kernel[8](buffer, stream=stream)
        with pytest.raises(errors.RuntimeFault, match=r"submitted at .*test_tracing\.py:\d+") as caught:
            stream.synchronize()
    assert "test_tracing.py" in str(caught.value.details["submitted_at"])


def test_each_launch_is_logged_with_its_seven_phases(
    machine: Runtime, device: Device, stream: Stream, make_kernel: MakeKernel, caplog: pytest.LogCaptureFixture
) -> None:
    kernel, buffer = make_kernel("k"), device.alloc(64)
    caplog.set_level(logging.INFO, "runtime.launch")
    log_launches(machine)
    kernel[8](buffer, stream=stream)
    stream.synchronize()
    text = "\n".join(record.getMessage() for record in caplog.records if record.name == "runtime.launch")
    told = r"launch \d+: kernel k on device 0 stream \d+, position \d+, hardware SQ.*test_tracing\.py:\d+"
    assert re.search(told, text)
    assert "1 function address prepared" in text
    for number in range(2, 7):
        assert re.search(rf"{number} [a-zA-Z, ]+ \d+\.\d", text)
    assert re.search(r"phase 7 wait for the SQ head: waited [\d.]+ us.*launches \d+ to \d+ are done", text)


def test_a_wait_that_lasts_too_long_describes_the_stream_once(
    machine: Runtime, device: Device, stream: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    device.hal.fake.device(0).held = True
    stream.record(device.create_event(name="mark"))
    machine.hang_s = 0.001
    with pytest.raises(errors.Timeout):
        stream.synchronize(timeout_ms=30)
    device.hal.fake.device(0).held = False
    told = capsys.readouterr().err
    assert told.count("npuhal: waiting for") == 1
    assert re.search(r"queue \d+: head 0, tail 1, depth \d+, 1 SQEs pending, enabled", told)
    assert re.search(r"\[0\] event record +<- the device is here", told)
    assert "SQE at 0: event_record" in told
    stream.synchronize()


@pytest.mark.parametrize(("text", "seconds"), [("", 60), ("5", 5), ("0", float("inf")), ("-1", 60), ("soon", 60)])
def test_the_patience_is_a_variable(text: str, seconds: float) -> None:
    assert hang.patience({hang.VARIABLE: text}) == seconds


def test_a_trace_without_launches_says_so(machine: Runtime) -> None:
    with tracing(runtime=machine) as trace:
        pass
    assert trace.verdict() == ["no kernel was launched while tracing was on"]
