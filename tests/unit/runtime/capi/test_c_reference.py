"""The reference of the C API is up to date, and lists every function with what it refuses, in order."""

from __future__ import annotations

from runtime.capi.aclrt import names
from tests.tools import c_reference as reference


def test_the_page_is_up_to_date() -> None:
    assert reference.TARGET.read_text(encoding="utf-8") == reference.render(), "run python -m tests.tools.c_reference"


def test_every_function_is_in_it_with_its_rules() -> None:
    text = reference.render()
    assert all(f"\n### {name}\n" in text for name in names())
    part = text[text.index("### aclrtMemcpy\n") :]
    part = part[: part.index("\n### ", 1)]
    assert "`aclError aclrtMemcpy(void *dst, size_t destMax, void *src, size_t count, int32_t kind)`" in part
    rules = ("not count: 0", "dst is NULL: 100000 EH0008", "count > destMax: 107000 EE1003", "dst == src: 0",
             "no current context: 107002 EE1018")  # fmt: skip
    places = [part.index(rule) for rule in rules]
    assert places == sorted(places)
