"""Recorded API sequences: our API sends the same entries on the same queues; skipped where they are absent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools import hal_calls
from tests.tools.api_sends.__main__ import replay
from tests.tools.corpus import corpus


@pytest.mark.parametrize("chip", ["910B1", "950", "950_ub"])
def test_same_entries(chip: str) -> None:
    matched, compared, findings, absent = replay(corpus(f"golden/api_{chip}.json"))
    assert findings == absent == []
    assert matched == compared == 98


def test_same_entries_on_a_chip_without_a_recycle_thread() -> None:
    matched, compared, findings, absent = replay(corpus("golden/api_310B.json"))
    assert findings == absent == []
    assert matched == compared == 94


def test_what_a_chip_has_not_is_told_apart() -> None:
    matched, compared, findings, absent = replay(corpus("golden/api_arch5162.json"))
    assert (matched, compared, len(absent)) == (84, 85, 9)
    assert "rtProfilerTraceEx: Ascend5162A has no task" in absent[0]
    assert "rtModelCreate: refused with 207000" in absent[1]
    assert ["rtStreamDestroy" in line for line in findings] == [True]  # the recorded stream was idle after its models


@pytest.mark.parametrize("chip", ["910B1", "950"])
def test_a_changed_entry_is_found(chip: str, tmp_path: Path) -> None:
    steps = json.loads(corpus(f"golden/api_{chip}.json").read_text())
    launches = [step for step in steps if step["api"] == "rtKernelLaunch"]
    entry = bytearray.fromhex(launches[1]["sends"][0]["sqe_hex"][0])
    entry[2] ^= 1  # the block dimension, on both generations
    launches[1]["sends"][0]["sqe_hex"] = [entry.hex()]
    changed = tmp_path / f"api_{chip}.json"
    changed.write_text(json.dumps(steps))
    matched, compared, findings, _ = replay(changed)
    assert matched == compared - 1
    assert "block_dim" in findings[0]


LAUNCH = {
    "910B1": ["DIFFERENT", "halMemcpySumbit", "halMemcpySumbit", "halMemcpyWait", "halSqTaskSend", "halSqTaskSend"],
    "950": ["same", *["drvMemcpy"] * 2, *["halSqTaskSend"] * 2],
}
"""Calls of a launch with arguments, the recorded ones beside ours, as the tool prints them."""


@pytest.mark.parametrize("chip", ["910B1", "950"])
def test_queues_memory_and_sends_in_the_same_order(chip: str, capsys: pytest.CaptureFixture[str]) -> None:
    same = {
        "rtStreamCreate", "rtStreamCreate#2", "rtMalloc", "rtMallocHost", "rtMemcpy H2D sync", "rtMemset",
        "rtEventRecord", "rtStreamWaitEvent", "rtNotifyCreate", "rtNotifyRecord", "rtFree",
    }  # fmt: skip
    hal_calls.main([str(corpus(f"golden/traces/api_trace_{chip}.log.gz"))])
    printed = capsys.readouterr().out
    assert {step for step in same if f"{chip} {step}: same" in printed} == same
    # docs/differences.md: one call brings arguments over a DMA chain and waits.
    launch = printed.partition(f"{chip} rtKernelLaunch (2nd): ")[2].partition(chip)[0].split()
    assert launch == LAUNCH[chip]
