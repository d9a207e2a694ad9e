"""Programs as fuzzers make them, written down line by line: a failing one is printed, and runs by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

ATTRIBUTE = "npu_script"
"""What carries the text on an exception; the pytest plug-in and campaigns look for it."""


class Script:
    """The text of one program, on a machine of its own.

    >>> script = Script("fake://ascend910b3")
    >>> with script.written():
    ...     script.add("buffer = device.alloc(64)")
    """

    def __init__(self, url: str | None, *imports: str, names: Mapping[str, Any] | None = None) -> None:
        """Begin with a machine, its first device and a stream, under the names `machine`, `device` and `stream`.

        Args:
            url: None: a program without a machine.
            imports: further import lines.
            names: what `run` finds under the names that the program uses: the objects of a machine that is open, say.
        """
        self._lines = list(imports)
        self._end: tuple[str, ...] = ()
        self.names = dict(names or {})
        """What `run` finds, and what it has made, by name."""
        if url is not None:
            self._lines = [
                "import numpy as np", *imports, "from runtime.api import Runtime", "", f"machine = Runtime({url!r})",
                "device = machine.device(0)", "stream = device.create_stream()",
            ]  # fmt: skip
            self._end = ("machine.close(force=True)",)

    def add(self, *lines: str) -> Script:
        """Add lines; returns itself."""
        self._lines += lines
        return self

    def run(self, *lines: str) -> None:
        """Add lines, and do what they say: what is done and what is written down cannot differ."""
        self.add(*lines)
        exec(compile("\n".join(lines), "<script>", "exec"), self.names)

    @property
    def text(self) -> str:
        """The whole program; it closes its machine by force at the end."""
        return "\n".join([*self._lines, *self._end, ""])

    @contextmanager
    def written(self) -> Iterator[Script]:
        """Have what is raised inside carry the program that has led to it."""
        try:
            yield self
        except BaseException as problem:
            setattr(problem, ATTRIBUTE, self.text)
            raise
