"""Streams, as everybody sees them who stands below `runtime.core.stream.stream`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds
    from chips.registry import Plugin
    from chips.tasks import Task, TaskType
    from runtime import errors
    from runtime.core.diagnostics.counters import TaskCounts
    from runtime.core.modes import FailureMode, StreamFlag
    from runtime.core.ports.devices import DevicePort, DvppGroupPort
    from runtime.core.ports.process import ContextPort
    from runtime.core.ports.sinks import BoundModel, CaptureBranch, TaskSink
    from runtime.core.ports.tracer import Tracer
    from runtime.core.stream.blocking import BlockingState
    from runtime.core.stream.stream_traits import StreamTraits
    from runtime.core.submission.epoch import EpochFlag
    from runtime.core.submission.reports import Reports
    from runtime.core.submission.ring import TaskRing
    from runtime.core.submission.senders import Senders
    from runtime.core.submission.sink_stack import SinkStack
    from runtime.driver.queues import QueuePair


class StreamLock(Protocol):
    """The lock of a stream: its owner may take it again."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; returns False where it is another thread's and `blocking` is false."""

    def release(self) -> None:
        """Give it back once; RuntimeError where this thread has it not."""

    def _at_fork_reinit(self) -> None:
        """Make it free in a child of fork, where the thread that has it may not be."""

    def __enter__(self) -> bool: ...

    def __exit__(self, *_: Any) -> None: ...


class StreamPort(Protocol):
    """A stream; what can be set here, helpers set."""

    env: EncodeEnv
    queues: QueuePair
    blocked: bool
    closed: bool
    aborting: bool
    wanted_queues: QueuePair | None
    aborts: int
    synchronizes: int
    failure_mode: FailureMode
    sink: TaskSink
    own_sink: TaskSink
    branch: CaptureBranch | None
    bound: BoundModel | None
    senders: Senders
    read_head: Callable[[], int]

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def device(self) -> DevicePort:
        """The device that it runs on."""

    @property
    def context(self) -> ContextPort:
        """The context that owns it."""

    @property
    def group(self) -> DvppGroupPort | None:
        """The DVPP group whose completion queue it shares."""

    @property
    def stream_id(self) -> int:
        """The driver's number of it."""

    @property
    def handle(self) -> int:
        """The number by which the C API knows it."""

    @property
    def name(self) -> str:
        """What its maker calls it."""

    @property
    def site(self) -> str:
        """Where it was made."""

    @property
    def flags(self) -> StreamFlag:
        """What it is for."""

    @property
    def priority(self) -> int:
        """From 0, the highest, to 7."""

    @property
    def plugin(self) -> Plugin:
        """Builders and readers of its entries."""

    @property
    def counts_ids(self) -> bool:
        """Whether tasks are recognised by a 16-bit id of the stream, not by a serial number."""

    @property
    def never_waited(self) -> bool:
        """Whether there is nothing to wait for."""

    @property
    def keeps_tasks(self) -> bool:
        """Whether positions are never freed while it lives."""

    @property
    def has_queue(self) -> bool:
        """Whether there is a hardware queue."""

    # -- its parts -------------------------------------------------------------------------------------------------

    @property
    def ring(self) -> TaskRing:
        """Its task slots."""

    @property
    def lock(self) -> StreamLock:
        """Held by whoever changes the ring."""

    @property
    def reports(self) -> Reports:
        """Who waits for which completion entry."""

    @property
    def sinks(self) -> SinkStack:
        """What is laid over its own sink."""

    @property
    def blocking(self) -> BlockingState:
        """Whether launches in it wait."""

    @property
    def traits(self) -> StreamTraits:
        """What flags and chip make of it."""

    @property
    def failure(self) -> errors.FirstError:
        """Its first failure."""

    @property
    def epoch(self) -> EpochFlag:
        """The epoch of prepared sends: they take the slow path where it is blocked."""

    @property
    def sends(self) -> dict[Hashable, Callable[..., int]]:
        """Prepared sends by what they are."""

    @property
    def resources(self) -> ExitStack:
        """What goes with it."""

    @property
    def tracer(self) -> Tracer | None:
        """Who watches it."""

    @property
    def target(self) -> StreamPort:
        """The stream whose queue takes what is submitted."""

    @property
    def sq_word(self) -> int:
        """Address of the device word with the id of the queue that it is lent; 0 where the queue is its own."""

    @property
    def counts(self) -> TaskCounts:
        """Its tasks by kind."""

    @property
    def tick(self) -> Callable[[], None]:
        """What senders call every 64 entries."""

    # -- what it is asked ------------------------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise where it can take no call any more."""

    def check_status(self) -> None:
        """Raise what keeps anybody from asking about it."""

    def check_send(self, task_type: TaskType) -> None:
        """Raise what keeps a task from being sent; needed only while `blocked`."""

    def check_not_captured(self, call: str, *, posted: bool = True) -> None:
        """Refuse what cannot be done to a stream that is being captured."""

    def submit(self, task: Task, **options: Any) -> TaskIds:
        """Encode and send one task."""

    def settle(self, timeout_ms: int = -1) -> None:
        """Wait until messages that the runtime has sent by itself were read."""

    def synchronize(self, timeout_ms: int = -1) -> None:
        """Wait until everything submitted so far is done."""

    def drain(self, limit: int = 0) -> None:
        """Take completion entries, then free what the head has passed."""

    def observed(self) -> None:
        """Tell tools that the program goes by what was read last."""

    def change_environment(self, **facts: Any) -> None:
        """Replace facts that SQE builders look at."""

    def drop_prepared(self) -> None:
        """Forget prepared launches and sends."""

    def update_blocked(self) -> None:
        """Set `blocked` again after a state has changed that it depends on."""
