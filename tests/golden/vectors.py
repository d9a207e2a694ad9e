"""The sample of recorded vectors kept with the tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from chips.verify.vectors import Sent, Vector, read_vectors

DATA = Path(__file__).with_name("data")


@cache
def sample(name: str) -> tuple[Vector | Sent, ...]:
    """Return the items of one sample file."""
    return tuple(read_vectors(DATA / name))


def names(pattern: str = "*") -> list[str]:
    """Return the names of the sample files."""
    return sorted(path.name for path in DATA.glob(pattern) if path.is_file())
