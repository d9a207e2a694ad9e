"""Several processes in one test: functions that run in interpreters of their own and talk over pipes.

The processes come from a server that has the packages imported already (multiprocessing's "forkserver"), so that one
costs a few milliseconds. A process that fails, or says nothing for too long, fails the test with what it has printed.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

PATIENCE_S = 60.0
Part = Callable[..., object]


class Failed(AssertionError):
    """A process has ended with an exception, whose text this is."""


class Line:
    """One end of a pipe between two processes."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def send(self, *what: Any) -> None:
        """Send one value, or several as a tuple."""
        self.connection.send(("said", what[0] if len(what) == 1 else what))

    def hear(self) -> Any:
        """Return what the other end has sent; Failed if it has ended instead."""
        if not self.connection.poll(PATIENCE_S):
            raise Failed("the other process says nothing")
        try:
            kind, what = self.connection.recv()
        except EOFError:
            raise Failed("the other process is gone") from None
        if kind == "failed":
            raise Failed(what)
        return what


class Child(Line):
    """A process of the test, and the line to it."""

    def __init__(self, part: Part, *arguments: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["runtime.capi.aclrt", "tests.tools.processes", "tests.tools.warm"])
        ours, theirs = context.Pipe()
        super().__init__(ours)
        self.process: BaseProcess = context.Process(target=_run, args=(theirs, part, arguments), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self.process.pid is not None
        return self.process.pid

    def end(self) -> Any:
        """Wait until it has ended by itself; returns what its function has returned."""
        answer = self.hear()
        self.process.join(PATIENCE_S)
        assert self.process.exitcode == 0
        return answer

    def kill(self) -> None:
        """End it at once, wherever it is."""
        self.process.kill()
        self.process.join(PATIENCE_S)


def _run(connection: Connection, part: Part, arguments: tuple[Any, ...]) -> None:
    line = Line(connection)
    try:
        line.send(part(line, *arguments))
    except BaseException:
        connection.send(("failed", traceback.format_exc()))


@contextmanager
def processes(*parts: Part | tuple[Any, ...]) -> Iterator[list[Child]]:
    """Run functions, each in a process; the first argument of each is its line to the test."""
    children = [Child(*(part if isinstance(part, tuple) else (part,))) for part in parts]
    try:
        yield children
    finally:
        for child in children:
            child.kill()


def shared_name(test: str) -> str:
    """Return a name for a shared machine that no other run of the tests uses."""
    return f"test-{os.getpid()}-{test}"
