"""What Triton asks of a driver: devices, streams, the target of compiles, loading and launching.

Both forms of the protocol are answered: that of 3.2 (`load_binary` of 4 arguments, constants not among a launch's) and
that of 3.5 and later (`load_binary` with the mix mode, all bound arguments with constants as type ``constexpr``).
Source: triton/runtime/jit.py, compiler/compiler.py and backends/ascend/driver.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from npuhal.records import dataclass
from runtime import errors
from runtime.api.triton.timing import DeviceInterface, benchmark
from runtime.core.stream.stream import Stream as CoreStream
from runtime.launch.producers.triton import TritonKernel, load_triton

if TYPE_CHECKING:
    from runtime.api.devices import Device
    from runtime.api.streams import Stream
    from runtime.api.triton.interpreting import Interpreter

_BACKEND = "npu"
_CONSTANT = "constexpr"
_MOST_THREADS = 2048
"""Threads that a block may have; Triton compares it with what a kernel was compiled for."""
_CACHE_BYTES = 192 << 20
"""What benchmarks clear between runs, so that no run finds its data in a cache: more than any chip's L2."""


class DeviceNumber(int):
    """A device's index, which differs between installations: Triton keeps compiled kernels by it."""

    serial: int

    def __new__(cls, number: int, serial: int) -> DeviceNumber:
        """Return the index of a device under an installation."""
        made = super().__new__(cls, number)
        made.serial = serial
        return made

    def __eq__(self, other: object) -> bool:
        same = int(self) == other
        return same and (not isinstance(other, DeviceNumber) or other.serial == self.serial)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.serial))


@dataclass(frozen=True, slots=True, eq=False)
class LoadedBinary:
    """What `load_binary` gives: it goes to the device with the first launch, when the signature is known."""

    name: str
    data: bytes


class NpuDriver:
    """The driver; `installing` makes it a subclass of Triton's own base class."""

    target_type: ClassVar[Callable[..., Any]]
    """Makes a target out of backend, architecture and warp size."""
    current: ClassVar[Callable[[], Any]]
    """Returns the driver that is Triton's now."""
    _serials = 0

    def __init__(self, device: Device, interpreter: Interpreter | None = None) -> None:
        NpuDriver._serials += 1
        self._first, self._serial, self._local = device, NpuDriver._serials, threading.local()
        self.interpreter = interpreter
        self.utils = Utilities(self)
        self.cache: Any = None

    def device(self) -> Device:
        """Return the calling thread's device."""
        found: Device = getattr(self._local, "device", self._first)
        return found

    # -- what Triton calls -----------------------------------------------------------------------------------------

    @classmethod
    def is_active(cls) -> bool:
        """Say that there is a device."""
        return True

    def get_current_target(self) -> Any:
        """Return what compiles are for: the chip of the thread's device."""
        return self.target_type(_BACKEND, self.device().chip.soc, 0)

    def get_current_device(self) -> int:
        """Return the index of the thread's device."""
        return DeviceNumber(self.device().user_id, self._serial)

    def set_current_device(self, index: int) -> None:
        """Let the thread's kernels run on another device of the machine."""
        self._local.device = self._first.runtime.device(int(index))

    def get_current_stream(self, device: int | None = None) -> Stream:
        """Return the stream that kernels are launched in: that of `runtime.triton.stream`, or the default stream."""
        stream: Stream | None = getattr(self._local, "stream", None)
        return self.device().default_stream if stream is None else stream

    @contextmanager
    def using(self, stream: Stream) -> Iterator[Stream]:
        """Launch the thread's kernels in a stream, and on its device, for as long as this lasts."""
        before = getattr(self._local, "stream", None), getattr(self._local, "device", None)
        self._local.stream, self._local.device = stream, stream.device
        try:
            yield stream
        finally:
            self._local.stream = before[0]
            if before[1] is None:
                del self._local.device
            else:
                self._local.device = before[1]

    def launcher_cls(self, source: Any, metadata: Any) -> Launcher:
        """Return what launches a compiled kernel."""
        return Launcher(self, source, metadata)

    def get_benchmarker(self) -> Callable[..., Any]:
        """Return what measures candidates of the autotuner, on whichever device is installed then."""
        current = type(self).current  # tuners ask once, when they are made, and may outlive this installation
        return lambda call, **how: benchmark(current().get_current_stream(), call, **how)

    def get_device_interface(self) -> DeviceInterface:
        """Return events and waits, as `triton.testing.do_bench` wants them."""
        return DeviceInterface(self)

    def get_empty_cache_for_benchmark(self) -> Any:
        """Return memory that `clear_cache` clears."""
        return self.device().empty(_CACHE_BYTES // 4, "i4")

    def clear_cache(self, cache: Any) -> None:
        """Queue the clearing of memory, after which no cache holds what a kernel reads."""
        cache.zero_()

    def get_active_torch_device(self) -> Any:
        """Refuse: there is no torch here."""
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "Triton asks for a torch device, npuhal has none",
            hint="pass arrays of device.upload or device.empty",
        )

    def map_python_to_cpp_type(self, kind: str) -> str:
        """Return the C++ type of a Triton type, for code that is generated by Triton itself."""
        return "void*" if kind.startswith("*") else _CPP[kind]


