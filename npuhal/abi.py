"""Compares what this package binds with measured ABI facts: sizes, offsets, types, values, argument lists.

The facts come as plain dictionaries (see `check`); what is compared with them is computed from the live ctypes objects
and, for what ctypes cannot tell (what a pointer inside a struct points to), from the declaration's text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from typing import Any

from npuhal import constants, declarations, prototypes
from npuhal.layouts import BitField, layouts
from npuhal.records import dataclass, field
from npuhal.shapes import CNames, accepts, bare_name, shape_of_text
from npuhal.version import DRIFT_VERSION

Document = Mapping[str, Any]
"""`functions`, `structs`, `enums`, `macros_int`, `macros_str`, `typedefs`, `macros_function_like`; each optional."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact on which binding and measurement disagree."""

    kind: str
    """`function`, `struct`, `enum` or `macro`."""
    name: str
    """C name of the item."""
    what: str
    """Which fact: a field, an argument, `sizeof`, ..."""
    measured: object
    """What the document says."""
    bound: object
    """What this package has."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.what}: measured {self.measured}, bound {self.bound}"


@dataclass(slots=True)
class Report:
    """Result of a comparison; counts are of items (functions, structs, enums, macros), not of single facts."""

    matched: int = 0
    total: int = 0
    differences: list[Difference] = field(default_factory=list)
    unbound: list[tuple[str, str, str]] = field(default_factory=list)
    """(kind, name, reason) of items this package does not bind."""

    def add(self, differences: list[Difference]) -> None:
        """Count one item and keep its differences."""
        self.total += 1
        self.matched += not differences
        self.differences += differences

    def merge(self, other: Report) -> None:
        """Add another report to this one."""
        self.matched += other.matched
        self.total += other.total
        self.differences += other.differences
        self.unbound += other.unbound


class Bindings:
    """What is compared: the live objects of this package. A test replaces single ones."""

    def __init__(self, version: int = declarations.FIRST_VERSION) -> None:
        self.version = version

    def prototype(self, name: str) -> prototypes.Prototype | None:
        """Return a function's prototype, or None if it is not bound."""
        try:
            return prototypes.prototype(name, self.version)
        except KeyError:
            return None

    def struct(self, name: str) -> type[Any] | None:
        """Return a struct's class, or None if it is not bound."""
        try:
            return layouts(self.version).struct(name)
        except KeyError:
            return None

    def field_texts(self, name: str) -> dict[str, str]:
        """Return the declared type text of each plain field, those of anonymous groups included."""
        row = declarations.find(name, ("struct", "union"), self.version)
        return dict(_texts(declarations.parse_items(row.body))) if row else {}

    def enum(self, name: str) -> Mapping[str, int] | None:
        """Return an enum's values, or None if it is not bound."""
        try:
            return constants.enum(name)
        except KeyError:
            return None

    def constant(self, name: str) -> object:
        """Return the value of an enumerator or macro, or None if it is not bound."""
        return getattr(constants, name, None)


def check(document: Document, bindings: Bindings | None = None) -> Report:
    """Compare everything a document holds.

    A document with a `meta` section describes the core and must be bound completely; of others, what is not bound is
    listed with the reason.
    """
    bindings = bindings or Bindings()
    names = CNames(document.get("typedefs", {}))
    complete = "meta" in document
    report = Report()
    for name, function in document.get("functions", {}).items():
        prototype = bindings.prototype(name)
        if prototype is not None:
            report.add(_function(name, function, prototype, names))
        elif complete:
            report.add([Difference("function", name, "binding", "present", "none")])
        else:
            report.unbound.append(("function", name, "the vendor's runtime does not call it"))
    for tag, measured in document.get("structs", {}).items():
        name = bare_name(tag)
        struct = bindings.struct(name)
        if struct is not None:
            report.add(_struct(name, measured, struct, bindings.field_texts(name), names))
        elif complete:
            report.add([Difference("struct", name, "binding", "present", "none")])
        else:
            report.unbound.append(("struct", name, "only functions that are not bound use it"))
    for tag, enum in document.get("enums", {}).items():
        report.add(_enum(bare_name(tag), enum["values"], bindings))
    for name, value in {**document.get("macros_int", {}), **document.get("macros_str", {})}.items():
        bound = bindings.constant(name)
        report.add([] if bound == value else [Difference("macro", name, "value", value, bound)])
    for name in document.get("macros_function_like", {}):
        report.unbound.append(("macro", name, "takes arguments: a macro of the C preprocessor only"))
    if "runtime_header_differences" in document:
        report.merge(_check_drift(document, names))
    return report


