"""`npuhal abi check`: what it prints, and its exit status."""

from __future__ import annotations

import json

import pytest

from npuhal import measure
from npuhal.abi import Difference, Report
from runtime.cli import main
from tests.tools.corpus import corpus

FACTS = """
functions:
  drvGetDevNum: {ret: int, args: [{name: num_dev, type: "unsigned int *"}]}
  halNothing: {ret: int, args: []}
macros_int: {SQCQ_UMAX: 4294967295}
macros_function_like: {MEM_ALIGN_SIZE: (x)}
"""


@pytest.fixture
def facts(tmp_path):
    path = tmp_path / "facts.yaml"
    path.write_text(
        FACTS.replace("ret: int, args: [{", "ret: drvError_t, args: [{")
        + "typedefs: {drvError_t: {to: enum tagDrvError}}\n"
    )
    return path


def test_a_match_prints_the_count_last_and_lists_what_is_not_bound(facts, capsys):
    assert main(["abi", "check", str(facts)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "matched 2/2"
    assert "1 functions not bound (the vendor's runtime does not call it):" in lines
    assert "    halNothing" in lines
    assert "    MEM_ALIGN_SIZE" in lines


def test_a_difference_is_printed_and_fails(facts, capsys):
    facts.write_text(facts.read_text().replace("4294967295", "7"))
    assert main(["abi", "check", str(facts)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["macro SQCQ_UMAX: value: measured 7, bound 4294967295", "matched 1/2"]


def test_json(facts, capsys):
    assert main(["abi", "check", "--json", str(facts)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["matched"], result["total"], result["differences"]) == (2, 2, [])
    assert {"kind": "function", "name": "halNothing", "reason": "the vendor's runtime does not call it"} in result[
        "not_bound"
    ]


def test_several_files_add_up(facts, capsys):
    assert main(["abi", "check", str(facts), str(facts)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "matched 4/4"


@pytest.mark.parametrize(
    ("text", "rule"), [("- 1\n", "no ABI facts here"), ("a: [\n", "not YAML"), ("x: 1\n", "no ABI facts here")]
)
def test_a_file_of_something_else_is_refused(tmp_path, capsys, text, rule):
    path = tmp_path / "other.yaml"
    path.write_text(text)
    assert main(["abi", "check", str(path)]) == 2
    assert rule in capsys.readouterr().err


def test_a_missing_file_and_nothing_at_all(tmp_path, capsys):
    assert main(["abi", "check", str(tmp_path / "absent.yaml")]) == 2
    assert "absent.yaml" in capsys.readouterr().err
    assert main(["abi", "check"]) == 2
    assert "nothing to compare with" in capsys.readouterr().err


def test_headers_are_measured(tmp_path, monkeypatch, capsys):
    seen = []

    def measured(folder):
        seen.append(folder)
        return Report(1, 2, [Difference("struct", "halTsegInfo", "sizeof", 8, 80)])

    monkeypatch.setattr(measure, "measure_and_check", measured)
    assert main(["abi", "check", "--headers", str(tmp_path)]) == 1
    assert seen == [tmp_path]
    assert capsys.readouterr().out == "struct halTsegInfo: sizeof: measured 8, bound 80\nmatched 1/2\n"


def test_headers_that_cannot_be_measured(tmp_path, capsys):
    assert main(["abi", "check", "--headers", str(tmp_path)]) != 0
    assert capsys.readouterr().err.startswith("error: ")


def test_the_whole_corpus_matches(capsys):
    files = [str(corpus(f"data/{name}.yaml")) for name in ("hal_abi", "hal_abi_extra")]
    assert main(["abi", "check", *files]) == 0
    matched, _, total = capsys.readouterr().out.splitlines()[-1].removeprefix("matched ").partition("/")
    assert matched == total
    assert int(total) > 1000
