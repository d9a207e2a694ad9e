"""The worked examples of CONTRIBUTING.md: written to an empty folder as they stand there, installed, and used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chips.catalog import Catalog

ROOT = Path(__file__).resolve().parents[2]
_TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def titled() -> list[tuple[str, str]]:
    """The files of the document and what it appends to files of ours (`+path`), each with its text."""
    found: list[tuple[str, str]] = _TITLED.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the document, by their titles."""
    for title, text in titled():
        if title.startswith("+"):
            continue
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


def test_a_chip_that_differs_in_one_trait_is_treated_otherwise_in_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_CHIPS", str(folder / "soc"))
    run(folder, "try_traits.py")


def test_a_generation_that_is_not_installed_is_named(folder: Path) -> None:
    program = "import runpy, sys; sys.path.append('.'); runpy.run_path('try_it.py')"
    with pytest.raises(AssertionError, match="no plug-in for generation 'nextgen'"):
        run(folder, "-c", program)


USE_THE_TYPE = """
from chips.catalog import find_chip
from chips.env import EncodeEnv, TaskIds
from chips.registry import plugin
from chips.tasks import MemWaitProfile
from chips.verify.validate import check_layouts, check_registry, check_round_trips
from fakes.executor import handlers

for soc in ("Ascend950PR_9599", "MC62CM12A"):
    chip = find_chip(soc)
    row = plugin(chip).encode(MemWaitProfile(addr=0x1234), EncodeEnv(chip=chip, stream_id=1), TaskIds(1))
    said = plugin(chip).decode(row)
    assert (said.layout, said.fields["addr"], said.problems) == ("mem_wait_profile", 0x1234, ()), said
    assert handlers(chip)["mem_wait_profile"][0] == "mem_wait"
    assert not check_layouts(plugin(chip)).holes
    assert not check_round_trips(chip, plugin(chip)).holes
for soc in ("Ascend910B3", "Ascend950PR_9599", "MC62CM12A", "Ascend5162A", "Ascend310P3"):
    assert not check_registry(find_chip(soc), plugin(find_chip(soc))).holes, soc
"""


def test_a_task_type_is_what_the_document_appends_to_five_files(tmp_path: Path) -> None:
    for package in ("npuhal", "chips", "fakes"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    additions = [(title[1:], text) for title, text in titled() if title.startswith("+")]
    assert len({title for title, _ in additions}) == 5
    for title, text in additions:
        with (tmp_path / title).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{text}" if title.endswith(".py") else text)
    done = subprocess.run(
        [sys.executable, "-c", USE_THE_TYPE], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, timeout=100, check=False,
    )
    assert done.returncode == 0, done.stderr
