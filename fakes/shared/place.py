"""Where the processes meet: a folder per name, a file that is locked while it is changed, and who is still alive."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fakes.errors import NotShareable

_TABLE = "table"


def folder(name: str) -> Path:
    """Return the folder of a shared machine: the user's own, so that nobody else can open what is in it."""
    root = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"npuhal-{os.getuid()}"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.stat().st_uid != os.getuid():
        raise NotShareable(f"{root} belongs to another user; set XDG_RUNTIME_DIR to a folder of your own")
    return root / name


def started(pid: int) -> int:
    """Return when a process began, in clock ticks since boot: with its id that names it for good; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    state, *fields = text[text.rindex(b")") + 2 :].split()
    return 0 if state in (b"Z", b"X") else int(fields[18])


class Place:
    """The folder of one name, and its lock. The system drops the lock of a process that ends, however it does."""

    def __init__(self, name: str) -> None:
        self.path = folder(name)
        self._mutex = threading.RLock()
        self._depth = 0
        self.fd = -1

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; a thread may take it again while it has it."""
        with self._mutex:
            if not self._depth:
                fcntl.flock(self.fd, fcntl.LOCK_EX)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    fcntl.flock(self.fd, fcntl.LOCK_UN)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Open the file, which may be made or taken away by others meanwhile, and hold the lock."""
        while True:
            self.path.mkdir(mode=0o700, exist_ok=True)
            try:
                self.fd = os.open(self.path / _TABLE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:  # the last one of the others has just left
                continue
            try:
                with self.locked():
                    if self._current():
                        yield
                        return
            except BaseException:
                self.leave()
                raise
            self.leave()

    def _current(self) -> bool:
        try:
            return (self.path / _TABLE).stat().st_ino == os.fstat(self.fd).st_ino
        except FileNotFoundError:
            return False

    def names_file(self, slot: int) -> Path:
        """Return the file in which the process of a row says what it exports and has imported."""
        return self.path / f"{slot}.json"

    def clear(self) -> None:
        """Delete what processes that are gone have left behind; under the lock, when nobody is there."""
        for file in self.path.iterdir():
            if file.name != _TABLE:
                file.unlink()

    def remove(self) -> None:
        """Take the folder away; under the lock, by the last one who is there."""
        self.clear()
        (self.path / _TABLE).unlink()
        self.path.rmdir()

    def leave(self) -> None:
        """Close the file, without a word to the others."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
