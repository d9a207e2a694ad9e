"""The trace page in a headless browser: it draws its bars and arrows, without network. Run by `make test-browser`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.trace import tracing

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser() -> str:
    """The browser that BROWSER names, or the first one found."""
    found = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: install one of {', '.join(BROWSERS)}, or name one in BROWSER")
    return found


@pytest.mark.soak
def test_the_page_draws_itself(tmp_path: Path) -> None:
    program = browser()
    machine = Runtime("fake://ascend910b3")
    device = machine.device(0)
    with tracing(tmp_path / "t.html", runtime=machine) as trace:
        one, two = device.create_stream(), device.create_stream()
        kernel, buffer = device.load(minimal_kernel("k", 1)).only, device.alloc(64)
        device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
        kernel[8](buffer, stream=one)
        event = device.create_event()
        one.record(event)
        two.wait(event)
        two.synchronize()
    machine.close(force=True)
    shown = subprocess.run(
        [program, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom",
         (tmp_path / "t.html").as_uri()], capture_output=True, text=True, timeout=100, check=True,
    ).stdout  # fmt: skip
    drawn = re.search(r'data-drawn="(\d+) bars, (\d+) arrows"', shown)
    assert drawn is not None
    assert int(drawn[1]) > len(trace.result.tasks)
    assert int(drawn[2]) == len(trace.result.edges) == 1
    assert all(line.split(";")[0] in shown for line in trace.verdict())
