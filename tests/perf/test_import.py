"""What `import runtime` costs: the surface is loaded with its first name, so the import itself stays small."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.pace import slowness

pytestmark = pytest.mark.perf

ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 3
LIMIT_S = 0.15


def cpu_seconds(program: str) -> float:
    """Return the least CPU time of several fresh interpreters."""
    spent = []
    for _ in range(ATTEMPTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=250)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(spent)


def test_import_runtime() -> None:
    bare = cpu_seconds("pass")
    spent = cpu_seconds("import runtime") - bare
    print(f"import runtime: {spent * 1e3:.0f} ms of CPU time beside {bare * 1e3:.0f} ms of a bare start")
    assert spent < LIMIT_S * slowness()
