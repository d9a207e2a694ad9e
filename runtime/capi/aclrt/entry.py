"""How a C function is written here: a Python function that takes the header's parameters and raises faults.

Inputs are integers (numbers, handles, addresses), strings for `char *`, callables for function pointers; a parameter
that is left out is NULL or 0. Outputs are `Out` objects, None for NULL. A function that returns normally succeeded.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from npuhal.records import dataclass
from runtime import errors

if TYPE_CHECKING:
    from runtime.capi.aclrt.state import Acl

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind")

CHAPTERS = (
    "init", "device", "topology", "limits", "context", "stream", "stream_config", "event", "notify", "callback",
    "value", "label", "timeout", "memory", "registration", "managed", "copying", "described", "symbols", "virtual",
    "shareable", "ipc", "health", "pools", "allocator", "random", "kernel", "arguments", "launch", "fusion",
    "capture", "model", "branching", "graph", "remarks", "snapshot", "overflow", "faults", "stamps", "channels",
    "message_queues", "miscellaneous",
)  # fmt: skip
"""Modules of this package that hold entries; one per chapter of the API reference."""


class Untouched:
    """What an output holds until the function writes it."""

    def __repr__(self) -> str:
        return "untouched"


UNTOUCHED = Untouched()


class Out:
    """An output parameter: the caller's variable."""

    __slots__ = ("value",)

    def __init__(self, value: Any = UNTOUCHED) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Out({self.value!r})"


@dataclass(frozen=True, slots=True)
class Entry:
    """One C function: its name, what runs, and its parameters in the header's order."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    waits_for_snapshot: bool
    answers: bool
    """Whether the C function returns something else than a code."""


_entries: dict[str, Entry] = {}


@overload
def entry(function: Function, /) -> Function: ...


@overload
def entry(*, waits_for_snapshot: bool) -> Callable[[Function], Function]: ...


def entry(function: Function | None = None, *, waits_for_snapshot: bool = False) -> Any:
    """Register a function under its own name.

    Args:
        waits_for_snapshot: the call creates or sends something, so it blocks while the process is locked.
    """

    def register(made: Function) -> Function:
        signature = inspect.signature(made)
        parameters = tuple(signature.parameters)[1:]
        answers = signature.return_annotation != "None"  # annotations are text in these modules
        if made.__name__ in _entries:
            raise ValueError(f"{made.__module__}: {made.__name__} exists already")
        _entries[made.__name__] = Entry(made.__name__, made, parameters, waits_for_snapshot, answers)
        return made

    return register if function is None else register(function)


def find(name: str) -> Entry | None:
    """Return the entry of a C function, or None if there is none."""
    _load()
    return _entries.get(name)


def names() -> tuple[str, ...]:
    """Return the names of all C functions that exist here."""
    _load()
    return tuple(sorted(_entries))


_loaded: list[str] = []


def _load() -> None:
    if not _loaded:
        for chapter in CHAPTERS:
            module = f"{__package__}.{chapter}"
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as missing:
                if missing.name != module:
                    raise
        _loaded.extend(CHAPTERS)


def need(call: str, **given: object) -> None:
    """Raise the acl layer's answer to a NULL: 100000 with EH0008, naming the first parameter that is one."""
    for name, value in given.items():
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 0):
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is NULL", ee="EH0008", params=(call, name),
                hint=f"pass a valid {name}",
            )


def need_rt(call: str, **given: object) -> None:
    """Raise the runtime layer's answer to a NULL: 107000 with EE1004."""
    for name, value in given.items():
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 0):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is NULL", ee="EE1004", params=(call, name),
                hint=f"pass a valid {name}",
            )


def handle_of(acl: Acl, handle: int | None, kind: type[Any]) -> Any:
    """Return the live object of a handle; a dead or foreign one is 107017 with EE1017."""
    return acl.runtime.handles.get(handle or 0, kind)


def object_of(acl: Acl, call: str, kind: type[Kind], **handle: int | None) -> Kind:
    """Return the live object of the one handle that is named; NULL is 100000 with EH0008, for the rest see `handle_of`.
    """
    need(call, **handle)
    (value,) = handle.values()
    found: Kind = handle_of(acl, value, kind)
    return found


def wrong(call: str, value: object, name: str, expected: object, hint: str = "") -> errors.RuntimeFault:
    """Return the acl layer's answer to a value out of its range: 100000 with EH0007."""
    return errors.fault(
        "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is {value}; expected {expected}", ee="EH0007",
        params=(call, value, name, expected), hint=hint,
    )


def stream_of(acl: Acl, handle: int | None) -> Any:
    """Return the stream of a handle, NULL for the default one of the thread's context, and see that it is in there.

    Raises:
        InvalidHandle 107017: a stream that is gone.
        ContextError 107002: the thread has no context.
        StreamError 107003: a stream of another context (EE1010).
    """
    from runtime.core.process.current import foreign_stream
    from runtime.core.stream.stream import Stream

    stream = handle_of(acl, handle, Stream) if handle else None
    context = acl.runtime.current_context()
    if stream is None:
        return context.default_stream
    if stream.context is not context:
        raise foreign_stream("use of a stream", stream, context)
    return stream
