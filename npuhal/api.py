"""The one backend to the device: an object with one typed callable per HAL function, whatever stands behind it.

`hal.halSqTaskSend(dev, byref(info))` is bound on first use and from then on an ordinary instance attribute, so a call
costs what ctypes costs and nothing more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from npuhal import prototypes
from npuhal.errors import MissingSymbols, NotSupported
from npuhal.layouts import Layouts, layouts
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from npuhal._calls import HalCalls
    from npuhal.daemon import DeviceDaemon
else:
    HalCalls = object


class TaskFailure(NamedTuple):
    """What a backend knows of a failed task besides its completion entry: what happened, a cure, an exception."""

    what: str
    cure: str = ""
    cause: BaseException | None = None


class HalApi(HalCalls):
    """Base of every backend. A subclass says which functions it has (`has`) and how to reach one (`_bind`)."""

    url: str
    """The URL it was opened by."""
    version: int
    """Header version that layouts and prototypes follow: what the library's halGetAPIVersion answers."""
    stepped: bool = False
    """Whether the machine behind it moves only while a call is in progress: work in other threads gains nothing."""
    listens: bool = False
    """Whether anybody takes note of `annotate` and `remark`: who tells much, and often, asks first."""
    follows_entries: bool = False
    """Whether it takes note of the entries of graphs (`annotate`): there is one for each captured task."""
    tries_addresses: bool = False
    """Whether what stands above tries addresses of the program before it touches them: mistakes cost more than time."""
    fake: Any
    """The machine itself (`fakes.machine.machine.Machine`); only behind the URLs of fakes."""

    def __init__(self, url: str, version: int = 0) -> None:
        self.url = url
        self.version = version
        self.first_faults: dict[int, Callable[[], BaseException | None]] = {}
        """By logic device id, who knows what a device has failed with first: asked where a code says too little."""

    @property
    def structs(self) -> Layouts:
        """Struct layouts as this library's header has them; `structs.struct("DqsPoolInfo")`."""
        return layouts(self.version)

    def has(self, name: str) -> bool:
        """Return whether a function exists behind this backend."""
        raise NotImplementedError

    def raw(self, name: str) -> Callable[..., int]:
        """Return the untyped twin of a function, for the hot path.

        Pass only ints below 2**31 and prebuilt byref()/c_* objects: nothing is checked or converted.
        """
        raise NotImplementedError

    def raw_held(self, name: str) -> Callable[..., int]:
        """Return `raw` of a function that returns at once: other threads of Python do not run during the call.

        Giving the interpreter's lock up and taking it again is a quarter of the cost of a call.
        """
        return self.raw(name)

    def annotate(self, key: tuple[str, int], obj: object) -> None:
        """Tell tools what an id or address stands for, e.g. ("stream", 3) or ("kernel", 0x1240...); here: ignored.

        A part of a larger piece of memory is a ("block", address) whose object has a `size`, and as `graph` the model
        id of the graph that keeps it, or -1; None ends it. ("entries", stream id) comes with (device id, position,
        count) when entries of a graph are made or changed, which may be long before they are written to the device.
        Code for cores that the device has not is a ("code", address) whose object has `size` and `cores`, a text.
        """

    def remark(self, what: str, device_id: int = 0, sq_id: int = 0) -> None:
        """Tell tools how calls are meant; here: ignored.

        Args:
            what: "internal": until "back", what this thread reads and copies is not for the program; may be nested.
                "observed": now the program goes by what was read of a queue between such a pair.
        """

    @property
    def progress(self) -> int:
        """How much a machine has done so far that moves only during calls: nobody pauses while it does; here: 0."""
        return 0

    @property
    def looks_for_leaks(self) -> bool:
        """Whether somebody wants to hear by `left_open` what a program has not closed; here: nobody."""
        return False

    def in_use(self, device_id: int) -> Mapping[str, Sequence[str]]:
        """Return in words, by kind, what the process has of a device beside ids, queues and plain memory.

        Keys of memory, physical memory, reserved ranges; only where `looks_for_leaks`.
        """
        return {}

    def left_open(self, device_id: int, held: Mapping[str, Sequence[str]]) -> None:
        """Tell tools what the program had open of a device that was closed under it, by kind; here: ignored."""

    def task_failure(self, device_id: int, sq_id: int) -> TaskFailure | None:
        """Return, once, why the last failed task of a queue has failed, where the backend knows: a fake does."""
        return None

    def daemon(self) -> DeviceDaemon | None:
        """Return the starter of device-side processes that belongs to this backend, or None if it needs none."""
        return None

    def close(self) -> None:
        """Give up the backend. The library stays loaded: it cannot be unloaded safely."""

    def require(self, generation: str = "") -> None:
        """Raise MissingSymbols if a function our runtime needs is absent (`prototypes.REQUIRED`)."""
        needed = prototypes.REQUIRED[""] | prototypes.REQUIRED.get(generation, frozenset())
        missing = tuple(sorted(name for name in needed if not self.has(name)))
        if missing:
            raise MissingSymbols(self.url, missing, generation)

    def _bind(self, prototype: prototypes.Prototype) -> Callable[..., Any]:
        """Return the typed callable of a function that `has` confirmed."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or "url" not in self.__dict__:
            raise AttributeError(name)
        try:
            prototype = prototypes.prototype(name, self.version)
        except KeyError:
            raise AttributeError(f"the HAL has no function {name!r} in npuhal's tables") from None
        call = self._bind(prototype) if self.has(name) else _absent(name, self.url)
        setattr(self, name, call)
        return call

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"


class LibraryApi(HalApi):
    """The backend to a loaded libascend_hal.so."""

    def __init__(self, url: str, library: ctypes.CDLL, path: str, version: int = 0) -> None:
        super().__init__(url, version)
        self.library = library
        self.path = path

    def daemon(self) -> DeviceDaemon | None:
        """Return the installed libtsdclient.so, or None; `npuhal.daemon.find_daemon` says why there is none."""
        from npuhal.daemon import Absent, find_daemon

        found = find_daemon()
        return None if isinstance(found, Absent) else found

    def has(self, name: str) -> bool:
        """Return whether the library exports a function."""
        return hasattr(self.library, name)

    def raw(self, name: str) -> Callable[..., int]:
        """Return a fresh untyped function pointer; NotSupported when called if the library lacks it."""
        if not self.has(name):
            return _absent(name, self.path)
        function: Callable[..., int] = self.library[name]
        return function

    def raw_held(self, name: str) -> Callable[..., int]:
        """Return the function pointer for a call under the interpreter's lock."""
        return held(self.library, name) if self.has(name) else self.raw(name)

    def _bind(self, prototype: prototypes.Prototype) -> Callable[..., Any]:
        function = self.library[prototype.name]
        function.argtypes = [arg.ctype for arg in prototype.args]
        function.restype = prototype.restype
        return function


def held(library: ctypes.CDLL, name: str) -> Callable[..., int]:
    """Return an untyped function pointer into a loaded library that is called under the interpreter's lock."""
    function: Callable[..., int] = _held_library(library)[name]
    return function


@lru_cache(maxsize=4)
def _held_library(library: ctypes.CDLL) -> ctypes.PyDLL:
    """Return a library once more, for calls under the lock; ctypes makes a class for each."""
    return ctypes.PyDLL(library._name, handle=library._handle)


def _absent(name: str, library: str) -> Callable[..., int]:
    def call(*_arguments: object) -> int:
        raise NotSupported.missing(name, library)

    call.__name__ = call.__qualname__ = name
    return call
