"""Registered binaries: read once for the process, loaded on one device after the other (core_spec 12.5 to 12.8).

The C API's handles stand for these. A function is found through the device of the current context, which gets the
binary by that if it has not got it; a launch elsewhere does not load anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips.binary import AicpuKernel, Kernel, KernelAttribute, LoadOptions, MixType
from npuhal.words import count
from runtime import errors
from runtime.launch.foreign import warn_of_core
from runtime.launch.program import AnyKernel, Program
from runtime.launch.source import Entry, cpu_function, find, libraries, read

if TYPE_CHECKING:
    from runtime.core.callbacks.exceptions import ExceptionInfo
    from runtime.core.device.device import Device
    from runtime.core.process.context import Context
    from runtime.core.process.runtime import Runtime


class Function:
    """A kernel of a registered binary, on whichever devices that is."""

    __slots__ = ("__weakref__", "binary", "entry", "handle")

    def __init__(self, binary: Binary, entry: Entry) -> None:
        self.binary, self.entry = binary, entry
        self.handle = binary.runtime.handles.add(self)

    @property
    def name(self) -> str:
        """The kernel's name; of an AICPU kernel the op type."""
        return self.entry.name

    @property
    def for_cpu(self) -> bool:
        """Whether it runs on the AICPU."""
        return isinstance(self.entry, AicpuKernel)

    def attribute(self, name: str) -> int:
        """Return "type" (aclrtKernelType), "ratio" (cube cores << 16 | vector cores) or "schedule" (1 is batch)."""
        entry = self.entry
        if isinstance(entry, AicpuKernel):
            return int(KernelAttribute.AICPU) if name == "type" else 0
        if name == "type":
            return int(entry.attribute)
        return _ratio(entry) if name == "ratio" else entry.sched_mode

    def on(self, device: Device) -> AnyKernel:
        """Return the kernel on a device that has the binary.

        Raises:
            InvalidHandle 107017: the device has it not: it was loaded on another one, or before a reset.
        """
        program = self.binary.program_on(device)
        if program is None:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_HANDLE",
                f"kernel {self.name} is not loaded on device {device.user_id}: its binary was loaded on another "
                "device, or before a reset of this one",
                hint="get the function again (aclrtBinaryGetFunction) with the device as the current one",
            )
        if isinstance(self.entry, AicpuKernel):
            return program.cpu_kernel(self.name, self.entry.function_name)
        return program.kernel(self.name)

    def __repr__(self) -> str:
        return f"<function {self.name} of {self.binary!r}>"


def _ratio(entry: Kernel) -> int:
    if entry.mix in (MixType.MAIN_AIC, MixType.MAIN_AIV):
        return 1 << 16 | entry.ratio
    vector = entry.attribute is KernelAttribute.VECTOR or entry.mix is MixType.AIV
    return 1 if vector else 1 << 16


class Binary:
    """A binary that was read and registered; `close` unregisters it."""

    def __init__(self, runtime: Runtime, source: str | Path | bytes, *, name: str = "",
                 options: LoadOptions | None = None, context: Context | None = None) -> None:
        """Read a binary and, unless it is to be loaded lazily, load it on the device of a context.

        Raises:
            InvalidArgument 107000: see `runtime.launch.source.read`.
            RuntimeFault: it could not be loaded; nothing stays registered.
        """
        self.runtime = runtime
        self.name = name or (Path(source).name if isinstance(source, (str, Path)) else f"{len(source)} bytes")
        taken = frozenset() if context is None else libraries(context.device.programs)
        self.content = read(source, runtime.machine.chip, self.name, options, taken)
        warn_of_core(self.content, runtime.machine.chip, self.name)
        self._lock = threading.Lock()
        self._functions: dict[str, Function] = {}
        self._programs: dict[Device, Program] = {}
        self._told: Callable[[ExceptionInfo], object] | None = None
        self.closed = False
        if context is not None and not (options is not None and options.lazy_load):
            self.load(context.device)
        self.handle = runtime.handles.add(self)

    # -- devices ---------------------------------------------------------------------------------------------------

    def program_on(self, device: Device) -> Program | None:
        """Return the binary's program on a device, None where it is not loaded."""
        program = self._programs.get(device)
        return program if program is not None and program.loaded else None

    def load(self, device: Device) -> Program:
        """Return the program on a device, loading it where it is not there yet."""
        device.check_open()
        with self._lock:
            program = self.program_on(device)
            if program is None:
                self._programs = dict(pair for pair in self._programs.items() if not pair[1].closed)
                program = Program(device, self.content, name=self.name, allow_foreign=True)
                program.owner = self
                try:
                    program.load()
                except BaseException:
                    program.close()
                    raise
                self._programs[device] = program
            return program

    # -- functions -------------------------------------------------------------------------------------------------

    def function(self, which: str | int, device: Device) -> Function:
        """Return a function by name or key, and see that the device has the binary.

        Raises:
            InvalidArgument 107000: there is none of that name (EE1001) or key (EE1011).
        """
        entry = find(self.content, which, self.name)
        self.load(device)
        return self._function(entry)

    def cpu_function(self, function_name: str, kernel_name: str, device: Device) -> Function:
        """Register a function of an AICPU library; asking for a kernel name again returns the one that has it.

        Raises:
            InvalidArgument 107000: the binary is none for the AICPU (EE1003).
        """
        entry = cpu_function(self.content, kernel_name, function_name)
        self.load(device)
        return self._function(entry)

    def _function(self, entry: Entry) -> Function:
        with self._lock:
            function = self._functions.get(entry.name)
            if function is None:
                function = self._functions[entry.name] = Function(self, entry)
            return function

    # -- failures --------------------------------------------------------------------------------------------------

    def on_exception(self, callback: Callable[[ExceptionInfo], object] | None) -> None:
        """Call a function when a kernel of this binary fails, instead of the one set before; None calls none."""
        if self._told is not None:
            self.runtime.exceptions.remove(self._told)
            self._told = None
        if callback is None:
            return

        def told(info: ExceptionInfo) -> None:
            if info.kernel is not None and info.kernel.program.owner is self:
                callback(info)

        self._told = told
        self.runtime.exceptions.add(told)

    def function_of(self, kernel: Any) -> Function:
        """Return the function that a kernel of one of the binary's programs is."""
        return self._function(kernel.binary)

    # -- end -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Unregister: handles of functions die, the devices give up the code when queued launches are done."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            functions, programs = list(self._functions.values()), list(self._programs.values())
            self._functions.clear()
            self._programs.clear()
        handles = self.runtime.handles
        handles.remove(self.handle)
        for function in functions:
            handles.remove(function.handle)
        self.on_exception(None)
        for program in programs:
            program.close()

    def __repr__(self) -> str:
        return f"<binary {self.name}: {count(len(self.content), 'kernel')}, on {count(len(self._programs), 'device')}>"
