"""The worked examples of CONTRIBUTING.md: written to an empty folder as they stand there, installed, and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chips.catalog import Catalog

ROOT = Path(__file__).resolve().parents[2]
_TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the document, by their titles."""
    for title, text in _TITLED.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        path = tmp_path / title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, path: Path | None = None) -> str:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(str(part) for part in (path, ROOT) if part)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_soc_is_one_file(folder: Path) -> None:
    chip = Catalog.including(folder / "soc").find("910C2")
    assert (chip.soc, chip.generation, chip.prop("eventPoolSize")) == ("Ascend910C2", "v100", 65)
    assert chip.ini["SoCInfo"]["ai_core_cnt"] == 22


def test_a_new_generation_is_one_folder(folder: Path) -> None:
    site = folder / "site"
    run(folder, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site), ".")
    run(folder, "try_it.py", path=site)


def test_a_generation_that_is_not_installed_is_named(folder: Path) -> None:
    program = "import runpy, sys; sys.path.append('.'); runpy.run_path('try_it.py')"
    with pytest.raises(AssertionError, match="no plug-in for generation 'nextgen'"):
        run(folder, "-c", program)
