"""No loop jumps back under a condition where its `finally` or `with` matters: see `npuhal.changed` on interrupts.

CPython 3.12 and 3.13 compile such a jump (the end of a `while`, an `if` that ends the body of a `for`, a `continue`
of an `if`, the `if` of a comprehension) outside of the `try` or `with` around the loop: Ctrl-C at it leaves a lock
held. The loop belongs into a function of its own, whose call is inside.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("npuhal", "runtime", "fakes")
TOOLS = ("runtime/cli/", "runtime/testing/")
"""Programs of their own: an interrupt ends them."""
FILES = re.compile(r"(open|tempfile\.\w+|(contextlib\.)?suppress)\(")
"""What a `with` closes that goes by itself, or has nothing to close."""
ALLOWED = {
    ("fakes/machine/machine.py", "_free_run"): "runs in a thread of its own, where no signal handler does",
}
LOOPS, FUNCTIONS = (ast.For, ast.While, ast.AsyncFor), (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
"""Compiled into the function around them since 3.12; a generator expression is a function."""


def continues(nodes: Iterable[ast.AST]) -> bool:
    """Whether a loop goes on under a condition before its end."""
    for node in nodes:
        if isinstance(node, (*LOOPS, *FUNCTIONS)):
            continue
        if isinstance(node, ast.If) and any(isinstance(each, ast.Continue) for each in (*node.body, *node.orelse)):
            return True
        if continues(ast.iter_child_nodes(node)):
            return True
    return False


def conditional(node: ast.AST) -> bool:
    """Whether a loop jumps back under a condition."""
    if isinstance(node, COMPREHENSIONS):
        return any(part.ifs for part in node.generators)
    if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
        return True
    return isinstance(node, LOOPS) and (isinstance(node.body[-1], ast.If) or continues(node.body))


def guards(node: ast.AST) -> bool:
    """Whether an interrupt that passes a block by leaves something."""
    if isinstance(node, ast.Try):
        kinds = [handler.type for handler in node.handlers]
        return bool(node.finalbody) or any(kind is None or ast.unparse(kind) == "BaseException" for kind in kinds)
    return isinstance(node, (ast.With, ast.AsyncWith)) and not all(
        FILES.match(ast.unparse(item.context_expr)) for item in node.items
    )


def found(nodes: Iterable[ast.AST], name: str = "", inside: bool = False) -> Iterator[tuple[str, int]]:
    """Yield (function, line) of loops that jump back under a condition inside of a block that guards something."""
    for node in nodes:
        if isinstance(node, FUNCTIONS):
            yield from found(ast.iter_child_nodes(node), getattr(node, "name", name))
        elif isinstance(node, ast.Try):
            yield from found([*node.body], name, inside or guards(node))
            yield from found([*node.handlers, *node.orelse], name, inside or bool(node.finalbody))
            yield from found(node.finalbody, name, inside)
        else:
            if inside and conditional(node):
                yield name, getattr(node, "lineno", 0)
            yield from found(ast.iter_child_nodes(node), name, inside or guards(node))


def test_loops_under_locks_are_functions_of_their_own() -> None:
    wrong, used = [], set()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = path.relative_to(ROOT).as_posix()
            if module.startswith(TOOLS):
                continue
            for name, line in found(ast.parse(path.read_text(encoding="utf-8")).body):
                used.add((module, name))
                if (module, name) not in ALLOWED:
                    wrong.append(f"{module}:{line} {name}")
    assert wrong == [], "move the loop into a function of its own, which is called inside of the block"
    assert used >= ALLOWED.keys(), "an exception that is not needed"


@pytest.mark.parametrize("text", [
    "with lock:\n while more():\n  take()",
    "with lock:\n for one in all:\n  if one:\n   take(one)",
    "with lock:\n for one in all:\n  if not one:\n   continue\n  take(one)",
    "with lock:\n kept = [one for one in all if one]",
    "try:\n while more():\n  take()\nfinally:\n lock.release()",
    "try:\n while more():\n  take()\nexcept BaseException:\n undo()\n raise",
    "with open(name), lock:\n for one in all:\n  if one:\n   take(one)",
])  # fmt: skip
def test_the_rule_finds(text: str) -> None:
    assert list(found(ast.parse(text).body))


@pytest.mark.parametrize("text", [
    "with lock:\n for one in all:\n  take(one)",
    "with lock:\n kept = list(one for one in all if one)",
    "with lock:\n def f():\n  while more():\n   take()",
    "try:\n while more():\n  take()\nexcept ValueError:\n pass",
    "with open(name) as file:\n for line in file:\n  if line:\n   take(line)",
    "while more():\n with lock:\n  take()",
])  # fmt: skip
def test_the_rule_leaves_alone(text: str) -> None:
    assert not list(found(ast.parse(text).body))
