"""Reports of checkers in torch's words: tensors, streams, lines of the program, `record_stream` where it is the cure.

The checkers know addresses, driver streams and call sites. What torch calls them is looked up when there is something
to report: live tensors, what operators were last called with, and the trace of torch's allocator. That trace is behind
a lock of torch's, so it is read when no lock of npuhal's is held (`settle`).
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

from npuhal.records import dataclass, replace
from runtime.capi.pyacl.binding import process
from runtime.capi.shim.torch.calls import QUEUE
from runtime.capi.shim.torch.forms import Form

_PASSED_OVER = frozenset({"torch", "torch_npu", "torchgen"})
"""Packages whose lines are not the program's."""
_KEPT = 4096
_SHOWN = 3
_NEAR = 4
"""Pieces of memory that may have been handed out between the last count, at an operator, and a copy."""
_RANGE = re.compile(r"bytes (0x[0-9a-f]+)\.\.(0x[0-9a-f]+)")
_ADDRESS = re.compile(r"\b(0x[0-9a-f]+)\+(\d+)")
_STREAM = re.compile(r"stream (\d+) of device (\d+)")
_TASK = re.compile(r"(copy|kernel '[^']*') at position [^()]*\(submitted at ([^()]+:\d+)\)")


@dataclass(frozen=True, slots=True)
class Given:
    """What torch's allocator says of memory: that it was handed out, and that it was given back before that."""

    number: int
    """Which of all pieces that were handed out it was."""
    taken: str
    """Where, as "file:line"; empty where nobody knows."""
    freed: str | None
    """Where the tensor before was given up; None: there was none."""


class Words:
    """What is known of torch's names in this process."""

    def __init__(self) -> None:
        self._operands: OrderedDict[int, tuple[int, str, str]] = OrderedDict()
        self._counts: dict[str, int] = {}
        """How many pieces of memory torch had handed out when a line of the program submitted something last."""
        self._count = 0
        self._lock = threading.Lock()
        self.watching = False
        self._history = False
        self._open: list[tuple[Any, int, int, int]] = []
        """Reports that the allocator's trace may have something to say about: range of memory, and device."""
        self._reports: Any = None

    def install(self, machine: Any) -> None:
        """Let the checkers of a machine speak torch's words.

        torch's allocator keeps its memory until the process ends, so what is in use then is no leak of the program's.
        """
        checks = machine.checks
        if checks is None:
            return
        checks.wanted = checks.wanted - {"leak"}
        checks.refine = self.refine
        checks.names.locate = self.locate
        self._reports = checks.reports
        self.watching = True

    # -- where the program is --------------------------------------------------------------------------------------

    def locate(self, found: Any) -> Any:
        """Return the program's line, given the innermost one outside of npuhal, which may be torch's own.

        Threads of the backward pass have no lines; the program waits for them in the one that is returned then.
        """
        frame: FrameType | None = sys._getframe(2)
        site = _programs(frame)
        if site is None and os.environ.get(QUEUE, "1") == "0":
            site = _programs(sys._current_frames().get(threading.main_thread().ident or 0))
        if site is None:
            return found
        code, line = site
        self._counts[f"{code.co_filename}:{line}"] = self._count
        return site

    # -- what there is in memory -----------------------------------------------------------------------------------

    def operands(self, form: Form, values: Any) -> None:
        """Remember the tensors of a call by their addresses."""
        with self._lock:
            for each in form.tensors:
                address = values[each.index]
                self._operands.pop(address, None)
                self._operands[address] = each.span, str(each), form.operator.name
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        while len(self._operands) > _KEPT:
            self._operands.popitem(last=False)

    def follow_allocator(self, device: int) -> None:
        """Let torch's allocator keep a trace, and count what it hands out. Called without locks of npuhal's."""
        if not self.watching:
            return
        with suppress(Exception):  # versions differ; without it reports say less
            if not self._history:
                self._history = True
                memory = importlib.import_module("torch_npu.npu.memory")
                memory._record_memory_history("all", context="all", stacks="python", max_entries=100_000)
            self._count = _handed_out(device)

    def tensors(self, low: int, high: int) -> list[str]:
        """Return what is, or was last, in a range of memory."""
        if live := list(dict.fromkeys(_live_tensors(low, high))):
            return live
        with self._lock:
            known = list(self._operands.items())
        return list(dict.fromkeys(
            f"{text} of {operator}" for start, (span, text, operator) in known if start < high and low < start + span
        ))  # fmt: skip

    # -- reports ---------------------------------------------------------------------------------------------------

    def refine(self, report: Any) -> Any:
        """Return a report with what torch knows of it."""
        text: str = report.message
        added = []
        found = _RANGE.search(text)
        if found is not None:
            low, high = int(found[1], 16), int(found[2], 16)
        elif (block := _ADDRESS.search(text)) is not None:
            low = int(block[1], 16)
            high = low + int(block[2])
        else:
            low = high = 0
        if high > low:
            tensors = self.tensors(low, high)
            if tensors:
                more = f" and {len(tensors) - _SHOWN} more" if len(tensors) > _SHOWN else ""
                added.append(f"in torch: {'; '.join(tensors[:_SHOWN])}{more}")
        streams = [name for match in dict.fromkeys(_STREAM.findall(text)) if (name := _stream(*map(int, match)))]
        if streams:
            added.append(", ".join(streams))
        made = replace(report, message="; ".join([text, *added]))
        if high > low and self._history and (device := _STREAM.search(text)):
            self._open.append((made, low, high, int(device[2])))
        return made

    def taken(self) -> tuple[Any, ...]:
        """Return the reports, and forget them."""
        return self._reports.take() if self.watching else ()

    def settle(self) -> None:
        """Add to reports what the allocator's trace says. Called without locks of npuhal's."""
        while self._open:
            report, low, high, device = self._open.pop()
            with suppress(Exception):
                self._reports.exchange(report, self._traced(report, low, high, device))

    def _traced(self, report: Any, low: int, high: int, device: int) -> Any:
        memory = importlib.import_module("torch_npu.npu.memory")
        trace, total = memory._snapshot()["device_traces"][device], _handed_out(device)
        tasks = [(what, self._counts[site]) for what, site in _TASK.findall(report.message) if site in self._counts]
        counts = [count + _NEAR * (what == "copy") for what, count in tasks]  # a copy's own memory came after the count
        for given in reversed(list(_given(trace, total, low, high))):
            if given.freed is not None and len(counts) > 1 and min(counts) < given.number <= max(counts):
                freed, taken = (f" at {line}" if line else "" for line in (given.freed, given.taken))
                text = (
                    f"{report.message}; torch's allocator got this memory back{freed} while a stream still used it, "
                    f"and handed it out again{taken}"
                )
                cure = (
                    "Call tensor.record_stream(stream) for the other stream that uses the tensor, before the tensor "
                    f"goes: then its memory waits for that stream. {report.cure}"
                )
                return replace(report, message=text, cure=cure)
        return report


