"""Capabilities of the task scheduler, and its requests about running tasks."""

from __future__ import annotations

import struct

import pytest

from runtime import errors
from runtime.driver.queues.scheduler import CAPABILITIES, AbortState, SchedulerMessages, capabilities


class Driver:
    """Answers control messages from a list and keeps what was asked."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[int, bytes]] = []

    def control_message(self, operation: int, reply: str, request: bytes = b"") -> int:
        self.asked.append((operation, request))
        return self.answers.pop(0)


def test_each_capability_is_one_bit() -> None:
    for name, bit in CAPABILITIES.items():
        bitmap = bytearray(7)
        bitmap[bit // 8] = 1 << bit % 8
        assert capabilities(bytes(bitmap)) == {name}
    assert capabilities(b"\xff" * 7) == set(CAPABILITIES)
    assert capabilities(b"") == set()
    assert capabilities(b"\xff" * 4) == {name for name, bit in CAPABILITIES.items() if bit < 32}


@pytest.mark.parametrize(("result", "taken"), [(0, True), (0x5, False), (0x80, False)])
def test_a_full_scheduler_is_asked_again(result: int, taken: bool) -> None:
    driver = Driver(result)
    assert SchedulerMessages(driver, "v100").abort_stream(7) is taken  # type: ignore[arg-type]
    assert driver.asked == [(2, struct.pack("<I", 7))]


def test_a_refusal_is_an_error() -> None:
    with pytest.raises(errors.RuntimeFault) as caught:
        SchedulerMessages(Driver(4), "v100").abort_all()  # type: ignore[arg-type]
    assert caught.value.code == 507001


@pytest.mark.parametrize(
    ("generation", "word", "ended", "killed"),
    [("v100", 1, False, False), ("v100", 2, False, True), ("v100", 3, True, True), ("v200", 1, False, False),
     ("v200", 2, False, True), ("v200", 4, True, True), ("v200", 5, False, False), ("v200", 6, True, True)],
)  # fmt: skip
def test_states_of_an_abort(generation: str, word: int, ended: bool, killed: bool) -> None:
    driver = Driver(word, word)
    messages = SchedulerMessages(driver, generation)  # type: ignore[arg-type]
    assert messages.stream_ended(9) is ended
    assert messages.all_reached(AbortState.KILLED) is killed
    assert driver.asked == [(1, struct.pack("<II", 0, 9)), (1, struct.pack("<II", 1, 0xFFFFFFFF))]


@pytest.mark.parametrize(("generation", "word"), [("v100", 0), ("v200", 3)])
def test_a_failed_abort_is_an_error(generation: str, word: int) -> None:
    with pytest.raises(errors.RuntimeFault, match="could not end"):
        SchedulerMessages(Driver(word), generation).stream_ended(1)  # type: ignore[arg-type]
