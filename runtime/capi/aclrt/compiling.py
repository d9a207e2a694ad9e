"""Checks of an entry as one function: arguments by name in, NULL for what is missing, checks in order, then the body.

The function is written as text, as `chips.packing` does with entries of a queue: a call runs comparisons, nothing else.
Tracebacks and debuggers show the text.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any

from npuhal.records import replace
from npuhal.words import shown
from runtime.capi.aclrt import predicates
from runtime.capi.aclrt.checks import Action, Check, foreign_model
from runtime.capi.aclrt.kinds import ARRAYS, KINDS, Out, Parameter
from runtime.core.process.current import foreign_stream
from runtime.errors.arguments import whole
from runtime.memory import caller

if TYPE_CHECKING:
    from runtime.capi.aclrt.state import Acl

PREDICATES = {name: value for name, value in vars(predicates).items() if not name.startswith("_")}
"""What conditions may use besides parameters."""


def compiled(
    name: str, body: Callable[..., Any], parameters: Sequence[Parameter], checks: Iterable[Check], *, waits: bool,
    answers: bool, passes: bool = False,
) -> Callable[..., Any]:
    """Return the function of an entry: `function(acl, **arguments)`.

    Args:
        name: the C function's name.
        body: what runs when no check refuses, with the parameters in the header's order.
        checks: in the order in which they run.
        waits: a locked process lets the call wait, behind the checks of the acl layer.
        answers: the C function returns something else than a code.
        passes: a locked process does not hold it up, though it sends something.
    """
    text, values = source(name, parameters, tuple(checks), waits=waits, answers=answers)
    values["body"] = _passing(body) if passes else body
    file = f"<checks of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), values)
    made: Callable[..., Any] = values[name]
    return made


def _passing(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a body that goes on while the process is locked by a snapshot."""

    @wraps(body)
    def run(acl: Acl, *given: Any) -> Any:
        with acl.runtime.lock.passing():
            return body(acl, *given)

    return run


_WIDEST = 8
"""Bytes of the widest number of C; structures that are passed by value are addresses here."""
_NEVER_TRUE = frozenset(("Size", "Address", "Handle"))
"""Kinds for which `bool` is a mistake; flags and numbers of C take it as 0 or 1."""


def plain(call: str, name: str, given: Any, kind: str) -> int:
    """Return a number as a plain int: 0 for NULL, NumPy's integers as what they are, what C makes of one below 0.

    Args:
        kind: the C type, a name in `KINDS`; text stands for the address of a copy.

    Raises:
        InvalidArgument 107000: it is no whole number.
    """
    if given is None:
        return 0
    if kind == "Address" and isinstance(given, (str, bytes)):
        return caller.address_of(given)
    if isinstance(given, bool) and kind not in _NEVER_TRUE:
        return int(given)
    number, of = whole(call, name, given), KINDS[kind]
    return number if number >= 0 or of.signed else number & (1 << 8 * min(of.size_bytes, _WIDEST)) - 1


_TYPES = {
    "Text": ("given.__class__ is not str", "a str"),
    "Callback": ("not callable(given)", "a function"),
    "F32": ("given.__class__ is not float", "a number"),
    "Dim3": ("given.__class__ is not tuple or len(given) != 3", "three ints"),
    "Info": ("not hasattr(given, 'task_id')", "what the callback was given"),
    "CondTaskParams": ("not hasattr(given, 'modelRIArray')", "an aclmdlRICondTaskParams"),
}
"""Arguments that are no numbers: when one is looked at closer, as a condition of Python, and what it must be."""


def typed(call: str, name: str, given: Any, kind: str, output: bool) -> Any:
    """Return an argument that is no number, or an output, as the entry expects it: None for 0, the text at an address.

    Raises:
        TypeError: it is of another type; no code could tell, and what C makes of it would end a process.
    """
    if given.__class__ is int and not given:
        return None
    if output:
        if isinstance(given, Out) or (isinstance(given, int) and ARRAYS.get(call) == name):
            return given
        wanted = "an Out()"
    elif kind == "Text" and isinstance(given, int) and not isinstance(given, bool):
        return caller.text(given).decode(errors="surrogateescape")
    elif kind == "Text" and isinstance(given, str):  # NumPy's, say
        return str(given)
    elif kind == "F32" and isinstance(given, Real):
        return float(given)
    elif kind == "Dim3" and isinstance(given, Sequence) and len(given) == 3:
        return tuple(given)
    else:
        wanted = _TYPES[kind][1]
    raise TypeError(f"{call}: {name} is {shown(given)}, {type(given).__name__}; it must be {wanted}")


def _type_line(call: str, each: Parameter) -> str:
    refused = "given.__class__ is not Out" if each.output else _TYPES[each.kind][0]
    return (
        f"    if {each.name} is not None and ({refused.replace('given', each.name)}): {each.name} = "
        f"typed({call!r}, {each.name!r}, {each.name}, {each.kind!r}, {each.output})"
    )


