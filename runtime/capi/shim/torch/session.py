"""The life of a process with torch_npu on this runtime: what is set up at its first call, and the order of its end."""

from __future__ import annotations

import atexit
import sys
from contextlib import suppress
from types import FunctionType

from runtime import errors
from runtime.api.process import Runtime
from runtime.capi.pyacl.binding import process
from runtime.capi.shim import bridge, declarations
from runtime.capi.shim.torch.reports import WORDS
from runtime.errors import tables

_NEED_RESULTS = frozenset((
    "aclrtMemcpy", "aclrtMemcpyAsync", "aclrtMemcpyAsyncWithCondition", "aclrtMemcpyBatch", "aclrtMemcpyBatchAsync",
    "aclrtSynchronizeStream", "aclrtSynchronizeStreamWithTimeout", "aclrtSynchronizeDevice",
    "aclrtSynchronizeDeviceWithTimeout", "aclrtSynchronizeEvent", "aclmdlRIExecuteAsync", "aclmdlRICaptureEnd",
))  # fmt: skip
_MOMENT_MS = 1000
"""What the end of an interrupted program waits for its work."""
_started: list[bool] = []
_broken_off: set[str] = set()


def start() -> None:
    """Prepare the process; called at its first call of libascendcl.so, again without effect."""
    if not _started:
        _started.append(True)
        atexit.register(_end)
        Runtime.started.register(__name__, _opened)
        bridge.at_interrupt.append(_interrupted)


def call_lost(fault: errors.RuntimeFault) -> None:
    """Let every later call that launches, copies or waits fail as one did that nobody heard of.

    Of 207000 torch_npu only warns at copies and waits, and goes on with what is in memory: those fail with 500000.
    """
    if fault.code == tables.public_names()["ACL_ERROR_RT_FEATURE_NOT_SUPPORT"]:
        fault = errors.fault("ACL_ERROR_INTERNAL_ERROR", f"results of a call that failed are missing: {fault}")
    for number, function in enumerate(declarations.functions()):
        if function.name in _NEED_RESULTS:
            bridge.refuse(number, fault)


def finish() -> None:
    """Let all work end, so that what is wrong with it is known, and said in full."""
    npu = sys.modules["torch_npu"].npu
    with suppress(Exception):  # a failure was the program's to handle
        if npu.is_initialized():
            npu.synchronize()
    WORDS.settle()


def _opened(opened: Runtime) -> None:
    """A machine was opened: let its checkers speak torch's words."""
    if (machine := getattr(opened.hal, "fake", None)) is not None:
        WORDS.install(machine)


def _interrupted(name: str) -> None:
    """A wait was broken off: at the exit, torch_npu would begin it again, perhaps without end."""
    if not _broken_off:
        atexit.register(_settle)  # the last that is registered is the first that is called
    _broken_off.add(name)


def _settle() -> None:
    """Wait a moment; where it does not do, all later waits fail."""
    if process().call("aclrtSynchronizeDeviceWithTimeout", timeout=_MOMENT_MS):
        names = ", ".join(sorted(_broken_off))
        call_lost(errors.fault("ACL_ERROR_INTERNAL_ERROR", f"what was waited for never came; broken off: {names}"))


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
                finish()
                shutdown()
                return
