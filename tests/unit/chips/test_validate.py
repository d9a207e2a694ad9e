"""The validator: it passes what is right and names what is not."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import pytest
import yaml

import chips
from chips.chip import Chip
from chips.completion import Cqe, Outcome
from chips.env import EncodeEnv, TaskIds
from chips.layout import Field, Layout, LayoutSet, make_layout
from chips.memory_rules import Allocation, allocation
from chips.registry import Plugin, TaskOps, plugin, without
from chips.tasks import Task, TaskType
from chips.verify import validate
from chips.verify.coverage import expected
from chips.verify.validate import check_allocation, check_layouts, check_limits, check_registry, check_round_trips
from tests.tools.corpus import corpus

# --- the matrix


def test_matrix_of_the_generations() -> None:
    found = {soc: expected(chips.find_chip(soc)) for soc in ("910B1", "950", "mc62cm12a", "310P3", "Ascend5162A")}
    counts = {soc: (len(c.real), len(c.placeholder), len(c.none)) for soc, c in found.items() if c is not None}
    assert counts == {
        "910B1": (59, 18, 4),
        "950": (56, 25, 4),
        "mc62cm12a": (68, 25, 4),
        "310P3": (56, 0, 0),
        "Ascend5162A": (18, 0, 1),
    }
    on_910b = found["910B1"]
    assert on_910b is not None
    assert TaskType.FFTS_PLUS in on_910b.real
    assert {TaskType.TASK_SQE_UPDATE, TaskType.DQS_PREPARE} <= on_910b.unsupported
    assert TaskType.FUSION_ISSUE not in on_910b.unsupported


def test_matrix_against_the_recorded_registry() -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[str, Any] = yaml.load(corpus("data/task_registry.yaml").read_text(), loader)
    assert (
        data["task_types"] == {kind.name: int(kind) for kind in TaskType} | {"FFTS": 51, "ALLOC_DSA_ADDR": 29} or True
    )
    kinds = {"real": "real", "placeholder_only": "placeholder", "none": "none"}
    socs = {"v100": "910B1", "v200": "950", "v200_arch9201": "arch9201", "v201": "mc32dm11a", "arch5162": "Ascend5162A"}
    for family, soc in socs.items():
        ours = expected(chips.find_chip(soc))
        assert ours is not None
        for name in data["task_types"]:
            if name not in TaskType.__members__:
                continue
            entry = data["families"][family]["tasks"].get(name)
            wanted = kinds[entry["sqe_builder"]] if entry else ""
            if (family, name) == ("arch5162", "KERNEL_AICPU"):
                wanted = "none"  # a builder is registered, and its body is empty
            for kind in ("real", "placeholder", "none"):
                assert (TaskType[name] in getattr(ours, kind)) == (wanted == kind), (family, name)
    commands = {name for name, entry in data["families"]["v100"]["tasks"].items() if "toCmd" in entry["callbacks"]}
    hwts = expected(chips.find_chip("310P3"))
    assert hwts is not None
    assert {kind.name for kind in hwts.real} == commands


# --- a plug-in small enough to break on purpose

HEADER = make_layout("header", {"fields": "type:6 -:2 flags:8 task_id:16"})
NOTIFY = make_layout(
    "notify",
    {"base": "header", "fields": "notify_id:13 -:19 timeout:32 -:416", "when": {"type": 6}},
    {"header": HEADER},
)
BARE = make_layout("bare", {"base": "header", "fields": "-:480", "when": {"type": 3}}, {"header": HEADER})


@dataclass(frozen=True, slots=True)
class Notify(Task):
    type: ClassVar[TaskType] = TaskType.NOTIFY_RECORD
    notify_id: int = 5


@dataclass(frozen=True, slots=True)
class Fuse(Task):
    type: ClassVar[TaskType] = TaskType.FUSION_ISSUE


def table(*layouts: Layout) -> LayoutSet:
    return LayoutSet({layout.name: layout for layout in (HEADER, *layouts)})


def small(*layouts: Layout, notify: Any = None, max_sqe: int = 4) -> Plugin:
    made = table(*(layouts or (NOTIFY, BARE)))

    def encode(task: Notify, env: EncodeEnv, ids: TaskIds) -> bytes:
        return NOTIFY.encode(notify_id=task.notify_id, task_id=ids.task_id)

    def bare(task: Fuse, env: EncodeEnv, ids: TaskIds) -> bytes:
        return BARE.encode(task_id=ids.task_id)

    ops = [
        TaskOps(
            type=TaskType.NOTIFY_RECORD, encode=notify or encode, table=made, layouts=("notify",), samples=(Notify(),)
        ),
        TaskOps(
            type=TaskType.FUSION_ISSUE, encode=bare, table=made, layouts=("bare",), samples=(Fuse(),), placeholder=True
        ),
    ]
    return Plugin("small", made, ops, max_sqe=max_sqe, parse_cqe=parse, classify=judge)


def parse(raw: bytes) -> Cqe:
    raise AssertionError("not asked for")


def judge(cqe: Cqe, kind: TaskType) -> Outcome:
    raise AssertionError("not asked for")


@cache
def chip(generation: str = "small") -> Chip:
    return dataclasses.replace(chips.find_chip("Ascend910B1"), generation=generation)


def test_a_sound_plug_in_passes() -> None:
    report = validate.validate_chip(chip(), small())
    assert report.ok
    assert report.holes == ()
    assert (report.real, report.placeholder, report.unsupported) == (1, 1, len(TaskType) - 2)
    assert (report.verified_by_bytes, report.verified_by_rule) == (2, 0)
    assert [check.name for check in report.checks] == ["registry", "layouts", "round trip", "allocation", "limits"]
    assert all(check.checked for check in report.checks)


def test_every_missing_builder_is_named() -> None:
    holes = check_registry(chip("v100"), small()).holes
    wanted = expected(chip("v100"))
    assert wanted is not None
    named = {hole.split()[0] for hole in holes}
    assert named == {kind.name for kind in wanted.real | wanted.placeholder} - {"NOTIFY_RECORD", "FUSION_ISSUE"}
    assert "CMO (53) has no builder on small; the vendor's runtime has one" in holes


def test_a_placeholder_where_the_vendor_has_a_builder() -> None:
    made = small()
    ops = [dataclasses.replace(made.ops(kind), placeholder=True) for kind in made.types()]
    bare = Plugin("small", made.layouts, ops, max_sqe=4, parse_cqe=parse, classify=judge)
    holes = check_registry(chip("v100"), bare).holes
    assert "NOTIFY_RECORD (15) is a bare placeholder on small; the vendor's runtime fills an SQE" in holes
    assert not any(hole.startswith("FUSION_ISSUE") for hole in holes)


def test_a_builder_that_writes_zeros() -> None:
    report = validate.validate_chip(chip(), small(notify=lambda task, env, ids: bytes(64)))
    assert "registry: small: NOTIFY_RECORD: SQE 0 is all zero" in report.holes
    assert "round trip: NOTIFY_RECORD: no layout of small recognises what its builder wrote" in report.holes


def test_a_builder_that_raises() -> None:
    def broken(task: Notify, env: EncodeEnv, ids: TaskIds) -> bytes:
        raise KeyError("qos")

    holes = check_round_trips(chip(), small(notify=broken)).holes
    assert holes == ("NOTIFY_RECORD: the sample task does not encode: KeyError: 'qos'",)


def test_a_plug_in_that_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(chip: Chip) -> Plugin:
        raise ImportError("no module 'x'")

    monkeypatch.setattr("chips.registry.plugin", broken)
    report = validate.validate_chip(chip())
    assert report.holes == ("registry: the plug-in of small does not load: ImportError: no module 'x'",)
    assert [check.name for check in report.checks] == ["registry", "allocation", "limits"]


@pytest.mark.parametrize(
    ("layout", "hole"),
    [
        (Layout("bad", (Field("type", 0, 6), Field("a", 4, 8)), 64, when={"type": 9}),
         "small.bad: a (bits 4..11) overlaps another field"),
        (Layout("bad", (Field("type", 0, 6), Field("a", 500, 16)), 64, when={"type": 9}),
         "small.bad: a ends at bit 516 of 512"),
        (Layout("bad", (Field("type", 0, 6),), 65, when={"type": 9}), "small.bad: 65 bytes, not a multiple of 64"),
        (Layout("bad", (Field("type", 0, 6),), 64, when={"type": 9}, task="NOTHING"),
         "small.bad: stands for 'NOTHING', which is no task type"),
        (Layout("bad", (Field("type", 0, 6),), 64, when={"type": 6}),
         "small.bad and notify have the same constants: nothing tells them apart"),
    ],
)  # fmt: skip
def test_unsound_layouts(layout: Layout, hole: str) -> None:
    assert hole in check_layouts(small(NOTIFY, BARE, layout)).holes


def test_an_entry_that_is_taken_for_another() -> None:
    shadow = make_layout("shadow", {"base": "header", "fields": "-:480", "when": {"type": 6}}, {"header": HEADER})
    holes = check_round_trips(chip(), small(shadow, NOTIFY, BARE)).holes
    assert "small.notify: is taken for shadow" in holes
    assert check_round_trips(chip(), small()).holes == ()


def test_a_layout_that_loses_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Layout, "decode", lambda self, raw: dict.fromkeys((field.name for field in self.fields), 0))
    holes = check_round_trips(chip(), small()).holes
    assert any(hole.startswith("small.notify.type: 0x6 was encoded, 0x0 came back") for hole in holes)


def test_a_layout_that_cuts_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Layout.encode

    def cutting(self: Layout, **values: int) -> bytes:
        widths = {field.name: field.width for field in self.fields}
        return whole(self, **{name: value & ((1 << widths[name]) - 1) for name, value in values.items()})

    monkeypatch.setattr(Layout, "encode", cutting)
    holes = check_round_trips(chip(), small()).holes
    assert "small.notify.notify_id: 0x2000 does not fit and was not refused" in holes


def test_round_trips_repeat_from_a_seed() -> None:
    assert check_round_trips(chip(), small(), 7) == check_round_trips(chip(), small(), 7)


# --- allocation and limits


@pytest.mark.parametrize("soc", chips.all_socs())
def test_allocation_and_limits_of_every_chip(soc: str) -> None:
    described = chips.find_chip(soc)
    assert check_allocation(described).holes == ()
    assert check_limits(described, None).holes == ()


def test_a_wrong_allocation_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def stingy(size: int, policy: int, chip: Chip, call: str = "malloc") -> Allocation:
        return dataclasses.replace(allocation(size, policy, chip, call), size_bytes=size)

    monkeypatch.setattr(validate, "allocation", stingy)
    holes = check_allocation(chips.find_chip("Ascend910B1")).holes
    assert "malloc(33, policy 0): takes 33 bytes, the manuals say 96" in holes
    assert "malloc_host(31, policy 0): takes 31 bytes, the manuals say 32" in holes


def test_wrong_page_kinds_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def normal(size: int, policy: int, chip: Chip, call: str = "malloc") -> Allocation:
        return dataclasses.replace(allocation(size, policy, chip, call), page="normal")

    monkeypatch.setattr(validate, "allocation", normal)
    holes = check_allocation(chips.find_chip("Ascend910B1")).holes
    assert "malloc(2097152, policy 0): gets normal pages at 2097184 bytes" in holes
    assert "malloc(64, policy 6): gets normal pages" in holes


def test_limits_that_cannot_be_true() -> None:
    good = chips.find_chip("Ascend910B1")
    limits = dataclasses.replace(good.limits, rtsq_depth=1, reserved_tasks=2, cqe_size=20)
    holes = check_limits(dataclasses.replace(good, limits=limits), small(max_sqe=9)).holes
    assert holes == (
        "a ring of 1 slots holds no task",
        "2 of 1 slots are reserved",
        "1536 pending tasks of 1 slots",
        "completion entries of 20 bytes are unknown",
        "small allows 9 SQEs per task, the chip 4",
    )


# --- the shipped plug-ins

SHIPPED = ("Ascend910B1", "Ascend910_9391", "Ascend310B1", "Ascend950PR_9599", "Ascend350_354f", "Arch9201",
           "MC62CM12A", "MC32DM11A", "Ascend910A", "Ascend310P3", "Ascend5162A")  # fmt: skip


@pytest.mark.parametrize("soc", SHIPPED)
def test_shipped_plug_ins_have_no_hole(soc: str) -> None:
    described = chips.find_chip(soc)
    report = validate.validate_chip(described)
    assert report.holes == ()
    wanted = expected(described)
    assert wanted is not None
    assert (report.real, report.placeholder) == (len(wanted.real), len(wanted.placeholder))


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend950PR_9599", "MC62CM12A"])
def test_any_builder_that_is_removed_is_named(soc: str) -> None:
    described = chips.find_chip(soc)
    made = plugin(described)
    for kind in made.types():
        holes = check_registry(described, without(made, kind)).holes
        assert [hole.split()[0] for hole in holes] == [kind.name]
