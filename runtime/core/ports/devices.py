"""Devices, contexts and the runtime of a process, as everybody sees them who stands below these."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.env import EncodeEnv
    from chips.registry import Plugin
    from chips.tasks import EventRecord
    from npuhal.api import HalApi
    from runtime import errors
    from runtime.core.device.device_tables import ExecutedWords, NamePool, SqRegisterTable
    from runtime.core.diagnostics.tally import Tally
    from runtime.core.modes import SaturationMode
    from runtime.core.ports.process import ContextPort, RuntimePort
    from runtime.core.ports.streams import StreamPort
    from runtime.core.process.handles import Children
    from runtime.driver.device import DeviceDriver, DeviceFacts
    from runtime.driver.faults import ReportedFault
    from runtime.driver.memory import MemoryDriver
    from runtime.driver.queues import QueueDriver, SimtStack
    from runtime.driver.resources import IdDriver
    from runtime.memory.arguments import ArgumentBlock


# -- parts of a device -------------------------------------------------------------------------------------------------


class HealthPort(Protocol):
    """What is known of a device's state (runtime.core.device.monitor)."""

    @property
    def lost(self) -> errors.RuntimeFault | None:
        """Why the device can do nothing any more, once it is lost."""

    def look(self) -> None:
        """Ask the device how it is."""

    def check(self) -> None:
        """Look, and raise where it is lost."""

    def reported(self) -> Sequence[ReportedFault]:
        """Return the faults that it has now."""


class RecyclerPort(Protocol):
    """Who takes finished tasks back for all streams of a device (runtime.core.submission.reclaim)."""

    def look_around(self) -> None:
        """Have a round made for somebody who waits."""


class EventIdsPort(Protocol):
    """Device ids that stand for events (runtime.core.sync.event_pool)."""

    @property
    def kind(self) -> str:
        """The kind of id."""

    def take(self, *, device_only: bool = False) -> int:
        """Return an id."""

    def give_back(self, number: int, *, device_only: bool = False) -> None:
        """Take an id back."""

    def release_idle(self) -> int:
        """Give ids up that nobody has used for long."""


class EventBytesPort(Protocol):
    """Bytes of device memory that stand for events (runtime.core.sync.event_pool)."""

    def take(self) -> int:
        """Return the number of a byte."""

    def give_back(self, number: int) -> None:
        """Take a byte back."""

    def address(self, number: int) -> int:
        """Return where a byte lies on the device."""


class WaitSlotsPort(Protocol):
    """Device memory for the programs of waits (runtime.core.sync.value)."""

    @property
    def profiling_switch(self) -> int:
        """Address of a word that is 0 while profiling is off."""

    def take(self) -> int:
        """Return the address of a slot."""

    def give_back(self, slot: int) -> None:
        """Take a slot back."""

    def code_bytes(self, task: Any, env: EncodeEnv) -> int:
        """Return how long the program of a wait is."""


class CounterPort(Protocol):
    """The count-notify of one stream (runtime.core.sync.device_signals)."""

    @property
    def device(self) -> DevicePort:
        """The device of the stream."""

    @property
    def number(self) -> int:
        """The id of the count-notify."""

    @property
    def closed(self) -> bool:
        """Whether its stream has ended, with all of its records."""

    @property
    def wait_key(self) -> str:
        """What prepared waits for it are kept under; empty once no further one is sent."""

    def next(self) -> int:
        """Take the next number."""


class TimelinesPort(Protocol):
    """Words in device memory where records of events store their times (runtime.core.sync.timelines)."""

    def record(
        self, stream: StreamPort, task: EventRecord, finished: Callable[[], None], reported: Callable[[Any], None]
    ) -> None:
        """Queue a record that stores its time."""


class SignalsPort(Protocol):
    """What signals are made of on one device (runtime.core.sync.device_signals)."""

    @property
    def ids(self) -> EventIdsPort:
        """Device ids."""

    @property
    def bytes(self) -> EventBytesPort:
        """Bytes of memory."""

    @property
    def wait_slots(self) -> WaitSlotsPort:
        """Programs of waits."""

    @property
    def timelines(self) -> TimelinesPort | None:
        """Where records store their times; None where completion entries carry them."""

    @property
    def lock(self) -> Lock:
        """Held while users of a signal are counted."""

    @property
    def events(self) -> Children:
        """Events and notifies that are alive."""

    @property
    def abandoned(self) -> deque[Any]:
        """Events and notifies that were dropped without a close, until another one is made."""

    def counter(self, stream: StreamPort) -> CounterPort:
        """Return the counter of a stream: made with the first record in it."""

    def sites(self, kind: str) -> Counter[str]:
        """Count what holds an id of a kind by where it was made."""

    def bury(self) -> bool:
        """Close what was dropped without a close; tells whether there was any."""


