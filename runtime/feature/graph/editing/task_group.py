"""Task groups: kernels of a graph that are launched again later to give them other parameters (core_spec 14.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chips.tasks import FusionKernel, TaskType
from runtime import errors
from runtime.core.submission.ring import TaskInfo
from runtime.core.submission.route import ClosedRoute, RouteRank, Verdict, group_exhausted
from runtime.core.submission.submit import unsent
from runtime.feature.graph.editing.rewrite import replace_task

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.recording.branch import Branch
    from runtime.feature.graph.recording.node import Node

_KERNELS = (TaskType.KERNEL_AICORE, TaskType.KERNEL_AIVEC)


class TaskGroup:
    """Kernels that were captured between `begin_group` and `end_group`, in order."""

    __slots__ = ("branch", "error", "handle", "nodes", "recording", "updater")

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.nodes: list[Node] = []
        self.recording = True
        self.error: errors.RuntimeFault | None = None
        """What came in between while it was recorded."""
        self.updater: Stream | None = None
        """The stream that fills it anew."""
        self.handle = 0

    def check(self, label: TaskInfo) -> None:
        """Refuse what is no kernel: 507009 (EE1006); the group is spoiled."""
        fusion = label.type is TaskType.FUSION_KERNEL and self.branch.graph.device.chip.traits.fusion_in_groups
        if label.type not in _KERNELS and not fusion:
            self.error = _no_kernel(label, "recorded in")
            raise self.error

    def __repr__(self) -> str:
        return f"<task group of graph {self.branch.graph.model_id}, {len(self.nodes)} kernels>"


def begin_group(stream: Stream) -> TaskGroup:
    """Start a task group in a captured stream and return it; until its end the stream takes kernels only.

    Raises:
        CaptureError 107029: the stream is not captured. CaptureError 107033: a group is open in it.
    """
    branch = _branch(stream, "begin of a task group")
    if branch.group is not None:
        raise _status("begin of a task group", "a group is being recorded in the stream")
    graph = branch.graph
    branch.group = TaskGroup(branch)
    graph.groups.append(branch.group)
    graph.settle()
    return branch.group


def end_group(stream: Stream) -> TaskGroup:
    """End the task group of a captured stream and return it.

    Raises:
        CaptureError 107033: none is open in it.
        CaptureError 507903: a task has failed, so that the capture cannot end well; an interruption is told as it was.
    """
    branch = _branch(stream, "end of a task group")
    group = branch.group
    if group is None:
        raise _status("end of a task group", "no group is being recorded in the stream")
    branch.group, group.recording = None, False
    graph = branch.graph
    graph.settle()
    if group.error is not None:
        raise errors.fault(
            group.error.name, f"the task group is not complete: {group.error.message}", ee="EE1017",
            params=("end of a task group", "stream", "a task of the group has failed"), hint=group.error.hint,
        )
    if not graph.unhindered:
        raise errors.fault(
            "RT_ERROR_STREAM_CAPTURE_INVALIDATED", "a captured task has failed, so that the group is not complete",
            hint="see the error of that call, and capture again",
        )
    group.handle = graph.device.runtime.handles.add(group)
    return group


def begin_update(stream: Stream, group: TaskGroup) -> None:
    """Let a stream fill a task group anew: each kernel launched in it from now on replaces the group's next one.

    The new parameters are in force for executions queued behind the stream's work; until then the old ones are.

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
    if stream.refill is not None:
        raise _status(call, f"stream {stream.stream_id} is filling a group already", posted=True)
    if group.updater is not None:
        raise _status(call, f"stream {group.updater.stream_id} is filling the group")
    group.updater = stream
    stream.refill = Refill(stream, group)
    stream.install_route(_UPDATE)


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
    refill: Refill | None = stream.refill
    if refill is None:
        raise _status("end of an update", f"stream {stream.stream_id} is filling no group", posted=True)
    group = refill.group
    stream.refill = group.updater = None
    stream.remove_route(RouteRank.UPDATE)
    if complete and refill.next < len(group.nodes):
        raise errors.fault(
            "RT_ERROR_STREAM_TASKGRP_UPDATE", f"{refill.next} kernels were launched for a group of "
            f"{len(group.nodes)}", ee="EE1017",
            params=("end of an update", "stream", "fewer tasks were launched than the group has"),
            hint="launch exactly the kernels that the group was recorded with",
        )


class Refill:
    """A stream's update of a group: takes what is submitted to the stream."""

    __slots__ = ("group", "next", "stream")

    def __init__(self, stream: Stream, group: TaskGroup) -> None:
        self.stream, self.group = stream, group
        self.next = 0
        """Index of the kernel that the next launch replaces."""

    def submit(self, task: Task, *, owner: TaskInfo | str = "", **options: Any) -> TaskIds:
        """Put a kernel in the place of the group's next one.

        Raises:
            StreamError 507009: no kernel (EE1006). InternalError 507000: the group has no further one.
            InvalidArgument 107000: it runs on other cores than the one it replaces.
        """
        label = owner if isinstance(owner, TaskInfo) else TaskInfo(task.type, owner or task.type.name.lower())
        with unsent(self.stream, options) as sent:
            if label.type not in _KERNELS and not isinstance(task, FusionKernel):
                raise _no_kernel(label, "update")
            nodes = self.group.nodes
            if self.next >= len(nodes):
                raise group_exhausted(self.stream, label)
            node = nodes[self.next]
            if label.type is not node.label.type:
                raise errors.fault(
                    "ACL_ERROR_RT_PARAM_INVALID", f"{label} cannot replace {node!r}: one runs on cube cores, the other "
                    "on vector cores", hint="launch the kernels in the order that the group was recorded in",
                )
            if isinstance(task, FusionKernel):
                _check_fused(task, label, node)
            replace_task(self.group.branch.graph, node, task, label, options.get("arguments"), self.stream)
            sent()
            self.next += 1
        return node.ids


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


class _UpdateRoute(ClosedRoute):
    """Keeps prepared launches from passing by; what fills the group anew is taken before routes are asked."""

    __slots__ = ()

    def verdict(self, task_type: TaskType) -> Verdict:
        """Leave to the next route what the update itself sends."""
        return Verdict.SKIPS


_UPDATE = _UpdateRoute(
    "the update of a task group", "what is submitted replaces tasks of a graph", RouteRank.UPDATE, immediate=False
)


def _branch(stream: Stream, call: str) -> Branch:
    stream.check_open()
    branch: Branch | None = stream.branch
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


def _no_kernel(label: TaskInfo, what: str) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_TASK_NOT_SUPPORT", f"{label} is no kernel on AI cores and cannot be {what} a task group", ee="EE1006",
        params=(str(label), label.type.name, "only kernels on AI cores can be in a task group"),
        hint="submit it outside of the group",
    )
