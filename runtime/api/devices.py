"""Devices as users see them: factories for memory, streams, events and programs."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips.memory_rules import BadAllocation, allocation
from runtime import errors
from runtime.api.streams import Stream
from runtime.core import device as core
from runtime.core.event import Event, EventFlag
from runtime.core.notify import CountNotify, Notify
from runtime.launch.copy import copy_now, size_of
from runtime.launch.program import Program
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import HostBuffer
from runtime.memory.orphans import Fence, Orphans

if TYPE_CHECKING:
    import numpy as np

HUGE_FIRST = 0
"""Page policy of `alloc`: 2 MiB pages above 1 MiB, normal ones below or when there are none (aclrtMemMallocPolicy)."""


class Device(core.Device):
    """One NPU. Get it with `runtime.device(index)`; it is closed by `close()`, by `with`, or at exit."""

    stream_type = Stream

    def __init__(self, runtime: Any, user_id: int, device_id: int) -> None:
        """Open the device; see `Runtime.device`."""
        self.orphans = Orphans(self._free_orphan, self._fence)
        super().__init__(runtime, user_id, device_id)

    # -- memory ----------------------------------------------------------------------------------------------------

    def alloc(self, size: int, policy: int = HUGE_FIRST) -> DeviceBuffer:
        """Return `size` bytes of device memory; its contents are undefined.

        What reaches the driver is larger by the chip's padding (`chips.memory_rules.explain_allocation` says why).

        Raises:
            InvalidArgument 100000: the size is not positive, or the chip has no such pages.
            OutOfMemory 207001: the device has not that much left; free and total are in the message.
        """
        self.check_open()
        self.orphans.sweep()
        try:
            plan = allocation(size, policy, self.chip)
        except (BadAllocation, TypeError) as error:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"alloc({size!r}): {error}", hint="pass a positive number of bytes"
            ) from error
        address = self._alloc(plan.size_bytes, plan.attempts, size)
        buffer = DeviceBuffer(self, self.memory, address, size)
        self._adopt(buffer, address)
        return buffer

    def _alloc(self, size: int, attempts: tuple[int, ...], asked: int) -> int:
        for attempt in attempts:
            try:
                return self.memory.alloc(size, attempt)
            except errors.OutOfMemory as fault:
                last = fault
        free, total = self.memory.space()
        raise errors.fault(
            last.code, f"device {self.user_id} has no {asked} bytes left (asked the driver for {size}): "
            f"{free} of {total} are free, {sum(buffer.size for buffer in self.buffers.values())} held by this process",
            hint="close buffers that are no longer used; `npuhal info` shows who holds what",
        ) from last

    def alloc_host(self, size: int) -> HostBuffer:
        """Return `size` bytes of pinned host memory, which copies in a stream need."""
        self.check_open()
        try:
            plan = allocation(size, HUGE_FIRST, self.chip, "malloc_host")
        except (BadAllocation, TypeError) as error:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"alloc_host({size!r}): {error}", hint="pass a positive number of bytes"
            ) from error
        address = self.memory.alloc(plan.size_bytes, plan.flags)
        buffer = HostBuffer(self, self.memory, address, size)
        self._adopt(buffer, address)
        return buffer

    def _adopt(self, buffer: DeviceBuffer | HostBuffer, address: int) -> None:
        self.buffers[address] = buffer
        buffer.finalizer = weakref.finalize(buffer, self.orphans.drop, address)
        buffer.finalizer.atexit = False

    def _free_orphan(self, address: int) -> None:
        if not self.closed:
            self.memory.free(address)

    def _fence(self) -> Fence:
        """Return a question: is everything that is submitted now done?"""
        streams = (self.context.default_stream, *self.context.streams)
        marks = [(stream, stream.ring.submitted) for stream in streams]

        def passed() -> bool:
            for stream, mark in marks:
                if not stream.closed and stream.ring.reclaimed < mark:
                    stream.drain()
                    if stream.ring.reclaimed < mark:
                        return False
            return True

        return passed

    def upload(self, data: Any) -> DeviceBuffer:
        """Return a new device buffer with the contents of an array or bytes; waits for the copy."""
        buffer = self.alloc(size_of(data))
        try:
            copy_now(self, buffer, data)
        except BaseException:
            buffer.close()
            raise
        return buffer

    def download(self, buffer: DeviceBuffer, dtype: Any = "u1") -> np.ndarray[Any, Any]:
        """Return a device buffer's contents as a new array; looks at no stream, so synchronise first."""
        import numpy as np

        kind = np.dtype(dtype)
        if not kind.itemsize or buffer.size % kind.itemsize:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"download: {buffer.size} bytes are no whole number of {kind} items of "
                f"{kind.itemsize} bytes", hint="download a view of the part: buffer.view(0, size)",
            )
        array = np.empty(buffer.size // kind.itemsize, kind)
        copy_now(self, array, buffer, array.nbytes)
        return array

    def copy(self, dst: Any, src: Any, size: int | None = None) -> None:
        """Copy between buffers and host memory now, whatever the streams do."""
        copy_now(self, dst, src, size)

    def fill(self, buffer: DeviceBuffer, value: int, size: int | None = None) -> None:
        """Set bytes of a device buffer now."""
        buffer.check_open()
        count = buffer.size if size is None else size
        if not 0 <= value <= 0xFF or not 0 <= count <= buffer.size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"fill {count} of {buffer.size} bytes with {value}",
                hint="the value is one byte, the size at most the buffer's",
            )
        if count:
            self.memory.fill(buffer.address, buffer.size, value, count)

    def memory_info(self) -> tuple[int, int]:
        """Return (free, total) bytes of device memory as the driver counts them."""
        self.check_open()
        return self.memory.space()

    # -- streams, events, programs ---------------------------------------------------------------------------------

    @property
    def default_stream(self) -> Stream:
        """The stream that is there from the start; it cannot be closed on its own."""
        self.check_open()
        stream = self.context.default_stream
        assert isinstance(stream, Stream)
        return stream

    def create_stream(self, *, priority: int = 0, name: str = "") -> Stream:
        """Return a new stream.

        Args:
            priority: 0 (highest) to 7; values outside are moved to the nearest.
            name: how messages and traces call it.

        Raises:
            ResourceExhausted: no stream id or queue left.
        """
        self.check_open()
        stream = self.context.create_stream(priority=priority, name=name)
        assert isinstance(stream, Stream)
        return stream

    def create_event(self, *, timing: bool = False, name: str = "") -> Event:
        """Return a new event; with `timing`, two of them can be subtracted to get milliseconds."""
        self.check_open()
        flags = EventFlag.DDSYNC | (EventFlag.TIME_LINE if timing else EventFlag(0))
        return Event(self, flags, name=name)

    def create_notify(self) -> Notify:
        """Return a new notify, which takes one of the device's ids until it is closed."""
        self.check_open()
        return Notify(self)

    def open_notify(self, name: bytes) -> Notify:
        """Return the notify that another process has shared; `name` is what its `Notify.export` returned."""
        self.check_open()
        return Notify(self, name)

    def create_count_notify(self) -> CountNotify:
        """Return a new counter that streams change and wait for; only chips with STARS v2 have them."""
        self.check_open()
        return CountNotify(self)

    def load(self, source: str | Path | bytes, *, name: str = "") -> Program:
        """Return the program in a kernel file (or its bytes); see `Program`."""
        return Program(self, source, name=name)

    def _release_memory(self) -> None:
        for buffer in list(self.buffers.values()):
            buffer.close()
        self.orphans.close()
