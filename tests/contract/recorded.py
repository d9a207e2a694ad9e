"""Where recorded answers are compared: each generation in `make test`, every chip on both tiers in `make soak`."""

from __future__ import annotations

import pytest

_SOAK = pytest.mark.soak
machines = pytest.mark.parametrize(
    ("chip", "tier"),
    [
        ("910B1", "fake"), ("950", "fake"), ("950", "fake-abi"), pytest.param("910B1", "fake-abi", marks=_SOAK),
        pytest.param("910_9391", "fake", marks=_SOAK), pytest.param("910_9391", "fake-abi", marks=_SOAK),
    ],
)  # fmt: skip
"""Marks a test with the arguments `chip` and `tier`."""