def _check_drift(document: Document, names: CNames) -> Report:
    """Compare what the newer header changed (sizes, moved fields, argument lists) with the bindings of that version."""
    drift = document["runtime_header_differences"]
    newer = Bindings(DRIFT_VERSION)
    report = Report()
    for name, sizes in drift.get("structs_size_differs", {}).items():
        struct = newer.struct(name)
        bound = ctypes.sizeof(struct) if struct else None
        found = [] if bound == sizes["runtime"] else [_differs(name, "sizeof", sizes["runtime"], bound)]
        for path, spans in drift.get("fields_moved_or_resized", {}).items():
            owner, _, member = path.partition(".")
            if owner == name:
                span = _span(struct, member) if struct else None
                if span != tuple(spans["runtime"]):
                    found.append(_differs(name, f"{member} (offset, size)", spans["runtime"], span))
        report.add(found)
    for name, arguments in drift.get("functions_with_different_argument_types", {}).items():
        prototype = newer.prototype(name)
        bound_types = [shape_of_text(arg.text, names) for arg in prototype.args] if prototype else None
        expected = [names.shape(text) for text in arguments["runtime"]]
        report.add(
            [] if bound_types == expected else [Difference("function", name, "arguments", expected, bound_types)]
        )
    values = {**drift.get("enumerators_only_in_runtime", {}), **drift.get("macros_only_in_runtime", {})}
    for name, value in values.items():
        bound_value = newer.constant(name)
        if bound_value is None:
            report.unbound.append(("macro", name, "renamed in the driver's header, which the tables follow"))
        else:
            report.add([] if bound_value == value else [Difference("macro", name, "value", value, bound_value)])
    for tag, measured in document.get("runtime_only_structs", {}).items():
        name = bare_name(tag)
        only = newer.struct(name)
        if only is None:
            report.unbound.append(("struct", name, f"belongs to another library ({measured['header']})"))
        else:
            report.add(_struct(name, measured, only, newer.field_texts(name), names))
    return report


def _function(name: str, measured: Mapping[str, Any], bound: prototypes.Prototype, names: CNames) -> list[Difference]:
    found: list[Difference] = []
    arguments = measured["args"]
    if len(arguments) != len(bound.args):
        found.append(Difference("function", name, "number of arguments", len(arguments), len(bound.args)))
        return found
    for position, (expected, arg) in enumerate(zip(arguments, bound.args, strict=True)):
        what = f"argument {position} ({expected['name']})"
        if expected["name"] != arg.name:
            found.append(Difference("function", name, f"{what} name", expected["name"], arg.name))
        shape = names.shape(expected["type"])
        declared = shape_of_text(arg.text, names)
        if declared != shape:
            found.append(Difference("function", name, what, expected["type"], arg.text))
        if not accepts(arg.ctype, shape):
            found.append(Difference("function", name, f"{what} ctypes type", expected["type"], _type_name(arg.ctype)))
    result = names.shape(measured["ret"])
    if not accepts(bound.restype, result):
        found.append(Difference("function", name, "result", measured["ret"], _type_name(bound.restype)))
    return found


def _struct(
    name: str, measured: Mapping[str, Any], struct: type[Any], texts: Mapping[str, str], names: CNames
) -> list[Difference]:
    found: list[Difference] = []
    if ctypes.sizeof(struct) != measured["size"]:
        found.append(_differs(name, "sizeof", measured["size"], ctypes.sizeof(struct)))
    if ctypes.alignment(struct) != measured["align"]:
        found.append(_differs(name, "alignment", measured["align"], ctypes.alignment(struct)))
    if issubclass(struct, ctypes.Union) != (measured["kind"] == "union"):
        found.append(_differs(name, "kind", measured["kind"], struct.__base__.__name__ if struct.__base__ else None))
    expected = list(_flat(measured["fields"]))
    for entry in expected:
        found += _field(name, entry, struct, texts.get(entry["name"]), names)
    extra = set() if measured.get("partial") else set(_member_names(struct)) - {entry["name"] for entry in expected}
    found += [_differs(name, f"field {member}", "none", "present") for member in sorted(extra)]
    return found


