"""Every kernel of every device binary in the corpus is loaded and launched; a function stands for its code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.api import Runtime
from runtime.launch.program import Program
from tests.tools.corpus import corpus


@pytest.mark.parametrize("soc", ["ascend910b1", "ascend910_9391", "ascend950pr_9599"])
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
            if row["chip"] != device.chip.chip_value or row["register"] or not row["load_size"]:
                continue
            with device.load(corpus("elfs") / row["file"]) as program:
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
            for program in Program.embedded(device, path):
                with program:
                    for name in program:
                        stream.launch(program.kernel(name), 1, *[0] * (program.kernel(name).argument_count or 0))
                        found[path.name] += 1
                    stream.synchronize()
    finally:
        machine.close(force=True)
    assert found
    assert all(found.values()), found
