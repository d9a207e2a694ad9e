"""Layouts of STARS v1 against positions measured from the vendor's structs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from chips.generations.v100.tables import DESCRIPTORS, LAYOUTS
from chips.layout import Layout
from tests.tools.corpus import corpus

WHOLE = [
    layout
    for layouts in (LAYOUTS, DESCRIPTORS)
    for layout in layouts.values()
    if layout.name not in ("plain", "placeholder", "message", "condition", "function_call", "invalid")  # frames
]


SPLIT = frozenset({"param", "stack_level", "ptr_mode", "debug", "cmo"})
"""Fields that only the rules (the stack level above an address) or another struct of the same union tell apart."""


@pytest.fixture(scope="module")
def structs() -> dict[str, Any]:
    path = corpus("data/sqe_layouts.yaml")
    measured: dict[str, Any] = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["generations"]["v100"]["structs"]
    return measured


@pytest.mark.parametrize("layout", WHOLE, ids=lambda layout: layout.name)
def test_fields_end_where_the_compiler_ended_them(layout: Layout, structs: dict[str, Any]) -> None:
    struct = structs[layout.struct]
    assert layout.size == struct["bytes"]
    edges = {0, struct["bytes"] * 8}
    for leaf in struct["fields"]:
        step = leaf["width"] // leaf.get("count", 1)
        edges.update(range(leaf["bit"], leaf["bit"] + leaf["width"] + 1, step))
    for field in layout.fields:
        if field.name in SPLIT:
            continue
        assert {field.offset, field.offset + field.width} <= edges, field
