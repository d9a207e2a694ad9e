"""The probe climbs a healthy device, stops at the first bad step with code and cure, and always tidies up."""

from __future__ import annotations

import argparse
import ctypes
import io
import itertools
import json
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import npuhal
from npuhal.errors import LibraryNotFound, StubLibrary
from runtime.cli import UsageError, doctor
from runtime.cli.doctor.bundle import log_folders, write
from runtime.cli.doctor.ladder import Doubt, Failed, ProbeStep, Result, Skipped, State, climb
from runtime.cli.doctor.machine import Machine
from runtime.cli.doctor.probe import Probe
from runtime.cli.output import Output
from runtime.errors import fault, from_hal

(KERNEL,) = (Path(__file__).parents[2] / "data" / "kernels" / "ascend910b").glob("*.o")
BACKENDS = ("fake://ascend910b3", "fake://ascend950?seed=5")
LOW_STEPS = ("nodes", "load", "dependencies", "versions", "enumerate", "daemon", "open")
STEPS = (*LOW_STEPS, "memory", "copy", "stream", "no-op", "event")


def steps(*works: Callable[[], str]) -> list[ProbeStep]:
    return [ProbeStep(f"step {number}", work, 5) for number, work in enumerate(works)]


def raising(problem: BaseException) -> Callable[[], str]:
    def work() -> str:
        raise problem

    return work


def hal_error(code: int) -> Exception:
    with pytest.raises(npuhal.errors.HalError) as caught:
        npuhal.check(code, "halDeviceOpen")
    return caught.value


# --- the ladder


def test_every_step_is_timed() -> None:
    ticks = itertools.count(step=0.25)
    results = list(climb(steps(lambda: "a", lambda: "b"), clock=lambda: next(ticks)))
    assert [(result.told, result.state, result.ms) for result in results] == [
        ("a", State.OK, 250.0),
        ("b", State.OK, 250.0),
    ]


@pytest.mark.parametrize(
    ("problem", "state", "told", "code", "cure"),
    [
        (Skipped("not here"), State.SKIPPED, "not here", 0, ""),
        (Doubt("odd", "look"), State.WARNING, "odd", 0, "look"),
        (Failed("wrong", "mend", 7), State.FAILED, "wrong", 7, "mend"),
        (hal_error(53), State.FAILED, "halDeviceOpen answered DRV_ERROR_OPEN_FAILED", 53, "the device is not open"),
        (from_hal(hal_error(53), "x"), State.FAILED, "answered DRV_ERROR_OPEN_FAILED", 53, "the device is not open"),  # type: ignore[arg-type]
        (fault(507000, "inside"), State.FAILED, "inside", 507000, "Look at the first message"),
        (LibraryNotFound((("/a", "no such file"),)), State.FAILED, "/a: no such file", 0, "Install the Ascend driver"),
        (StubLibrary("/a.so"), State.FAILED, "/a.so is the toolkit's link stub", 0, "Take the stub folder"),
        (ZeroDivisionError("x"), State.FAILED, "unexpected ZeroDivisionError: x", 0, "please report"),
    ],
)
def test_each_kind_of_ending_is_told_with_code_and_cure(
    problem: Exception, state: State, told: str, code: int, cure: str
) -> None:
    (result,) = climb(steps(raising(problem)))
    assert result.state is state
    assert told in result.told
    assert "\n" not in result.told
    assert result.code == code
    assert result.cure.startswith(cure)


@pytest.mark.parametrize("problem", [Skipped("s"), Doubt("d", "c")])
def test_a_doubt_or_a_skipped_step_does_not_end_the_climb(problem: Exception) -> None:
    assert len(list(climb(steps(raising(problem), lambda: "on")))) == 2


def test_a_failed_step_ends_the_climb() -> None:
    assert len(list(climb(steps(raising(Failed("f")), lambda: "on")))) == 1


