"""Whether two entries say the same once the addresses and ids of both machines are mapped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from chips.registry import Plugin

_WORDS = re.compile(r"^(.*?)_?(low|mid|high)$")
_ADDRESSES = frozenset({
    "addr", "aic_param", "aiv_param", "aic_pc", "aiv_pc", "dst", "exec_times_addr", "func_name", "offset", "param",
    "pc", "src", "stack_base",
})  # fmt: skip
_IDS = {
    "stream_id": "stream", "callback_stream_id": "stream", "op_stream_id": "stream", "event_id": "event",
    "notify_id": "notify", "cq_id": "cq", "group": "group", "event_group_id": "group", "sq_id": "sq",
    "op_sq_id": "sq", "model_id": "model", "endgraph_notify_id": "notify", "target_id": "stream",
    "build_version": "version", "jetty": "jetty", "pid": "process", "stream_id_copy": "stream",
}  # fmt: skip
_OURS = frozenset({"callback", "function", "sq_addr", "sq_tail"})
"""Where in the host a callback is (the vendor's runtime puts a pointer there, ours a token), and what the driver made
of a copy (a chain of DMA descriptors)."""
_NUMBERS = frozenset({"task_id", "task_id_copy"})
"""Running numbers of a queue's tasks."""
_PROGRAMS = frozenset({"mem_wait", "model_execute"})
_PLACES = frozenset({"program[1]", "program[2]", "function_mid", "function_low"})
"""Words of an entry that say where the program it calls lies."""
_NO_ID = frozenset({0xFFFF})


@dataclass(slots=True)
class Mapping:
    """What stands for what, learned when it is first seen and held to from then on."""

    known: dict[tuple[str, int], int] = field(default_factory=dict)
    taken: dict[tuple[str, int], int] = field(default_factory=dict)

    def forget(self, kind: str) -> None:
        """Let go of what was destroyed: one machine gives its id to the next, another does not."""
        for table in (self.known, self.taken):
            for key in [key for key in table if key[0] == kind]:
                del table[key]

    def agrees(self, kind: str, theirs: int, ours: int) -> bool:
        """Return whether both stand for the same thing."""
        if self.known.setdefault((kind, theirs), ours) != ours:
            return False
        return self.taken.setdefault((kind, ours), theirs) == theirs


def differences(
    plugin: Plugin, theirs: bytes, ours: bytes, mapping: Mapping, behind: int = 0
) -> Iterator[str]:
    """Yield a line per field that differs; ours has sent `behind` entries less to the queue, whose tasks it has not."""
    first, second = plugin.decode(theirs), plugin.decode(ours)
    if first.layout != second.layout:
        yield f"layout: recorded {first.layout}, ours {second.layout}"
        return
    left, right = _joined(first.fields), _joined(second.fields)
    for name in left:
        recorded, made = left[name], right[name]
        kind = _kind(name, first.layout)
        if name == "target_id" and not left["pre_p"]:
            kind = None  # only a forced recycle names a stream
        if name in _OURS:
            same = True
        elif name in _NUMBERS:
            same = recorded == made + behind
        elif kind is None or recorded in _NO_ID or (kind == "address" and 0 in (recorded, made)):
            same = recorded == made
        else:
            same = mapping.agrees(kind, recorded, made)
        if not same:
            yield f"{first.layout}.{name}: recorded {recorded:#x}, ours {made:#x}" + (f" ({kind})" if kind else "")


def _kind(name: str, layout: str) -> str | None:
    if layout.startswith("event_") and name in ("event_id", "notify_id"):
        return "event"
    if name == "addr" and layout == "event_reset":
        return "event"  # an address that follows from the id
    if name == "qos" and layout.startswith("aicpu"):
        return "qos of the daemon"
    if layout in _PROGRAMS and name in _PLACES:
        return "program"
    return "address" if name in _ADDRESSES else _IDS.get(name)


def _joined(fields: dict[str, int]) -> dict[str, int]:
    """Put the words of one address together."""
    shifts = {"low": 0, "mid": 32, "high": 32}
    joined: dict[str, int] = {}
    for name, value in fields.items():
        found = _WORDS.match(name)
        if found and found[1] in _ADDRESSES:
            joined[found[1]] = joined.get(found[1], 0) | value << shifts[found[2]]
        else:
            joined[name] = value
    return joined
