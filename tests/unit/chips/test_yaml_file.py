"""YAML files of ours are parsed once: what is kept equals what is parsed, and counts only for the file it is of."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from chips import yaml_file

ROOT = Path(yaml_file.__file__).parents[1]
PACKAGES = ("npuhal", "chips", "runtime", "fakes")
OURS = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.yaml"))]


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder that counts as ours."""
    monkeypatch.setattr(yaml_file, "_OURS", (str(tmp_path) + os.sep,))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    path = tmp_path / "some.yaml"
    path.write_text("one: 1\nlist: [a, 2.5, null, true]\n")
    return path


CONTENT = {"one": 1, "list": ["a", 2.5, None, True]}


def kept(path: Path) -> list[Path]:
    return sorted(path.parent.glob("**/*.data*"))


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_kept_is_what_the_file_says(path: Path) -> None:
    expected = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    assert yaml_file.load(path) == expected
    assert yaml_file.load(path) == expected


def test_the_second_time_nothing_is_parsed(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert yaml_file.load(ours) == CONTENT
    (place,) = kept(ours)
    assert place.parent.name == "__pycache__"
    monkeypatch.setattr(yaml_file, "_parsed", None)
    first, second = yaml_file.load(ours), yaml_file.load(ours)
    assert first == second == CONTENT
    first["list"].append(5)  # everyone gets an own copy
    assert yaml_file.load(ours) == CONTENT


@pytest.mark.parametrize("later", [True, False])
def test_a_changed_file_is_parsed_again(ours: Path, later: bool) -> None:
    yaml_file.load(ours)
    status = ours.stat()
    if later:
        ours.write_text("one: 2\nlist: [a, 2.5, null, true]\n")
        os.utime(ours, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    else:
        ours.write_text("one: 2\n")
        os.utime(ours, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert yaml_file.load(ours)["one"] == 2
    assert yaml_file.load(ours)["one"] == 2
    assert len(kept(ours)) == 1


@pytest.mark.parametrize("spoil", [lambda raw: b"", lambda raw: raw[:30], lambda raw: raw[:-3], lambda raw: b"x" + raw])
def test_half_of_a_kept_file_is_made_anew(ours: Path, spoil: Any) -> None:
    yaml_file.load(ours)
    (place,) = kept(ours)
    whole = place.read_bytes()
    place.write_bytes(spoil(whole))
    assert yaml_file.load(ours) == CONTENT
    assert place.read_bytes() == whole


@pytest.fixture(params=["no byte code", "read only"])
def elsewhere(ours: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of ours beside which nothing can be kept."""
    if request.param == "no byte code":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        (ours.parent / "__pycache__").write_text("in the way")
    return ours


def test_the_users_folder_is_used_where_nothing_may_lie_beside_the_file(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert yaml_file.load(elsewhere) == CONTENT
    (place,) = kept(elsewhere)
    assert place.parent == elsewhere.parent / "user" / "npuhal"
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert place.stat().st_mode & 0o777 == 0o600
    with monkeypatch.context() as context:
        context.setattr(yaml_file, "_parsed", None)
        first = yaml_file.load(elsewhere)
        first["list"].append(5)
        assert yaml_file.load(elsewhere) == CONTENT
    elsewhere.write_text("one: 2\n")  # another content, another file: also where time and size stay
    assert yaml_file.load(elsewhere) == {"one": 2}
    assert len(kept(elsewhere)) == 2


@pytest.mark.parametrize("spoil", [
    lambda place: place.write_bytes(b""), lambda place: place.write_bytes(place.read_bytes()[:-3]),
    lambda place: place.write_bytes(b"x" * 32 + marshal.dumps({"one": 7})),
    lambda place: place.chmod(0o666), lambda place: place.rename(place.with_suffix(".y")) and place.symlink_to(
        place.with_suffix(".y")),
    lambda place: place.unlink() or place.mkdir(), lambda place: place.unlink() or os.mkfifo(place),
])  # fmt: skip
def test_what_is_foreign_or_not_whole_does_not_count(
    ours: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yaml_file.load(ours)
    (place,) = kept(ours)
    spoil(place)
    parsed: list[str] = []
    parse = yaml_file._parsed
    monkeypatch.setattr(yaml_file, "_parsed", lambda path, *raw: parsed.append(path) or parse(path, *raw))
    assert yaml_file.load(ours) == CONTENT
    assert parsed == [str(ours)]
    assert [each for each in place.parent.iterdir() if each.name.count(".") > 1] == []


@pytest.mark.parametrize("folder", ["relative", "/dev/null/below", "/proc"])
def test_a_home_that_cannot_be_written_is_no_error(ours: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
    monkeypatch.setenv("HOME", "nowhere")
    assert yaml_file.load(ours) == CONTENT
    assert not kept(ours)
    assert not Path("relative").exists()


def test_a_folder_that_others_can_write_is_not_used(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (ours.parent / "user" / "npuhal").mkdir(parents=True)
    (ours.parent / "user" / "npuhal").chmod(0o777)
    assert yaml_file.load(ours) == CONTENT
    assert not kept(ours)


def test_byte_code_elsewhere(ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cache"))
    assert yaml_file.load(ours) == CONTENT
    (place,) = kept(ours)
    assert place.is_relative_to(tmp_path / "cache")


def test_dates_are_not_kept(ours: Path) -> None:
    ours.write_text("day: 2024-05-06\n")
    assert str(yaml_file.load(ours)["day"]) == "2024-05-06"
    assert not kept(ours)


def test_files_of_others_are_always_parsed(tmp_path: Path) -> None:
    path = tmp_path / "theirs.yaml"
    path.write_text("a: 1")
    assert yaml_file.load(path) == {"a": 1}
    assert not kept(path)


def test_a_malformed_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("a: 1\nb: [\n")
    with pytest.raises(yaml_file.BadYaml, match=r"bad\.yaml:3: ") as caught:
        yaml_file.load(path)
    assert caught.value.line == 3


@pytest.mark.parametrize(("text", "told"), [
    ("a: 1\nb: 0x" + "f" * 50_000, r":2: 0xffffffff\.\.\. \(200000 bits\) is no number of 256 bits"),
    ("a: 1:" + "59:" * 5000 + "1", ":1: 0x.* is no number of 256 bits"),
    ("a: 1\nb: 2\na: 3\n", ":3: 'a' stands there twice"),
    ("a:\n  - {b: 1, b: 1}\n", ":2: 'b' stands there twice"),
])
def test_a_value_that_nobody_can_mean_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    for _ in range(2):
        with pytest.raises(yaml_file.BadYaml, match=told):
            yaml_file.load(path)


def test_what_is_merged_may_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "merged.yaml"
    path.write_text(f"a: &a {{x: 1, y: {2**64 - 1}}}\nb: {{<<: *a, x: 2}}\nc: *a\n1: -5\n'1': 6\n")
    base = {"x": 1, "y": 2**64 - 1}
    assert yaml_file.load(path) == {"a": base, "b": base | {"x": 2}, "c": base, 1: -5, "1": 6}
