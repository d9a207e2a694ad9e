"""Streams as users see them: copies, launches and events in order; `await stream`; handles for other libraries."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, overload

from chips.tasks import MemWaitValue, WaitFor, WriteValue
from runtime import errors
from runtime.core.callbacks.subscription import name_of
from runtime.core.device.limits import CoreKind, Cores
from runtime.core.modes import LaunchBlocking
from runtime.core.stream import blocking
from runtime.core.stream import stream as core
from runtime.core.sync.open_captures import CaptureMode
from runtime.core.sync.value import submit_wait
from runtime.driver.dma import Plane
from runtime.errors.arguments import (
    BUFFERS,
    EVENTS,
    check_callable,
    check_instance,
    check_same_runtime,
    check_text,
    member,
    whole,
    whole_or_none,
    wholes,
)
from runtime.launch.copy.copy import copy_in_stream
from runtime.launch.copy.direction import inferred
from runtime.launch.copy.fill import BYTE_TO_WORD, check_fill, queue_fill
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.memory.buffer import Buffer
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import Notify
    from runtime.feature.graph import TaskGroup
    from runtime.feature.graph.recording.section import CaptureSection, DryRunSection, GroupSection, UpdateSection
    from runtime.launch.batch.batch import Batch
    from runtime.launch.kernel import Kernel
    from runtime.memory.host import HostBuffer

_WORD_BYTES = 8


def _check_event(call: str, event: object) -> None:
    """Refuse what is neither an event nor a notify; asked only where it has failed as one."""
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import CountNotify, Notify

    check_instance(call, "event", event, (Event, Notify, CountNotify), EVENTS)


def _check_kernel(call: str, kernel: object) -> None:
    """Refuse what cannot be launched; asked only where it has failed as a kernel."""
    from runtime.launch.kernel import Kernel

    check_instance(call, "kernel", kernel, Kernel, "pass a kernel from program.kernel(name)")


class Stream(core.Stream):
    """An ordered queue of copies, launches and events. Made by `device.create_stream()`.

    >>> with device.create_stream() as stream:          # closed at the end, after its work
    ...     stream.copy(buffer, pinned)
    ...     kernel[8](buffer, stream=stream)
    ...     stream.synchronize()                        # or, in asyncio: await stream
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        from runtime.api import picture

        return picture.of_stream(self)

    def __await__(self) -> Generator[Any, None, None]:
        """`await stream`: `synchronize` for asyncio, without a thread; cancelling only ends the wait."""
        from runtime.core.sync import awaiting

        return awaiting.finish(self).__await__()

    async def __aenter__(self) -> Stream:
        self.check_open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            try:
                await self
            except BaseException:
                self.close(force=True)
                raise
        self.close(force=kind is not None)

    def __npu_stream__(self) -> tuple[int, int]:
        """Return (version 0, handle): by it other libraries of this process know the stream, the C API among them."""
        self.check_open()
        return 0, self.handle

    def abort(self) -> None:
        """End the running task and drop everything queued; the stream is empty and usable afterwards.

        Raises:
            InternalError 507000: the stream is bound to a model.
            NotSupported 207000: the task scheduler cannot do it.
            Timeout 107019: the task has not ended within 60 s.
        """
        from runtime.core.stream import abort

        abort.abort_stream(self)

    def stop(self) -> None:
        """End the running task and keep what is queued behind it; the next `synchronize` reports the ended task.

        Raises:
            DeviceAborted 107023: the stream or its device is being aborted.
            InternalError 507000: the stream is bound to a model.
            NotSupported 207000: the task scheduler cannot do it.
            Timeout: the task has not ended within 60 s.
        """
        from runtime.core.stream import abort

        abort.stop_stream(self)

    # -- settings --------------------------------------------------------------------------------------------------

    def set_failure_mode(self, mode: int) -> None:
        """Let the whole context stop at the first failed task (1); see `ContextFailure.set_mode`."""
        self.context.failure.set_mode(self, mode)

    @property
    def overflow_check(self) -> bool:
        """Whether kernels of this stream report arithmetic overflow."""
        return self.env.overflow_enabled

    def set_overflow_check(self, on: bool) -> None:
        """Turn overflow reports on or off for what is submitted from now on; launchers are built again.

        Raises:
            NotSupported 207000: the chip cannot do it per stream.
        """
        from runtime.core.device import overflow

        overflow.set_check(self, on)

    def set_launch_blocking(self, mode: LaunchBlocking) -> None:
        """Let launches wait for the stream or not, whatever the environment says; holds for launchers built later."""
        blocking.set_mode(self, mode)

    def non_blocking(self) -> blocking.NonBlockingSection:
        """Return a context manager: launches inside do not wait; leaving the outermost one waits once."""
        return blocking.NonBlockingSection(self)

    def limit_cores(self, *, cube: int | None = None, vector: int | None = None) -> None:
        """Let kernels of this stream use at most so many cores of each kind; None: as many as the device allows.

        Raises:
            InvalidArgument 107000: more than there are; nothing is changed then.
        """
        self.check_open()
        cube, vector = whole_or_none("limit_cores", "cube", cube), whole_or_none("limit_cores", "vector", vector)
        self.device.core_limits.limit(self, cube, vector)

    @property
    def usable_cores(self) -> Cores:
        """The cores that kernels of this stream may use: its own limits, or the device's."""
        self.check_open()
        limits = self.device.core_limits
        return Cores(*(limits.in_force(kind, limits.of_stream(self)) for kind in CoreKind))

    # -- copies and launches ---------------------------------------------------------------------------------------

    def copy(self, dst: Any, src: Any, size: int | None = None) -> None:
        """Queue a copy between device buffers and pinned host buffers; direction by what they are.

        A pageable end (array, bytes) makes the call wait for the stream and copy at once.
        """
        copy_in_stream(self, dst, src, size)

    def fill(self, target: DeviceBuffer, value: int, size: int | None = None) -> None:
        """Queue the setting of bytes of a device buffer: all, or the first `size`."""
        value, count = check_fill("Stream.fill", self.device, target, value, size)
        if count:
            queue_fill(self, target.address, target.size, value * BYTE_TO_WORD, count, "Stream.fill", target)

    def copy_rows(self, dst: DeviceBuffer | HostBuffer, dst_pitch: int, src: DeviceBuffer | HostBuffer, src_pitch: int,
                  width: int, height: int) -> None:
        """Queue a copy of `height` rows of `width` bytes, whose starts lie a pitch apart in each buffer."""
        from runtime.launch.copy.planes import queue_plane

        dst_pitch, src_pitch, width, height = wholes(
            "copy_rows", dst_pitch=dst_pitch, src_pitch=src_pitch, width=width, height=height
        )
        for name, end in (("dst", dst), ("src", src)):
            check_instance("copy_rows", name, end, Buffer, BUFFERS)
        check_same_runtime("copy_rows", self.device, dst, src)
        for end, pitch, role in ((dst, dst_pitch, "target"), (src, src_pitch, "source")):
            end.check_open()
            if (height - 1) * pitch + width > end.size:
                raise errors.fault(
                    "ACL_ERROR_RT_PARAM_INVALID", f"copy_rows: {height} rows of {width} bytes with a pitch of {pitch} "
                    f"do not fit the {role} of {end.size} bytes", hint="pass fewer or shorter rows",
                )
        plane = Plane(dst.address, dst_pitch, src.address, src_pitch, width, height)
        queue_plane(self, plane, inferred(src.location, dst.location), "Stream.copy_rows", dst, src)

    def reduce(
        self, target: DeviceBuffer, source: DeviceBuffer, operation: str = "add", dtype: str = "float32"
    ) -> None:
        """Queue target = target (operation) source by the copy engine, element by element.

        Args:
            operation: "add", "max", "min" or "equal".
            dtype: int8, int16, int32, uint32, float16, float32 or bfloat16.
        """
        from runtime.launch.copy.reduce import REDUCIBLE, REDUCTIONS, queue_reduce

        for name, buffer in (("target", target), ("source", source)):
            check_instance("reduce", name, buffer, Buffer, BUFFERS)
            buffer.check_open()
        check_text("reduce", operation=operation, dtype=dtype)
        check_same_runtime("reduce", self.device, target, source)
        kind, data_type = REDUCTIONS.get(operation), REDUCIBLE.get(dtype)
        if kind is None or data_type is None or source.size > target.size:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"reduce of {source.size} bytes of {dtype} into {target.size} by "
                f"operation {operation!r}", hint=f"operations: {', '.join(REDUCTIONS)}; types: {', '.join(REDUCIBLE)}",
            )
        queue_reduce(
            self, target.address, source.address, source.size, kind, data_type, "Stream.reduce", target, source
        )

    def launch(self, kernel: Kernel, blocks: int, *arguments: Any, options: LaunchOptions = PLAIN) -> None:
        """Launch a kernel; the same as `kernel[blocks](..., stream=self)`."""
        try:
            launch = kernel.launch
        except AttributeError:
            _check_kernel("Stream.launch", kernel)
            raise
        launch(self, blocks, *arguments, options=options)

    def launch_many(
        self, kernel: Kernel, blocks: int, arguments: Any, options: LaunchOptions = PLAIN
    ) -> None:
        """Launch a kernel once per row of arguments, in order, for a fraction of what single launches cost.

        Args:
            arguments: an array of 64-bit integers (values and device addresses), one row per launch and one column
                per argument; or a sequence of rows, each of what a single launch would be given. Buffers must stay
                open until the launches are done.
        """
        try:
            launch = kernel.launch_many
        except AttributeError:
            _check_kernel("Stream.launch_many", kernel)
            raise
        launch(self, blocks, arguments, options)

    def batch(self) -> Batch:
        """Note launches, copies, fills and events first, then send them together: `with stream.batch() as batch: ...`.

        Nothing is sent when the block is left by an error. See `runtime.launch.batch.batch.Batch`.
        """
        from runtime.launch.batch.batch import Batch

        self.check_open()
        return Batch(self)

    # -- graphs ----------------------------------------------------------------------------------------------------

    @overload
    def capture(
        self, mode: CaptureMode = CaptureMode.GLOBAL, *, sites: bool | None = None, dry_run: Literal[False] = False,
        places: bool | None = None,
    ) -> CaptureSection: ...

    @overload
    def capture(self, mode: CaptureMode = CaptureMode.GLOBAL, *, dry_run: Literal[True]) -> DryRunSection: ...

    def capture(
        self, mode: CaptureMode = CaptureMode.GLOBAL, *, sites: bool | None = None, dry_run: bool = False,
        places: bool | None = None,
    ) -> CaptureSection | DryRunSection:
        """Capture what is submitted to the stream: `with stream.capture() as graph: ...`, then `graph.launch(stream)`.

        Streams that wait for an event of the capture join it; each must lead back by an event that this stream waits
        for. When the block is left by an error the graph is gone and all streams are as before.

        Args:
            mode: which threads may not wait for the device meanwhile.
            sites: whether nodes keep where they were captured; by default as NPUHAL_TRACE_CREATION says.
            dry_run: only count: nothing is taken from the device, and the block gets something with a `cost`.
            places: the former name of `sites`.

        Raises:
            NotSupported 207000: it is the default stream. CaptureError 107027: it is being captured.
            ResourceExhausted: no model, stream or queue left; the stream stays usable.
        """
        from runtime.feature.graph.recording.section import CaptureSection, DryRunSection

        mode = member("Stream.capture", "mode", mode, CaptureMode)
        return DryRunSection(self, mode) if dry_run else CaptureSection(self, mode, places if sites is None else sites)

    def task_group(self) -> GroupSection:
        """Group kernels of a capture that are to be changed later: `with stream.task_group() as group: ...`."""
        from runtime.feature.graph.recording.section import GroupSection

        return GroupSection(self)

    def update(self, group: TaskGroup) -> UpdateSection:
        """Launch the kernels of a group again with other parameters, in order: `with stream.update(group): ...`.

        The change is made in the stream, like a copy: an execution that reaches the kernels behind it takes the new
        parameters, also one that was queued before. Order both by an event where that matters.
        """
        from runtime.feature.graph import TaskGroup
        from runtime.feature.graph.recording.section import UpdateSection

        check_instance("Stream.update", "group", group, TaskGroup, "pass what `with stream.task_group() as group` gave")
        return UpdateSection(self, group)

    # -- events ----------------------------------------------------------------------------------------------------

    def record(self, event: Event) -> Event:
        """Mark the point reached now; returns the event."""
        try:
            return event.record(self)
        except AttributeError:
            _check_event("Stream.record", event)
            raise

    def wait(self, event: Event | Notify, timeout_s: int | None = None) -> None:
        """Hold everything queued from now on until the event's newest record is done, or a notify is set.

        Args:
            timeout_s: seconds, 0 for ever; by default what `Runtime.timeouts` says for events, for ever for a notify.
        """
        try:
            event.wait(self, timeout_s)
        except AttributeError:
            _check_event("Stream.wait", event)
            raise

    def record_external(self, event: Event) -> Event:
        """Let each execution of the graph that the stream is captured into record an event for streams outside of it.

        Streams do not record the event then, whose records belong to graphs. Errors: see
        `runtime.feature.graph.recording.external.record`.
        """
        from runtime.feature.graph.recording import external

        _check_event("Stream.record_external", event)
        external.record(self, event)
        return event

    def wait_external(self, event: Event) -> None:
        """Let each execution of the graph that the stream is captured into wait for the record that is newest then."""
        from runtime.feature.graph.recording import external

        _check_event("Stream.wait_external", event)
        external.wait(self, event)

    def write_value(self, target: DeviceBuffer, value: int, size_bytes: int = 8) -> None:
        """Write an integer to device memory when the stream gets there.

        Args:
            size_bytes: 1, 2, 4 or 8; the address must be a multiple of it.
        """
        check_instance("Stream.write_value", "target", target, Buffer, BUFFERS)
        target.check_open()
        check_same_runtime("write_value", self.device, target)
        value, size_bytes = wholes("write_value", value=value, size_bytes=size_bytes)
        if size_bytes not in (1, 2, 4, 8) or target.size < size_bytes or target.address % size_bytes:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"write_value of {size_bytes} bytes to {target!r}: sizes are 1, 2, 4 or 8, at a multiple of the size",
                hint="take a view of the buffer that starts at such an address",
            )
        if not 0 <= value < 1 << 8 * size_bytes:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"value {value:#x} does not fit {size_bytes} bytes",
                hint="pass an unsigned integer of that size",
            )
        data = value.to_bytes(size_bytes, "little")
        task = WriteValue(addr=target.address, size_code=size_bytes.bit_length() - 1, data=data)
        self.submit(task, owner="value write", finished=_holding(target))

    def wait_value(self, target: DeviceBuffer, value: int, test: WaitFor = WaitFor.GREATER_OR_EQUAL) -> None:
        """Hold everything queued from now on until the first 64 bits of a buffer meet a condition.

        Args:
            value: compared as a signed number of 64 bits.
            test: at least `value`, equal to it, any bit in common with it, or not all bits set by both together.
        """
        check_instance("Stream.wait_value", "target", target, Buffer, BUFFERS)
        target.check_open()
        check_same_runtime("wait_value", self.device, target)
        value = whole("wait_value", "value", value)
        if target.size < _WORD_BYTES or target.address % _WORD_BYTES or not 0 <= value < 1 << 64:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID",
                f"wait_value for {value:#x} at {target!r}: it compares 8 bytes at a multiple of 8 with 64 bits",
                hint="take a view of the buffer that starts at such an address",
            )
        test = member("Stream.wait_value", "test", test, WaitFor)
        task = MemWaitValue(addr=target.address, value=value, flag=test)
        submit_wait(self, task, finished=_holding(target))

    def host_function(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a Python function when the stream gets there, on a thread of the runtime; the stream waits for it.

        The thread has no device set. What the function raises becomes a failure of the stream, reported by the next
        `synchronize`. A wait inside it that could only end after it has returned raises Timeout 507046. A graph
        keeps the function and its arguments, and calls it with each execution.
        """
        check_callable("Stream.host_function", "function", function)

        def call(_: int) -> object:
            return function(*arguments)

        call.__qualname__ = name_of(function)
        self.device.runtime.callbacks.host_function(self, call)


def _holding(target: DeviceBuffer) -> Any:
    held = [target]
    return held.clear
