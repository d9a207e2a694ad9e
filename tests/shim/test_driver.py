"""Programs in C on a libascend_hal.so made of the fake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import npuhal
from chips import find_chip
from chips.registry import plugin
from npuhal import compiler, replay, trace
from npuhal import constants as c
from npuhal.records import replace
from tests.shim.conftest import HERE, Run

CHIPS = ("ascend910b3", "ascend950")


def entry(soc: str, reported: bool = True) -> str:
    """An entry that does nothing, as hexadecimal text."""
    layouts = plugin(find_chip(soc)).layouts
    return bytes(layouts["nop"].encode(wr_cqe=int(reported))).ljust(64, b"\0").hex()


@pytest.mark.parametrize("soc", CHIPS)
def test_a_program_copies_sends_and_reads_completions(run_driver: Run, soc: str) -> None:
    done = run_driver(f"fake://{soc}?devices=2", "basic", entry(soc), entry(soc, reported=False))
    assert done.stdout.splitlines() == [
        "cards 2, process mine", "copied from the program; pinned from the program", "batch one two", "large equal",
        "bad source 1", "position 0 1, tail 2", "head 2, reports 2", "wrapped", "send to a freed queue fails 1",
    ]  # fmt: skip


@pytest.mark.parametrize("options", ["", "?free_run=1", "?policy=random&seed=3", "?check=all"])
def test_eight_threads(run_driver: Run, options: str) -> None:
    done = run_driver(f"fake://ascend910b3{options}", "threads", "", entry("ascend910b3", reported=False))
    assert done.stdout == "threads done\n"


@pytest.mark.parametrize("mode", ["waits", "waits late"])
@pytest.mark.parametrize("options", ["", "?free_run=1"])
def test_a_thread_waits_for_what_another_one_sends(run_driver: Run, options: str, mode: str) -> None:
    assert run_driver(f"fake://ascend910b3{options}", mode, entry("ascend910b3")).stdout == "heard 1\n"


def test_memory_of_the_program_can_be_registered(run_driver: Run) -> None:
    assert run_driver("fake://ascend910b3", "registered").stdout == "registered 0 7 7\n"


def test_pinned_memory_comes_and_goes(run_driver: Run) -> None:
    assert run_driver("fake://ascend910b3", "pinned").stdout == "1111 live 0 wrong 0\n"


def test_a_child_works_until_a_card_is_open(run_driver: Run) -> None:
    done = run_driver("fake://ascend910b3", "forks")
    assert done.stdout.splitlines() == ["child before the open: 0", "child after the open: 2", "other children: -1"]
    assert "was forked from" in done.stderr


def test_reports_come_at_exit(run_driver: Run, tmp_path: Path) -> None:
    url, sqe = "fake://ascend910b3?check=leak", entry("ascend910b3")
    done = run_driver(url, "leaves", sqe, NPUHAL_SHIM_REPORT=str(tmp_path / "report-%p.json"))
    assert done.stderr.count("leak: device 0 is closed with queues in use") == 1
    (report,) = tmp_path.iterdir()
    found = json.loads(report.read_text())
    assert report.name == f"report-{found['pid']}.json"
    assert [each["check"] for each in found["reports"]] == ["leak", "leak"]
    assert found["ended"] == "exit"
    assert run_driver(url, "leaves", sqe, status=1, NPUHAL_SHIM_STRICT="1").stderr == done.stderr


def test_reports_survive_a_crash(run_driver: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    url = "fake://ascend910b3?check=all"
    run_driver(url, "crashes", entry("ascend910b3"), status=-signal.SIGABRT, NPUHAL_SHIM_REPORT=str(report))
    for _ in range(1000):
        if report.exists() and report.read_text().endswith("}\n"):
            break
        signal.sigtimedwait([], 0.01)
    assert json.loads(report.read_text())["ended"] == "killed"


@pytest.mark.parametrize("options", ["?check=leak", "?free_run=1&check=leak"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_every_call_fails_when_the_server_ends(
    run_driver: Run, folder: Path, tmp_path: Path, number: signal.Signals, options: str
) -> None:
    url, report, process = f"fake://ascend910b3{options}", tmp_path / "report.json", tmp_path / "process"
    run_driver(url, "nothing")
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(folder / "ascend910b3"), "NPUHAL_URL": url,
        "NPUHAL_SHIM_SETUP": "kernels_of_a_program:tell_process", "PYTHONPATH": str(HERE),
        "SERVER_PROCESS": str(process), "NPUHAL_SHIM_REPORT": str(report), "NPUHAL_SHIM_STRICT": "1",
    }  # fmt: skip
    program = subprocess.Popen(
        [folder / "driver", "loses", entry("ascend910b3"), entry("ascend910b3", reported=False)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout is not None
    assert program.stdout.readline() == "works\n"
    os.kill(int(process.read_text()), number)
    out, told = program.communicate(timeout=60)
    down = c.DRV_ERROR_BUS_DOWN
    answers = f"calls answer {down}, the one that waited {down}, later ones {down} {down}"
    assert out.splitlines() == [answers, "in time 1 1"]
    assert told.count("the server of the fake") == 1
    assert ("Fatal Python error" in told) == (number == signal.SIGSEGV)
    assert program.returncode == 1, "nobody has looked at the program to its end"
    found = json.loads(report.read_text())
    assert (found["ended"], [each["check"] for each in found["reports"]]) == ("running", ["leak", "leak"])


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"NPUHAL_URL": "fake://nothing"}, "nothing"),
        ({"NPUHAL_URL": "hal://"}, "needs fake://"),
        ({"NPUHAL_URL": "fake://ascend950"}, "write it again by `npuhal shim driver"),
        ({"NPUHAL_PYTHON": "/nowhere/python"}, "/nowhere/python is not there"),
        ({"NPUHAL_PYTHON": "/bin/false"}, "the server ended before it was ready"),
        ({"NPUHAL_SHIM_SETUP": "nothing_here:function"}, "nothing_here"),
        ({"NPUHAL_SHIM_STRICT": "no"}, "neither 0 nor 1"),
        ({"NPUHAL_SHIM_REPORT": "/nowhere/report.json"}, "its folder is not there"),
    ],
)
def test_a_program_without_its_fake_ends_with_a_sentence(run_driver: Run, variables: dict[str, str], said: str) -> None:
    done = run_driver("fake://ascend910b3", "basic", status=-signal.SIGABRT, **variables)
    assert done.stdout == ""
    assert said in done.stderr


def test_the_server_is_that_of_the_folder_that_is_named(run_driver: Run, tmp_path: Path) -> None:
    root = tmp_path / "it's here"
    (root / "npuhal").mkdir(parents=True)
    (root / "npuhal" / "__init__.py").touch()
    (root / "npuhal" / "command.py").write_text("import sys\ndef main(): print(sys.argv[1:3], file=sys.stderr)\n")
    done = run_driver("fake://ascend910b3", "basic", status=-signal.SIGABRT, NPUHAL_ROOT=str(root))
    assert "['serve', '--wire']" in done.stderr
    assert "the program cannot go on without its fake" in done.stderr


def test_only_what_is_modelled_is_exported(driver: Callable[[str], Path]) -> None:
    text = (driver("ascend910b3") / "libascend_hal.so").read_bytes()
    assert b"halSqTaskSend\0" in text
    assert b"halShmemOpenHandleV2\0" not in text
    assert b"halMemManagedAdvise\0" in text
    assert b"halMemManagedAdvise\0" not in (driver("ascend950") / "libascend_hal.so").read_bytes()


@pytest.fixture
def run_python(driver: Callable[[str], Path]) -> Run:
    """Run a Python program of this folder on a machine: run_python(url, file, words..., **environment)."""

    def run(url: str, file: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(driver("ascend910b3")), "NPUHAL_URL": url, **variables}
        done = subprocess.run(
            [sys.executable, str(HERE / file), *words], env=environment, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.mark.parametrize("lock", ["locked", "free"])
def test_reports_name_the_line_the_stream_and_the_range(run_python: Run, tmp_path: Path, lock: str) -> None:
    layout = plugin(find_chip("ascend910b3")).layouts["sdma"]
    names = tmp_path / "names"
    done = run_python(
        "fake://ascend910b3?check=race", "program.py", lock, bytes(layout.encode(length=4096)).hex(), str(names),
        NPUHAL_SHIM_NAMES=str(names),
    )  # fmt: skip
    assert "race: bytes" in done.stderr
    assert "'prefetch' of device 0" in done.stderr
    assert "'weights' at" in done.stderr
    if lock == "locked" or sys.version_info[:2] in ((3, 11), (3, 12)):
        lines = (HERE / "program_parts.py").read_text().splitlines()
        number = next(number for number, line in enumerate(lines, 1) if "halSqTaskSend" in line)
        assert done.stderr.count(f"submitted at {HERE / 'program_parts.py'}:{number})") >= 2


@pytest.mark.parametrize(
    ("options", "sources"), [("check=race,source", 1), ("check=race", 0), ("check=race&free_run=1", 0)]
)
def test_sends_that_are_posted_are_checked_as_others(run_python: Run, options: str, sources: int) -> None:
    layouts = plugin(find_chip("ascend910b3")).layouts
    copy = layouts["sdma"].encode(length=4096)
    entries = [
        bytes(each).ljust(64, b"\0").hex()
        for each in (layouts["nop"].encode(), copy, layouts["notify_wait"].encode(), layouts["notify_record"].encode())
    ]
    done = run_python(f"fake://ascend910b3?{options}", "posts.py", "locked", *entries)
    assert done.stdout == "True True\n"
    assert (done.stderr.count("source: the source of copy"), done.stderr.count("race: bytes")) == (sources, 1)
    for file in ("program_parts.py", "posts.py"):
        lines = (HERE / file).read_text().splitlines()
        number = next(number for number, line in enumerate(lines, 1) if "halSqTaskSend(0, " in line)
        assert f"submitted at {HERE / file}:{number})" in done.stderr


def test_attached_functions_work_and_fail(run_python: Run, tmp_path: Path) -> None:
    layout = plugin(find_chip("ascend910b3")).layouts["kernel_aiv"]
    report = tmp_path / "report.json"
    done = run_python(
        "fake://ascend910b3", "launch.py", "free", bytes(layout.encode(block_dim=1, args_size=8)).hex(),
        NPUHAL_SHIM_SETUP="kernels_of_a_program:attach", PYTHONPATH=str(HERE), NPUHAL_SHIM_REPORT=str(report),
    )  # fmt: skip
    assert done.stdout == "True True False\n"
    assert "ZeroDivisionError: this kernel cannot count" in done.stderr
    assert "in broken" in done.stderr, "where it broke"
    assert any("cannot count" in problem for problem in json.loads(report.read_text())["problems"])


def test_a_trace_is_a_recording(run_driver: Run, tmp_path: Path) -> None:
    one, two, three = (tmp_path / f"{number}.jsonl" for number in range(3))
    for path in (one, two):
        run_driver("fake://ascend910b3", "registered", NPUHAL_SHIM_TRACE=str(path))
    assert replay.diff(trace.load(one), trace.load(two)) is None
    hal = npuhal.open_hal("fake://ascend910b3")
    outcome = replay.replay(trace.load(one), hal)
    hal.close()
    assert (outcome.replayed, outcome.skipped, outcome.divergence) == (8, [], None)
    quiet = entry("ascend910b3", reported=False)
    run_driver("fake://ascend910b3", "basic", entry("ascend910b3"), quiet, NPUHAL_SHIM_TRACE=str(three))
    first = trace.load(three)
    assert first[0].name == "drvGetDevNum"
    assert first[0].after == {"num_dev": 1}
    batch = next(record for record in first if record.name == "halMemcpyBatch")
    assert batch.before["size"] == [8, 8]
    send = next(record for record in first if record.name == "halSqTaskSend")
    assert send.payload == entry("ascend910b3")
    other = tmp_path / "other"
    run_driver("fake://ascend910b3?seed=7", "basic", entry("ascend910b3"), quiet, NPUHAL_SHIM_TRACE=str(other))
    second = trace.load(other)
    assert second[1].rc != first[1].rc, "the id of the process"
    assert replay.diff(first, second) is None, "ids and addresses of another machine, each in the place of the other's"
    number = second.index(next(record for record in second if record.name == "halSqTaskSend"))
    wrong = replace(second[number], payload=second[number].payload[:16] + "1" * 112)
    found = replay.diff(first, [*second[:number], wrong, *second[number + 1 :]])
    assert found is not None
    assert (found.index, found.what) == (number, "payload")
    copied = next(record for record in first if record.name == "drvMemcpy")
    assert trace.unpack_bytes(copied.before["src"]).startswith(b"from the program\0")


def test_a_caller_may_hold_the_lock_of_its_interpreter(
    run_python: Run, folder: Path, driver: Callable[[str], Path]
) -> None:
    source, library = folder / "held.c", folder / "libheld.so"
    source.write_text(HELD)
    command = [compiler.compiler(), "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run([*command, f"-L{driver('ascend910b3')}", "-lascend_hal", "-lpthread"], check=True)
    for url in ("fake://ascend910b3?devices=3", "fake://ascend910b3?devices=3&check=all"):
        done = run_python(url, "held.py", str(library))
        assert done.stdout == "3 0\n"


HELD = """
#include <pthread.h>
#include <stdint.h>
int drvGetDevNum(uint32_t *);
static void *ask(void *count) { drvGetDevNum(count); return 0; }
int ask_in_a_thread(void) {
    uint32_t count = 0;
    pthread_t thread;
    pthread_create(&thread, 0, ask, &count);
    pthread_join(thread, 0);
    return count;
}
"""
