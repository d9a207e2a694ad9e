"""The queue schedule of a card: which queues pass their messages on, and to which (queue_schedule, router_server.cpp).

A message leaves its queue as soon as the one before it has reached all targets. A target that is full holds it up, and
all behind it, until there is space.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakes.hal.message_queue.client import Queue
    from fakes.machine.ports import Machine

_HEAD, _ROW, _QUESTION = struct.Struct("<IIIQ"), struct.Struct("<IIiHH24x"), struct.Struct("<8xIIIHH16x")
"""QsRouteHead, QueueRoute, QueueRouteQuery (qs_client.h)."""
_REQUEST, _REPLY = struct.Struct("<8xQ24x"), struct.Struct("<8xiIHH20x")
"""QueueRouteList, QsProcMsgRsp."""
_BIND, _GREET, _UNBIND, _QUERY, _COUNT = 2049, 2050, 2051, 2052, 2053
"""QueueSubEventType, as host processes send them."""
_SOURCE, _TARGET, _BOTH, _EITHER, _FAILED = 0, 1, 2, 3, 100
"""QsQueryType."""
_WRONG, _INNER, _NO_RIGHT, _NO_QUEUE = 1, 2, 7, 8
"""BqsStatus: PARAM_INVALID, INNER_ERROR, QUEUE_AHTU_ERROR, QUEUE_ID_ERROR."""
_UNBOUND, _BOUND, _BROKEN = 0, 1, 2
"""BindRelationStatus."""
_MOST_QUEUES, _MOST_ROUTES = 8192, 1 << 16
_VERSION = (1, 0)
_NO_PIPE = _MOST_QUEUES
"""Number of the queue for messages in buffers, which processes on the host do not send."""


def schedule_of(machine: Machine, card: int) -> QueueSchedule:
    """Return the schedule of a card; it begins with the first message to it, and ends with the card."""
    found = machine.schedules.get(card)
    if found is None:
        found = machine.schedules[card] = QueueSchedule(machine, card)
    return found


@dataclass(slots=True)
class _Route:
    source: int
    target: int
    status: int = _BOUND


@dataclass(slots=True)
class _Underway:
    """A message that has left its queue, and where it has yet to arrive."""

    message: tuple[bytes, bytes]
    targets: list[int] = field(default_factory=list)


class QueueSchedule:
    """All routes of a card, in the order in which they were bound."""

    def __init__(self, machine: Machine, card: int) -> None:
        self._machine, self._card = machine, card
        self._routes: dict[tuple[int, int], _Route] = {}
        self._underway: dict[int, _Underway] = {}
        """By source."""

    @property
    def _queues(self) -> dict[int, Queue]:
        """The card's queues; none before they were initialised."""
        return self._machine.message_queues.get(self._card, {})

    def answer(self, request: int, message: bytes) -> bytes:
        """Do what a message asks, and return the answer to it."""
        code, number = _WRONG, 0
        if request == _GREET:
            code, number = 0, _NO_PIPE
        elif request == _COUNT and len(message) == _QUESTION.size:
            code, number = 0, len(self._asked(message))
        elif request in (_BIND, _UNBIND, _QUERY) and len(message) == _REQUEST.size:
            code = self._do(*_REQUEST.unpack(message))
        self.pass_on()
        return _REPLY.pack(code, number, *_VERSION)

    def pass_on(self) -> None:
        """Move messages along the routes, as far as there is space."""
        moved = True
        while moved:
            moved = sum(self._move(source) for source in dict.fromkeys(source for source, _ in self._routes)) > 0

    def gone(self, number: int) -> None:
        """Mark the routes of a queue that was given up."""
        for route in self._routes.values():
            if number in (route.source, route.target):
                route.status = _BROKEN
                self._underway.pop(route.source, None)

    # -- requests --------------------------------------------------------------------------------------------------

    def _do(self, address: int) -> int:
        """Carry out what is written at an address of the card, write there what became of it, and return a code."""
        memory, what = self._machine.memory, "queue schedule:"
        size, count, request, _ = _HEAD.unpack(memory.read(address, _HEAD.size, what))
        begin = address + _HEAD.size + (_QUESTION.size if request == _QUERY else 0)
        if begin + count * _ROW.size != address + size:
            return _WRONG
        if request == _QUERY:
            question = memory.read(address + _HEAD.size, _QUESTION.size, what)
            found = self._asked(question)
            if len(found) != count:
                return _WRONG
            rows = [_ROW.pack(route.source, route.target, route.status, 0, 0) for route in found]
            code = 0
        else:
            change = self._bind if request == _BIND else self._unbind
            given = list(_ROW.iter_unpack(memory.read(begin, count * _ROW.size, what))) if count else []
            results = [change(source, target) for source, target, *_ in given]
            done = _BOUND if request == _BIND else _UNBOUND
            rows = [
                _ROW.pack(source, target, done if not result else _BOUND - done, *kinds)
                for (source, target, _, *kinds), result in zip(given, results, strict=True)
            ]
            code = next((result for result in reversed(results) if result), 0) if given else _NO_RIGHT
        if rows:
            memory.write(begin, b"".join(rows), what)
        return code

    def _bind(self, source: int, target: int) -> int:
        """Bind a route; one that is bound stays so."""
        if max(source, target) >= _MOST_QUEUES:
            return _NO_QUEUE
        if source not in self._queues or target not in self._queues:
            return _NO_RIGHT
        if source == target:
            return _WRONG
        if (source, target) in self._routes:
            return 0
        if len(self._routes) >= _MOST_ROUTES:
            return _INNER
        live = [route for route in self._routes.values() if route.status == _BOUND]
        if any(route.source == target or route.target == source for route in live):
            return _WRONG  # what one route has brought, no other passes on
        self._routes[source, target] = _Route(source, target)
        return 0

    def _unbind(self, source: int, target: int) -> int:
        """Take a route back; one that is not there is none afterwards either."""
        if max(source, target) >= _MOST_QUEUES:
            return _NO_QUEUE
        self._routes.pop((source, target), None)
        held = self._underway.get(source)
        if held is not None and target in held.targets:
            held.targets.remove(target)
        return 0

    def _asked(self, question: bytes) -> list[_Route]:
        kind, source, target, *_ = _QUESTION.unpack(question)
        return list(self._matching(kind, source, target))

    def _matching(self, kind: int, source: int, target: int) -> Iterator[_Route]:
        routes = list(self._routes.values())
        if kind == _EITHER:
            from_source = [route for route in routes if route.source == source]
            yield from from_source or [route for route in routes if route.target == target]
            return
        for route in routes:
            if kind == _FAILED:
                if route.status == _BROKEN:
                    yield route
            elif kind in (_SOURCE, _TARGET, _BOTH) and (kind == _TARGET or route.source == source) and (
                kind == _SOURCE or route.target == target
            ):
                yield route

    # -- messages --------------------------------------------------------------------------------------------------

    def _move(self, source: int) -> bool:
        """Take the next step with the messages of a queue; whether there was one."""
        moved, held = False, self._underway.get(source)
        queue = self._queues.get(source)
        if held is None and queue is not None and queue.messages:
            targets = [each.target for each in self._routes.values() if each.source == source and each.status == _BOUND]
            if not targets:
                return False
            queue.taken += 1
            held = self._underway[source] = _Underway(queue.messages.popleft(), targets)
            moved = True
        if held is None:
            return False
        for number in tuple(held.targets):
            target = self._queues.get(number)
            if target is None or len(target.messages) < target.depth:
                held.targets.remove(number)
                moved = True
                if target is not None:
                    target.messages.append(held.message)
                    target.put += 1
        if not held.targets:
            del self._underway[source]
        if moved:
            self._machine.changed.notify_all()
        return moved