def test_a_step_that_does_not_come_back_is_named_and_ends_the_climb() -> None:
    release = threading.Event()

    def stuck() -> str:
        release.wait()
        return "late"

    results = list(climb([ProbeStep("open", stuck, 0.01), ProbeStep("memory", lambda: "on", 5)]))
    release.set()
    assert [(result.step, result.state) for result in results] == [("open", State.HUNG)]
    assert results[0].told == "did not come back within 0.01 s"
    assert "reset the device" in results[0].cure


def test_ctrl_c_is_no_result() -> None:
    with pytest.raises(KeyboardInterrupt):
        list(climb(steps(raising(KeyboardInterrupt()))))


# --- the probe


def probed(probe: Probe) -> list[Result]:
    results = list(climb(probe.steps()))
    return [*results, *climb([probe.tidy()])]


def broken(monkeypatch: pytest.MonkeyPatch, url: str, name: str, answer: Callable[..., int]) -> Probe:
    """A probe on a fake in which one driver function answers otherwise."""
    hal = npuhal.open_hal(url)
    healthy = hal.raw
    monkeypatch.setattr(hal, name, answer, raising=False)
    monkeypatch.setattr(hal, "raw", lambda wanted: answer if wanted == name else healthy(wanted))
    monkeypatch.setattr(npuhal, "open_hal", lambda url: hal)
    return Probe(url)


@pytest.mark.parametrize("url", BACKENDS)
def test_a_healthy_device_is_climbed_to_the_top_and_everything_is_given_back(url: str) -> None:
    results = probed(Probe(url))
    assert tuple(result.step for result in results) == (*STEPS, "close")
    assert {result.step: result.state for result in results if result.state is not State.OK} == {
        "dependencies": State.SKIPPED,
        "nodes": State.SKIPPED,
    }


@pytest.mark.parametrize("url", BACKENDS)
@pytest.mark.parametrize(
    ("name", "code", "step", "cure"),
    [
        ("drvGetDevNum", 1, "enumerate", "check the container's devices"),
        ("halDeviceOpen", 10, "open", "this process has opened the device already"),
        ("drvMemSmmuQuery", 7, "open", "the driver or the device failed inside this call"),
        ("halMemAlloc", 6, "memory", "free memory on that side"),
        ("drvMemcpy", 17, "copy", "the kernel driver refused"),
        ("halResourceIdAlloc", 48, "stream", "too many streams"),
        ("halSqCqAllocate", 14, "stream", "too many streams hold a queue"),
        ("halSqTaskSend", 33, "no-op", "the task scheduler does not answer"),
        ("halCqReportRecv", 33, "event", "the task scheduler does not answer"),
    ],
)
def test_the_first_call_that_fails_is_named_with_code_and_cure(
    monkeypatch: pytest.MonkeyPatch, url: str, name: str, code: int, step: str, cure: str
) -> None:
    *_, last, closing = probed(broken(monkeypatch, url, name, lambda *_: code))
    assert last.step == step
    assert last.state is State.FAILED
    assert last.code == (0 if name == "drvGetDevNum" else code)
    assert last.cure.startswith(cure)
    assert closing.state is State.OK


def test_memory_that_answers_other_bytes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, last, _ = probed(broken(monkeypatch, BACKENDS[0], "drvMemcpy", lambda *_: 0))
    assert last.step == "copy"
    assert last.told.startswith("what was read back differs from what was written, first at byte ")


def test_a_device_that_is_not_there() -> None:
    *_, last, _ = probed(Probe("fake://ascend910b3?devices=2", device_id=2))
    assert (last.step, last.told, last.cure) == (
        "enumerate",
        "device 2 does not exist: the driver shows 2",
        "choose one below 2",
    )


def test_what_cannot_be_given_back_is_a_warning_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    results = probed(broken(monkeypatch, BACKENDS[0], "halMemFree", lambda *_: 13))
    assert results[-1].state is State.WARNING
    assert results[-1].told.startswith("could not give back: memory (")


