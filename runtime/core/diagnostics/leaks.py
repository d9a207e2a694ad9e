"""What a process has left open when it exits, and where that was made; told where NPUHAL_TRACE_CREATION=1 asks for it.

To leave things open is no mistake of a program that ends: the driver takes them back. Whoever looks for a leak of a
library or a service finds it there.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

from runtime.core.diagnostics.resource_report import WHAT
from runtime.driver.resources import COUNT_NOTIFY, EVENT, NOTIFY, STREAM
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextlib.contextmanager
def told(device: DevicePort, *, wanted: bool = True) -> Iterator[None]:
    """Tell a checker of leaks what the program has open, when the body has closed the device under it.

    Args:
        wanted: False: the program has asked for all of it to be taken back, or it ends.
    """
    wanted = wanted and device.hal.looks_for_leaks
    held, blocks = (_held(device), device.blocks_in_use()) if wanted else ({}, [])
    yield
    if wanted:
        for block in sorted(set(blocks).difference(device.blocks_in_use())):  # the card tells of the rest
            owner, address, size, site = block
            what = "pinned memory" if owner == "host" else f"{owner} memory"
            held.setdefault(what, []).append(f"{size} bytes at {address:#x}{_at(site)}")
        if any(held.values()):
            device.hal.left_open(device.device_id, held)


def _held(device: DevicePort) -> dict[str, list[str]]:
    """Return what users have made on a device and not closed, by kind.

    Dropped objects count, unless a wait has given them back.
    """
    return {
        "streams": [
            f"{stream!r}{_at(stream.site)}" for context in device.contexts()
            for stream in (*context.streams, *context.dropped)
        ],
        "graphs": [f"{model!r}{_at(model.site)}" for context in device.contexts() for model in context.all_models()],
        "events and notifies": [
            f"{event!r}{_at(event.site)}" for event in {*device.signals.events, *device.signals.abandoned}
        ],
        "registered memory": [
            f"{known.size} bytes at {known.address:#x}{_at(known.site)}"
            for known in device.runtime.host_memory.of_device(device.device_id)
        ],
        "opened keys": [
            f"memory at {address:#x}{_at(site)}"
            for address, site in device.runtime.open_keys.of_device(device.device_id)
        ],
        **{kind: list(items) for kind, items in device.hal.in_use(device.device_id).items()},
    }  # fmt: skip


def _at(site: str) -> str:
    return f" (made at {site})" if site else ""


def _sites(sites: Counter[str]) -> str:
    named = [f"{site} ({count})" for site, count in sites.most_common(_MOST_SITES) if site]
    return f", made at {', '.join(named)}" if named else ""
