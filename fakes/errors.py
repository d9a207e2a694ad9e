"""What can go wrong inside the fake itself, as opposed to the error codes that it returns like the real library."""

from __future__ import annotations

import errno
import os
from typing import Any

_HOST_CURES = {
    errno.EMFILE: "this process has too many files open: close some, or raise its limit (ulimit -n)",
    errno.ENFILE: "the system has too many files open: end programs",
    errno.ENOMEM: "lower hbm= or devices=, close machines, or raise the limit of addresses (ulimit -v)",
    errno.EFBIG: "raise the limit of the size of files (ulimit -f)",
    errno.ENOSPC: "free space there, or {else_}",
    errno.EDQUOT: "free space there, or {else_}",
}
"""What to do where the system under the fake has no more of something."""


class FakeError(Exception):
    """Base of everything the fake raises in Python; a driver error code is never one of these."""


class NotShareable(FakeError):
    """A machine cannot be shared with other processes under a name; the text says why."""


class HostRefused(FakeError):
    """The system under the fake refuses what the fake needs: descriptors, addresses, memory, space on a disk."""

    def __init__(self, what: str, problem: OSError | int, cure: str = "") -> None:
        self.errno = problem if isinstance(problem, int) else problem.errno or 0
        known = _HOST_CURES.get(self.errno, "{else_}").format(else_=cure)
        super().__init__(f"{what}: {os.strerror(self.errno)}" + (f"; {known}" if known else ""))


class NotModelled(FakeError):
    """The program used something that the fake does not model; the name says what. It never answers 0 instead."""

    def __init__(self, name: str, detail: str = "") -> None:
        self.name = name
        self.detail = detail
        super().__init__(name, detail)

    def __str__(self) -> str:
        text = f"{self.name} is not modelled by the fake HAL"
        return f"{text}: {self.detail}" if self.detail else text


class MemoryFault(FakeError):
    """An address was used that the fake can name as wrong: freed, out of range, or of another kind."""

    def __init__(
        self, message: str, use: str = "access", address: int = 0, size: int = 0, block: Any = None, behind: int = 0
    ) -> None:
        self.use, self.address, self.size = use, address, size
        self.block = block
        """The block that the address lies in, if any."""
        self.behind = behind
        """Bytes that the access goes behind the end of the block."""
        super().__init__(message)


def access(use: str, size: int, address: int) -> str:
    """Name an access in an error: "copy to 8 bytes at 0x10", "argument read of 8 bytes at 0x10"."""
    joint = "" if use.endswith((" from", " to", " of")) else " of"
    return f"{use}{joint} {size} bytes at {address:#x}"


class OutOfDeviceMemory(FakeError):
    """A memory pool of the fake has no space for a request."""


class Hang(FakeError):
    """A task never ends; its queue stands still until it is reset or destroyed. Kernel functions raise it."""


class TaskFault(FakeError):
    """A task failed on the device: `error_type` is the CQE bit set, `code` its error code, the text says why."""

    def __init__(self, message: str, error_type: int = 1, code: int = 0, cure: str = "") -> None:
        self.error_type = error_type
        self.code = code
        self.cure = cure
        """What to do, where it is not what one does about such a failure of a card."""
        super().__init__(message, error_type, code)

    def __str__(self) -> str:
        return f"{self.args[0]}. {self.cure}" if self.cure else str(self.args[0])


class StandInFailed(TaskFault):
    """The Python function that stands in for a kernel has raised; `__cause__` is what."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"the function attached for it has raised {f'{type(error).__name__}: {error}'.rstrip(': ')}",
            cure="the cause of this error has the traceback of the attached function",
        )
