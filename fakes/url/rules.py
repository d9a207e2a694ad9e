"""Faults from text: the rules of the `fault=` option of a URL, and those in YAML (`fakes.url.scenario`).

In YAML a rule is a mapping with one of these keys:

    - {call: halMemAlloc, nth: 3, code: DRV_ERROR_OUT_OF_MEMORY}
    - {task: EXCEPTION, nth: 5, kernel: add_custom}
    - {memory: 1073741824}                    # device allocations from this size on fail
    - {ids: notify, taken: 8000, device: 0}   # somebody else holds them
    - {card: DRV_STATUS_COMMUNICATION_LOST, device: 0, sticky: true}
    - {event: 2163605505, name: HBM ECC error, severity: 2, device: 0}
    - {credit: 4}                             # a sender gets four slots back at a time

A URL rule is the same in words parted by colons, several rules are joined by commas: `NAME:N:CODE` for the n-th call of
a function, `task:N:EFFECT` for the n-th task (`N+`: that one and all that follow), `memory:BYTES`, `ids:KIND:TAKEN`,
`card:STATUS`, `event:ID`, `credit:SLOTS`; further keys follow as `key=value` words: `task:2:HANG:kernel=add`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakes.errors import FakeError
from fakes.faults import Effect
from fakes.machine.daemon import DAEMON_CALLS
from fakes.machine.fault_event import FaultEvent
from npuhal import constants, prototypes
from npuhal.words import natural

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.machine import Machine

KEYS = {
    "call": ("call", "code", "nth", "times"),
    "task": ("task", "code", "nth", "times", "device", "stream", "kind", "kernel"),
    "memory": ("memory",),
    "ids": ("ids", "taken", "device"),
    "card": ("card", "device", "sticky"),
    "event": ("event", "name", "severity", "node_type", "assertion", "device"),
    "credit": ("credit",),
}
"""Kind of a rule -> the keys it may have."""
_WORDS = {
    "task": ("nth", "task"), "memory": ("memory",), "ids": ("ids", "taken"), "card": ("card",), "event": ("event",),
    "credit": ("credit",),
}  # fmt: skip
"""Kind of a URL rule -> the keys of the words behind it; any other first word is the name of a function."""
_TEXT = frozenset({"call", "task", "kind", "kernel", "ids", "name", "card", "code"})
"""Keys whose values are names; all others are numbers."""


def from_text(machine: Machine, text: str) -> None:
    """Put the rules of a `fault=` option in force; FakeError names the rule that is wrong."""
    for rule in filter(None, text.split(",")):
        try:
            apply(machine, _parse(rule))
        except FakeError as wrong:
            raise FakeError(f"fault {rule!r}: {wrong}") from None


def _parse(rule: str) -> dict[str, Any]:
    first, *words = rule.split(":")
    keys = _WORDS.get(first, ("nth", "code"))
    plain = [word for word in words if "=" not in word]
    if len(plain) != len(keys):
        form = ":".join((first if first in _WORDS else "NAME", *(key.upper() for key in keys)))
        raise FakeError(f"the form is {form}, then key=value words if any")
    parsed: dict[str, Any] = {} if first in _WORDS else {"call": first}
    parsed |= zip(keys, plain, strict=True)
    parsed |= (word.partition("=")[::2] for word in words if "=" in word)
    if parsed.get("nth", "").endswith("+"):
        parsed["nth"], parsed["times"] = parsed["nth"][:-1], 0
    return {key: value if key in _TEXT else _number(key, value) for key, value in parsed.items()}


def _number(key: str, value: Any) -> int:
    try:
        return int(str(value), 0)
    except ValueError:
        raise FakeError(f"{key} is {value!r}; it must be a number") from None


def apply(machine: Machine, rule: Mapping[str, Any]) -> None:
    """Put one rule in force."""
    kinds = [kind for kind in KEYS if isinstance(rule, Mapping) and kind in rule]
    if len(kinds) != 1:
        raise FakeError(f"{rule!r} must have exactly one of {', '.join(KEYS)}")
    kind = kinds[0]
    unknown = rule.keys() - set(KEYS[kind])
    if unknown:
        raise FakeError(f"{rule!r}: unknown key {sorted(unknown)[0]!r}; known are {', '.join(KEYS[kind])}")
    _APPLY[kind](machine, rule[kind], {key: value for key, value in rule.items() if key != kind})


def _call(machine: Machine, name: str, options: dict[str, Any]) -> None:
    if "code" not in options:
        raise FakeError(f"call {name}: `code` is missing")
    if name not in (known := {*prototypes.names(), *DAEMON_CALLS}):
        from difflib import get_close_matches  # late: only a wrong rule needs it

        close = get_close_matches(str(name), known, 1)
        near = f"; is {close[0]} meant?" if close else f", and no kind of rule ({', '.join(_WORDS)})"
        raise FakeError(f"{name!r} is no function of the driver{near}")
    machine.faults.on_call(name, _code(options.pop("code")), **options)


def _task(machine: Machine, effect: str, options: dict[str, Any]) -> None:
    effect = str(effect).upper()
    if effect not in Effect.__members__:
        raise FakeError(f"{effect!r} is none of {', '.join(Effect.__members__)}")
    if "code" in options:
        options["code"] = _code(options["code"])
    machine.faults.on_task(Effect[effect], **options)


def _memory(machine: Machine, size: Any, _options: dict[str, Any]) -> None:
    machine.faults.out_of_memory_from = _number("memory", size)


def _credit(machine: Machine, slots: Any, _options: dict[str, Any]) -> None:
    machine.faults.slow_credit = _number("credit", slots)


def _ids(machine: Machine, kind: str, options: dict[str, Any]) -> None:
    ids = _device(machine, options).ids
    if kind not in ids:
        raise FakeError(f"{kind!r} is none of {', '.join(ids)}")
    if machine.shared is None or machine.shared.table.fresh:
        ids[kind].occupy(int(options.get("taken", ids[kind].limit)))


def _card(machine: Machine, status: int | str, options: dict[str, Any]) -> None:
    _device(machine, options).fail(_code(status), sticky=bool(options.get("sticky")))


def _event(machine: Machine, number: Any, options: dict[str, Any]) -> None:
    device = _device(machine, options)
    options.pop("device", None)
    device.raise_fault(FaultEvent(_number("event", number), options.pop("name", "a fault rule"), **options))


_APPLY: Mapping[str, Callable[[Machine, Any, dict[str, Any]], None]] = {
    "call": _call, "task": _task, "memory": _memory, "ids": _ids, "card": _card, "event": _event, "credit": _credit,
}  # fmt: skip


def _device(machine: Machine, options: Mapping[str, Any]) -> Device:
    index = int(options.get("device", 0))
    if not 0 <= index < len(machine.devices):
        raise FakeError(f"there is no device {index}")
    return machine.devices[index]


def _code(value: int | str) -> int:
    """Return a number given as such, as digits, or by its C name."""
    if isinstance(value, int):
        return value
    if (number := natural(value)) is not None:
        return number
    try:
        return int(getattr(constants, value))
    except AttributeError:
        raise FakeError(f"{value!r} is neither a number nor a constant of the HAL headers") from None
