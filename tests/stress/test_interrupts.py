"""Ctrl-C, and exceptions of signal handlers, anywhere in a program: it goes on, and closes its device."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.stress.storm import CtrlC, HandlerError, Storm, finalizers_may_be_interrupted
from tests.tools.interrupts import Alarm, OtherThread

CHIPS = ("ascend910b3", "ascend950")
Record = Callable[[str, object], None]


def weather(url: str, seed: int, interrupts: int, record: Record, by: type[Alarm] | None = None) -> None:
    with finalizers_may_be_interrupted():
        storm = Storm(url, seed, by)
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


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("by", [Alarm, OtherThread])
@pytest.mark.parametrize("tier", ["fake", "fake-abi"])
@pytest.mark.parametrize("chip", CHIPS)
def test_a_program_goes_on_after_real_alarms(
    chip: str, tier: str, by: type[Alarm], record_property: Record
) -> None:
    weather(f"{tier}://{chip}?seed=5", 5, 1000, record_property, by)


def test_only_the_interrupts_of_a_storm_may_end_in_a_finalizer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __init__(self, raises: type[BaseException]) -> None:
            self.raises = raises

        def __del__(self) -> None:
            raise self.raises

    reported: list[type[BaseException]] = []

    def report(lost: sys.UnraisableHookArgs) -> None:
        if lost.object is Broken.__del__:  # and not what another test has left
            reported.append(lost.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", report)
    with finalizers_may_be_interrupted():
        for each in (CtrlC, ValueError, HandlerError, KeyboardInterrupt):
            Broken(each)
    Broken(CtrlC)
    assert reported == [ValueError, KeyboardInterrupt, CtrlC]
