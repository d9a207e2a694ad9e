"""Checks of the environment: what each variable changes, values that are not taken, and names that nobody reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chips import yaml_file
from npuhal.errors import BadUrl
from npuhal.loader import URL_VARIABLE, HalUrl
from npuhal.words import close_names, natural
from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.machine import Machine
from runtime.cli.doctor.nodes import device_nodes
from runtime.cli.doctor.secrets import printable
from runtime.driver import visible

__all__ = ["check", "table"]

_OURS = re.compile(r"(?:ASCEND|NPU|NPUHAL|PROFILING)_\w+")
_MODULE_LEVELS = re.compile(r"\w+=[0-4](?::\w+=[0-4])*")


def table() -> dict[str, dict[str, Any]]:
    """Return what is known of each variable, by name."""
    rows: dict[str, dict[str, Any]] = yaml_file.load(Path(__file__).with_name("variables.yaml"))
    return rows


def check(machine: Machine) -> Iterator[Finding]:
    """Check every variable that is set and that the runtime, or a reader's expectation, knows."""
    known = table()
    for name, value in sorted(machine.environ.items()):
        row = known.get(name)
        if row is not None:
            yield _judge(machine, name, value, row)
        elif _OURS.fullmatch(name):
            near = close_names(name, known, 1, 0.9)
            if near:  # without its value: nobody knows what it holds
                yield Finding(Level.WARNING, f"{name} is read by nobody", f"{name} is set", f"did you mean {near[0]}?")


def _judge(machine: Machine, name: str, value: str, row: dict[str, Any]) -> Finding:
    shown = f"{name}={printable(value)}"
    if name == visible.VARIABLE:
        return _mask(machine, value)
    if "elsewhere" in row:
        return Finding(Level.NOTE, f"{name} has no effect here: it is read by {row['elsewhere']}", shown)
    if "replaced_by" in row:
        newer = row["replaced_by"]
        if newer in machine.environ:
            situation = f"{name} is the old name of {newer}, which is set too and wins"
        else:
            situation = f"{name} is the old name of {newer} and goes away"
        return Finding(Level.WARNING, situation, shown, f"set {newer} instead and unset {name}")
    wrong = _wrong(machine, name, value, row.get("rule"))
    if wrong:
        level = Level.PROBLEM if name == URL_VARIABLE else Level.WARNING  # the others are ignored when wrong
        return Finding(level, f"{name} {wrong}", shown, f"correct or unset {name}: {row['effect']}")
    return Finding(Level.NOTE, f"{name}: {row['effect']}", shown)


def _wrong(machine: Machine, name: str, value: str, rule: Any) -> str:
    """What is wrong with a value, to follow its name; "" when nothing is."""
    if name == URL_VARIABLE:
        try:
            HalUrl.parse(value)
        except BadUrl as error:
            return f"cannot be used: {error}"
    elif name == "ASCEND_MODULE_LOG_LEVEL":
        if not _MODULE_LEVELS.fullmatch(value):
            return "is not NAME=level:NAME=level with levels 0 to 4, so all of it is ignored"
    elif rule == "folder":
        return _unwritable(machine, value)
    elif isinstance(rule, dict) and "integer" in rule:
        lowest, highest = rule["integer"]
        number = natural(value)
        if number is None or not lowest <= number <= highest:
            return f"is not a number from {lowest} to {highest}, so it is ignored"
    elif isinstance(rule, dict) and value not in rule["choice"]:
        return f"is none of {', '.join(rule['choice'])}"
    return ""


def _unwritable(machine: Machine, folder: str) -> str:
    if not os.path.isabs(folder):
        return "is not an absolute path"
    parent = folder
    while not machine.exists(parent):  # it will be made; what matters is the first folder that exists
        parent = os.path.dirname(parent)
    if not machine.path(parent).is_dir():
        return f"lies below {parent}, which is a file"
    return "" if machine.may(parent, "wx") else f"is a folder this user may not write to ({machine.ownership(parent)})"


def _mask(machine: Machine, mask: str) -> Finding:
    shown = f"{visible.VARIABLE}={mask!r}"
    cure = f"give ascending ids without spaces, such as {visible.VARIABLE}=0,1, or unset it"
    count = len(device_nodes(machine))
    if not count:
        return Finding(
            Level.WARNING,
            f"{visible.VARIABLE} is set, but there is no device it could select",
            shown,
            f"unset it, or see the findings about devices; then {cure}",
        )
    read = visible.read_mask(mask, count)
    if not read.usable:
        return Finding(
            Level.PROBLEM,
            f"the visible-device mask hides every device: {read.state.value}",
            f"{shown}, {count} device(s)",
            cure,
        )
    mapping = ", ".join(f"device {user} is davinci{driver}" for user, driver in enumerate(read.ids))
    if read.stopped_at:
        return Finding(
            Level.WARNING,
            f"the visible-device mask is read only up to {read.stopped_at!r}",
            f"{shown}, {count} device(s): {mapping}",
            cure,
        )
    return Finding(Level.NOTE, "the visible-device mask selects and renumbers devices", f"{shown}: {mapping}")
