"""Output: plain and complete in a pipe, coloured and wrapped on a terminal, machine-readable on request."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from runtime.cli.output import Output, Steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def pipe() -> Output:
    return Output(io.StringIO(), io.StringIO())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Output:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Output(Terminal(), Terminal())


def text(out: Output) -> str:
    assert isinstance(out.stream, io.StringIO)
    return out.stream.getvalue()


def complaint(out: Output) -> str:
    assert isinstance(out.errors, io.StringIO)
    return out.errors.getvalue()


def test_a_pipe_gets_aligned_columns_of_full_length(pipe: Output) -> None:
    pipe.table(("name", "value"), [("a", "x" * 200), ("longer", 3)], title="things")
    assert text(pipe) == f"things\nname    value\na       {'x' * 200}\nlonger  3\n"


def test_a_pipe_gets_at_most_120_columns_where_words_allow_it(pipe: Output) -> None:
    pipe.table(("name", "what it says", "n"), [("a", "some words " * 30, 7), ("b", "short", 10)])
    lines = text(pipe).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[1].endswith("  7")
    assert lines[-1].split() == ["b", "short", "10"]
    assert " ".join(lines).count("some") == 30


def test_a_table_of_many_columns_becomes_paragraphs_in_a_pipe(pipe: Output) -> None:
    pipe.table(tuple(f"column_{n:02}" for n in range(16)), [range(16)])
    assert text(pipe).startswith("column_00 0\n  column_01  1\n")


def test_progress_counts_and_says_what_is_left() -> None:
    times = iter([0.0, 10.0, 30.0, 900.0])
    steps = Steps("checking", 4, clock=lambda: next(times))
    assert steps.next("a") == "checking 1/4 a"
    assert steps.next("b") == "checking 2/4 b, 30 s left"
    assert steps.next("c") == "checking 3/4 c, 30 s left"
    assert steps.next("d") == "checking 4/4 d, 5 min left"
    assert Steps("asking", 0).next("it") == "asking it"


def test_a_table_without_rows_is_its_heads(pipe: Output) -> None:
    pipe.table(("name", "value"), [])
    assert text(pipe) == "name  value\n"


def test_a_row_of_the_wrong_length_is_an_error(pipe: Output) -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        pipe.table(("name", "value"), [("a",)])


def test_a_pipe_gets_no_style(pipe: Output) -> None:
    pipe.line("[bold]text[/bold]", style="red")
    assert text(pipe) == "[bold]text[/bold]\n"


def test_a_narrow_terminal_wraps_cells_and_loses_nothing(terminal: Output) -> None:
    terminal.table(("name", "value"), [("[red]a", "x" * 60)])
    assert text(terminal).count("x") == 60
    assert "[red]a" in text(terminal)


def test_a_terminal_gets_style_and_whole_lines(terminal: Output) -> None:
    terminal.line("0123456789" * 9, style="red")
    assert "\x1b[31m" in text(terminal)
    assert text(terminal).count("\n") == 1


def test_json_writes_paths_as_text(pipe: Output) -> None:
    pipe.json({"path": Path("/dev/davinci0"), "ids": (1, 2)})
    assert json.loads(text(pipe)) == {"path": "/dev/davinci0", "ids": [1, 2]}


def test_errors_go_to_the_error_stream_with_their_cure(pipe: Output) -> None:
    pipe.error("it broke", "mend it")
    pipe.error("no cure known")
    assert text(pipe) == ""
    assert complaint(pipe) == "error: it broke\ncure: mend it\nerror: no cure known\n"


def test_errors_on_a_terminal_are_coloured(terminal: Output) -> None:
    terminal.error("it [broke]", "mend it")
    assert "it [broke]" in complaint(terminal)
    assert "\x1b[" in complaint(terminal)


def test_progress_is_silent_in_a_pipe(pipe: Output) -> None:
    with pipe.progress("opening") as update:
        update("still opening")
    assert (text(pipe), complaint(pipe)) == ("", "")


def test_progress_shows_on_a_terminal(terminal: Output) -> None:
    with terminal.progress("opening device") as update:
        update("opening device 1")
    assert "opening device" in complaint(terminal)


def test_a_table_without_room_becomes_paragraphs(terminal: Output) -> None:
    columns = ("device", "physical id", "state", "vector cores", "memory", "streams")
    rows = [(0, 1, "working", 40, "12/49152", "3/32768"), (1, 0, "sleeping", 40, "0/49152", "0/32768")]
    terminal.table(columns, rows)
    lines = text(terminal).splitlines()
    assert max(map(len, lines)) <= 40
    assert "device 0" in lines[0]
    assert "  physical id   1" in lines
    assert sum("memory" in line for line in lines) == 2


def test_a_word_too_long_to_be_read_is_cut_in_a_complaint(pipe: Output) -> None:
    pipe.error(f"cannot open {'A' * 100_000!r}: no such file", "give a path")
    assert complaint(pipe).startswith("error: cannot open 'AAA")
    assert "AAA': no such file" in complaint(pipe)
    assert len(complaint(pipe)) < 400
