"""Loads libraries that talk: what their constructors print to standard output is kept aside, and logged."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from npuhal.changed import start_thread

LOG = logging.getLogger("npuhal.loader")
LOG.addHandler(logging.NullHandler())

CHANNEL = "/dev/hisi_hdc"
"""Node whose absence lets the driver's library wait while it is loaded (not on UB machines)."""
SLOW_S = 3.0
"""A load that takes longer is logged."""
_LOCK = threading.Lock()


@contextlib.contextmanager
def quietly(name: str) -> Iterator[None]:
    """Keep file descriptor 1 aside; lines that come to it meanwhile are logged as lines of `name`."""
    with _LOCK:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        c = ctypes.CDLL(None)
        c.fflush(None)  # what a C program has printed so far is its own
        try:
            aside = os.dup(1)
        except OSError:  # there is none
            yield
            return
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 1)
            try:
                yield
            finally:
                c.fflush(None)
                os.dup2(aside, 1)
                os.close(aside)
                file.seek(0)
                for line in file.read().decode(errors="replace").splitlines():
                    LOG.warning("%s printed: %s", name, line)


def expected_wait(root: str = "/") -> str:
    """Return why loading the driver's library may take long here; empty when it should not."""
    if os.path.exists(os.path.join(root, CHANNEL.lstrip("/"))):
        return ""
    return f"there is no {CHANNEL}, for which the driver's library may wait about 22 s while it is loaded"


def load(name: str, mode: int) -> ctypes.CDLL:
    """Load a library as `ctypes.CDLL` does, but let other threads run meanwhile: its constructors may wait for long.

    Raises:
        OSError: it cannot be loaded, with the loader's reason.
    """
    c = ctypes.CDLL(None)
    c.dlopen.restype, c.dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    c.dlerror.restype = ctypes.c_char_p
    handle = c.dlopen(os.fsencode(name), mode | os.RTLD_NOW)
    if not handle:
        raise OSError((c.dlerror() or b"").decode(errors="replace"))
    return ctypes.CDLL(name, mode=mode, handle=handle)


@contextlib.contextmanager
def timed(name: str, root: str = "/") -> Iterator[None]:
    """Say before, during and after a slow load what is waited for.

    What is said meanwhile goes to standard error where the program has set up no logging: nothing else moves then.
    """
    reason = expected_wait(root)
    if reason:
        LOG.info("%s: %s", name, reason)
    cause = reason or f"its constructors wait, most often for {CHANNEL}"
    loaded: SimpleQueue[None] = SimpleQueue()
    began = time.monotonic()
    start_thread(_say_unless, "npuhal-loading", loaded, f"{name} is still being loaded after {SLOW_S:g} s: {cause}")
    try:
        yield
    finally:
        loaded.put(None)
    took = time.monotonic() - began
    if took > SLOW_S:
        LOG.warning("loading %s took %.1f s: %s", name, took, cause)


def _say_unless(loaded: SimpleQueue[None], text: str) -> None:
    try:
        loaded.get(timeout=SLOW_S)
    except Empty:
        _say(text)


def _say(text: str) -> None:
    LOG.warning(text)
    logger: logging.Logger | None = LOG
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return
        logger = logger.parent if logger.propagate else None
    print(f"npuhal: {text}", file=sys.stderr)
