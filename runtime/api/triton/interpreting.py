"""Triton's own interpreter as the body of kernels on the fake: it computes what the kernel computes, with NumPy.

The interpreter works by replacing parts of `triton.language`, which would break every later compile. So what it
replaces is installed for the time of one kernel only, and taken away again.
"""

from __future__ import annotations

import importlib
import struct
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.api.triton.narrow import NarrowFloats, NotInterpreted
from runtime.launch.producers.triton import TritonKernel

if TYPE_CHECKING:
    from types import FunctionType, ModuleType

    from chips.binary.producers.packing import BlockLayout
    from chips.binary.producers.triton import GridRule, Parameter

_MISSING = object()
_AXES = 3
_READS, _WRITES = (0, 2), (1, 2)
"""Kinds of tensors that a kernel reads, and that it writes (`tensor_kinds`)."""


class OutOfBounds(Exception):
    """A kernel's source reaches memory that none of its arguments leads to."""


class Interpreter:
    """Runs the source of kernels; one for an installation."""

    def __init__(self, triton: ModuleType) -> None:
        """Look for what is used of Triton's interpreter.

        Raises:
            NotSupported 207000: this version of Triton has another interpreter.
        """
        self.language: Any = importlib.import_module("triton.language")
        self.module: Any = importlib.import_module("triton.runtime.interpreter")
        self._jit: Any = importlib.import_module("triton.runtime.jit").JITFunction
        wanted = (
            "TensorHandle", "FunctionRewriter", "interpreter_builder", "_patch_lang", "_get_np_dtype", "ReduceOps",
            "ScanOps",
        )  # fmt: skip
        if missing := [name for name in wanted if not hasattr(self.module, name)]:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
                f"Triton {getattr(triton, '__version__', '?')} has an interpreter without {', '.join(missing)}",
                hint="interpret=True is known to work with Triton-Ascend 3.2; attach functions to the kernels yourself",
            )
        self._narrow = NarrowFloats(self.module, self.language)
        self._lock = threading.RLock()
        self._changes: list[tuple[Any, str, Any, Any]] | None = None
        self._rewritten: dict[FunctionType, Callable[..., Any]] = {}
        self._added: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    # -- kernels ---------------------------------------------------------------------------------------------------

    def attach(self, kernel: TritonKernel, source: Any) -> None:
        """Let a kernel on a fake compute what its source says.

        Raises:
            NotSupported 207000: a parameter is a tuple or a tensor descriptor.
        """
        function: FunctionType = source.fn.fn
        if parts := [each.name for each in kernel.signature if "." in each.name]:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"kernel {kernel.name}: {parts[0]} is a part of a tuple or of a "
                "tensor descriptor, which are not interpreted", hint="pass pointers and numbers",
            )
        fixed = {_key(source, key): value for key, value in (getattr(source, "constants", None) or {}).items()}
        slots = {
            number: member.offset // 8
            for member in kernel.layout.members if member.name.startswith("arg")
            for number in (int(member.name[3:]),) if kernel.signature[number].is_pointer
        }  # fmt: skip
        kinds = dict(zip(slots.values(), kernel.metadata.tensor_kinds, strict=False))
        known = len(kinds) == len(slots)
        kernel.kernel.program.device.hal.fake.attach(
            kernel.kernel.code, partial(self._run, _Facts.of(kernel), function, fixed, slots), name=kernel.name,
            grid=True, reads=[slot for slot, kind in kinds.items() if kind in _READS] if known else None,
            writes=[slot for slot, kind in kinds.items() if kind in _WRITES] if known else None,
        )  # fmt: skip

    def _run(self, kernel: _Facts, function: FunctionType, fixed: Mapping[str, Any], slots: Mapping[int, int],
             context: Any) -> None:
        """Run all programs of a launch."""
        block = context.args.bytes(0, kernel.layout.size)
        names = [each.name for each in kernel.layout.members]
        values = dict(zip(names, struct.unpack(kernel.layout.format, block), strict=True))
        grid = _grid_of(kernel, values)
        memory = _Memory(kernel.name)
        with self._session(memory):
            arguments: dict[str, Any] = {name: self._constant(function, name, value) for name, value in fixed.items()}
            for number, parameter in enumerate(kernel.signature):
                value = values[f"arg{number}"]
                if parameter.is_pointer:
                    value = memory.host_address(value, slots[number], context)
                arguments[parameter.name] = self._tensor(parameter.type, value)
            run, file = self.rewritten(function), function.__code__.co_filename
            self._programs(kernel.name, file, run, arguments, grid, _device_failure(context))

    def _programs(self, name: str, file: str, run: Callable[..., Any], arguments: dict[str, Any],
                  grid: tuple[int, ...], failed: Callable[[str], Exception]) -> None:
        builder = self.module.interpreter_builder
        builder.set_grid_dim(*grid)
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    builder.set_grid_idx(x, y, z)
                    try:
                        run(**arguments)
                    except Exception as failure:
                        what = failure if isinstance(failure, (OutOfBounds, NotInterpreted)) else repr(failure)
                        text = f"kernel {name}, program ({x}, {y}, {z}){_line_of(failure, file)}: {what}"
                        print(text, file=sys.stderr)  # as asserts on devices do: the error report has numbers only
                        raise failed(text) from failure

    def _tensor(self, kind: str, value: Any) -> Any:
        """Return a parameter as the source sees it."""
        if isinstance(value, float):
            return value
        made = self.language.str_to_ty(kind)
        dtype = np.uint64 if kind.startswith("*") else self.module._get_np_dtype(made)
        handle = self.module.TensorHandle(np.array([value]).astype(dtype), made)
        return self.language.tensor(handle, made)

    def _constant(self, function: FunctionType, name: str, value: Any) -> Any:
        """Return an argument that the compiler has fixed: a number that is no constant of the source is a tensor."""
        constant = "constexpr" in str(function.__annotations__.get(name, ""))
        whole = isinstance(value, int) and not isinstance(value, bool)
        return self._tensor("i32", value) if whole and not constant else value

    def guarded(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that reads `triton.language`, so that it waits while a kernel of another thread is run."""

        def made(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                return method(*arguments, **named)

        return made

    # -- what the interpreter replaces -----------------------------------------------------------------------------

    def rewritten(self, function: FunctionType) -> Callable[..., Any]:
        """Return a function as the interpreter wants its source; called within a session."""
        made = self._rewritten.get(function)
        if made is None:
            space = function.__globals__
            before = set(space)
            made = self._rewritten[function] = self.module.FunctionRewriter(function).rewrite_ast()
            _, added = self._added.setdefault(id(space), (space, {}))
            added |= {name: space[name] for name in space if name not in before}
        return made

    @contextmanager
    def _session(self, memory: _Memory) -> Iterator[None]:
        """Replace what the interpreter replaces, and put it back."""
        with self._lock:
            self._supply()
            builder = self.module.interpreter_builder
            own = memory.checked(builder) | self._narrow.methods(builder)
            try:
                if self._changes is None:
                    self._changes = self._find_changes()
                for holder, name, _, new in self._changes:
                    _put(holder, name, new)
                for name, method in own.items():
                    setattr(builder, name, method)
                yield
            finally:
                for name in own:
                    delattr(builder, name)
                for holder, name, old, _ in self._changes or ():
                    _put(holder, name, old)
                self._withdraw()

    def _supply(self) -> None:
        """Give modules the names that they lack."""
        for space, added in self._added.values():
            space.update({name: value for name, value in added.items() if name not in space})

    def _withdraw(self) -> None:
        """Take these names away again."""
        for space, added in self._added.values():
            for name, value in added.items():
                if space.get(name) is value:
                    del space[name]

    def _find_changes(self) -> list[tuple[Any, str, Any, Any]]:
        """Let the interpreter replace what it does, note it, and put it back."""
        language = self.language
        holders = [
            language, language.core, language.math, language.core.tensor, language.core.dtype, self._jit,
            *(reductions := (self.module.ReduceOps, self.module.ScanOps)),
        ]  # fmt: skip
        before = [dict(vars(holder)) for holder in holders]
        try:
            space = {"tl": language, "core": language.core}
            self.module._patch_lang(types.SimpleNamespace(__globals__=space))
            self._jit.__call__ = self._inner_call()
            for reduction in reductions:
                reduction.apply = self._narrow.applied(reduction.apply)
            # Triton's own takes int() of an array of one element, which NumPy 2.4 refuses.
            language.core.tensor.__index__ = lambda tensor: int(np.asarray(tensor.handle.data).item())
        finally:
            found = [
                (holder, name, old.get(name, _MISSING), vars(holder).get(name, _MISSING))
                for holder, old in zip(holders, before, strict=True)
                for name in {*old, *vars(holder)}
                if old.get(name, _MISSING) is not vars(holder).get(name, _MISSING)
            ]
            for holder, name, was, _ in found:
                _put(holder, name, was)
        return found

    def _inner_call(self) -> Callable[..., Any]:
        """Return what a call of a `@triton.jit` function out of another one does."""

        def call(function: Any, *arguments: Any, **named: Any) -> Any:
            for name in ("_builder", "_generator"):
                named.pop(name, None)
            return self.rewritten(function.fn)(*arguments, **named)

        return call


def _line_of(failure: BaseException, file: str) -> str:
    """Return which line of the kernel's file an exception comes from."""
    frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if frame.filename == file]
    return f", {file}:{frames[-1].lineno}" if frames else ""


