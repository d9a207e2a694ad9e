"""A kernel binary on a device: read at once, loaded when a kernel of it is first asked for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chips.binary import BinaryError, read_program
from chips.binary.placement import aligned_base, place
from chips.memory_rules import internal_flags
from runtime import errors
from runtime.launch.kernel import Kernel

if TYPE_CHECKING:
    from chips.binary import Program as Binary


class Program:
    """The kernels of one device ELF. Made by `device.load(path or bytes)`."""

    def __init__(self, device: Any, source: str | Path | bytes, *, name: str = "") -> None:
        """Read and register the binary; nothing goes to the device yet.

        Raises:
            InvalidArgument 107000: the file is missing, unreadable, not an ELF, cut short, or without kernels.
        """
        device.check_open()
        self.device = device
        self.name = name or (Path(source).name if isinstance(source, (str, Path)) else "kernel bytes")
        data, side = _read(source)
        try:
            self.binary: Binary = read_program(data, device.chip, side_json=side)
        except BinaryError as error:
            raise binary_fault(error, self.name) from error
        self._kernels: dict[str, Kernel] = {}
        self._lock = threading.Lock()
        self._block: tuple[int, int, bool] | None = None
        self.address = 0
        self.closed = False
        device.programs.add(self)

    def __iter__(self) -> Any:
        return iter(self.binary.kernels)

    def __len__(self) -> int:
        return len(self.binary)

    def kernel(self, which: str | int) -> Kernel:
        """Return a kernel by name, or by tiling key when `which` is an int; loads the program on first use.

        Raises:
            InvalidArgument 107000: no kernel of that name or key; close names are suggested.
        """
        self._check_open()
        try:
            found = self.binary.kernel(which) if isinstance(which, str) else self.binary.kernel_by_key(which)
        except BinaryError as error:
            raise binary_fault(error, self.name) from error
        with self._lock:
            kernel = self._kernels.get(found.name)
            if kernel is None:
                if self._block is None:
                    self._load()
                kernel = self._kernels[found.name] = Kernel(self, found)
                self.device.hal.annotate(("kernel", kernel.address), kernel)
            return kernel

    @property
    def only(self) -> Kernel:
        """The program's kernel, if it has exactly one."""
        names = list(self.binary.kernels)
        if len(names) != 1:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{self.name} has {len(names)} kernels, not one",
                hint=f"name one of them: {', '.join(names[:6])}",
            )
        return self.kernel(names[0])

    def _load(self) -> None:
        """Copy the image to a 4 KiB aligned place: from the kernel pool, else memory of its own."""
        device, binary = self.device, self.binary
        plan = place(binary.load_size, device.chip, read_only=binary.read_only)
        address = device.kernel_pool.alloc(plan.size, read_only=plan.read_only) if plan.from_pool else None
        if address is not None:
            block = (address, plan.size, True)
        else:
            plan = place(binary.load_size, device.chip, read_only=binary.read_only, pool=False)
            address = device.memory.alloc(plan.size, internal_flags(hbm=True, device_read_only=plan.read_only))
            block = (address, 0, False)
        start = aligned_base(address)
        try:
            device.memory.write(start, binary.image)
        except BaseException:
            self._give_back(block)
            raise
        self._block, self.address = block, start

    def _give_back(self, block: tuple[int, int, bool]) -> None:
        address, size, pooled = block
        if pooled:
            self.device.kernel_pool.free(address, size)
        else:
            self.device.memory.free(address)

    def close(self) -> None:
        """Unload; kernels of it cannot be launched any more. Launches already queued must be done."""
        if self.closed:
            return
        self.closed = True
        self.device.programs.remove(self)
        if self._block is not None:
            self._give_back(self._block)
            self._block = None

    def _check_open(self) -> None:
        if self.closed:
            raise errors.fault("ACL_ERROR_RT_INVALID_HANDLE", f"program {self.name} was unloaded")

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"at {self.address:#x}" if self._block else "not loaded yet"
        return f"<program {self.name}: {len(self.binary)} kernels, {state}>"


def _read(source: str | Path | bytes) -> tuple[bytes, bytes | None]:
    """Return the binary and the side file beside it, if any."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        code = "ACL_ERROR_RT_PARAM_INVALID"
        raise errors.fault(
            code, f"kernel file {path}: {error.strerror or error}", ee="EE1012",
            params=("load", str(path), "file", error.strerror or "it cannot be read"),
            hint="check the path and its permissions",
        ) from error
    side = path.with_suffix(".json")
    return data, side.read_bytes() if side.is_file() else None


def binary_fault(error: BinaryError, name: str) -> errors.RuntimeFault:
    """Turn a finding in a binary into the runtime's fault."""
    return errors.fault(error.code, f"{name}: {error}", hint=error.hint, layer="launch")
