"""What the fields of queue entries mean, for people (fields.yaml)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from chips import yaml_file
from chips.tasks import TaskType

_ALWAYS = frozenset({"type", "stream_id", "task_id", "task_sn"})
_AROUND = re.compile(r"^(?:aic_|aiv_|src_|dst_|tail_)|(?:_low|_mid|_high|_top|_lower|_upper|_\d|\[\d+\])$")
_SIDES = {"aic_": "cube cores", "aiv_": "vector cores", "src_": "source", "dst_": "target"}


@cache
def _tables() -> tuple[dict[str, str], dict[str, dict[int, str]]]:
    data: dict[str, Any] = yaml_file.load(Path(__file__).with_name("fields.yaml"))
    return data["fields"], data["values"]


def shown_when_zero(name: str) -> bool:
    """Tell whether a field says something even when it is 0."""
    return name in _ALWAYS


def meaning(name: str) -> str:
    """Return what a field means; an empty text if nobody wrote it down.

    Array elements, halves of an address and the fields of one kind of core are explained by what they are part of.
    """
    fields, _ = _tables()
    base, side = name, ""
    while base not in fields:
        part = _AROUND.search(base)
        if part is None or part.group() == base:
            return ""
        side = side or _SIDES.get(part.group(), "")
        base = base[: part.start()] + base[part.end() :]
    return f"{fields[base]} ({side})" if side else fields[base]


def explain(name: str, value: int) -> str:
    """Return the meaning of a field, and of its value where single values have names."""
    said = value_name(name, value)
    text = meaning(name)
    return f"{text}: {said}" if said and text else said or text


def value_name(name: str, value: int) -> str:
    """Return the name of one value of a field, an empty text if it has none."""
    if name == "task_type" and value in TaskType._value2member_map_:
        return TaskType(value).name
    _, values = _tables()
    return values.get(name, {}).get(value, "")
