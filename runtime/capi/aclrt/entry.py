"""How a C function is written here: a Python function that takes the header's parameters and raises faults.

Inputs are integers (numbers, handles, addresses), strings for `char *`, callables for function pointers; a parameter
that is left out is NULL or 0. Outputs are `Out` objects, None for NULL. A function that returns normally succeeded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from npuhal.records import dataclass, field
from runtime import errors
from runtime.capi.aclrt.checks import Action, Check
from runtime.capi.aclrt.compiling import compiled
from runtime.capi.aclrt.kinds import UNTOUCHED, Out, Parameter, parameter

if TYPE_CHECKING:
    from typing import Protocol

    from runtime.capi.aclrt.state import Acl
    from runtime.core.stream.stream import Stream

    class Handled(Protocol):
        """What the C API knows by a number."""

        @property
        def handle(self) -> int:
            """The number."""

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind")

__all__ = [
    "CHAPTERS", "UNTOUCHED", "Entry", "Out", "entry", "find", "handle_of", "kept", "names", "need", "need_rt",
    "null_pointer", "object_of", "own_stream_of", "stream_of", "wrong",
]  # fmt: skip

CHAPTERS = (
    "system.init", "system.hooks", "system.data_buffers", "system.versions", "system.miscellaneous",
    "system.snapshot", "device.devices", "device.topology", "device.limits", "device.context", "device.health",
    "stream.streams", "stream.stream_config", "stream.callback", "stream.overflow", "stream.value", "sync.event",
    "sync.notify", "sync.label", "sync.timeout", "memory.allocation", "memory.registration", "memory.managed",
    "memory.virtual", "memory.shareable", "memory.ipc", "memory.pools", "memory.allocator", "copying.copies",
    "copying.described", "copying.random", "kernel.binary", "kernel.arguments", "kernel.launch", "kernel.fusion",
    "kernel.symbols", "graph.capture", "graph.model", "graph.branching", "graph.tasks", "graph.remarks",
    "transfer.channels", "transfer.message_queues", "transfer.buffers", "transfer.routes", "diagnostics.faults",
    "diagnostics.stamps", "diagnostics.dump", "diagnostics.profiling",
)  # fmt: skip
"""Modules of this package that hold entries, by the chapters of the API reference."""


@dataclass(slots=True)
class Entry:
    """One C function: its name, its parameters in the header's order, what it refuses, and what runs."""

    name: str
    function: Callable[..., Any]
    """The body alone, without the checks: what documentation is taken from."""
    arguments: tuple[Parameter, ...]
    checks: tuple[Check, ...]
    waits_for_snapshot: bool
    answer: str
    """The kind of what the C function returns; "" for a code."""
    parameters: frozenset[str]
    """The names of the parameters."""
    failure: Any = None
    """What a function that answers no code gives when it fails; None: the code."""
    passes_snapshot: bool = False
    """Whether a locked process does not hold it up, though it sends something."""
    run: Callable[..., Any] = field(init=False)
    """Checks and body: called with the state and the arguments by name; returns the answer, or 0 for success."""

    def __post_init__(self) -> None:
        self.run = self._first

    def _first(self, acl: Acl, **arguments: Any) -> Any:
        """Run for the first time, which writes the function that takes this one's place."""
        self.run = compiled(
            self.name, self.function, self.arguments, self.checks, waits=self.waits_for_snapshot, answers=self.answers,
            passes=self.passes_snapshot,
        )
        return self.run(acl, **arguments)

    @property
    def answers(self) -> bool:
        """Whether the C function returns something else than a code."""
        return bool(self.answer)


_entries: dict[str, Entry] = {}


