"""Every kernel of every device binary in the corpus is loaded and launched; a function stands for its code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chips import find_chip
from runtime.api import Runtime
from runtime.launch.program import Program
from tests.tools.corpus import corpus

SOCS = ("ascend910b1", "ascend910_9391", "ascend950pr_9599")


_WITHOUT_A_FAKE = frozenset({1, 4})
"""Chips without STARS (910A, 310P): files for them load anywhere, and run on 910B here."""


def test_every_file_belongs_to_a_chip_that_it_is_run_on() -> None:
    lines = corpus("elfs/expected.jsonl").read_text().splitlines()
    ran_on = {find_chip(soc).chip_value for soc in SOCS} | _WITHOUT_A_FAKE
    assert {row["file"] for row in map(json.loads, lines) if row["chip"] in ran_on} == {
        path.name for path in corpus("elfs").glob("*.o")
    }


@pytest.mark.parametrize("soc", SOCS)
def test_every_kernel_runs(soc: str) -> None:
    machine = Runtime(f"fake://{soc}?seed=1")
    device = machine.device(0)
    ran: list[tuple[int, int]] = []
    launched = 0
    try:
        stream = device.create_stream()
        buffer = device.alloc(4096)
        for line in corpus("elfs/expected.jsonl").read_text().splitlines():
            row = json.loads(line)
            chips = {device.chip.chip_value} | (_WITHOUT_A_FAKE if soc == SOCS[0] else frozenset())
            if row["chip"] not in chips:
                continue
            assert row["kernels"], row["file"]
            with device.load(corpus("elfs") / row["file"], allow_foreign=True) as program:
                for name in program:
                    kernel = program.kernel(name)
                    device.hal.fake.attach(kernel.code, _noting(ran), name=name, grid=True)
                    given = [buffer] * (3 if kernel.argument_count is None else kernel.argument_count)
                    stream.launch(kernel, 2, *given)
                    launched += 1
                stream.synchronize()
    finally:
        machine.close(force=True)
    assert launched > 0
    assert ran == [(2, 0)] * launched


def _noting(ran: list[tuple[int, int]]) -> Any:
    return lambda context: ran.append((context.blocks, context.device))


def test_programs_out_of_host_files_run() -> None:
    machine = Runtime("fake://ascend910b1?seed=1&kernels=noop")
    found: dict[str, int] = {}
    try:
        device = machine.device(0)
        stream = device.create_stream()
        for path in sorted([*corpus("elfs/fat").glob("*.so"), *corpus("elfs/fat").glob("*.o")]):
            found[path.name] = 0
            for program in Program.embedded(device, path, allow_foreign=True):
                with program:
                    for name in program:
                        stream.launch(program.kernel(name), 1, *[0] * (program.kernel(name).argument_count or 0))
                        found[path.name] += 1
                    stream.synchronize()
    finally:
        machine.close(force=True)
    assert found
    assert all(found.values()), found
