"""Kernels: Python functions that stand in for device code, found by the code bytes at the program counter.

The fake sits below the runtime and gets no hint which kernel was launched: it reads device memory at the address in the
SQE and looks for code that somebody attached.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Collection, Iterator
from operator import index
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn

from fakes.checkers.access import ARGUMENTS, READ, WRITE
from fakes.errors import FakeError, MemoryFault, TaskFault
from fakes.errors import Hang as Hang
from fakes.faults import Effect
from fakes.machine.missions import Programs
from fakes.machine.views import reached
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from fakes.checkers.bare import Silent, Views
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.memory import Memory

    Array = NDArray[Any]

Slots = Collection[int] | None

_PREFIX = 16
_NO_LENGTH = "a card does not know how many slots a launch has given; ask for each by number from 0: context.args[0]"


class Fail(TaskFault):
    """Raised by a kernel function: the kernel ends with an exception (error CQE)."""

    def __init__(self, message: str = "kernel raised Fail", code: int = 0) -> None:
        super().__init__(message, Effect.EXCEPTION.value, code)


class Trap(TaskFault):
    """Raised by a kernel function: the kernel traps (a bus error on STARS v2)."""

    def __init__(self, message: str = "kernel trapped", code: int = 0) -> None:
        super().__init__(message, Effect.TRAP.value, code)


class Arguments:
    """The argument block of a launch: 8-byte slots, as kernels take pointers and 64-bit scalars."""

    __slots__ = ("_device", "_kernel", "_memory", "_of_graph", "_silent", "_task", "address")

    def __init__(
        self, memory: Memory, address: int, task: Task | None = None, kernel: Kernel | None = None
    ) -> None:
        self.address = address
        self._memory = memory
        self._task = None if task is None or task.touched is None else task
        """The task whose accesses somebody watches."""
        self._device = None if task is None else task.device
        self._kernel = kernel
        self._silent: dict[tuple[int, int], Silent] = {}
        self._of_graph = self._task is not None and self._task.sq in self._task.device.models

    @classmethod
    def plain(cls, memory: Memory, address: int, device: Device) -> Arguments:
        """Return the block of a kernel on a card where nobody watches accesses."""
        made = cls.__new__(cls)
        made.address, made._memory, made._device = address, memory, device
        made._task = made._kernel = None
        made._of_graph = False
        return made

    def __getitem__(self, slot: int) -> int:
        """Return slot `slot` as an unsigned 64-bit number (a pointer, usually).

        Raises:
            IndexError: a slot before the first: a card does not know which one is the last.
            TypeError: a slice, or what else is no number.
        """
        try:
            number = index(slot)
        except TypeError:
            raise TypeError(f"context.args[{slot!r}]: {_NO_LENGTH}") from None
        if number < 0:
            raise IndexError(f"context.args[{number}]: {_NO_LENGTH}")
        return int.from_bytes(self.bytes(number * 8, 8), "little")

    def __iter__(self) -> NoReturn:
        """Refuse: there is no last slot to stop at."""
        raise TypeError(f"context.args cannot be walked through: {_NO_LENGTH}")

    def bytes(self, offset: int, size: int) -> bytes:
        """Return raw bytes of the block, from a byte offset."""
        at = self.address + offset
        if self._of_graph and self._task is not None:
            self._task.touch(at, size, ARGUMENTS)
        return ctypes.string_at(self._memory.device_pointer(at, size, "argument read"), size)

    def scalar(self, offset: int, dtype: DTypeLike = "int32") -> Any:
        """Return the scalar of a NumPy type at a byte offset (not a slot)."""
        import numpy as np

        kind = np.dtype(dtype)
        return np.frombuffer(self.bytes(offset, kind.itemsize), kind)[0]

    def array(self, slot: int, dtype: DTypeLike = "float32", count: int | None = None) -> Array:
        """Return the device memory that slot `slot` points to as a writable view.

        Without `count` it reaches to the end of what was asked for. A pointer that is not device, pinned or registered
        memory fails the kernel, with the reason.
        """
        import numpy as np

        kind = np.dtype(dtype)
        pointer = self[slot]
        if count is None:
            block = self._memory.find(pointer)
            count = 0 if block is None else (block.end_of(pointer) - pointer) // kind.itemsize
        size = count * kind.itemsize
        use = f"argument {slot} of a kernel"
        array = reached(self._memory, pointer, kind, count, use)
        if self._device is not None:
            self._device.check_reach(pointer, max(size, 1), use)
        return array if self._task is None else self._watched(self._task, array, slot, pointer)

    def memory(self, pointer: int, size: int, name: str, *, reads: bool, writes: bool) -> int:
        """Return the host address of memory that a function hands to other code, which reads or writes it there.

        `size` bytes from `pointer` on, at least 1. A pointer that is not device, pinned or registered memory fails the
        kernel, with the reason; `name` says what of the kernel it is.
        """
        use = f"{name} of a kernel"
        host = self._memory.device_pointer(pointer, size, use, writes=writes)
        if self._device is not None:
            self._device.check_reach(pointer, size, use)
        if self._task is not None:
            for done, how in ((reads, READ), (writes, WRITE)):
                if done:
                    self._task.touch(pointer, size, how)
        return host

    def _watched(self, task: Task, array: Array, slot: int, pointer: int) -> Array:
        """Take note of what the kernel says that it does with an argument, or let the view tell what is done to it."""
        kernel = self._kernel
        if kernel is None:
            from fakes.checkers.tracked import track

            return track(array, pointer, task.touch)
        if kernel.reads is None and kernel.writes is None:
            return kernel.views.watch(array, slot, pointer, task, self._silent)
        for slots, how in ((kernel.reads, READ), (kernel.writes, WRITE)):
            if slots is not None and slot in slots and array.nbytes:
                task.touch(pointer, array.nbytes, how)
        return array

    def finish(self) -> None:
        """The launch is over; see what became of views that have told nothing."""
        if self._silent and self._task is not None and self._kernel is not None:
            self._kernel.views.finish(self._task, self._silent)


@dataclass(slots=True)
class Context:
    """What a kernel function gets: which block it is, of how many, on which core kind, and its arguments."""

    block: int
    """Block index; 0 for a function attached with `grid=True`, which is called once for all blocks."""
    blocks: int
    core: str
    """"AIC", "AIV" or "MIX"."""
    device: int
    args: Arguments
    memory: Memory
    cost_ns: int | None = None
    """Set it to make the kernel take this long in virtual time."""


KernelFunction = Callable[[Context], object]


def _views() -> Views:
    from fakes.checkers.bare import Views

    return Views()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function and the code it stands for."""

    name: str
    code: bytes
    function: KernelFunction
    grid: bool
    reads: Slots = None
    """Slots of the arguments it reads and writes, where it says so; by default its views tell."""
    writes: Slots = None
    views: Views = field(default_factory=_views, compare=False, repr=False)


