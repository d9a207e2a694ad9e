"""The optional compiled part: prepared sends in C (`_send.c`) beside the Python functions, which stay the reference.

A compiled send is made of the same facts as the Python function and holds it: what is not the plain case goes there.
The extension is built where there is a C compiler; without it, or with NPUHAL_COMPILED=0, everything is Python.
"""

from __future__ import annotations

import copyreg
import ctypes
import importlib
import os
import struct
import threading
from _ctypes import CFuncPtr
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, cast

from npuhal import structs as s
from runtime.core.submission.epoch import Epoch
from runtime.core.submission.ring import RingV100, RingV200, TaskRing
from runtime.driver.queues import MappedRing

if TYPE_CHECKING:
    from types import ModuleType

    from chips.layout import Template
    from runtime.core.ports import StreamLock, StreamPort
    from runtime.core.submission.prepared import Shape
    from runtime.driver.queues import Sender

VARIABLE: Final = "NPUHAL_COMPILED"
"""0, false, no or off: Python functions only."""
_OFF: Final = ("0", "false", "no", "off")
REVISION: Final = 5
"""What an extension must be of; another one was built from other files than these."""

_WORD = struct.Struct("@HBBQ")
"""A patched word, as the struct in C: offset in bytes, bytes, source, bias."""
_NUMBER, _MOST_WORDS = 255, 16
_SQE_ADDRESS: Final[int] = getattr(s.halTaskSendInfo, "sqe_addr").offset  # noqa: B009  (a member to mypy)
_CARRIES = ("nothing", "arguments", "finished", "kept", "recorded")


def _load() -> tuple[ModuleType | None, str]:
    """Return the extension, or None and why it is not used."""
    if (wanted := os.environ.get(VARIABLE, "")).strip().lower() in _OFF:
        return None, f"{VARIABLE}={wanted}"
    try:
        found = importlib.import_module("runtime.core.submission._send")
    except ModuleNotFoundError:
        return None, "the compiled part was not built when the package was installed"
    except Exception as broken:  # no import may fail for want of what is optional
        return None, f"the compiled part cannot be loaded: {type(broken).__name__}: {broken}"
    if getattr(found, "REVISION", None) != REVISION:
        return None, f"{found.__file__} was built from other sources: install the package again"
    return found, ""


extension, reason = _load()
"""The module, None where sends are Python; and why."""

if extension is not None:
    for _kind in (extension.Send, extension.Launch, extension.Grid):  # copied and pickled by name, as functions are
        copyreg.pickle(_kind, attrgetter("__qualname__"))


def told() -> str:
    """Say in words which sends are in use."""
    return f"Python ({reason})" if extension is None else f"compiled, {extension.__file__}"


def stream_lock() -> StreamLock:
    """Return a new lock for a stream, which may be taken again by its owner."""
    made: Any = threading.RLock() if extension is None else extension.Lock()
    return cast("StreamLock", made)


def member(kind: type, name: str) -> Any:
    """Return the descriptor of a member of `__slots__`: the extension reads and writes at its offset."""
    return getattr(kind, name)


def function_address(function: object) -> int:
    """Return the address of a C function that ctypes has loaded; 0 for any other callable."""
    if not isinstance(function, CFuncPtr):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def send(
    shape: Shape, templates: list[Template], stream: StreamPort, sender: Sender, bound: dict[str, Any],
) -> Callable[..., Any] | None:
    """Return the compiled send of a shape; None where only the Python function does it.

    Args:
        templates: one per entry.
        sender: what rings the driver.
        bound: what the Python function closes over, and as `try_send` itself.
    """
    ring = stream.ring
    words = _words(shape, templates)
    closed = None if bound["program"] is None else getattr(type(bound["program"]), "closed", None)
    known = type(ring) in (RingV100, RingV200) and shape.carries in _CARRIES
    known = known and not (shape.captured and shape.publishes)
    if extension is None or words is None or not known or (
        closed is not None and not isinstance(closed, MemberDescriptorType)
    ):
        return None
    counted, two = isinstance(ring, RingV100), len(templates) > 1
    driver = function_address(sender.raw) if sender.send is sender.made else 0
    mapped = sender.ring if driver else None
    carries = "recorded" if shape.captured else shape.carries
    carried = {
        "arguments": ring.arguments, "finished": ring.completion_callbacks.append, "kept": bound["kept"],
        "recorded": bound.get("record"),
    }
    made: Callable[..., Any] = extension.Send(
        slow=bound["try_send"],
        held=(
            ring, stream.lock, bound["ids"] if counted else bound["firsts"], ring.owners, bound["info"],
            bound.get("info_2"), bound["epoch"], bound.get("epoch_2"), bound["program"], carried.get(carries),
            bound["serial"], bound["value_of"], sender, sender.device_id, sender.reference,
            partial(bound["send_again"], stream, sender), _repair(shape, stream, bound), sender.send, sender.buffer,
            mapped, bound["holder"] if two else None, stream.tick, bound.get("make_node"),
        ),
        members=(
            member(TaskRing, "submitted"), member(TaskRing, "limit"),
            member(RingV100, "next_id") if counted else member(RingV200, "allocations"), member(Epoch, "blocked"),
            closed, member(type(bound["holder"]), "end") if two else None, member(MappedRing, "base"),
            member(MappedRing, "tail"),
        ),
        counted=counted, entries=len(templates), parameters=len(shape.parameters),
        carries=_CARRIES.index(carries), falls_back=shape.fallback,
        row=b"".join(_blank(template) for template in templates), words=words, driver=driver, device=sender.device_id,
        info=ctypes.addressof(sender.info), info_address=_SQE_ADDRESS, publishes=shape.publishes,
        edge=max(bound["edge"], 0) if shape.captured else 0,
    )  # fmt: skip
    return made


def _words(shape: Shape, templates: list[Template]) -> bytes | None:
    """Return the patched words of all entries; None where one is of a kind that the extension does not patch."""
    packed = []
    for entry, template in enumerate(templates):
        for name, word, bias in zip(template.names, template.words, template.bias, strict=True):
            source = 0
            if name.startswith("task_"):
                source = _NUMBER
            elif name in shape.parameters:
                source = shape.parameters.index(name)
            if bias < 0 or word.offset + word.width // 8 > 64 or word.width % 8:
                return None
            if source == _NUMBER:
                bias = 0
            packed.append(_WORD.pack(word.offset + 64 * entry, word.width // 8, source, bias))
    return b"".join(packed) if len(packed) <= _MOST_WORDS else None


def _blank(template: Template) -> bytes:
    """Return an entry with its patched words zero."""
    row = bytearray(template.row)
    for word in template.words:
        row[word.offset : word.offset + word.width // 8] = bytes(word.width // 8)
    return bytes(row)


def _repair(shape: Shape, stream: StreamPort, bound: dict[str, Any]) -> Callable[[Any, BaseException], None]:
    """Return what makes ring and driver agree after an exception, given what the task carries."""
    mend, infos = bound["repair"], tuple(bound[name] for name in ("info", "info_2") if name in bound)
    holder = bound["holder"]

    def repair(carry: Any, _failure: BaseException) -> None:
        finished, block = (carry if shape.carries == kind else None for kind in ("finished", "arguments"))
        if mend(stream, infos, finished, block) and holder is not None:
            holder.end = stream.ring.submitted

    def repair_captured(entry: Any, failure: BaseException) -> None:
        if mend(stream, infos) and entry is not None:
            bound["record"](entry)
        bound["spoil"](failure)

    return repair_captured if shape.captured else repair
