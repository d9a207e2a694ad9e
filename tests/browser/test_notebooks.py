"""Notebooks of the site in a headless browser: executed, complete, and without a request to anywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.driver import Browser, browser

pytestmark = pytest.mark.soak
ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    pytest.importorskip("mkdocs_jupyter", reason="the packages of npuhal[docs] are not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder], cwd=ROOT, timeout=280,
        capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def window(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser window."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.open(Path(os.devnull))
        yield opened


@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.parametrize("width", [1300, 420])
def test_a_notebook_is_there_with_its_results(window: Browser, site: Path, name: str, width: int) -> None:
    window.log("browser")
    window.requested()
    window.resize(width, 900)
    window.open(site / "notebooks" / f"{name}.html")
    assert {address.partition(":")[0] for address in window.requested()} <= {"file", "data", "blob"}
    assert [entry for entry in window.log("browser") if entry["level"] == "SEVERE"] == []
    cells, results = window.run(
        "return ['.jp-CodeCell', '.jp-OutputArea-output'].map(kind => document.querySelectorAll(kind).length)"
    )
    assert cells >= 3
    assert results >= 2
    assert "Traceback" not in window.run("return document.body.innerText")
