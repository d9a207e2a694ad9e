"""A kernel binary on a device: read at once, loaded when a kernel of it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips.binary import AicpuKernel as Entry
from chips.binary import AicpuProgram, BinaryError, LoadOptions, load_embedded
from chips.binary import Program as CoreProgram
from chips.binary.placement import aligned_base, plan_placement
from chips.binary.side_file import side_file_of
from chips.memory_rules import internal_flags
from npuhal.files import read_bytes
from npuhal.tuples import NamedTuple
from npuhal.words import count
from runtime import errors
from runtime.core.diagnostics.resource_report import creation_site
from runtime.core.diagnostics.tracing import span
from runtime.errors.arguments import check_instance, check_text
from runtime.errors.not_copied import NotCopied
from runtime.launch.aicpu.cpu import CpuKernel
from runtime.launch.aicpu.library import send, withdraw
from runtime.launch.foreign import check_core, foreign_core
from runtime.launch.kernel import Kernel
from runtime.launch.source import Content, cpu_function, fault_of, find, libraries, read
from runtime.memory.device import DeviceBuffer
from runtime.memory.fences import fence

if TYPE_CHECKING:
    from runtime.launch.producers.operator import Operator

AnyKernel = Kernel | CpuKernel
_Block = tuple[int, int, bool]
"""Address, bytes where they are the kernel pool's to know, and whether it is of that pool."""


class Foreign(NamedTuple):
    """The warning about code for other cores than the device has."""

    size: int
    cores: str


