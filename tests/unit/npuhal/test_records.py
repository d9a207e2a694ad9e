"""Our data classes beside the standard library's: the same classes made by both behave alike, whatever is asked."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import itertools
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from npuhal import records

LIBRARIES = (dataclasses, records)
library_fields = dataclasses.fields
OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": shown, "kw_only": kw_only}
    for frozen, slots, eq, shown, kw_only in itertools.product((False, True), repeat=5)
]


def family(library: Any, **options: bool) -> SimpleNamespace:
    """Return the classes that one library makes: a base, one below it, and a plain class below both."""
    field = library.field

    @library.dataclass(**options)
    class Base:
        """A base."""

        table: ClassVar[dict[str, int]] = {}
        number: int
        text: str = "abc"

    @library.dataclass(**options)
    class Below(Base):
        """Below it: another default, factories, and what is left out of methods."""

        text: str = "other"
        items: list[int] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        late: int = field(default=5, init=False)
        made: dict[str, int] = field(init=False, default_factory=dict, compare=False)
        named: int = field(default=7, kw_only=True)

        def __post_init__(self) -> None:
            self.items.append(self.number)

    class Plain(Below):
        """No data class of its own."""

    return SimpleNamespace(Base=Base, Below=Below, Plain=Plain)


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, as text where it is an object of ours, or what it raises."""
    try:
        found = call()
    except Exception as problem:
        return type(problem), str(problem)
    return found if isinstance(found, bool | int | str | tuple | dict | list | type(None)) else repr(found)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(name for name, on in options.items() if on))
def test_both_libraries_make_the_same(options: dict[str, bool]) -> None:
    found = []
    for library in LIBRARIES:
        kinds = family(library, **options)
        one, other = kinds.Below(number=1), kinds.Below(number=1, items=[9], text="other")
        plain = kinds.Plain(number=2, named=8)
        probes: dict[str, Callable[[], Any]] = {
            "eq": lambda one=one, other=other: one == other,
            "eq of another class": lambda one=one, kinds=kinds: one == kinds.Base(number=1),
            "changed": lambda one=one, kinds=kinds: one == kinds.Below(number=2),
            "hash": lambda one=one, other=other: hash(one) == hash(other),
            "hash of fields": lambda kinds=kinds: hash(kinds.Base(number=4)) == hash((4, "abc")),
            "assign": lambda one=one: setattr(one, "number", 5),
            "delete": lambda one=one: delattr(one, "text"),
            "assign to a plain one": lambda plain=plain: (setattr(plain, "number", 6), plain.number),
            "too few": lambda kinds=kinds: kinds.Below(),
            "in order": lambda kinds=kinds: kinds.Base(1, "x").text,
            "too many": lambda kinds=kinds: kinds.Below(1, "x", [], 4, 5),
            "unknown": lambda kinds=kinds: kinds.Below(number=1, late=2),
            "match": lambda kinds=kinds: kinds.Below.__match_args__,
            "slots": lambda kinds=kinds: sys.version_info < (3, 11) or getattr(kinds.Below, "__slots__", None),
            "dict": lambda one=one: hasattr(one, "__dict__"),
            "signature": lambda kinds=kinds: str(inspect.signature(kinds.Below)),
            "signature below": lambda kinds=kinds: str(inspect.signature(kinds.Plain)),
            "annotations": lambda kinds=kinds: kinds.Below.__init__.__annotations__,
            "asdict": lambda one=one: dataclasses.asdict(one),
            "fields": lambda plain=plain: [(f.name, f.type, f.init, f.repr, f.compare) for f in library_fields(plain)],
            "is": lambda kinds=kinds: dataclasses.is_dataclass(kinds.Plain),
            "replace": lambda one=one: dataclasses.replace(one, number=8).number,
            "replace ours": lambda library=library, one=one: library.replace(one, number=8, text="t").items,
            "replace unknown": lambda library=library, one=one: library.replace(one, missing=8),
            "copy": lambda other=other: [getattr(copy.copy(other), name) for name in ("number", "items", "named")],
            "deep copy": lambda other=other: copy.deepcopy(other).items is other.items,
            "class variable": lambda kinds=kinds: kinds.Below.table,
            "doc": lambda kinds=kinds: (kinds.Base.__doc__, kinds.Base.__module__, kinds.Base.__qualname__),
        }
        with pytest.raises((TypeError, ValueError), match="late is declared with init=False"):  # which: by version
            library.replace(one, late=8)
        shown = {name: outcome(probe) for name, probe in probes.items()}
        if not (options["frozen"] and options["slots"]):  # where the standard library loses the class
            shown["assign what is no field"] = outcome(lambda one=one: setattr(one, "unknown", 5))
            shown["add to a plain one"] = outcome(lambda plain=plain: (setattr(plain, "unknown", 6), plain.unknown))
        if options["repr"]:
            shown["repr"] = repr(plain)
        found.append(shown)
    for name, standard in found[0].items():
        assert found[1][name] == standard, name


FIRST_CALLS: dict[str, Callable[[Any], Any]] = {
    "by name": lambda kinds: kinds.Below(number=1),
    "all": lambda kinds: kinds.Below(number=1, text="x", items=[4], hidden=5, named=6),
    "in order": lambda kinds: kinds.Base(1, "x"),
    "of a plain class": lambda kinds: kinds.Plain(number=2, named=8),
    "too few": lambda kinds: kinds.Below(),
    "too many": lambda kinds: kinds.Base(1, "x", 3),
    "twice": lambda kinds: kinds.Base(1, number=1),
    "unknown": lambda kinds: kinds.Below(number=1, late=2),
    "refused by __post_init__": lambda kinds: kinds.Below(number=1, items=()),
}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(name for name, on in options.items() if on))
def test_the_first_instance_is_like_all_others(options: dict[str, bool]) -> None:
    """What a class does before its `__init__` is written, and then again."""
    for name, call in FIRST_CALLS.items():
        found = []
        for library in LIBRARIES:
            kinds = family(library, **options)
            for _ in range(2):
                made = outcome(lambda kinds=kinds, call=call: [
                    getattr(call(kinds), field, "none") for field in
                    ("number", "text", "items", "hidden", "late", "made", "named")
                ])  # fmt: skip
                found.append(made)
        assert found == found[:1] * 4, name


