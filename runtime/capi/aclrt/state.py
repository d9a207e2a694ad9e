"""One process as the C API sees it: initialised or not, on which machine, with which errors per thread."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import chips
import npuhal.errors
from chips.template import FieldOverflow
from npuhal.words import shown
from runtime import errors
from runtime.api.process import Runtime
from runtime.capi.aclrt.entry import find
from runtime.capi.aclrt.kernel.argument_lists import ArgumentLists
from runtime.capi.aclrt.kernel.stand_ins import FunctionSymbols, SymbolTable
from runtime.capi.aclrt.memory.user_allocators import StreamAllocators
from runtime.core.process.handles import HandleTable
from runtime.errors.reports import ThreadReports
from runtime.feature.messages import MessageQueue
from runtime.feature.shared_buffers import SharedBuffers

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream


_MANY = 0xFFFF
"""The one kind of component that takes several functions."""


class LastTask(threading.local):
    """Where the last launch or copy of each thread went: handles of its stream and of the model that keeps it, or 0."""

    stream = model = 0

    def note(self, stream: Stream) -> None:
        """Remember where the thread's next task goes."""
        keeper = stream.bound if stream.branch is None else stream.branch.graph
        self.stream, self.model = stream.handle, 0 if keeper is None else keeper.handle


class Hooks:
    """Functions that a call makes by the way, by kind of component; they outlive the finalisation."""

    def __init__(self) -> None:
        self._by_kind: dict[int, list[tuple[Any, int]]] = {}

    def add(self, call: str, kind: int, function: Any, data: int) -> None:
        """Register a function; 500000 where the kind has one, or for 0xffff, which takes several, this very one."""
        known = self._by_kind.setdefault(kind, [])
        if (known and kind != _MANY) or any(each == function for each, _ in known):
            raise errors.fault("ACL_ERROR_INTERNAL_ERROR", f"{call}: a function of kind {kind} is registered already")
        known.append((function, data))

    def remove(self, call: str, kind: int, function: Any) -> None:
        """Take a function back; 500000 where it is not registered."""
        known = self._by_kind.get(kind, [])
        left = [(each, data) for each, data in known if each != function]
        if len(left) == len(known):
            raise errors.fault("ACL_ERROR_INTERNAL_ERROR", f"{call}: no such function of kind {kind} is registered")
        self._by_kind[kind] = left

    def of(self, kinds: tuple[int, ...]) -> list[tuple[Any, int]]:
        """Return the functions of kinds with their data, in this order."""
        return [each for kind in kinds for each in self._by_kind.get(kind, ())]


