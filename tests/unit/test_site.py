"""The site: every page is in it, its tables are filled, its notebooks carry no output of this machine."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which may have tags of Python."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)


def pages(nav: object) -> list[str]:
    """Return the files of a navigation."""
    if isinstance(nav, str):
        return [nav]
    return [page for each in (nav.values() if isinstance(nav, dict) else nav) for page in pages(each)]


def test_every_page_and_notebook_is_in_the_navigation() -> None:
    found = [path for kind in ("md", "ipynb") for path in ROOT.glob(f"docs/**/*.{kind}")]
    there = [str(path.relative_to(ROOT / "docs")) for path in found]
    assert sorted(pages(CONFIG["nav"])) == sorted(there)
    assert CONFIG["strict"] is True


def test_the_tables_know_all_variables_that_the_packages_read() -> None:
    known = yaml.safe_load((ROOT / "runtime/cli/doctor/variables.yaml").read_text(encoding="utf-8"))
    read = set()
    for package in ("npuhal", "chips", "runtime", "fakes"):
        for path in (path for kind in ("*.py", "*.c", "*.h") for path in (ROOT / package).rglob(kind)):
            text = path.read_text(encoding="utf-8")
            read |= set(re.findall(r"""["']((?:NPUHAL|ASCEND|TRITON)_[A-Z0-9_]+)["']""", text))
    assert read > {"NPUHAL_URL", "ASCEND_RT_VISIBLE_DEVICES", "NPUHAL_SHIM_STRICT"}, "in Python and in C"
    assert read - known.keys() == set()


def test_notebooks_are_stored_without_output() -> None:
    found = list(ROOT.glob("docs/notebooks/*.ipynb"))
    assert len(found) == 3
    for path in found:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs"), path.name
            assert cell.get("execution_count") is None, path.name


def test_the_table_of_variables_is_made_from_data() -> None:
    pytest.importorskip("griffe", reason="needs the packages of `make docs`")
    from tests.tools import site

    text = site.TABLES["environment"]()
    assert text.count("\n|") > 30
    assert "| `NPUHAL_URL` | " in text
    assert os.environ.get("HOME", "/nowhere") not in text
