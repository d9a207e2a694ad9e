"""Nodes: what was captured, task by task, with the call site."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from chips.tasks import CoreKernel, TaskType
from npuhal.records import replace
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.env import TaskIds
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.launch.kernel import Kernel
    from runtime.memory.arguments import ArgumentBlock


class NodeKind(enum.IntEnum):
    """What a node is to those who list and change it (acl_rt.h, aclmdlRITaskType)."""

    OTHER = 0
    KERNEL = 1
    EVENT_RECORD = 2
    EVENT_WAIT = 3
    EVENT_RESET = 4
    VALUE_WRITE = 5
    VALUE_WAIT = 6


class EventUse(NamedTuple):
    """The event of a record, wait or reset in a graph."""

    kind: NodeKind
    name: str
    handle: int
    flags: int
    external: bool = False
    """Whether it is recorded or waited for outside of the graph."""


class Change(NamedTuple):
    """What the next update puts in the place of a node's task; no task leaves the node out."""

    task: Task | None
    label: TaskInfo
    arguments: ArgumentBlock | None = None


_KINDS = {
    TaskType.KERNEL_AICORE: NodeKind.KERNEL, TaskType.KERNEL_AIVEC: NodeKind.KERNEL,
    TaskType.MEM_WRITE_VALUE: NodeKind.VALUE_WRITE, TaskType.WRITE_VALUE: NodeKind.VALUE_WRITE,
    TaskType.MEM_WAIT_VALUE: NodeKind.VALUE_WAIT,
}  # fmt: skip


class Node:
    """One task of a graph.

    `stream` is the graph's own stream that holds the task, `user` the stream that it was submitted to; `index` counts
    in the order of the capture. `site` is "file:line" of the call, where it was noted.
    """

    __slots__ = ("address", "arguments", "change", "count", "enabled", "event", "handle", "ids", "index", "label",
                 "origin", "stream", "template", "user")  # fmt: skip

    def __init__(
        self, user: Stream, stream: Stream, ids: TaskIds, count: int, label: TaskInfo, template: Task,
        arguments: ArgumentBlock | None = None, origin: Any = None, address: int = 0,
    ) -> None:
        self.index = 0
        self.user, self.stream, self.ids, self.count = user, stream, ids, count
        self.label, self.template, self.arguments, self.origin = label, template, arguments, origin
        self.address = address
        """Where the kernel's arguments lie, if the template does not say."""
        self.event: EventUse | None = None
        self.change: Change | None = None
        self.enabled = True
        self.handle = 0

    @property
    def kind(self) -> NodeKind:
        """What the node is."""
        return self.event.kind if self.event is not None else _KINDS.get(self.template.type, NodeKind.OTHER)

    @property
    def task(self) -> Task:
        """The description of the task as it is executed."""
        task = self.template
        return replace(task, args=self.address) if isinstance(task, CoreKernel) and not task.args else task

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that it launches, if it does."""
        found: Kernel | None = self.label.kernel
        return found

    @property
    def blocks(self) -> int:
        """Blocks of the launch; 0 where it launches nothing."""
        return self.template.block_dim if isinstance(self.template, CoreKernel) else 0

    @property
    def name(self) -> str:
        """What it is called: the kernel's name, or what it does, with the event it is about."""
        base = self.kernel.name if self.kernel is not None else self.label.name
        return f"{base} {self.event.name}" if self.event is not None else base

    @property
    def position(self) -> int:
        """Where its first SQE lies in its stream."""
        return self.ids.position

    @property
    def site(self) -> str:
        """Where it was captured, "file:line"; empty where that was not noted."""
        if self.origin is None:
            return ""
        code, line = self.origin
        return f"{code.co_filename}:{line}"

    place = site
    """The former name of `site`."""

    def __repr__(self) -> str:
        where = f" at {self.site}" if self.site else ""
        return f"<node {self.index}, {self.name} of stream {self.user.stream_id}{where}>"
