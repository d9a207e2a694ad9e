"""What users met at the beginning and the end of a process: start-up, forks, two libraries, order of destruction."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import runtime
from fakes.machine.daemon import FakeDaemon
from runtime import errors
from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.core.process import lifetime
from tests.reports.calls import Caller
from tests.unit.runtime.machines import OpenMachine

URL = "fake://ascend910b1"


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in an interpreter of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NPUHAL_")}
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=250, env={**kept, **environment}
    )


# -- the driver is not there ---------------------------------------------------------------------------------------


def test_without_a_driver_everything_imports_and_the_first_use_says_what_was_searched(tmp_path: Path) -> None:
    missing = f"hal://{tmp_path}/libascend_hal.so"
    done = python("import runtime, runtime.api, npuhal, chips", NPUHAL_URL=missing)
    assert (done.returncode, done.stderr) == (0, "")
    api, count = Caller(missing), Out()
    assert api.aclrtGetDeviceCount(count=count) == 207004
    for part in ("driver library not found", "Searched:", str(tmp_path), "NPUHAL_URL=fake://"):
        assert part in api.text
    assert api.aclrtSetDevice(deviceId=0) == 207004


def test_one_variable_puts_the_fake_in_its_place() -> None:
    done = python("import runtime; print(runtime.device_count(), runtime.start())", NPUHAL_URL=URL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 <Runtime fake://")


# -- forks ---------------------------------------------------------------------------------------------------------


def forked(work: object) -> tuple[int, float]:
    """Run a function in a forked child; returns what it returns, and how long that took."""
    began = time.monotonic()
    if (pid := os.fork()) == 0:
        try:
            os._exit(work())  # type: ignore[operator]
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), time.monotonic() - began


def test_light_queries_leave_a_child_free_to_open_devices() -> None:
    api = Caller(URL)
    assert api.aclInit() == 0
    assert api.acl.call("aclrtGetSocName") == "Ascend910B1"
    assert api.make("aclrtGetDeviceCount", "count") == 1
    assert not api.acl.runtime.opened
    assert forked(lambda: int(api.aclrtSetDevice(deviceId=0) != 0))[0] == 0
    assert api.aclrtSetDevice(deviceId=0) == 0
    api.acl.close()


def test_a_child_of_a_parent_that_opened_a_device_is_told_at_once() -> None:
    api = Caller(URL)
    assert api.aclrtSetDevice(deviceId=0) == 0
    parent = os.getpid()

    def child() -> int:
        codes = [api.aclrtMalloc(devPtr=Out(), size=64, policy=0), api.aclrtSetDevice(deviceId=0)]
        told = f"forked from {parent}" in api.text and "spawn" in api.text
        return 0 if 0 not in codes and told else 1

    code, seconds = forked(child)
    assert code == 0
    assert seconds < 60
    assert api.aclrtMalloc(devPtr=Out(), size=64, policy=0) == 0  # the parent goes on
    api.acl.close()


def test_a_fork_while_copies_are_under_way_is_warned_of(
    open_machine: OpenMachine, caplog: pytest.LogCaptureFixture
) -> None:
    device = open_machine(URL).device(0)
    with device.create_stream() as stream:
        device.hal.fake.device(0).hold(stream.stream_id)
        stream.fill(device.alloc(64), 1)
        assert forked(lambda: 0)[0] == 0
        device.hal.fake.device(0).release(stream.stream_id)
    assert [record.levelno for record in caplog.records if "fork while" in record.message] == [logging.WARNING]


# -- two libraries that both initialise ----------------------------------------------------------------------------


def test_a_second_initialisation_counts_and_is_no_failure() -> None:
    api = Caller(URL)
    assert (api.aclInit(), api.aclInit()) == (0, 100002)
    count = Out()
    assert (api.aclFinalizeReference(refCount=count), count.value) == (0, 1)
    assert api.aclrtSetDevice(deviceId=0) == 0
    assert (api.aclFinalizeReference(refCount=count), count.value) == (0, 0)
    assert api.aclrtSetDevice(deviceId=0) == 0  # as the vendor's: devices work on after the end
    api.acl.close()


def test_a_second_initialisation_with_another_file_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for file in files:
        file.write_text(json.dumps({}))
    api = Caller(URL)
    codes = [api.aclInit(configPath=str(file)) for file in (files[0], files[0], files[1])]
    assert codes == [0, 100002, 100002]
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert str(files[1]) in warnings[0]
    assert str(files[0]) in warnings[0]
    api.acl.close()


def test_a_configuration_file_that_is_missing_is_named() -> None:
    api = Caller(URL)
    assert api.aclInit(configPath="/nowhere/acl.json") == 100003
    assert "/nowhere/acl.json" in api.text


# -- the end in the wrong order ------------------------------------------------------------------------------------


def test_a_handle_that_outlives_its_device_is_refused_and_nothing_crashes(tmp_path: Path) -> None:
    api = Caller(f"{URL}?kernels=noop")
    file = tmp_path / "add.o"
    file.write_bytes(minimal_kernel("add", 1))
    assert (api.aclInit(), api.aclrtSetDevice(deviceId=0)) == (0, 0)
    binary = api.make("aclrtBinaryLoadFromFile", "binHandle", binPath=str(file))
    stream = api.make("aclrtCreateStream", "stream")
    assert api.aclrtResetDeviceForce(deviceId=0) == 0
    assert api.aclFinalize() == 0
    assert api.aclrtBinaryUnLoad(binHandle=binary) == 0  # the file's, not the device's: it asks for no context
    assert api.aclrtBinaryUnLoad(binHandle=binary) == 107017
    assert api.aclrtSetDevice(deviceId=0) == 0
    assert api.aclrtBinaryUnLoad(binHandle=binary) == 107017
    assert api.aclrtDestroyStream(stream=stream) == 107017
    api.acl.close()


def test_objects_alive_when_the_interpreter_ends_do_no_harm() -> None:
    done = python(
        "import runtime\n"
        "class Holder:\n"
        "    def __init__(self):\n"
        "        self.device = runtime.device(0); self.stream = self.device.create_stream()\n"
        "        self.program = self.device.load(runtime_cli_sample.minimal_kernel('k', 1), name='k')\n"
        "    def __del__(self):\n"
        "        self.program.close(); self.stream.close(); self.device.close()\n"
        "import runtime.cli.sample as runtime_cli_sample\n"
        "holder = Holder()\n",
        NPUHAL_URL=URL,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_closing_after_the_runtime_has_gone_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_the_one", None)
    device = runtime.start(URL).device(0)
    program, stream = device.load(minimal_kernel("k", 1), name="k"), device.create_stream()
    runtime.shutdown(force=True)
    for late in (program, stream, device):
        late.close()  # type: ignore[attr-defined]


# -- a slow first use ----------------------------------------------------------------------------------------------


def test_the_phases_of_a_slow_opening_are_kept_and_the_slow_one_is_named(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    machine, now = open_machine(URL), [0.0]
    machine.clock = lambda: now[0]
    start = FakeDaemon.open

    def slow(self: FakeDaemon, *given: int, **named: int) -> None:
        now[0] += 3.0
        start(self, *given, **named)

    monkeypatch.setattr(FakeDaemon, "open", slow)
    opening = machine.device(0).opening
    assert [phase.name for phase in opening.phases] == [
        "device helper process", "driver", "memory", "first streams and tasks",
    ]  # fmt: skip
    assert (opening.slowest.name, opening.slowest.seconds) == ("device helper process", 3.0)
    assert "device helper process took 3.0 s" in caplog.text
    assert caplog.text.count("took") == 1


def test_a_helper_process_that_does_not_start_is_a_typed_failure(open_machine: OpenMachine) -> None:
    machine = open_machine(URL)
    machine.hal.fake.faults.on_call("TsdOpenEx", 37)
    with pytest.raises(errors.DeviceUnavailable, match="device helper process") as caught:
        machine.set_device(0)
    assert caught.value.code == 507033
    assert "fewer processes at once" in caught.value.hint
    machine.set_device(0)
