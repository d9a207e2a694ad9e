"""Devices as users see them: factories for memory, streams, events and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from runtime.api.memory import DeviceMemory
from runtime.api.streams import Stream
from runtime.core.device.limits import CoreKind, Cores
from runtime.core.device.time_limits import TimeLimit, time_limits
from runtime.core.stream.dvpp_group import DvppGroup
from runtime.core.stream.stream import StreamFlag
from runtime.core.sync.event_flags import EventFlag
from runtime.errors.arguments import check_instance, check_text, octets, whole, whole_or_none, wholes

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.api.generator import RandomGenerator
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import CountNotify, Notify
    from runtime.feature.messages import Channel, MessageQueue
    from runtime.launch.producers.library import Library
    from runtime.launch.producers.triton import TritonKernel
    from runtime.launch.program import Program

_TIMED = EventFlag.DDSYNC | EventFlag.TIME_LINE


class Device(DeviceMemory):
    """One NPU. Get it with `runtime.device(index)`; it is closed by `close()`, by `with`, or at exit.

    Memory is in the base class: `alloc`, `pool`, `upload`, `download`, `copy` and more.
    """

    stream_type = Stream

    def _repr_html_(self) -> str:
        from runtime.api import picture

        return picture.of_device(self)

    def time_limits(self) -> tuple[TimeLimit, ...]:
        """Return every time limit that holds where a call states none: its value, and who has set it."""
        self.check_open()
        return time_limits(self)

    def limit_cores(self, *, cube: int | None = None, vector: int | None = None) -> None:
        """Let kernels of this device use at most so many cores of each kind; None takes a limit away.

        Libraries that choose their number of blocks heed it, and the thread's `usable_cores`; a launch with more blocks
        is not refused.

        Raises:
            InvalidArgument 107000: more than there are; nothing is changed then.
        """
        self.check_open()
        cube, vector = whole_or_none("limit_cores", "cube", cube), whole_or_none("limit_cores", "vector", vector)
        self.core_limits.limit(None, cube, vector)

    @property
    def usable_cores(self) -> Cores:
        """The cores that kernels of this device may use: its limits, or all there are."""
        self.check_open()
        return Cores(*(self.core_limits.of_device(kind) for kind in CoreKind))

    def create_generator(self, seed: int = 0) -> RandomGenerator:
        """Return a new generator of random numbers, of chips that have one in hardware.

        Raises:
            NotSupported 207000: this chip has none.
        """
        from runtime.api.generator import RandomGenerator

        self.check_open()
        return RandomGenerator(self, whole("create_generator", "seed", seed))

    # -- streams, events, programs ---------------------------------------------------------------------------------

    @property
    def default_stream(self) -> Stream:
        """The stream that is there from the start; it cannot be closed on its own."""
        self.check_open()
        stream = self.context.default_stream
        assert isinstance(stream, Stream)
        return stream

    def create_stream(self, *, priority: int = 0, flags: int = StreamFlag.DEFAULT, name: str = "",
                      group: DvppGroup | None = None) -> Stream:
        """Return a new stream.

        Args:
            priority: 0 (highest) to 7; values outside are moved to the nearest.
            flags: StreamFlag values or-ed.
            name: how messages and traces call it.
            group: the DVPP group whose completion queue the stream shares.

        Raises:
            InvalidArgument 107000: flags that are unknown, or do not go together.
            NotSupported 207000: the chip lacks what a flag asks for.
            ResourceExhausted 207008, 207005: no stream id or queue left; the message says who holds them.
        """
        self.check_open()
        priority, flags = wholes("create_stream", priority=priority, flags=flags)
        check_text("create_stream", name=name)
        if group is not None:
            check_instance("create_stream", "group", group, DvppGroup, "pass a group from create_dvpp_group()")
        stream = self.context.create_stream(priority=priority, flags=flags, name=name, group=group)
        assert isinstance(stream, Stream)
        return stream

    def stream_of(self, other: Any) -> Stream:
        """Return the stream that another library's object or handle stands for.

        Args:
            other: a Stream, an int as pyACL and the C API have it (0: the default stream), or an object whose method
                `__npu_stream__` returns (0, such an int).

        Raises:
            InvalidHandle 107017: no stream of this process has the handle, or it was destroyed.
            ContextError 107003: the stream is another device's.
            InvalidArgument 107000: it is nothing of the kind.
        """
        from runtime.api import foreign

        self.check_open()
        return foreign.stream_of(self, other)

    @cached_property
    def _event_type(self) -> type[Event]:
        from runtime.core.sync.event import Event  # late: many programs make none

        return Event

    @cached_property
    def _notify_type(self) -> type[Notify]:
        from runtime.core.sync.notify import Notify  # late, as events are

        return Notify

    def create_event(self, *, timing: bool = False, shared: bool = False, name: str = "") -> Event:
        """Return a new event; with `timing`, two of them can be subtracted to get milliseconds.

        Args:
            shared: other processes may open it by what its `share` returns; it has no time stamps.
        """
        self.check_open()
        if type(name) is not str:
            check_text("create_event", name=name)
        if shared:
            return self._event_type(self, EventFlag.IPC, name=name)
        return self._event_type(self, _TIMED if timing else EventFlag.DDSYNC, name=name)

    def open_event(self, key: bytes) -> Event:
        """Return the event that another process has shared; `key` is what its `Event.share` returned."""
        self.check_open()
        key = octets("open_event", "key", key, "pass what Event.share returned in the other process")
        return self._event_type(self, EventFlag.IPC, shared=key)

    def create_notify(self) -> Notify:
        """Return a new notify, which takes one of the device's ids until it is closed."""
        self.check_open()
        return self._notify_type(self)

    def open_notify(self, name: bytes) -> Notify:
        """Return the notify that another process has shared; `name` is what its `Notify.export` returned."""
        self.check_open()
        name = octets("open_notify", "name", name, "pass what Notify.export returned in the other process")
        return self._notify_type(self, name)

    def create_count_notify(self) -> CountNotify:
        """Return a new counter that streams change and wait for; only chips with STARS v2 have them."""
        from runtime.core.sync.notify import CountNotify

        self.check_open()
        return CountNotify(self)

    def create_channel(self, name: str, capacity: int = 8) -> Channel:
        """Return a new channel: a queue of messages of tensors, between the threads of the program.

        Args:
            capacity: messages that it holds, 2 to 8192.

        Raises:
            NotSupported 207000: the driver has no message queues.
        """
        from runtime.feature.messages import Channel

        self.check_open()
        check_text("create_channel", name=name)
        return Channel(self, name, whole("create_channel", "capacity", capacity))

    def create_message_queue(self, name: str = "", depth: int = 8) -> MessageQueue:
        """Return a new queue of messages of bytes; see `create_channel`."""
        from runtime.feature.messages import MessageQueue

        self.check_open()
        check_text("create_message_queue", name=name)
        return MessageQueue(self, name, whole("create_message_queue", "depth", depth))

    def load(self, source: str | Path | bytes, *, name: str = "", allow_foreign: bool = False) -> Program:
        """Return the program in a kernel file (or its bytes).

        Args:
            allow_foreign: take a file that was compiled for cores which the device has not. Its launches fail, on the
                fake unless a function is attached.

        Raises:
            InvalidArgument 107000: see `Program`.
        """
        check_text("load", name=name)
        from runtime.launch.program import Program

        return Program(self, source, name=name, allow_foreign=allow_foreign)

    def load_library(self, source: str | Path | bytes) -> Library:
        """Return the kernels inside a host library (AscendC, TileLang), by their names in the source; see `Library`."""
        from runtime.launch.producers.library import Library

        return Library(self, source)

    def load_triton(
        self, source: Any, signature: Mapping[Any, Any] | Iterable[Any] | None = None, *, name: str | None = None,
        metadata: Any = None, layout: str | None = None, cap_blocks: bool | None = None, strict: bool = False,
    ) -> TritonKernel:
        """Return a kernel that Triton-Ascend compiled: `kernel[grid](*arguments, stream=stream)` launches it.

        Args:
            source: a folder of Triton's cache, one of a kernel's files (.npubin, .json, .ttir), a `CompiledKernel`, or
                bytes of the ELF with `metadata`.
            signature: types of the arguments as they were compiled (`["*fp32", "i32"]`, or by name), where there is no
                .ttir beside the kernel.
            name: which kernel, in a folder of several.
            metadata: content of the JSON file, its path or its fields, where it does not lie beside the kernel.
            layout: "3.2", "3.5", "3.6" or "new": the version of the launcher whose block the kernel wants, where the
                metadata would be taken for another's.
            cap_blocks: launch at most as many blocks as there are cores. Only for kernels compiled with
                TRITON_ALL_BLOCKS_PARALLEL=1, whose blocks loop; by default as that variable says now, or the metadata.
            strict: refuse an array of other elements than a parameter points to, instead of warning.

        Raises:
            InvalidArgument 107000: a file is missing or malformed, the kernel is of another chip family, or metadata,
                IR and ELF do not fit each other; the message says which, and what to do.
            NotSupported 207000: the environment asks for printing on the device.
        """
        from runtime.launch.producers.triton import load_triton

        return load_triton(
            self, source, signature, name=name, metadata=metadata, layout=layout, cap_blocks=cap_blocks, strict=strict,
        )
