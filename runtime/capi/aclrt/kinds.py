"""C types of parameters, as the annotations of entries name them.

To a type checker they are what a Python caller passes: integers for numbers, handles and addresses (0 is NULL), text
for `const char *`, objects for functions. `KINDS` has the C type behind each name; a library for C programs, the stubs
and the documentation read it. Widths: acl_base_rt.h, acl_rt.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from npuhal.records import dataclass

I8: TypeAlias = int
I32: TypeAlias = int
I64: TypeAlias = int
U8: TypeAlias = int
U16: TypeAlias = int
U32: TypeAlias = int
U64: TypeAlias = int
Size: TypeAlias = int
Bool: TypeAlias = int
"""One byte, 0 or 1."""
F32: TypeAlias = float
Enum: TypeAlias = int
"""A C enumeration: 32 bits with sign."""
Address: TypeAlias = int
"""A pointer to memory of the caller's or a device's, a structure in it included."""
Handle: TypeAlias = int
"""An opaque pointer."""
Text: TypeAlias = str
"""A string that ends with a zero byte."""
Callback: TypeAlias = Any
"""A function: of Python, or the address of a C function."""
Dim3: TypeAlias = tuple[int, int, int]
"""dim3, passed by value: x, y, z."""
CondTaskParams: TypeAlias = Any
"""aclmdlRICondTaskParams, passed by value."""
IpcEventHandle: TypeAlias = int
"""aclrtIpcEventHandle, passed by value: the address of its 64 bytes."""
ManagedLocation: TypeAlias = int
"""aclrtMemManagedLocation, passed by value: the address of its 8 bytes."""
Info: TypeAlias = Any
"""A pointer to what a failed task is described by, valid during the callback that was given it."""
Type = TypeVar("Type")


class Untouched:
    """What an output holds until the function writes it."""

    def __repr__(self) -> str:
        return "untouched"


UNTOUCHED = Untouched()


class Out(Generic[Type]):
    """An output parameter: the caller's variable. `Out[U32]` says what it is in C."""

    __slots__ = ("value",)

    if TYPE_CHECKING:

        def __new__(cls, value: Any = UNTOUCHED) -> Out[Any]:
            """Make a variable of any type."""

        value: Any
    else:

        def __init__(self, value: Any = UNTOUCHED) -> None:
            self.value = value

    def __repr__(self) -> str:
        return f"Out({self.value!r})"


@dataclass(frozen=True, slots=True)
class Kind:
    """One C type: what stands in a header, its bytes, and whether it has a sign."""

    c: str
    size_bytes: int
    signed: bool = False
    number: bool = True
    """Whether it passes as an integer of Python, NULL and None as 0."""


KINDS: Mapping[str, Kind] = MappingProxyType({
    "I8": Kind("int8_t", 1, signed=True),
    "I32": Kind("int32_t", 4, signed=True),
    "I64": Kind("int64_t", 8, signed=True),
    "U8": Kind("uint8_t", 1),
    "U16": Kind("uint16_t", 2),
    "U32": Kind("uint32_t", 4),
    "U64": Kind("uint64_t", 8),
    "Size": Kind("size_t", 8),
    "Bool": Kind("bool", 1),
    "F32": Kind("float", 4, number=False),
    "Enum": Kind("int32_t", 4, signed=True),
    "Address": Kind("void *", 8),
    "Handle": Kind("void *", 8),
    "Text": Kind("const char *", 8, number=False),
    "Callback": Kind("void (*)(void)", 8, number=False),
    "Info": Kind("const void *", 8, number=False),
    "Dim3": Kind("dim3", 12, number=False),
    "CondTaskParams": Kind("aclmdlRICondTaskParams", 24, number=False),
    "IpcEventHandle": Kind("aclrtIpcEventHandle", 64),
    "ManagedLocation": Kind("aclrtMemManagedLocation", 8),
})  # fmt: skip
"""C types by the names that annotations use."""


OBJECTS = frozenset((
    "Stream", "Event", "Notify", "CountNotify", "Model", "Graph", "Node", "TaskGroup", "Context", "Label",
    "LabelList", "Binary", "Function", "ArgumentList", "OrderedPool", "AllocatorDescription", "DvppGroup",
))  # fmt: skip
"""Classes that annotations name instead of `Handle`: the entry gets the live object in the place of its handle."""


ARRAYS: Mapping[str, str] = MappingProxyType({"aclmdlRIGetStreams": "streams", "aclmdlRIGetTasksByStream": "tasks"})
"""Outputs that may be an array of the caller's, given by its address: function -> parameter."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an entry: `Out[U32]` is a pointer to a `uint32_t` that the call writes."""

    name: str
    kind: str
    """A name in `KINDS`."""
    output: bool = False
    optional: bool = False
    """Whether NULL is an answer of its own: an output that is left out, a function taken back."""

    object: bool = False
    """Whether the entry gets the object that the handle stands for."""

    @property
    def c(self) -> str:
        """The parameter as a C header declares it."""
        kind = KINDS[self.kind].c
        return f"{kind}{'' if kind.endswith('*') else ' '}{'*' * self.output}{self.name}"

    @property
    def number(self) -> bool:
        """Whether the entry gets an integer, 0 for NULL."""
        return not self.output and not self.optional and KINDS[self.kind].number


def parameter(name: str, annotation: str) -> Parameter:
    """Read an annotation: a kind's name, `Out[kind]`, either of them with `| None` behind it.

    Raises:
        ValueError: it names no kind.
    """
    text, _, optional = annotation.partition(" | ")
    output = text.startswith("Out[")
    kind = text[4:-1] if output else text
    if kind in OBJECTS and not output:
        return Parameter(name, "Handle", optional=bool(optional), object=True)
    if kind not in KINDS or optional not in ("", "None"):
        raise ValueError(f"parameter {name}: {annotation!r} is no C type; known are {', '.join(KINDS)}")
    return Parameter(name, kind, output, bool(optional))
