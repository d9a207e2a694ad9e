"""The plug-in registry: what it refuses, what it finds, and how further plug-ins join."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from chips import find_chip, registry
from chips.chip import Chip
from chips.completion import Cqe, Outcome, OutcomeKind, parse_logic_cqe
from chips.env import EncodeEnv, TaskIds
from chips.layout import SQE_BYTES, LayoutSet, make_layout
from chips.registry import Plugin, RegistrationError, TaskOps, UnknownGeneration, UnsupportedTask, plugin, without
from chips.tasks import Nop, NotifyWait, TaskType

CHIP = find_chip("Ascend910B1")
HEADER = make_layout("header", {"fields": "type:6 -:10 task_id:16 -:32", "vary": {"task_id": "task_id"}})
NOP = make_layout("nop", {"base": "header", "fields": "-:448", "when": {"type": 3}, "task": "NOP"}, {"header": HEADER})
WAIT = make_layout(
    "wait",
    {"base": "header", "fields": "notify_id:16 -:432", "when": {"type": 7}, "task": "NOTIFY_WAIT"},
    {"header": HEADER},
)
TABLE = LayoutSet({"header": HEADER, "nop": NOP, "wait": WAIT})


def nop(task: Nop, env: EncodeEnv, ids: TaskIds) -> bytes:
    return NOP.encode(task_id=ids.task_id)


def classify(cqe: Cqe, task_type: TaskType) -> Outcome:
    return Outcome(OutcomeKind.SUCCESS)


def ops(encode: Callable[..., bytes] = nop, **changes: Any) -> TaskOps:
    return dataclasses.replace(
        TaskOps(type=TaskType.NOP, encode=encode, table=TABLE, layouts=("nop",), samples=(Nop(),)), **changes
    )


def made(*entries: TaskOps, **changes: Any) -> Plugin:
    return Plugin("test", TABLE, entries, max_sqe=4, parse_cqe=parse_logic_cqe, classify=classify, **changes)


def test_a_plugin_encodes_decodes_and_lists() -> None:
    plug = made(ops())
    row = plug.encode(Nop(), EncodeEnv(chip=CHIP), TaskIds(9))
    found = plug.decode(row)
    assert (found.layout, found.type, found.fields["task_id"], found.problems) == ("nop", TaskType.NOP, 9, ())
    assert plug.types() == (TaskType.NOP,)
    assert plug.verify(CHIP) == ()
    template = plug.template(Nop(), EncodeEnv(chip=CHIP))
    assert template is not None
    assert template.render(task_id=9) == row


def test_registering_a_type_twice_is_an_error() -> None:
    with pytest.raises(RegistrationError, match="NOP is registered twice"):
        made(ops(), ops())


@pytest.mark.parametrize("count", [0, 5])
def test_a_count_the_generation_does_not_allow_is_an_error(count: int) -> None:
    with pytest.raises(RegistrationError, match=rf"takes {count} SQEs; test allows 1\.\.4"):
        made(ops(sqes=count))


def test_a_layout_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(RegistrationError, match="no layout that exists: nothing"):
        made(ops(layouts=("nothing",)))
    with pytest.raises(RegistrationError, match="none at all"):
        made(ops(layouts=()))


def test_a_builder_needs_a_sample() -> None:
    with pytest.raises(RegistrationError, match="no sample task"):
        made(ops(samples=()))


@pytest.mark.parametrize(
    ("encode", "problem"),
    [
        (lambda task, env, ids: bytes(SQE_BYTES), "all zero"),
        (lambda task, env, ids: WAIT.encode(), "header of wait, not of its table"),
        (lambda task, env, ids: NOP.encode(type=9), "no known layout"),
        (lambda task, env, ids: NOP.encode() * 2, "128 bytes for 1 SQEs"),
        (lambda task, env, ids: NOP.encode(task_id=1 << 20), "does not fit 16 bits"),
    ],
)
def test_a_wrong_builder_is_found_by_its_sample(encode: Callable[..., bytes], problem: str) -> None:
    (found,) = made(ops(encode)).verify(CHIP)
    assert "test: NOP: " in found
    assert problem in found


def test_a_count_by_function_is_checked_with_the_sample() -> None:
    (found,) = made(ops(lambda task, env, ids: NOP.encode() * 5, sqes=lambda task, env: 5)).verify(CHIP)
    assert "5 SQEs of at most 4" in found


def test_a_missing_builder_names_type_and_generation() -> None:
    plug = made(ops())
    for ask in (
        lambda: plug.encode(NotifyWait(notify_id=1), EncodeEnv(chip=CHIP), TaskIds(1)),
        lambda: plug.ops(TaskType.NOTIFY_WAIT),
    ):
        with pytest.raises(UnsupportedTask, match=r"test has no SQE builder for NOTIFY_WAIT \(14\)") as caught:
            ask()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_alias_finds_the_entry_of_its_target() -> None:
    plug = made(ops(), aliases={TaskType.EVENT_RECORD: TaskType.NOP})
    assert plug.ops(TaskType.EVENT_RECORD).type is TaskType.NOP
    assert plug.types() == (TaskType.NOP,)
    with pytest.raises(RegistrationError, match="both registered and an alias"):
        made(ops(), aliases={TaskType.NOP: TaskType.NOP})


def test_decode_lists_what_is_wrong_and_raises_nothing() -> None:
    plug = made(ops())
    unknown = plug.decode(bytes([9]) + bytes(63))
    assert unknown.type is None
    assert "has type 9" in unknown.problems[0]
    stray = plug.decode(NOP.encode()[:8] + b"\1" + bytes(55))
    assert stray.problems == ("reserved bits are set: 64",)
    foreign = plug.decode(WAIT.encode())
    assert foreign.problems == ("test has no builder for NOTIFY_WAIT",)
    with pytest.raises(ValueError, match="64 bytes, got 63"):
        plug.decode(bytes(63))


def test_without_leaves_one_hole() -> None:
    plug = plugin(CHIP)
    holed = without(plug, TaskType.NOTIFY_WAIT)
    assert set(plug.types()) - set(holed.types()) == {TaskType.NOTIFY_WAIT}


class Entries:
    """Stands for the installed distributions."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __call__(self, group: str) -> Iterable[Any]:
        assert group == "npuhal.chips"
        return self.entries


