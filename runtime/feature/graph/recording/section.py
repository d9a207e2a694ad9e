"""Captures, task groups and updates as `with` blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime.core.sync.open_captures import CaptureMode
from runtime.feature.graph.editing import task_group as group
from runtime.feature.graph.recording import capture
from runtime.feature.graph.recording.dry_run import DryRun, start_dry_run

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.graph import Graph
    from runtime.feature.graph.recording.group import TaskGroup


class CaptureSection:
    """`with stream.capture() as graph:` - the graph is ready behind the block; one that is left by an error is gone."""

    __slots__ = ("_before", "_entered", "_graph", "_mode", "_sites", "_stream")

    def __init__(self, stream: Stream, mode: CaptureMode, sites: bool | None) -> None:
        self._stream, self._mode, self._sites = stream, mode, sites
        self._entered = False

    def __enter__(self) -> Graph:
        self._before, self._entered = self._stream.branch, True
        self._graph = capture.begin(self._stream, self._mode)
        if self._sites is not None:
            self._graph.sites = self._sites
        return self._graph

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: object) -> None:
        if kind is None:
            capture.end(self._stream)
        elif self._graph.capturing:
            self._graph.abandon(f"{kind.__name__} was raised during the capture: {raised}")
        self._entered = False

    def __del__(self) -> None:
        """Give up a capture that was neither ended nor abandoned: Ctrl-C came as the block was entered or left."""
        branch = self._stream.branch if self._entered else None
        if branch is not None and branch is not self._before:
            graph: Any = branch.graph
            if graph.capturing and branch is graph.recording.origin:
                graph.abandon("its block was left by an interrupt")


class DryRunSection:
    """`with stream.capture(dry_run=True) as plan:` - `plan.cost` says what a graph would take."""

    __slots__ = ("_dry_run", "_mode", "_stream")

    def __init__(self, stream: Stream, mode: CaptureMode) -> None:
        self._stream, self._mode = stream, mode

    def __enter__(self) -> DryRun:
        self._dry_run = start_dry_run(self._stream, self._mode)
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


class UpdateSection:
    """`with stream.update(group):` - each kernel that the block launches in the stream replaces one of the group."""

    __slots__ = ("_group", "_stream")

    def __init__(self, stream: Stream, updated: TaskGroup) -> None:
        self._stream, self._group = stream, updated

    def __enter__(self) -> None:
        group.begin_update(self._stream, self._group)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        group.end_update(self._stream, complete=kind is None)
