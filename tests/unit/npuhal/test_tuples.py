"""Our named tuples beside those of `typing`: the same classes made by both behave alike, whatever is asked."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import typing
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from npuhal import tuples

MANY = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")


class Ours(tuples.NamedTuple):
    """Found by pickle."""

    left: int
    right: str = "r"


class Theirs(typing.NamedTuple):
    """Found by pickle."""

    left: int
    right: str = "r"


LIBRARIES = (typing.NamedTuple, tuples.NamedTuple)


def family(library: Any) -> SimpleNamespace:
    """Return the classes that one library makes."""

    class Pair(library):  # type: ignore[misc]
        """A pair."""

        left: int
        """Behind it."""
        right: str = "r"
        limit = 7

        @property
        def both(self) -> tuple[int, str]:
            """Both."""
            return self.left, self.right

        def __str__(self) -> str:
            return f"<{self.left}>"

    class Bare(library):  # type: ignore[misc]
        pass

    class Plain(library):  # type: ignore[misc]
        only: int

    class Below(Pair):
        def __init__(self, *_values: object) -> None:
            self.more = 1

    return SimpleNamespace(Pair=Pair, Bare=Bare, Plain=Plain, Below=Below, Long=_long(library))


def _long(library: Any) -> Any:
    scope: dict[str, Any] = {"library": library, "__name__": __name__}
    exec("class Long(library):\n" + "\n".join(f" {name}: 'int' = {at}" for at, name in enumerate(MANY)), scope)
    return scope["Long"]


THEIRS, OURS = map(family, LIBRARIES)


def outcome(what: Callable[[SimpleNamespace], Any], kinds: SimpleNamespace) -> Any:
    """Return what comes of a question: the answer, or the error's type and text."""
    try:
        return what(kinds)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("ask", [
    lambda k: k.Pair(1), lambda k: k.Pair(1, "b"), lambda k: k.Pair(right="x", left=2), lambda k: k.Bare(),
    lambda k: k.Long(*range(11)), lambda k: k.Long(k=1, a=2), lambda k: k.Plain._make([4]),
    lambda k: k.Pair(), lambda k: k.Pair(1, 2, 3), lambda k: k.Pair(1, other=2), lambda k: k.Pair(1, left=1),
    lambda k: k.Bare(1), lambda k: k.Long(*range(12)), lambda k: k.Plain(),
    lambda k: k.Pair._make([1]), lambda k: k.Pair._make(iter("ab")), lambda k: k.Pair._make("abc"),
    lambda k: k.Pair(1)._replace(left=5), lambda k: k.Pair(1)._replace(other=5, more=1), lambda k: k.Pair(1)._asdict(),
    lambda k: repr(k.Pair(1, "%s")), lambda k: str(k.Pair(1)), lambda k: repr(k.Bare()), lambda k: repr(k.Below(3)),
    lambda k: repr(k.Plain(None)), lambda k: k.Pair(1).both, lambda k: k.Pair.limit,
    lambda k: k.Below(1)._replace(left=2).more,
    lambda k: setattr(k.Pair(1), "left", 2), lambda k: setattr(k.Pair(1), "other", 2), lambda k: vars(k.Pair(1)),
    lambda k: hash(k.Pair(1, "b")) == hash((1, "b")), lambda k: k.Pair(1, "b") == (1, "b"),
    lambda k: k.Pair(1) < (2, ""),
    lambda k: k.Pair._fields, lambda k: k.Pair._field_defaults, lambda k: k.Pair.__match_args__,
    lambda k: k.Pair.__slots__,
    lambda k: k.Pair.__doc__, lambda k: k.Plain.__doc__, lambda k: k.Pair.left.__doc__, lambda k: k.Long.k.__doc__,
    lambda k: k.Pair.__new__.__doc__, lambda k: k.Pair.__new__.__qualname__, lambda k: k.Pair.__new__.__module__,
    lambda k: k.Pair.__new__.__name__, lambda k: k.Pair.__new__.__defaults__, lambda k: k.Bare.__new__.__defaults__,
    lambda k: k.Pair.__mro__[1:], lambda k: k.Pair.__bases__, lambda k: k.Pair.__orig_bases__, lambda k: type(k.Pair),
    lambda k: (k.Pair.__module__, k.Pair.__qualname__), lambda k: sorted(vars(k.Pair)), lambda k: dir(k.Pair),
    lambda k: typing.get_type_hints(k.Pair), lambda k: list(inspect.signature(k.Pair).parameters),
    lambda k: [each.default for each in inspect.signature(k.Long).parameters.values()],
    lambda k: copy.deepcopy(k.Pair(1)), lambda k: copy.copy(k.Below(1)).both, lambda k: k.Pair(1).__getnewargs__(),
])  # fmt: skip
def test_they_answer_alike(ask: Callable[[SimpleNamespace], Any]) -> None:
    for _ in range(2):
        assert outcome(ask, OURS) == outcome(ask, THEIRS)


@pytest.mark.parametrize("body", [
    "a: int = 1\n b: int", "a: int = 1\n b: int = 2\n c: int", "a: int\n _b: int", "a: int\n _fields = ()",
    "a: int\n def __new__(cls): pass", "a: int\n def __init__(self): pass",
])  # fmt: skip
def test_they_refuse_alike(body: str) -> None:
    def make(kinds: SimpleNamespace) -> None:
        exec(f"class Wrong(library):\n {body}", {"library": kinds.library, "__name__": __name__})

    theirs, ours = (outcome(make, SimpleNamespace(library=library)) for library in LIBRARIES)
    assert ours == theirs
    assert isinstance(ours, tuple)


def test_other_bases_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"npuhal\.tuples takes no other bases"):
        type(tuples.NamedTuple.__mro_entries__(())[0])("X", (tuples.NamedTuple.__mro_entries__(())[0], int), {})  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_hold_the_same(protocol: int) -> None:
    ours, theirs = pickle.dumps(Ours(1, "b"), protocol), pickle.dumps(Theirs(1, "b"), protocol)
    assert pickle.loads(ours) == Ours(1, "b")
    assert type(pickle.loads(ours)) is Ours
    assert pickle.loads(ours) == pickle.loads(theirs)
    assert len(theirs) - len(ours) == len("Theirs") - len("Ours")


def test_our_packages_use_them() -> None:
    """A class of `typing` costs ten times as much to make, in every new process."""
    root = Path(tuples.__file__).parents[1]
    found = [
        path.name
        for package in ("npuhal", "chips", "runtime", "fakes")
        for path in (root / package).rglob("*.py")
        if path.name not in ("tuples.py", "choice.py")  # pytest loads that one without npuhal
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module == "typing"
        and any(alias.name == "NamedTuple" for alias in node.names)
    ]  # fmt: skip
    assert not found
