"""Argument lists put together piece by piece (aclrtKernelArgs*): parameters, placeholders, hidden slots.

A block is laid out in this order: the address of the core registers where the kernel wants it; the caller's
parameters, each at a multiple of 8 bytes (AI cores) or without gaps (AICPU); the address of the overflow status where
the kernel wants it; the data of placeholders. Source: core_spec 8.4.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from typing import TYPE_CHECKING

from chips.binary import AicpuKernel
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.core.process.handles import dead_handle
from runtime.launch.block import POINTER_BYTES, HostBlock
from runtime.memory import caller

if TYPE_CHECKING:
    from runtime.capi.aclrt.state import Acl
    from runtime.core.process.context import Context
    from runtime.launch.binary import Function

LIST_BYTES = 64 * 1024
"""Size of a list that the runtime manages."""
MOST_PARAMETERS = 128
_HANDLE_BYTES, _PARAMETER_BYTES = 96, 48
"""Size of a list's description, and of each parameter's in it (args_inner.h, RtArgsHandle and ParaDetail)."""
_MOST_HIDDEN = 8
"""Slots that a list keeps free for what the runtime fills in, whatever the kernel takes of them."""


def _most_parameters(function: Function) -> int:
    return MOST_PARAMETERS if function.for_cpu else function.entry.user_args


def handle_size(function: Function) -> int:
    """Return the bytes of a list's own description, for lists in the caller's memory."""
    return _HANDLE_BYTES + _PARAMETER_BYTES * _most_parameters(function)


def block_size(function: Function, user_bytes: int) -> int:
    """Return the bytes that a block with so many bytes of the caller's takes at most: with space to align each."""
    if function.for_cpu:
        return user_bytes
    return user_bytes + POINTER_BYTES * (function.entry.user_args + _MOST_HIDDEN)


class _Parameter(NamedTuple):
    """One parameter: where it is in the block; a placeholder's data lies at `data` once it has asked for it."""

    offset: int
    size: int
    placeholder: bool = False
    data: int = 0
    capacity: int = 0


