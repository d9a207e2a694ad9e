"""Only the submission room writes rings: their counters and their columns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import runtime

ROOT = Path(runtime.__file__).parent
ROOM = ROOT / "core" / "submission"
COUNTERS = frozenset({"submitted", "reclaimed", "next_id", "limit", "in_flight_start", "allocations", "flips", "depth"})
COLUMNS = frozenset({"ids", "firsts", "owners", "arguments", "kept", "completion_callbacks", "pending_callbacks"})


def is_ring(node: ast.expr) -> bool:
    """Whether an expression is called a ring."""
    return "ring" in (getattr(node, "id", ""), getattr(node, "attr", ""))


def is_column(node: ast.expr) -> bool:
    """Whether an expression is a column of a ring."""
    if isinstance(node, ast.Call):  # the column that is made when it is asked for
        return isinstance(node.func, ast.Attribute) and node.func.attr == "keep" and is_ring(node.func.value)
    return isinstance(node, ast.Attribute) and node.attr in COLUMNS and is_ring(node.value)


def writes(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that write a ring, or give a column a name of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if node.attr in COUNTERS | COLUMNS and is_ring(node.value):
                yield node.lineno
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if is_column(node.value):
                yield node.lineno
        elif isinstance(node, (ast.Assign, ast.NamedExpr)):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(map(is_column, values)):
                yield node.lineno


@pytest.mark.parametrize("line", [
    "ring.submitted += 1", "stream.ring.next_id = 0", "stream.ring.owners[3] = info", "del ring.kept[:2]",
    "a, ring.in_flight_start = 1, None", "owners = stream.ring.owners", "ring.pending_callbacks += found",
    "ring.keep()[0] = thing",
])  # fmt: skip
def test_a_write_is_seen(line: str) -> None:
    assert list(writes(ast.parse(line))) == [1]


@pytest.mark.parametrize("line", [
    "count = ring.submitted", "info = ring.owners[3]", "ring.depth == 4", "batch.submitted = 1",
])  # fmt: skip
def test_a_look_is_none(line: str) -> None:
    assert list(writes(ast.parse(line))) == []


def test_only_the_submission_room_writes_rings() -> None:
    found = [
        f"{path.relative_to(ROOT.parent)}:{line}" for path in sorted(ROOT.rglob("*.py")) if ROOM not in path.parents
        for line in writes(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
