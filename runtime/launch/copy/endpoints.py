"""The two ends of a copy: what a buffer, an array or an address is to the runtime."""

from __future__ import annotations

from typing import Any

from npuhal.words import shown
from runtime import errors
from runtime.errors.arguments import whole
from runtime.memory.buffer import Buffer
from runtime.memory.elements import as_bytes
from runtime.memory.location import Location


class End:
    """One end: an address, a size, where it lies, whether it may be written, and what keeps it alive."""

    __slots__ = ("address", "device", "keep", "location", "size", "writable")

    def __init__(self, address: int, size: int, location: Location, keep: object = None, *, device: Any = None,
                 writable: bool = True) -> None:
        self.address, self.size, self.location = address, size, location
        self.keep, self.device, self.writable = keep, device, writable

    @classmethod
    def of(cls, thing: Any, name: str) -> End:
        """Return the end that an object is.

        Raises:
            InvalidArgument 107000: it is no memory, was freed, holds Python objects, or is not contiguous.
        """
        if isinstance(thing, Buffer):
            thing.check_open()
            return cls(thing.address, thing.size, thing.location, thing, device=thing.device)
        view = _bytes_of(thing, name)
        return cls(_address_of(view), view.nbytes, Location.UNREGISTERED, view, writable=not view.readonly)


def _bytes_of(thing: Any, name: str) -> memoryview:
    try:
        view = _view(_from_dlpack(thing, name) if _only_dlpack(thing) else thing)
    except TypeError:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"copy: {name} is {shown(thing)}: cannot copy from or to "
            f"{type(thing).__name__!r}; expected a DeviceBuffer, a HostBuffer, an array or bytes",
            hint="convert it with numpy.asarray(...)",
        ) from None
    except ValueError as error:  # NumPy: a dtype that the buffer protocol cannot express
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"copy: {name}: {error}", hint="pass array.view('u1')"
        ) from error
    if view.format == "O" or getattr(getattr(thing, "dtype", None), "hasobject", False):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"copy: {name}: the array holds Python objects, which mean nothing on a "
            "device", hint="convert it to numbers: array.astype('f4')",
        )
    if not view.c_contiguous:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"copy: {name}: the array is not contiguous in C order",
            hint="pass numpy.ascontiguousarray(array)",
        )
    return view


def _view(thing: Any) -> memoryview:
    """Return an object's bytes; raises TypeError for what has none, ValueError for what cannot be seen as bytes."""
    try:
        return memoryview(thing)
    except ValueError:
        return memoryview(as_bytes(thing))


def _only_dlpack(thing: Any) -> bool:
    """Return whether an object is a tensor of another library, without the buffer protocol."""
    if not hasattr(thing, "__dlpack__"):
        return False
    try:
        memoryview(thing)
    except TypeError:
        return True
    except ValueError:
        pass  # an array of a dtype that the protocol cannot express: said by the caller
    return False


def _from_dlpack(tensor: Any, name: str) -> Any:
    """Return a host tensor of another library as an array, without a copy."""
    import numpy as np

    try:
        return np.from_dlpack(tensor)
    except (BufferError, RuntimeError, ValueError) as error:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"copy: {name}: the {type(tensor).__name__} cannot be read through DLPack: "
            f"{error}", hint="pass a tensor in host memory, of a type that NumPy has: tensor.cpu()",
        ) from error


def _address_of(view: memoryview) -> int:
    """Return where a buffer's bytes are; ctypes would copy a read-only one to say so."""
    if not view.nbytes:
        return 0
    import numpy as np

    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])


def size_of(source: Any, name: str = "src") -> int:
    """Return the size in bytes of what can be copied from; anything else is refused as a copy would refuse it."""
    return End.of(source, name).size


def ends(dst: Any, src: Any, size: int | None) -> tuple[End, End, int]:
    """Return target, source and byte count of a copy.

    Raises:
        InvalidArgument 107000: an end is no memory, freed, read-only, or too small.
    """
    target, source = End.of(dst, "dst"), End.of(src, "src")
    if not target.writable:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", "copy: dst is read-only memory", hint="copy into a writable array"
        )
    count = source.size if size is None else whole("copy", "size", size)
    if count < 0 or count > source.size or count > target.size:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"copy of {count} bytes from a source of {source.size} into a target of {target.size}",
            ee="EE1003", params=("copy", count, "size", f"[0, {min(source.size, target.size)}]"),
            hint="the target must be at least as large as what is copied",
        )
    return target, source, count
