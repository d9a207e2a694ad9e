"""The HAL functions the fake has, by chapter; every other name is refused, or answered as an absent feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakes.hal.async_dma import AsyncDmaCalls
from fakes.hal.device import DeviceCalls
from fakes.hal.dma import DmaCalls
from fakes.hal.events import EventCalls
from fakes.hal.info import InfoCalls
from fakes.hal.ipc import IpcCalls
from fakes.hal.memory import MemoryCalls
from fakes.hal.messages import MessageCalls
from fakes.hal.peers import PeerCalls
from fakes.hal.pools import PoolCalls
from fakes.hal.queues import QueueCalls
from fakes.hal.resources import ResourceCalls
from fakes.hal.segments import SegmentCalls
from fakes.hal.snapshot import SnapshotCalls
from fakes.hal.streams import StreamCalls
from fakes.hal.vmm import VmmCalls

if TYPE_CHECKING:
    from fakes.machine.machine import Machine

CHAPTERS = (
    DeviceCalls, InfoCalls, MemoryCalls, DmaCalls, QueueCalls, ResourceCalls, StreamCalls, EventCalls, PeerCalls,
    VmmCalls, IpcCalls, AsyncDmaCalls, SnapshotCalls, PoolCalls,
    SegmentCalls, MessageCalls,
)  # fmt: skip


def modelled() -> frozenset[str]:
    """Return the names of the functions the fake models."""
    return frozenset(
        name for chapter in CHAPTERS for name in vars(chapter) if name.startswith(("hal", "drv"))
    )


def build(machine: Machine) -> Mapping[str, Callable[..., Any]]:
    """Return the modelled functions of one machine by name."""
    calls: dict[str, Callable[..., Any]] = {}
    for chapter in CHAPTERS:
        instance = machine.dma if chapter is DmaCalls else chapter(machine)
        calls.update((name, getattr(instance, name)) for name in vars(chapter) if name.startswith(("hal", "drv")))
    return calls
