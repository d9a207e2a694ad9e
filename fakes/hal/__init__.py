"""The HAL functions the fake has, by chapter; every other name is refused, or answered as an absent feature."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fakes.hal.device import DeviceCalls
from fakes.hal.dma import AsyncDmaCalls, DmaCalls
from fakes.hal.faults import FaultCalls
from fakes.hal.info import InfoCalls
from fakes.hal.memory.allocation import MemoryCalls
from fakes.hal.memory.controls import ControlCalls
from fakes.hal.memory.copies import CopyCalls
from fakes.hal.memory.registration import RegistrationCalls
from fakes.hal.process import ProcessCalls
from fakes.hal.queues.arguments import ArgumentCalls
from fakes.hal.queues.callbacks import CallbackCalls
from fakes.hal.queues.pairs import QueueCalls
from fakes.hal.queues.scheduler import SchedulerCalls
from fakes.hal.queues.stream_memory import StreamMemoryCalls
from fakes.hal.resources import ResourceCalls

if TYPE_CHECKING:
    from fakes.hal.chapter import Chapter
    from fakes.machine.ports import Machine

_USUAL: tuple[type[Chapter], ...] = (
    DeviceCalls, ProcessCalls, InfoCalls, MemoryCalls, ControlCalls, CopyCalls, RegistrationCalls, DmaCalls,
    AsyncDmaCalls, QueueCalls, StreamMemoryCalls, CallbackCalls, ArgumentCalls, SchedulerCalls, ResourceCalls,
    FaultCalls,
)  # fmt: skip
"""What every program needs some of."""


def _others() -> tuple[type[Chapter], ...]:
    """Return the chapters that few programs need.

    They are made together and in this order: some tell of each other's things when a card is closed.
    """
    from fakes.hal.esched import EventCalls
    from fakes.hal.ipc import IpcCalls
    from fakes.hal.mbuf.buffers import BufferCalls
    from fakes.hal.mbuf.groups import GroupCalls
    from fakes.hal.message_queue.client import MessageQueueCalls
    from fakes.hal.p2p import PeerCalls
    from fakes.hal.pools import PoolCalls
    from fakes.hal.shared_ids import SharedIdCalls
    from fakes.hal.snapshot import SnapshotCalls
    from fakes.hal.vmm import VmmCalls

    return (PeerCalls, VmmCalls, IpcCalls, SharedIdCalls, SnapshotCalls, PoolCalls, MessageQueueCalls, GroupCalls,
            BufferCalls, EventCalls)  # fmt: skip


def chapters() -> tuple[type[Chapter], ...]:
    """Return what is modelled; a module, or a folder of several, has the name of its chapter in `npuhal.tables`."""
    return _USUAL + _others()


def modelled() -> frozenset[str]:
    """Return the names of the functions the fake models."""
    return frozenset(name for chapter in chapters() for name in _names(chapter))


def _names(chapter: type[Chapter]) -> Iterable[str]:
    return (name for name in vars(chapter) if name.startswith(("hal", "drv")))


class Calls:
    """The modelled functions of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._calls: dict[str, Callable[..., Any]] = {}
        self._complete = False
        self._making = threading.Lock()
        self._make(_USUAL)

    def find(self, name: str) -> Callable[..., Any] | None:
        """Return a function by its name, None for one that is not modelled."""
        if name not in self._calls and not self._complete:
            others = _others()
            with self._making:
                if not self._complete:
                    self._make(others)
                    self._complete = True
        return self._calls.get(name)

    def _make(self, chapters: Iterable[type[Chapter]]) -> None:
        machine = self._machine
        calls: dict[str, Callable[..., Any]] = {}
        for chapter in chapters:
            made = machine.dma if chapter is DmaCalls else chapter(machine)
            calls.update((name, getattr(made, name)) for name in _names(chapter))
        self._calls.update(calls)  # at once: an interrupt before leaves none of them behind
