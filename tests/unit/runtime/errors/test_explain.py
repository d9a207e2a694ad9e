"""Explanations: every spelling finds its code, every code has one, and a typo is answered with neighbours."""

from __future__ import annotations

import pytest

from npuhal import constants
from runtime.errors import tables
from runtime.errors.explain import UnknownCode, explain, find


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("107002", "public", "ACL_ERROR_RT_CONTEXT_NULL"),
        (" 107002 ", "public", "ACL_ERROR_RT_CONTEXT_NULL"),
        ("ACL_ERROR_RT_CONTEXT_NULL", "public", "ACL_ERROR_RT_CONTEXT_NULL"),
        ("acl_error_rt_context_null", "public", "ACL_ERROR_RT_CONTEXT_NULL"),
        ("507015", "public", "ACL_ERROR_RT_AICORE_EXCEPTION"),
        ("aicore_exception", "public", "ACL_ERROR_RT_AICORE_EXCEPTION"),
        ("EE1023", "message", "EE1023"),
        ("ee1023", "message", "EE1023"),
        ("DRV_ERROR_NO_RESOURCES", "driver", "DRV_ERROR_NO_RESOURCES"),
        ("65534", "driver", "DRV_ERROR_NOT_SUPPORT"),
        ("RT_ERROR_STREAM_FULL", "inner", "RT_ERROR_STREAM_FULL"),
        ("0x07030007", "inner", "RT_ERROR_STREAM_FULL"),
        ("0x7020023", "inner", "RT_ERROR_DRV_NO_RESOURCES"),
        ("TS_ERROR_TASK_TIMEOUT", "device", "TS_ERROR_TASK_TIMEOUT"),
        ("0x26", "device", "TS_ERROR_AICORE_EXCEPTION"),
        ("0", "public", "ACL_SUCCESS"),
    ],
)
def test_every_spelling_finds_its_code(text: str, kind: str, name: str) -> None:
    explanation = explain(text)
    assert (explanation.kind, explanation.name) == (kind, name)


def test_a_small_decimal_number_is_a_driver_code_first_and_a_device_code_too() -> None:
    explanation = explain("14")
    assert explanation.name == "DRV_ERROR_NO_RESOURCES"
    assert [other.name for other in explanation.also] == ["TS_ERROR_MEMCPY_OP_FAILED"]


def test_a_driver_code_shows_its_way_up() -> None:
    assert explain("DRV_ERROR_NO_RESOURCES").chain == (
        "14 DRV_ERROR_NO_RESOURCES",
        "0x07020023 RT_ERROR_DRV_NO_RESOURCES",
        "207005 ACL_ERROR_RT_RESOURCE_ALLOC_FAIL",
    )


def test_every_code_of_every_table_has_an_explanation_with_a_cure() -> None:
    names = (
        *tables.public_names(),
        *tables.internal_codes(),
        *tables.user_messages(),
        *(row.name for row in tables.device_codes().values()),
        *(name for name, number in constants.enum("drvError_t").items() if number),
    )
    for name in names:
        assert explain(name).cure, name


@pytest.mark.parametrize(
    ("text", "neighbour"),
    [
        ("ACL_ERROR_RT_CONTEXT_NUL", "ACL_ERROR_RT_CONTEXT_NULL"),
        ("contxt_null", "ACL_ERROR_RT_CONTEXT_NULL"),
        ("DRV_ERROR_NO_RESOURCE", "DRV_ERROR_NO_RESOURCES"),
        ("EE1033", "EE1023"),
    ],
)
def test_a_typo_is_answered_with_neighbours(text: str, neighbour: str) -> None:
    with pytest.raises(UnknownCode) as caught:
        explain(text)
    assert neighbour in caught.value.hint


@pytest.mark.parametrize("number", ["107046", "99999999", "0xfeed"])
def test_no_number_is_guessed(number: str) -> None:
    with pytest.raises(UnknownCode) as caught:
        explain(number)
    assert "did you mean" not in caught.value.hint


def test_words_find_the_codes_that_are_about_them() -> None:
    found = find("Out of memory")
    kinds = [each.kind for each in found]
    assert kinds == sorted(kinds, key=["public", "message", "driver", "device"].index)
    assert "DRV_ERROR_OUT_OF_MEMORY" in {each.name for each in found}
    assert len(find("memory")) > len(found)
    assert find("memory banana") == find(" ") == []


def test_nonsense_is_answered_with_the_forms_that_are_known() -> None:
    with pytest.raises(UnknownCode) as caught:
        explain("banana")
    assert "EE1023" in caught.value.hint
