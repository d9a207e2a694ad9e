"""Every driver call of each stage fails: a sample of the failures in `make test`, all of them in `make soak`."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from runtime.testing.sweeps.sweep import sweep
from tests.sweep.stages import CHIPS, STAGES, TIERS, Unsupported

SAMPLE = 4
"""Failures per stage in `make test`, the same ones each time; stages take turns on the two machines."""
MAIN = ("fake://ascend910b1", "fake-abi://ascend950pr_9599")


def check(url: str, stage: str, sample: int, record: Callable[[str, object], None]) -> None:
    try:
        report = sweep(STAGES[stage], url, sample=sample)
    except Unsupported as missing:
        pytest.skip(str(missing))
    record("machine", url)
    for what, number in report.counts.items():
        record(what, number)
    assert report.good, f"\n{report}"


@pytest.mark.parametrize(("stage", "url"), list(zip(STAGES, itertools.cycle(MAIN), strict=False)))
def test_some_failures(url: str, stage: str, record_property: Callable[[str, object], None]) -> None:
    check(url, stage, SAMPLE, record_property)


@pytest.mark.soak
@pytest.mark.parametrize("url", [f"{tier}://{chip}" for chip in CHIPS for tier in TIERS])
@pytest.mark.parametrize("stage", STAGES)
def test_every_failure(url: str, stage: str, record_property: Callable[[str, object], None]) -> None:
    check(url, stage, 0, record_property)
