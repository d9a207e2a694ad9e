"""Files that people name: their content at once, or why there is none; no pipe without a writer is waited for.

What is written is there as a whole or not at all: what was there before stays until the new content is complete.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BadText", "check_writable", "load_json", "read_bytes", "read_text", "write_whole"]

_MOST_PIPED = 1 << 28
"""Bytes taken from what is no file, so that an endless device is refused (/dev/zero)."""
_PIECE = 1 << 16


class BadText(ValueError):
    """A file holds what no text holds: `path`, `line` (from 1) and `problem` say where and what."""

    def __init__(self, path: str | Path, line: int, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path, self.line, self.problem = path, line, problem

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, or of a pipe that somebody writes to.

    Raises:
        OSError: it cannot be read, is a folder, a pipe that nobody writes to, or a device that does not end.
        ValueError: no file can have this name.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        os.close(fd)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    with open(fd, "rb", buffering=0) as file:
        if stat.S_ISREG(mode):
            return file.read()
        first = file.read(_PIECE)  # None: there is a writer, who has not written yet
        if first == b"" and stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "it is a pipe that nobody writes to", str(path))
        os.set_blocking(fd, True)
        pieces = [first or b""]
        size = len(pieces[0])
        while first != b"" and (piece := file.read(_PIECE)):
            pieces.append(piece)
            if (size := size + len(piece)) > _MOST_PIPED:
                raise OSError(errno.EFBIG, f"it is no file, and gives more than {_MOST_PIPED >> 20} MiB", str(path))
        return b"".join(pieces)


def read_text(path: str | Path, data: bytes | None = None) -> str:
    """Return the text of a file in UTF-8, without a byte order mark.

    Args:
        path: the file.
        data: its content, where that was read already.

    Raises:
        OSError: see `read_bytes`.
        BadText: it is not UTF-8, or has a NUL character in it.
    """
    data = read_bytes(path) if data is None else data
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise BadText(path, line, f"byte {data[wrong.start]:#04x} is not UTF-8: this is no text") from None
    if (nul := text.find("\0")) >= 0:
        raise BadText(path, text.count("\n", 0, nul) + 1, "a NUL character: this is no text")
    return text


def load_json(content: bytes | str, refuse_constant: Callable[[str], Any] | None = None) -> Any:
    """Parse JSON (a byte order mark is allowed); whatever is wrong with it is a ValueError.

    Args:
        content: the text, or its bytes in UTF-8.
        refuse_constant: called for NaN and infinities, which JSON has not; None: they are taken.
    """
    import json  # late: most programs read none

    try:
        text = content if isinstance(content, str) else str(content, "utf-8")
        return json.loads(text.removeprefix("\ufeff"), parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError as wrong:
        raise ValueError(without_advice(wrong)) from None


def without_advice(wrong: Exception) -> str:
    """Return what is wrong with a value; Python's advice to raise its limit of digits is none for a file's reader."""
    return str(wrong).partition("; use sys.")[0]


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that `write_whole` would end in; what is there stays as it is."""
    from pathlib import Path

    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    if target.exists() and not target.is_file():
        return
    try:
        _part(target).touch()
    except OSError as problem:
        raise type(problem)(problem.errno, problem.strerror, str(target)) from None
    _part(target).unlink()


def _part(target: Path) -> Path:
    """Return the name under which a file is written before it takes its place."""
    return target.with_name(f"{target.name}.{os.getpid()}.part")


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file under another name beside it, then rename it; OSError leaves what was there as it was.

    What is no ordinary file (a pipe, /dev/stdout) is written to directly. Text goes as UTF-8, what is none (names
    of the system in other bytes) as `\\udcff`.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    from pathlib import Path

    target = Path(os.path.realpath(path))  # a link stays one
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    part = _part(target)
    try:
        part.write_bytes(data)
        part.replace(target)
    except BaseException as problem:
        part.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise type(problem)(problem.errno, problem.strerror, str(path)) from None
        raise
