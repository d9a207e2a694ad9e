"""The glossary: every field of every generation has a meaning."""

from __future__ import annotations

import pytest

from chips import find_chip, glossary
from chips.registry import plugin


@pytest.mark.parametrize(
    "soc", ["Ascend910B1", "Ascend950PR_9599", "Arch9201", "MC62CM12A", "Ascend5162A", "Ascend910A"]
)
def test_every_field_is_explained(soc: str) -> None:
    unexplained = {
        f"{layout.name}.{field.name}"
        for layout in plugin(find_chip(soc)).layouts.values()
        for field in layout.fields
        if not glossary.meaning(field.name)
    }
    assert unexplained == set()


def test_parts_are_explained_by_what_they_belong_to() -> None:
    assert glossary.meaning("aiv_pc_high") == f"{glossary.meaning('pc')} (vector cores)"
    assert glossary.meaning("args[3]") == glossary.meaning("args")
    assert glossary.meaning("no such thing") == ""
    assert glossary.meaning("_low") == ""


def test_single_values_have_names() -> None:
    assert glossary.explain("kernel_credit", 255).endswith(": never runs out")
    assert glossary.explain("task_type", 103).endswith(": NOP")
    assert glossary.value_name("task_type", 999) == ""
    assert glossary.explain("unknown", 1) == ""
    assert glossary.shown_when_zero("type")
