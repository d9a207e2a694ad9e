"""Which thread works in which context, and whether one is about to work on another device than the program means."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuhal.late import logger
from npuhal.records import dataclass
from runtime import errors
from runtime.errors.misuse import advise

if TYPE_CHECKING:
    from runtime.core.device.slot import DeviceSlot
    from runtime.core.process.context import Context

STRICT = "NPUHAL_STRICT"
"""Set to 1, what is only suspicious is an error instead of a warning."""
_LOG = logger(__name__)


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """One thread and the context that it works in; None: it has set none, or the one it had is gone."""

    name: str
    ident: int
    context: Context | None

    def __str__(self) -> str:
        where = "no context" if self.context is None else f"device {self.context.device.user_id}"
        return f"thread {self.name!r} ({self.ident}): {where}"


class ThreadStates:
    """What each thread has set, by its number; filled by `CurrentState` when a thread first asks."""

    def __init__(self) -> None:
        self._kept: dict[int, Mapping[str, Any]] = {}
        self._opened_by: dict[int, int] = {}

    def enter(self, state: Mapping[str, Any]) -> None:
        """Take note of the calling thread's own state."""
        self._kept[threading.get_ident()] = state

    def listed(self) -> list[ThreadContext]:
        """Return the threads that are alive and have asked for a context, the main thread first."""
        alive = sys._current_frames()
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        found = []
        for ident, state in list(self._kept.items()):
            if ident not in alive:
                del self._kept[ident]
                continue
            found.append(ThreadContext(names.get(ident, "?"), ident, _context(state)))
        return sorted(found, key=lambda each: each.ident != threading.main_thread().ident)

    def opens(self, index: int, slots: Sequence[DeviceSlot]) -> None:
        """The calling thread is about to open a device.

        A helper thread without a device that opens the first one, while the main thread works on another, has most
        likely been given no device and goes by a default: a warning.

        Raises:
            InvalidArgument 107001: the same with NPUHAL_STRICT=1.
        """
        me, main = threading.current_thread(), threading.main_thread()
        mains = self._works_on(main.ident or 0, slots)
        own = self._kept.get(me.ident or 0)
        if me is main or index or not mains or index in mains or (own is not None and _context(own) is not None):
            self._opened_by[index] = me.ident or 0
            return
        told = ", ".join(map(str, sorted(mains)))
        text = (
            f"thread {me.name!r} ({me.ident}) opens device {index} while the main thread works on device {told}; "
            f"contexts by thread: {'; '.join(map(str, self.listed())) or 'none'}"
        )
        cure = f"call runtime.set_device({min(mains)}) in the thread first, or give it the device object"
        if os.environ.get(STRICT) == "1":
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_DEVICEID", text, ee="EE1003",
                params=("opening of a device", index, "device", told), hint=cure,
            )
        advise(_LOG, f"{text}; where that is not meant: {cure}")
        self._opened_by[index] = me.ident or 0

    def _works_on(self, ident: int, slots: Sequence[DeviceSlot]) -> set[int]:
        """Return the devices that a thread has set, or has opened and not closed."""
        state = self._kept.get(ident)
        context = None if state is None else _context(state)
        opened = {slot.index for slot in slots if slot.device is not None and self._opened_by.get(slot.index) == ident}
        return opened if context is None else {*opened, context.device.user_id}


def _context(state: Mapping[str, Any]) -> Context | None:
    """Return the context of a thread's state, as `CurrentState.find` would in that thread."""
    context, slot = state.get("context"), state.get("slot")
    if context is not None and not context.closed:
        found: Context = context
        return found
    primary: Context | None = None if slot is None else slot.primary
    return primary
