"""What a process still holds of its devices, by name and call site, and what a card thinks it holds."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.core.stream.abort import abort_stream
from runtime.errors import RuntimeFault

if TYPE_CHECKING:
    from runtime.api import Runtime
    from runtime.core.device import device as core


def open_objects(runtimes: Iterable[Runtime], *, collect: bool = True) -> list[Any]:
    """Return what users hold of runtimes and have not closed: streams, graphs, buffers, programs, events, notifies.

    Args:
        collect: first drop what nobody can reach any more.
    """
    if collect:
        gc.collect()
    found: list[Any] = []
    for runtime in runtimes:
        for device in runtime.open_devices():
            device.signals.bury()  # events that were dropped without a close: nobody holds them
            for context in device.contexts():
                found += [*context.streams, *context.models]
            found += [*device.buffers.values(), *device.programs, *device.signals.events]
    return found


def described(item: Any) -> str:
    """Name an object and where it was made: "<stream 'copies' ...>, made at test_it.py:12"."""
    site = getattr(item, "site", "") or _site_of_memory(item)
    return f"{item!r}, made at {_short(site)}" if site else repr(item)


def close(items: Iterable[Any]) -> None:
    """Close what a test has left open, streams first, whatever still runs in them."""
    for item in items:
        with suppress(RuntimeFault):
            try:
                item.close(force=True)
            except TypeError:  # only what runs tasks can be forced
                item.close()


def reset(device: core.Device) -> None:
    """End what still runs in a device's streams, and forget failures that nobody has asked for."""
    for stream in device.streams():
        if stream.failure.first is not None or (stream.ring.pending and not stream.never_waited):
            with suppress(RuntimeFault):
                if not stream.is_default or stream is device.context.default_stream:
                    abort_stream(stream)


def holdings(machine: Any, index: int = 0) -> dict[str, list[Any]]:
    """Return what is in use on one card of a fake machine: memory blocks, queues, logic CQs, ids; empty is clean."""
    card = machine.device(index)
    held: dict[str, list[Any]] = {
        "memory": [f"{block.size} bytes at {block.base:#x}" for block in machine.memory.blocks],
        "queues": sorted(card.queues),
        "logic CQs": sorted(card.logic),
    }
    held |= {f"{kind} ids": sorted(pool.used) for kind, pool in card.ids.items()}
    return {kind: items for kind, items in held.items() if items}


def _site_of_memory(item: Any) -> str:
    ledger = getattr(getattr(item, "device", None), "ledger", None)
    held = ledger.find(item.address) if ledger is not None and hasattr(item, "address") else None
    return "" if held is None else held.site


def _short(site: str) -> str:
    """Shorten the path of "file:line" where it lies below the working directory."""
    path, _, line = site.rpartition(":")
    with suppress(ValueError):
        path = str(Path(path).relative_to(os.getcwd()))
    return f"{path}:{line}"
