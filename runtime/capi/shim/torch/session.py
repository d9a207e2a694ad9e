"""The life of a process with torch_npu on this runtime: what is set up at its first call, and the order of its end."""

from __future__ import annotations

import atexit
import sys
from types import FunctionType

_started: list[bool] = []


def start() -> None:
    """Prepare the process; called at its first call of libascendcl.so, again without effect."""
    if not _started:
        _started.append(True)
        atexit.register(_end)


def _end() -> None:
    """Let torch_npu end before this runtime does: it waits for its queues and gives back what it has.

    Both want to be called at the exit, and which of them registers first depends on when the program makes its first
    call. torch_npu's handler has had the same name in all versions.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch_npu":
            shutdown = vars(module).get("_npu_shutdown")
            if isinstance(shutdown, FunctionType):
                atexit.unregister(shutdown)
                shutdown()
                return
