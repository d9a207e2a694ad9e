"""Every fault raised anywhere in the runtime names a code and a message that exist, with the message's parameters.

A wrong one would only show when that very error occurs, and then hide it behind another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import errors
from runtime.errors import tables

RUNTIME = Path(errors.__file__).parents[1]


def fault_calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls of `fault(...)` and `errors.fault(...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                if (function.value.id, function.attr) == ("errors", "fault"):
                    yield node
            elif isinstance(function, ast.Name) and function.id == "fault":
                yield node


def complaints(source: str) -> list[str]:
    """What is wrong with the literal arguments of the fault calls of a module."""
    found = []
    for call in fault_calls(ast.parse(source)):
        where = f"line {call.lineno}"
        code = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if isinstance(code, (int, str)):
            try:
                errors.fault(code, "x")
            except ValueError as problem:
                found.append(f"{where}: {problem}")
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        number = given["ee"].value if isinstance(given.get("ee"), ast.Constant) else None
        if isinstance(number, str) and number:
            message = tables.user_messages().get(number)
            params = given.get("params")
            if message is None:
                found.append(f"{where}: {number} is no user message")
            elif isinstance(params, (ast.Tuple, ast.List)) and len(params.elts) != len(message.parameters):
                found.append(f"{where}: {number} takes {message.parameters}, given {len(params.elts)}")
    return found


@pytest.mark.parametrize("layer", sorted(path.name for path in RUNTIME.iterdir() if path.is_dir()))
def test_codes_and_messages_of_all_faults_exist(layer: str) -> None:
    found = {}
    for path in sorted((RUNTIME / layer).rglob("*.py")):
        wrong = complaints(path.read_text(encoding="utf-8"))
        if wrong:
            found[str(path.relative_to(RUNTIME))] = wrong
    assert found == {}


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ('errors.fault("ACL_ERROR_RT_NOPE", "x")', "is no error code"),
        ("fault(4711)", "is no error code"),
        ('fault(107000, ee="EE1008")', "EE1008 is no user message"),
        ('fault(107000, ee="EE1003", params=("f", 1))', "EE1003 takes"),
    ],
)
def test_a_wrong_call_is_found(source: str, complaint: str) -> None:
    (found,) = complaints(source)
    assert complaint in found


@pytest.mark.parametrize(
    "source",
    [
        'errors.fault("RT_ERROR_CONTEXT_NULL", "x", ee="EE1018", params=("f", "why"))',
        "fault(code, text, ee=number, params=values)",
        'self.fault("anything")',
    ],
)
def test_right_and_computed_calls_pass(source: str) -> None:
    assert complaints(source) == []
