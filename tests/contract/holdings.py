"""What a fake card thinks the process holds, so that a test can ask whether something was left behind."""

from __future__ import annotations

from typing import Any

from runtime.api import Stream


def holdings(machine: Any, index: int = 0) -> dict[str, Any]:
    """Return memory blocks, queues and ids in use on one card."""
    card = machine.device(index)
    return {
        "memory": [(hex(block.base), block.size) for block in machine.memory.blocks],
        "queues": sorted(card.queues),
        "logic": sorted(card.logic),
        "ids": {kind: sorted(pool.used) for kind, pool in card.ids.items() if pool.used},
    }


NOTHING: dict[str, Any] = {"memory": [], "queues": [], "logic": [], "ids": {}}


def tasks_sent(stream: Stream) -> int:
    """Return how many entries of users a stream was sent: where tasks are commands, the first one creates it."""
    return stream.ring.submitted - (stream.plugin.commands is not None)
