"""The tables of a libascend_hal.so, without a compiler."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import yaml

from fakes.hal import modelled
from fakes.hal.absent import absence
from fakes.shim import exports
from fakes.shim.exports import Rule
from npuhal import structs


def by_name(tree: int = 1) -> dict[str, exports.Export]:
    return {each.prototype.name: each for each in exports.exports(tree)}


@pytest.mark.parametrize("tree", [1, 2])
def test_what_is_modelled_is_exported_and_nothing_else(tree: int) -> None:
    wanted = {name for name in modelled() if absence(name, tree) is None} | exports.DAEMON.keys()
    assert by_name(tree).keys() == wanted
    source = exports.c_source(tree)
    assert "halShmemOpenHandleByDevId(" in source
    assert "halParseSDID(" not in source, "optional, and answered as absent: callers look whether it is there"
    assert "halEschedWaitEvent(void) { return 65534; }" in source, "libraries do not load without it"


def test_every_listed_pointer_is_one() -> None:
    listed = yaml.safe_load((exports.Path(exports.__file__).with_name("pointers.yaml")).read_text())
    assert listed.keys() <= modelled()
    known = by_name(1) | by_name(2)
    for name in listed:
        assert known[name].rules, name


@pytest.mark.parametrize("tree", [1, 2])
def test_what_libraries_look_for_is_there_or_absent_for_a_reason(tree: int) -> None:
    """Weak references of the public runtime: an unexported function sends it another way, so each is a decision."""
    names = Path(__file__).with_name("weak_symbols.txt").read_text().split()
    exported = by_name(tree).keys()
    assert len(names) > 200
    for name in names:
        if name in exported:
            continue
        gap = absence(name, tree)  # KeyError: nobody has decided
        assert gap is not None, f"{name} is neither modelled nor absent on purpose"
        assert gap.reason


def test_what_the_table_calls_an_output_goes_back_to_the_program() -> None:
    (rule,) = [rule for rule in by_name()["halShrIdCreate"].rules if rule.arg == 1]
    assert rule.written


def test_rules_of_a_nested_pointer() -> None:
    info = structs.halTaskSendInfo
    assert by_name()["halSqTaskSend"].rules == (
        Rule(1, base=ctypes.sizeof(info), written=True),
        Rule(1, parent=0, at=info.sqe_addr.offset, unit=64, count_arg=1, count_rule=0, count_at=info.sqe_num.offset,
             count_bytes=4),
    )  # fmt: skip


def test_rules_of_arrays_texts_and_tails() -> None:
    rules = by_name()
    assert rules["drvGetDevIDs"].rules == (Rule(0, written=True, unit=4, count_arg=1),)
    assert rules["halShmemDestroyHandle"].rules == (Rule(0, text=True),)
    assert rules["halShmemCreateHandle"].rules == (Rule(2, written=True, unit=1, count_arg=3),)
    vector = rules["halQueueEnQueueBuff"].rules[0]
    assert (vector.base, vector.unit, vector.count_rule) == (24, 16, 0)
    assert rules["halMemPoolTrim"].rules[0] == Rule(0, base=16), "a struct by value"


def test_untyped_pointers_are_addresses() -> None:
    assert by_name()["drvMemcpy"].rules == ()
    assert [rule.arg for rule in by_name()["halTsdrvCtl"].rules] == [5]