def test_a_head_that_does_not_move_is_told_with_tail_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cli.doctor.probe._ANSWER_S", 0.0)

    def swallow(device: int, info: Any) -> int:
        return 0  # accepted, never executed

    *_, last, _ = probed(broken(monkeypatch, BACKENDS[0], "halSqTaskSend", swallow))
    assert last.step == "no-op"
    assert last.told.startswith("the head stays at 0 instead of 1")
    assert "tail 0, queue enabled" in last.told


def test_a_completion_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cli.doctor.probe._ANSWER_S", 0.2)

    def nothing(device: int, info: Any) -> int:
        ctypes.cast(info, ctypes.POINTER(npuhal.structs.halReportRecvInfo)).contents.report_cqe_num = 0
        return 0

    *_, last, _ = probed(broken(monkeypatch, BACKENDS[0], "halCqReportRecv", nothing))
    assert last.step == "event"
    assert "no completion entry came" in last.told
    assert "interrupts" in last.cure


# --- the kernel


def test_a_kernel_file_is_the_last_step_and_goes_through_the_runtime() -> None:
    out = Output(io.StringIO())
    assert doctor.run(arguments(elf=KERNEL, json=True), out) == 0
    assert isinstance(out.stream, io.StringIO)
    *_, closing, last = json.loads(out.stream.getvalue())["probe"]
    assert (closing["step"], last["step"], last["state"]) == ("close", "kernel", "ok")
    assert last["told"].startswith("DenseToJagged")


def test_a_file_that_is_not_there_is_refused_before_anything_is_probed() -> None:
    with pytest.raises(UsageError, match=r"cannot open '/nowhere/k\.o'"):
        doctor.run(arguments(elf=Path("/nowhere/k.o")), Output(io.StringIO()))


def test_a_kernel_that_cannot_be_loaded_fails_the_probe() -> None:
    out = Output(io.StringIO())
    assert doctor.run(arguments(elf=KERNEL, kernel="nope", json=True), out) == 1
    assert isinstance(out.stream, io.StringIO)
    last = json.loads(out.stream.getvalue())["probe"][-1]
    assert (last["step"], last["state"]) == ("kernel", "FAILED")
    assert "nope" in last["told"]
    assert last["cure"]


def test_a_kernel_needs_the_probe() -> None:
    with pytest.raises(UsageError, match="step of the probe"):
        doctor.run(arguments(probe=False, elf=KERNEL), Output(io.StringIO()))


# --- the command


def arguments(**given: Any) -> argparse.Namespace:
    usual = {"json": False, "probe": True, "bundle": None, "url": BACKENDS[0], "device": 0, "elf": None, "kernel": None}
    return argparse.Namespace(**{**usual, **given})


def test_the_command_prints_every_step(tmp_path: Path) -> None:
    out = Output(io.StringIO())
    assert doctor.run(arguments(), out) == 0
    assert isinstance(out.stream, io.StringIO)
    text = out.stream.getvalue()
    for step in STEPS:
        assert f"  {step} " in text
    assert "needs no driver" in text


def test_json_has_findings_and_steps() -> None:
    out = Output(io.StringIO())
    doctor.run(arguments(json=True), out)
    assert isinstance(out.stream, io.StringIO)
    told = json.loads(out.stream.getvalue())
    assert [step["step"] for step in told["probe"]] == [*STEPS, "close"]
    assert "libraries" not in told["findings"]


def test_a_failed_step_makes_the_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, BACKENDS[0], "halDeviceOpen", lambda *_: 10)
    assert doctor.run(arguments(), Output(io.StringIO())) == 1


def test_a_negative_device_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="numbered from 0"):
        doctor.run(arguments(device=-1), Output(io.StringIO()))


SECRETS = ("GITHUB_TOKEN", "ASCEND_PASSWORD", "NPU_API_TOKEN", "HCCL_SECRET_KEY", "LD_KEY", "ASCEND_WORK_PATHS")
"""The last one is nearly a known setting: that it is set may be said, what it holds not."""


