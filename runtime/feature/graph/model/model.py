"""Models: streams whose tasks are kept, and executed together as often as wanted (core_spec 17)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from npuhal.words import count
from runtime import errors
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.process.handles import dead_handle
from runtime.core.stream.stream import Stream
from runtime.driver import resources as id_kinds
from runtime.errors.arguments import STREAMS, check_instance
from runtime.errors.closing import NOTHING, Again, Steps
from runtime.errors.not_copied import NotCopied
from runtime.feature.graph.execution.model_execution import ModelExecution
from runtime.feature.graph.model import model_streams
from runtime.feature.graph.model.aicpu_launcher import AicpuLauncher
from runtime.feature.graph.model.model_end import ModelEnd
from runtime.feature.graph.model.model_streams import ModelStreams
from runtime.feature.graph.recording.node import Node
from runtime.feature.graph.recording.node_list import NodeList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.core.ports import StreamPort
    from runtime.core.process.context import Context
    from runtime.core.sync.notify import Notify
    from runtime.feature.graph import ports

_EXECUTOR_SCHEDULER = 3


class Model(NotCopied):
    """A set of bound streams with an end. Made by hand: bind, submit, `end`, `load`, `execute`.

    Its parts: `stream_set` (which streams, and their queues), `node_list` (what they hold), `ending` (the last task)
    and `execution`.
    """

    __slots__ = (
        "__weakref__", "_ready", "_rest", "cache_ids", "closed", "context", "device", "ending", "execution", "handle",
        "model_id", "name", "node_list", "operators", "resources", "site", "stream_set", "texts",
        "watchers")  # fmt: skip

    executor = _EXECUTOR_SCHEDULER
    """Who executes it, in messages to the task scheduler."""
    captured = False
    """Whether a capture has made it."""

    def __init__(self, context: Context) -> None:
        """Take a model id.

        Raises:
            ResourceExhausted 207010: the device has none left.
            NotSupported 207000: how the chip's scheduler keeps the tasks of a model is not public (HWTS, 5162A).
        """
        context.check_open()
        if not context.device.chip.traits.runs_models:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"graphs and models on {context.device.chip.soc}: how its "
                "scheduler keeps and starts the tasks of a model is in no public source",
                hint="launch the tasks in a stream one by one, or many at once with a batch; or use another chip, such "
                "as Ascend910B3",
            )
        self.context, self.device = context, context.device
        self.model_id: int = self.device.ids.alloc(id_kinds.MODEL)
        self.name = ""
        self.closed = True
        """Until all of it is made: what was made by halves is closed by nobody."""
        self._rest: Steps = NOTHING
        """What is left of its end, once that was begun."""
        self.resources: ExitStack = ExitStack()
        """What else goes with the model."""
        self.cache_ids: dict[int, int] = {}
        """The device's ids of cache operations, by those that tasks of the model name them by."""
        self.texts: dict[Node, str] = {}
        """What was said of tasks, for the debug output."""
        self.operators: dict[Node, Any] = {}
        """What was said of the operators that tasks belong to; kept for whoever has said it."""
        self.watchers: dict[object, Callable[[], object]] = {}
        """What is called when the model ends, by what it was registered with."""
        self.stream_set = ModelStreams(self)
        self.node_list = NodeList()
        self.ending = ModelEnd(self)
        self.execution = self._make_execution()
        self._ready = self.execution.ready
        self.site = creation_site()
        self.handle: int = self.device.runtime.handles.add(self, weak=True)
        self.closed = False
        context.models.add(self)

    def _make_execution(self) -> ModelExecution:
        return ModelExecution(self, self.stream_set, self.ending)

    # -- what it consists of ---------------------------------------------------------------------------------------

    @property
    def streams(self) -> list[Stream]:
        """The bound streams, the newest first."""
        return self.stream_set.bound

    @property
    def nodes(self) -> list[Node]:
        """What the streams hold, in the order in which it was submitted."""
        return self.node_list.all()

    @property
    def recorder(self) -> ports.TaskRecorder:
        """What keeps the tasks of its streams."""
        return self.node_list

    @property
    def end_notify(self) -> Notify | None:
        """What the last task sets; there once the model has an end."""
        return self.ending.notify

    @property
    def complete(self) -> bool:
        """Whether executions were prepared, or will be by the first one."""
        return self.execution.complete

    @property
    def root(self) -> Model:
        """The model whose executions execute it: itself, but for branches of conditional nodes."""
        return self

    def tree(self) -> Sequence[Model]:
        """Return the model and those that it starts itself."""
        return [self]

    def counter(self, stream: StreamPort) -> int:
        """Return the address of the word that counts how often a stream was started."""
        return self.stream_set.counter(stream)

    # -- building --------------------------------------------------------------------------------------------------

    not_kept = staticmethod(model_streams.not_kept)

    def bind(self, stream: Stream, *, head: bool = True) -> None:
        """Let the model keep what is submitted to a stream.

        Args:
            head: the stream starts with the model; otherwise a task of another stream has to activate it.

        Raises:
            InvalidArgument 107000: the stream does not keep its tasks.
            StreamError 107005: it is in a model already.
            RuntimeFault 507000: the AICPU schedules it, and the model has an end for the task scheduler.
            NotSupported 207000: it stops at failures.
        """
        self.check_open()
        self.stream_set.bind(stream, head=head)

    def unbind(self, stream: Stream) -> None:
        """Give a stream back to its context, with nothing in it.

        Raises:
            StreamError 107005: it is not in this model.
        """
        self.check_open()
        self.stream_set.unbind(stream)

    def clean(self, stream: Stream) -> None:
        """Empty a bound stream, so that other tasks can be put into it; the model has to be loaded again."""
        with self.stream_set.lock:
            self.stream_set.clean(stream)
            self.execution.complete = False
            self.execution.launcher.look()

    def end(self, stream: Stream) -> None:
        """Put the end of the model behind the tasks of a stream; a second end changes nothing.

        Raises:
            ResourceExhausted 207009: no notify is left for it.
            StreamError 107005: the stream is not in the model.
        """
        self.check_open()
        stream.check_not_captured("end of a model")
        if self.ending.notify is not None:
            return
        launcher = self.execution.launcher
        if isinstance(launcher, AicpuLauncher):
            launcher.end(stream)
            return
        if stream.bound is not self:
            raise model_streams.not_bound(self, stream, "end the model in one of its own streams")
        self.ending.put(stream)

    def load(self) -> None:
        """Declare the model complete: the task scheduler prepares its execution.

        Raises:
            StreamError 107005: it has no stream.
            ModelError 507011: it has no end.
        """
        self.check_open()
        self.execution.load()

    # -- execution -------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""
        return self.execution.launcher.running

    @property
    def scheduled(self) -> bool:
        """Whether the AICPU schedules it."""
        return self.execution.scheduled

    def execute(self, stream: Stream) -> None:
        """Queue one execution: the stream goes on when the model's end was reached. Waits where launches block.

        Raises:
            ModelError 507011: the model has no end, or was not loaded.
            InvalidArgument 107000: the stream is itself in a model, or keeps its tasks where the chip cannot start a
                model from such a stream.
        """
        try:
            put = self._ready.get(stream)
        except TypeError:  # it cannot even be a key
            put = None
        if put is None or not put():
            check_instance("launch of a graph", "stream", stream, Stream, STREAMS)
            self.execution.queue(stream)

    def execute_now(self, timeout_ms: int) -> None:
        """Execute on the context's default stream and wait; the model only needs its end for that.

        Raises:
            ModelError 507011: it has none.
            Timeout 507046: not done in time; everything goes on.
        """
        self.check_open()
        self.execution.execute_now(timeout_ms)

    def abort(self) -> None:
        """Stop an execution; the streams that wait for it go on with the failure 507023.

        Raises:
            NotSupported 207000: it was captured, or the task scheduler is too old (EE1015).
        """
        self.check_open()
        self.need_to_abort()
        if self.captured:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self!r} was captured and cannot be aborted",
                hint="abort the stream that executes it",
            )
        self.execution.abort()

    def need_to_abort(self) -> None:
        """Refuse an abort that the task scheduler is too old for; the AICPU needs it for none."""
        if self.device.chip.traits.abort_by_capability and not self.scheduled:
            self.device.need_of_scheduler("TS_MODEL_ABORT", "Model.abort")

    def idle(self) -> bool:
        """Whether no execution is queued or being queued; False where that is not known yet. Never waits."""
        return self.execution.idle()

    def runs_in(self, stream: StreamPort) -> bool:
        """Whether a stream waits for an execution."""
        return self.execution.launcher.runs_in(stream)

    def before_each(self, call: Callable[[], None]) -> None:
        """Call something on the host before each execution."""
        self.execution.before_each(call)

    def lend_back(self) -> int:
        """Give queues back to the pool if nothing is being executed; returns how many."""
        return self.execution.lend_back()

    # -- on another card -------------------------------------------------------------------------------------------

    def lose_queues(self) -> None:
        """Note that the card knows nothing of the model, and that software SQs have no queues."""
        self.stream_set.lose_queues()

    def bind_again(self) -> None:
        """Let the task scheduler of another card know the streams; what their own queues hold may come back then."""
        self.stream_set.bind_again()

    def load_again(self) -> None:
        """Let the task scheduler prepare executions again, if the model was complete."""
        self.execution.load_again()

    # -- end -------------------------------------------------------------------------------------------------------

    def close(self, *, force: bool = False) -> None:
        """Wait for executions, then give streams, notify and id back. Closing twice does nothing.

        Where an interrupt has broken a close off, the next one, or the next wait, goes on with it.

        Args:
            force: do not wait; the task scheduler is asked to stop an execution.

        Raises:
            ModelError 107037: an execution does not end; the model stays.
        """
        if self.closed:
            self._rest()
            return
        if not force:
            self.execution.wait_idle()
        elif self.execution.running and not self.captured:
            with suppress(errors.RuntimeFault):  # it ends with its streams in any case
                self.abort()
        rest, dropped = Steps(self._ending_steps()), self.device.dropped
        dropped += (rest,)  # no call, and none behind it: an interrupt comes before both or behind both
        self.closed, self._rest = True, rest
        rest.finish(dropped)

    def _ending_steps(self) -> Iterator[Callable[[], object]]:
        """Return the steps that end it."""
        yield Again(self._part)
        yield Again(self._release_streams)
        yield Again(self.resources.close)
        yield Again(self.stream_set.free_rings)
        yield Again(self.execution.launcher.close)
        yield Again(self.ending.give_back)
        yield self.device.ids.freeing(id_kinds.MODEL, self.model_id)
        yield Again(self.device.sq_pool.trim)
        yield from list(self.watchers.values())

    def _part(self) -> None:
        """Let nobody find it any more."""
        self.execution.launcher.look()
        self.device.runtime.handles.remove(self.handle)
        self.context.models.remove(self)

    def __del__(self) -> None:
        """Leave a model that was dropped without `close` to the device, which closes it when what is queued is done."""
        if not getattr(self, "closed", True):
            self.context.dropped_models.append(self)
            self.device.dropped.append(partial(_close_dropped, self))

    def give_up(self) -> None:
        """Close it, as nobody has it any more and no execution is queued."""
        self.close()

    def _release_streams(self) -> None:
        """Give the streams back to the context."""
        self.stream_set.release(lambda stream: None)

    def check_open(self) -> None:
        """Raise where the model was closed."""
        if self.closed:
            what = "graph" if self.captured else "model"
            raise dead_handle(what, f"{what} {self.model_id}", self.device.runtime.handles.history(self.handle))

    def __repr__(self) -> str:
        state = "closed" if self.closed else count(len(self.streams), "stream")
        return f"<model {self.name or self.model_id} of device {self.device.user_id}, {state}>"


def _close_dropped(model: Model) -> None:
    """Close a model that nobody has any more; called when what was queued at its end is done."""
    model.give_up()
    with suppress(ValueError):
        model.context.dropped_models.remove(model)