def _device_failure(context: Any) -> Callable[[str], Exception]:
    """Return what makes an exception that fails the kernel as a device does, and not the fake itself."""
    module = sys.modules[type(context).__module__]  # runtime imports no fakes; a kernel's context comes from there
    made: Callable[[str], Exception] = module.Fail
    return made


def _put(holder: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        delattr(holder, name)
    else:
        setattr(holder, name, value)


def _key(source: Any, key: Any) -> str:
    """Return the name of a parameter that has a constant value; versions give it by name, number, or path."""
    while isinstance(key, tuple):
        key = key[0]
    return str(source.fn.arg_names[key]) if isinstance(key, int) else str(key)


class _Facts(NamedTuple):
    """What a body knows of its kernel: not the kernel itself, which may go while the fake keeps the body."""

    name: str
    layout: BlockLayout
    signature: tuple[Parameter, ...]
    grid: GridRule

    @classmethod
    def of(cls, kernel: TritonKernel) -> _Facts:
        """Take them from a kernel."""
        return cls(kernel.name, kernel.layout, kernel.signature, kernel.metadata.grid)


def _grid_of(kernel: _Facts, values: Mapping[str, int]) -> tuple[int, ...]:
    """Return the grid of the source, which the compiler may have rewritten."""
    grid = [values[f"grid{axis}"] for axis in "XYZ"]
    rule = kernel.grid
    for axis, name in enumerate(("originalGridX", "originalGridY")):
        grid[axis] = values.get(name, grid[axis])
    if rule.factor > 1 and rule.axis >= 0:
        grid[rule.axis] *= rule.factor
    return tuple(grid[:_AXES])


class _Memory:
    """The memory that a launch's pointers lead to, and the check that a program stays in it."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._ranges: list[tuple[int, int, int]] = []

    def host_address(self, pointer: int, slot: int, context: Any) -> int:
        """Return where the host finds what a pointer of the block leads to; 0 for a null pointer."""
        if not pointer:
            return 0
        view = context.args.array(slot, "u1")  # tells the fake's checkers what the kernel touches
        start = int(np.asarray(view).__array_interface__["data"][0])
        self._ranges.append((start, start + view.nbytes, pointer))
        return start

    def checked(self, builder: Any) -> dict[str, Callable[..., Any]]:
        """Return the builder's methods that reach memory, each with a check of the addresses before."""
        load, store = builder.create_masked_load, builder.create_masked_store
        cas, rmw = builder.create_atomic_cas, builder.create_atomic_rmw

        def checked_load(ptrs: Any, mask: Any, *rest: Any) -> Any:
            self._check(ptrs, mask.data, "reads")
            return load(ptrs, mask, *rest)

        def checked_store(ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
            self._check(ptrs, mask.data, "writes")
            return store(ptrs, value, mask, *rest)

        def checked_cas(ptr: Any, *rest: Any) -> Any:
            self._check(ptr, None, "exchanges")
            return cas(ptr, *rest)

        def checked_rmw(operation: Any, ptr: Any, value: Any, mask: Any, *rest: Any) -> Any:
            self._check(ptr, mask.data, "changes")
            return rmw(operation, ptr, value, mask, *rest)

        return {
            "create_masked_load": checked_load, "create_masked_store": checked_store, "create_atomic_cas": checked_cas,
            "create_atomic_rmw": checked_rmw,
        }  # fmt: skip

    def _check(self, ptrs: Any, mask: Any, what: str) -> None:
        addresses = np.asarray(ptrs.data, np.uint64)
        if mask is not None:
            addresses = addresses[np.broadcast_to(np.asarray(mask, bool), addresses.shape)]
        size = max(int(ptrs.get_element_ty().primitive_bitwidth) // 8, 1)
        inside = np.zeros(addresses.shape, bool)
        for start, end, _ in self._ranges:
            inside |= (addresses >= start) & (addresses + np.uint64(size) <= end)
        if inside.all():
            return
        wrong = int(addresses[~inside].ravel()[0])
        if not self._ranges:
            raise OutOfBounds(f"it {what} {size} bytes through a null pointer")
        start, end, device = min(self._ranges, key=lambda each: min(abs(wrong - each[0]), abs(wrong - each[1])))
        raise OutOfBounds(
            f"it {what} {size} bytes at {device + wrong - start:#x}, outside of its arguments: the nearest has "
            f"{end - start} bytes at {device:#x}; is a mask missing?"
        )
