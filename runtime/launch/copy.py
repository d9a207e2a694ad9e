"""Copies: now (by the driver) or in a stream (as tasks), in the direction that the two ends imply.

The host end may be a pinned HostBuffer or anything with the buffer interface (pageable). Only pinned memory can be
copied asynchronously; a pageable end makes the call wait for the stream first, as the vendor's runtime does
(core_spec 13.7).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.tasks import CopyKind, MemcpyAsync
from runtime import errors
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import HostBuffer

if TYPE_CHECKING:
    from runtime.core.device import Device
    from runtime.core.stream import Stream

HOST_PIECE_BYTES = 64 << 20
"""Largest piece of one task between host and device over PCIe."""

DEVICE_PIECE_BYTES = (4 << 30) - 1
"""Largest piece of one task inside a device: the length field has 32 bits."""


class _End:
    """One end of a copy: an address, a size, what kind of memory, and what keeps it alive."""

    __slots__ = ("address", "keep", "kind", "size", "writable")

    def __init__(self, thing: Any, role: str) -> None:
        self.writable = True
        self.keep: object = thing
        if isinstance(thing, (DeviceBuffer, HostBuffer)):
            thing.check_open()
            self.kind = "device" if isinstance(thing, DeviceBuffer) else "pinned"
            self.address, self.size = thing.address, thing.size
            return
        try:
            view = memoryview(thing)
        except TypeError:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"copy {role}: a {type(thing).__name__} is not memory",
                hint="pass a DeviceBuffer, a HostBuffer, an array or bytes",
            ) from None
        except ValueError as error:  # NumPy: a dtype that the buffer protocol cannot express
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"copy {role}: {error}", hint="pass array.view('u1')"
            ) from error
        if view.format == "O" or getattr(getattr(thing, "dtype", None), "hasobject", False):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"copy {role}: the array holds Python objects, which mean nothing on a "
                "device", hint="convert it to numbers: array.astype('f4')",
            )
        if not view.c_contiguous:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"copy {role}: the array is not contiguous in C order",
                hint="pass numpy.ascontiguousarray(array)",
            )
        self.kind, self.writable, self.size = "pageable", not view.readonly, view.nbytes
        self.address, self.keep = _address_of(view), view


def _address_of(view: memoryview) -> int:
    """Return where a buffer's bytes are; ctypes would copy a read-only one to say so."""
    if not view.nbytes:
        return 0
    import numpy as np

    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])


def size_of(source: Any) -> int:
    """Return the size in bytes of what can be copied from; anything else is refused as a copy would refuse it."""
    return _End(source, "source").size


def _ends(dst: Any, src: Any, size: int | None) -> tuple[_End, _End, int]:
    target, source = _End(dst, "target"), _End(src, "source")
    if not target.writable:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "copy target: the memory is read-only", hint="copy into a writable array"
        )
    count = source.size if size is None else size
    if count < 0 or count > source.size or count > target.size:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"copy of {count} bytes from a source of {source.size} into a target of {target.size}",
            ee="EE1003", params=("copy", count, "size", f"[0, {min(source.size, target.size)}]"),
            hint="the target must be at least as large as what is copied",
        )
    return target, source, count


def copy_now(device: Device, dst: Any, src: Any, size: int | None = None) -> None:
    """Copy and wait; looks at no stream. Size 0 does nothing.

    Raises:
        InvalidArgument 107000: an end is no memory, freed, read-only, or too small.
    """
    device.check_open()
    target, source, count = _ends(dst, src, size)
    if count:
        device.memory.copy(target.address, target.size, source.address, count)


def copy_in_stream(stream: Stream, dst: Any, src: Any, size: int | None = None) -> None:
    """Queue a copy in a stream; both ends are kept alive until it is done.

    A pageable end makes the call wait for the stream, then copy at once.

    Raises:
        InvalidArgument 107000: an end is no memory, freed, read-only, or too small.
        NotSupported 207000: both ends are host memory.
    """
    stream.check_open()
    target, source, count = _ends(dst, src, size)
    if count == 0 or target.address == source.address:
        return
    kinds = {target.kind, source.kind}
    if "device" not in kinds:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "a copy from host memory to host memory is no task for a stream",
            hint="copy it with NumPy, or with device.copy()",
        )
    if "pageable" in kinds:
        stream.synchronize()
        stream.device.memory.copy(target.address, target.size, source.address, count)
        return
    if kinds == {"device"}:
        _inside(stream, target, source, count)
    else:
        _across(stream, target, source, count)


def _inside(stream: Stream, target: _End, source: _End, count: int) -> None:
    stream.device.memory.transfer_way(source.address, target.address)
    for start in range(0, count, DEVICE_PIECE_BYTES):
        task = MemcpyAsync(
            src=source.address + start, dst=target.address + start, size=min(DEVICE_PIECE_BYTES, count - start),
            kind=CopyKind.SDMA,
        )
        stream.submit(task, owner="copy on the device", finished=_keeper(target, source))


def _across(stream: Stream, target: _End, source: _End, count: int) -> None:
    to_device = target.kind == "device"
    kind = CopyKind.HOST_TO_DEVICE if to_device else CopyKind.DEVICE_TO_HOST
    label = "copy to the device" if to_device else "copy to the host"
    memory = stream.device.memory
    for start in range(0, count, HOST_PIECE_BYTES):
        size = min(HOST_PIECE_BYTES, count - start)
        src, dst = source.address + start, target.address + start
        if stream.env.chip.generation == "v100":
            # The task scheduler's host side turns the addresses into a DMA chain itself.
            task = MemcpyAsync(src=src, dst=dst, size=size, kind=kind)
            stream.submit(task, owner=label, finished=_keeper(target, source))
            continue
        dma = memory.convert(src, dst, size)
        chain = dma.phyAddr
        task = MemcpyAsync(
            src=src, dst=dst, size=size, kind=kind, kernel_convert=False, dma_queue=chain.src or 0, dma_count=chain.len
        )
        stream.submit(task, owner=label, finished=_keeper(target, source, after=partial(memory.destroy_dma, dma)))


def _keeper(*ends: _End, after: Callable[[], None] | None = None) -> Callable[[], None]:
    """Return a callback that holds both ends until the task is reclaimed."""
    held = [end.keep for end in ends]

    def release() -> None:
        held.clear()
        if after is not None:
            after()

    return release
