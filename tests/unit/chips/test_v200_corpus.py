"""Every recorded entry of the STARS v2 chips and of arch5162."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from chips import find_chip
from chips.layout import SQE_BYTES
from chips.registry import UnsupportedTask, plugin
from chips.verify.vectors import Sent, Vector, read_vectors
from tests.tools.corpus import corpus

CHIPS = ("950", "950_die1", "950_ub", "ascend350", "arch9201", "mc62cm12a", "mc32dm11a")
TRACES = ("950", "950_ub", "arch9201", "mc62cm12a", "arch5162")
GENERATIONS = ("v200", "v201", "arch5162")


def built(vector: Vector) -> bytes:
    """Return our bytes of a vector; a type without a builder leaves the vendor's buffer as it was, all zero."""
    assert vector.task is not None, vector.name
    try:
        return plugin(vector.chip).encode(vector.task, vector.env, vector.ids)
    except UnsupportedTask:
        assert not any(vector.expected[0][2:]), vector.name
        return b"".join(vector.expected)


@pytest.mark.parametrize("chip", CHIPS)
def test_white_box_vectors(chip: str) -> None:
    count = 0
    for vector in read_vectors(corpus(f"golden/sqe_{chip}.json")):
        assert isinstance(vector, Vector)
        assert built(vector).hex() == b"".join(vector.expected).hex(), vector.name
        count += 1
    assert count > 300


def test_builder_cases() -> None:
    count = 0
    for vector in read_vectors(corpus("golden/builders.yaml")):
        assert isinstance(vector, Vector)
        if vector.chip.generation in GENERATIONS:
            assert built(vector).hex() == b"".join(vector.expected).hex(), vector.name
            count += 1
    assert count >= 99


@pytest.mark.parametrize("chip", TRACES)
def test_submitted_entries_are_recognised(chip: str) -> None:
    count = 0
    for sent in read_vectors(corpus(f"golden/api_{chip}.json")):
        assert isinstance(sent, Sent)
        known = plugin(sent.chip)
        decoded = known.decode(sent.rows[0])
        assert decoded.type is not None, sent.name
        assert known.layouts[decoded.layout].encode(**decoded.fields) == sent.rows[0], sent.name
        count += 1
    assert count >= 49


def edges(fields: list[dict[str, Any]]) -> set[int]:
    """Bit positions at which a leaf of a measured struct, or an element of an array, starts or ends."""
    found = set()
    for leaf in fields:
        count = leaf.get("count", 1)
        step = leaf["width"] // count
        found.update(range(leaf["bit"], leaf["bit"] + leaf["width"] + 1, step))
    return found


@pytest.mark.parametrize(
    ("soc", "folders"),
    [
        ("Ascend950PR_9599", ("v200",)),
        ("MC62CM12A", ("v201",)),
        ("Arch9201", ("arch9201", "v200")),
        ("Ascend5162A", ("arch5162",)),
    ],
)
def test_fields_lie_where_the_compiler_put_them(soc: str, folders: tuple[str, ...]) -> None:
    measured = yaml.load(corpus("data/sqe_layouts.yaml").read_bytes(), Loader=yaml.CSafeLoader)["generations"]
    structs = {name: struct for folder in reversed(folders) for name, struct in measured[folder]["structs"].items()}
    for layout in plugin(find_chip(soc)).layouts.values():
        if layout.size < SQE_BYTES and layout.name != "header":
            continue  # a frame other entries build on
        allowed = edges(structs[layout.struct]["fields"])
        for field in layout.fields:
            if field.name.endswith(("param", "stack_level")):  # one 64-bit word, split where the stack level starts
                continue
            assert {field.offset, field.offset + field.width} <= allowed, (layout.name, field)