@records.dataclass(frozen=True, slots=True)
class Point:
    """At module level, so that it can be pickled."""

    x: int
    y: tuple[int, ...] = ()


@records.dataclass(frozen=True)
class Node:
    """One that may hold itself."""

    below: list[Node]


def test_pickles_come_back() -> None:
    point = Point(3, (4, 5))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(point, protocol)) == point


def test_one_that_holds_itself_can_be_shown() -> None:
    node = Node([])
    node.below.append(node)
    assert repr(node) == "Node(below=[...])"


@pytest.mark.parametrize(("above", "below"), [LIBRARIES, LIBRARIES[::-1]])
@pytest.mark.parametrize("slots", [False, True])
def test_both_kinds_inherit_from_each_other(above: Any, below: Any, slots: bool) -> None:
    @above.dataclass(frozen=True, slots=slots)
    class Above:
        a: int
        b: list[int] = above.field(default_factory=list)

    @below.dataclass(frozen=True, slots=slots)
    class Below(Above):
        c: int = 5

    made = Below(1)
    assert (made.a, made.b, made.c) == (1, [], 5)
    assert made == Below(1, [], 5)
    assert repr(made).endswith("Below(a=1, b=[], c=5)")
    assert [each.name for each in dataclasses.fields(Below)] == ["a", "b", "c"]
    assert records.names_of(Below) == ("a", "b", "c")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.a = 2  # type: ignore[misc]


@pytest.mark.parametrize("library", LIBRARIES)
def test_wrong_classes_are_refused(library: Any) -> None:
    with pytest.raises(TypeError, match="non-default argument 'b' follows default argument"):

        @library.dataclass
        class _Order:
            a: int = 1
            b: int

    with pytest.raises(ValueError, match=r"mutable default <class 'list'> for field a is not allowed: use default_fac"):

        @library.dataclass
        class _Mutable:
            a: list[int] = []  # noqa: RUF012

    @library.dataclass
    class _Above:
        a: int = 1

    with pytest.raises(TypeError, match="cannot inherit frozen dataclass from a non-frozen one"):

        @library.dataclass(frozen=True)
        class _Below(_Above):
            b: int = 2

    with pytest.raises(TypeError, match="annot overwrite attribute __setattr__ in class _Setting"):

        @library.dataclass(frozen=True)
        class _Setting:
            a: int

            def __setattr__(self, name: str, value: object) -> None:
                pass

    with pytest.raises(ValueError, match="cannot specify both default and default_factory"):
        library.field(default=1, default_factory=int)


@pytest.mark.parametrize("library", LIBRARIES)
def test_methods_of_the_class_stay(library: Any) -> None:
    @library.dataclass(frozen=True, slots=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @library.dataclass(frozen=True)
    class Started:
        a: int

        def __init__(self) -> None:
            object.__setattr__(self, "a", 9)

    assert (repr(Own(1)), Own(1) == 4, hash(Own(1)), Started().a) == ("own", True, 7, 9)
    assert str(inspect.signature(Started)) == "() -> 'None'"


def test_other_options_are_the_standard_librarys() -> None:
    @records.dataclass(order=True)
    class Ordered:
        a: int
        b: list[int] = records.field(default_factory=list, compare=False)

    assert Ordered(1, [5]) < Ordered(2)
    with pytest.raises(TypeError, match=r"field\(\) of npuhal.records takes no metadata"):
        records.field(metadata={})


def test_a_class_is_written_once_however_many_threads_use_it_first() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Shared:
        a: int
        b: int = 2

    gate, made, count = threading.Barrier(8), [], 8

    def make(number: int) -> None:
        gate.wait(60)
        made.append((Shared(number), hash(Shared(number)), Shared(number) == Shared(number)))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(each.a for each, _, _ in made) == list(range(count))
    assert all(equal for _, _, equal in made)


def test_a_program_that_only_uses_them_does_not_load_the_standard_ones() -> None:
    program = (
        "import sys\nfrom npuhal.records import dataclass, field, names_of, replace\n"
        "@dataclass(frozen=True, slots=True)\nclass A:\n a: int\n"
        " b: list = field(default_factory=list, compare=False)\n"
        "one = replace(A(1), a=2)\nassert one == A(2) and hash(one) and repr(one) == 'A(a=2, b=[])'\n"
        "assert names_of(A) == ('a', 'b')\nassert not {'dataclasses', 'inspect'} & set(sys.modules), sys.modules"
    )
    root = Path(records.__file__).parents[1]
    subprocess.run([sys.executable, "-S", "-c", program], check=True, timeout=60, env={"PYTHONPATH": str(root)})


def test_our_packages_use_them() -> None:
    """One module that loads `dataclasses` would load it for all: it is imported late, or not at all."""
    root = Path(records.__file__).parents[1]
    found = []
    for package in ("npuhal", "chips", "runtime", "fakes"):
        for path in (root / package).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                    found.append(path.name)
                if isinstance(node, ast.Import) and any(alias.name == "dataclasses" for alias in node.names):
                    found.append(path.name)
    assert not found
