"""Captures, task groups and updates as `with` blocks.

An interrupt can come as a block is entered or left, so that nobody ends what was begun. The object behind the block is
dropped then, and says so: what belongs to it is given up. An object that is part of a cycle is found by the collector,
which may run in the middle of any call, with its locks held; what was begun is given up by the next wait then.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from runtime.core.sync.open_captures import CaptureMode
from runtime.errors.closing import Again
from runtime.feature.graph.editing import task_group as group
from runtime.feature.graph.recording import capture
from runtime.feature.graph.recording.dry_run import DryRun, start_dry_run
from runtime.feature.graph.state import Block

if TYPE_CHECKING:
    from types import FrameType

    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.graph import Graph
    from runtime.feature.graph.recording.group import TaskGroup

_OURS = frozenset({"runtime", "fakes"})
_PROGRAMS = ("runtime.cli", "runtime.testing")
"""Modules of ours that call programs, as nobody inside of a call does."""


class _Section:
    """A block that something was begun for in a stream."""

    __slots__ = ("_block", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream, self._block = stream, Block()

    def __del__(self) -> None:
        """Give up what was neither ended nor abandoned."""
        if (block := getattr(self, "_block", None)) is not None:
            block.gone = True
            stream = self._stream
            if stream.branch is not None:
                if _in_a_call():
                    stream.device.dropped.append(Again(partial(_let_go, stream)))
                else:
                    _let_go(stream)


def _let_go(stream: Stream) -> None:
    """Give up the capture that a stream is in, if its block is gone."""
    if (branch := stream.branch) is not None:
        branch.let_go()


def _in_a_call() -> bool:
    """Whether a function of ours is being executed by this thread, and may hold locks."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] in _OURS and not name.startswith(_PROGRAMS):
            return True
        frame = frame.f_back
    return False


class CaptureSection(_Section):
    """`with stream.capture() as graph:` - the graph is ready behind the block; one that is left by an error is gone."""

    __slots__ = ("_graph", "_mode", "_sites")

    def __init__(self, stream: Stream, mode: CaptureMode, sites: bool | None) -> None:
        super().__init__(stream)
        self._mode, self._sites = mode, sites

    def __enter__(self) -> Graph:
        self._graph = capture.begin(self._stream, self._mode, block=self._block)
        if self._sites is not None:
            self._graph.sites = self._sites
        return self._graph

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: object) -> None:
        if kind is None:
            capture.end(self._stream)
        elif self._graph.capturing:
            self._graph.abandon(f"{kind.__name__} was raised during the capture: {raised}")


class DryRunSection(_Section):
    """`with stream.capture(dry_run=True) as plan:` - `plan.cost` says what a graph would take."""

    __slots__ = ("_dry_run", "_mode")

    def __init__(self, stream: Stream, mode: CaptureMode) -> None:
        super().__init__(stream)
        self._mode = mode

    def __enter__(self) -> DryRun:
        self._dry_run = start_dry_run(self._stream, self._mode, self._block)
        return self._dry_run

    def __exit__(self, *_: object) -> None:
        self._dry_run.end()


RehearsalSection = DryRunSection
"""The former name of `DryRunSection`."""


class GroupSection:
    """`with stream.task_group() as group:` inside of a capture; its kernels can get other parameters later."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> TaskGroup:
        return group.begin_group(self._stream)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            group.end_group(self._stream)


class UpdateSection(_Section):
    """`with stream.update(group):` - each kernel that the block launches in the stream replaces one of the group."""

    __slots__ = ("_group",)

    def __init__(self, stream: Stream, updated: TaskGroup) -> None:
        super().__init__(stream)
        self._group = updated

    def __enter__(self) -> None:
        group.begin_update(self._stream, self._group, block=self._block)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        group.end_update(self._stream, complete=kind is None)
