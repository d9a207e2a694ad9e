"""Programs in C on a libascend_hal.so made of the fake."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from chips import find_chip
from chips.registry import plugin
from tests.shim.conftest import Run

CHIPS = ("ascend910b3", "ascend950")


def entry(soc: str, reported: bool = True) -> str:
    """An entry that does nothing, as hexadecimal text."""
    layouts = plugin(find_chip(soc)).layouts
    return bytes(layouts["nop"].encode(wr_cqe=int(reported))).ljust(64, b"\0").hex()


@pytest.mark.parametrize("soc", CHIPS)
def test_a_program_copies_sends_and_reads_completions(run_driver: Run, soc: str) -> None:
    assert run_driver(f"fake://{soc}?devices=2", "basic", entry(soc), entry(soc, reported=False)).stdout.splitlines() == [
        "cards 2, process mine", "copied from the program; pinned from the program", "batch one two", "large equal",
        "bad source 1", "position 0 1, tail 2", "head 2, reports 2", "wrapped", "send to a freed queue fails 1",
    ]  # fmt: skip


@pytest.mark.parametrize("options", ["", "?free_run=1", "?policy=random&seed=3", "?check=all"])
def test_eight_threads(run_driver: Run, options: str) -> None:
    done = run_driver(f"fake://ascend910b3{options}", "threads", "", entry("ascend910b3", reported=False))
    assert done.stdout == "threads done\n"


@pytest.mark.parametrize("options", ["", "?free_run=1"])
def test_a_thread_waits_for_what_another_one_sends(run_driver: Run, options: str) -> None:
    assert run_driver(f"fake://ascend910b3{options}", "waits", entry("ascend910b3")).stdout == "heard 1\n"


def test_memory_of_the_program_can_be_registered(run_driver: Run) -> None:
    assert run_driver("fake://ascend910b3", "registered").stdout == "registered 0 7 7\n"


def test_a_child_works_until_a_card_is_open(run_driver: Run) -> None:
    done = run_driver("fake://ascend910b3", "forks")
    assert done.stdout.splitlines() == [
        "child before the open: 0", "child after the open: 2", "other children: -1"
    ]
    assert "was forked from" in done.stderr


def test_reports_come_at_exit(run_driver: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    url, sqe = "fake://ascend910b3?check=leak", entry("ascend910b3")
    done = run_driver(url, "leaves", sqe, NPUHAL_SHIM_REPORT=str(report))
    assert "leak: device 0 is closed with queues in use" in done.stderr
    found = json.loads(report.read_text())
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


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"NPUHAL_URL": "fake://nothing"}, "nothing"),
        ({"NPUHAL_URL": "hal://"}, "needs fake://"),
        ({"NPUHAL_URL": "fake://ascend950"}, "write it again by `npuhal shim driver"),
        ({"NPUHAL_PYTHON": "/nowhere/python"}, "/nowhere/python is not there"),
        ({"NPUHAL_PYTHON": "/bin/false"}, "the server ended before it was ready"),
        ({"NPUHAL_SHIM_SETUP": "nothing"}, "not of the form module:function"),
        ({"NPUHAL_SHIM_SETUP": "nothing_here:function"}, "nothing_here"),
    ],
)
def test_a_program_without_its_fake_ends_with_a_sentence(
    run_driver: Run, variables: dict[str, str], said: str
) -> None:
    done = run_driver("fake://ascend910b3", "basic", status=-signal.SIGABRT, **variables)
    assert done.stdout == ""
    assert said in done.stderr
    assert "the program cannot go on without its fake" in done.stderr


def test_only_what_is_modelled_is_exported(driver: Callable[[str], Path]) -> None:
    text = (driver("ascend910b3") / "libascend_hal.so").read_bytes()
    assert b"halSqTaskSend\0" in text
    assert b"halShmemOpenHandleV2\0" not in text
    assert b"halMemManagedAdvise\0" in text
    assert b"halMemManagedAdvise\0" not in (driver("ascend950") / "libascend_hal.so").read_bytes()
