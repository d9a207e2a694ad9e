"""Our own runtime on a libascend_hal.so made of the fake: it must answer as on the fake itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools.differential.__main__ import Side, difference
from tests.tools.differential.programs import generate


@pytest.mark.parametrize(
    ("soc", "options"),
    [("ascend910b3", ""), ("ascend910b3", "&args=bar"), ("ascend950", "&args=ub&policy=random&seed=3")],
)
def test_the_library_answers_as_the_fake_does(
    driver: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, soc: str, options: str
) -> None:
    url = f"fake://{soc}?devices=2{options}"
    monkeypatch.setenv("NPUHAL_SHIM_URL", url)
    direct, through = Side(url, None), Side(f"hal://{driver(soc)}/libascend_hal.so", None)
    try:
        for number in range(6):
            program = generate(f"own/{number}", 40)
            assert difference(direct.run(program), through.run(program)) is None, program
    finally:
        direct.close()
        through.close()


@pytest.mark.parametrize(("file", "soc"), [("910B.jsonl.gz", "ascend910b3"), ("950.jsonl.gz", "ascend950")])
def test_recorded_answers_come_through_the_library(driver: Callable[[str], Path], file: str, soc: str) -> None:
    recorded = Path(__file__).parents[1] / "golden" / "data" / "hal_answers" / file
    url = f"hal://{driver(soc)}/libascend_hal.so"
    command = [sys.executable, "-m", "tests.tools.hal_answers", "--quiet", "--url", url, str(recorded)]
    environment = {**os.environ, "NPUHAL_SHIM_URL": f"fake://{soc}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
