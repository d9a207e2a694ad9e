"""Ctrl-C, and exceptions of signal handlers, anywhere in a program: it goes on, and closes its device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.stress.storm import Storm

CHIPS = ("ascend910b3", "ascend950")
Record = Callable[[str, object], None]


def weather(url: str, seed: int, interrupts: int, record: Record) -> None:
    storm = Storm(url, seed)
    storm.run(interrupts)
    storm.check()
    storm.device.close(force=True)
    storm.machine.close(force=True)
    record("cases", storm.struck.total())


@pytest.mark.parametrize("chip", CHIPS)
def test_a_program_goes_on_after_interrupts(chip: str, record_property: Record) -> None:
    weather(f"fake://{chip}?seed=3", 3, 40, record_property)


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("tier", ["fake", "fake-abi"])
@pytest.mark.parametrize("chip", CHIPS)
def test_a_program_goes_on_after_5000_interrupts(tier: str, chip: str, record_property: Record) -> None:
    weather(f"{tier}://{chip}?seed=5", 5, 5000, record_property)
