"""`@triton.jit` scripts on the fake through `npuhal run --triton --interpret`, with a device compiler and without."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def _present() -> bool:
    try:
        return importlib.util.find_spec("triton.backends.ascend") is not None
    except ImportError:
        return False


pytestmark = pytest.mark.skipif(not _present(), reason="Triton-Ascend is not installed here: make test-triton")


def run(script: str, tmp_path: Path, *, url: str = "fake://ascend910b3?check=all", compiler: bool = False) -> str:
    """Run a script as a user does; returns what it prints."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    if compiler:
        environment["PATH"] = f"{HERE}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = [sys.executable, "-m", "runtime.cli", "run", "--triton", "--interpret", "--url", url, script]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("compiler", [False, True], ids=["without a compiler", "with one"])
def test_add_sum_and_matmul(tmp_path: Path, compiler: bool) -> None:
    assert "kernels: right" in run(str(HERE / "scripts/kernels.py"), tmp_path, compiler=compiler)
    kept = list((tmp_path / "cache").rglob("*.npubin"))
    assert bool(kept) == compiler, "only what a compiler made goes to Triton's cache"


def test_a_tuned_kernel_hooks_and_memory_errors(tmp_path: Path) -> None:
    text = run(str(HERE / "scripts/tuned.py"), tmp_path)
    assert "tuned: right" in text
    assert re.search(r"kernel too_far, program \(3, 0, 0\), .*tuned.py:\d+: it reads 4 bytes at 0x", text)
    assert "is a mask missing?" in text


def test_on_950(tmp_path: Path) -> None:
    assert "kernels: right" in run(str(HERE / "scripts/kernels.py"), tmp_path, url="fake://ascend950")


def test_what_the_front_end_leaves_loads_without_it(tmp_path: Path) -> None:
    run(str(HERE / "scripts/kernels.py"), tmp_path, compiler=True)
    loader = tmp_path / "load.py"
    loader.write_text(
        "import sys, pathlib, runtime\n"
        "device = runtime.start('fake://ascend910b3').device(0)\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.npubin')):\n"
        "    print(device.load_triton(path))\n"
        "assert 'triton' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, str(loader), str(tmp_path / "cache")], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<Triton kernel add(") >= 2
    assert "<Triton kernel matmul(" in done.stdout
