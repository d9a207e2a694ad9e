"""What a failed access of the copy engine means, by what the card has reported of itself (core_spec 10.5, STARS v1).

The engine only knows that it got no data. Memory of the card that is broken reports a fault of its own; without one the
other side of a link is suspected, unless the card has reported something that explains the failure as well.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from chips.tasks import TaskType
from runtime import errors

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort

_DDRC, _POISON, _LINK, _SDMA = 0x220, 0x221, 0x222, 0x20B
"""Codes of the task scheduler (TS_ERROR_SDMA_*)."""
_OPEN = {TaskType.KERNEL_AICPU: frozenset({_LINK}), TaskType.NOTIFY_WAIT: frozenset({_DDRC, _POISON, _LINK})}
"""Codes, by the task that reports them, that leave it open which memory was at fault."""
_BROKEN_MEMORY = 0x80E18400
"""Event of an uncorrectable error of the card's memory (HBM_ECC_NOTIFY_EVENT_ID)."""
_OTHER_CAUSES = frozenset({
    0x80CD8008, 0x80F2180D, 0x80F38008, 0x81338002, 0x81338004, 0x81338008, 0x813B8002, 0x813B8004, 0x813B8008,
    0x81478002, 0x81478004, 0x81478008, 0x815F8002, 0x815F8004, 0x815F8008, 0x81938002, 0x81938004, 0x81938008,
    0x81958002, 0x81958004, 0x81958008, 0x81978002, 0x81978004, 0x81978008,
})  # fmt: skip
"""Events of the parts between cores, engines and memory (device_error_core_proc.cc, g_mulBitEccEventId)."""
_ROUNDS, _PAUSE_S = 120, 0.01
"""How long the report of broken memory is waited for: it may come after the failure."""


def decide(device: DevicePort, task_type: TaskType, code: int) -> int:
    """Return the code that stands: broken memory here (0x221), a suspect elsewhere (0x222), or no more than known."""
    if not device.chip.traits.checks_broken_memory or code not in _OPEN.get(task_type, ()):
        return code
    reported: set[int] = set()
    for _ in range(1 if device.hal.stepped else _ROUNDS):
        with contextlib.suppress(errors.RuntimeFault):
            reported = {fault.event_id for fault in device.health.reported()}
        if _BROKEN_MEMORY in reported:
            return _POISON
        if not device.hal.stepped:
            time.sleep(_PAUSE_S)
    return _SDMA if reported & _OTHER_CAUSES else _LINK
