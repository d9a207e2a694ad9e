"""Which builder makes the SQEs of which task on which chip generation.

A plug-in is one ``Plugin`` per generation: a table of ``TaskOps``, the layouts they write, and how completion entries
are read.  The vendor's plug-ins register eight callbacks per task type; what became of them here:

=====================  ================================================================================
vendor callback        here
=====================  ================================================================================
toCmd, toSqe,          ``TaskOps.encode`` (one per generation; the 64-byte HWTS command is an SQE of the
toDavidSqe             generation "hwts")
doCompleteSucc         the runtime, driven by ``Outcome.kind``: chips keep no state
unInit                 the runtime's release of the task's slot
waitAsyncCp            the runtime's argument strategies
printErrorInfo         ``Plugin.decode``: fields by name, for messages and tools
setResult,             ``Plugin.parse_cqe`` and ``Plugin.classify``
setStarsResult
=====================  ================================================================================

Further plug-ins come from the entry-point group ``npuhal.chips``: the entry's name is a generation, its value a
callable that takes a ``Chip`` and returns a ``Plugin``.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from chips.catalog import ENTRY_POINTS
from chips.env import EncodeEnv, TaskIds
from chips.layout import SQE_BYTES, FieldOverflow, Layout, LayoutSet, Template, UnknownField
from chips.tasks import Task, TaskType
from npuhal.records import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from chips.chip import Chip
    from chips.completion import Cqe, Outcome
    from chips.tasks import EventRecord, MemcpyAsync

_BUILT_IN = {
    "v100": "chips.generations.v100.plugin",
    "v200": "chips.generations.v200.plugin",
    "v201": "chips.generations.v201.plugin",
    "arch5162": "chips.generations.arch5162",
    "hwts": "chips.generations.hwts",
}

Encode = Callable[[Any, EncodeEnv, TaskIds], bytes]


class RegistrationError(ValueError):
    """A plug-in that cannot be right: says which task type, which generation, what is wrong."""


class UnsupportedTask(LookupError):
    """A task type for which the chip's generation has no builder."""

    def __init__(self, task_type: TaskType, generation: str) -> None:
        super().__init__(
            f"{generation} has no SQE builder for {task_type.name} ({int(task_type)}); "
            f"use a chip whose generation has one (npuhal validate lists them)"
        )
        self.task_type, self.generation = task_type, generation

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.task_type, self.generation))


class UnknownGeneration(LookupError):
    """No plug-in, built in or installed, has this generation's name."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one 64-byte entry says: layout, task type (None if nothing tells), fields, and what is wrong with it."""

    layout: str
    type: TaskType | None
    fields: dict[str, int]
    problems: tuple[str, ...] = ()


