"""Where the processes meet: a folder per name, a file that is locked while it is changed, and who is still alive.

The folders lie in one that only the user may enter. What is in it is reached through open descriptors, never through a
symbolic link, and nothing is deleted but files of the names given here: a folder that somebody has put there keeps
what else is in it. Each process holds a shared lock on the folder of its machine as long as it lives, so that a folder
nobody holds is known for one of processes that are gone, whatever namespace of process ids they were of.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fakes.errors import HostRefused, NotShareable

_TABLE = "table"
_OURS = re.compile(r"table|\d{1,3}\.json(\.new)?")
"""Names of the files that processes make in the folder of a machine; no other one is touched."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_FOLLOWED = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
_ELSEWHERE = "set XDG_RUNTIME_DIR to a folder of your own"


def root() -> Path:
    """Return the folder of all shared machines of the user.

    Raises:
        HostRefused: there is no folder for temporary files, and XDG_RUNTIME_DIR names none.
    """
    try:
        above = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    except OSError as problem:
        raise HostRefused("no folder for temporary files can be written to", problem, _ELSEWHERE) from None
    return Path(above) / f"npuhal-{os.getuid()}"


def folder(name: str) -> Path:
    """Return the folder of a shared machine."""
    return root() / name


def started(pid: int) -> int:
    """Return when a process began, in clock ticks since boot: with its id that names it for good; 0 if it is gone.

    Raises:
        HostRefused: this process cannot find out, because it is out of descriptors for one.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError as problem:
        raise HostRefused(f"cannot see whether process {pid} lives", problem) from None
    state, *fields = text[text.rindex(b")") + 2 :].split()
    return 0 if state in (b"Z", b"X") else int(fields[18])


def gone(pid: int, since: int) -> bool:
    """Whether a process is known to have ended."""
    try:
        return started(pid) != since
    except HostRefused:
        return False


def namespace() -> int:
    """Return the number of the namespace of process ids: another container's processes have other ids."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError as problem:
        raise NotShareable(f"shared machines need /proc: {problem.strerror}") from None


def _open_root() -> int:
    """Open the folder of all machines, made if it is not there; nobody else may be able to put anything into it."""
    path = root()
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        fd = os.open(path, _FOLDER_FLAGS)
    except OSError as problem:
        if problem.errno in _NOT_FOLLOWED:
            raise NotShareable(f"{path} is a link or a file, no folder; take it away, or {_ELSEWHERE}") from None
        raise
    found = os.fstat(fd)
    if found.st_uid != os.getuid():
        wrong = "belongs to another user"
    elif stat.S_IMODE(found.st_mode) & 0o077:
        wrong = f"has mode {stat.S_IMODE(found.st_mode):04o}, so that others may use what is in it; chmod it to 0700"
    else:
        return fd
    os.close(fd)
    raise NotShareable(f"{path} {wrong}, or {_ELSEWHERE}")


