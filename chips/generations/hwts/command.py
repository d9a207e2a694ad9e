"""How a builder for chips without STARS is called, and the header every command carries.

No recorded bytes exist for these chips; each builder follows the rule of the runtime's toCommand callback for its type.
A topic module also describes the kinds of work that only these chips have a command for, and what they want to know
besides; device addresses are those of the memory as the scheduler sees it (halMemAddressTranslate).

Source: ToCommand (task_manager.cc), struct tagTsCommand (hwts.hpp), task flags of task_base.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from chips.env import EncodeEnv, TaskIds
from chips.layout import Layout, LayoutSet, load_layouts
from chips.registry import TaskOps, sample
from chips.tasks import Task, TaskType
from chips.yaml_file import beside
from npuhal.records import dataclass, field, names_of, replace

MAX_SQE = 1
"""Commands of one task."""

DUMP_FLAGS = 0x6
"""Launch flags that a command passes on: dump the kernel, dump the fusion group."""

_TYPE_BIT = 48


class CommandSet(LayoutSet):
    """The command layouts; unlike SQEs, commands carry a 16-bit task type behind stream, task and link."""

    def type_of(self, word: int) -> int:
        """Return the task type of a command read as one number."""
        return word >> _TYPE_BIT & 0xFFFF


@cache
def layouts() -> CommandSet:
    """Return the command layouts by the lower-case names of their task types."""
    return CommandSet(load_layouts(beside(__file__, "sqe.yaml")))


@dataclass(frozen=True, slots=True, kw_only=True)
class HwtsFacts:
    """What only the commands of these chips tell of stream and device.

    ``report``: this command asks for a report (the runtime lets one in 32 do so).  ``asid``, ``asid_base``, ``tcr``:
    translation registers of the process on the device.  ``physical_id``: of the device, where it is known.
    """

    priority: int = 0
    control_stream: bool = False
    aicpu_stream: bool = False
    report: bool = False
    profile: int = 0
    thread_id: int = 0
    asid: int = 0
    asid_base: int = 0
    tcr: int = 0
    l2_base: int = 0
    logic_cq_id: int = 0
    group_id: int = 0
    log_to_host: bool = False
    runtime_version: int = 7
    model_group_id: int = 0
    physical_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HwtsEnv(EncodeEnv):
    """An environment with the facts of these chips; a plain ``EncodeEnv`` counts as one with the defaults."""

    hwts: HwtsFacts = field(default_factory=HwtsFacts)


_DEFAULTS = HwtsFacts()


def with_facts(env: EncodeEnv, **facts: Any) -> HwtsEnv:
    """Return an environment with some facts of these chips replaced; the others stay, or are the defaults."""
    known = {name: getattr(env, name) for name in names_of(EncodeEnv)}
    return HwtsEnv(**known, hwts=replace(env.hwts if isinstance(env, HwtsEnv) else _DEFAULTS, **facts))


Fields = dict[str, int]
Fill = Callable[[Any, EncodeEnv, HwtsFacts], Fields]


def named(*names: str, **renamed: str) -> Fill:
    """Return a filler that copies attributes of the task: ``names`` as they are, ``renamed`` as field=attribute."""
    pairs = (*((name, name) for name in names), *renamed.items())
    return lambda task, env, facts: {name: getattr(task, attribute) for name, attribute in pairs}


@dataclass(frozen=True, slots=True)
class Rule:
    """A builder: the class of task it takes, and the fields of its command.

    ``quiet``: the command asks for a report only when the runtime says so; all others always do.  ``ends_graph`` sets
    the flag of a graph's end.  ``layout`` chooses where one type has several.
    """

    kind: type[Task]
    fill: Fill
    quiet: bool = False
    ends_graph: bool = False
    layout: Callable[[Any], str] | None = None
    types: tuple[TaskType, ...] = ()
    samples: tuple[Task, ...] = ()

    def task_types(self) -> tuple[TaskType, ...]:
        """Return the task types the builder serves."""
        return self.types or (self.kind.type,)

    def examples(self, task_type: TaskType) -> tuple[Task, ...]:
        """Return the sample tasks, a default one if none were given."""
        return self.samples or (sample(self.kind, **({"type": task_type} if self.types else {})),)


def encode(rule: Rule, task: Task, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Return the 64-byte command of a task."""
    facts = env.hwts if isinstance(env, HwtsEnv) else _DEFAULTS
    layout = _layout_of(task.type) if rule.layout is None else layouts()[rule.layout(task)]
    return layout.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        profile=facts.profile,
        control=facts.control_stream,
        no_report=rule.quiet and not facts.report,
        end_graph=rule.ends_graph,
        unsinked=not env.bound or facts.aicpu_stream,
        **rule.fill(task, env, facts),
    )


def make_ops(rules: Iterable[Rule]) -> list[TaskOps]:
    """Return the operations by task type; several rules of one type are told apart by the class of the task."""
    by_type: dict[TaskType, list[Rule]] = {}
    for rule in rules:
        for task_type in rule.task_types():
            by_type.setdefault(task_type, []).append(rule)
    table = layouts()
    return [
        TaskOps(
            type=task_type,
            encode=_encoder(task_type, group),
            table=table,
            layouts=tuple(name for name, layout in table.items() if layout.when.get("type") == task_type),
            samples=tuple(task for rule in group for task in rule.examples(task_type)),
            verified="rule",
        )
        for task_type, group in by_type.items()
    ]


def _encoder(task_type: TaskType, group: list[Rule]) -> Callable[[Any, EncodeEnv, TaskIds], bytes]:
    rules = {rule.kind: rule for rule in group}

    def build(task: Any, env: EncodeEnv, ids: TaskIds) -> bytes:
        rule = rules.get(type(task))
        if rule is None:
            wanted = ", ".join(kind.__name__ for kind in rules)
            raise TypeError(f"a {task_type.name} command is described by {wanted}, not by {type(task).__name__}")
        return encode(rule, task, env, ids)

    return build


@cache
def _layout_of(task_type: TaskType) -> Layout:
    return next(layout for layout in layouts().values() if layout.when.get("type") == task_type)