class Acl:
    """The state behind the C functions. A process has one; tools make one per scenario."""

    def __init__(self, url: str | None = None, make: Callable[[str | None], Runtime] = Runtime) -> None:
        """Start uninitialised; the machine behind `url` is opened by the first call that needs it."""
        self._url, self._make = url, make
        self._runtime: Runtime | None = None
        self._lock = threading.Lock()
        self.reports = ThreadReports()
        self.initialised = False
        self.init_calls = 0
        """Successful and repeated aclInit calls since the last aclFinalize: what aclFinalizeReference counts down."""
        self.config_path = ""
        """The file of the last aclInit."""
        self.configuration = ""
        """The text of the first aclInit with a file: later ones must have the same."""
        self._left = False
        self._begin()
        self.data_buffers = HandleTable()
        """Memory of the caller's under a handle; needs no machine."""
        self.init_hooks, self.end_hooks = Hooks(), Hooks()
        """Functions that aclInit and the finalisation call."""
        self.texts: dict[str, int] = {}
        """Texts that marks name by number."""
        self.profiling = False
        """Whether aclprofInit was called."""
        self.dumping = False
        """Whether aclmdlInitDump was called."""
        self.finalised = False
        """Whether an initialised process was finalised."""

    def _begin(self) -> None:
        """Know nothing of any object of a machine."""
        self.last = LastTask()
        self.queues: dict[tuple[int, int], MessageQueue] = {}
        """Message queues by device and number."""
        self.routed: set[int] = set()
        """Devices on which messages were given routes."""
        self._buffers: SharedBuffers | None = None
        self.argument_lists = ArgumentLists(self, {})
        """Kernel arguments that are being put together."""
        self.symbols = SymbolTable()
        """Host variables that stand for device variables."""
        self.function_symbols = FunctionSymbols()
        """Host addresses that stand for kernels."""
        self.allocators = StreamAllocators()
        """Allocators that the user has given streams."""

    @property
    def runtime(self) -> Runtime:
        """The runtime, opened on first use, and anew when the program has closed it (`runtime.shutdown`)."""
        found = self._runtime
        if found is not None and (not found.closed or self._left):
            return found
        with self._lock:
            if self._runtime is None:
                self._runtime = self._make(self._url)
            elif self._runtime.closed:
                self._runtime = self._make(self._url)
                self._begin()
            return self._runtime

    @property
    def buffers(self) -> SharedBuffers:
        """Buffers in shared memory, made on first use."""
        runtime = self.runtime
        with self._lock:
            if self._buffers is None:
                self._buffers = SharedBuffers(runtime.hal)
            return self._buffers

    @property
    def started(self) -> bool:
        """Whether the machine has been opened."""
        return self._runtime is not None

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a C function by name and return its code, or what else it returns; messages go to the thread's reports.

        Raises:
            LookupError: there is no such function here.
            TypeError: an argument that the function does not have.
        """
        entry = find(name)
        if entry is None:
            raise LookupError(f"the C API here has no function {name!r}")
        if not arguments.keys() <= entry.parameters:
            unknown = ", ".join(sorted(arguments.keys() - entry.parameters))
            takes = ", ".join(each.name for each in entry.arguments)
            raise TypeError(f"{name} has no parameter {unknown}; it takes {takes}")
        try:
            return entry.run(self, **arguments)
        except errors.RuntimeFault as fault:
            failed = fault
        except npuhal.errors.LibraryNotFound as missing:
            text = f"{name}: driver library not found: {missing}"
            failed = errors.fault("ACL_ERROR_RT_NO_DEVICE", text, ee="EE1001", params=(text,))
        except (OverflowError, MemoryError, struct.error, FieldOverflow, ValueError) as problem:
            if (unfit := _unfit(name, arguments, problem)) is None:
                raise
            failed = unfit
        except (chips.UnknownChip, npuhal.errors.LoadError) as unusable:  # the machine, at its first use
            failed = errors.fault("ACL_ERROR_INTERNAL_ERROR", f"{name}: {unusable}")
        code = self._failed(failed)
        return code if entry.failure is None else entry.failure

    def wait_unlocked(self) -> None:
        """Wait while the process is locked by a snapshot."""
        if self._runtime is not None:
            self._runtime.wait_unlocked()

    def _failed(self, fault: errors.RuntimeFault) -> int:
        self.reports.post(fault)
        return fault.code

    def close(self) -> None:
        """Leave the machine; running tasks are ended."""
        self._left = True
        if self._runtime is not None:
            self._runtime.close(force=True)


def _unfit(call: str, arguments: Mapping[str, Any], problem: Exception) -> errors.RuntimeFault | None:
    """Return what is wrong with a call that has ended so: a number that no memory or word can hold, text that is none.

    Not every `ValueError` is one: Python raises it where it is to write out thousands of digits, or half a character.
    """
    if isinstance(problem, UnicodeEncodeError):
        name, rule = next((key for key, value in arguments.items() if value is problem.object), "text"), "text in UTF-8"
        return _refused(call, name, shown(problem.object), rule, "which no C string can hold")
    least = 1 << 64 if type(problem) is ValueError else 1 << 31
    numbers = {name: value for name, value in arguments.items() if isinstance(value, int) and not 0 <= value < least}
    if not numbers:
        return None
    name = max(numbers, key=lambda each: numbers[each] if numbers[each] > 0 else 1 << 64)
    rule = f"the {name} that the memory behind it has"
    return _refused(call, name, shown(numbers[name]), rule, "more than can be meant")


def _refused(call: str, name: str, value: str, rule: str, wrong: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}, {wrong}", ee="EE1003",
        params=(call, value, name, rule), hint=f"pass {rule}",
    )  # fmt: skip
