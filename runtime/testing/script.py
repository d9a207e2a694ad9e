"""Programs as fuzzers make them, written down line by line: a failing one is printed, and runs by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

ATTRIBUTE = "npu_script"
"""What carries the text on an exception; the pytest plug-in and campaigns look for it."""


class Script:
    """The text of one program, on a machine of its own.

    >>> script = Script("fake://ascend910b3")
    >>> with script.written():
    ...     script.add("buffer = device.alloc(64)")
    """

    def __init__(self, url: str, *imports: str) -> None:
        """Begin with a machine, its first device and a stream, under the names `machine`, `device` and `stream`.

        Args:
            imports: further import lines.
        """
        self._lines = [
            "import numpy as np", *imports, "from runtime.api import Runtime", "", f"machine = Runtime({url!r})",
            "device = machine.device(0)", "stream = device.create_stream()",
        ]  # fmt: skip

    def add(self, *lines: str) -> None:
        """Add lines."""
        self._lines += lines

    @property
    def text(self) -> str:
        """The whole program; it closes the machine by force at its end."""
        return "\n".join([*self._lines, "machine.close(force=True)", ""])

    @contextmanager
    def written(self) -> Iterator[Script]:
        """Have what is raised inside carry the program that has led to it."""
        try:
            yield self
        except BaseException as problem:
            setattr(problem, ATTRIBUTE, self.text)
            raise
