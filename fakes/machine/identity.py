"""What the driver and the card decide, not the program: drawn from the seed, so that nobody can rely on a constant."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

from chips.chip import Chip
from npuhal import constants as c
from npuhal.records import dataclass

if TYPE_CHECKING:
    from fakes.machine.card import Device

_STREAM_CEILING = 2048
_PAGE_SIZES = (4096, 65536)
_CHIPS, _DIES = 4, 2
QUEUE_PAGE = 4096
"""Bytes of the registers of a queue."""
NOTIFY_BYTES = 8
"""Bytes of the register of a notify."""
_NOTIFIES = 0x1_0000_0000
_KIND_STRIDE = 0x1000_0000
_NOTIFY_KINDS = (c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD, c.RES_ADDR_TYPE_STARS_CNT_NOTIFY_RECORD)


@dataclass(frozen=True, slots=True)
class Identity:
    """The facts of one fake card. Ids are all different on purpose; addresses are device-physical."""

    physical: int
    """Physical device id; never equal to the logic id."""
    local: int
    """Id on the device side ("driver" id)."""
    chip_id: int
    die_id: int
    stars_base: int
    rtsq_base: int
    swap_base: int
    swap_size: int
    dma_base: int
    """Where the PCIe DMA descriptors of the driver lie."""
    physical_base: int
    """Added to an offset into device memory to give its physical address."""
    qos: int
    ts_version: int
    ssid: int
    in_place: bool
    """STARS v2: whether the SQ memory is host-local and built in place (SQ_MEM_ATTR bit 0)."""
    first: dict[str, int]
    """First id per kind."""


def draw(chip: Chip, seed: int, index: int, count: int) -> Identity:
    """Draw the identity of card `index` of `count`."""
    rng, local, _ = _begin(chip, seed, index)
    position = _positions(chip, seed, count)[index]
    return Identity(
        physical=(index + 1 + seed % (count - 1)) % count if count > 1 else 1 + seed % 7,
        local=2 * count + 4 * index + local,
        chip_id=position // _DIES,
        die_id=position % _DIES,
        stars_base=0x5_0000_0000 + (rng.randrange(64) << 24),
        rtsq_base=0x5001_0000_0000 + (index << 32) + (rng.randrange(64) << 20),
        swap_base=0x5_3000_0000 + (rng.randrange(64) << 20),
        swap_size=1 << 20,
        dma_base=0xC000_0000 + (rng.randrange(0x1000) << 12),
        physical_base=0x80_0000_0000 + (rng.randrange(64) << 30),
        qos=rng.randrange(8),
        ts_version=rng.randrange(40, 90),
        ssid=rng.randrange(1, 200),
        in_place=bool(rng.randrange(2)),
        first={
            "stream": rng.randrange(1, 64), "event": rng.randrange(1, 200), "notify": rng.randrange(1, 64),
            "model": rng.randrange(1, 32), "cnt_notify": rng.randrange(1, 64), "sq": rng.randrange(1, 48),
            "cq": rng.randrange(1, 96), "cmo": rng.randrange(1, 8),
        },
    )  # fmt: skip


def _begin(chip: Chip, seed: int, index: int) -> tuple[random.Random, int, int]:
    """Return what a card's facts are drawn with, its share of the local id, and the position it would like to have."""
    rng = random.Random(f"{seed}/{chip.soc}/{index}")
    local, chip_id, die_id = rng.randrange(4), rng.randrange(_CHIPS), rng.randrange(_DIES)
    return rng, local, chip_id * _DIES + die_id


def _positions(chip: Chip, seed: int, count: int) -> list[int]:
    """Return the die of each card, counted over the chips: no two cards have the same, or they would share tables."""
    taken: list[int] = []
    dies = max(_CHIPS * _DIES, count)
    for index in range(count):
        position = _begin(chip, seed, index)[2]
        while position in taken:
            position = (position + 1) % dies
        taken.append(position)
    return taken


def draw_memory_base(seed: int) -> int:
    """Draw the base of the address range, above 16 TiB as in the driver's plan (SVM base 0x1000_0000_0000)."""
    return 0x1000_0000_0000 + (random.Random(f"{seed}/base").randrange(1, 16) << 36)


def draw_page_size(seed: int) -> int:
    """Draw the size of a normal page: 4 or 64 KiB."""
    return random.Random(f"{seed}/page").choice(_PAGE_SIZES)


# -- where the registers of queues and notifies lie: addresses for entries of queues, not for the host -----------------


def window(card: Device, kind: int, number: int) -> tuple[int, int] | None:
    """Return address and bytes of the register of an id (res_addr_type); None where a kind has none."""
    if kind == c.RES_ADDR_TYPE_STARS_RTSQ:
        return card.identity.rtsq_base + number * QUEUE_PAGE, QUEUE_PAGE
    if kind in _NOTIFY_KINDS:
        return _notifies_at(card, kind) + number * NOTIFY_BYTES, NOTIFY_BYTES
    return None


def _notifies_at(card: Device, kind: int) -> int:
    """Return the address of the register of notify 0 of a kind."""
    return card.identity.rtsq_base + _NOTIFIES + kind * _KIND_STRIDE


def notify_behind(cards: Iterable[Device], address: int) -> tuple[Device, int] | None:
    """Return the card and the number of the notify whose register lies at an address, if one does."""
    for card in cards:
        number, offset = divmod(address - _notifies_at(card, c.RES_ADDR_TYPE_STARS_NOTIFY_RECORD), NOTIFY_BYTES)
        if 0 <= number < card.ids["notify"].limit and not offset:
            return card, number
    return None
