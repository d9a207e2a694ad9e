"""Proves a chip's plug-in and rules or names the holes: coverage, layouts, round trips, allocation, limits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Final

from chips import registry
from chips.chip import Chip
from chips.env import EncodeEnv, TaskIds
from chips.layout import SQE_BYTES, FieldOverflow, Layout
from chips.memory_rules import BadAllocation, allocation, rules
from chips.registry import Plugin, TaskOps
from chips.tasks import Task, TaskType
from chips.verify.coverage import expected
from npuhal.records import dataclass

SIZES: Final = (1, 31, 32, 33, 64, 4096, 1 << 20, (1 << 20) + 1, 2 << 20, 1 << 30, (1 << 30) + 1)
"""Request sizes in bytes on both sides of every step of the allocation rules; 0 is checked to be refused."""

ROUNDS: Final = 4
"""Random fillings of every layout, besides all bits set."""

CQE_SIZES: Final = frozenset({12, 16, 32})
"""Bytes of a completion entry: command blocks, STARS v1, STARS v2."""


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of check on one chip: how many things were looked at, and what was wrong."""

    name: str
    checked: int
    holes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChipReport:
    """All checks of one chip, and its builders by how they are known to be right."""

    soc: str
    family: str
    generation: str
    real: int
    placeholder: int
    unsupported: int
    verified_by_bytes: int
    verified_by_rule: int
    checks: tuple[Check, ...]

    @property
    def holes(self) -> tuple[str, ...]:
        """Everything that is wrong, each as `check: what`."""
        return tuple(f"{check.name}: {hole}" for check in self.checks for hole in check.holes)

    @property
    def ok(self) -> bool:
        """Whether no hole was found."""
        return not self.holes


def validate_chip(chip: Chip, made: Plugin | None = None, *, seed: int = 0) -> ChipReport:
    """Run every check on a chip, on the plug-in given or else its own, and report; nothing is raised for a hole."""
    problem = ""
    if made is None:
        try:
            made = registry.plugin(chip)
        except (registry.UnknownGeneration, registry.RegistrationError) as wrong:
            problem = str(wrong)
        except Exception as wrong:  # a third party's plug-in may raise anything; the report must still come out
            problem = f"the plug-in of {chip.generation} does not load: {type(wrong).__name__}: {wrong}"
    rest = (check_allocation(chip), check_limits(chip, made))
    checks: tuple[Check, ...]
    if made is None:
        checks = (Check("registry", 0, (problem,)), *rest)
        ops: tuple[TaskOps, ...] = ()
    else:
        ops = tuple(made.ops(kind) for kind in made.types())
        checks = (check_registry(chip, made), check_layouts(made), check_round_trips(chip, made, seed), *rest)
    return ChipReport(
        soc=chip.soc,
        family=chip.family,
        generation=f"{chip.generation}+{chip.overlay}" if chip.overlay else chip.generation,
        real=sum(not entry.placeholder for entry in ops),
        placeholder=sum(entry.placeholder for entry in ops),
        unsupported=len(TaskType) - len(ops),
        verified_by_bytes=sum(entry.verified == "bytes" for entry in ops),
        verified_by_rule=sum(entry.verified == "rule" for entry in ops),
        checks=checks,
    )


def check_registry(chip: Chip, made: Plugin) -> Check:
    """Compare the registered builders with the vendor's registry, and prove each on its sample tasks."""
    holes = list(made.verify(chip))
    wanted = expected(chip)
    have = {kind: made.ops(kind) for kind in made.types()}
    if wanted is not None:
        for kind in sorted(wanted.real | wanted.placeholder):
            where = f"{kind.name} ({int(kind)})"
            if kind not in have:
                holes.append(f"{where} has no builder on {made.name}; the vendor's runtime has one")
            elif have[kind].placeholder and kind in wanted.real:
                holes.append(f"{where} is a bare placeholder on {made.name}; the vendor's runtime fills an SQE")
    return Check("registry", len(TaskType), tuple(holes))


