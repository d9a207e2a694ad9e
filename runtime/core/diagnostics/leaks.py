"""What a process has left open when it exits, and where that was made; told where NPUHAL_TRACE_CREATION=1 asks for it.

To leave things open is no mistake of a program that ends: the driver takes them back. Whoever looks for a leak of a
library or a service finds it there.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

from runtime.core.diagnostics.resource_report import WHAT
from runtime.driver.resources import COUNT_NOTIFY, EVENT, NOTIFY, STREAM
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, RuntimePort

_MOST_SITES = 5
"""Creation sites of one kind that are named."""


def notify(runtimes: list[RuntimePort]) -> None:
    """Write to standard error what is open, if the environment asks for it."""
    if os.environ.get(VARIABLE) != "1":
        return
    for runtime in runtimes:
        for device in runtime.open_devices():
            if lines := left_open(device):
                print(f"npuhal: left open on device {device.user_id} at exit:", *lines, sep="\n  ", file=sys.stderr)


def left_open(device: DevicePort) -> list[str]:
    """Return a line for each kind of thing that users have made on a device and not closed."""
    streams = Counter(stream.site for context in device.contexts() for stream in context.streams)
    kinds = {STREAM: streams} | {kind: device.signals.sites(kind) for kind in (EVENT, NOTIFY, COUNT_NOTIFY)}
    rows = [f"{WHAT[kind]}: {sites.total()}{_sites(sites)}" for kind, sites in kinds.items() if sites]
    programs = [program.name for program in device.programs]
    if programs:
        rows.append(f"programs: {len(programs)}, {', '.join(programs[:_MOST_SITES])}")
    return rows + device.held_memory()


def _sites(sites: Counter[str]) -> str:
    named = [f"{site} ({count})" for site, count in sites.most_common(_MOST_SITES) if site]
    return f", made at {', '.join(named)}" if named else ""
