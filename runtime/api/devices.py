"""Devices as users see them: factories for memory, streams, events and programs."""

from __future__ import annotations

import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from runtime import errors
from runtime.api.streams import Stream
from runtime.core import device as core
from runtime.core.census import creation_site
from runtime.core.event import Event, EventFlag
from runtime.core.notify import CountNotify, Notify
from runtime.launch.copy import copy_now, size_of
from runtime.launch.program import Program
from runtime.memory.allocator import HUGE_FIRST, Allocator, SegmentSource
from runtime.memory.buffer import Buffer
from runtime.memory.device import DeviceBuffer, PooledBuffer
from runtime.memory.fences import Fence, fence
from runtime.memory.host import HostBuffer, ManagedBuffer
from runtime.memory.ledger import Ledger
from runtime.memory.orphans import Orphans
from runtime.memory.pool import CachingPool

if TYPE_CHECKING:
    import numpy as np

AnyBuffer = TypeVar("AnyBuffer", bound=Buffer)


class Pool(CachingPool):
    """`device.pool`: buffers without driver calls, in the order of streams.

    >>> with device.pool.alloc(1 << 20, stream) as scratch:
    ...     kernel[8](scratch, stream=stream)

    A buffer may be closed while work that uses it is still queued in its stream; the memory is used again in order.
    """

    def __init__(self, device: Device) -> None:
        allocator = device.allocator
        super().__init__(
            SegmentSource(allocator), lambda size: allocator.plan(size, HUGE_FIRST, "malloc").size_bytes
        )
        self._device = device

    def alloc(self, size: int, stream: Stream | None = None) -> PooledBuffer:
        """Return a buffer for work of a stream, the default stream by default; its contents are undefined.

        `buffer.record_stream(other)` tells that a further stream uses it.

        Raises:
            InvalidArgument 100000: the size is not positive.
            OutOfMemory 207001: neither the pool nor, within `limit`, the device has that much left.
        """
        device = self._device
        device.check_open()
        device.orphans.sweep()
        owner = device.default_stream if stream is None else stream
        owner.check_open()
        block = self.take(size, owner)
        give = partial(self._give, block, owner)
        buffer = PooledBuffer(device, block.address, size, give, record_stream=partial(self.record, block))
        return device.adopt(buffer, give)

    def _give(self, block: Any, stream: Stream, _address: int = 0) -> None:
        if not self._device.closed:
            self.give(block, stream)


class Device(core.Device):
    """One NPU. Get it with `runtime.device(index)`; it is closed by `close()`, by `with`, or at exit."""

    stream_type = Stream

    def __init__(self, runtime: Any, user_id: int, device_id: int) -> None:
        """Open the device; see `Runtime.device`."""
        self.orphans = Orphans(self._fence)
        self.ledger = Ledger(creation_site)
        """Every block that users hold, and where they asked for it when that is traced (NPUHAL_TRACE_CREATION=1)."""
        super().__init__(runtime, user_id, device_id)
        self.allocator = Allocator(self.memory, self.chip, self.ledger, self._make_room)
        self.pool = Pool(self)

    # -- memory ----------------------------------------------------------------------------------------------------

    def alloc(self, size: int, policy: int = HUGE_FIRST) -> DeviceBuffer:
        """Return `size` bytes of device memory from the driver; its contents are undefined.

        What reaches the driver is larger by the chip's padding (`chips.memory_rules.explain_allocation` says why).
        `device.pool.alloc` is much faster where memory comes and goes.

        Raises:
            InvalidArgument 100000: the size is not positive.
            NotSupported 207000: the chip has no such pages.
            OutOfMemory 207001: the device has not that much left; the message has the numbers and who holds what.
        """
        self.check_open()
        self.orphans.sweep()
        return self._own(DeviceBuffer(self, self.allocator.device(size, policy), size, self._give))

    def alloc_host(self, size: int) -> HostBuffer:
        """Return `size` bytes of pinned host memory, which copies in a stream need."""
        self.check_open()
        self.orphans.sweep()
        return self._own(HostBuffer(self, self.allocator.host(size), size, self._give))

    def alloc_managed(self, size: int) -> ManagedBuffer:
        """Return `size` bytes that host and device share under one address; what is allocated is in units of 2 MiB.

        Raises:
            NotSupported 207000: only some chips have it (Ascend 910B).
        """
        self.check_open()
        if not isinstance(size, int) or size < 1:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"alloc_managed({size!r}): the size must be at least 1 byte",
                hint="pass a positive number of bytes",
            )
        return self._own(ManagedBuffer(self, self.allocator.managed(size), size, self._give))

    def _own(self, buffer: AnyBuffer) -> AnyBuffer:
        return self.adopt(buffer, partial(self._give, buffer.address))

    def adopt(self, buffer: AnyBuffer, release: Any) -> AnyBuffer:
        """Keep a buffer in view, and call `release` some time after it was dropped without `close`."""
        self.buffers[buffer.address] = buffer
        buffer.finalizer = weakref.finalize(buffer, self.orphans.drop, release)
        buffer.finalizer.atexit = False
        return buffer

    def _give(self, address: int) -> None:
        if not self.closed:
            self.allocator.free(address)

    def _make_room(self) -> None:
        """Give back to the driver what is only kept for later."""
        self.orphans.sweep()
        self.pool.trim()

    def _fence(self) -> Fence:
        """Return a question: is everything that is submitted now done?"""
        return fence(self.streams())

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
        """Return (free, total) bytes of device memory as the driver counts them, for all processes together."""
        self.check_open()
        return self.memory.space()

    mem_get_info = memory_info
    """The same under the name that users of torch.npu know."""

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
        self.pool.close()
