"""The table of checks against the entries: every simple row gives its code and message on a chip of each generation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from runtime.capi.aclrt import Acl, Out, entry, names
from runtime.capi.aclrt.checks import Action, live, null, one_of, refuse, reserved, succeed, zero
from runtime.capi.aclrt.compiling import source
from runtime.capi.aclrt.entry import find
from runtime.capi.aclrt.kinds import U32, Parameter, parameter
from runtime.core.stream.stream import Stream
from tests.tools.aclrt_checks.__main__ import TABLE, Bench, check, main
from tests.tools.aclrt_checks.rows import CHIPS, Row, derive, read

ROWS = list(read(TABLE))
ENOUGH = 1_200
"""Rows that must be reached."""


def every_row(chips: Iterable[str], capsys: pytest.CaptureFixture[str], *, sparing: bool = False) -> None:
    matched, ran, skipped = check(ROWS, chips=chips, sparing=sparing)
    assert (matched, ran + skipped) == (ran, len(ROWS)), capsys.readouterr().out
    assert ran >= ENOUGH


def test_every_simple_row_of_the_table_is_what_the_entry_does(capsys: pytest.CaptureFixture[str]) -> None:
    every_row(("910B1", "950"), capsys, sparing=True)


@pytest.mark.soak
def test_every_simple_row_is_what_the_entry_does_on_the_other_chips_too(capsys: pytest.CaptureFixture[str]) -> None:
    every_row(CHIPS, capsys)


def test_every_function_of_the_table_has_an_entry() -> None:
    assert {row.function for row in ROWS} <= set(names())


def test_rows_that_are_not_tried_say_why() -> None:
    assert all("test:" in line or "reason:" in line for line in TABLE.read_text().splitlines() if "{when:" in line)


def test_the_command_prints_matched_and_total(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--only", "aclrtRecordEvent", "--chip", "950"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("matched ")
    wrong = tmp_path / "table.yaml"
    wrong.write_text("functions:\n  aclrtFree:\n    checks:\n    - {when: devPtr is null, ret: 107000, err: EE1004}\n")
    assert main([str(wrong)]) == 1
    assert "table 107000 EE1004, ours 100000 EH0008" in capsys.readouterr().out


def test_a_missing_entry_is_a_difference() -> None:
    row = Row("aclrtNothing", 1, "x is null", 100000, "EH0008", "", {"null": "x"})
    assert check([row], quiet=True) == (0, 1, 0)


@pytest.mark.parametrize(("words", "test"), [
    ("stream is null", {"null": "stream"}),
    ("no current context", {"context": "none"}),
    ("no current context (only for a null stream)", {"context": "default"}),
    ("stream is not null and is dead, foreign or of another kind", {"dead": "stream"}),
    ("stream belongs to another context than the current one", {"foreign": "stream"}),
    ("flag > 3 (0 greater or equal, 1 equal)", {"value": {"flag": 4}}),
    ("the HAL refuses", None),
])  # fmt: skip
def test_conditions_in_words_become_tests(words: str, test: object) -> None:
    assert derive(words) == test


# -- the engine ----------------------------------------------------------------------------------------------------


def _run(text: str, **values: object) -> str:
    """Return the code lines of checks over `stream: Handle, size: Size, flag: Enum, name: Text`."""
    parameters = [parameter("stream", "Handle"), parameter("size", "Size"), parameter("flag", "Enum"),
                  parameter("name", "Text")]  # fmt: skip
    return source("call", parameters, values["checks"], waits=True, answers=False)[0]  # type: ignore[arg-type]


def test_checks_are_comparisons_in_the_order_they_are_declared() -> None:
    rows = (*null("name", "stream"), *zero("size"), live("stream", Stream), *reserved("flag", message="EE1003"))
    lines = [line.strip() for line in _run("", checks=rows).splitlines()]
    order = ["if name is None", "if not stream", "if size <= 0", "acl.wait_unlocked()", "runtime = acl.runtime",
             "stream_ = runtime.handles.get", "if flag: raise", "body(acl", "return 0"]  # fmt: skip
    places = [next(place for place, line in enumerate(lines) if line.startswith(start)) for start in order]
    assert places == sorted(places), lines


def test_the_acl_layer_answers_before_a_locked_process_waits() -> None:
    rows = (one_of("flag", 0, 1), succeed("not size"), one_of("flag", 0, message="EE1003"))
    lines = _run("", checks=rows).splitlines()
    waiting = next(place for place, line in enumerate(lines) if "wait_unlocked" in line)
    assert "check0" in lines[waiting - 2]
    assert "check2" in lines[waiting + 1]


def test_what_is_no_c_type_or_unchecked_is_refused_where_it_is_declared() -> None:
    with pytest.raises(ValueError, match="no C type"):
        parameter("x", "int")
    with pytest.raises(ValueError, match="neither refused nor optional"):

        @entry()
        def aclrtTestOnly(acl: Acl, out: Out[U32]) -> None: ...

    assert find("aclrtTestOnly") is None


def test_an_answer_names_argument_value_rule_and_cure() -> None:
    fault = refuse("flag > 3", "flag", "[0, 3]", "EE1003").fault("aclrtValueWait", 7)
    assert (fault.code, fault.message_id) == (107000, "EE1003")
    assert all(part in str(fault) for part in ("aclrtValueWait", "flag", "7")), str(fault)
    assert "[0, 3]" in fault.hint


def test_parameters_know_their_c_declaration() -> None:
    found = find("aclrtMalloc")
    assert found is not None
    assert [each.c for each in found.arguments] == ["void **devPtr", "size_t size", "int32_t policy"]
    assert [each.rule for each in found.checks][:2] == ["devPtr is NULL", "size is 0"]
    assert isinstance(found.arguments[0], Parameter)
    assert found.checks[0].action is Action.REFUSE


def test_worlds_are_made_anew_after_a_call_that_changes_them() -> None:
    bench, row = Bench(), next(row for row in ROWS if row.test and "captured" in row.test)
    found = find(row.function)
    assert found is not None
    assert bench.run(row, found, "950") == bench.run(row, found, "950")
    bench.close()
