"""Carries calls of a C program to the entries of the C API: numbers, addresses and text become what they take.

An output is written through the caller's pointer when the entry has written it. Functions that the program gives are
called without the interpreter's lock. Text that is returned stays valid for the life of the process.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import struct
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from npuhal import shim_settings
from npuhal.interrupts import raised_by_handler
from npuhal.late import logger
from runtime import errors
from runtime.api.process import Runtime
from runtime.capi.aclrt import Out
from runtime.capi.aclrt.entry import UNTOUCHED, find
from runtime.capi.aclrt.kinds import ARRAYS, KINDS, Parameter
from runtime.capi.pyacl.binding import process
from runtime.capi.shim import declarations as c
from runtime.capi.shim.stubs import by_value
from runtime.core.callbacks.exceptions import ExceptionInfo
from runtime.memory import caller

_LOG = logger(__name__)
_END = 0xFFFFFFFF
_kept: list[Any] = []

Carrier = Callable[[int, list[int]], None]
"""What carries the calls of a function: takes the address of its words, and a list that it writes answers into.

The last one counts. The first is written when the call is about to begin: it is the answer of a call that an exception
of a signal handler, or one that another thread sets, breaks off. Where one comes earlier the call is made again.
"""
at_interrupt: list[Callable[[str], None]] = []
"""Are told the name of a function whose call an interrupt has ended: what it waited for may never come."""
_bound: dict[int, Carrier] = {}
"""What carries calls, by number."""

Reader = Callable[[Any], Any]


def start(address: int, own: bool) -> None:
    """Write the address of the function that library.c calls to `address`; `own`: the interpreter is the library's."""
    bound = _bound
    bound[_END] = _finish

    def call(number: int, args: int, answers: list[int]) -> None:
        function = bound.get(number)
        if function is None:
            function = bound[number] = _bind(number)
        function(args, answers)

    _kept.append(call)
    ctypes.c_void_p.from_address(address).value = id(call)
    if own:
        logging.basicConfig(format="npuhal: %(message)s", level=logging.WARNING)
        # what checkers have to say is said at the end
        logging.getLogger("npuhal.fake.check").addFilter(lambda record: record.levelno < logging.ERROR)
    Runtime.started.register(__name__, _answer_in_c)
    shim_settings.strict()
    if (set_up := shim_settings.setup()) is not None:
        Runtime.started.register(shim_settings.SETUP, lambda opened: set_up(opened.hal.fake))


def refuse(number: int, fault: errors.RuntimeFault) -> None:
    """Let a function fail from now on, whatever it is called with."""

    def call(_args: int, answers: list[int]) -> None:
        answers.append(fault.code)
        process().reports.post(fault)

    _bound[number] = call


def _answer_in_c(opened: Runtime) -> None:
    """Let a fake fail tasks instead of raising what functions attached to it have raised."""
    if (machine := getattr(opened.hal, "fake", None)) is not None:
        machine.raises = False


def _bind(number: int) -> Carrier:
    if number < len(c.functions()):
        return bind(c.functions()[number])
    from runtime.capi.shim.torch import calls

    return calls.bind(number)


def bind(function: c.CFunction) -> Carrier:
    """Return what carries the calls of a C function."""
    entry = find(function.name)
    assert entry is not None, function.name
    rows = list(enumerate(zip(entry.arguments, function.parameters, strict=True)))
    layout = struct.Struct("<" + "".join(_format(field.type) for field in function.parameters))
    read_in = {each.name for _, (each, _) in rows if not each.output} | {ARRAYS.get(function.name, "")}
    readers = [(index, each.name, _reader(each, field.type)) for index, (each, field) in rows if each.name in read_in]
    outputs = [(index, each.name, _writer(field.type)) for index, (each, field) in rows if each.name not in read_in]
    targets = [(index, _written_bytes(field.type)) for index, (each, field) in rows if each.name not in read_in]
    answer = _answer(function.result)
    name, size, failed = function.name, layout.size, function.failure

    def call(args: int, answers: list[int]) -> None:
        try:
            words = layout.unpack(ctypes.string_at(args, size)) if size else ()
            given = {key: read(words[index]) for index, key, read in readers}
            for index, width in targets:
                _check_target(words[index], width)
            outs: dict[str, Out[Any] | None] = {key: Out() if words[index] else None for index, key, _ in outputs}
            answers.append(failed)
            result = process().call(name, **given, **outs)
            for index, key, write in outputs:
                write(words[index], outs[key])
            answers.append(answer(result))
        except errors.RuntimeFault as fault:  # text or an output where this process has no memory
            answers.append(fault.code if function.result == "aclError" else failed)
            process().reports.post(fault)
        except BaseException as problem:
            if interrupts(name, problem, answers):
                raise
            answers.append(failed)
            _LOG.exception("%s failed in npuhal itself", name)

    return call


def interrupts(name: str, problem: BaseException, answers: list[int]) -> bool:
    """Whether an exception does not come from a call but ends it: that of a signal handler, or of another thread."""
    if isinstance(problem, Exception) and not raised_by_handler(problem):
        return False
    if answers:
        for hear in at_interrupt:
            hear(name)
        text = f"{name} was broken off by {type(problem).__name__}"
        process().reports.post(errors.fault("ACL_ERROR_INTERNAL_ERROR", text))
    return True