@dataclasses.dataclass
class Entry:
    name: str
    target: Callable[[Chip], Plugin]
    value: str = "somewhere:make"

    def load(self) -> Callable[[Chip], Plugin]:
        return self.target


def foreign(generation: str) -> Chip:
    return dataclasses.replace(CHIP, generation=generation)


def test_a_plugin_of_another_distribution_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", Entries(Entry("mine", lambda chip: made(ops()))))
    assert plugin(foreign("mine")).name == "test"


def test_a_generation_offered_twice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", Entries(Entry("v100", lambda chip: made(ops()))))
    with pytest.raises(RegistrationError, match="'v100' is offered twice"):
        plugin(foreign("twice"))


def test_a_wrong_plugin_is_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = made(ops(lambda task, env, ids: bytes(SQE_BYTES)))
    monkeypatch.setattr(importlib.metadata, "entry_points", Entries(Entry("wrong", lambda chip: wrong)))
    with pytest.raises(RegistrationError, match="NOP: SQE 0 is all zero"):
        plugin(foreign("wrong"))


def test_an_unknown_generation_is_named() -> None:
    with pytest.raises(UnknownGeneration, match="no plug-in for generation 'v999'"):
        plugin(foreign("v999"))


@pytest.mark.parametrize(
    "soc", ["Ascend910B1", "Ascend310B1", "Ascend950PR_9599", "MC62CM12A", "Ascend5162A", "Arch9201"]
)
def test_every_built_in_plugin_is_made_once(soc: str) -> None:
    chip = find_chip(soc)
    assert plugin(chip) is plugin(chip)
    assert plugin(chip).verify(chip) == ()
    assert registry.plugin(chip).types()