def source(
    name: str, parameters: Sequence[Parameter], checks: Sequence[Check], *, waits: bool, answers: bool
) -> tuple[str, dict[str, Any]]:
    """Return the text of an entry's function, and what its names stand for but for `body`."""
    values: dict[str, Any] = {
        **PREDICATES, "foreign_stream": foreign_stream, "foreign_model": foreign_model, "plain": plain, "typed": typed,
        "Out": Out, "__name__": __name__,
    }  # fmt: skip
    takes = ", ".join(f"{each.name}={0 if each.number else None}" for each in parameters)
    by_name = {each.name: each for each in parameters}
    lines = [f"def {name}(acl{', *, ' if takes else ''}{takes}):"]
    numbers = [each for each in parameters if each.number]
    lines += [
        f"    if {each.name}.__class__ is not int{'' if KINDS[each.kind].signed else f' or {each.name} < 0'}: "
        f"{each.name} = plain({name!r}, {each.name!r}, {each.name}, {each.kind!r})"
        for each in numbers
    ]
    # What the entry alone looks at is looked at behind the checks: those refuse NULL, in the vendor's order.
    early = {check.writes[0] for check in checks if check.writes} | {
        each.name for each in parameters if not each.output and each.kind != "Info"
    }
    of_type = {each.name: _type_line(name, each) for each in parameters if each.output or each.kind in _TYPES}
    lines += [line for key, line in of_type.items() if key in early]
    known = {"runtime": False, "context": False}
    waiting = waits
    for number, check in enumerate(checks):
        if waiting and not check.acl_layer:
            lines.append("    acl.wait_unlocked()")
            waiting = False
        lines += _lines(name, number, _adapted(check, by_name.get(check.name)), values, known)
    if waiting:
        lines.append("    acl.wait_unlocked()")
    lines += [line for key, line in of_type.items() if key not in early]
    given = ", ".join(("acl", *(f"{each.name}_" if each.object else each.name for each in parameters)))
    lines += [f"    return body({given})"] if answers else [f"    body({given})", "    return 0"]
    return "\n".join(lines) + "\n", values


def _adapted(check: Check, about: Parameter | None) -> Check:
    """Return the check as the parameter's kind wants it: a string's NULL is not "", what has a sign may be below 0.

    An output is not asked whether it is true: what stands there wrongly may not know.
    """
    if about is None:
        return check
    name, null = about.name, f"not {about.name}"
    if check.test == null and about.kind == "Text" and not about.output:
        return replace(check, test=f"{name} is None")
    if check.test in (null, name) and (about.output or about.kind == "Info"):
        unset = f"({name} is None or {name}.__class__ is int and not {name})"
        return replace(check, test=unset if check.test == null else f"not {unset}")
    if KINDS[about.kind].signed and check.test == f"{name} <= 0":
        return replace(check, test=f"{name} == 0")
    return check


def _lines(call: str, number: int, check: Check, values: dict[str, Any], known: dict[str, bool]) -> list[str]:
    """Return the lines of one check; `known` says what an earlier one has looked up."""
    lines: list[str] = []
    name = check.name

    def runtime() -> None:
        if not known["runtime"]:
            known["runtime"] = True
            lines.append("    runtime = acl.runtime")

    def context() -> None:
        if not known["context"]:
            known["context"] = True
            lines.append("    context = runtime.current_context()")

    if check.action is Action.REFUSE:
        values[f"check{number}"] = check
        value = name if name.isidentifier() else "None"
        because = f", {check.because}" if check.because else ""
        lines.append(f"    if {check.test}: raise check{number}.fault({call!r}, {value}{because})")
    elif check.action is Action.SUCCEED:
        write = f"{check.writes[0]}.value = {check.writes[1]}; " if check.writes else ""
        lines.append(f"    if {check.test}: {write}return 0")
    elif check.action is Action.WRITE and check.writes:
        lines.append(f"    {check.writes[0]}.value = {check.writes[1]}")
    elif check.action is Action.LIVE:
        runtime()
        values[f"kind{number}"] = check.kind
        lines.append(f"    {name}_ = runtime.handles.get({name}, kind{number}) if {name} else None")
    elif check.action is Action.CONTEXT:
        runtime()
        usual = check.code == "ACL_ERROR_RT_CONTEXT_NULL" and check.message == "EE1018"
        if usual and not check.test:
            context()
        elif usual:
            lines.append(f"    if {check.test}: runtime.current_context()")
        else:
            values[f"check{number}"] = check
            only = f" and ({check.test})" if check.test else ""
            lines.append(
                f"    if runtime.find_context() is None and runtime.default_device is None{only}: "
                f"raise check{number}.fault({call!r}, None)"
            )
    elif check.action is Action.DEVICE:
        runtime()
        lines.append(f"    runtime.slot({name}, {call!r})")
    elif check.action is Action.DEFAULT:
        runtime()
        context()
        lines.append(f"    if {name}_ is None: {name}_ = context.default_stream")
    elif check.action is Action.OWN_MODEL:
        runtime()
        context()
        lines.append(f"    if {name}_.context is not context: raise foreign_model({call!r}, {name}_)")
    else:
        runtime()
        context()
        unless = f" and not {check.test}" if check.test else ""
        lines += [
            f"    if {name}_ is None: {name}_ = context.default_stream",
            f"    elif {name}_.context is not context{unless}: raise foreign_stream({call!r}, {name}_, context)",
        ]
    return lines
