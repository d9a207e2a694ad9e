"""Every form of the visible-device mask, with the answers recorded from the vendor's runtime on four devices."""

from __future__ import annotations

import pytest

from runtime.driver.visible import MaskState, read_mask


@pytest.mark.parametrize(
    ("mask", "ids"),
    [
        (None, (0, 1, 2, 3)),
        ("0", (0,)),
        ("0,1,2,3", (0, 1, 2, 3)),
        ("1,3", (1, 3)),
        ("1,3,8", (1, 3)),
        ("1;2", (1,)),
        ("1,a,2", (1,)),
        ("1,,2", (1,)),
        ("1, 2,3", (1,)),
        ("01", (1,)),
        ("0x1", (0,)),
        ("1,", (1,)),
        ("0,1,x" + "9" * 200, (0, 1)),
    ],
)
def test_a_usable_mask_gives_the_driver_ids_by_user_id(mask: str | None, ids: tuple[int, ...]) -> None:
    visible = read_mask(mask, 4)
    assert visible.usable
    assert visible.ids == ids


@pytest.mark.parametrize(
    ("mask", "state"),
    [
        ("", MaskState.NOTHING_USABLE),
        ("a", MaskState.NOTHING_USABLE),
        ("8", MaskState.NOTHING_USABLE),
        (" 1", MaskState.NOTHING_USABLE),
        ("-1", MaskState.NOTHING_USABLE),
        ("1,1", MaskState.REPEATED),
        ("1,2,2", MaskState.REPEATED),
        ("1,0", MaskState.DESCENDING),
        ("2,1,3", MaskState.DESCENDING),
        ("1,0,a", MaskState.DESCENDING),
    ],
)
def test_an_unusable_mask_hides_every_device(mask: str, state: MaskState) -> None:
    visible = read_mask(mask, 4)
    assert visible.state is state
    assert visible.ids == ()
    assert not visible.usable


@pytest.mark.parametrize("count", [0, 65])
def test_without_a_usable_count_no_mask_is_usable(count: int) -> None:
    assert read_mask("0", count).state is MaskState.NO_DEVICES


@pytest.mark.parametrize(("mask", "word"), [("1,x,2", "x"), ("1,,2", "an empty word"), ("0x1", "0x1"), ("1,3", "")])
def test_the_word_at_which_reading_stopped_is_kept(mask: str, word: str) -> None:
    assert read_mask(mask, 4).stopped_at == word


def test_only_the_first_128_characters_count() -> None:
    mask = ",".join(map(str, range(64)))
    assert len(mask) > 128
    assert read_mask(mask, 64).ids == tuple(int(word) for word in mask[:128].split(",") if word)
