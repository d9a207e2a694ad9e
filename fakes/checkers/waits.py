"""Waits that never end: what each standing queue waits for, who could let it go on, and why nobody does.

Looked at when nothing on any card can run. It is a mistake only if the host does not submit what is missing; so a
report is made when the program asks for reports, gives the waiting queue up, or has polled for very long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakes.checkers.report import DEADLOCK, CheckFailed, Report
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from fakes.checkers.hub import Checks
    from fakes.checkers.names import CallSite
    from fakes.executor.task import Task
    from fakes.machine.card import Device
    from fakes.machine.queues import SubmissionQueue

PATIENCE = 8000
"""Polls in a row without progress after which the caller gets an error instead of waiting on."""
_HOST_KINDS = frozenset({"host_callback"})
_CALL = "host function"

Key = tuple[str, int, int]
"""("event" | "notify" | "count notify" | "value" | "host function", device, number or address)."""


class Standing(NamedTuple):
    """A queue that waits."""

    sq: SubmissionQueue
    task: Task
    keys: tuple[Key, ...]


class Past(NamedTuple):
    """The last record or reset of a signal."""

    what: str
    stream: int
    device: int
    site: CallSite | None


def waited(task: Task) -> tuple[str, int] | None:
    """Return what an entry waits for: (kind, number); None for one that waits for nothing with a number."""
    fields = task.fields
    if task.kind == "event_wait":
        return "event", fields["event_id"]
    if task.kind == "notify_wait":
        return ("count notify" if fields.get("cnt_flag") else "notify"), fields["notify_id"]
    return None


def recorded(task: Task) -> tuple[str, int] | None:
    """Return what an entry records: (kind, number or address)."""
    fields = task.fields
    if task.kind == "event_record" and "event_id" in fields:
        return "event", fields["event_id"]
    if task.kind == "notify_record" and "notify_id" in fields:
        return ("count notify" if fields.get("cnt_flag") else "notify"), fields["notify_id"]
    if task.kind == "write_value" and "addr" in fields and not _clears(task):
        return "value", fields["addr"]
    return None


def taken_back(task: Task) -> tuple[str, int] | None:
    """Return the byte that an entry clears: the reset of an event that such a byte stands for."""
    return ("value", task.fields["addr"]) if task.kind == "write_value" and _clears(task) else None


def _clears(task: Task) -> bool:
    fields = task.fields
    return fields.get("awsize") == 0 and not fields.get("value", fields.get("value[0]"))


class Waits:
    """Follows waits across queues and cards."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._polls = 0
        self._past: dict[Key, Past] = {}
        self._asked: dict[SubmissionQueue, tuple[int, int]] = {}
        """The callback queue, (device, number), through which a stream has last asked for a function."""
        self._calling: dict[int, tuple[int, int]] = {}
        """Threads that have taken a call and listen to their queue no more, by the queue."""
        self._pollers: set[int] = set()
        """Threads that have polled since something went on."""

    def asked(self, sq: SubmissionQueue, queue: tuple[int, int]) -> None:
        """A stream asks for a host function."""
        self._asked[sq] = queue

    def called(self, queue: tuple[int, int]) -> None:
        """This thread has taken the calls of a queue."""
        self._calling[threading.get_ident()] = queue

    def listens(self) -> None:
        """This thread listens for calls."""
        self._calling.pop(threading.get_ident(), None)

    def _caller_waits(self, sq: SubmissionQueue) -> bool:
        """Whether the thread that takes the calls of a stream polls instead of returning from one."""
        queue = self._asked.get(sq)
        return any(self._calling.get(thread) == queue for thread in self._pollers)

    def happened(self, key: Key, what: str, task: Task | None, site: CallSite | None) -> None:
        """A signal was recorded, reset or used up; kept for messages."""
        stream, device = (-1, key[1]) if task is None else (task.sq.stream_id, task.device.index)
        self._past[key] = Past(what, stream, device, site)

    def moved(self) -> None:
        """The program did something other than polling, or a card went on."""
        self._polls = 0
        self._pollers.clear()

    def idle(self) -> None:
        """A poll has found nothing that can run.

        Raises:
            CheckFailed: that has been so for very long, and for a reason that can be named.
        """
        self._polls += 1
        self._pollers.add(threading.get_ident())
        if self._polls % PATIENCE == 0 and (found := self.look()):
            raise CheckFailed(tuple(found))

    def look(self, only: SubmissionQueue | None = None) -> list[Report]:
        """Report the waits that nothing which was submitted will end; returns the new reports.

        Args:
            only: the queue that the host gives up; by default all.
        """
        standing = {} if self._checks.machine.options.free_run else {each.sq: each for each in self._standing()}
        if only is not None and only not in standing:
            return []
        givers = self._givers() if standing else {}
        new = []
        for each in standing.values():
            if only is not None and each.sq is not only:
                continue
            chain = self._follow(each, standing, givers)
            if chain is None:
                continue
            report = self._report(chain, givers)
            loop = frozenset((link.sq.device, link.sq.stream_id, link.task.position, link.sq.done) for link in chain)
            if self._checks.report(report, loop):
                new.append(report)
        return new

    def _standing(self) -> Iterator[Standing]:
        """Yield every queue that waits, if nothing else could run."""
        checks = self._checks
        devices = checks.machine.devices
        if any(device.held or device.busy for device in devices):
            return
        for device in devices:
            for sq in list(device.active.values()):
                if not sq.runnable:
                    continue
                if sq.sq_id not in device.waiting:
                    return
                task = checks.machine.executor.decode(device, sq)
                if checks.last_kind(sq) in _HOST_KINDS:
                    if self._caller_waits(sq):
                        yield Standing(sq, task, ((_CALL, device.index, sq.stream_id),))
                    continue  # waits for a function of the host
                yield Standing(sq, task, self._keys(device, task))

    def _keys(self, device: Device, task: Task) -> tuple[Key, ...]:
        signal = waited(task)
        if signal is not None:
            return ((signal[0], device.index, signal[1]),)
        seen = dict.fromkeys(self._checks.looked_at(task.sq))
        named = [address for address in seen if self._checks.names.name("mem", address)]
        return tuple(("value", 0, address) for address in named or seen)

    def _givers(self) -> dict[Key, list[Task]]:
        """Return every record that is queued, by what it records."""
        found: dict[Key, list[Task]] = {}
        executor = self._checks.machine.executor
        for device in self._checks.machine.devices:
            for sq in device.queues.values():
                for step in range(sq.pending):
                    task = executor.decode_at(device, sq, (sq.head + step) % sq.depth)
                    signal = recorded(task)
                    if signal is not None:
                        number = 0 if signal[0] == "value" else device.index
                        found.setdefault((signal[0], number, signal[1]), []).append(task)
        return found

    def _follow(
        self, first: Standing, standing: dict[SubmissionQueue, Standing], givers: dict[Key, list[Task]]
    ) -> list[Standing] | None:
        """Return the waits that lead to one that nothing ends, or round in a circle; None where there is a way out."""
        chain, seen = [first], {first.sq}
        while True:
            queued = [task for key in chain[-1].keys for task in givers.get(key, ())]
            if not queued:
                return chain if chain[-1].keys else None
            if any(task.sq not in standing for task in queued):
                return None  # held, stopped or hanging: the fault is another one
            following = standing[queued[0].sq]
            if following.sq in seen:
                return chain
            seen.add(following.sq)
            chain.append(following)

    def _report(self, chain: list[Standing], givers: dict[Key, list[Task]]) -> Report:
        parties, parts = [], []
        for link in chain:
            who = self._entry(link.task) + self._checks.submitted_at(link.sq, link.task.position)
            parties.append(who)
            parts.append(f"{who} waits for {' or '.join(map(self._signal, link.keys))}")
        text = "; ".join(parts)
        queued = [task for key in chain[-1].keys for task in givers.get(key, ())]
        if queued:
            text += f", which is recorded only by {self._entry(queued[0])}, behind such a wait: the waits form a cycle"
            return Report(DEADLOCK, text, "Record it before the wait that leads back to it", tuple(parties))
        if chain[-1].keys[0][0] == _CALL:
            text += ", whose thread waits inside of such a function for what comes behind it"
            return Report(DEADLOCK, text, "Return from the function, and wait in another thread", tuple(parties))
        text += f", which {self._history(chain[-1].keys)}, and nothing that was submitted records it"
        cure = "Missing edge: submit the record before the host waits for this stream"
        return Report(DEADLOCK, text, cure, tuple(parties))

    def _entry(self, task: Task) -> str:
        stream = self._checks.names.stream(task.sq.stream_id, task.device.index)
        return f"{task.kind} at position {task.position} of {stream}"

    def _signal(self, key: Key) -> str:
        kind, device, number = key
        if kind == _CALL:
            return f"the {kind} of {self._checks.names.stream(number, device)}"
        if kind == "value":
            return f"a value at {number:#x}{self._checks.names.name('mem', number)}"
        return f"{kind} {number}{self._checks.names.name(kind, number)} of device {device}"

    def _history(self, keys: tuple[Key, ...]) -> str:
        from fakes.checkers.names import at

        past = [self._past[key] for key in keys if key in self._past]
        if not past:
            return "was never recorded"
        last = past[-1]
        who = "the host" if last.stream < 0 else self._checks.names.stream(last.stream, last.device)
        return f"was last {last.what} by {who}{at(last.site, 'submitted at')}"
