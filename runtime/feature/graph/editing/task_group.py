"""Task groups: kernels of a graph that are launched again later to give them other parameters (core_spec 14.11)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from chips.tasks import FusionKernel
from npuhal.words import count
from runtime import errors
from runtime.core.submission.ring import TaskInfo
from runtime.core.submission.sink import Target, group_exhausted
from runtime.feature.graph.editing.rewrite import describe, filled, write
from runtime.feature.graph.recording.branch import branch_of
from runtime.feature.graph.recording.group import KERNELS, TaskGroup, no_kernel

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.ports import BoundModel, CaptureBranch, StreamPort, TaskSink
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.recording.branch import Branch
    from runtime.feature.graph.recording.node import Node
    from runtime.feature.graph.state import Block
    from runtime.memory.arguments import ArgumentBlock


def begin_group(stream: Stream) -> TaskGroup:
    """Start a task group in a captured stream and return it; until its end the stream takes kernels only.

    Raises:
        CaptureError 107029: the stream is not captured. CaptureError 107033: a group is open in it.
    """
    branch = _branch(stream, "begin of a task group")
    if branch.group is not None:
        raise _status("begin of a task group", f"{branch.group.told()} is being recorded in the stream")
    graph = branch.graph
    branch.group = TaskGroup(branch)
    graph.recording.groups.append(branch.group)
    graph.recording.settle()
    return branch.group


def end_group(stream: Stream) -> TaskGroup:
    """End the task group of a captured stream and return it.

    Raises:
        CaptureError 107033: none is open in it.
        CaptureError 507903: a task has failed, so that the capture cannot end well; an interruption keeps its own code.
    """
    branch = _branch(stream, "end of a task group")
    group = branch.group
    if group is None:
        others = "".join(f"; {other.told()} is open" for other in branch.graph.recording.groups if other.recording)
        raise _status("end of a task group", f"no group is being recorded in stream {stream.stream_id}{others}")
    branch.group, group.recording = None, False
    graph = branch.graph
    graph.recording.settle()
    if group.error is not None:
        raise errors.fault(
            group.error.name, f"the task group is not complete: {group.error.message}", ee="EE1017",
            params=("end of a task group", "stream", "a task of the group has failed"), hint=group.error.hint,
        )
    if not graph.recording.unhindered:
        raise errors.fault(
            "RT_ERROR_STREAM_CAPTURE_INVALIDATED", f"{group.told()} is not complete, because a captured task has "
            f"failed: {graph.recording.failed}",
            hint="see the error of that call, and capture again",
        )
    group.handle = graph.device.runtime.handles.add(group, weak=True)
    return group


def begin_update(stream: Stream, group: TaskGroup, *, block: Block | None = None) -> None:
    """Let a stream update a task group: each kernel launched in it from now on replaces the group's next one.

    The new parameters are in force for executions queued behind the stream's work; until then the old ones are.

    Args:
        block: the block at whose end the update ends; where that is gone the update is over.

    Raises:
        CaptureError 107027: the stream is captured. StreamError 107005: it is bound to a model.
        CaptureError 107033: the stream, or another one, is filling a group.
    """
    call = "begin of an update"
    stream.check_open()
    group.branch.graph.check_open()
    stream.check_not_captured(call)
    if stream.bound is not None:
        raise errors.fault(
            "RT_ERROR_STREAM_MODEL", f"{call}: stream {stream.stream_id} is bound to a model",
            hint="use an ordinary stream",
        )
    if _update_of(stream) is not None:
        raise _status(call, f"stream {stream.stream_id} is filling a group already", posted=True)
    if group.updater is not None and _update_of(group.updater) is not None:
        raise _status(call, f"stream {group.updater.stream_id} is filling {group.told()}")
    group.updater = stream
    stream.sinks.lay(UpdateSink(stream, group, block))


def end_update(stream: Stream, *, complete: bool = True) -> None:
    """End the update that a stream makes.

    Args:
        complete: whether all kernels of the group must have been launched.

    Raises:
        CaptureError 107033: it makes none (EE1016).
        InternalError 507000: fewer kernels were launched than the group has (EE1017); those launched are in force.
    """
    stream.check_open()
    stream.check_not_captured("end of an update")
    update = _update_of(stream)
    if update is None:
        raise _status("end of an update", f"stream {stream.stream_id} is filling no group", posted=True)
    group = update.group
    group.updater = None
    stream.sinks.lift(update)
    if complete and update.next < len(group.nodes):
        raise errors.fault(
            "RT_ERROR_STREAM_TASKGRP_UPDATE",
            f"{count(update.next, 'kernel was', 'kernels were')} launched in stream {stream.stream_id} for "
            f"{group.told()}", ee="EE1017",
            params=("end of an update", "stream", "fewer tasks were launched than the group has"),
            hint="launch exactly the kernels that the group was recorded with",
        )


class UpdateSink:
    """Puts kernels that are submitted to a stream in the place of a group's, one after the other."""

    __slots__ = ("_block", "group", "next", "stream")

    name = "the update of a task group"
    immediate = False
    branch: ClassVar[CaptureBranch | None] = None
    model: ClassVar[BoundModel | None] = None

    def __init__(self, stream: Stream, group: TaskGroup, block: Block | None) -> None:
        self.stream, self.group, self._block = stream, group, block
        self.next = 0
        """Index of the kernel that the next launch replaces."""

    def stream_for(self, stream: StreamPort) -> StreamPort:
        """Return the stream itself: what the update sends goes there."""
        return stream

    def is_over(self) -> bool:
        """Whether the block of the update is gone; the sink is lifted then."""
        over = self._block is not None and self._block.gone
        if over:
            self.group.updater = None
            self.stream.sinks.lift(self)
        return over

    def admit(self, stream: StreamPort, task: Task, info: TaskInfo, count: int) -> tuple[StreamPort, TaskSink] | None:
        """Say which kernel is replaced.

        Raises:
            StreamError 507009: no kernel (EE1006). InternalError 507000: the group has no further one.
            InvalidArgument 107000: it runs on other cores than the one it replaces.
        """
        if self.is_over():
            return stream.sink.admit(stream, task, info, count)
        if info.type not in KERNELS and not isinstance(task, FusionKernel):
            raise no_kernel(info, "update")
        nodes = self.group.nodes
        if self.next >= len(nodes):
            raise group_exhausted(self.stream, info)
        node = nodes[self.next]
        if info.type is not node.label.type:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{info} cannot replace {node!r}: one runs on cube cores, the other "
                "on vector cores", hint="launch the kernels in the order that the group was recorded in",
            )
        if isinstance(task, FusionKernel):
            _check_fused(task, info, node)
        return Target(node.stream, self)

    def alloc(self, stream: StreamPort, count: int, info: TaskInfo) -> TaskIds:
        """Return the numbers of the kernel that is replaced."""
        return self.group.nodes[self.next].ids

    def commit(self, stream: StreamPort, sqes: bytes) -> None:
        """Put the entries in the place of the old ones, in order with the work of the stream that updates."""
        node = self.group.nodes[self.next]
        graph, block = self.group.branch.graph, stream.ring.arguments[node.position]
        old = node.arguments
        done = partial(graph.editing.retire, old) if old is not None and old is not block else None
        write(graph, node, filled(node, sqes), self.stream, done)

    def rollback(self, stream: StreamPort, count: int) -> bool:
        """Leave the kernel as it was."""
        node = self.group.nodes[self.next]
        stream.ring.attach(node.position, node.arguments)
        return True

    def record(
        self, stream: StreamPort, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep the new kernel in the node, and go on with the next."""
        describe(self.group.branch.graph, self.group.nodes[self.next], task, info, arguments)
        self.next += 1

    def spoil(self, failure: BaseException) -> None:
        """Take no note: the group is as it was."""


def _update_of(stream: Stream) -> UpdateSink | None:
    found = next((sink for sink in stream.sinks.over if isinstance(sink, UpdateSink)), None)
    return None if found is None or found.is_over() else found


def _check_fused(task: FusionKernel, label: TaskInfo, node: Node) -> None:
    """Refuse a fused task that has other parts than the one that it is to replace (core_spec 15): 107000."""
    old = node.template
    assert isinstance(old, FusionKernel)
    reason = ""
    if task.sqe_count != old.sqe_count:
        reason = f"it takes {task.sqe_count} entries, the other one {old.sqe_count}"
    elif task.aic is None or old.aic is None:
        reason = "a fused task without a part of the AI cores is not replaced"
    elif (type(task.aic.kernel), task.aic.vector) != (type(old.aic.kernel), old.aic.vector):
        reason = "their kernels run on different kinds of cores"
    if reason:
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{label} cannot replace {node!r}: {reason}", ee="EE1017",
            params=("update of a task group", "fused task", reason), hint="fuse the same kinds of parts",
        )


def _branch(stream: Stream, call: str) -> Branch:
    stream.check_open()
    branch = branch_of(stream)
    if branch is None:
        raise errors.fault(
            "RT_ERROR_STREAM_NOT_CAPTURED", f"{call}: stream {stream.stream_id} is not being captured", ee="EE1016",
            params=(call, "the stream is not being captured"), hint="begin a capture first",
        )
    return branch


def _status(call: str, reason: str, *, posted: bool = False) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_STREAM_TASKGRP_STATUS", f"{call}: {reason}", ee="EE1016" if posted else "",
        params=(call, reason) if posted else (), hint="pair each begin with an end",
    )