class Later:
    """A sample task that is made when it is asked for: a class, and values that replace those of `sample`."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: type[Task], /, **values: Any) -> None:
        self.kind, self.values = kind, values

    @property
    def type(self) -> TaskType:
        """The task type, as of the task itself."""
        return self.kind.type

    def make(self) -> Task:
        """Return the task."""
        return sample(self.kind, **self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOps:
    """How one task type becomes SQEs in one generation.

    ``layouts`` names every layout the builder may write.  ``samples`` are tasks that `Plugin.verify` encodes to prove
    that, or how to make them: no program that only launches needs them.  ``sqes`` is the count of entries, or a
    function of task and environment.  ``verified`` says whether recorded bytes prove the builder or only the written
    rule; ``placeholder`` marks types that get a bare placeholder.
    """

    type: TaskType
    encode: Encode
    table: LayoutSet
    layouts: tuple[str, ...]
    samples: tuple[Task | Later, ...]
    verified: Literal["bytes", "rule"] = "bytes"
    sqes: int | Callable[[Any, EncodeEnv], int] = 1
    placeholder: bool = False

    def examples(self) -> tuple[Task, ...]:
        """Return the sample tasks."""
        return tuple(each.make() if isinstance(each, Later) else each for each in self.samples)

    def count(self, task: Task, env: EncodeEnv) -> int:
        """Return how many 64-byte entries the task takes."""
        return self.sqes if isinstance(self.sqes, int) else self.sqes(task, env)

    def template(self, task: Task, env: EncodeEnv) -> Template | None:
        """Return the task's SQE with holes for what differs between submissions; None unless it is a single SQE.

        The variables are those words of the layout that are a field of the task or one of its ids; ``task_id_copy`` is
        a second field for the same value.
        """
        row = self.encode(task, env, TaskIds(0))
        layout = self.table.identify(row) if len(row) == SQE_BYTES else None
        if layout is None:
            return None
        values: dict[str, int] = {}
        for word in layout.vary:
            name = word.name.removesuffix("_copy")
            if name in TaskIds._fields:
                values[word.name] = 0
            elif hasattr(task, name):
                values[word.name] = getattr(task, name)
        return layout.template(row, values) if values else None


@dataclass(frozen=True, slots=True)
class ContextFormat:
    """Contexts in device memory: their size, how one is read, and the template of a mix kernel's."""

    size_bytes: int
    decode: Callable[[bytes], Decoded]
    template: Callable[[Any, EncodeEnv], Template]


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Descriptors in device memory that entries in pointer mode point to (`chips.descriptor`)."""

    copy_body: Callable[[int, int, int], bytes]
    """Source, target and length of a copy, its front still empty."""
    cache_body: Callable[[int, int], bytes]
    """Address and length of a cache operation, its front still empty."""
    copy_head: Callable[[EncodeEnv], bytes]
    """The engine's words of a copy."""
    cache_head: Callable[[EncodeEnv, int], bytes]
    """The engine's words of a cache operation, by its code."""
    write: Layout
    """What a value write points to."""


@dataclass(frozen=True, slots=True)
class CommandTasks:
    """What a runtime needs besides where tasks are commands (chips without STARS)."""

    environment: Callable[..., EncodeEnv]
    """Of an environment and facts by name (``report``, ``logic_cq_id``, ``physical_id``...), that of a stream.
    """
    create_stream: Callable[[int], Task]
    """Tells the scheduler about a stream, given the process id on the device."""
    stream_mode: Callable[[int], Task]
    """Says what a failed task does to its stream: 0 go on, 1 stop."""
    timed_record: Callable[[EventRecord, int, int], Task]
    """An event record that stores its time, given a table of 64-bit words and the index of the word there."""
    transfer: Callable[[MemcpyAsync, Any], Task]
    """A copy between host and device, given the transfer that the driver has prepared for it (struct DMA_ADDR)."""
    version: Callable[[Cqe], int]
    """The scheduler's version, which the report about the first stream says."""
    failure: Callable[[int, TaskType], int]
    """The code that the scheduler reports for an error bit (`chips.completion.Error`) of a task."""


class UnsupportedDescriptors(LookupError):
    """A generation whose entries point to no descriptors."""

    def __init__(self, generation: str) -> None:
        super().__init__(f"entries of {generation} point to no descriptors; queue the copy or the write itself")
        self.generation = generation

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.generation,))


