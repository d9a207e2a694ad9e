"""The whole program that the README begins with: two streams, overlapping copies, in less than 25 lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 24


def test_overview(tmp_path: Path) -> None:
    found = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    program = found[1]
    assert len([line for line in program.splitlines() if line.strip()]) <= MOST_LINES
    assert "check=all" in program  # a missing event would be found
    script = tmp_path / "overview.py"
    script.write_text(program, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=250, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[3073. 3074. 3075. 3076.] after ")
    broken = program.replace("        work.wait(copies.record(device.create_event()))\n", "")
    assert broken != program
    script.write_text(broken, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=250, check=False,
    )
    print(done.stdout, done.stderr)
    assert "wait for it" in done.stdout + done.stderr
