"""Who holds what when something runs out: the text behind EE1023.

Told are the driver's own count, what this process holds and where it was created, what is left for other processes,
and where to look, the most frequent cause first.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from runtime import errors
from runtime.driver.resources import COUNT_NOTIFY, EVENT, MODEL, NOTIFY, SQ, STREAM
from runtime.memory.ledger import VARIABLE

if TYPE_CHECKING:
    from types import CodeType

    from runtime.core.ports import DevicePort


_MOST_SITES = 3
"""Creation sites worth naming."""

WHAT = {STREAM: "streams", SQ: "queues", EVENT: "events", NOTIFY: "notifies", COUNT_NOTIFY: "count-notifies",
        MODEL: "models"}  # fmt: skip
"""How kinds of ids are called."""
_WHERE = {
    STREAM: "streams created in a loop and never closed, then graphs (each holds streams)",
    SQ: "streams created in a loop and never closed, then graphs that were executed (each keeps a queue)",
    EVENT: "events recorded again and again while nobody waits for them to finish, then events never closed",
    NOTIFY: "notifies never closed, then communication libraries in this process",
    COUNT_NOTIFY: "count-notifies never closed, then graphs",
    MODEL: "graphs and models never closed",
}

_PASSED = frozenset({"runtime", "contextlib"})
"""Packages whose frames are no user's: this one, and what it is called back by."""


class _Passed(dict[str, bool]):
    """Whether frames of a module are passed by, by its name; worked out once."""

    def __missing__(self, name: str) -> bool:
        self[name] = passed = name.partition(".")[0] in _PASSED
        return passed


_passed = _Passed()


def caller() -> tuple[CodeType, int]:
    """Return code and line of the nearest caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _passed[frame.f_globals.get("__name__", "")]:
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


def creation_site() -> str:
    """Return "file:line" of the nearest caller outside this package: where a user made something."""
    code, line = caller()
    return f"{code.co_filename}:{line}"


def report(device: DevicePort, kind: str, sites: Counter[str]) -> str:
    """Return the resource report of one kind of id on a device.

    Args:
        sites: how many of them this process holds, by the call that created them; "" where it was not recorded.
    """
    what = WHAT[kind]
    held = sites.total()
    lines = [f"this process holds {held} {what}"]
    named = [f"{site} ({count})" for site, count in sites.most_common(_MOST_SITES) if site]
    if named:
        lines[0] += f", created at {', '.join(named)}"
    elif held:
        lines[0] += f" ({VARIABLE}=1 tells where they were created)"
    try:
        capacity, used = device.ids.usage(kind)
    except errors.RuntimeFault:
        lines.append("the driver does not say how many there are")
    else:
        own = max(device.ids.resource_table.count(kind), held)
        line = f"device {device.user_id} has {capacity}, {used} are used, {max(used - own, 0)} of them by other owners"
        if own > held:
            line += f", {own - held} by graphs and the runtime of this process"
        lines.append(line)
    lines.append(f"look at: {_WHERE[kind]}, then other processes on the device")
    return "; ".join(lines)


def _cure(device: DevicePort, kind: str, held: int) -> str:
    """Say who has to give ids back: this process's own code, or whoever holds most of them."""
    try:
        _, used = device.ids.usage(kind)
    except errors.RuntimeFault:
        used = held
    if 2 * held >= used:
        return f"pair each create with a close; look at: {_WHERE[kind]}"
    return f"{used - held} of {used} {WHAT[kind]} are not held by streams, events and notifies that this process has " \
           "made: close graphs and models that are no longer executed, then end other processes on the device " \
           "(`npuhal info`)"


def stream_sites(device: DevicePort) -> Counter[str]:
    """Count the streams of all contexts of a device by where they were created."""
    return Counter(stream.site for stream in device.streams())


def explain(device: DevicePort, kind: str, fault: errors.RuntimeFault, call: str, *, posted: bool = True) -> None:
    """Add the report to a fault that says that ids ran out, as message EE1023 where the chip's runtime posts one."""
    sites = stream_sites(device) if kind in (STREAM, SQ) else device.signals.sites(kind)
    text = report(device, kind, sites)
    fault.message = f"{fault.message}: {text}"
    fault.args = (fault.message,)
    fault.hint = _cure(device, kind, sites.total())
    if posted:
        fault.message_id, fault.params = "EE1023", (call, text)