class Folder:
    """The folder of one name, and its lock. The system drops the locks of a process that ends, however it does."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._mutex = threading.RLock()
        self._depth = 0
        self._folder = -1
        self.fd = -1
        """The table."""
        self.alone = False
        """Whether nobody else was there when this process came."""

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
        """Open the folder, which may be made or taken away by others meanwhile, and hold the lock.

        Raises:
            NotShareable: the folder is not safe to use.
            HostRefused: the system does not let it be made, opened or written.
        """
        try:
            while True:
                if self._open():
                    with self.locked():
                        if self._current():
                            with self._found():
                                yield
                            return
                self.leave()
        except OSError as problem:
            self.leave()
            if problem.errno in _NOT_FOLLOWED and root().is_dir():
                raise self._foreign() from None
            raise HostRefused(f"cannot open shared={self.name} in {root()}", problem, _ELSEWHERE) from None
        except BaseException:
            self.leave()
            raise

    def _open(self) -> bool:
        """Open folder and table; False where somebody has taken the folder away in between."""
        above = _open_root()
        try:
            _sweep(above, self.name)
            with suppress(FileExistsError):
                os.mkdir(self.name, 0o700, dir_fd=above)
            self._folder = os.open(self.name, _FOLDER_FLAGS, dir_fd=above)
            self.fd = os.open(_TABLE, os.O_RDWR | os.O_CREAT | _FILE_FLAGS, 0o600, dir_fd=self._folder)
        except FileNotFoundError:
            return False
        finally:
            os.close(above)
        if not _is_table(self.fd):
            raise self._foreign()
        return True

    def _foreign(self) -> NotShareable:
        return NotShareable(f"{folder(self.name)} is or holds a link or a foreign file; take it away")

    def _current(self) -> bool:
        try:
            return os.path.samestat(os.stat(_TABLE, dir_fd=self._folder), os.fstat(self.fd))
        except FileNotFoundError:
            return False

    @contextmanager
    def _found(self) -> Iterator[None]:
        """Find out who is there; a folder that this process was alone in goes again when it cannot stay."""
        self.alone = _lock(self._folder, fcntl.LOCK_EX)
        try:
            if self.alone:
                self.clear()
            fcntl.flock(self._folder, fcntl.LOCK_SH)
            yield
        except BaseException:
            if self.alone:
                self.remove()
            raise

    def read(self, slot: int) -> bytes | None:
        """Return what the process of a row says that it exports and has imported; None: nothing."""
        try:
            fd = os.open(_row_name(slot), os.O_RDONLY | _FILE_FLAGS, dir_fd=self._folder)
        except FileNotFoundError:
            return None
        with open(fd, "rb") as file:
            return file.read()

    def write(self, slot: int, data: bytes) -> None:
        """Say so for a row, under the lock: all of it, or HostRefused and nothing."""
        name = _row_name(slot)
        try:
            try:
                self._store(name + ".new", os.O_TRUNC, data)
                os.replace(name + ".new", name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            except OSError:
                _delete(name + ".new", self._folder)
                # What takes no more space than before goes where that was: who ends something needs no space.
                # Nobody reads meanwhile, and what a process that is killed has said goes with it.
                if self._size(name) < len(data):
                    raise
                self._store(name, 0, data)
        except OSError as problem:
            raise HostRefused(f"cannot write to {folder(self.name)}", problem, _ELSEWHERE) from None

    def _size(self, name: str) -> int:
        try:
            return os.stat(name, dir_fd=self._folder).st_size
        except FileNotFoundError:
            return 0

    def _store(self, name: str, flags: int, data: bytes) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | flags | _FILE_FLAGS, 0o600, dir_fd=self._folder)
        with open(fd, "wb") as file:
            file.write(data)
            file.truncate()

    def discard(self, slot: int) -> None:
        """Take away what a row has said."""
        _delete(_row_name(slot), self._folder)

    def clear(self) -> None:
        """Delete what processes that are gone have left behind; under the lock, when nobody is there."""
        _clear(self._folder)

    def remove(self) -> None:
        """Take the folder away; under the lock, by the last one who is there. It stays if others have files in it."""
        with suppress(OSError):
            above = _open_root()
            try:
                _remove(self.name, self._folder, above)
            finally:
                os.close(above)

    def leave(self) -> None:
        """Close the folder, without a word to the others."""
        for fd in (self.fd, self._folder):
            if fd >= 0:
                os.close(fd)
        self.fd = self._folder = -1


def _is_table(fd: int) -> bool:
    """Whether an open file may be a table of ours: no pipe, and no second name of somebody's file."""
    found = os.fstat(fd)
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def _row_name(slot: int) -> str:
    return f"{slot}.json"


def _lock(fd: int, how: int) -> bool:
    """Take a lock if that is possible at once."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _delete(name: str, folder_fd: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder_fd)


def _clear(folder_fd: int) -> None:
    for name in os.listdir(folder_fd):
        if name != _TABLE and _OURS.fullmatch(name):
            _delete(name, folder_fd)


def _remove(name: str, folder_fd: int, above: int) -> None:
    _clear(folder_fd)
    _delete(_TABLE, folder_fd)
    with suppress(OSError):  # something that is not ours is in it
        os.rmdir(name, dir_fd=above)


def _sweep(above: int, but: str) -> None:
    """Take away the folders of machines whose processes have all ended without a word."""
    for name in os.listdir(above):
        if name == but:
            continue
        try:
            folder_fd = os.open(name, _FOLDER_FLAGS, dir_fd=above)
        except OSError:  # no folder, or just gone
            continue
        try:
            table = os.open(_TABLE, os.O_RDWR | _FILE_FLAGS, dir_fd=folder_fd)
        except OSError:  # none of ours, or only just made
            os.close(folder_fd)
            continue
        try:
            if _is_table(table) and _lock(table, fcntl.LOCK_EX) and _lock(folder_fd, fcntl.LOCK_EX):
                _remove(name, folder_fd, above)
        finally:
            os.close(table)
            os.close(folder_fd)