def check_layouts(made: Plugin) -> Check:
    """Check that every layout lies inside its struct without overlaps, has no unnamed gap, and is told apart."""
    holes: list[str] = []
    for layout in made.layouts.values():
        holes += (f"{made.name}.{layout.name}: {problem}" for problem in _layout_problems(layout))
    for layout in _entries(made):
        if layout.size % SQE_BYTES:
            holes.append(f"{made.name}.{layout.name}: {layout.size} bytes, not a multiple of {SQE_BYTES}")
        if layout.task and layout.task not in TaskType.__members__:
            holes.append(f"{made.name}.{layout.name}: stands for {layout.task!r}, which is no task type")
    holes += _undeclared_unions(made)
    return Check("layouts", len(made.layouts), tuple(holes))


def _layout_problems(layout: Layout) -> Iterator[str]:
    total = layout.size * 8
    taken = 0
    for field in layout.fields:
        bits = ((1 << field.width) - 1) << field.offset
        if field.offset + field.width > total:
            yield f"{field.name} ends at bit {field.offset + field.width} of {total}"
        if taken & bits:
            yield f"{field.name} (bits {field.offset}..{field.offset + field.width - 1}) overlaps another field"
        taken |= bits
    whole = (1 << total) - 1
    reserved = layout.reserved_bits(whole.to_bytes(layout.size, "little"))
    gaps = whole & ~taken & ~reserved
    if gaps:
        yield f"bit {(gaps & -gaps).bit_length() - 1} belongs to no field and is not reserved"


def _undeclared_unions(made: Plugin) -> Iterator[str]:
    """Find entries whose identifying constants do not tell them apart: one shadows the other when decoding."""
    seen: dict[tuple[tuple[int, int, int], ...], str] = {}
    for layout in _entries(made):
        fields = ((layout.field(name), value) for name, value in layout.when.items())
        mark = tuple(sorted((field.offset, field.width, value) for field, value in fields))
        if mark in seen:
            yield f"{made.name}.{layout.name} and {seen[mark]} have the same constants: nothing tells them apart"
        seen.setdefault(mark, layout.name)


def check_round_trips(chip: Chip, made: Plugin, seed: int = 0) -> Check:
    """Encode and decode every layout with random values in every field, and every builder's sample tasks."""
    holes: list[str] = []
    source = random.Random(seed)
    checked = 0
    for layout in made.layouts.values():
        checked += ROUNDS + 1
        holes += _layout_round_trip(made, layout, source)
    for layout in _entries(made):
        holes += _identity(made, layout, source)
    env = EncodeEnv(chip=chip, stream_id=1, sq_id=1)
    for kind in made.types():
        for task in made.ops(kind).examples():
            checked += 1
            holes += _sample_round_trip(made, task, env)
    return Check("round trip", checked, tuple(holes))


def _layout_round_trip(made: Plugin, layout: Layout, source: random.Random) -> Iterator[str]:
    where = f"{made.name}.{layout.name}"
    full = {field.name: (1 << field.width) - 1 for field in layout.fields}
    for turn in range(ROUNDS + 1):
        values = full if turn == 0 else {name: source.randint(0, most) for name, most in full.items()}
        values = {**values, **layout.when}
        row = layout.encode(**values)
        if layout.decode(row) != values:
            wrong = next(name for name, value in layout.decode(row).items() if value != values[name])
            yield f"{where}.{wrong}: {values[wrong]:#x} was encoded, {layout.decode(row)[wrong]:#x} came back"
            return
        if layout.reserved_bits(row):
            yield f"{where}: encoding sets reserved bits"
            return
    for name, most in full.items():
        try:
            layout.encode(**{name: most + 1})
        except FieldOverflow:
            continue
        yield f"{where}.{name}: {most + 1:#x} does not fit and was not refused"


def _sample_round_trip(made: Plugin, task: Task, env: EncodeEnv) -> Iterator[str]:
    kind = made.ops(task).type
    try:
        rows = made.encode(task, env, TaskIds(1, 1, 1))
    except Exception as wrong:  # a third party's builder may raise anything; the report must still come out
        yield f"{kind.name}: the sample task does not encode: {type(wrong).__name__}: {wrong}"
        return
    layout = made.layouts.identify(rows[:SQE_BYTES])
    if layout is None or layout.size != SQE_BYTES:
        yield f"{kind.name}: no layout of {made.name} recognises what its builder wrote"
    elif layout.encode(**layout.decode(rows[:SQE_BYTES])) != rows[:SQE_BYTES]:
        yield f"{kind.name}: the bytes do not survive decoding and encoding as {layout.name}"


