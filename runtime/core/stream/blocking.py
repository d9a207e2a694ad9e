"""Launch blocking: every launch waits for its stream, so that an error shows where it was made (core_spec 8.5).

The environment variable ASCEND_RT_LAUNCH_BLOCKING=1 asks for it when the runtime is opened; a stream's own setting
comes before it. Whether a launcher blocks is decided when it is built. Inside a non-blocking section launches stay
asynchronous; sections nest, and the end of the outermost one waits once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.core.modes import LaunchBlocking as LaunchBlocking
from runtime.errors.arguments import member

if TYPE_CHECKING:
    from runtime.core.ports import StreamPort

VARIABLE = "ASCEND_RT_LAUNCH_BLOCKING"


class BlockingState:
    """What one stream says about launches in it."""

    __slots__ = ("mode", "open_sections")

    def __init__(self) -> None:
        self.mode = LaunchBlocking.BY_ENVIRONMENT
        self.open_sections = 0
        """Non-blocking sections that are open."""


def from_environment() -> bool:
    """Whether the environment asks for blocking launches; any value but "1" does not."""
    return os.environ.get(VARIABLE) == "1"


def set_mode(stream: StreamPort, mode: LaunchBlocking) -> None:
    """Let launches in a stream wait or not, whatever the environment says; holds for launchers built later."""
    stream.check_open()
    stream.blocking.mode = member("set_launch_blocking", "mode", mode, LaunchBlocking)
    stream.drop_prepared()


def blocks(stream: StreamPort) -> bool:
    """Whether launches in a stream wait; never where a stream only keeps tasks or is not fed by the host."""
    if stream.never_waited:
        return False
    if stream.blocking.mode is LaunchBlocking.BY_ENVIRONMENT:
        return stream.device.runtime.launch_blocking
    return stream.blocking.mode is LaunchBlocking.BLOCKING


def blocking(launch: Callable[..., None], stream: StreamPort) -> Callable[..., None]:
    """Return a launcher that waits for the stream after each launch outside a non-blocking section."""

    def launch_and_wait(*arguments: Any) -> None:
        launch(*arguments)
        if not stream.blocking.open_sections and stream.sink.immediate:
            stream.synchronize()

    return launch_and_wait


def finish(stream: StreamPort) -> None:
    """Wait for what was just queued in a stream where launches block: executions of graphs are launches too."""
    if blocks(stream) and not stream.blocking.open_sections and stream.sink.immediate:
        stream.synchronize()


class NonBlockingSection:
    """`with stream.non_blocking():` - launches inside do not wait, whatever the settings say."""

    __slots__ = ("_stream",)

    def __init__(self, stream: StreamPort) -> None:
        self._stream = stream

    def __enter__(self) -> StreamPort:
        begin(self._stream)
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        end(self._stream, wait=kind is None)


def begin(stream: StreamPort) -> None:
    """Open a non-blocking section."""
    stream.check_open()
    with stream.lock:
        stream.blocking.open_sections += 1


def end(stream: StreamPort, *, wait: bool = True) -> None:
    """Close the innermost section; closing the outermost one waits for the stream if launches in it block.

    Raises:
        InvalidState 507000: no section is open.
    """
    stream.check_open()
    with stream.lock:
        if not stream.blocking.open_sections:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"stream {stream.stream_id} has no open non-blocking section",
                ee="EE1018", params=("end of a non-blocking section", "no section was begun"),
                hint="pair each begin with one end",
            )
        stream.blocking.open_sections -= 1
        outermost = not stream.blocking.open_sections
    if wait and outermost and blocks(stream):
        stream.synchronize()
