"""``npuhal sqe encode``: the entries that a task becomes on a chip, from values on the command line."""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import chips.tasks
from chips.chip import Chip
from chips.env import EncodeEnv, TaskIds
from chips.layout import SQE_BYTES, FieldOverflow
from chips.registry import UnsupportedTask, plugin
from chips.tasks import Task, TaskType
from npuhal.records import fields
from runtime.cli import UsageError

if TYPE_CHECKING:
    from chips.registry import Plugin

_IDS = ("task_id", "task_sn", "position")
_NOT_STATED = frozenset({"chip", "ts_features", "aic_qos", "aiv_qos"})
"""Fields of the environment that are no plain numbers."""


def encode(chip: Chip, name: str, words: Sequence[str]) -> tuple[Plugin, list[bytes]]:
    """Return the chip's plug-in, and the 64-byte entries of a task.

    Args:
        name: of the task description (`NotifyRecord`) or of its type (`NOTIFY_RECORD`), in any letter case.
        words: "field=value" of the task, of its ids (`task_id=7`) or of the environment (`stream_id=33`).

    Raises:
        UsageError: an unknown task or field, a field that is missing, a value of another kind or that is too large, or
            a task that the chip's generation has no builder for.
    """
    kind = _kind(name)
    stated, ids, env = _sorted(kind, words)
    made = plugin(chip)
    try:
        task = kind(**stated)
        data = made.encode(task, EncodeEnv(chip=chip, **env), TaskIds(**({"task_id": 0} | ids)))
    except (FieldOverflow, UnsupportedTask, ValueError, LookupError) as wrong:
        raise UsageError(f"{kind.__name__} on {chip.soc}: {wrong}") from None
    return made, [data[at : at + SQE_BYTES] for at in range(0, len(data), SQE_BYTES)]


def kinds() -> dict[str, type[Task]]:
    """Return the task descriptions by class name."""
    found = (value for value in vars(chips.tasks).values() if isinstance(value, type) and issubclass(value, Task))
    return {kind.__name__: kind for kind in found if hasattr(kind, "__dataclass_fields__")}


def _kind(name: str) -> type[Task]:
    known = kinds()
    wanted = name.replace("_", "").lower()
    for each, kind in known.items():
        if each.lower() == wanted:
            return kind
    types_of = {kind.type.name.replace("_", "").lower(): kind for kind in known.values() if _has_type(kind)}
    if wanted in types_of:
        return types_of[wanted]
    near = get_close_matches(name, known, n=3)
    cure = f"did you mean {' or '.join(near)}?" if near else "--task list shows all"
    raise UsageError(f"--task {name}: there is no such task", cure)


def _has_type(kind: type[Task]) -> bool:
    return isinstance(getattr(kind, "type", None), TaskType)


def _sorted(kind: type[Task], words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Divide the words among the task, its ids and the environment."""
    names = {"Chip": Chip}  # which chips.env imports for type checkers only
    hints = get_type_hints(kind, localns=names)
    of_task = {field.name: hints[field.name] for field in fields(kind) if field.init}
    of_env = {name: hint for name, hint in get_type_hints(EncodeEnv, localns=names).items() if name not in _NOT_STATED}
    stated: dict[str, Any] = {}
    ids: dict[str, Any] = {}
    env: dict[str, Any] = {}
    for word in words:
        name, given, text = word.partition("=")
        if not given:
            raise UsageError(f"{word!r} is not field=value", f"fields of {kind.__name__}: {_listed(of_task)}")
        if name in of_task:
            stated[name] = _value(name, text, of_task[name])
        elif name in _IDS:
            ids[name] = _value(name, text, int)
        elif name in of_env:
            env[name] = _value(name, text, of_env[name])
        else:
            near = get_close_matches(name, [*of_task, *_IDS, *of_env], n=2)
            meant = f"did you mean {' or '.join(near)}? " if near else ""
            raise UsageError(
                f"{kind.__name__} has no field {name!r}", f"{meant}its fields: {_listed(of_task) or 'none'}; "
                "beside them ids (task_id) and what a stream decides (stream_id)",
            )
    needed = {
        field.name: of_task[field.name] for field in fields(kind) if field.init and not _has_default(field)
    }  # fmt: skip
    if missing := {name: hint for name, hint in needed.items() if name not in stated}:
        raise UsageError(f"{kind.__name__} needs {_listed(missing)}", "give each as field=value")
    return stated, ids, env


def _has_default(field: Any) -> bool:
    import dataclasses

    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _listed(hints: dict[str, Any]) -> str:
    return ", ".join(f"{name} ({_name_of(hint)})" for name, hint in hints.items())


def _name_of(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("chips.tasks.", "")


def _value(name: str, text: str, hint: Any) -> Any:
    """Read a value: an integer in any base, true or false, an enumerator, hex bytes, integers with commas."""
    for kind in get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,):
        if kind is type(None):
            if text.lower() == "none":
                return None
            continue
        try:
            return _read(text, kind)
        except (ValueError, KeyError):
            continue
    raise UsageError(f"{name}={text}: not a value of type {_name_of(hint)}", _how(hint))


def _read(text: str, kind: Any) -> Any:
    if kind is bool:
        return {"0": False, "1": True, "false": False, "true": True}[text.lower()]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind[text.upper()] if text.upper() in kind.__members__ else kind(int(text, 0))
    if kind is int:
        return int(text, 0)
    if kind is float:
        return float(text)
    if kind is bytes:
        return bytes.fromhex(text)
    if get_origin(kind) is tuple and set(get_args(kind)) <= {int, Ellipsis}:
        return tuple(int(part, 0) for part in text.split(",") if part)
    raise ValueError(kind)


def _how(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return f"one of {', '.join(hint.__members__)}"
    return {
        int: "a number such as 33 or 0x21", bool: "true or false", bytes: "hexadecimal digits",
    }.get(hint, "values of this type cannot be written on the command line; use chips.registry.plugin(chip).encode")