def _identity(made: Plugin, layout: Layout, source: random.Random) -> Iterator[str]:
    """Check that an entry is recognised as itself, or as one that says more; a part of an entry must never win."""
    values = {field.name: source.getrandbits(field.width) for field in layout.fields}
    row = layout.encode(**{**values, **layout.when})
    taken = made.layouts.identify(row)
    if taken is layout:
        return
    if taken is None or taken.size != layout.size or len(taken.when) <= len(layout.when):
        yield f"{made.name}.{layout.name}: is taken for {taken.name if taken else 'nothing known'}"


def _entries(made: Plugin) -> Iterator[Layout]:
    """Return the layouts that are whole entries of a queue: shorter ones that no builder writes are parts of them."""
    written = {name for kind in made.types() for name in made.ops(kind).layouts}
    for layout in made.layouts.values():
        if "type" in layout.when and (layout.size >= SQE_BYTES or layout.name in written):
            yield layout


def check_allocation(chip: Chip) -> Check:
    """Check every call and page policy over the size classes against the rules of the manuals."""
    holes: list[str] = []
    checked = 0
    for call in rules().calls:
        for policy in rules().policies:
            for size in SIZES:
                checked += 1
                holes += (f"{call}({size}, policy {policy}): {what}" for what in _allocation(chip, call, policy, size))
            try:
                allocation(0, policy, chip, call)
            except BadAllocation:
                continue
            holes.append(f"{call}(0, policy {policy}) is not refused")
    return Check("allocation", checked, tuple(holes))


def _allocation(chip: Chip, call: str, policy: int, size: int) -> Iterable[str]:
    rule, pages = rules().calls[call], rules().policies[policy]
    try:
        result = allocation(size, policy, chip, call)
    except BadAllocation as refused:
        lacks_giant = pages.pages == "giant" and not chip.has("MEM_1G_HUGE_PAGE")
        lacks_p2p = pages.p2p and not chip.has("DEVICE_P2P")
        return [] if lacks_giant or lacks_p2p else [str(refused)]
    rounded = -(-size // 32) * 32
    padded = rule.pad and pages.pages != "giant"
    if padded and (chip.padding_size == 32 or (chip.padding_size == 16 and not 1 <= size % 32 <= 16)):
        rounded += 32
    wrong = []
    if result.size_bytes != rounded:
        wrong.append(f"takes {result.size_bytes} bytes, the manuals say {rounded}")
    if not rule.host and (result.page == "giant") != (pages.pages == "giant"):
        wrong.append(f"gets {result.page} pages")
    if (
        pages.pages == "huge_first"
        and not pages.p2p
        and not rule.host
        and (result.page == "huge") != (rounded > 1 << 20)
    ):
        wrong.append(f"gets {result.page} pages at {rounded} bytes")
    return wrong


def check_limits(chip: Chip, made: Plugin | None) -> Check:
    """Check that the chip's counts and depths can be true together, and that the plug-in keeps them."""
    limits = chip.limits
    facts = [
        (limits.rtsq_depth >= 2, f"a ring of {limits.rtsq_depth} slots holds no task"),
        (
            limits.reserved_tasks < limits.rtsq_depth,
            f"{limits.reserved_tasks} of {limits.rtsq_depth} slots are reserved",
        ),
        (
            0 < limits.pending_max < limits.rtsq_depth,
            f"{limits.pending_max} pending tasks of {limits.rtsq_depth} slots",
        ),
        (limits.cqe_size in CQE_SIZES, f"completion entries of {limits.cqe_size} bytes are unknown"),
        (limits.max_streams >= 1, "no stream can be allocated"),
        (limits.max_tasks_per_stream >= 1, "no task fits a stream"),
    ]
    if made is not None:
        most = limits.max_sqe_per_task
        facts.append((made.max_sqe <= most, f"{made.name} allows {made.max_sqe} SQEs per task, the chip {most}"))
    return Check("limits", len(facts), tuple(problem for holds, problem in facts if not holds))
