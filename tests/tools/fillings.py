"""Values for all fields of a layout: what shows that fields keep apart, and that none loses a bit."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

_RANDOM = 10


def fillings(widths: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield values by name for fields of these widths in bits, the same ones each time.

    All zero, all full, each field full among empty ones and empty among full ones, and some random values.
    """
    full = {name: (1 << width) - 1 for name, width in widths.items()}
    empty = dict.fromkeys(widths, 0)
    yield empty
    yield full
    for name in widths:
        yield {**empty, name: full[name]}
        yield {**full, name: 0}
    generator = random.Random(repr(sorted(widths.items())))
    for _ in range(_RANDOM):
        yield {name: generator.getrandbits(width) for name, width in widths.items()}
