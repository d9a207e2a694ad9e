"""Models that the AICPU schedules: the description and the messages that its scheduler gets (core_spec 17).

The streams with the flag CPU_SCHEDULE exist on the host only. What a model keeps of them is written to device memory
when it is loaded, and the scheduler walks through all of it at each execution; a stream of the task scheduler takes
part when a task of such a stream starts it. Layouts: rt_model.h, tagAicpuModelInfo and what it points to.
"""

from __future__ import annotations

import enum
import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from chips.memory_rules import internal_flags
from chips.registry import UnsupportedTask
from chips.tasks import AicpuKernel, AicpuKind, EndGraph, ModelMaintenance, ModelOperation, ModelToAicpu, TaskType
from runtime import errors
from runtime.core.stream import creation
from runtime.core.stream.stream import StreamFlag
from runtime.core.submission.ring import TaskInfo
from runtime.feature.graph.execution.inside import TasksOfModel
from runtime.feature.graph.execution.model_launcher import ModelLauncher

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph import ports

EXECUTOR = 2
"""Who executes such a model, in messages to the task scheduler."""
_NO_TASK = 0xFFFF
_HEAD = int(StreamFlag.HEAD)
_INFO = struct.Struct("<IIHH4xQQH6xQ")
"""Model, task scheduler, how many streams and tasks, where they are listed; then the queues: there are none."""
_TASK = struct.Struct("<III4xQQQI4x")
"""Task, stream, kind of kernel; addresses of function name, library name and arguments; flags."""
_STREAM = struct.Struct("<II")


class Command(enum.IntEnum):
    """What the AICPU scheduler is asked to do with a model (rt_model.h, tagTsAicpuModelCmd)."""

    LOAD = 1
    EXECUTE = 2
    DESTROY = 3
    ABORT = 4