class ArgumentList:
    """A list being put together, in memory whose address the caller may write to."""

    def __init__(self, memory: ctypes.Array[ctypes.c_char], most: int) -> None:
        self._address, self._most = ctypes.addressof(memory), most
        self._memory = memoryview(memory).cast("B")
        self._lock = threading.Lock()
        self.handle = 0

    def begin(self, function: Function) -> None:
        """Start over, for a function."""
        self.function = function
        self._parameters: list[_Parameter] = []
        self._fixed = self._finalised = False
        entry = function.entry
        self._step = 1 if isinstance(entry, AicpuKernel) else POINTER_BYTES
        self._first = not isinstance(entry, AicpuKernel) and entry.ffts_arg
        self._last = not isinstance(entry, AicpuKernel) and entry.system_args > entry.ffts_arg
        self._used = POINTER_BYTES * self._first
        self._status = 0

    # -- parameters ------------------------------------------------------------------------------------------------

    def append(self, data: bytes) -> int:
        """Add a parameter and return its number, from 1.

        Raises:
            NotSupported 207000: a placeholder has got its data already, or the list is complete (EE1016).
            InvalidArgument 107000: there is no space for it (EE1017).
        """
        with self._lock:
            offset = self._extend(len(data))
            self._memory[offset : offset + len(data)] = data
            return len(self._parameters)

    def append_placeholder(self) -> int:
        """Add a pointer to data inside the block and return its number; errors as in `append`."""
        with self._lock:
            offset = self._extend(POINTER_BYTES)
            self._memory[offset : offset + POINTER_BYTES] = bytes(POINTER_BYTES)
            self._parameters[-1] = self._parameters[-1]._replace(placeholder=True)
            return len(self._parameters)

    def _extend(self, size: int) -> int:
        if self._fixed or self._finalised:
            why = "the list is complete" if self._finalised else "the data of a placeholder follows already"
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"a parameter for {self.function.name} cannot be added: {why}",
                ee="EE1016", params=("append to an argument list", why),
                hint="append all parameters first, then ask for placeholders' buffers, then finalise",
            )
        if len(self._parameters) >= self._most:
            raise self._full(f"it takes at most {self._most} parameters")
        offset = -(-self._used // self._step) * self._step
        if offset + size > len(self._memory) - POINTER_BYTES * self._last:
            raise self._full(f"{size} bytes more do not fit {len(self._memory)}")
        self._parameters.append(_Parameter(offset, size))
        self._used = offset + size
        return offset

    def placeholder_buffer(self, number: int, size: int) -> int:
        """Return the address at which the caller puts a placeholder's data of `size` bytes; asked again, it moves.

        Raises:
            NotSupported 207000: the list is complete (EE1016).
            InvalidArgument 107000: it is no placeholder, or there is no space (EE1001).
        """
        with self._lock:
            parameter = self._find(number)
            if not parameter.placeholder:
                raise self._unfit(f"parameter {number} is no placeholder", "EE1001")
            if self._finalised:
                raise errors.fault(
                    "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"the list for {self.function.name} is complete", ee="EE1016",
                    params=("use of a placeholder", "the list is complete"), hint="ask for the buffer before",
                )
            self._fix()
            if parameter.capacity < size:
                start = -(-self._used // POINTER_BYTES) * POINTER_BYTES
                if start + size > len(self._memory):
                    raise self._full(f"{size} bytes more do not fit {len(self._memory)}")
                parameter = parameter._replace(data=start, capacity=size)
                self._parameters[number - 1] = parameter
                self._used = start + size
            return self._address + parameter.data

    def update(self, number: int, data: bytes) -> None:
        """Give a parameter another value; a complete list has to be completed again.

        Raises:
            InvalidArgument 107000: another size than before (EE1017), or a placeholder (EE1003).
        """
        with self._lock:
            parameter = self._find(number)
            if parameter.placeholder:
                raise self._unfit(f"parameter {number} is a placeholder", "EE1003")
            if parameter.size != len(data):
                raise self._unfit(f"parameter {number} has {parameter.size} bytes, {len(data)} were given")
            self._memory[parameter.offset : parameter.offset + parameter.size] = data
            self._finalised = False

    def finalise(self) -> None:
        """Complete the list; twice does nothing."""
        with self._lock:
            self._fix()
            self._finalised = True

    def _fix(self) -> None:
        """Put the trailing slot behind the parameters: nothing but data follows."""
        if not self._fixed:
            self._fixed = True
            if self._last:
                self._status = -(-self._used // POINTER_BYTES) * POINTER_BYTES
                self._used = self._status + POINTER_BYTES

    # -- launching -------------------------------------------------------------------------------------------------

    def block(self, context: Context) -> HostBlock:
        """Return the finished block for a launch in a context.

        Raises:
            InvalidArgument 107000: the list is not complete (EE1017).
        """
        with self._lock:
            self.check_complete()
            image = bytearray(self._memory[: max(self._used, 1)])
            if self._first:
                struct.pack_into("<Q", image, 0, context.device.core_sync_address)
            if self._last:
                struct.pack_into("<Q", image, self._status, context.overflow_address)
            pointers = tuple((each.offset, each.data) for each in self._parameters if each.capacity)
            return HostBlock(bytes(image), pointers)

    def check_complete(self) -> None:
        """Raise where the list is not complete: 107000 with EE1017."""
        if not self._finalised:
            raise self._unfit("it was not finalised after its last change")

    def _find(self, number: int) -> _Parameter:
        if not 1 <= number <= len(self._parameters):
            raise dead_handle("parameter", f"parameter {number:#x} of the argument list for {self.function.name}")
        return self._parameters[number - 1]

    def _full(self, why: str) -> errors.RuntimeFault:
        return self._unfit(f"it is full: {why}", "EE1001")

    def _unfit(self, why: str, message: str = "EE1017") -> errors.RuntimeFault:
        reason = f"the argument list for {self.function.name}: {why}"
        params: dict[str, tuple[object, ...]] = {
            "EE1001": (reason,), "EE1003": ("argument list", self.function.name, "parameter", why),
            "EE1017": ("argument list", self.function.name, why),
        }  # fmt: skip
        return errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", reason, ee=message, params=params[message],
            hint="init, append, fill placeholders, finalise, then launch",
        )


class ArgumentLists(threading.local):
    """The lists of one process: one per thread that is reused, and those in memory of the caller's own."""

    def __init__(self, acl: Acl, shared: dict[int, ArgumentList]) -> None:
        self._acl, self._shared = acl, shared
        self._own: ArgumentList | None = None

    def start(self, function: Function) -> ArgumentList:
        """Return the calling thread's list, started over."""
        if self._own is None:
            self._own = ArgumentList(ctypes.create_string_buffer(LIST_BYTES), MOST_PARAMETERS)
            self._own.handle = self._acl.runtime.handles.add(self._own)
        self._own.begin(function)
        return self._own

    def start_at(self, function: Function, handle: int, address: int, size: int) -> ArgumentList:
        """Return a list in the caller's memory, known by the address of the handle memory."""
        made = ArgumentList(caller.view(ctypes.c_char, size, address), _most_parameters(function))
        made.handle = handle
        made.begin(function)
        self._shared[handle] = made
        return made

    def find(self, handle: int) -> ArgumentList:
        """Return the list of a handle, whichever thread made it; a dead or foreign one is 107017."""
        own = self._shared.get(handle)
        if own is None:
            return self._acl.runtime.handles.get(handle, ArgumentList)
        # the vendor's runtime looks among its own first, and the message of that stays for the next call that fails
        self._acl.reports.note(dead_handle("argument list", f"handle {handle:#x}", "the list is one of shared memory"))
        return own