class SchedulerPort(Protocol):
    """The task scheduler of a device (runtime.core.device.scheduler)."""

    @property
    def aicpu_monitor_off(self) -> bool:
        """Whether STARS alone watches how long AICPU kernels take."""


class DvppGroupPort(Protocol):
    """Streams that share one completion queue (runtime.core.stream.dvpp_group)."""

    @property
    def device(self) -> DevicePort:
        """The device of its streams."""

    @property
    def logic_cq_id(self) -> int:
        """The queue."""

    def member(self, stream_id: int, sq_id: int) -> StreamPort | None:
        """Return the stream that a completion entry is about."""


class DevicePort(Protocol):
    """A device (runtime.core.device.device)."""

    aborting: bool
    core_sync_address: int
    env: EncodeEnv

    @property
    def runtime(self) -> RuntimePort:
        """The runtime that has opened it."""

    @property
    def dropped(self) -> deque[Any]:
        """What finalizers have left; given back by `give_back_dropped`."""

    def give_back_dropped(self) -> None:
        """Give back what was dropped without `close`, as far as work that may use it is done."""

    def free_unused(self, kind: str) -> bool:
        """Give something of a kind back to the driver that nobody needs now; False where there is nothing."""

    @property
    def hal(self) -> HalApi:
        """The backend."""

    @property
    def user_id(self) -> int:
        """Its index for the user."""

    @property
    def device_id(self) -> int:
        """The driver's number of it."""

    @property
    def tally(self) -> Tally:
        """What it counts outside of streams."""

    @property
    def chip(self) -> Chip:
        """What it is."""

    @property
    def plugin(self) -> Plugin:
        """Builders and readers of its entries."""

    @property
    def facts(self) -> DeviceFacts:
        """What the driver has said of it."""

    @property
    def saturation(self) -> SaturationMode:
        """What becomes of results out of range in streams made from now on."""

    @property
    def simt_stack(self) -> SimtStack | None:
        """The stack of SIMT kernels; None on chips without them."""

    @property
    def next_serial(self) -> Callable[[], int]:
        """Counts tasks."""

    @property
    def serials(self) -> Iterator[int]:
        """What `next_serial` gives, for many tasks at once."""

    @property
    def driver(self) -> DeviceDriver:
        """Calls about the device as a whole."""

    @property
    def memory(self) -> MemoryDriver:
        """Calls about memory."""

    @property
    def ids(self) -> IdDriver:
        """Calls about ids."""

    @property
    def queues(self) -> QueueDriver:
        """Calls about queues."""

    @property
    def sq_registers(self) -> SqRegisterTable:
        """Where the registers of each queue are."""

    @property
    def executed_words(self) -> ExecutedWords:
        """A word per stream that counts what was executed."""

    @property
    def names(self) -> NamePool:
        """Names in device memory."""

    @property
    def health(self) -> HealthPort:
        """Whether it is well."""

    @property
    def recycler(self) -> RecyclerPort:
        """Who takes finished tasks back."""

    @property
    def signals(self) -> SignalsPort:
        """What events are made of."""

    @property
    def context(self) -> ContextPort:
        """The primary context."""

    @property
    def control_stream(self) -> StreamPort:
        """The stream of messages to the task scheduler."""

    @property
    def own_streams(self) -> Sequence[StreamPort]:
        """Streams that go with it."""

    @property
    def host_stream_ids(self) -> set[int]:
        """Numbers of streams that exist on the host only."""

    @property
    def programs(self) -> Children:
        """Programs that are loaded."""

    @property
    def scheduler(self) -> SchedulerPort:
        """Its task scheduler."""

    @property
    def primary_stream(self) -> StreamPort:
        """The stream that its primary context uses."""

    def check_open(self) -> None:
        """Raise where it was closed or reset."""

    def contexts(self) -> Sequence[ContextPort]:
        """Return the primary context, and then those that users have made."""

    def streams(self) -> Sequence[StreamPort]:
        """Return all streams that are alive."""

    def scheduler_has(self, capability: str) -> bool:
        """Whether the task scheduler says that it can do something."""

    def need_of_scheduler(self, capability: str, call: str) -> None:
        """Refuse a call that the task scheduler is too old for."""

    def need_for_cores(self, what: str) -> None:
        """Refuse what code on the cores would feed, where there is none of it."""

    def release_arguments(self, blocks: list[ArgumentBlock]) -> None:
        """Take argument blocks of finished tasks back."""

    def blocks_in_use(self) -> list[tuple[str, int, int, str]]:
        """Return (owner, address, bytes, call site) of the memory that users hold."""

    def held_memory(self) -> list[str]:
        """Say in lines who holds memory of it."""