class Program(NotCopied):
    """The kernels of one binary on one device. Made by `device.load(path or bytes)`."""

    __slots__ = ("__dict__", "__weakref__", "closed")  # compiled sends read the last

    def __init__(self, device: Any, source: str | Path | bytes | Content, *, name: str = "",
                 options: LoadOptions | None = None, allow_foreign: bool = False) -> None:
        """Read and register the binary; nothing goes to the device yet.

        Args:
            source: a file, bytes, or a binary that was read already.
            options: what kind of binary it is, where the file itself does not say it.
            allow_foreign: take a file that was compiled for cores which the device has not. Its launches fail, on the
                fake unless a function is attached.

        Raises:
            InvalidArgument 107000: the file is missing, unreadable, not an ELF, cut short, without kernels, or for
                other cores.
        """
        device.check_open()
        check_instance("load", "source", source, (str, Path, bytes, bytearray, memoryview, CoreProgram, AicpuProgram),
                       "pass the path of a kernel file, or its bytes")
        self.device = device
        self.path = Path(source).absolute() if isinstance(source, (str, Path)) else None
        """The file it was read from; None for bytes."""
        self.name = name or (Path(source).name if isinstance(source, (str, Path)) else "kernel bytes")
        self.binary = read(source, device.chip, self.name, options, libraries(device.programs))
        if not allow_foreign:
            check_core(self.binary, device.chip, self.name)
        self._kernels: dict[str, AnyKernel] = {}
        self._lock = threading.Lock()
        self._block: _Block | None = None
        self._library_sent = False
        self.address = 0
        """Where the load image starts on the device; 0 before it is loaded, and for AICPU programs."""
        self.closed = False
        self.owner: Any = None
        """The registered binary that this is the copy of one device of; None for a program of its own."""
        self.site = creation_site()
        """Where it was loaded: file and line."""
        device.programs.add(self)

    @classmethod
    def embedded(cls, device: Any, source: str | Path | bytes, *, allow_foreign: bool = False) -> tuple[Program, ...]:
        """Return a program for each device binary inside a host file (a fat binary).

        Args:
            allow_foreign: take those for cores which the device has not, too. Otherwise they are left out where
                others are for the device.

        Raises:
            InvalidArgument 107000: the file cannot be read, one of the binaries in it is refused, or all are for other
                cores.
        """
        name = Path(source).name if isinstance(source, (str, Path)) else "host file"
        try:
            data = read_bytes(source) if isinstance(source, (str, Path)) else source
            found = load_embedded(data, device.chip)
        except OSError as error:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"host file {name}: {error.strerror or error}", ee="EE1012",
                hint="check the path and its permissions",
            ) from error
        except BinaryError as error:
            raise fault_of(error, name) from error
        named = [(f"{name}:{part.name or hex(part.offset)}", content) for part, content in found]
        own = [each for each in named if foreign_core(each[1], device.chip) is None]
        if named and not own and not allow_foreign:
            check_core(named[0][1], device.chip, named[0][0])
        chosen = named if allow_foreign else own
        return tuple(cls(device, content, name=each, allow_foreign=True) for each, content in chosen)

    def __iter__(self) -> Iterator[str]:
        return iter(self.binary.kernels)

    def __len__(self) -> int:
        return len(self.binary)

    def kernel(self, which: str | int) -> Kernel:
        """Return a kernel by name, or by tiling key when `which` is an int; loads the program on first use.

        Raises:
            InvalidArgument 107000: no kernel of that name or key; close names are suggested.
        """
        found = self.entry(which)
        if not isinstance(found, Kernel):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{found!r} runs on the AICPU and takes no typed arguments",
                hint="use program.cpu_kernel(name)",
            )
        return found

    def cpu_kernel(self, name: str, function: str = "") -> CpuKernel:
        """Return a kernel of an AICPU program by its op type.

        Args:
            function: name of the function in the library, for an op that the JSON file does not list.

        Raises:
            InvalidArgument 107000: there is no such op, or the program is none for the AICPU.
        """
        check_text("cpu_kernel", name=name, function=function)
        if function:
            self._check_open()
            with self._lock:
                kernel = self._kernels.get(name)
                if kernel is None:
                    self._need_loaded()
                    kernel = self._kernels[name] = CpuKernel(self, cpu_function(self.binary, name, function))
        else:
            kernel = self.entry(name)
        if isinstance(kernel, CpuKernel):
            return kernel
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"kernel {name} of {self.name} runs on AI cores", hint="use program.kernel",
        )

    def entry(self, which: str | int) -> AnyKernel:
        """Return a kernel of either kind; see `kernel`."""
        self._check_open()
        found = find(self.binary, which, self.name)
        with self._lock:
            kernel = self._kernels.get(found.name)
            if kernel is None:
                self._need_loaded()
                if isinstance(found, Entry):
                    kernel = CpuKernel(self, found)
                else:
                    assert isinstance(self.binary, CoreProgram)
                    kernel = Kernel(self, self.binary, found)
                    self.device.hal.annotate(("kernel", kernel.address), kernel)
                self._kernels[found.name] = kernel
            return kernel

    @property
    def only(self) -> Kernel:
        """The program's kernel, if it has exactly one."""
        names = list(self.binary.kernels)
        if len(names) != 1:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{self.name} has {count(len(names), 'kernel')}, not one",
                hint=f"name one of them: {', '.join(names[:6])}",
            )
        return self.kernel(names[0])

    def operator(self, key: str | int | None = None, *, description: Any = None) -> Operator:
        """Return a kernel of an op library as what takes inputs, outputs and tiling data; see `Operator.launch`.

        Args:
            key: the tiling key, or the kernel's name; None for the only kernel.
            description: content or fields of the op's JSON file, where that does not lie beside the kernel file.

        Raises:
            InvalidArgument 107000: no such kernel, or no side file that is sound.
        """
        from runtime.launch.producers.operator import operator_of  # few programs are of an op library

        kernel = self.only if key is None else self.kernel(key)
        return operator_of(kernel, None if self.path is None else side_file_of(self.path), description)

    # -- on the device ---------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Copy the program to the device, if it is not there yet.

        Raises:
            RuntimeFault: nothing of the file is to be loaded.
            OutOfMemory 207001: the device has no space for it.
        """
        self._check_open()
        with self._lock:
            self._need_loaded()

    @property
    def loaded(self) -> bool:
        """Whether kernels of the program can run."""
        return not self.closed and not self._incomplete

    @property
    def load_size(self) -> int:
        """Bytes that the load image takes on the device, without slack; 0 for an AICPU program."""
        return 0 if isinstance(self.binary, AicpuProgram) else self.binary.load_size

    def global_variable(self, name: str) -> DeviceBuffer:
        """Return a global variable of the device code as a buffer, which copies take; loads the program.

        Raises:
            KernelError 107042: there is none of that name; close names are suggested.
        """
        self._check_open()
        check_text("global_variable", name=name)
        if isinstance(self.binary, AicpuProgram):
            raise errors.fault(
                "ACL_ERROR_RT_SYMBOL_NOT_FOUND", f"{self.name} is an AICPU program: its globals are the library's own",
            )
        try:
            found = self.binary.global_variable(name)
        except BinaryError as error:
            raise fault_of(error, self.name) from error
        self.load()
        return DeviceBuffer(self.device, self.address + found.offset, found.size)

    @property
    def _incomplete(self) -> bool:
        """Whether something of the program has yet to go to the device."""
        if isinstance(self.binary, AicpuProgram):
            return self.binary.library is not None and not self._library_sent
        return self._block is None

    def _need_loaded(self) -> None:
        if not self._incomplete:
            return
        if isinstance(self.binary, AicpuProgram):
            assert self.binary.library is not None
            send(self.device, self.binary.library_name, self.binary.library)
            self._library_sent = True
        else:
            self._load(self.binary)

    def _load(self, binary: CoreProgram) -> None:
        """Copy the image to a 4 KiB aligned address: from the kernel pool, else memory of its own."""
        if not binary.load_size:
            raise errors.fault(
                "RT_ERROR_PROGRAM_SIZE", f"{self.name}: no section of the file is to be loaded", layer="launch",
                hint="link the kernel: its code must be in a section with the ALLOC flag",
            )
        device = self.device
        plan = plan_placement(binary.load_size, device.chip, read_only=binary.read_only)
        address = device.kernel_pool.alloc(plan.size, read_only=plan.read_only) if plan.from_pool else None
        if address is not None:
            block = (address, plan.size, True)
        else:
            plan = plan_placement(binary.load_size, device.chip, read_only=binary.read_only, pool=False)
            address = device.memory.alloc(plan.size, internal_flags(hbm=True, device_read_only=plan.read_only))
            block = (address, 0, False)
        start = aligned_base(address)
        locked = plan.read_only and device.facts.ub_connected
        try:
            if locked:
                device.memory.set_writable(address, plan.size, writable=True)
            with span(device.runtime, "load program", program=self.name, bytes=binary.load_size):
                device.memory.write(start, binary.image)
            if zeros := binary.load_size - len(binary.image):
                device.memory.fill(start + len(binary.image), zeros, 0, zeros)
            if locked:
                device.memory.set_writable(address, plan.size, writable=False)
        except BaseException:
            _give_back(device, block)
            raise
        self._block, self.address = block, start
        if (core := foreign_core(binary, device.chip)) is not None:
            device.hal.annotate(("code", start), Foreign(binary.load_size, str(core)))

    def send_again(self) -> None:
        """Have the AICPU of another card open the library, if the first one's had."""
        if self._library_sent and isinstance(self.binary, AicpuProgram) and self.binary.library is not None:
            send(self.device, self.binary.library_name, self.binary.library)

    def close(self, *, with_device: bool = False) -> None:
        """Unload; kernels of it cannot be launched any more.

        Launches that are queued still run: the code goes when they are done. With the device, an AICPU library goes
        of itself.
        """
        with self._lock:
            if self.closed:
                return
            self.closed = True
            block, self._block = self._block, None
            library, self._library_sent = self._library_sent and not with_device, False
        self.device.programs.remove(self)
        streams = self.device.streams()
        for stream in streams:  # prepared launches would keep the kernels, and so the file
            for key in [key for key in list(stream.launchers) if key[0].program is self]:
                stream.launchers.pop(key, None)
            stream.senders.runs = None
        if block is not None:
            release = partial(_give_back, self.device, block)
        elif library and isinstance(self.binary, AicpuProgram) and self.binary.library is not None:
            release = partial(withdraw, self.device, self.binary.library_name, len(self.binary.library))
        else:
            return
        if fence(streams)():
            release()
        else:
            self.device.deferred_frees.leave(release)

    def _check_open(self) -> None:
        if self.closed:
            raise errors.fault("ACL_ERROR_RT_INVALID_HANDLE", f"program {self.name} was unloaded")

    def __del__(self) -> None:
        """Let the device free the code of a program that was dropped, when what is queued is done."""
        if (block := getattr(self, "_block", None)) is not None:
            self.device.deferred_frees.leave(partial(_give_back, self.device, block))

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"at {self.address:#x}" if self._block else "not loaded yet"
        return f"<program {self.name}: {count(len(self.binary), 'kernel')}, {state}>"


def _give_back(device: Any, block: _Block) -> None:
    address, size, pooled = block
    device.hal.annotate(("code", aligned_base(address)), None)
    if pooled:
        device.kernel_pool.free(address, size)
    else:
        device.memory.free(address)
