"""Reads recorded SQE vectors: what a runtime was asked for, and the bytes it built.

Three forms are read: white-box files (a JSON list of ``task, variant, task_type, chip, inputs, sqe_hex, aux``),
builder cases (YAML: ``sets`` of a ``context`` and ``cases`` with ``inputs`` and ``sqes``), and call traces (a JSON list
of ``api`` with ``sends``).  ``recorded`` turns inputs into task descriptions and an environment; what it has no
description for is returned all the same, so that nothing is skipped unseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from chips.blocks import DeviceBlock
from chips.chip import Chip
from chips.env import EncodeEnv, TaskIds
from chips.tasks import Task
from chips.verify import recorded
from npuhal.files import load_json, read_bytes
from npuhal.records import dataclass


class BadVectorFile(ValueError):
    """A file that is not one of the three forms, or an entry of it that lacks something."""


@dataclass(frozen=True, slots=True)
class Vector:
    """One recorded task: description, environment, and the bytes expected.

    ``task`` is None where the kind has no description here, or its inputs do not make one (``reason``).
    """

    name: str
    task_name: str
    task_type: int
    chip: Chip
    task: Task | None
    env: EncodeEnv
    ids: TaskIds
    expected: tuple[bytes, ...]
    blocks: tuple[DeviceBlock, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """The SQEs that a recorded call submitted at once; the inputs behind them are not known."""

    name: str
    chip: Chip
    rows: tuple[bytes, ...]


def read_vectors(path: Path) -> Iterator[Vector | Sent]:
    """Yield every vector of a file; raises BadVectorFile, or OSError when it cannot be read."""
    text = read_bytes(path)
    try:
        data = load_json(text) if path.suffix == ".json" else yaml.load(text, Loader=yaml.CSafeLoader)
    except (ValueError, RecursionError, yaml.YAMLError) as wrong:
        raise BadVectorFile(f"{path}: not readable as {path.suffix[1:].upper() or 'YAML'}: {wrong}") from None
    try:
        if isinstance(data, dict) and "sets" in data:
            yield from _builder_cases(data["sets"])
        elif _is_list_with(data, "sends"):
            yield from _sends(data, path.stem)
        elif _is_list_with(data, "task"):
            yield from _white_box(data)
        else:
            raise BadVectorFile(f"{path}: neither a list of tasks, nor of calls with sends, nor sets of builder cases")
    except KeyError as missing:
        raise BadVectorFile(f"{path}: an entry lacks {missing}") from None
    except (ValueError, TypeError, AttributeError) as wrong:
        raise BadVectorFile(f"{path}: an entry is not what it should be: {wrong}") from None


def _is_list_with(data: object, key: str) -> bool:
    """Whether the data is a list of mappings that all have a key."""
    return isinstance(data, list) and all(isinstance(entry, dict) and key in entry for entry in data)


def _white_box(entries: list[dict[str, Any]]) -> Iterator[Vector]:
    for entry in entries:
        at = recorded.machine(entry["chip"])
        inputs = entry["inputs"]
        blocks = tuple(
            DeviceBlock(block["name"], block["addr"], bytes.fromhex(block["hex"])) for block in entry.get("aux", ())
        )
        inputs.update((block.name, block.address) for block in blocks if block.name == recorded.CONTEXT_BLOCK)
        task, reason = None, ""
        try:
            task = recorded.task(entry["task"], entry["task_type"], entry["variant"], inputs, at)
        except KeyError as missing:
            reason = f"its inputs lack {missing}"
        except ValueError as wrong:
            reason = str(wrong)
        yield Vector(
            name=f"{entry['task']} {entry['variant']}",
            task_name=entry["task"],
            task_type=entry["task_type"],
            chip=at.chip,
            task=task,
            env=recorded.env(inputs, at),
            ids=recorded.ids(inputs, at),
            expected=tuple(bytes.fromhex(row) for row in entry["sqe_hex"]),
            blocks=blocks,
            reason=reason,
        )


def _builder_cases(sets: dict[str, Any]) -> Iterator[Vector]:
    for name, group in sets.items():
        context = group["context"]
        cases: dict[str, dict[str, Any]] = {}
        for case in group["cases"]:
            inputs = dict(case["inputs"])
            inputs = {**cases.get(inputs.pop("same_as", ""), {}), **inputs}
            cases[case["name"]] = inputs
            chip, env, ids, task = recorded.builder_case(name, case["task_type"], inputs, context)
            yield Vector(
                name=f"{name} {case['name']}",
                task_name=case["name"],
                task_type=case["task_type"],
                chip=chip,
                task=task,
                env=env,
                ids=ids,
                expected=tuple(bytes.fromhex(row) for row in case["sqes"]),
            )


def _sends(calls: list[dict[str, Any]], stem: str) -> Iterator[Sent]:
    """Sends of a call trace; only the file's name tells the chip."""
    chip = recorded.machine_in(stem).chip
    for call in calls:
        for number, sent in enumerate(call["sends"]):
            rows = tuple(bytes.fromhex(row) for row in sent["sqe_hex"])
            yield Sent(f"{call['api']} send {number}", chip, rows)