class AicpuLauncher(ModelLauncher):
    """Starts a model over the AICPU scheduler, after that was told what the model's streams hold."""

    __slots__ = ("_blocks", "_ended", "_info", "_live", "_loaded", "_words")

    def __init__(self, model: ports.Model) -> None:
        super().__init__(model)
        self._info = model.device.memory.alloc(_INFO.size, internal_flags(hbm=True))
        self._blocks = [self._info]
        self._words: dict[int, int] = {}
        """Numbers that tasks point to, and where they lie."""
        self._ended = self._loaded = False
        self._live: deque[None] = deque()
        """One entry for each execution that is not known to be over."""

    @property
    def running(self) -> bool:
        """Whether an execution is not known to be over."""
        return bool(self._live)

    def runs_in(self, stream: StreamPort) -> bool:
        """Whether a stream may wait for an execution."""
        return self.running

    @property
    def ended(self) -> bool:
        """Whether the model has an end."""
        return self._ended

    def end(self, stream: Stream) -> None:
        """Put the end of the model behind the tasks of a stream.

        Raises:
            RuntimeFault 507000: it has one already.
        """
        model = self._model
        if self._ended:
            raise errors.fault(
                "RT_ERROR_MODEL_ENDGRAPH", f"model {model.model_id} has an end already", ee="EE1011",
                params=("end of a model", 1, "ends", "a model that the AICPU schedules has one"),
                hint="end a model once",
            )
        names = model.device.names
        task = EndGraph(
            model_id=model.model_id, args=self._word(model.model_id), func_name=names.address_of("endGraph"),
            executor_flag=EXECUTOR,
        )
        stream.target.submit(task, owner="end of a model")
        self._ended = True

    def activate(self, stream: Stream, target: Stream) -> None:
        """Start another stream of the model when the AICPU gets to this task; its own all start with the model."""
        task = AicpuKernel(
            so_name=0, func_name=self._model.device.names.address_of("activeEntryStream"),
            args=self._word(target.stream_id), kind=AicpuKind.CCE,
        )
        stream.submit(task, owner=TaskInfo(task.type, "start of a stream"))

    def load(self) -> None:
        """Describe the model on the device and let both schedulers prepare executions.

        Raises:
            RuntimeFault 507000: it has no end, or none of the AICPU's streams starts with it.
            DeviceFault 507020: the AICPU scheduler refuses it: two of its streams start with the model, for example.
        """
        model = self._model
        if not any(stream.flags & StreamFlag.CPU_SCHEDULE for stream in model.stream_set.heads()):
            raise errors.fault(
                "RT_ERROR_MODEL_EXECUTOR", f"model {model.model_id} has streams of the AICPU, and none of them starts "
                "with it", hint="bind the AICPU's first stream with head=True, before the end of the model",
            )
        if not self._ended:
            raise errors.fault(
                "RT_ERROR_MODEL_ENDGRAPH", f"model {model.model_id} has no end", ee="EE1018",
                params=(f"load of model {model.model_id}", "it has no end"), hint="end the model, then load it",
            )
        if self._loaded:
            raise errors.fault(
                "RT_ERROR_MODEL_BASE", f"model {model.model_id} was loaded already", ee="EE1018",
                params=(f"load of model {model.model_id}", "it can be loaded once"), hint="load a model once",
            )
        self._describe()
        with self._messenger() as sender:
            sender.submit(ModelMaintenance(
                operation=ModelOperation.PRE_PROCESS, model_id=model.model_id, stream_id=sender.stream_id,
                sq_id=sender.queues.sq_id, first_task_id=_NO_TASK, executor_flag=EXECUTOR,
            ), owner="model pre process")  # fmt: skip
            self._command(sender, Command.LOAD)
            sender.settle()
        self._loaded = True

    def _describe(self) -> None:
        """Write down which streams the model has and what the AICPU's hold."""
        model = self._model
        heads = set(model.stream_set.heads())
        streams = b"".join(
            _STREAM.pack(each.stream_id, int(each.flags) | (_HEAD if each in heads else 0)) for each in model.streams
        )
        nodes = sorted(
            (node for node in model.nodes if node.stream.flags & StreamFlag.CPU_SCHEDULE),
            key=lambda node: node.stream.stream_id,
        )
        tasks = b"".join(
            _TASK.pack(node.ids.task_id, node.stream.stream_id, *_function(node.template), 0) for node in nodes
        )
        listed = [self._store(image) if image else 0 for image in (streams, tasks)]
        model.device.memory.write(self._info, _INFO.pack(
            model.model_id, 0, len(model.streams), len(nodes), *listed, 0, 0
        ))  # fmt: skip

    def __call__(self, stream: Stream, over: Callable[[], object] | None = None) -> None:
        """Execute the model once in a stream, which goes on when the end was reached."""
        self._live.append(None)
        self._command(stream, Command.EXECUTE, over or self._live.popleft)

    def execute_now(self, timeout_ms: int) -> None:
        """Execute in a stream of its own, and wait."""
        with self._messenger() as sender:
            self(sender)
            sender.synchronize(timeout_ms)

    def abort(self) -> None:
        """Stop an execution; the stream that waits for it goes on with the failure 507023."""
        with self._messenger() as sender:
            self._command(sender, Command.ABORT)
            sender.settle()

    def close(self) -> None:
        """Let the AICPU scheduler forget the model, and free what described it."""
        super().close()
        blocks, self._blocks = self._blocks, []
        with ExitStack() as steps:  # runs all of them and raises the last failure
            for block in blocks:
                steps.callback(self._model.device.memory.free, block)
            if self._loaded:
                self._loaded = False
                steps.callback(self._forget_model)

    def _forget_model(self) -> None:
        sender = self._model.stream_set.sender
        self._command(sender, Command.DESTROY)
        sender.settle()

    def _command(self, sender: Stream, command: Command, finished: Callable[[], object] | None = None) -> None:
        task = ModelToAicpu(
            model_id=self._model.model_id, command=command, info=self._info, executor_flag=EXECUTOR
        )
        sender.submit(
            task, finished=finished,
            owner=TaskInfo(task.type, f"model {self._model.model_id} on the AICPU", inside=TasksOfModel(self._model)),
        )

    @contextmanager
    def _messenger(self) -> Iterator[Stream]:
        """A stream of its own for messages, as long as it takes; behind others they could wait for an execution."""
        sender = creation.create(self._model.context, name=f"messages about model {self._model.model_id}")
        try:
            yield sender
        except BaseException:
            sender.close(force=True)
            raise
        sender.close()

    def _word(self, value: int) -> int:
        """Return where a number of 32 bits lies on the device."""
        if value not in self._words:
            self._words[value] = self._store(struct.pack("<I", value))
        return self._words[value]

    def _store(self, image: bytes) -> int:
        memory = self._model.device.memory
        address = memory.alloc(len(image), internal_flags(hbm=True))
        self._blocks.append(address)
        memory.write(address, image)
        return address


def _function(task: object) -> tuple[int, int, int, int]:
    """Return kind of kernel, and the addresses of function name, library name and arguments."""
    if isinstance(task, EndGraph):
        return AicpuKind.CCE, task.func_name, 0, task.args
    assert isinstance(task, AicpuKernel)
    return task.kind, task.func_name, task.so_name, task.args + task.head_offset


def check_left_to_aicpu(model: ports.Model, stream: Stream) -> None:
    """Raise where the AICPU cannot schedule a model for a stream's sake: the chip, or an end that there is already."""
    if model.end_notify is not None:
        raise errors.fault(
            "RT_ERROR_MODEL_EXECUTOR", f"model {model.model_id} has an end that the task scheduler executes, stream "
            f"{stream.stream_id} is scheduled by the AICPU", hint="bind the AICPU's streams before the end",
        )
    try:
        stream.plugin.ops(TaskType.MODEL_TO_AICPU)
    except UnsupportedTask:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{stream.device.chip.soc} executes no models by the AICPU",
            hint="bind streams without CPU_SCHEDULE",
        ) from None
