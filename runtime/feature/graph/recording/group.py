"""Task groups: the kernels of a graph that are given other parameters together (core_spec 14.11)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chips.tasks import TaskType
from npuhal.words import count
from runtime import errors
from runtime.core.diagnostics.resource_report import creation_site

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.feature.graph import ports
    from runtime.feature.graph.recording.node import Node

KERNELS = (TaskType.KERNEL_AICORE, TaskType.KERNEL_AIVEC)
"""Tasks that a group may hold, besides fused ones on some chips."""


class TaskGroup:
    """Kernels that were captured between `begin_group` and `end_group`, in order."""

    __slots__ = ("__weakref__", "begun_by", "branch", "error", "handle", "nodes", "recording", "site", "updater")

    def __init__(self, branch: ports.Branch) -> None:
        self.branch = branch
        self.nodes: list[Node] = []
        self.recording = True
        self.error: errors.RuntimeFault | None = None
        """What came in between while it was recorded."""
        self.updater: Stream | None = None
        """The stream whose launches replace its kernels."""
        self.handle = 0
        self.site, self.begun_by = creation_site(), threading.current_thread()

    def told(self) -> str:
        """Return in words which group this is: graph, stream, and where it was begun by whom."""
        owner, branch = self.begun_by, self.branch
        return f"the task group of graph {branch.graph.model_id} with {count(len(self.nodes), 'kernel')}, begun in " \
               f"stream {branch.user.stream_id} at {self.site} by thread {owner.name!r} ({owner.ident})"

    def check(self, label: TaskInfo) -> None:
        """Refuse what is no kernel: 507009 (EE1006); the end of the group fails then."""
        fusion = label.type is TaskType.FUSION_KERNEL and self.branch.graph.device.chip.traits.fusion_in_groups
        if label.type not in KERNELS and not fusion:
            self.error = no_kernel(label, "recorded in")
            raise self.error

    def __repr__(self) -> str:
        return f"<task group of graph {self.branch.graph.model_id}, {count(len(self.nodes), 'kernel')}>"


def no_kernel(label: TaskInfo, what: str) -> errors.RuntimeFault:
    """Return the fault of a task that a task group cannot hold, or be updated with."""
    return errors.fault(
        "RT_ERROR_TASK_NOT_SUPPORT", f"{label} is no kernel on AI cores and cannot be {what} a task group", ee="EE1006",
        params=(str(label), label.type.name, "only kernels on AI cores can be in a task group"),
        hint="submit it outside of the group",
    )
