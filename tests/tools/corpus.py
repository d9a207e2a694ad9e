"""Where the larger corpora of recorded facts lie: a folder `shared` beside the checkout, which may be absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("NPUHAL_CORPUS", Path(__file__).resolve().parents[2].parent / "shared"))


def corpus(relative: str) -> Path:
    """Return the path of a corpus file, or skip the calling test and say what is missing."""
    path = ROOT / relative
    if not path.exists():
        pytest.skip(f"corpus file {relative} is not here (looked in {ROOT.name}/ beside the checkout)")
    return path


def beside(scenario: Path, relative: str) -> Path:
    """Return the path of a corpus file that a scenario names: that of the folder the scenario's file lies in.

    Args:
        scenario: the scenario's file.
        relative: within the corpus, such as elfs/NAME.o. Folders above the scenario are looked at, innermost first, and
            a `shared` in each; then the corpus beside the checkout, whether the file is there or not.
    """
    above = (folder / name for folder in scenario.resolve().parents for name in ("", ROOT.name))
    return next((each / relative for each in above if (each / relative).exists()), ROOT / relative)
