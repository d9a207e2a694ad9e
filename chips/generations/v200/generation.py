"""What the STARS v2 generations share: how a builder is called, what every SQE header carries, how a plug-in is made.

v200, its overlay arch9201, and v201 use the same builders; a ``Generation`` tells them what differs.  A builder is a
function of (generation, task, env, ids) that returns 64 bytes per SQE; ``Rule`` says which task it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from chips.env import TaskIds
from chips.generations.v200.completion import classify, parse_cqe
from chips.layout import SQE_BYTES, Template
from chips.registry import Descriptors, Later, Plugin, TaskOps
from chips.tasks import BareTask, Task, TaskType
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.env import EncodeEnv
    from chips.layout import Layout, LayoutSet
    from chips.tasks import CoreKernel

MAX_SQE = 5
"""SQEs of one task at most (core_spec 9.3: 320 bytes)."""

_HEAD_UPDATE_BYTE, _HEAD_UPDATE_BIT = 1, 0x40

Build = Callable[["Generation", Any, "EncodeEnv", TaskIds], bytes]
_Encode = Callable[[Any, "EncodeEnv", TaskIds], bytes]
_Count = Callable[[Any, "EncodeEnv"], int]


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of STARS v2.

    ``logs``: header bit 15 switches the SQE log (arch9201).  ``topic_type``: topic type that all AICPU entries carry,
    None where the launch flags choose it.  ``kernel`` completes the fields of a cube or vector kernel; its last
    argument tells a kernel of its own from one in a fusion task.
    """

    name: str
    layouts: LayoutSet
    kernel: Callable[[dict[str, int], CoreKernel, EncodeEnv, bool], None]
    topic_type: int | None = None
    logs: bool = False

    def encode(self, layout: str, env: EncodeEnv, ids: TaskIds, **fields: int) -> bytes:
        """Return one entry with its header: task number, completion wish of the stream, log switch; fields win."""
        fields["task_sn"] = ids.task_sn
        if env.dvpp_group and "wr_cqe" not in fields:
            fields["wr_cqe"] = 1
        if self.logs and not env.task_profiling and "log_en" not in fields:
            fields["log_en"] = 1
        return self.layouts[layout].pack(fields)


@dataclass(frozen=True, slots=True)
class Rule:
    """A builder and the class of task descriptions it takes.

    ``type`` replaces the type of the class where a generation knows the task by another; the other fields are those of
    ``TaskOps``.
    """

    kind: type[Task]
    build: Build
    layouts: tuple[str, ...]
    verified: Literal["bytes", "rule"] = "bytes"
    sqes: int | _Count = 1
    samples: tuple[Task | Later, ...] = ()
    type: TaskType | None = None


def direct(kind: type[Task], layout: str, *, verified: Literal["bytes", "rule"] = "bytes", **attributes: str) -> Rule:
    """Rule of a task whose SQE is a copy of its fields: ``attributes`` gives the task's name for each SQE field."""

    def build(at: Generation, task: Task, env: EncodeEnv, ids: TaskIds) -> bytes:
        return at.encode(layout, env, ids, **{field: getattr(task, name) for field, name in attributes.items()})

    return Rule(kind, build, (layout,), verified)


@dataclass(frozen=True, slots=True, kw_only=True)
class V2Ops(TaskOps):
    """Task operations of STARS v2; their templates ask for no head update (see `Plugin.publishing`)."""

    def template(self, task: Task, env: EncodeEnv) -> Template | None:
        """Return the SQE with holes for what differs between submissions; None unless the task is a single SQE."""
        row = self.encode(task, env, TaskIds(0, allocation=1))
        layout = self.table.identify(row) if len(row) == SQE_BYTES else None
        return None if layout is None else cut(layout, row, task)


def cut(layout: Layout, row: bytes, task: Task) -> Template | None:
    """Cut a row, encoded with all ids 0, at the words that are ids or fields of the task."""
    numbers = {*TaskIds._fields, "task_sn_copy"}
    values = {
        word.name: 0 if word.name in numbers else getattr(task, word.name)
        for word in layout.vary
        if word.name in numbers or hasattr(task, word.name)
    }
    return layout.template(row, values) if values else None


def make_ops(generation: Generation, rules: Iterable[Rule]) -> list[TaskOps]:
    """Group rules by task type into the operations of a plug-in; the rules of one type divide it by task class."""
    by_type: dict[TaskType, list[Rule]] = {}
    for rule in rules:
        by_type.setdefault(rule.type or rule.kind.type, []).append(rule)
    return [
        V2Ops(
            type=task_type,
            encode=_encoder(generation, {rule.kind: rule.build for rule in group}),
            table=generation.layouts,
            layouts=tuple(dict.fromkeys(name for rule in group for name in rule.layouts)),
            samples=tuple(task for rule in group for task in rule.samples or (Later(rule.kind),)),
            verified="rule" if any(rule.verified == "rule" for rule in group) else "bytes",
            sqes=_counter({rule.kind: rule.sqes for rule in group}),
        )
        for task_type, group in by_type.items()
    ]


def bare_ops(generation: Generation, types: Iterable[TaskType]) -> list[TaskOps]:
    """Operations of the types that get a bare placeholder: no payload, whatever the task says."""
    return [
        V2Ops(
            type=task_type,
            encode=_finished(lambda task, env, ids: generation.encode("placeholder", env, ids)),
            table=generation.layouts,
            layouts=("placeholder",),
            samples=(BareTask(task_type),),
            placeholder=True,
        )
        for task_type in types
    ]


def make_plugin(
    generation: Generation, ops: Iterable[TaskOps], aliases: Mapping[TaskType, TaskType], descriptors: Descriptors
) -> Plugin:
    """Return the plug-in of a v2 generation."""
    return Plugin(
        generation.name,
        generation.layouts,
        ops,
        max_sqe=MAX_SQE,
        parse_cqe=parse_cqe,
        classify=classify,
        aliases=aliases,
        descriptors=descriptors,
    )


def _encoder(generation: Generation, builders: Mapping[type[Task], Build]) -> _Encode:
    if len(builders) == 1:
        (build,) = builders.values()
        return _finished(lambda task, env, ids: build(generation, task, env, ids))
    return _finished(lambda task, env, ids: builders[type(task)](generation, task, env, ids))


def _finished(build: _Encode) -> _Encode:
    """Wrap a builder with what every first SQE gets last: the request to publish the queue head."""

    def encode(task: Any, env: EncodeEnv, ids: TaskIds) -> bytes:
        rows = build(task, env, ids)
        if not env.ub_connected:
            return rows
        count = ids.task_id if ids.allocation is None else ids.allocation
        if count % env.chip.traits.head_update_every:
            return rows
        first = rows[_HEAD_UPDATE_BYTE] | _HEAD_UPDATE_BIT
        return b"".join((rows[:_HEAD_UPDATE_BYTE], bytes((first,)), rows[_HEAD_UPDATE_BYTE + 1 :]))

    return encode


def _counter(counts: Mapping[type[Task], int | _Count]) -> int | _Count:
    distinct = set(counts.values())
    if len(distinct) == 1:
        return distinct.pop()

    def count(task: Task, env: EncodeEnv) -> int:
        sqes = counts[type(task)]
        return sqes if isinstance(sqes, int) else sqes(task, env)

    return count
