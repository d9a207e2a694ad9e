"""Checks of the process itself: its limits, what else is loaded in it, and how many others hold the devices."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from pathlib import PurePosixPath

from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.machine import Machine
from runtime.cli.doctor.nodes import MANAGERS, device_nodes

__all__ = ["check"]

PROCESSES_PER_DEVICE = 64
"""How many processes the task-scheduler driver takes on one device."""

_NEARLY = 56
_RUNTIMES = re.compile(r"libruntime(?:_\w+)?\.so|libacl_rt\.so|libascendcl\.so|libtorch_npu\.so")
_FALLBACK = "the driver then works in a mode without shared virtual memory, in which much is not supported"


def check(machine: Machine) -> Iterator[Finding]:
    """Check limits, preloaded and foreign libraries, and the holders of the devices."""
    if machine.address_limit != resource.RLIM_INFINITY:
        yield Finding(
            Level.WARNING,
            "the address space of this process is limited, so the driver cannot reserve the range it needs",
            f"RLIMIT_AS is {machine.address_limit >> 20} MiB; {_FALLBACK}",
            "ulimit -v unlimited",
        )
    preload = machine.environ.get("LD_PRELOAD", "")
    if "asan" in preload:
        yield Finding(
            Level.WARNING,
            "the address sanitizer occupies the range that the driver reserves",
            f"LD_PRELOAD={preload}; {_FALLBACK}",
            "run without the sanitizer, or look for memory errors on the fake",
        )
    yield from _other_runtimes(machine)
    yield from _holders(machine)


def _other_runtimes(machine: Machine) -> Iterator[Finding]:
    mapped = {line.partition("/")[2] for line in machine.text("/proc/self/maps").splitlines()}
    foreign = sorted(f"/{path}" for path in mapped if _RUNTIMES.fullmatch(PurePosixPath(path).name))
    if foreign:
        yield Finding(
            Level.PROBLEM,
            "another Ascend runtime is loaded in this process; a device can be opened by one of them only",
            ", ".join(foreign),
            "do not import acl or torch_npu beside this runtime; `npuhal run SCRIPT` serves pyACL scripts itself",
        )


def _holders(machine: Machine) -> Iterator[Finding]:
    files = frozenset((*MANAGERS, *device_nodes(machine)))
    holders = machine.processes_holding(files)
    if not holders:
        return
    told = ", ".join(f"{pid} {command}" for pid, command in list(holders.items())[:8])
    if len(holders) >= _NEARLY:
        yield Finding(
            Level.WARNING,
            f"{len(holders)} processes use the driver; a device takes {PROCESSES_PER_DEVICE}",
            f"{told}, ...",
            "end processes that are no longer needed; a device that is full answers that it is busy",
        )
    else:
        yield Finding(Level.NOTE, f"{len(holders)} other process(es) use the driver", told)