def with_body(function: KernelFunction) -> tuple[KernelFunction, CodeType]:
    """Return a function that does what a kernel's function does, and its code: frames of calls are known by that."""
    body = function.__code__ if isinstance(function, FunctionType | MethodType) else None
    if isinstance(body, CodeType):
        return function, body

    def call(context: Context) -> object:
        return function(context)

    return call, call.__code__


_BUILT_IN = "tsKernel:"


def _libraries(context: Context) -> Iterator[tuple[str, int, int]]:
    """Iterate over the libraries that a built-in kernel is given as (name, address, bytes).

    The packed argument block is {u32 count, u64 address of count times {u64 address, u32 bytes, u64 name, u32 length}}
    (structs BatchProcCpuOpFromBufArgs and CpuSoBuf, program.cc).
    """
    memory = context.memory
    count, table = struct.unpack("<IQ", context.args.bytes(0, 12))
    rows = ctypes.string_at(memory.device_pointer(table, 24 * count, "list of AICPU libraries"), 24 * count)
    for address, size, name, length in struct.iter_unpack("<QIQI", rows):
        text = ctypes.string_at(memory.device_pointer(name, length, "name of an AICPU library"), length)
        yield text.decode("utf-8", "replace"), address, size


def _check_attached(code: object, function: object) -> None:
    kinds = (bytes, bytearray, memoryview)
    if not isinstance(code, kinds) or not callable(function):
        name, got = ("function", function) if isinstance(code, kinds) else ("code", code)
        raise FakeError(
            f"attach: {name} is {got!r:.80}; attach(code, function) takes the bytes of the kernel's function, such as "
            "kernel.code, and what stands in for it"
        )


