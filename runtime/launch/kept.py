"""Launches whose arguments stay on the device: made once, sent again and again. Made by `kernel.keep(...)`."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime import errors
from runtime.errors.not_copied import NotCopied
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import ManagedBuffer, RegisteredBuffer

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel


class KeptLaunch(NotCopied):
    """`kept()` launches once more with the same arguments; nothing is packed or copied for it.

    Its buffers are kept alive. A kernel that writes to its own arguments would change those of later launches: launch
    such a kernel in the usual way.
    """

    __slots__ = ("_address", "_block", "_buffers", "_launch", "kernel", "stream")

    def __init__(
        self, kernel: Kernel, stream: Stream, launch: Callable[[int], None], words: tuple[int, ...],
        arguments: tuple[Any, ...],
    ) -> None:
        """Write the words to a block of device memory; `launch` takes its address."""
        self.kernel, self.stream, self._launch = kernel, stream, launch
        held = (DeviceBuffer, ManagedBuffer, RegisteredBuffer)
        self._buffers = [each for each in arguments if isinstance(each, held)]
        self._block: DeviceBuffer | None = kernel.program.device.alloc(max(len(words), 1) * 8)
        self._address = self._block.address
        stream.device.memory.write(self._address, struct.pack(f"<{len(words)}Q", *words))

    def __call__(self) -> None:
        """Launch.

        Raises:
            InvalidArgument 107000: one of its buffers was freed. InvalidHandle: it was closed, its program unloaded, or
                the stream closed. CaptureError 107027: the stream is being captured. ModelError: it is bound to
                a model; both would need the arguments for longer than this object lives.
        """
        for buffer in self._buffers:
            if buffer.word is None:
                buffer.check_open()
        stream = self.stream
        if self._block is None or stream.branch is not None or stream.bound is not None:
            self._refuse()
        self._launch(self._address)

    def _refuse(self) -> None:
        call = f"launch of kernel {self.kernel.name} with kept arguments"
        if self._block is None:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE", f"{call}: they were given up by close()", ee="EE1017",
                params=("launch", "arguments", "they were given up"), hint="call kernel.keep() again",
            )
        self.stream.check_not_captured(call)
        raise errors.fault(
            "RT_ERROR_STREAM_MODEL", f"{call}: stream {self.stream.stream_id} is bound to a model, which would need "
            "them for longer than they are kept",
            hint="launch with kernel[blocks](...): the model keeps those arguments",
        )

    @property
    def closed(self) -> bool:
        """Whether the arguments were given up."""
        return self._block is None

    def close(self) -> None:
        """Give the arguments up; the memory goes back when what was launched is done. Closing twice does nothing."""
        self._block = None
        self._buffers.clear()

    def __enter__(self) -> KeptLaunch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<launch of kernel {self.kernel.name} in stream {self.stream.stream_id}, arguments kept{state}>"
