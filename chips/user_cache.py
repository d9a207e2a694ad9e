"""What was parsed, kept by content in the user's cache folder: for packages that lie where this user may not write.

The folder is `npuhal` below `XDG_CACHE_HOME` or `~/.cache`; a program without a home, or with one that cannot be
written, does without. A file is named after the content that it was made of, so it is never out of date; it counts when
it is this user's alone and whole, which its head says by a digest. It is written under another name and renamed, so
that processes that do so at the same time never see half of one.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import sys
import threading
from contextlib import suppress
from typing import Any

__all__ = ["find", "keep"]

_DIGEST_BYTES = 32
_MOST_BYTES = 16 << 20
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Follows no link, and waits for nobody to write into a pipe."""
_LOOSE = stat.S_IWGRP | stat.S_IWOTH


def find(content: bytes) -> tuple[Any] | None:
    """Return, in a tuple, what was made of a file of this content; None if nothing (usable) is kept."""
    path = _file_of(content)
    if path is None:
        return None
    try:
        with open(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_ours(status) or status.st_size > _MOST_BYTES:
                return None
            raw = file.read()
        if hashlib.sha256(raw[_DIGEST_BYTES:]).digest() != raw[:_DIGEST_BYTES]:
            return None
        return (marshal.loads(memoryview(raw)[_DIGEST_BYTES:]),)
    except (OSError, ValueError, EOFError, TypeError):
        return None


def keep(content: bytes, made: Any) -> None:
    """Keep what was made of a file of this content; what cannot be kept, as dates, or written, is left."""
    path = _file_of(content)
    if path is None:
        return
    beside, folder = f"{path}.{os.getpid()}.{threading.get_ident()}", os.path.dirname(path)
    try:
        raw = marshal.dumps(made)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        if not _is_ours(os.stat(folder)):
            return
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(hashlib.sha256(raw).digest() + raw)
            os.replace(beside, path)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(beside)
    except (OSError, ValueError):
        return


def _is_ours(status: os.stat_result) -> bool:
    """Whether nobody else can have put something there."""
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & _LOOSE)


def _file_of(content: bytes) -> str | None:
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder):  # such ones are to be ignored, says the specification
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        folder = os.path.join(home, ".cache")
    kind = f"{sys.implementation.cache_tag}/{marshal.version}\0".encode()
    return os.path.join(folder, "npuhal", f"{hashlib.sha256(kind + content).hexdigest()}.data")
