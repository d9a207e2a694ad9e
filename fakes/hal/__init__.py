"""The HAL functions the fake has, by chapter; every other name is refused, or answered as an absent feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakes.hal.device import DeviceCalls
from fakes.hal.dma import AsyncDmaCalls, DmaCalls
from fakes.hal.esched import EventCalls
from fakes.hal.faults import FaultCalls
from fakes.hal.info import InfoCalls
from fakes.hal.ipc import IpcCalls
from fakes.hal.mbuf.buffers import BufferCalls
from fakes.hal.mbuf.groups import GroupCalls
from fakes.hal.memory.allocation import MemoryCalls
from fakes.hal.memory.controls import ControlCalls
from fakes.hal.memory.copies import CopyCalls
from fakes.hal.memory.registration import RegistrationCalls
from fakes.hal.message_queue.client import MessageQueueCalls
from fakes.hal.p2p import PeerCalls
from fakes.hal.pools import PoolCalls
from fakes.hal.process import ProcessCalls
from fakes.hal.queues.arguments import ArgumentCalls
from fakes.hal.queues.callbacks import CallbackCalls
from fakes.hal.queues.pairs import QueueCalls
from fakes.hal.queues.scheduler import SchedulerCalls
from fakes.hal.queues.stream_memory import StreamMemoryCalls
from fakes.hal.resources import ResourceCalls
from fakes.hal.shared_ids import SharedIdCalls
from fakes.hal.snapshot import SnapshotCalls
from fakes.hal.vmm import VmmCalls

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

CHAPTERS = (
    DeviceCalls, ProcessCalls, InfoCalls, MemoryCalls, ControlCalls, CopyCalls, RegistrationCalls, DmaCalls,
    AsyncDmaCalls, QueueCalls, StreamMemoryCalls, CallbackCalls, ArgumentCalls, SchedulerCalls, ResourceCalls,
    FaultCalls, PeerCalls, VmmCalls, IpcCalls, SharedIdCalls, SnapshotCalls, PoolCalls, MessageQueueCalls, GroupCalls,
    BufferCalls, EventCalls,
)  # fmt: skip
"""What is modelled; a module, or a folder of several, has the name of its chapter in `npuhal.tables`."""



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
