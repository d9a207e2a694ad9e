"""What a trace becomes: JSON that viewers read without guessing, a page that loads nothing, tables and a verdict."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from runtime.api import Runtime
from runtime.launch.task_records import ADDRESS, ARGUMENTS, DESCRIBE, SEND, SLOT, WAIT
from runtime.trace import Tracing, chrome, page, verdict
from runtime.trace.model import Task, Trace, Track
from tests.unit.runtime.machines import OpenMachine
from tests.unit.runtime.trace.scenes import SCENES, traced


@pytest.fixture(params=SCENES)
def trace(request: pytest.FixtureRequest, machine: Runtime) -> Tracing:
    """A trace of every scene."""
    return traced(request.param, machine)


def exported(trace: Tracing, folder: Path) -> list[dict[str, Any]]:
    """Write the JSON and read it back."""
    chrome.write(trace.result, folder / "t.json")
    events: list[dict[str, Any]] = json.loads((folder / "t.json").read_text())["traceEvents"]
    return events


def test_slices_of_a_track_nest_and_have_a_named_row(trace: Tracing, tmp_path: Path) -> None:
    events = exported(trace, tmp_path)
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], -event["dur"]))
    assert tracks.keys() <= named
    for slices in tracks.values():
        ends: list[float] = []
        for began, minus in sorted(slices):
            while ends and ends[-1] <= began + 1e-6:
                ends.pop()
            assert not ends or began - minus <= ends[-1] + 2e-3, "a slice ends after the one that it is in"
            ends.append(began - minus)


def test_flow_arrows_pair_up_go_forward_and_touch_slices(trace: Tracing, tmp_path: Path) -> None:
    events = exported(trace, tmp_path)
    begins = {(event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "X"}
    starts, ends = ({event["id"]: event for event in events if event["ph"] == kind} for kind in "sf")
    assert starts
    assert starts.keys() == ends.keys()
    assert len(starts) + len(ends) == sum(event["ph"] in "sf" for event in events)
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"]
        assert start["cat"] == ends[number]["cat"]
        for end in (start, ends[number]):
            assert (end["pid"], end["tid"], end["ts"]) in begins


def test_phases_are_inside_their_launches(machine: Runtime, tmp_path: Path) -> None:
    events = exported(traced("loop", machine), tmp_path)
    launches = [event for event in events if event.get("cat") == "launch" and event["ph"] == "X"]
    phases = [event for event in events if event.get("cat") == "phase"]
    assert len(launches) == 20

    def inside(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
        return bool(outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 2e-3)

    assert all(sum(inside(phase, launch) for phase in phases) >= 5 for launch in launches)


def test_a_graph_shows_what_was_captured_what_was_sent_and_what_the_device_did(machine: Runtime) -> None:
    trace = traced("graph", machine)
    result = trace.result
    assert trace.launches == []
    assert [task.name for task in result.tasks if task.captured] == ["kernel first", "kernel second"]
    ran = [replay.name for replay in result.replays if "kernel" in replay.name]
    assert ran == ["kernel first", "kernel second"] * 3
    starters = [result.tasks[replay.starter] for replay in result.replays if replay.starter is not None]
    assert [task.kind for task in starters] == ["MODEL_EXECUTE"] * 3
    assert len({task.number for task in starters}) == 3
    assert result.unseen == 0
    (said,) = trace.verdict()
    assert said.startswith("graphs: 2 launches captured; 3 graph launches")


def test_the_table_counts_preparing_once_and_waits_as_the_host_waited(machine: Runtime) -> None:
    trace = traced("loop", machine)
    rows = trace.table()
    assert rows[ADDRESS].note == "prepared once at bind; nothing per launch"
    assert rows[ADDRESS].total_us > 0
    waits = [bar for bar in trace.result.bars if bar.kind == "wait"]
    assert rows[WAIT].total_us == pytest.approx(sum(bar.ended_us - bar.began_us for bar in waits))
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert (rows[ADDRESS].share, rows[WAIT].share) == (0, 0)


def slow_in(phase: int, url: str) -> Trace:
    """A trace of ten launches that spend nearly all their time in one phase."""
    tasks = tuple(
        Task(number, "kernel k", "KERNEL_AIVEC", 0, 1, "job.py:1", number * 10.0, number * 10.0 + 9,
             ((DESCRIBE, number * 10.0, number * 10.0 + 1), (phase, number * 10.0 + 1, number * 10.0 + 9)),
             1, number, 1, True)
        for number in range(10)
    )  # fmt: skip
    track = Track(0, 7, "", "hardware SQ", "dma", 2048, False, 0)
    return Trace(url, "Ascend910B3", (track,), tasks, (), (), (), "")


@pytest.mark.parametrize(
    ("phase", "url", "said"),
    [
        (SEND, "hal://", "slow phase: 6 advance the tail, ring the driver takes 89%; the driver call is the cost"),
        (SEND, "fake-abi://x", "largest phase: 6 advance the tail, ring the driver takes 89%, but here it is the "
         "fake device's own work: trace on a box, or on null://ascend910b3, before you act on it"),
        (ARGUMENTS, "trace+hal://", "largest phase: 3 arguments to the device takes 89%, but recording the HAL calls "
         "is part of it: trace without --hal, before you act on it"),
        (SLOT, "fake://x", "slow phase: 4 task slot takes 89%; the ring is full"),
        (ARGUMENTS, "null://x", "slow phase: 3 arguments to the device takes 89%; arguments are copied per launch"),
    ],
)  # fmt: skip
def test_the_verdict_names_the_slow_phase_and_a_fake_is_not_the_users_mistake(phase: int, url: str, said: str) -> None:
    first, second, *_ = verdict.verdict(slow_in(phase, url))
    share = "89%" if phase == SEND else "0%"
    assert first == f"10 launches, 9.0 us each at the median; the send is {share} of it"
    assert second.startswith(said)


def test_the_page_holds_verdict_tables_and_data_and_loads_nothing(trace: Tracing) -> None:
    text = page.render(trace.result)
    for row in verdict.table(trace.result):
        assert f"{row.phase}</td>" in text
    assert not re.search(r'<(script|link|img)[^>]*(src|href)="(?!data:)|@import|url\(|https?:|fetch\(', text)
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    data = json.loads(match[1])
    assert len(data["tasks"]) == len(trace.result.tasks)
    assert len(data["edges"]) == len(trace.result.edges)
    assert all(0 <= task[0] < len(data["lanes"]) for task in data["tasks"])
    for task, row in zip(trace.result.tasks, data["tasks"], strict=True):
        assert sum(row[8][1::2]) == pytest.approx(task.ended_us - task.began_us, abs=0.01)


@pytest.mark.parametrize("evil", ["</script><img src=x onerror=alert(1)>", "<!--<script>", "\u2028</SCRIPT\n>"])
def test_names_cannot_leave_the_page(evil: str, machine: Runtime) -> None:
    device = machine.device(0)
    with Tracing(runtime=machine) as trace:
        device.create_stream(name=evil).record(device.create_event())
    text = page.render(trace.result)
    assert evil not in text
    data = text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert "<" not in data
    assert any(lane["name"].endswith(evil) for lane in json.loads(data)["lanes"])


def test_a_machine_without_devices_has_an_empty_trace(open_machine: OpenMachine, tmp_path: Path) -> None:
    with Tracing(tmp_path / "t.html", runtime=open_machine("fake://ascend910b3?devices=0")) as trace:
        pass
    assert trace.result.chip == "no device"
    assert "no kernel was launched" in (tmp_path / "t.html").read_text()


def test_stretches_of_the_program_nest_or_have_a_track_of_their_own(machine: Runtime, tmp_path: Path) -> None:
    events = exported(traced("stretches", machine), tmp_path)
    nested = {event["name"] for event in events if event["ph"] == "X"}
    crossing = {
        kind: {event["id"]: event["name"] for event in events if event["ph"] == kind and event["cat"] == "program"}
        for kind in "be"
    }
    assert crossing["b"] == crossing["e"]
    assert sorted(crossing["b"].values()) == ["step", "until the launch is queued"]  # which the third one crosses
    assert "until it is done" in nested
