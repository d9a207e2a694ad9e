"""What checkers say of torch programs, in a process per program because they say it at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFETCH = """
import torch
side = torch.npu.Stream()
batches = [torch.full((256,), float(n)).pin_memory() for n in range(3)]
total = torch.zeros(256, device="npu")
torch.npu.synchronize()
for batch in batches:
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.current_stream())
        here = batch.to("npu", non_blocking=True)
    {wait}
    total = total + here
    {record}
print("sum", total.sum().item())
"""
REUSED = """
import torch
side = torch.npu.Stream()
first = torch.ones(1 << 20, device="npu")
torch.npu.synchronize()
side.wait_stream(torch.npu.current_stream())
with torch.npu.stream(side):
    second = first + 1
{record}
del first
third = torch.zeros(1 << 20, device="npu")
torch.npu.synchronize()
"""
OVERWRITTEN = """
import torch
source = torch.ones(1 << 12).pin_memory()
there = source.to("npu", non_blocking=True)
source.zero_()
torch.npu.synchronize()
"""
FREED = """
import ctypes
import torch
first = torch.ones(1 << 23, device="npu")
torch.npu.synchronize()
second = first + 1
assert ctypes.CDLL("libascendcl.so").aclrtFree(ctypes.c_void_p(first.data_ptr())) == 0
"""
STALE = """
import torch
graph, inputs = torch.npu.NPUGraph(), torch.ones(8, device="npu")
torch.npu.synchronize()
with torch.npu.graph(graph):
    doubled = inputs * 2
graph.replay()
torch.npu.synchronize()
{give_up}
torch.npu.empty_cache()
graph.replay()
try:
    torch.npu.synchronize()
except RuntimeError as problem:
    print("failed", problem)
"""


def run(text: str, tmp_path: Path, status: int, **variables: str) -> str:
    """Run a program under `npuhal run --torch`; returns all that it prints."""
    script = tmp_path / "program.py"
    script.write_text(text)
    command = [
        sys.executable,
        "-m",
        "npuhal",
        "run",
        "--torch",
        "--url",
        "fake://ascend910b3?check=race,uaf,source,stale",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run([*command, str(script)], env=environment, capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_prefetch_that_is_waited_for_is_right(tmp_path: Path) -> None:
    wait = "torch.npu.current_stream().wait_stream(side)"
    record = "here.record_stream(torch.npu.current_stream())"
    assert "sum 768.0" in run(PREFETCH.format(wait=wait, record=record), tmp_path, 0)


def test_a_prefetch_without_a_wait_is_reported_with_tensor_stream_and_both_lines(tmp_path: Path) -> None:
    said = run(PREFETCH.format(wait="", record=""), tmp_path, 86)
    for part in ("race:", "float32[256]", "torch's default stream", "torch.npu.Stream", "program.py:10"):
        assert part in said
    assert "program.py:12" in said


def test_record_stream_is_suggested_where_it_is_the_cure_and_cures(tmp_path: Path) -> None:
    said = run(REUSED.format(record=""), tmp_path, 86)
    for part in ("race:", "float32[1048576]", "record_stream", "program.py:10", "program.py:11"):
        assert part in said
    run(REUSED.format(record="first.record_stream(side)"), tmp_path, 0)


def test_a_pinned_source_that_is_overwritten_in_flight_is_reported(tmp_path: Path) -> None:
    said = run(OVERWRITTEN, tmp_path, 86)
    assert "source:" in said
    assert "program.py:4" in said


def test_memory_that_is_freed_under_a_task_is_reported_with_the_tensor_that_was_there(tmp_path: Path) -> None:
    said = run(FREED, tmp_path, 86)
    for part in ("uaf:", "tensor float32[8388608]", "torch's default stream", "program.py:6", "program.py:7"):
        assert part in said


def test_a_graph_that_outlives_a_tensor_is_reported_with_operator_and_lines(tmp_path: Path) -> None:
    said = run(STALE.format(give_up="del inputs"), tmp_path, 86)
    for part in ("failed", "507011", "stale:", "self float32[8] of aclnnMuls", "program.py:6", "program.py:10"):
        assert part in said
    assert "failed" not in run(STALE.format(give_up=""), tmp_path, 0)


@pytest.mark.parametrize("queue", ["0", "1", "2"])
def test_operators_that_are_not_there_never_end_in_wrong_data(tmp_path: Path, queue: str) -> None:
    text = """
import torch
x = torch.ones(2, 3, 4, device="npu")
uses = [lambda y: y.cpu(), lambda y: y.sum().item(), lambda y: torch.npu.synchronize(), lambda y: y.tolist()]
for use in uses:
    try:
        print("got", use(torch.batch_norm_stats(x + 1, 1e-5)[0]))
    except RuntimeError as problem:
        print("failed", problem)
"""
    said = run(text, tmp_path, 0, TASK_QUEUE_ENABLE=queue)
    assert "got" not in said
    assert sum(line.startswith("failed ") for line in said.splitlines()) == 4
    assert "aclnnBatchNormStats" in said
