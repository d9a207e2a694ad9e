"""What the streams of a model hold, in order.

Captured launches only record what a node is made from, because most graphs are executed without anybody listing nodes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.env import TaskIds
from runtime.core.diagnostics.resource_report import caller
from runtime.feature.graph.recording.node import Node
from runtime.launch.templates import described, lead_of
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from chips.tasks import CoreKernel, Task
    from runtime.core.stream.stream import Stream
    from runtime.core.submission.ring import TaskInfo
    from runtime.memory.arguments import ArgumentBlock

Made = Callable[..., Node]
Recorded = tuple[Made, int, int, int, "int | None", int]
"""What makes the node of a task, the numbers of the task (as in `TaskIds`), and where its arguments lie."""
LaunchRecorder = tuple[Callable[[Recorded], None], Made]
"""What takes a launch in, and what makes its node when somebody looks."""
_RECORDED = 6
"""The length of `Recorded`."""


class NodeList:
    """The nodes of one model."""

    __slots__ = ("_among", "_lock", "later", "made", "sites")

    def __init__(self) -> None:
        self.sites = os.environ.get(VARIABLE) == "1"
        """Whether nodes of a model made by hand note where they were submitted (NPUHAL_TRACE_CREATION=1)."""
        self.made: list[Node] = []
        """The first nodes: those that were made."""
        self._among: list[Node] = []
        """The nodes that `later` has whole."""
        self._lock = threading.Lock()
        self.later: list[Any] = []
        """The tasks behind them, one `Recorded` behind the other: an object each would be work for the collector."""

    def add(self, node: Node) -> None:
        """Add a node behind all that were recorded, which stay so."""
        with self._lock:
            node.index = len(self.made) + len(self.later) // _RECORDED
            if self.later:
                self._among.append(node)
                self.later.extend((_itself, 0, 0, 0, node, 0))
            else:
                self.made.append(node)

    def admit(self, stream: Stream, info: TaskInfo) -> None:
        """Take every task."""

    def note(
        self, stream: Stream, task: Task, info: TaskInfo, ids: TaskIds, count: int, arguments: ArgumentBlock | None
    ) -> None:
        """Keep a task that was put into a stream of a model made by hand."""
        origin = caller() if self.sites else None
        self.add(Node(stream, stream, ids, count, info, task, arguments, origin))

    def spoil(self, failure: BaseException) -> None:
        """Do nothing: the caller of submit gets the error."""

    def recorder(self, user: Stream, stream: Stream, info: TaskInfo, task: CoreKernel) -> LaunchRecorder:
        """Return what records launches that differ in nothing but their arguments, and what makes their nodes."""
        lead = lead_of(stream, task)
        describe = described(task, lead)

        def make(task_id: int, task_sn: int, position: int, allocation: int | None, address: int) -> Node:
            ids = TaskIds(task_id, task_sn, position, allocation)
            if lead:
                return Node(user, stream, ids, 1, info, describe(address))
            return Node(user, stream, ids, 1, info, task, None, None, address)

        return self.later.extend, make

    def known(self) -> list[Node]:
        """Return the nodes that there are without making any: those that somebody can have."""
        with self._lock:
            return self.made + self._among

    def all(self) -> list[Node]:
        """Return the nodes."""
        if self.later:
            with self._lock:
                self._make()
        return self.made

    def _make(self) -> None:
        count, first = len(self.later), len(self.made)
        columns = (self.later[at:count:_RECORDED] for at in range(_RECORDED))  # others may append meanwhile
        nodes = [make(*numbers) for make, *numbers in zip(*columns, strict=True)]
        for index, node in enumerate(nodes, first):
            node.index = index
        self.made += nodes
        self._among = []
        del self.later[:count]


def _itself(_task_id: int, _task_sn: int, _position: int, node: Node, _address: int) -> Node:
    """Return a node that was there when it was noted, in the place of a number."""
    return node
