"""`npuhal doctor --bundle FILE`: everything a helper elsewhere needs, in one zip file."""

from __future__ import annotations

import io
import json
import platform
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from chips.registry import plugin
from npuhal.files import write_whole
from npuhal.records import asdict
from npuhal.trace import TraceApi, format_record
from runtime.cli.doctor import variables
from runtime.cli.doctor.machine import Machine
from runtime.cli.doctor.secrets import hidden, printable
from runtime.driver.calls import HalCalls
from runtime.driver.queues import QueueDriver
from runtime.errors import RuntimeFault

if TYPE_CHECKING:
    from runtime.cli.doctor.findings import Finding
    from runtime.cli.doctor.ladder import Result
    from runtime.cli.doctor.probe import Probe

__all__ = ["collect", "contents", "log_folders", "settings", "write"]

_LAST_SQES = 16
_OF_THE_LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONPATH", "ASCEND_TOOLKIT_HOME", "XDG_RUNTIME_DIR")


def log_folders(machine: Machine) -> tuple[str, ...]:
    """Return where host logs (plog) lie by the environment, the first one in use, and how to read the kernel's log."""
    environ = machine.environ
    folders = [environ.get("ASCEND_PROCESS_LOG_PATH"), environ.get("ASCEND_WORK_PATH"), environ.get("HOME")]
    named = [folders[0], folders[1] and f"{folders[1]}/log", folders[2] and f"{folders[2]}/ascend/log"]
    return (*filter(None, named), "kernel: dmesg -T", "device: msnpureport -f, run on the host")


def settings(machine: Machine) -> dict[str, str]:
    """Return the variables that others may see, by name: those that are known to be settings or paths, no others.

    A name says nothing about a value: ASCEND_PASSWORD begins like a setting. What looks like a secret within a value is
    hidden.
    """
    allowed = {*variables.table(), *_OF_THE_LOADER}
    return {name: hidden(value) for name, value in sorted(machine.environ.items()) if name in allowed}


def _lines(machine: Machine) -> list[str]:
    return [f"{name}={printable(value)}" for name, value in settings(machine).items()]


def contents(members: Mapping[str, str], machine: Machine) -> Iterator[str]:
    """Yield in lines what a bundle will hold, to be read before it is written."""
    for name, text in members.items():
        yield f"{name:<16} {len(text.encode()):>8} bytes"
    for line in _lines(machine):
        yield f"variable {line}"
    shown = settings(machine)
    yield f"variables: {', '.join(shown) or 'none'}; {len(machine.environ) - len(shown)} others are left out"


def collect(
    machine: Machine, findings: Mapping[str, Sequence[Finding]], results: Sequence[Result], probe: Probe
) -> dict[str, str]:
    """Return the members of the bundle, text by name; call it before the probe tidies up."""
    return {
        "README.txt": _readme(machine),
        "findings.json": _json({name: [finding.as_json() for finding in rows] for name, rows in findings.items()}),
        "probe.json": _json([result.as_json() for result in results]),
        "environment.txt": "".join(f"{line}\n" for line in _lines(machine)),
        "system.txt": f"{platform.platform()}\n{sys.version}\n",
        "device.json": _json(_device(probe)),
        "queue.json": _json(_queue(probe)),
        "hal_calls.txt": _calls(probe),
    }


def write(members: Mapping[str, str], path: Path) -> None:
    """Write the members to a zip file, all of it or nothing; OSError when that is not possible."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in members.items():
            bundle.writestr(name, text)
    write_whole(path, packed.getvalue())


def _readme(machine: Machine) -> str:
    logs = "\n".join(f"  {printable(hidden(folder))}" for folder in log_folders(machine))
    return (
        "Made by `npuhal doctor --bundle`.\n"
        "findings.json     problems of this machine, each with evidence and cure\n"
        "probe.json        the steps up to a completed task: time, state, raw driver code\n"
        "device.json       what the driver says about the machine\n"
        "queue.json        the probe's queue: head, tail, status; its last entries decoded; completion entries raw\n"
        "hal_calls.txt     every driver call of the probe, with arguments and answers\n"
        "environment.txt   variables that are known to be settings or paths, *** for a word kept back; no others\n"
        f"Not inside, for they may be large or need rights; please add them:\n{logs}\n"
    )


def _device(probe: Probe) -> dict[str, object]:
    if probe.facts is None:
        return {}
    facts = {name: getattr(probe.facts, name) for name in probe.facts.__dataclass_fields__}
    return {**facts, "chip": probe.facts.chip.soc, "library": getattr(probe.hal, "url", "")}


def _queue(probe: Probe) -> dict[str, object]:
    if probe.hal is None or probe.facts is None or probe.sq_id is None:
        return {}
    queues, sq_id = QueueDriver(HalCalls(probe.hal, probe.device_id)), probe.sq_id
    chip_plugin = plugin(probe.facts.chip)
    state: dict[str, object] = {"sq_id": sq_id}
    for name, ask in (("head", queues.head), ("tail", queues.tail), ("enabled", queues.enabled)):
        try:
            state[name] = ask(sq_id)
        except RuntimeFault as problem:
            state[name] = str(problem)
    state["entries"] = [
        {"position": sent.position, "meant": sent.what, "bytes": sent.sqe.hex(), **asdict(chip_plugin.decode(sent.sqe))}
        for sent in probe.sent[-_LAST_SQES:]
    ]
    state["completions"] = [entry.hex() for entry in probe.received]
    return state


def _calls(probe: Probe) -> str:
    if not isinstance(probe.hal, TraceApi):
        return "no call was made\n"
    return "".join(f"{printable(hidden(format_record(record)))}\n" for record in probe.hal.records)


def _json(value: object) -> str:
    return json.dumps(hidden(value), indent=2, default=lambda each: hidden(str(each)))
