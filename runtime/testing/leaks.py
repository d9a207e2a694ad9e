"""What a fake card thinks this process still holds."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.api import Runtime


def open_objects(runtime: Runtime) -> list[str]:
    """Return the streams that were not closed, and the buffers and programs that somebody still holds."""
    gc.collect()
    return [
        repr(item)
        for device in runtime.open_devices()
        for item in (*device.context.streams, *device.buffers.values(), *device.programs)
    ]


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
