"""Files that people name: each kind of wrong one is refused at once, by every reader, with an error that says why."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import npuhal
from chips.chip import UnknownChip
from chips.schema import SchemaError, read_yaml
from fakes.url import scenario
from npuhal import trace
from npuhal.errors import BadUrl
from npuhal.files import BadText, load_json, read_bytes, read_text
from npuhal.words import close_names, natural, shown
from runtime.cli import main
from runtime.testing import search

DIGITS = "9" * 5000


def write(folder: Path, kind: str, suffix: str, text: str) -> Path:
    path = folder / f"file{suffix}"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "bytes":
        path.write_bytes(text.encode() + b"\xff\n")
    elif kind == "nul":
        path.write_bytes(text.encode() + b"\0\n")
    elif kind == "digits":
        path.write_text(text.replace("1", DIGITS))
    elif kind == "deep":
        path.write_text("[" * 200_000)
    return path


KINDS = ("fifo", "folder", "bytes", "nul", "digits", "deep")
READERS: dict[str, tuple[str, str, Callable[[Path], object], tuple[type[Exception], ...]]] = {
    "scenario": (".yaml", 'spec: "1.0"\ndevices: 1\n', scenario.read, (SchemaError,)),
    "rules": (".yaml", "- {ids: {stream: 1}}\n", scenario.read, (SchemaError,)),
    "chip file": (".yaml", 'spec: "1.0"\nlimits: {streams: 1}\n', read_yaml, (SchemaError, OSError)),
    "recording": (".jsonl", '{"index": 1}\n', trace.load, (ValueError, OSError)),
    "schedules": (".jsonl", '{"test": "a", "seed": 1}\n', lambda path: search.read(str(path)), (ValueError, OSError)),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_each_reader_refuses_each_kind(reader: str, kind: str, tmp_path: Path) -> None:
    suffix, text, read, errors = READERS[reader]
    path = write(tmp_path, kind, suffix, text)
    for _ in range(2):
        with pytest.raises(errors) as told:
            read(path)
        assert type(told.value) is not UnicodeDecodeError
        assert path.name in str(told.value)
        assert len(str(told.value)) < 500


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["trace --diff F F", "trace --replay F", "sqe check F", "abi check F", "elf F"])
def test_commands_say_so(command: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, kind, ".json", '{"index": 1}\n')
    assert main(command.replace("F", str(path)).split()) in (1, 2)
    said = capsys.readouterr()
    assert "error: " in said.err
    assert "unexpected" not in said.err


def test_a_pipe_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = "line\n" * 50_000
    writer = threading.Thread(target=path.write_text, args=(text,))
    holder = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # so that there is a writer when the reader comes
    writer.start()
    reader: list[bytes] = []
    thread = threading.Thread(target=lambda: reader.append(read_bytes(path)))
    thread.start()
    writer.join(20)
    os.close(holder)
    thread.join(20)
    assert reader == [text.encode()]


def test_an_endless_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuhal.files._MOST_PIPED", 1 << 20)
    with pytest.raises(OSError, match="more than 1 MiB"):
        read_bytes("/dev/zero")
    assert read_bytes("/dev/null") == b""


def test_where_a_text_is_none(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo")
    assert read_text(path) == "one\ntwo"
    path.write_bytes(b"one\ntw\xff")
    with pytest.raises(BadText, match=r"text:2: byte 0xff is not UTF-8"):
        read_text(path)
    path.write_bytes(b"one\ntwo\n\0")
    with pytest.raises(BadText, match=r"text:3: a NUL character"):
        read_text(path)


def test_json_that_is_none() -> None:
    assert load_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    for text in (b"\xff", "{", "[" * 200_000, f"[{DIGITS}]"):
        with pytest.raises(ValueError):  # noqa: PT011 - its kind is what counts
            load_json(text)
    with pytest.raises(ValueError, match=r"5000 digits$"):
        load_json("1" * 5000)


@pytest.mark.parametrize("word", ["²", "-1", "+1", " 1", "1_0", "٣", "1.0", "", "0x1", DIGITS])
def test_what_is_no_number(word: str) -> None:
    assert natural(word) is None


def test_what_is_a_number() -> None:
    assert natural("007") == 7
    assert natural("9" * 20) == 10**20 - 1


@pytest.mark.timeout(20)
def test_long_names_are_not_compared() -> None:
    assert close_names("streans", ["streams"]) == ["streams"]
    assert close_names("s" * 100_000, ["s" * 100_000]) == []
    for _ in range(2):
        with pytest.raises(UnknownChip) as told:
            npuhal.open_hal(f"fake://{'a' * 100_000}")
        assert len(str(told.value)) < 300


def test_values_are_shown_in_few_characters() -> None:
    circle: list[object] = []
    circle.append(circle)
    grown: list[object] = ["x"] * 9
    for _ in range(9):
        grown = [grown] * 9
    for value in ("a" * 100_000, 10**5000, -(10**5000), circle, grown, {"a": grown}, b"\0" * 5000):
        assert len(shown(value)) < 260
    assert shown("a") == "'a'"
    assert shown(-12) == "-12"
    assert shown(10**5000) == "0x31e20801... (16610 bits)"


@pytest.mark.parametrize("option", [
    "physical=²", f"physical={DIGITS}", "physical=2147483648", "physical=1,1&devices=2", f"seed={DIGITS}", "devices=²",
    f"seed=0x{'f' * 5000}", f"hbm={DIGITS}g", "hbm=²g", f"fault=call:halSqTaskSend={DIGITS}",
])  # fmt: skip
def test_numbers_of_a_url_that_are_none(option: str) -> None:
    with pytest.raises(BadUrl) as told:
        npuhal.open_hal(f"fake://ascend910b3?{option}")
    assert len(str(told.value)) < 900
    assert "sys.set_int_max_str_digits" not in str(told.value)
