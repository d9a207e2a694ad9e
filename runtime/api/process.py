"""The process-wide runtime as users see it: devices by index, the current device of a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from runtime.api.devices import Device
from runtime.core.callbacks.observers import Observers
from runtime.core.diagnostics.annotations import Annotations
from runtime.core.process import lifetime
from runtime.core.process import runtime as process
from runtime.errors.arguments import check_text

if TYPE_CHECKING:
    from runtime.feature.snapshot import Snapshot

shutdown = lifetime.shutdown


class Runtime(process.Runtime):
    """One machine and its devices. `runtime.start()` gives the process's own; tools may make further ones."""

    device_type = Device
    started: ClassVar[Observers] = Observers("runtime start")
    """Told of each runtime that was made, before it has opened a device."""

    def __init__(self, url: str | None = None) -> None:
        """Open the backend and read the machine; see `runtime.core.process.runtime.Runtime`."""
        if url is not None:
            check_text("Runtime", url=url)
        super().__init__(url)
        self.annotations = Annotations(self)
        """Moments and stretches that the program names."""
        if self.logs.launches:
            from runtime.launch.launch_log import log_launches

            log_launches(self)
        self.started.notify(self)

    @cached_property
    def snapshot(self) -> Snapshot:
        """Saves what the process has on its devices, and brings it back."""
        from runtime.feature.snapshot import Snapshot

        return Snapshot(self)

    def device(self, index: int = 0) -> Device:
        """Return a device by its index, opening it on first use.

        Raises:
            InvalidArgument 107001: no device has this index.
            DeviceUnavailable 507033: it could not be opened; the cause is attached.
        """
        found = super().device(index)
        assert isinstance(found, Device)
        return found


def start(url: str | None = None) -> Runtime:
    """Return the process's runtime, on the machine behind `url` if this is the first use."""
    if url is not None:
        check_text("start", url=url)
    found = lifetime.get(Runtime, url)
    assert isinstance(found, Runtime)
    return found


@contextmanager
def annotate(text: str) -> Iterator[None]:
    """Name a stretch of the program: a bar in traces, around the launches and waits within; next to nothing otherwise.

    >>> with runtime.annotate("forward"):
    ...     kernel[8](x, stream=stream)
    """
    if type(text) is not str:
        check_text("annotate", text=text)
    annotations = _annotations()
    if annotations is None:
        yield
        return
    annotations.push(text)
    try:
        yield
    finally:
        annotations.pop()


def mark(text: str) -> None:
    """Name a moment of the program, to be seen in traces."""
    if type(text) is not str:
        check_text("mark", text=text)
    annotations = _annotations()
    if annotations is not None:
        annotations.mark(text)


def _annotations() -> Annotations | None:
    found = lifetime.started()
    return found.annotations if isinstance(found, Runtime) else None


def device_count() -> int:
    """Return how many devices this process may use."""
    return start().device_count


def device(index: int = 0) -> Device:
    """Return a device, opening it on first use; see `Runtime.device` for the errors."""
    return start().device(index)


def set_device(index: int) -> Device:
    """Make a device the calling thread's, opening it if need be; see `Runtime.set_device`."""
    found = start().set_device(index)
    assert isinstance(found, Device)
    return found


def reset_device(index: int) -> None:
    """Take one `set_device` back; the last one ends what the device runs. See `Runtime.reset_device`."""
    start().reset_device(index)


def current_device() -> Device:
    """Return the calling thread's device, or raise ContextError 107002."""
    found = start().current_context().device
    assert isinstance(found, Device)
    return found


@contextmanager
def on_device(index: int = 0) -> Iterator[Device]:
    """Work on a device in this thread, and afterwards where it worked before; for threads of a pool.

    The device is set at the start and reset at the end, so that it stays open while any thread works on it.

    Raises:
        InvalidArgument 107001: no device has this index.
        DeviceUnavailable 507033: it could not be opened.
    """
    runtime = start()
    before = runtime.current.context, runtime.current.slot
    device = runtime.set_device(index)
    assert isinstance(device, Device)
    try:
        yield device
    finally:
        runtime.reset_device(index)
        runtime.current.context, runtime.current.slot = before