def _field(
    owner: str, measured: Mapping[str, Any], struct: type[Any], text: str | None, names: CNames
) -> list[Difference]:
    name = measured["name"]
    descriptor = getattr(struct, name, None)
    if descriptor is None:
        return [_differs(owner, f"field {name}", "present", "none")]
    if "bits" in measured:
        expected = (measured["bit_off"], measured["bits"])
        bound = _bit_span(struct, descriptor) if isinstance(descriptor, BitField) else None
        return [] if bound == expected else [_differs(owner, f"{name} (bit offset, bits)", expected, bound)]
    span = (measured["offset"], measured["size"])
    found = []
    if (descriptor.offset, descriptor.size) != span:
        found.append(_differs(owner, f"{name} (offset, size)", span, (descriptor.offset, descriptor.size)))
    kind = _field_type(struct, name)
    if "fields" in measured:
        inner = getattr(kind, "_type_", kind)
        size = measured["size"] // getattr(kind, "_length_", 1)
        nested = {"size": size, "align": ctypes.alignment(inner), "kind": "struct", "fields": measured["fields"]}
        return found + _struct(f"{owner}.{name}", nested, inner, {}, names)
    if "type" not in measured:
        return found
    shape = names.shape(measured["type"], argument=False)
    if not accepts(kind, shape, field=True) or (text is not None and shape_of_text(text, names, False) != shape):
        found.append(_differs(owner, f"{name} type", measured["type"], text or _type_name(kind)))
    return found


def _enum(name: str, values: Mapping[str, int], bindings: Bindings) -> list[Difference]:
    found = [
        Difference("enum", name, key, value, bindings.constant(key))
        for key, value in values.items()
        if bindings.constant(key) != value
    ]
    if not name.startswith("<"):
        bound = bindings.enum(name)
        if bound is None:
            found.append(Difference("enum", name, "binding", "present", "none"))
        else:
            extra = sorted(set(bound) - set(values))
            found += [Difference("enum", name, key, "none", bound[key]) for key in extra]
    return found


def _flat(fields: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the fields of a measured struct, those of anonymous members in their place."""
    for entry in fields:
        if entry.get("name") is None and "fields" in entry:
            yield from _flat(entry["fields"])
        else:
            yield entry


def _texts(items: tuple[declarations.Item, ...]) -> Iterator[tuple[str, str]]:
    for item in items:
        if not item.items:
            yield item.name, item.type
        elif item.type in ("struct", "union") and not item.name:
            yield from _texts(item.items)


def _members(struct: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, ctypes type) of every field, storage units of bit-fields left out, anonymous members opened."""
    hidden = set(getattr(struct, "_anonymous_", ())) | {
        value.unit for value in vars(struct).values() if isinstance(value, BitField)
    }
    for name, kind, *_ in struct._fields_:
        if name in getattr(struct, "_anonymous_", ()):
            yield from _members(kind)
        elif name not in hidden:
            yield name, kind


def _member_names(struct: type[Any]) -> Iterator[str]:
    yield from (name for name, _ in _members(struct))
    yield from (name for name, value in vars(struct).items() if isinstance(value, BitField))


def _field_type(struct: type[Any], name: str) -> Any:
    return dict(_members(struct))[name]


def _bit_span(struct: type[Any], bits: BitField) -> tuple[int, int]:
    unit = getattr(struct, bits.unit)
    return unit.offset * 8 + bits.shift, bits.width


def _span(struct: type[Any], name: str) -> tuple[int, int] | None:
    descriptor = getattr(struct, name, None)
    return (descriptor.offset, descriptor.size) if descriptor is not None else None


def _differs(name: str, what: str, measured: object, bound: object) -> Difference:
    return Difference("struct", name, what, measured, bound)


def _type_name(kind: Any) -> str:
    return "void" if kind is None else kind.__name__
