"""What a process still holds on a card when it closes it: the card takes it back, the program has forgotten it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.checkers.report import LEAK, Report
from fakes.machine.blocks import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fakes.checkers.hub import Checks
    from fakes.machine.card import Device

_SHOWN = 5
_MEMORY = {Kind.DEVICE: "memory", Kind.HOST: "pinned memory", Kind.REGISTERED: "registered memory"}


def look(checks: Checks, device: Device) -> None:
    """Report queues, ids and memory of a card that is being closed."""
    names = checks.names
    held: dict[str, list[str]] = {}
    if device.queues:
        held["queues"] = [names.stream(sq.stream_id, device.index) for sq in device.queues.values()]
    blocks = [block for block in checks.machine.memory.blocks if not block.alias and not block.label]
    for sort, what in _MEMORY.items():
        if sort is Kind.HOST:  # not a card's: it stays while any card is open, whichever it was asked for
            others = any(card.opened for card in checks.machine.devices if card is not device)
            held[what] = [] if others else [names.block(block) for block in blocks if block.kind is sort]
        else:
            held[what] = [
                names.block(block) for block in blocks if block.device == device.index and block.kind is sort
            ]
    for in_use in checks.machine.in_use:
        held.update(in_use(device.index))
    for kind, pool in device.ids.items():
        if pool.used and kind not in ("sq", "cq"):
            held[f"{kind} ids"] = [f"{number}{names.name(kind, number)}" for number in sorted(pool.used)]
    report(checks, device.index, held)


def report(checks: Checks, device: int, held: Mapping[str, Sequence[str]]) -> None:
    """Report by kind what a program has of a card that is closed."""
    for what, items in held.items():
        if not items:
            continue
        more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
        text = f"device {device} is closed with {what} in use: {', '.join(items[:_SHOWN])}{more}"
        checks.report(Report(LEAK, text, "Close or free them before the device", tuple(items)), (device, what, *items))