def entry(
    *checks: Check | tuple[Check, ...], waits_for_snapshot: bool = False, passes_snapshot: bool = False,
    failure: Any = None,
) -> Callable[[Function], Function]:
    """Register a function under its own name.

    Parameters are annotated with their C types (`kinds`); missing ones are NULL or 0. The body of a function that is
    annotated with None gives a code: 0, or that of the fault it raises.

    Args:
        checks: what it refuses, in this order (`checks`); each output that must be given has to be among them.
        waits_for_snapshot: the call creates or sends something, so it blocks while the process is locked.
        passes_snapshot: the call goes on in a locked process, though it sends something.
        failure: what a function that answers no code gives when it fails: NULL, 0, -1; by default the code.

    Raises:
        ValueError: two functions of one name, an annotation that is no C type, an output without a check for NULL.
    """
    rows = tuple(row for given in checks for row in (given if isinstance(given, tuple) else (given,)))

    def register(made: Function) -> Function:
        name = made.__name__
        if name in _entries:
            raise ValueError(f"{made.__module__}: {name} exists already")
        _, *annotations, (_, gives) = made.__annotations__.items()  # as text in these modules
        takes = tuple(parameter(each, annotation) for each, annotation in annotations)
        unchecked = _unchecked(takes, rows)
        if unchecked:
            raise ValueError(f"{name}: NULL for {', '.join(unchecked)} is neither refused nor optional")
        answer = "" if gives == "None" else str(gives)
        names = frozenset(each.name for each in takes)
        _entries[name] = Entry(name, made, takes, rows, waits_for_snapshot, answer, names, failure, passes_snapshot)
        return made

    return register


def _unchecked(takes: tuple[Parameter, ...], rows: tuple[Check, ...]) -> list[str]:
    """Return outputs that may be NULL without the entry expecting it, and objects that no check looks up."""
    refused = {row.name for row in rows if row.test == f"not {row.name}"}
    live = {row.name for row in rows if row.action is Action.LIVE}
    return [
        each.name for each in takes
        if (each.output and not each.optional and each.name not in refused) or (each.object and each.name not in live)
    ]  # fmt: skip


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


def null_pointer(call: str, name: str) -> errors.RuntimeFault:
    """Return the acl layer's answer to a NULL: 100000 with EH0008."""
    return errors.fault(
        "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is NULL", ee="EH0008", params=(call, name),
        hint=f"pass a valid {name}",
    )


def need(call: str, **given: object) -> None:
    """Raise the acl layer's answer to a NULL, naming the first parameter that is one."""
    for name, value in given.items():
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 0):
            raise null_pointer(call, name)


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


def kept(acl: Acl, made: Handled) -> int:
    """Return the handle of what was made for a program, which has it until it gives the handle back."""
    return acl.runtime.handles.keep(made.handle)  # `made` is alive until then: the handle alone holds nothing


def object_of(acl: Acl, call: str, kind: type[Kind], **handle: int | None) -> Kind:
    """Return the live object of the one handle that is named; NULL is 100000 with EH0008, for the rest see `handle_of`.
    """
    need(call, **handle)
    (value,) = handle.values()
    found: Kind = handle_of(acl, value, kind)
    return found


def wrong(
    call: str, value: object, name: str, expected: object, hint: str = "", message: str = "EH0007"
) -> errors.RuntimeFault:
    """Return the acl layer's answer to a wrong value: 100000 with EH0007, or EH0009 where others decide what is right.
    """
    return errors.fault(
        "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is {value}; expected {expected}", ee=message,
        params=(call, value, name, expected), hint=hint,
    )


def stream_of(acl: Acl, handle: int) -> Stream:
    """Return the stream of a handle, wherever it belongs; NULL is the default one of the thread's context.

    Raises:
        InvalidHandle 107017: a stream that is gone.
        ContextError 107002: NULL in a thread without a context.
    """
    from runtime.core.stream.stream import Stream

    return acl.runtime.handles.get(handle, Stream) if handle else acl.runtime.current_context().default_stream


def own_stream_of(acl: Acl, call: str, handle: int) -> Stream:
    """Return the stream of a handle, which must belong to the thread's context.

    The thread's last task goes there from now on.

    Raises:
        InvalidHandle 107017: a stream that is gone.
        ContextError 107002: the thread has no context.
        StreamError 107003: a stream of another context (EE1010).
    """
    from runtime.core.process.current import foreign_stream

    found = stream_of(acl, handle)
    context = acl.runtime.current_context()
    if found.context is not context:
        raise foreign_stream(call, found, context)
    acl.last.note(found)
    return found
