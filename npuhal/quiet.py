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
                ctypes.CDLL(None).fflush(None)
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


@contextlib.contextmanager
def timed(name: str, root: str = "/") -> Iterator[None]:
    """Say beforehand what may be waited for, and afterwards that a load was slow, with the cause."""
    reason = expected_wait(root)
    if reason:
        LOG.info("%s: %s", name, reason)
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    if took > SLOW_S:
        cause = reason or f"its constructors waited, most often for {CHANNEL}"
        LOG.warning("loading %s took %.1f s: %s", name, took, cause)
