"""The log variables: what they select, where lines go, and that nothing is written unasked."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.core.diagnostics.logs import LogSettings, configure

PROGRAM = """
import runtime
from fakes.faults import Effect
device = runtime.device(0)
device.hal.fake.faults.on_task(Effect.EXCEPTION)
stream = device.create_stream()
try:
    stream.record(device.create_event())
    stream.synchronize()
except runtime.RuntimeFault:
    pass
"""


def run(program: str = PROGRAM, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_")}
    environ |= {"NPUHAL_URL": "fake://ascend910b3", **variables}
    return subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=250,
                          check=True)  # fmt: skip


def test_nothing_is_written_unasked() -> None:
    done = run()
    assert (done.stdout, done.stderr) == ("", "")


def test_level_and_stdout_are_heeded() -> None:
    done = run(ASCEND_GLOBAL_LOG_LEVEL="1", ASCEND_LOG_PRINT_TO_STDOUT="1")
    assert done.stderr == ""
    assert "[ERROR] npuhal.fake" in done.stdout
    assert "task 0: " in done.stdout  # each task by its phases
    done = run(ASCEND_GLOBAL_LOG_LEVEL="3", ASCEND_LOG_PRINT_TO_STDOUT="1")
    assert "[ERROR] npuhal.fake" in done.stdout
    assert "[INFO]" not in done.stdout


def test_a_reader_who_leaves_early_gets_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environ = {**os.environ, "ASCEND_LOG_PRINT_TO_STDOUT": "1", "NPUHAL_URL": "fake://ascend910b3"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=250,
        check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.stderr == ""


def test_files_go_where_the_variable_says(tmp_path: Path) -> None:
    done = run(ASCEND_PROCESS_LOG_PATH=str(tmp_path))
    assert done.stdout == done.stderr == ""
    (file,) = (tmp_path / "debug" / "plog").iterdir()
    assert file.name.startswith("plog-")
    assert "[ERROR] npuhal.fake" in file.read_text()


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {"wanted": False, "level": 3, "launches": False, "files": 10, "events": True}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "1"}, {"wanted": True, "level": 1, "launches": True}),
        ({"ASCEND_GLOBAL_LOG_LEVEL": "7"}, {"wanted": True, "level": 3, "launches": False}),
        ({"ASCEND_MODULE_LOG_LEVEL": "RUNTIME=0:HCCL=4"}, {"modules": {"RUNTIME": 0, "HCCL": 4}, "launches": True}),
        ({"ASCEND_MODULE_LOG_LEVEL": "RUNTIME=0:HCCL=9"}, {"modules": {}, "launches": False}),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}, {"stdout": True}),
        ({"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_LOG_PRINT_TO_STDOUT": "0"}, {"stdout": False}),
        ({"ASCEND_PROCESS_LOG_PATH": "/a", "ASCEND_WORK_PATH": "/b"}, {"folder": "/a"}),
        ({"ASCEND_WORK_PATH": "/b", "HOME": "/c"}, {"folder": "/b/log"}),
        ({"HOME": "/c"}, {"folder": "/c/ascend/log"}),
        ({"ASCEND_HOST_LOG_FILE_NUM": "1001"}, {"files": 10}),
        ({"ASCEND_HOST_LOG_FILE_NUM": "3", "ASCEND_GLOBAL_EVENT_ENABLE": "0"}, {"files": 3, "events": False}),
    ],
)
def test_the_variables_are_read_as_documented(environ: dict[str, str], expected: dict[str, object]) -> None:
    settings = LogSettings.read(environ)
    assert {name: getattr(settings, name) for name in expected} == expected


def test_levels_are_those_of_logging() -> None:
    configure({})
    assert logging.getLevelName("EVENT") > logging.CRITICAL


LIVES = """
import runtime
with runtime.device(0).create_stream(priority=1):
    pass
runtime.device(0).close()
"""


def test_lives_of_devices_and_streams_are_told_whatever_the_level() -> None:
    done = run(ASCEND_GLOBAL_LOG_LEVEL="4", ASCEND_LOG_PRINT_TO_STDOUT="1", program=LIVES)
    told = [line.split(" ", 2)[2] for line in done.stdout.splitlines() if line.startswith("[EVENT] ")]
    number = told[1].split()[1]
    assert told[0].startswith("device 0 opened: Ascend910B3, driver's number ")
    assert told[1:] == [
        f"stream {number} of device 0 created: priority 1, flags 0x0", f"stream {number} of device 0 destroyed",
        "device 0 closed",
    ]  # fmt: skip


def test_lives_can_be_left_out() -> None:
    done = run(ASCEND_GLOBAL_EVENT_ENABLE="0", ASCEND_LOG_PRINT_TO_STDOUT="1", program=LIVES)
    assert done.stdout == ""


OPEN = """
import runtime
device = runtime.device(0)
streams = [device.create_stream() for _ in range(2)]
device.create_stream().close()
buffer = device.alloc(4096)
"""


def test_what_is_left_open_is_told_at_the_exit_where_that_is_asked_for() -> None:
    assert run(program=OPEN).stderr == ""
    told = run(program=OPEN, NPUHAL_TRACE_CREATION="1").stderr.splitlines()
    assert told[0] == "npuhal: left open on device 0 at exit:"
    assert told[1] == "  streams: 2, made at <string>:4 (2)"
    assert told[2].startswith("  device memory: ")
    assert "in 1 block, most at <string>:6 (" in told[2]
    assert len(told) == 3