def _format(kind: str) -> str:
    made = c.ctype(kind)
    if by_value(kind):
        return "Q"
    letters = {1: "b", 2: "h", 4: "i", 8: "q"}
    if made is ctypes.c_float:
        return "f4x"
    size = ctypes.sizeof(made)
    signed = made in (ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64)
    letter = letters[size] if signed else letters[size].upper()
    return f"{letter}{8 - size}x"


def _reader(parameter: Parameter, kind: str) -> Reader:
    """Return what makes an entry's argument of a word."""
    if parameter.output:  # an array that the entry fills by its address
        return lambda address: address or None
    if parameter.kind == "Callback":
        return partial(_function, kind)
    if parameter.kind == "Info":
        return _exceptions.get
    if parameter.kind == "Text":
        return _text
    if parameter.kind == "Dim3":
        return lambda address: tuple((ctypes.c_uint32 * 3).from_address(address))
    if by_value(kind) and not KINDS[parameter.kind].number:
        made = c.ctype(kind)
        return lambda address: made.from_address(address)
    return lambda value: value


def _text(address: int) -> str | None:
    return caller.text(address).decode(errors="surrogateescape") if address else None


def _target(kind: str) -> Any:
    """Return the C type that a pointer of a C type leads to."""
    return c.ctype(kind.removeprefix("const ").removesuffix("*"))


def _written_bytes(kind: str) -> int:
    return ctypes.sizeof(_target(kind))


def _check_target(address: int, width: int) -> None:
    """Refuse a wrong address before anything is done: it would end the process."""
    if address:
        caller.check_writable(address, width)


def _writer(kind: str) -> Callable[[int, Out[Any] | None], None]:
    """Return what stores an output through a pointer of a C type, where there is one and it was written."""
    target = _target(kind)

    def write(address: int, out: Out[Any] | None) -> None:
        if out is None or out.value is UNTOUCHED:
            return
        value: Any = out.value
        if isinstance(value, str):
            value = lasting(caller.octets(value))
        elif isinstance(value, (list, tuple)):  # enumerators, in an array that stays ours
            value = lasting(b"".join(number.to_bytes(4, "little", signed=True) for number in value))
        elif callable(value):
            value = value.address
        target.from_address(address).value = value or 0

    return write


@cache
def lasting(data: bytes) -> int:
    """Return the address of bytes that stay as long as the process; equal ones are there once."""
    buffer = ctypes.create_string_buffer(data)
    _kept.append(buffer)
    return ctypes.addressof(buffer)


def _answer(result: str) -> Callable[[Any], int]:
    """Return what makes the C result of what a call gives."""
    if result == "float":
        return lambda value: int.from_bytes(struct.pack("<f", value), "little")
    if result in ("const char*", "char*"):
        return lambda value: lasting(caller.octets(value)) if isinstance(value, str) else 0
    return lambda value: int(value or 0)


class _Exceptions:
    """Events that callbacks are being told of, by the numbers that the program sees as their addresses."""

    def __init__(self) -> None:
        self._known: dict[int, ExceptionInfo] = {}

    def add(self, info: ExceptionInfo) -> int:
        self._known[id(info)] = info
        return id(info)

    def remove(self, number: int) -> None:
        del self._known[number]

    def get(self, number: int) -> ExceptionInfo | None:
        return self._known.get(number)


_exceptions = _Exceptions()


class CallbackFunction:
    """A function of the program as the runtime calls it; equal for equal functions, so that it can be taken back."""

    def __init__(self, kind: str, address: int) -> None:
        parameters, result = c.callbacks()[kind]
        self.address = address
        self._function = ctypes.CFUNCTYPE(c.ctype(result), *(c.ctype(each.type) for each in parameters))(address)

    def __call__(self, *given: Any) -> Any:
        """Call it, without the interpreter's lock; an exception it is told of is known by number meanwhile."""
        told = [each for each in given if isinstance(each, ExceptionInfo)]
        try:
            return self._function(*(_exceptions.add(each) if each in told else _word(each) for each in given))
        finally:
            for each in told:
                _exceptions.remove(id(each))


def _word(value: Any) -> int:
    if isinstance(value, str):
        return lasting(caller.octets(value))
    return 0 if value is None else int(value)


@cache
def _function(kind: str, address: int) -> CallbackFunction | None:
    return CallbackFunction(kind, address) if address else None


def _finish(_args: int, answers: list[int]) -> None:
    """The program ends: run what is to run at the interpreter's end; answers the status it must have, 0 for its own."""
    answers.append(0)
    failed = 0
    try:
        process().close()
    except errors.RuntimeFault as fault:
        print(f"npuhal: {fault}", file=sys.stderr)
    except Exception as found:  # what the checkers of a fake have to say
        failed = 1
        print(*(f"npuhal: {line}" for line in str(found).splitlines()), sep="\n", file=sys.stderr)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    answers.append(failed if shim_settings.strict() else 0)