_CPP = {
    "i1": "int32_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u1": "uint32_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "fp16": "float", "bf16": "float",
    "fp32": "float", "f32": "float", "fp64": "double",
}  # fmt: skip


class Utilities:
    """`driver.utils`, which is also what the compiler asks as `NPUUtils()`."""

    def __init__(self, driver: NpuDriver) -> None:
        self._driver = driver

    def get_device_properties(self, device: Any = None) -> dict[str, int]:
        """Return the numbers of cores; shared memory is no limit here (kernels state 1)."""
        cube, vector = self._driver.device().core_counts
        return {"max_shared_mem": 1, "num_aicore": cube, "num_vectorcore": vector}

    def get_arch(self) -> str:
        """Return the SoC's name."""
        return self._driver.device().chip.soc

    def get_aicore_num(self) -> int:
        """Return the number of AI (cube) cores."""
        return self._driver.device().core_counts[0]

    def get_aivector_core_num(self) -> int:
        """Return the number of vector cores."""
        return self._driver.device().core_counts[1]

    def set_device_limit(self, device: Any, kind: str, value: int) -> None:
        """Refuse: limits are set through the runtime."""
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"device limit {kind} = {value} through Triton's driver",
            hint="set it with aclrtSetDeviceLimit or the runtime's own configuration",
        )

    def load_binary(self, name: str, kernel: bytes, shared: int, device: Any, *mix_mode: str) -> tuple[Any, ...]:
        """Return (module, function, registers, spills), and with a mix mode the most threads of a block too."""
        loaded = LoadedBinary(name.split()[0], bytes(kernel))
        found = (loaded, loaded, 0, 0)
        return (*found, _MOST_THREADS) if mix_mode else found


class Launcher:
    """Launches one compiled kernel: `(grid x, y, z, stream, function, ..., enter hook, exit hook, *arguments)`."""

    def __init__(self, driver: NpuDriver, source: Any, metadata: Any) -> None:
        """Work out which of a launch's arguments the kernel takes.

        Args:
            source: has `signature`, types by name or position, and may have `constants`, which are dropped.
        """
        self._driver, self._source, self._metadata = driver, source, metadata
        signature = {_name(source, key): kind for key, kind in source.signature.items()}
        dropped = {_name(source, key) for key in getattr(source, "constants", None) or () if not isinstance(key, tuple)}
        self._kept = {
            name: (position, kind)
            for position, (name, kind) in enumerate(signature.items())
            if kind != _CONSTANT and name not in dropped
        }
        self._count = len(signature)
        self._plain = len(self._kept) == self._count and all(map(_is_plain, signature.values()))
        self._kernels: dict[tuple[Any, LoadedBinary], TritonKernel] = {}

    def __call__(self, x: int, y: int, z: int, stream: Any, function: LoadedBinary, packed: Any, about: Any,
                 enter: Any, leave: Any, *arguments: Any) -> None:
        """Launch; hooks are called with `about` before and after, also around an empty grid."""
        if enter is not None:
            enter(about)
        device = self._driver.device()
        target = stream if isinstance(stream, CoreStream) else device.stream_of(stream)
        kernel = self._kernel(target.device, function)
        kernel[x, y, z](*(arguments if self._plain else self._picked(arguments)), stream=target)
        if leave is not None:
            leave(about)

    def _picked(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the arguments that go into the block."""
        if len(arguments) != self._count:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"Triton passes {len(arguments)} arguments for {self._count} parameters",
                hint="is this version of Triton-Ascend one that npuhal knows? 3.2 and 3.5 onwards",
            )
        return [part for position, kind in self._kept.values() for part in _parts(kind, arguments[position])]

    def _kernel(self, device: Any, function: LoadedBinary) -> TritonKernel:
        """Return the kernel on a device, loading it there the first time."""
        key = (device, function)
        kernel = self._kernels.get(key)
        if kernel is None:
            signature = {name: kind for name, (_, kind) in self._kept.items()}
            kernel = load_triton(device, function.data, signature, metadata=self._metadata)
            if self._driver.interpreter is not None:
                self._driver.interpreter.attach(kernel, self._source)
            self._kernels[key] = kernel
        return kernel


def _name(source: Any, key: Any) -> str:
    """Return a parameter's name; some versions number them."""
    return str(source.fn.arg_names[key]) if isinstance(key, int) else str(key)


def _is_plain(kind: Any) -> bool:
    """Whether an argument is one value of the block."""
    return isinstance(kind, str) and not kind.startswith("tensordesc")


def _parts(kind: Any, value: Any) -> Iterator[Any]:
    """Iterate over the values that an argument is in the block: of a tuple each, of a descriptor what it describes."""
    if isinstance(kind, (tuple, list)):
        for inner, each in zip(kind, value, strict=True):
            yield from _parts(inner, each)
    elif kind == _CONSTANT:
        return
    elif _is_plain(kind):
        yield value
    else:
        yield from (value.base, *value.shape, *value.strides, value.padding == "nan", *value.shape, *value.strides)


__all__ = ["DeviceNumber", "Launcher", "LoadedBinary", "NpuDriver", "Utilities"]
