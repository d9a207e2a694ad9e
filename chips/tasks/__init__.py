"""Task descriptions: one frozen dataclass per kind of work, independent of the chip.

A module per topic. The same names divide the builders of a generation and the handlers of the fake (`TOPICS`), so that
what belongs to a kind of work stands under one name everywhere.
"""

from __future__ import annotations

from chips.tasks.aicpu import *
from chips.tasks.control import *
from chips.tasks.doorbell import *
from chips.tasks.dqs import *
from chips.tasks.event import *
from chips.tasks.fusion import *
from chips.tasks.kernel import *
from chips.tasks.media import *
from chips.tasks.memory import *
from chips.tasks.model import *
from chips.tasks.types import *
from chips.tasks.value import *

TOPICS = (
    "kernel",
    "aicpu",
    "fusion",
    "memory",
    "value",
    "doorbell",
    "event",
    "model",
    "dqs",
    "control",
    "media",
)
"""Names of the topics, from what computes to what controls."""
