"""What launching a kernel looks like to a type checker: the functions that subscripts and `bind` return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from runtime.launch.options import PLAIN, LaunchOptions

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream


class Launch(Protocol):
    """`kernel[blocks]`: launches in any stream of the kernel's device."""

    def __call__(self, *arguments: Any, stream: Stream | None = None, options: LaunchOptions = PLAIN) -> None:
        """Launch once.

        Args:
            arguments: buffers, NumPy scalars, ints, or bytes of whole 8-byte slots; see `Kernel.launch`.
            stream: where to queue it; None is the device's default stream.
        """


class BoundLaunch(Protocol):
    """`kernel.bind(stream, blocks)`: launches in one stream, with stream, blocks and options chosen."""

    def __call__(self, *arguments: Any) -> None:
        """Launch once; arguments as of `Launch`."""


class DeviceLaunch(Protocol):
    """`kernel.bind_device_arguments(stream, blocks)`: launches with arguments that lie on the device."""

    def __call__(self, address: int, /) -> None:
        """Launch once with the block of arguments at an address of the device."""
