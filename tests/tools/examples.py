"""How many examples a test draws: `make soak` has a profile for that, which numbers in the tests would override."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """Return a number of examples for `make test`, or that of the soak profile where it is loaded and larger."""
    soak = settings.get_profile("soak")
    return max(count, soak.max_examples) if settings.default == soak else count
