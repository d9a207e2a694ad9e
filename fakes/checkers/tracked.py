"""Arrays that tell which of their bytes are read and written: the views that stand-in kernels get while checks are on.

Reading is what NumPy does with an operand: arithmetic, reductions, conversions, elements taken out. Writing is
assignment to elements and any `out=`. A view passed on to code that takes the bare buffer (memoryview, np.asarray) is
not followed; such kernels declare what they do (`attach(..., reads=, writes=)`), and `bare` looks after the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Touch = Callable[[int, int, bool], None]
"""Called with device address, bytes, and whether they are written."""

_WRITTEN_FIRST = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"})
"""NumPy functions that write their first argument."""


def track(array: np.ndarray[Any, Any], address: int, touch: Touch) -> Tracked:
    """Return a view of an array that tells what is done to it; `address` is the device's for its first byte."""
    made = array.view(Tracked)
    low = _pointer(array)
    made._origin = (low, low + array.nbytes, address - low, touch)
    return made


def _pointer(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


def runs(array: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
    """Yield (pointer, bytes) of the pieces without gaps that an array lies in."""
    if array.size == 0:
        return
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        yield _pointer(array), array.nbytes
        return
    # Sort the axes from the longest step to the shortest; a step of 0 repeats bytes, a negative one goes backwards.
    low, axes = _pointer(array), []
    for length, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            low += (length - 1) * step
        if length > 1 and step:
            axes.append((abs(step), length))
    axes.sort(reverse=True)
    size = array.itemsize
    while axes and axes[-1][0] == size:
        size *= axes.pop()[1]
    starts = [low]
    for step, length in axes:
        starts = [start + index * step for start in starts for index in range(length)]
    for start in starts:
        yield start, size


class Tracked(np.ndarray[Any, Any]):
    """An array view that reports accesses. Results of arithmetic are ordinary arrays."""

    _origin: tuple[int, int, int, Touch] | None = None

    def __array_finalize__(self, source: Any) -> None:
        self._origin = getattr(source, "_origin", None)

    def _touch(self, write: bool) -> None:
        origin = self._origin
        if origin is not None:
            low, high, shift, touch = origin
            for pointer, size in runs(self):
                if low <= pointer < high:  # a copy has left the device's memory
                    touch(pointer + shift, size, write)

    def _elements(self, key: Any, write: bool) -> None:
        """Report elements chosen by an index that NumPy copies: a mask or a list of numbers."""
        origin = self._origin
        if origin is None:
            return
        low, high, shift, touch = origin
        offsets = np.zeros(self.shape, np.int64)
        for axis, step in enumerate(self.strides):
            shape = [1] * self.ndim
            shape[axis] = self.shape[axis]
            offsets += (np.arange(self.shape[axis]) * step).reshape(shape)
        chosen = np.unique(offsets[key])
        if not chosen.size:
            return
        size, base = self.itemsize, _pointer(self)
        breaks = np.flatnonzero(np.diff(chosen) != size) + 1
        for part in np.split(chosen, breaks):
            start = base + int(part[0])
            if low <= start < high:
                touch(start + shift, int(part[-1] - part[0]) + size, write)

    def __getitem__(self, key: Any) -> Any:
        key, plain = _bare(key), _plain(self)
        part = plain[key]
        if _shares(part, plain):
            return part.view(Tracked)._adopt(self)
        self._elements(key, False)
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        value, key = _read(value), _bare(key)
        plain = _plain(self)
        part = plain[key]
        if _shares(part, plain):
            part.view(Tracked)._adopt(self)._touch(True)
        else:
            self._elements(key, True)
        plain[key] = value

    def _adopt(self, other: Tracked) -> Tracked:
        self._origin = other._origin
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out")
        if method == "at":
            if isinstance(inputs[0], Tracked):
                inputs[0]._elements(_bare(inputs[1]), True)
            return ufunc.at(_plain(inputs[0]), *map(_read, inputs[1:]))
        operands = [_read(operand) for operand in inputs]
        if "where" in options:
            options["where"] = _read(options["where"])
        if out is not None:
            _wrote(out)
            options["out"] = tuple(map(_plain, out))
        result = getattr(ufunc, method)(*operands, **options)
        return result if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function.__name__ in _WRITTEN_FIRST and arguments:
            _wrote(arguments[0])
            arguments = (_plain(arguments[0]), *_deep(arguments[1:], _read))
            return function(*arguments, **_deep(options, _read))
        out = options.get("out")
        options = {name: value for name, value in options.items() if name != "out"}
        if out is not None:
            _wrote(out)
            options["out"] = _deep(out, _plain)
        result = function(*_deep(arguments, _read), **_deep(options, _read))
        return result if out is None else out

    def __repr__(self) -> str:
        return repr(_read(self))

    def __str__(self) -> str:
        return str(_read(self))


def _shares(part: Any, whole: np.ndarray[Any, Any]) -> bool:
    """Whether an index gave a view rather than a copy."""
    return isinstance(part, np.ndarray) and part.base is not None and np.may_share_memory(part, whole)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Tracked) else value


def _read(value: Any) -> Any:
    if isinstance(value, Tracked):
        value._touch(False)
        return value.view(np.ndarray)
    return value


def _wrote(out: Any) -> None:
    for each in out if isinstance(out, tuple) else (out,):
        if isinstance(each, Tracked):
            each._touch(True)


def _deep(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to the arrays in nested tuples, lists and dictionaries."""
    if isinstance(value, (tuple, list)):
        return type(value)(_deep(item, change) for item in value)
    if isinstance(value, dict):
        return {name: _deep(item, change) for name, item in value.items()}
    return change(value)


def _bare(key: Any) -> Any:
    """Return an index in which tracked arrays have become ordinary ones, and count as read."""
    return tuple(map(_read, key)) if isinstance(key, tuple) else _read(key)


def _reader(name: str) -> Callable[..., Any]:
    def method(self: Tracked, *arguments: Any, **options: Any) -> Any:
        self._touch(False)
        return getattr(self.view(np.ndarray), name)(*_deep(arguments, _read), **_deep(options, _read))

    method.__name__ = name
    return method


def _writer(name: str) -> Callable[..., Any]:
    def method(self: Tracked, *arguments: Any, **options: Any) -> Any:
        self._touch(True)
        return getattr(self.view(np.ndarray), name)(*_deep(arguments, _read), **_deep(options, _read))

    method.__name__ = name
    return method


# What ndarray does in C without asking __array_ufunc__ or __array_function__.
for _name in ("copy", "tobytes", "tolist", "item", "dot", "take", "repeat", "choose", "compress", "nonzero",
              "argmax", "argmin", "argsort", "searchsorted", "trace", "cumsum", "cumprod", "astype", "flatten", "dumps",
              "tofile", "round", "__int__", "__float__", "__index__", "__bool__", "__complex__"):  # fmt: skip
    setattr(Tracked, _name, _reader(_name))
for _name in ("fill", "sort", "partition", "put"):
    setattr(Tracked, _name, _writer(_name))
