"""The ABI tier (fake-abi://): the same functions behind C function pointers, so that every call crosses the C ABI.

An exception cannot cross it. The callback stores it and returns NOT_SUPPORT; the wrapper raises it when the C call is
back, in the same thread: Ctrl-C is of the thread that it came to. What is stored by a call from C code is raised by the
next call from Python.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from typing import Any

from fakes.tiers.direct import Call, FakeApi
from npuhal import constants as c
from npuhal import prototypes

_open: weakref.WeakSet[AbiApi] = weakref.WeakSet()
"""The backends that are open."""


class _Hook:
    """Hears first of exceptions that ctypes could not pass on, while a backend is open, and passes all others on.

    Python has one such hook, and others replace and restore it at any time: each call looks whether it is still ours.
    Where somebody has kept one of ours and puts it back when no backend is open, it only passes on.
    """

    def __init__(self) -> None:
        self._outer = sys.unraisablehook

    def __call__(self, lost: Any) -> None:
        if not any(api.catch(lost) for api in list(_open)):
            self._outer(lost)

    @staticmethod
    def listen() -> None:
        """Be the first that hears."""
        if type(sys.unraisablehook) is not _Hook:
            sys.unraisablehook = _Hook()

    @staticmethod
    def stop() -> None:
        """Leave it to the one that was there before; where somebody else's is in front, to it."""
        while type(hook := sys.unraisablehook) is _Hook:
            sys.unraisablehook = hook._outer


class AbiApi(FakeApi):
    """fake-abi://: the callables are C function pointers."""

    def __init__(self, url: str, machine: Any) -> None:
        super().__init__(url, machine)
        self._callbacks: dict[str, Any] = {}
        self._entries: set[Any] = set()
        _open.add(self)
        _Hook.listen()

    def close(self) -> None:
        """Give up the backend and stop listening for exceptions that ctypes could not pass on."""
        _open.discard(self)
        if not _open:
            _Hook.stop()
        super().close()

    def catch(self, lost: Any) -> bool:
        """Keep what ctypes drops: Ctrl-C can strike a callback before its first line, where no handler is yet.

        Returns whether it was this backend's.
        """
        ours = any(lost.object is entry for entry in self._entries)
        if ours:
            self.fake.pending.append((threading.get_ident(), lost.exc_value))
        return ours

    def raw(self, name: str) -> Call:
        """Return the function without argument types: pass only ints and prebuilt byref() or c_* objects."""
        prototype = prototypes.prototype(name, self.version)
        function: Any = ctypes.CFUNCTYPE(prototype.restype)(self.address(name))
        return self._raising(name, function)

    def address(self, name: str) -> int:
        """Return the address of the C function."""
        return ctypes.cast(self._callback(prototypes.prototype(name, self.version)), ctypes.c_void_p).value or 0

    def _bind(self, prototype: prototypes.Prototype) -> Call:
        kind = ctypes.CFUNCTYPE(prototype.restype, *(arg.ctype for arg in prototype.args))
        return self._raising(prototype.name, kind(self.address(prototype.name)))

    def _callback(self, prototype: prototypes.Prototype) -> Any:
        """Return the C callback around a function, made once and kept alive."""
        name = prototype.name
        made = self._callbacks.get(name)
        if made is None:
            kind = ctypes.CFUNCTYPE(_result(prototype.restype), *(arg.ctype for arg in prototype.args))
            made = self._callbacks[name] = kind(self._entry(name, prototype.restype is None))
        return made

    def _entry(self, name: str, void: bool) -> Call:
        call = self.guarded(name)
        machine = self.fake
        pointer = ctypes._Pointer

        def entry(*arguments: Any) -> Any:
            try:
                return call(
                    *[
                        (value.contents if value else None) if isinstance(value, pointer) else value or 0
                        for value in arguments
                    ]
                )
            except BaseException as error:
                from_python = sys._getframe().f_back is not None
                machine.pending.insert(0, (threading.get_ident() if from_python else 0, error))
                return None if void else c.DRV_ERROR_NOT_SUPPORT

        self._entries.add(entry)
        return entry

    def _raising(self, name: str, function: Any) -> Call:
        machine, hook, listen = self.fake, _Hook, _Hook.listen

        def call(*arguments: Any) -> Any:
            if type(sys.unraisablehook) is not hook:
                listen()
            result = function(*arguments)
            if machine.pending:
                machine.raise_pending()
            return result

        call.__name__ = call.__qualname__ = name
        return call


def _result(restype: Any) -> Any:
    """Callbacks cannot return a Python-managed C string; its address they can."""
    return ctypes.c_void_p if restype is ctypes.c_char_p else restype