@dataclass(slots=True)
class Registry:
    """The kernels attached to one machine."""

    by_prefix: dict[bytes, list[Kernel]] = field(default_factory=dict)
    foreign: dict[int, Any] = field(default_factory=dict)
    """Code for cores that the cards have not, by address."""
    aicpu: dict[tuple[str, str], KernelFunction] = field(default_factory=dict)
    missions: Programs = field(default_factory=Programs)
    libraries: dict[tuple[int, str], bytes] = field(default_factory=dict)
    """What the AICPUs have open, by (device, name)."""
    given_up: set[tuple[int, str]] = field(default_factory=set)
    """What they had open once: a launch must not name it any more."""
    version: int = 0
    """Grows with each function that is attached for device code."""

    def __post_init__(self) -> None:
        self.attach_aicpu("", "CheckKernelSupported", self._check_supported)
        self.attach_aicpu("", "batchLoadsoFrombuf", self._open_libraries)
        self.attach_aicpu("", "deleteCustOp", self._give_up_libraries)

    def _check_supported(self, context: Context) -> None:
        """The AICPU scheduler's own kernel: is there another built-in kernel of this name?

        The packed argument block is {u64 name, u32 name length, u64 result, u32 result length}; the result word becomes
        0 for a kernel that is attached and 1 for any other (struct CheckKernelSupportedConfig, aicpusd_info.h).
        """
        name, length, result, _ = struct.unpack("<QIQI", context.args.bytes(0, 24))
        text = ctypes.string_at(context.memory.device_pointer(name, length, "name of an AICPU kernel"), length)
        known = ("", text.decode("utf-8", "replace").removeprefix(_BUILT_IN)) in self.aicpu
        answer = context.memory.device_pointer(result, 4, "answer of the AICPU scheduler", writes=True)
        ctypes.memmove(answer, struct.pack("<I", not known), 4)

    def _open_libraries(self, context: Context) -> None:
        for name, address, size in _libraries(context):
            pointer = context.memory.device_pointer(address, size, f"AICPU library {name}")
            self.libraries[context.device, name] = ctypes.string_at(pointer, size)
            self.given_up.discard((context.device, name))

    def _give_up_libraries(self, context: Context) -> None:
        for name, _, _ in _libraries(context):
            if self.libraries.pop((context.device, name), None) is None:
                raise Fail(f"the AICPU of device {context.device} has no library {name} open")
            self.given_up.add((context.device, name))

    def attach(
        self, code: bytes, function: KernelFunction, *, name: str = "", grid: bool = False, reads: Slots = None,
        writes: Slots = None,
    ) -> Kernel:  # fmt: skip
        """Let `function` stand for the device code `code`; the same code again replaces it.

        `code` are the bytes of the kernel function as loaded, at least 16. With `grid` the function runs once per
        launch, else once per block. Checkers see what it reads and writes by what it does to its views; a function
        that hands them to other code says it instead: `reads` and `writes` are the slots of those arguments.
        """
        _check_attached(code, function)
        if len(code) < _PREFIX:
            raise FakeError(f"a kernel needs at least {_PREFIX} code bytes to be told apart, got {len(code)}")
        kernel = Kernel(name or getattr(function, "__name__", "kernel"), bytes(code), function, grid, reads, writes)
        known = self.by_prefix.setdefault(kernel.code[:_PREFIX], [])
        known[:] = [other for other in known if other.code != kernel.code]
        known.append(kernel)
        known.sort(key=lambda other: -len(other.code))
        self.version += 1
        return kernel

    def alone(self, kernel: Kernel) -> bool:
        """Whether code that begins like a kernel's can be no other one."""
        return len(self.by_prefix[kernel.code[:_PREFIX]]) == 1

    def compiled_for(self, address: int, foreign: Any) -> None:
        """Learn that code is for other cores than the card has (`size` bytes, `cores` by name); None: it is not."""
        if foreign is None:
            self.foreign.pop(address, None)
        else:
            self.foreign[address] = foreign

    def foreign_cores(self, pc: int) -> str:
        """Return the cores that the code at `pc` is for, where the card has others; else nothing."""
        return next((each.cores for start, each in self.foreign.items() if 0 <= pc - start < each.size), "")

    def attach_aicpu(self, so_name: str, function_name: str, function: KernelFunction) -> None:
        """Let `function` stand for an AICPU kernel, found by the names in device memory."""
        self.aicpu[so_name, function_name] = function

    def find(self, memory: Memory, pc: int) -> Kernel | None:
        """Return the kernel whose code lies at `pc`, the longest match first; None when none does."""
        head = ctypes.string_at(memory.device_pointer(pc, _PREFIX, "instruction fetch"), _PREFIX)
        for kernel in self.by_prefix.get(head, ()):
            try:
                pointer = memory.device_pointer(pc, len(kernel.code), "instruction fetch")
            except MemoryFault:
                continue
            if ctypes.string_at(pointer, len(kernel.code)) == kernel.code:
                return kernel
        return None


