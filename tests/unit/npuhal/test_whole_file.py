"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from npuhal.files import write_whole


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    for text in ("first", "second"):
        write_whole(path, text)
        assert path.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    with monkeypatch.context() as failing:
        failing.setattr(Path, "replace", lambda *_: os.stat(tmp_path / "gone"))
        with pytest.raises(FileNotFoundError, match=r"page\.html"):
            write_whole(path, "after")
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link"
    link.symlink_to(path)
    for content in (b"\xff", "named \udcff"):
        write_whole(link, content)
        assert link.is_symlink()
        assert path.read_bytes() == (content if isinstance(content, bytes) else b"named \\udcff")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_whole("/dev/full", "text")


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    pipe, said = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "text")
    reader.join(60)
    assert said == ["text"]
