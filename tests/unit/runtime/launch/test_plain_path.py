"""A launch that was prepared opens few files, and the documentation names each of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import runtime
from runtime.cli.sample import minimal_kernel
from tests.unit.runtime.machines import OpenMachine

ROOT = Path(runtime.__file__).parents[1]
PAGE = (ROOT / "docs" / "internals" / "launch.md").read_text(encoding="utf-8")
MOST_FILES = 9


@pytest.mark.usefixtures("python_sends")
@pytest.mark.parametrize("url", ["null://ascend910b3", "null://ascend950"])
def test_a_prepared_launch_opens_few_files(url: str, open_machine: OpenMachine) -> None:
    device = open_machine(url).device(0)
    kernel, stream = device.load(minimal_kernel("k", arguments=1)).only, device.create_stream()
    buffer = device.alloc(64)
    opened: set[str] = set()

    def enter(frame: FrameType, _event: str, _argument: Any) -> None:
        opened.add(frame.f_code.co_filename.strip("<>").partition(":")[0].removeprefix(f"{ROOT}/"))

    for _ in range(2):
        opened.clear()
        before = sys.gettrace()
        sys.settrace(enter)
        try:
            kernel[8](buffer, stream=stream)
        finally:
            sys.settrace(before)
    ours = {name for name in opened if name.startswith("runtime/")}
    assert 3 <= len(ours) <= MOST_FILES
    assert {name for name in ours if f"`{name}`" not in PAGE} == set()
