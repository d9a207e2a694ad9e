"""Conditional nodes: graphs inside of a graph, chosen by a value in device memory (core_spec 14.9).

IF runs its first branch when the value is not 0, else its second if there is one; WHILE repeats its branch as long as
the value is not 0; SWITCH runs the branch with the number in the value, if there is such a branch.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from chips.env import TaskIds
from chips.memory_rules import internal_flags
from chips.programs import capture as programs
from chips.programs.device import CondDevice
from chips.programs.stream import DIAGNOSTIC_BYTES
from chips.tasks import CaptureCondition, ConditionKind
from npuhal.records import replace
from runtime import errors
from runtime.core.process.handles import dead_handle
from runtime.core.submission.ring import TaskInfo
from runtime.core.sync.notify import Notify
from runtime.errors.arguments import whole
from runtime.feature.graph.graph import Graph
from runtime.feature.graph.recording.branch import branch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.core.stream.stream import Stream

__all__ = ["Condition", "ConditionKind", "Handle"]

_WORD = struct.Struct("<Q")
_FOR_EVER = 0xFFFFFFFF
_LINE = 256
"""Programs are called at multiples of it."""
_MOST_BRANCHES = {ConditionKind.IF: 2, ConditionKind.WHILE: 1}
_CAPABILITY = "ACLGRAPH_COND_OP"


class Handle:
    """A value in device memory that decides one conditional node; kernels of the graph write it."""

    __slots__ = ("__weakref__", "address", "assigned", "default", "graph", "handle", "used")

    def __init__(self, graph: Graph, default: int = 0, *, assigned: bool = False) -> None:
        """Take 8 bytes of device memory, zeroed; they go with the graph.

        Args:
            default: the value that each execution starts with, if it is `assigned`.

        Raises:
            NotSupported 207000: the graph has hardware queues, or the task scheduler knows no such nodes.
            InvalidArgument 107000: the graph is not being captured (EE1017).
        """
        device = graph.device
        if not graph.software or not device.scheduler_has(_CAPABILITY):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{graph!r} cannot have conditional nodes: "
                + (f"the task scheduler lacks {_CAPABILITY}" if graph.software else "its streams have hardware queues"),
                hint="update driver and firmware",
            )
        if not graph.capturing:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{graph!r} is not being captured", ee="EE1017",
                params=("create of a condition", "model", "it is not being captured"),
                hint="create the condition between begin and end of the capture",
            )
        self.graph, self.default, self.assigned = graph, default, assigned
        self.used = False
        self.address = device.memory.alloc(_WORD.size, internal_flags(hbm=True))
        graph.resources.callback(device.memory.free, self.address)
        self.handle = device.runtime.handles.add(self, weak=True)
        graph.resources.callback(device.runtime.handles.remove, self.handle)
        self.assign(0)

    def assign(self, value: int) -> None:
        """Write the value now."""
        value = whole("condition", "value", value)
        self.graph.device.memory.write(self.address, _WORD.pack(value))

    def check_open(self) -> None:
        """Raise where its graph was closed."""
        if self.graph.closed:
            raise dead_handle("condition", f"condition of graph {self.graph.model_id}")


class Condition:
    """One conditional node and its branches, each to be captured with `begin(stream, into=branch)`."""

    __slots__ = ("_function", "_handle", "_ids", "_jump", "_kind", "_stream", "_tables", "branches", "notify")

    def __init__(self, stream: Stream, handle: Handle, kind: ConditionKind, count: int) -> None:
        """Put the node behind what was captured in a stream.

        Args:
            count: branches: 1 or 2 for IF, 1 for WHILE.

        Raises:
            InvalidArgument 107000: a wrong number of branches, a handle that was used, or a stream that is not captured
                into the handle's graph.
        """
        handle.check_open()
        graph = handle.graph
        branch = branch_of(stream)
        most = _MOST_BRANCHES.get(kind, count)
        if not 1 <= count <= most:
            raise _refused("size", count, f"a node of kind {kind.name} takes 1 to {most or 'any'} branches")
        if handle.used:
            raise _refused("handle", hex(handle.handle), "it decides another node already")
        if branch is None or branch.graph is not graph:
            raise _refused("stream", stream.stream_id, "it is not captured into the graph of the condition")
        self._handle, self._kind = handle, kind
        device = graph.device
        self.notify = Notify(device)
        graph.resources.callback(self.notify.close)
        self.branches = tuple(Graph(graph.context, self) for _ in range(count))
        self._stream = holder = branch.ready()
        start = CondDevice.of(holder.env).start_queues(queues=holder.env.sq_address_table, dfx=0)
        program = programs.CaptureCondition(
            kind=programs.ConditionKind(kind), variable=0, models=count, head_lists=0, head_counts=0, counter_lists=0,
            sq_id_address=0, next_head=0, start=start,
        ).program()
        stride = -(-(program.size_bytes + DIAGNOSTIC_BYTES + programs.STORED_BYTES) // _LINE) * _LINE
        self._function = device.memory.alloc(2 * stride, internal_flags(hbm=True))
        graph.resources.callback(device.memory.free, self._function)
        self._tables = 0
        jumps = kind is ConditionKind.WHILE
        self._jump = self._function + stride if jumps else 0
        task = CaptureCondition(
            kind=kind, notify_id=self.notify.notify_id, function=self._function, function_bytes=program.size_bytes,
            jump_function=self._jump, jump_function_bytes=programs.WhileJumpBack.program().size_bytes if jumps else 0,
            timeout_s=_FOR_EVER,
        )
        self._ids: TaskIds = branch.ready().submit(task, owner=TaskInfo(task.type, f"condition, {kind.name}"))
        handle.used = True
        graph.conditions.append(self)
        graph.execution.before.append(self.assign_default)

    @property
    def graph(self) -> Graph:
        """The graph that the node is in."""
        return self._handle.graph

    def write(self) -> None:
        """Write the programs for the queues that all streams have now."""
        stream, handle, ids = self._stream, self._handle, self._ids
        device = stream.device
        if not self._tables:
            heads = sum(len(branch.stream_set.heads()) for branch in self.branches)
            size = (3 * len(self.branches) + 2 * heads) * _WORD.size
            self._tables = device.memory.alloc(size, internal_flags(hbm=True))
            handle.graph.resources.callback(device.memory.free, self._tables)
        rows = len(self.branches) * _WORD.size
        facts = CondDevice.of(stream.env)
        program = programs.CaptureCondition(
            kind=programs.ConditionKind(self._kind), variable=handle.address, models=len(self.branches),
            head_lists=self._tables, head_counts=self._tables + rows, counter_lists=self._tables + 2 * rows,
            sq_id_address=stream.sq_word, next_head=ids.position + (3 if self._jump else 2),
            start=facts.start_queues(queues=stream.env.sq_address_table, dfx=0),
        )
        dfx = self._function + program.program().size_bytes
        program = replace(program, start=facts.start_queues(queues=stream.env.sq_address_table, dfx=dfx))
        device.memory.write(self._tables, self._image())
        device.memory.write(self._function, facts.assemble(program))
        if self._jump:
            back = programs.WhileJumpBack(variable=handle.address, head=ids.position, sq_id_address=stream.sq_word)
            device.memory.write(self._jump, facts.assemble(back))

    def assign_default(self) -> None:
        """Let the value be what executions start with, in this node and those in its branches."""
        if self._handle.assigned:
            self._handle.assign(self._handle.default)
        for branch in self.branches:
            for inner in branch.conditions:
                inner.assign_default()

    def _image(self) -> bytes:
        """Return the tables: per branch where its queues and counters are listed and how many there are; the lists."""
        lists = self._tables + 3 * len(self.branches) * _WORD.size
        heads: list[int] = []
        counts: list[int] = []
        counters: list[int] = []
        listed: list[int] = []
        for branch in self.branches:
            streams = branch.stream_set.heads()
            heads.append(lists + len(listed) * _WORD.size)
            listed += [stream.queues.sq_id for stream in streams]
            counters.append(lists + len(listed) * _WORD.size)
            listed += [branch.counter(stream) for stream in streams]
            counts.append(len(streams))
        return _words([*heads, *counts, *counters, *listed])


def _words(values: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def _refused(name: str, value: object, reason: str) -> errors.RuntimeFault:
    call = "conditional node"
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} {value}: {reason}", ee="EE1017", params=(call, name, reason),
        hint="make a handle per node, and put it into a stream of the handle's graph",
    )
