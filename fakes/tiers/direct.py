"""The direct tier (fake://): HAL calls go straight into Python, arguments brought into one form first."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from fakes import hal as calls
from fakes.checkers import leaks
from fakes.checkers.report import LEAK
from fakes.errors import NotModelled
from fakes.hal.absent import absence
from fakes.hal.queues.hot import make_head_reader, make_sender
from fakes.machine.daemon import FakeDaemon
from npuhal import constants as c
from npuhal import prototypes
from npuhal.api import HalApi, TaskFailure

if TYPE_CHECKING:
    from fakes.machine.machine import Machine

Call = Callable[..., Any]
REFERENCE: type[Any] = type(ctypes.byref(ctypes.c_int()))
"""What byref() makes; `_obj` is what it refers to."""


def _scalar(value: Any) -> Any:
    return getattr(value, "value", value)


def _address(value: Any) -> int:
    """Bring a void or char pointer into the form of an address."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    if type(value) is REFERENCE:
        return ctypes.addressof(value._obj)
    if isinstance(value, bytes):
        return ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value or 0
    if isinstance(value, ctypes._Pointer):
        return ctypes.cast(value, ctypes.c_void_p).value or 0
    return ctypes.addressof(value)


def _pointee(kind: type[Any]) -> Call:
    """Return the converter for a pointer to `kind`: gives the object itself, or a view of the memory as `kind`."""

    def convert(value: Any) -> Any:
        if type(value) is REFERENCE:
            value = value._obj
        if type(value) is kind or value is None:
            return value
        address = _address(value)
        return kind.from_address(address) if address else None

    return convert


def converter(ctype: Any) -> Call:
    """Return what brings an argument of a prototype's type into the form that HAL functions of the fake take."""
    if ctype is ctypes.c_void_p:
        return _address
    if isinstance(ctype, type) and issubclass(ctype, ctypes._Pointer):
        return _pointee(ctype._type_)
    return _scalar


_MISSING: Any = object()
_GUARD = """\
        with lock:
            if machine.pending:
                machine.raise_pending()
            if faults.calls:
                code = faults.code_for(name)
                if code is not None:
                    return code
"""
"""In front of each call: the lock of the machine, stored errors, fault rules. `with`, not acquire and try: Ctrl-C in
between would leave the lock held for ever."""
_GUARDED = f"""\
def make(call, name, lock, faults, machine):
    def guarded(*arguments):
{_GUARD}\
            return call(*arguments)
    return guarded
"""
_HOT = f"""\
def make(call, name, lock, faults, machine, reference, convert, invalid, fallback):
    def hot(devid, pointer):
        info = pointer._obj if type(pointer) is reference else convert(pointer)
{_GUARD}\
            answer = invalid if info is None else call(devid, info)
        return fallback(devid, info) if answer is None and fallback is not None else answer
    return hot
"""
_TYPED = f"""\
def make(call, name, lock, faults, machine, missing, wrong{{parts}}):
    def typed({{optional}}*more):
        if more{{short}}:
            raise wrong({{listed}}*more)
{{converted}}\
{_GUARD}\
            return call({{passed}})
    return typed
"""
_CONVERTED = "        {0}_ = {0} if type({0}) is kind_{0} else convert_{0}({0})\n"
"""Under another name: what was given must live as long as what was made of its address."""


@cache
def _written(text: str, what: str) -> Call:
    """Return the function `make` of a text; `what` is said in tracebacks."""
    scope: dict[str, Any] = {"__name__": __name__}  # who looks for the program's line passes our modules by
    exec(compile(text, f"<fakes/tiers/direct.py: {what}>", "exec"), scope)
    made: Call = scope["make"]
    return made


@cache
def _signature(name: str, version: int) -> tuple[Call, int, tuple[Any, ...]]:
    """Return what makes a HAL function, one Python function with conversions and guard, and how it converts."""
    kinds = [arg.ctype for arg in prototypes.prototype(name, version).args]
    names = [f"a{index}" for index in range(len(kinds))]
    text = _TYPED.format(
        listed="".join(f"{each}, " for each in names), optional="".join(f"{each}=missing, " for each in names),
        passed="".join(f"{each}_, " for each in names),
        parts="".join(f", kind_{each}, convert_{each}" for each in names),
        converted="".join(map(_CONVERTED.format, names)), short=f" or {names[-1]} is missing" if names else "",
    )  # fmt: skip
    parts = tuple(part for kind in kinds for part in (passes(kind), converter(kind)))
    return _written(text, f"a function of {len(kinds)} arguments"), len(kinds), parts


def passes(ctype: Any) -> type[Any]:
    """Return the type whose values `converter` leaves as they are."""
    pointer = isinstance(ctype, type) and issubclass(ctype, ctypes._Pointer)
    kind: type[Any] = ctype._type_ if pointer else int
    return kind


