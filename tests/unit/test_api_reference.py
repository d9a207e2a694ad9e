"""The reference of `import runtime` is complete, and says something of every name, as `help()` does."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import pytest

import runtime
from tests.tools import reference

_INHERITED = {kind.__doc__ for kind in (object, int, tuple, str, dict)}


def test_every_public_name_is_in_it() -> None:
    names = {*reference.classes(), *reference.functions()}
    assert set(runtime.__all__) <= names
    for name in runtime.__all__:
        assert getattr(runtime, name) is reference.entries()[name][0], name


@pytest.mark.parametrize("name", sorted({*reference.classes(), *reference.functions()}))
def test_help_says_what_it_is_for(name: str) -> None:
    thing = {**reference.classes(), **reference.functions()}[name]
    text = inspect.getdoc(thing) or ""
    assert len(text.split()) > 4, name
    assert text not in _INHERITED
    shown = pydoc.plain(pydoc.render_doc(thing))
    assert text.splitlines()[0] in shown
    if inspect.isfunction(thing):
        check_types(thing)


def listed() -> list[Any]:
    return [
        pytest.param(kind, member, held, id=f"{name}.{member}")
        for name, kind in reference.classes().items()
        for member, held in reference.members(name)
    ]


@pytest.mark.parametrize(("kind", "member", "held"), listed())
def test_every_member_is_documented_and_typed(kind: type[Any], member: str, held: Any) -> None:
    if isinstance(held, property):
        assert held.fget is not None
        assert "return" in held.fget.__annotations__
        assert len((inspect.getdoc(held) or "").split()) > 2
    elif inspect.isfunction(held):
        check_types(held)
        assert len((inspect.getdoc(held) or "").split()) > 2
    else:
        assert reference.attribute(kind, member), "an attribute that is set in __init__, with a string behind it"


def check_types(function: Any) -> None:
    """Every parameter and the result have a type."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    assert [each.name for each in parameters if each.annotation is inspect.Parameter.empty] == []
    assert signature.return_annotation is not inspect.Signature.empty