def _programs(frame: FrameType | None) -> Any:
    ours = _PASSED_OVER | {"fakes", "npuhal", "chips", "runtime", "ctypes", "contextlib", "threading", "weakref"}
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in ours and not frame.f_code.co_filename.startswith("<frozen"):
            return frame.f_code, frame.f_lineno
        frame = frame.f_back
    return None


def _live_tensors(low: int, high: int) -> Iterator[str]:
    """Iterate over what the program's tensors in a range of memory are."""
    torch: Any = importlib.import_module("torch")
    for each in gc.get_objects():
        kind = type(each)
        if kind is not torch.Tensor and kind is not torch.nn.Parameter:
            continue
        with suppress(Exception):  # tensors without storage
            storage = each.untyped_storage()
            start, size = storage.data_ptr(), storage.nbytes()
            if start >= high or low >= start + size:
                continue
            dtype = str(each.dtype).removeprefix("torch.")
            yield f"{kind.__name__.lower()} {dtype}{list(each.shape)} (storage {start:#x}+{size})"


def _handed_out(device: int) -> int:
    """Return how many pieces of memory torch's allocator has handed out."""
    statistics = importlib.import_module("torch_npu")._C._npu_memoryStats(device)
    return int(statistics["allocation"]["all"]["allocated"])


def _given(trace: list[Any], total: int, low: int, high: int) -> Iterator[Given]:
    """Iterate over the times at which memory was handed out."""
    number, freed = total - sum(each["action"] == "alloc" for each in trace), None
    for each in trace:
        number += each["action"] == "alloc"
        if each["addr"] < high and low < each["addr"] + each["size"]:
            if each["action"] == "alloc":
                yield Given(number, _line(each), freed)
                freed = None
            elif each["action"] == "free_requested":
                freed = _line(each)


def _line(event: Any) -> str:
    for frame in event.get("frames", ()):
        top = frame["filename"].replace(os.sep, "/")
        if "/torch/" not in top and "/torch_npu/" not in top and "??" not in top:
            return f"{frame['filename']}:{frame['line']}"
    return ""


def _stream(number: int, device: int) -> str:
    """Return what torch calls a stream; empty where it has none that is known."""
    npu: Any = importlib.import_module("torch_npu").npu
    handles = process().runtime.handles
    with suppress(Exception):
        default = npu.default_stream(device)
        for one in (default, *(each for each in gc.get_objects() if type(each) is npu.Stream)):
            found: Any = handles.get(one.npu_stream, object)
            if found.stream_id == number and found.device.user_id == device:
                what = "torch's default stream" if one == default else f"torch.npu.Stream {one.stream_id:#x}"
                return f"stream {number} is {what}"
    return ""


WORDS = Words()
"""The words of this process."""