class FakeApi(HalApi):
    """A backend to a fake machine; `fake` is the machine, for tests."""

    listens = True
    tries_addresses = True

    def __init__(self, url: str, machine: Machine) -> None:
        super().__init__(url)
        self.fake = machine
        self.stepped, self.follows_entries = not machine.options.free_run, machine.checks is not None
        self._calls = calls.Calls(machine)

    def has(self, name: str) -> bool:
        """Whether a function is there; those the fake does not model refuse by name when called."""
        try:
            prototypes.chapter_of(name, self.version)
            gap = absence(name, self.fake.chip.traits.driver_tree)
        except KeyError:
            return False
        return gap is None or gap.exported

    def daemon(self) -> FakeDaemon:
        """Return the starter of device-side processes."""
        return FakeDaemon(self.fake)

    def annotate(self, key: tuple[str, int], obj: object) -> None:
        """Remember what an id or address stands for, and how many bytes of a block of memory were asked for."""
        fake, (kind, number) = self.fake, key
        if kind == "block":
            size = None if obj is None else getattr(obj, "size", 0)
            if size or fake.checks is not None:
                self._part(number, size, getattr(obj, "graph", -1))
        elif kind == "code":
            fake.kernels.compiled_for(number, obj)
        elif kind == "mem" and (block := fake.memory.find(number)) is not None and block.base == number:
            block.asked = min(getattr(obj, "size", 0), block.size)
        if fake.checks is not None:
            if kind == "entries" and isinstance(obj, tuple):
                with fake.lock:
                    fake.checks.recorded(number, *obj)
                return
            fake.checks.names.set(key, obj)

    def _part(self, address: int, size: int | None, graph: int) -> None:
        with self.fake.lock:
            if size and (block := self.fake.memory.find(address)) is not None:
                block.cut(address, size)
            if self.fake.checks is not None:
                self.fake.checks.part(address, size, graph)

    def remark(self, what: str, device_id: int = 0, sq_id: int = 0) -> None:
        """Let the checkers know which reads the program uses."""
        if (checks := self.fake.checks) is not None:
            with self.fake.lock:
                checks.remark(what, device_id, sq_id)

    @property
    def progress(self) -> int:
        """How many tasks the cards have executed, where they do so during calls."""
        return sum(card.executed for card in self.fake.devices) if self.stepped else 0

    @property
    def looks_for_leaks(self) -> bool:
        """Whether the checker of leaks was asked for by name: `all` looks at what the card is left with."""
        return bool(self.fake.options.asks_for_leaks)

    def in_use(self, device_id: int) -> Mapping[str, Sequence[str]]:
        """Return what the process has of a card beside ids, queues and memory, each with where it was made."""
        with self.fake.lock:
            return {kind: items for in_use in self.fake.in_use for kind, items in in_use(device_id).items()}

    def left_open(self, device_id: int, held: Mapping[str, Sequence[str]]) -> None:
        """Report what the program had not closed when the runtime closed the device."""
        if (checks := self.fake.checks) is not None and checks.on(LEAK):
            with self.fake.lock:
                leaks.report(checks, device_id, held)

    def task_failure(self, device_id: int, sq_id: int) -> TaskFailure | None:
        """Return, once, why the last failed task of a queue has failed."""
        with self.fake.lock:
            sq = self.fake.device(device_id).queues.get(sq_id)
            if sq is None or sq.failure is None:
                return None
            fault, sq.failure = sq.failure, None
        return TaskFailure(str(fault.args[0]), getattr(fault, "cure", ""), fault.__cause__)

    def close(self) -> None:
        """Close the machine: its memory is given back, addresses become invalid.

        Raises:
            CheckFailed: checkers have found mistakes, and nobody has taken their reports.
        """
        self.fake.close()

    def function(self, name: str) -> Call:
        """Return a function that takes converted arguments; refuses or answers NOT_SUPPORT when it is not modelled."""
        if absence(name, self.fake.chip.traits.driver_tree) is not None:
            void = prototypes.prototype(name, self.version).restype is None
            return lambda *_arguments: None if void else c.DRV_ERROR_NOT_SUPPORT
        found = self._calls.find(name)
        if found is not None:
            return found

        def refuse(*_arguments: Any) -> int:
            raise NotModelled(name, "see `npuhal fake coverage` for what is")

        return refuse

    def guarded(self, name: str) -> Call:
        """Return a function under the machine's lock, with fault rules and stored errors looked at first."""
        machine = self.fake
        make = _written(_GUARDED, "a function for C")
        made: Call = make(self.function(name), name, machine.lock, machine.faults, machine)
        return made


class DirectApi(FakeApi):
    """fake://: the callables are Python functions."""

    def __init__(self, url: str, machine: Machine) -> None:
        self._made: dict[str, Call] = {}
        super().__init__(url, machine)

    def raw(self, name: str) -> Call:
        """Return the twin of a function; it is made once: a stream asks for three."""
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._untyped(name)
        return found

    def _untyped(self, name: str) -> Call:
        """Return the twin without conversions for the two hot functions; others are the typed ones."""
        if name == "halSqTaskSend":
            return self._hot(name, make_sender(self.fake), None)
        if name == "halSqCqQuery":
            return self._hot(name, make_head_reader(self.fake), self._typed(name))
        return self._typed(name)

    def _bind(self, prototype: prototypes.Prototype) -> Call:
        return self.raw(prototype.name) if prototype.name == "halSqTaskSend" else self._typed(prototype.name)

    def _typed(self, name: str) -> Call:
        machine = self.fake
        make, count, parts = _signature(name, self.version)

        def wrong(*arguments: Any) -> TypeError:
            given = sum(value is not _MISSING for value in arguments)
            return TypeError(f"{name} takes {count} arguments ({given} given)")

        made: Call = make(
            self.function(name), name, machine.lock, machine.faults, machine, _MISSING, wrong, *parts
        )  # fmt: skip
        made.__name__ = made.__qualname__ = name
        return made

    def _hot(self, name: str, call: Callable[[int, Any], int | None], fallback: Call | None) -> Call:
        """Return the shortest way into a function of (device, pointer to struct)."""
        machine = self.fake
        struct = prototypes.prototype(name, self.version).args[1].ctype._type_
        made: Call = _written(_HOT, f"the fast path of {name}")(
            call, name, machine.lock, machine.faults, machine, REFERENCE, _pointee(struct), c.DRV_ERROR_INVALID_VALUE,
            fallback,
        )
        made.__name__ = made.__qualname__ = name
        return made
