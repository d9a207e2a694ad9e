"""Faults from text: the `fault=` option of a URL, and YAML files of rules (`scenario=`).

A URL rule is `NAME:N:CODE` for the n-th call of a function, or `task:N:EFFECT` for the n-th task; several are joined by
commas. A YAML file is a list of mappings, each with one of the keys `call`, `task`, `memory`, `ids`, `card`:

    - {call: halMemAlloc, nth: 3, code: DRV_ERROR_OUT_OF_MEMORY}
    - {task: EXCEPTION, nth: 5, kernel: add_custom}
    - {memory: 1073741824}                    # device allocations from this size on fail
    - {ids: notify, taken: 8000, device: 0}   # somebody else holds them
    - {card: DRV_STATUS_COMMUNICATION_LOST, device: 0, sticky: true}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakes.errors import FakeError
from fakes.faults import Effect
from npuhal import constants

if TYPE_CHECKING:
    from fakes.machine import Machine

_KEYS = {
    "call": {"call", "code", "nth", "times"},
    "task": {"task", "code", "nth", "times", "device", "stream", "kind", "kernel"},
    "memory": {"memory"},
    "ids": {"ids", "taken", "device"},
    "card": {"card", "device", "sticky"},
}


def from_text(machine: Machine, text: str) -> None:
    """Put the rules of a `fault=` option in force; FakeError names the rule that is wrong."""
    for rule in filter(None, text.split(",")):
        parts = rule.split(":")
        if len(parts) != 3 or not parts[1].isdigit():
            raise FakeError(f"fault {rule!r} is neither NAME:N:CODE nor task:N:EFFECT")
        name, nth, what = parts
        apply(machine, {"task": what, "nth": int(nth)} if name == "task" else
              {"call": name, "nth": int(nth), "code": what})  # fmt: skip


def from_file(machine: Machine, path: str | Path) -> None:
    """Put the rules of a YAML file in force; FakeError names file, entry and what is wrong."""
    import yaml

    try:
        rules = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as wrong:
        raise FakeError(f"scenario {path}: {wrong}") from None
    if not isinstance(rules, list):
        raise FakeError(f"scenario {path}: a list of rules is expected, not {type(rules).__name__}")
    for number, rule in enumerate(rules, 1):
        try:
            apply(machine, rule)
        except FakeError as wrong:
            raise FakeError(f"scenario {path}, rule {number}: {wrong}") from None


def apply(machine: Machine, rule: Mapping[str, Any]) -> None:
    """Put one rule in force."""
    kinds = [kind for kind in _KEYS if isinstance(rule, Mapping) and kind in rule]
    if len(kinds) != 1:
        raise FakeError(f"{rule!r} must have exactly one of {', '.join(_KEYS)}")
    kind = kinds[0]
    unknown = rule.keys() - _KEYS[kind]
    if unknown:
        raise FakeError(f"{rule!r}: unknown key {sorted(unknown)[0]!r}; known are {', '.join(sorted(_KEYS[kind]))}")
    options = {key: value for key, value in rule.items() if key != kind}
    if kind == "call":
        code = options.pop("code", None)
        if code is None:
            raise FakeError(f"{rule!r}: `code` is missing")
        machine.faults.on_call(rule["call"], _code(code), **options)
    elif kind == "task":
        effect = str(rule["task"]).upper()
        if effect not in Effect.__members__:
            raise FakeError(f"{rule!r}: {effect!r} is none of {', '.join(Effect.__members__)}")
        machine.faults.on_task(Effect[effect], **options)
    elif kind == "memory":
        machine.faults.out_of_memory_from = int(rule["memory"])
    else:
        _on_card(machine, rule, kind)


def _on_card(machine: Machine, rule: Mapping[str, Any], kind: str) -> None:
    index = int(rule.get("device", 0))
    if not 0 <= index < len(machine.devices):
        raise FakeError(f"{rule!r}: there is no device {index}")
    device = machine.devices[index]
    if kind == "card":
        device.fail(_code(rule["card"]), sticky=bool(rule.get("sticky")))
    elif rule["ids"] not in device.ids:
        raise FakeError(f"{rule!r}: {rule['ids']!r} is none of {', '.join(device.ids)}")
    else:
        device.ids[rule["ids"]].occupy(int(rule.get("taken", device.ids[rule["ids"]].limit)))


def _code(value: int | str) -> int:
    """Return a number given as such, as digits, or by its C name."""
    if isinstance(value, int):
        return value
    if value.isdigit():
        return int(value)
    try:
        return int(getattr(constants, value))
    except AttributeError:
        raise FakeError(f"{value!r} is neither a number nor a constant of the HAL headers") from None
