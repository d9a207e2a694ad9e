"""`acl.util`: addresses of Python objects, and threads for callbacks; data buffers, which live on the host only."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from npuhal.changed import start_thread
from runtime.capi.pyacl import call_sites
from runtime.memory import caller


def bytes_to_ptr(data: Any) -> int:
    """Return the address of a bytes object's own contents; they change when something is copied there."""
    if not isinstance(data, bytes):
        raise ValueError(f"bytes are expected, not {type(data).__name__}")
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """Return a copy of host memory."""
    if not ptr or size < 0:
        raise ValueError(f"no bytes can be made of address {ptr:#x} and size {size}")
    return caller.read(ptr, size)


def numpy_to_ptr(array: Any) -> int:
    """Return the address of an array; deprecated, use bytes_to_ptr."""
    _deprecated("numpy_to_ptr")
    _check(array)
    if not array.flags.c_contiguous:
        call_sites.warn("acl.util.numpy_to_ptr: the array is not contiguous", UserWarning)
    return int(array.ctypes.data)


def numpy_contiguous_to_ptr(array: Any) -> tuple[int, Any]:
    """Return the address of an array and the array, made contiguous if it was not; deprecated."""
    _deprecated("numpy_contiguous_to_ptr")
    _check(array)
    whole = np.ascontiguousarray(array)
    return int(whole.ctypes.data), whole


def ptr_to_numpy(ptr: int, shape: tuple[int, ...], numpy_type: int) -> Any:
    """Return an array over host memory, which it does not own; deprecated. The type is NumPy's own number of it."""
    _deprecated("ptr_to_numpy")
    if not isinstance(shape, tuple):
        raise TypeError("acl.util.ptr_to_numpy args parse failed: shape must be a tuple")
    kinds = {np.dtype(code).num: np.dtype(code) for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"}
    if numpy_type not in kinds:
        raise ValueError(f"NumPy has no plain type of number {numpy_type}")
    kind = kinds[numpy_type]
    size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(memoryview(caller.view(ctypes.c_uint8, size, ptr)), kind).reshape(shape)


def _check(array: Any) -> None:
    if not isinstance(array, np.ndarray):
        raise ValueError(f"a NumPy array is expected, not {type(array).__name__}")


def _deprecated(name: str) -> None:
    call_sites.warn(f"acl.util.{name} will go away: use bytes_to_ptr", DeprecationWarning)


class Threads:
    """Threads by their ids, with what went wrong in them."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[threading.Thread, list[str]]] = {}

    def start(self, *given: Any) -> tuple[int, int]:
        """Run fn(args), or fn() for None, in a thread; returns its id and 0."""
        if len(given) != 2:
            raise TypeError(f"function takes exactly 2 arguments ({len(given)} given)")
        function, argument = given
        if not callable(function):
            raise TypeError("parameter must be callable")
        problems: list[str] = []

        def body() -> None:
            try:
                _call(function, argument)
            except BaseException as problem:  # stop_thread tells
                problems.append(f"{type(problem).__name__}: {problem}")

        thread = start_thread(body, "acl.util.start_thread")
        assert thread.ident is not None
        self._running[thread.ident] = thread, problems
        return thread.ident, 0

    def stop(self, number: int) -> int:
        """Wait for a thread; RuntimeError with what it raised, or if there is no such thread."""
        if number not in self._running:
            raise RuntimeError(f"there is no thread {number} that start_thread made")
        thread, problems = self._running.pop(number)
        thread.join()
        if problems:
            raise RuntimeError("; ".join(problems))
        return 0


def _call(function: Callable[..., Any], argument: Any) -> None:
    function() if argument is None else function(argument)


class DataBuffers:
    """Pairs of an address and a size, by handle; the memory stays the caller's."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def create(self, data: int, size: int) -> int:
        """Make one and return its handle."""
        pair = (ctypes.c_uint64 * 2)(data, size)
        self._known[ctypes.addressof(pair)] = pair
        return ctypes.addressof(pair)

    def destroy(self, handle: int) -> bool:
        """Forget one; False if there is none."""
        return self._known.pop(handle, None) is not None

    def update(self, handle: int, data: int, size: int) -> bool:
        """Change one; False if there is none."""
        if handle not in self._known:
            return False
        self._known[handle][:] = [data, size]
        return True

    def address(self, handle: int) -> int:
        """Return the address of one, 0 if there is none."""
        return int(self._known[handle][0]) if handle in self._known else 0

    def size(self, handle: int) -> int:
        """Return the size of one, 0 if there is none."""
        return int(self._known[handle][1]) if handle in self._known else 0