def test_the_bundle_holds_calls_entries_and_settings_but_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", "/var/log/npu")
    monkeypatch.setenv("ASCEND_WORK_PATH", "/opt/bob:secret@host/\udcff\nASCEND_PASSWORD=secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/token=secret/lib")
    for name in SECRETS:
        monkeypatch.setenv(name, "secret")
    target, screen = tmp_path / "bundle.zip", io.StringIO()
    assert doctor.run(arguments(bundle=target, probe=False), Output(screen)) == 0
    with zipfile.ZipFile(target) as bundle:
        members = {name: bundle.read(name).decode() for name in bundle.namelist()}
    queue = json.loads(members["queue.json"])
    assert [entry["meant"] for entry in queue["entries"]] == ["NOP", "EVENT_RECORD"]
    assert all(len(bytes.fromhex(entry["bytes"])) == 64 and entry["fields"] for entry in queue["entries"])
    assert (queue["head"], queue["tail"]) == (2, 2)
    assert [len(bytes.fromhex(entry)) for entry in queue["completions"]] == [32]
    assert "halSqTaskSend" in members["hal_calls.txt"]
    assert "ASCEND_PROCESS_LOG_PATH=/var/log/npu\n" in members["environment.txt"]
    assert "ASCEND_WORK_PATH=/opt/***@host/\\udcff\\nASCEND_PASSWORD=***\n" in members["environment.txt"]
    assert "secret" not in "".join(members.values())
    assert "/var/log/npu" in members["README.txt"]
    said = screen.getvalue()
    assert said.index("bundle.zip will hold") < said.index("wrote ")
    assert all(name in said for name in members)
    assert "ASCEND_PROCESS_LOG_PATH" in said[said.index("variables: "):]
    assert "others are left out" in said
    assert "secret" not in said
    assert [step["step"] for step in json.loads(members["probe.json"])] == list(STEPS)


def test_a_bundle_that_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "bundle.zip"
    target.write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write({"a.txt": "text"}, target)
    monkeypatch.undo()
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"before"]
    write({"a.txt": "text"}, Path("/dev/null"))


def test_a_bundle_of_a_machine_without_a_driver_has_its_findings(tmp_path: Path) -> None:
    target = tmp_path / "bundle.zip"
    doctor.run(arguments(bundle=target, url="hal:///nowhere/libascend_hal.so"), Output(io.StringIO()))
    with zipfile.ZipFile(target) as bundle:
        assert json.loads(bundle.read("queue.json")) == {}
        assert json.loads(bundle.read("probe.json"))[0]["state"] == "FAILED"


@pytest.mark.parametrize(
    ("environ", "first"),
    [
        ({"ASCEND_PROCESS_LOG_PATH": "/a", "ASCEND_WORK_PATH": "/b", "HOME": "/c"}, "/a"),
        ({"ASCEND_WORK_PATH": "/b", "HOME": "/c"}, "/b/log"),
        ({"HOME": "/c"}, "/c/ascend/log"),
    ],
)
def test_logs_are_looked_for_in_the_order_of_the_log_library(environ: dict[str, str], first: str) -> None:
    assert log_folders(Machine(environ=environ))[0] == first


def test_nodes_are_looked_at_before_a_library_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    machine = Machine(root=tmp_path, environ={})
    probe = Probe(f"hal://{tmp_path}/libascend_hal.so", 0, machine)
    (result,) = climb(probe.steps())
    assert (result.step, result.state) == ("nodes", State.FAILED)
    assert "there is no NPU device node" in result.told


def test_a_wait_for_the_channel_is_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    for name in ("davinci0", "davinci_manager"):
        (tmp_path / "dev" / name).touch()
    machine = Machine(root=tmp_path, environ={}, probe=lambda _root: [])
    probe = Probe(f"hal://{tmp_path}/libascend_hal.so", 0, machine)
    first, second = climb(probe.steps())
    assert (first.step, first.state) == ("nodes", State.WARNING)
    assert "no /dev/hisi_hdc, for which the driver's library may wait about 22 s" in first.told
    assert "UB cards do without" in first.cure
    assert (second.step, second.state) == ("load", State.FAILED)