def _operands(context: Context, dtype: DTypeLike, arrays: int, count_slot: int | None) -> list[Array]:
    """Return the first `arrays` pointer arguments as views of equal length."""
    count = None if count_slot is None else context.args[count_slot]
    views = [context.args.array(slot, dtype, count) for slot in range(arrays)]
    length = min(len(view) for view in views)
    return [view[:length] for view in views]


def _share(context: Context, length: int) -> slice:
    """Return the part of `length` elements that belongs to this block."""
    step = -(-length // max(context.blocks, 1))
    return slice(context.block * step, min((context.block + 1) * step, length))


def add(dtype: DTypeLike = "float32", count_slot: int | None = None) -> KernelFunction:
    """Make a kernel `(x, y, z[, n])`: z = x + y, each block its share; `count_slot` is the slot of n."""

    def add_kernel(context: Context) -> None:
        x, y, z = _operands(context, dtype, 3, count_slot)
        part = _share(context, len(z))
        z[part] = x[part] + y[part]

    return add_kernel


def copy(dtype: DTypeLike = "uint8", count_slot: int | None = None) -> KernelFunction:
    """Make a kernel `(x, y[, n])`: y = x, each block its share."""

    def copy_kernel(context: Context) -> None:
        x, y = _operands(context, dtype, 2, count_slot)
        part = _share(context, len(y))
        y[part] = x[part]

    return copy_kernel


def fill(value: float, dtype: DTypeLike = "float32", count_slot: int | None = None) -> KernelFunction:
    """Make a kernel `(x[, n])`: x = value, each block its share."""

    def fill_kernel(context: Context) -> None:
        (x,) = _operands(context, dtype, 1, count_slot)
        x[_share(context, len(x))] = value

    return fill_kernel


def matmul(m: int, k: int, n: int, dtype: DTypeLike = "float32") -> KernelFunction:
    """Make a kernel `(a, b, c)`: c[m, n] = a[m, k] @ b[k, n]; attach it with `grid=True`."""

    def matmul_kernel(context: Context) -> None:
        a = context.args.array(0, dtype, m * k).reshape(m, k)
        b = context.args.array(1, dtype, k * n).reshape(k, n)
        c = context.args.array(2, dtype, m * n).reshape(m, n)
        c[...] = a @ b

    return matmul_kernel


def spin(context: Context) -> None:
    """Never end."""
    raise Hang("the spin kernel never ends")
