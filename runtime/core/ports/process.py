"""Contexts and the runtime of a process, as everybody sees them who stands below these."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from chips.env import EncodeEnv
    from chips.tasks import TaskType
    from npuhal.api import HalApi
    from runtime import errors
    from runtime.core.callbacks.exceptions import ExceptionCallbacks
    from runtime.core.callbacks.observers import Observers
    from runtime.core.diagnostics.logs import LogSettings
    from runtime.core.ports.devices import DevicePort
    from runtime.core.ports.events import SignalPort
    from runtime.core.ports.streams import StreamPort
    from runtime.core.ports.tracer import Tracer
    from runtime.core.process.environment import ReadOnce
    from runtime.core.process.handles import Children, HandleTable
    from runtime.core.process.process_lock import ProcessLock
    from runtime.memory.ipc import OpenKeys
    from runtime.memory.registered import HostRegistry


# -- contexts ----------------------------------------------------------------------------------------------------------


class ContextFailurePort(Protocol):
    """The failure state of a context (runtime.core.stream.failure)."""

    first: errors.RuntimeFault | None

    def enter(self, stream: StreamPort, fault: errors.RuntimeFault) -> bool:
        """Take note that a task failed; tells whether its stream goes on."""

    def resume(self) -> None:
        """Go on after the failure."""

    def check(self, stream: StreamPort, task_type: TaskType | None = None) -> None:
        """Raise the failure where it forbids what is asked of a stream."""


class ContextPort(Protocol):
    """A context (runtime.core.process.context)."""

    @property
    def closed(self) -> bool:
        """Whether it takes no calls."""

    @property
    def device(self) -> DevicePort:
        """The device that it is on."""

    @property
    def default_stream(self) -> StreamPort:
        """The stream that calls without a stream use."""

    @property
    def failure(self) -> ContextFailurePort:
        """Whether it has stopped."""

    @property
    def streams(self) -> Children:
        """Streams that users have made in it."""

    @property
    def resources(self) -> ExitStack:
        """What goes with it."""

    @property
    def models(self) -> Children:
        """Graphs and models that were made in it and are alive."""

    @property
    def dropped(self) -> deque[Any]:
        """Streams that were dropped without `close`, until their work is done."""

    def all_models(self) -> Sequence[Any]:
        """Return graphs and models that are not closed, those included that nobody has any more."""

    def all_streams(self) -> Sequence[StreamPort]:
        """Return the streams that users made in it and, last, the default one."""


# -- the process -------------------------------------------------------------------------------------------------------


class CallGroupPort(Protocol):
    """The callback queue of one thread (runtime.core.callbacks.subscription)."""

    @property
    def streams(self) -> dict[int, Any]:
        """Its subscriptions by stream id."""


class HostCallbacksPort(Protocol):
    """Functions that devices call on the host (runtime.core.callbacks.callback)."""

    def group_of(self, stream: StreamPort, signal: Any = None) -> CallGroupPort | None:
        """Return the queue of whoever takes the calls of a stream, or of the call that sets a signal."""

    def standing(self, stream: StreamPort, signal: SignalPort) -> str:
        """Say in words where the call stands that sets a signal; "" if none does."""


class TimeoutsPort(Protocol):
    """Time limits of the process (runtime.core.device.timeouts)."""

    @property
    def wait_limit_s(self) -> int | None:
        """The limit of waits as it was set, or None."""

    @property
    def operator_limit_us(self) -> int | None:
        """The limit of operators as it was set, or None."""

    def announce(self, device: DevicePort) -> None:
        """Tell the scheduler of a device that was just opened what was set before."""

    def operator_ms(self, env: EncodeEnv) -> float:
        """Return the limit of operators that the hardware counts, in milliseconds."""


class RuntimePort(Protocol):
    """The runtime of a process (runtime.core.process.runtime)."""

    leaving: bool
    trace_creation: bool
    tracer: Tracer | None

    @property
    def hal(self) -> HalApi:
        """The backend."""

    @property
    def handles(self) -> HandleTable:
        """Numbers of the C API."""

    @property
    def lock(self) -> ProcessLock:
        """Who keeps calls out while a snapshot is made."""

    @property
    def read_once(self) -> ReadOnce:
        """Variables whose changes have no effect any more."""

    @property
    def watch_lock(self) -> Lock:
        """Held while somebody begins or ends to watch."""

    @property
    def logs(self) -> LogSettings:
        """What the log variables ask for."""

    @property
    def hang_s(self) -> float:
        """Seconds of waiting after which a stream is described."""

    @property
    def launch_blocking(self) -> bool:
        """Whether launches wait for their stream unless that says otherwise."""

    @property
    def timeouts(self) -> TimeoutsPort:
        """How long waits and operators may take where a call states nothing."""

    @property
    def callbacks(self) -> HostCallbacksPort:
        """Functions that devices call on the host."""

    @property
    def host_memory(self) -> HostRegistry:
        """Host memory of the user's own that devices may use."""

    @property
    def open_keys(self) -> OpenKeys:
        """Memory of other processes that is open here."""

    @property
    def exceptions(self) -> ExceptionCallbacks:
        """Told of failed tasks, and of streams that are waited for very long."""

    @property
    def stream_observers(self) -> Observers:
        """Told of streams that come and go."""

    @property
    def abort_observers(self) -> Observers:
        """Told while all tasks of a device are being ended."""

    def open_devices(self) -> Iterable[DevicePort]:
        """Return the devices that are open now."""
