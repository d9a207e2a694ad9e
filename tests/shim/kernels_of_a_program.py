"""What NPUHAL_SHIM_SETUP names in the tests."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from fakes import kernels

CODE = b"code of a kernel".ljust(256, b"\x90")


def attach(machine: Any) -> None:
    """Let one kernel work and another one break."""
    machine.attach(CODE, work, name="work")
    machine.attach(bytes(reversed(CODE)), broken, name="broken")


def work(context: Any) -> None:
    context.args.array(0, "<u4", 16)[:] = 7


def broken(context: Any) -> None:
    raise ZeroDivisionError("this kernel cannot count")


def attach_add(machine: Any) -> None:
    """Let the kernel of `runtime.cli.sample` add."""
    machine.attach(hashlib.sha512(b"add_custom").digest(), kernels.add(), name="add")


def attach_broken(machine: Any) -> None:
    """Let the kernel of `runtime.cli.sample` break."""
    machine.attach(hashlib.sha512(b"add_custom").digest(), broken, name="broken")


def tell_process(machine: Any) -> None:
    """Write down which process the fake lives in."""
    Path(os.environ["SERVER_PROCESS"]).write_text(str(os.getpid()))
