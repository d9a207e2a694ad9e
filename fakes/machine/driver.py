"""What one tree of the user-space driver has otherwise than the other, before any card is asked."""

from __future__ import annotations

from chips.chip import Chip
from npuhal import constants as c
from npuhal.records import dataclass

QUEUE_NUMBERS = 1124
"""Device numbers that the calls about ids and queues have space for, in both trees."""
SCHEDULERS = 2
"""Task schedulers that those calls have space for; a card has as many as its chip."""
MEMORY_CARDS = 64
"""Device numbers that the memory manager takes for cards, in both trees."""
HOST_NUMBER = 65
"""The "device" number of host memory (halGetHostID)."""


@dataclass(frozen=True, slots=True)
class Driver:
    """One tree of the driver."""

    first: bool
    """Whether it is the tree of STARS v1, whose memory manager asks for less of its own."""
    numbers: int
    """Device numbers there are: cards, the host, virtual cards."""
    attached: int
    """Device numbers that the event scheduler attaches to without asking whether there is such a card."""
    features: frozenset[int]
    """What halSupportFeature says yes to for every device number."""
    card_features: frozenset[int]
    """What it says yes to for a card."""
    unknown_memory: int
    """What halMemFree answers to an address at which no block begins."""


_EVERYWHERE = (
    c.FEATURE_SVM_GET_USER_MALLOC_ATTR, c.FEATURE_TRSDRV_IS_SQ_SUPPORT_DYNAMIC_BIND_VERSION,
    c.FEATURE_DMS_QUERY_CHIP_DIE_ID, c.FEATURE_APM_RES_MAP_REMOTE,
)  # fmt: skip
_OF_CARDS = (c.FEATURE_PROF_AICPU_CHAN, c.FEATURE_SVM_VMM_NORMAL_GRANULARITY)
FIRST = Driver(
    True, numbers=1124, attached=64,
    features=frozenset((
        *_EVERYWHERE, c.FEATURE_TRSDRV_SQ_DEVICE_MEM_PRIORITY, c.FEATURE_DMS_GET_QOS_MASTER_CONFIG,
        c.FEATURE_SVM_MEM_REGISTER_QUERY_AND_GET_ATTR, c.FEATURE_SVM_VMM_NORMAL_GRANULARITY,
    )),
    card_features=frozenset(_OF_CARDS), unknown_memory=c.DRV_ERROR_INVALID_VALUE,
)  # fmt: skip
LATER = Driver(
    False, numbers=1140, attached=1, features=frozenset(_EVERYWHERE),
    card_features=frozenset((*_OF_CARDS, c.FEATURE_SVM_MEM_HOST_UVA)), unknown_memory=c.DRV_ERROR_NOT_EXIST,
)  # fmt: skip


def driver_of(chip: Chip) -> Driver:
    """Return the tree that serves a chip."""
    return FIRST if chip.traits.driver_tree == 1 else LATER
