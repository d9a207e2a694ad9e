"""Capabilities of the task scheduler, and its requests about running tasks."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from chips import find_chip
from runtime import errors
from runtime.driver.queues.scheduler import CAPABILITIES, AbortState, SchedulerMessages, capabilities

V100, V200 = "Ascend910B1", "Ascend950PR_9599"


class Driver:
    """Answers control messages from a list and keeps what was asked."""

    def __init__(self, *answers: int, soc: str = V100) -> None:
        self.machine = SimpleNamespace(chip=find_chip(soc))
        self.answers = list(answers)
        self.asked: list[tuple[int, bytes]] = []

    def control_message(self, operation: int, reply: str, request: bytes = b"") -> int:
        self.asked.append((operation, request))
        return self.answers.pop(0)


def test_each_capability_is_one_bit() -> None:
    for name, bit in CAPABILITIES.items():
        bitmap = bytearray(7)
        bitmap[bit // 8] = 1 << bit % 8
        assert capabilities(bytes(bitmap), 0) == {name}
    assert capabilities(b"\xff" * 7, 0) == set(CAPABILITIES)
    assert capabilities(b"", 0) == set()
    assert capabilities(b"\xff" * 4, 0) == {name for name, bit in CAPABILITIES.items() if bit < 32}


@pytest.mark.parametrize(("result", "taken"), [(0, True), (0x5, False), (0x80, False)])
def test_a_full_scheduler_is_asked_again(result: int, taken: bool) -> None:
    driver = Driver(result)
    assert SchedulerMessages(driver).abort_stream(7) is taken  # type: ignore[arg-type]
    assert driver.asked == [(2, struct.pack("<I", 7))]


def test_a_refusal_is_an_error() -> None:
    with pytest.raises(errors.RuntimeFault) as caught:
        SchedulerMessages(Driver(4)).abort_all()  # type: ignore[arg-type]
    assert caught.value.code == 507001


@pytest.mark.parametrize(
    ("soc", "word", "ended", "killed"),
    [(V100, 1, False, False), (V100, 2, False, True), (V100, 3, True, True), (V200, 1, False, False),
     (V200, 2, False, True), (V200, 4, True, True), (V200, 5, False, False), (V200, 6, True, True)],
)  # fmt: skip
def test_states_of_an_abort(soc: str, word: int, ended: bool, killed: bool) -> None:
    driver = Driver(word, word, soc=soc)
    messages = SchedulerMessages(driver)  # type: ignore[arg-type]
    assert messages.stream_ended(9) is ended
    assert messages.all_reached(AbortState.KILLED) is killed
    assert driver.asked == [(1, struct.pack("<II", 0, 9)), (1, struct.pack("<II", 1, 0xFFFFFFFF))]


@pytest.mark.parametrize(("soc", "word"), [(V100, 0), (V200, 3)])
def test_a_failed_abort_is_an_error(soc: str, word: int) -> None:
    with pytest.raises(errors.RuntimeFault, match="could not end"):
        SchedulerMessages(Driver(word, soc=soc)).stream_ended(1)  # type: ignore[arg-type]
