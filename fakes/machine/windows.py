"""Where the registers of a card's queues and notifies lie: addresses for entries of queues, not for the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device

QUEUE_PAGE = 4096
"""Bytes of the registers of a queue."""
NOTIFY_BYTES = 8
"""Bytes of the register of a notify."""
_NOTIFIES = 0x1_0000_0000
_KIND_STRIDE = 0x1000_0000
NOTIFY_KINDS = (c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD, c.RES_ADDR_TYPE_STARS_CNT_NOTIFY_RECORD)


def window(card: Device, kind: int, number: int) -> tuple[int, int] | None:
    """Return address and bytes of the register of an id (res_addr_type); None where a kind has none."""
    base = card.identity.rtsq_base
    if kind == c.RES_ADDR_TYPE_STARS_RTSQ:
        return base + number * QUEUE_PAGE, QUEUE_PAGE
    if kind in NOTIFY_KINDS:
        return base + _NOTIFIES + kind * _KIND_STRIDE + number * NOTIFY_BYTES, NOTIFY_BYTES
    return None


def notify_behind(cards: Iterable[Device], address: int) -> tuple[Device, int] | None:
    """Return the card and the number of the notify whose register lies at an address, if one does."""
    for card in cards:
        first = card.identity.rtsq_base + _NOTIFIES + c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD * _KIND_STRIDE
        number, offset = divmod(address - first, NOTIFY_BYTES)
        if 0 <= number < card.ids["notify"].limit and not offset:
            return card, number
    return None
