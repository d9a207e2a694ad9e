"""DVPP groups: streams that share one completion queue, and report every task there (core_spec 5.3, 10.7.12)."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from runtime.core.process.handles import Children

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, StreamPort

_ANY_STREAM = 0xFFFFFFFF


class DvppGroup:
    """A completion queue for many streams. Made by `device.create_dvpp_group()`.

    Tasks in its streams ask for a completion entry by default (`wr_cqe`), and whoever reads the queue serves all
    streams of the group. Its streams have no part in separate recycling.
    """

    __slots__ = ("__weakref__", "closed", "device", "handle", "logic_cq_id", "members")

    def __init__(self, device: DevicePort) -> None:
        self.device = device
        self.members = Children()
        self.closed = False
        self.logic_cq_id = device.queues.create_logic_cq(_ANY_STREAM, threading.get_ident())
        self.handle = device.runtime.handles.add(self)

    def join(self, stream: StreamPort) -> None:
        """Take a stream in; called when it is made."""
        self.members.add(stream)

    def member(self, stream_id: int, sq_id: int) -> StreamPort | None:
        """Return the stream that a completion entry is about."""
        for stream in self.members:
            if stream.queues.sq_id == sq_id or stream.stream_id == stream_id:
                found: StreamPort = stream
                return found
        return None

    def wait_report(self, timeout_ms: int) -> int:
        """Take what has been reported for any stream, waiting at most `timeout_ms`; returns how many entries came."""
        from runtime.core.submission import completion

        return completion.take_reports(self, timeout_ms)

    def close(self) -> None:
        """Close the streams, then give the queue back. Closing twice does nothing."""
        if not self.closed:
            self.closed = True
            with ExitStack() as steps:
                steps.callback(self.device.queues.free_logic_cq, self.logic_cq_id)
                steps.callback(self.device.runtime.handles.remove, self.handle)
                for stream in self.members:
                    steps.callback(stream.close)
