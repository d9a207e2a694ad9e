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