class Plugin:
    """The builders and readers of one chip generation.  Immutable after construction."""

    def __init__(
        self,
        name: str,
        table: LayoutSet,
        ops: Iterable[TaskOps],
        *,
        max_sqe: int,
        parse_cqe: Callable[[bytes], Cqe],
        classify: Callable[[Cqe, TaskType], Outcome],
        aliases: Mapping[TaskType, TaskType] | None = None,
        inspect: Callable[[str, Mapping[str, int]], Iterable[str]] | None = None,
        contexts: ContextFormat | None = None,
        descriptors: Descriptors | None = None,
        commands: CommandTasks | None = None,
    ) -> None:
        """Take the table; raises RegistrationError for duplicates, unknown layouts and impossible counts.

        ``aliases`` maps the type of a task description to the one this generation knows it by; ``inspect`` says what
        the device or its driver would refuse in a decoded entry, given layout name and fields.
        """
        self.name = name
        self.layouts = table
        self.max_sqe = max_sqe
        self.parse_cqe = parse_cqe
        self.classify = classify
        self.aliases = dict(aliases or {})
        self.inspect = inspect
        self.commands = commands
        """What else there is where entries are commands; None where they are SQEs."""
        self.descriptors = descriptors
        """What entries in pointer mode point to; None where there is no such mode."""
        self.contexts = contexts
        """The contexts that entries of mix kernels and graphs point to; None where the entries say everything."""
        asks = "header" in table and "wr_cqe" in table["header"]
        self._asks = divmod(table["header"].field("wr_cqe").offset, 8) if asks else None
        """Byte and bit of an entry by which it asks for a completion entry; None where headers cannot say.

        Commands that ask for none are sent where nobody waits for a report."""
        self._ops: list[TaskOps | None] = [None] * (max(TaskType) + 1)
        for entry in ops:
            self._register(entry)
        for alias, target in self.aliases.items():
            if self._ops[alias] is not None:
                raise RegistrationError(f"{name}: {alias.name} is both registered and an alias of {target.name}")
            self._ops[alias] = self._ops[target]

    def __repr__(self) -> str:
        return f"Plugin({self.name}, {len(self.types())} task types)"

    def _register(self, entry: TaskOps) -> None:
        where = f"{self.name}: {entry.type.name}"
        if self._ops[entry.type] is not None:
            raise RegistrationError(f"{where} is registered twice")
        missing = [layout for layout in entry.layouts if layout not in self.layouts]
        if missing or not entry.layouts:
            raise RegistrationError(f"{where} names no layout that exists: {', '.join(missing) or 'none at all'}")
        if isinstance(entry.sqes, int) and not 1 <= entry.sqes <= self.max_sqe:
            raise RegistrationError(f"{where} takes {entry.sqes} SQEs; {self.name} allows 1..{self.max_sqe} per task")
        if not entry.samples:
            raise RegistrationError(f"{where} has no sample task to prove its builder with")
        self._ops[entry.type] = entry

    def types(self) -> tuple[TaskType, ...]:
        """Return the registered task types by number, aliases left out."""
        return tuple(entry.type for number, entry in enumerate(self._ops) if entry is not None and entry.type == number)

    def ops(self, task: TaskType | Task) -> TaskOps:
        """Return the entry of a task type or description; raises UnsupportedTask."""
        number = task if isinstance(task, TaskType) else task.type
        entry = self._ops[number]
        if entry is None:
            raise UnsupportedTask(TaskType(number), self.name)
        return entry

    def encode(self, task: Task, env: EncodeEnv, ids: TaskIds) -> bytes:
        """Return the task's SQEs, 64 bytes each; raises UnsupportedTask or FieldOverflow."""
        entry = self._ops[task.type]
        if entry is None:
            raise UnsupportedTask(task.type, self.name)
        return entry.encode(task, env, ids)

    def template(self, task: Task, env: EncodeEnv) -> Template | None:
        """Return the task's SQE cut at the words that change; None when the task has no single SQE."""
        return self.ops(task).template(task, env)

    def publishing(self, template: Template) -> Template:
        """Return a template's twin that also asks the hardware to publish the queue head.

        On a device connected over UB the entry of every `SchedulerTraits.head_update_every`-th allocation of a stream
        must be written with it.
        """
        at, bit = divmod(self.layouts["header"].field("head_update").offset, 8)
        row = bytearray(template.row)
        row[at] |= 1 << bit
        values = {
            word: int.from_bytes(row[word.offset : word.offset + word.width // 8], "little") - bias
            for word, bias in zip(template.words, template.bias, strict=True)
        }
        return Template(bytes(row), values)

    def asks_report(self, sqes: bytes) -> bool:
        """Return whether one of the entries of a task asks for a completion entry; True where their header cannot say.
        """
        if self._asks is None:
            return True
        at, bit = self._asks
        if len(sqes) == SQE_BYTES:
            return bool(sqes[at] >> bit & 1)
        return any(byte >> bit & 1 for byte in sqes[at::SQE_BYTES])

    def decode(self, raw: bytes) -> Decoded:
        """Name the fields of one 64-byte entry; anything wrong with it is listed, never raised."""
        if len(raw) != SQE_BYTES:
            raise ValueError(f"an SQE has {SQE_BYTES} bytes, got {len(raw)}")
        layout = self.layouts.identify(raw)
        if layout is None:
            header = self.layouts["header"]
            fields = header.decode(raw[: header.size])
            return Decoded("header", None, fields, (f"no entry of {self.name} has type {fields['type']} like this",))
        problems = []
        stray = layout.reserved_bits(raw)
        if stray:
            bits = ", ".join(str(bit) for bit in range(SQE_BYTES * 8) if stray >> bit & 1)
            problems.append(f"reserved bits are set: {bits}")
        kind = TaskType[layout.task] if layout.task else None
        if kind is not None and self._ops[kind] is None:
            problems.append(f"{self.name} has no builder for {kind.name}")
        values = layout.decode(raw)
        if self.inspect is not None:
            problems += self.inspect(layout.name, values)
        return Decoded(layout.name, kind, values, tuple(problems))

    def verify(self, chip: Chip) -> tuple[str, ...]:
        """Encode every sample on a chip and return what is wrong: wrong size, all zero, header outside the table."""
        env = EncodeEnv(chip=chip, stream_id=1, sq_id=1)
        found = []
        for kind in self.types():
            entry = self.ops(kind)
            for task in entry.examples():
                problem = self._probe(entry, task, env)
                if problem:
                    found.append(f"{self.name}: {kind.name}: {problem}")
        return tuple(found)

    def _probe(self, entry: TaskOps, task: Task, env: EncodeEnv) -> str:
        try:
            rows = entry.encode(task, env, TaskIds(1, 1, 1))
            count = entry.count(task, env)
        except (FieldOverflow, UnknownField) as wrong:
            return f"the sample task does not encode: {wrong}"
        if len(rows) != count * SQE_BYTES or not 1 <= count <= self.max_sqe:
            return f"{len(rows)} bytes for {count} SQEs of at most {self.max_sqe}"
        for index in range(count):
            row = rows[index * SQE_BYTES : (index + 1) * SQE_BYTES]
            if not any(row):
                return f"SQE {index} is all zero"
            layout = self.layouts.identify(row)
            if layout is None or (layout.name not in entry.layouts and index == 0):
                return f"SQE {index} has a header of {layout.name if layout else 'no known layout'}, not of its table"
        return ""


def _installed() -> dict[str, EntryPoint]:
    """Return the generations of installed distributions; a name taken twice is an error."""
    import importlib.metadata  # late: it takes longer to load than a plug-in

    found: dict[str, EntryPoint] = {}
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if entry.name in _BUILT_IN or entry.name in found:
            raise RegistrationError(f"generation {entry.name!r} is offered twice; the second is {entry.value}")
        found[entry.name] = entry
    return found


@functools.cache
def plugin(chip: Chip) -> Plugin:
    """Return the plug-in of a chip's generation, built once per chip.

    One of another distribution is proved at once, and raises RegistrationError when a builder writes nothing, too much,
    or another table's header; ours are proved by `npuhal validate`. Raises UnknownGeneration for one that nobody has.
    """
    made: Plugin
    if module := _BUILT_IN.get(chip.generation):
        made = importlib.import_module(module).make_plugin(chip)
        return made
    entry = _installed().get(chip.generation)
    if entry is None:
        raise UnknownGeneration(f"{chip.soc}: no plug-in for generation {chip.generation!r} in {ENTRY_POINTS}")
    made = entry.load()(chip)
    problems = made.verify(chip)
    if problems:
        raise RegistrationError("; ".join(problems))
    return made


def without(made: Plugin, task_type: TaskType) -> Plugin:
    """Return a copy of a plug-in that lacks one builder; for proving that checks notice a hole."""
    kept = [made.ops(kind) for kind in made.types() if kind != task_type]
    aliases = {alias: target for alias, target in made.aliases.items() if target != task_type}
    return Plugin(
        made.name,
        made.layouts,
        kept,
        max_sqe=made.max_sqe,
        parse_cqe=made.parse_cqe,
        classify=made.classify,
        aliases=aliases,
        inspect=made.inspect,
        contexts=made.contexts,
        descriptors=made.descriptors,
        commands=made.commands,
    )


def sample(kind: type[Task], /, **values: Any) -> Task:
    """Make a task with small values for whatever its class requires; keyword arguments replace them."""
    from dataclasses import MISSING, fields  # for a check, not for every program

    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            values[field.name] = b"\1" if field.type == "bytes" else 1
    return kind(**values)
