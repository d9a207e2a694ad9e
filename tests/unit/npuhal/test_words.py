"""Articles and plurals of messages."""

from __future__ import annotations

import pytest

from npuhal.words import a, count


@pytest.mark.parametrize(("noun", "said"), [
    ("stream", "a stream"), ("event", "an event"), ("int", "an int"), ("object", "an object"), ("uint8", "a uint8"),
    ("SQE", "an SQE"), ("Event", "an Event"), ("Stream", "a Stream"), ("bytes", "bytes"), ("ndarray", "a ndarray"),
    ("NoneType", "a NoneType"), ("", ""), ("Ascend910B3", "an Ascend910B3"), ("NPU", "an NPU"), ("ASCEND", "an ASCEND"),
])  # fmt: skip
def test_a_noun_has_the_article_of_its_sound(noun: str, said: str) -> None:
    assert a(noun) == said


def test_one_is_singular_and_everything_else_is_plural() -> None:
    assert [count(number, "byte") for number in (0, 1, 2)] == ["0 bytes", "1 byte", "2 bytes"]
    assert [count(number, "was", "were") for number in (1, 3)] == ["1 was", "3 were"]
