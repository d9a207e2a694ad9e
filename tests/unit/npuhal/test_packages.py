"""Another package named `runtime`, `chips` or `fakes` is noticed and named, by whatever way it gets in between."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from npuhal import packages
from npuhal.errors import ForeignPackage

ROOT = Path(__file__).resolve().parents[3]


def run(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python where a folder of the user's comes first on the path."""
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{ROOT}"}, cwd=here,
        capture_output=True, text=True, timeout=250, check=False,
    )


def test_ours_are_ours() -> None:
    assert packages.foreign() == {}
    packages.check()


@pytest.mark.parametrize("shape", ["runtime.py", "runtime/__init__.py", "runtime/notes.txt"])
def test_the_command_names_what_is_in_the_way(tmp_path: Path, shape: str) -> None:
    (tmp_path / shape).parent.mkdir(exist_ok=True)
    (tmp_path / shape).touch()
    done = run(tmp_path, "-m", "npuhal", "explain", "107002")
    if shape.endswith(".txt"):  # a folder without code gives way to a real package
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 2
    assert f"`import runtime` finds {tmp_path / shape}" in done.stderr
    assert str(ROOT) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_foreign_package_below_the_runtime_is_named(tmp_path: Path) -> None:
    (tmp_path / "chips.py").touch()
    for program in ("import runtime; runtime.device", "import npuhal; npuhal.open_hal('fake://ascend910b3')"):
        done = run(tmp_path, "-c", program)
        assert f"`import chips` finds {tmp_path / 'chips.py'}" in done.stderr.splitlines()[-1]


def test_other_broken_imports_are_not_blamed_on_packages(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", "import sys; sys.modules['struct'] = None; import runtime; runtime.device")
    assert "struct" in done.stderr
    assert "finds" not in done.stderr


def test_what_stands_in_sys_modules_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fakes", type(sys)("fakes"))
    assert packages.foreign("fakes", "chips") == {"fakes": "an object in sys.modules"}
    with pytest.raises(ForeignPackage, match="object in sys") as caught:
        packages.check()
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.found, str(copy)) == (caught.value.found, str(caught.value))


def test_a_missing_package_is_told_as_missing() -> None:
    assert packages.foreign("no_such_package") == {"no_such_package": ""}
    with pytest.raises(ForeignPackage, match="there is no package no_such_package"):
        packages.check("no_such_package")
