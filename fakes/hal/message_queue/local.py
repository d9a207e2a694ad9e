"""Queues of the host whose messages are buffers (mbufs): there once QUEUE_ENABLE_LOCAL_QUEUE was set.

Order of the checks and their codes: the driver's queue/dc/core/queue.c. Their numbers lie behind those of the cards'
queues; a queue of a depth has space for one message less.
"""

from __future__ import annotations

import ctypes
import itertools
from collections import deque
from typing import TYPE_CHECKING, Any

from fakes.hal.message_queue.client import DEEPEST, FIRST, SHALLOWEST
from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.ports import Machine
    from fakes.machine.shared_buffers import Mbuf

_NAME_BYTES = c.QUEUE_MAX_STR_LEN


@dataclass(slots=True, eq=False)
class LocalQueue:
    """One queue of the host, by the device number that it was made with."""

    device: int
    name: bytes
    depth: int
    mode: int
    overwrites: bool
    messages: deque[Mbuf] = field(default_factory=deque)
    put: int = 0
    taken: int = 0
    put_failed: int = 0
    take_failed: int = 0

    @property
    def full(self) -> bool:
        """Whether it has as many messages as it has space for."""
        return len(self.messages) >= self.depth - 1


class LocalQueues:
    """All queues of the host, by number."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._queues: dict[int, LocalQueue] = {}

    def create(self, device: int, attributes: Any, number: Any) -> int:
        """Make a queue."""
        name = attributes.name
        if not SHALLOWEST <= attributes.depth <= DEEPEST or attributes.workMode > c.QUEUE_MODE_PULL:
            return c.DRV_ERROR_INVALID_VALUE
        if len(name) >= _NAME_BYTES:
            return c.DRV_ERROR_INVALID_VALUE
        free = next(each for each in itertools.count(FIRST) if each not in self._queues)
        if free >= c.MAX_QUEUE_NUM:
            return c.DRV_ERROR_NO_RESOURCES
        mode = c.QUEUE_MODE_PULL if attributes.workMode == c.QUEUE_MODE_PULL else c.QUEUE_MODE_PUSH
        self._queues[free] = LocalQueue(device, name, attributes.depth, mode, bool(attributes.overWriteFlag))
        number.value = free
        return 0

    def exists(self, number: int) -> bool:
        """Whether there is a queue of this number."""
        return number in self._queues

    def destroy(self, number: int) -> int:
        """Give a queue up with its messages; one that is not there is none to give up."""
        if number in self._queues:
            self.reset(number)
            del self._queues[number]
        return 0

    def reset(self, number: int) -> int:
        """Free the messages of a queue."""
        queue = self._queues.get(number)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        while queue.messages:
            self._drop(queue)
        return 0

    def put(self, number: int, handle: int) -> int:
        """Put a chain of buffers, which belongs to the queue then."""
        if not handle:
            return c.DRV_ERROR_INVALID_VALUE
        queue = self._queues.get(number)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        mbuf = self._machine.buffers.find(handle)
        if mbuf is None or mbuf.previous is not None:
            return c.DRV_ERROR_INVALID_VALUE
        if queue.full:
            if not queue.overwrites:
                queue.put_failed += 1
                return c.DRV_ERROR_QUEUE_FULL
            self._drop(queue)
        for member in mbuf.chain():
            member.queued = True
        queue.messages.append(mbuf)
        queue.put += 1
        return 0

    def take(self, number: int, handle: Any) -> int:
        """Take the oldest chain of buffers."""
        if handle is None:
            return c.DRV_ERROR_INVALID_VALUE
        queue = self._queues.get(number)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        if not queue.messages:
            queue.take_failed += 1
            return c.DRV_ERROR_QUEUE_EMPTY
        mbuf = queue.messages.popleft()
        for member in mbuf.chain():
            member.queued = False
        queue.taken += 1
        handle.value = mbuf.handle
        return 0

    def describe(self, number: int, info: Any) -> int:
        """Tell what a queue is and has."""
        queue = self._queues.get(number)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        info.id, info.name, info.depth, info.size = number, queue.name, queue.depth, len(queue.messages)
        info.workMode, info.entity_type = queue.mode, c.SOFT_ENTITY_TYPE
        info.headDataPtr = queue.messages[0].handle if queue.messages else None
        info.status = c.QUEUE_FULL if queue.full else c.QUEUE_NORMAL if queue.messages else c.QUEUE_EMPTY
        info.stat.enqueCnt, info.stat.dequeCnt = queue.put, queue.taken
        info.stat.enqueFailCnt, info.stat.dequeFailCnt = queue.put_failed, queue.take_failed
        return 0

    def number_of(self, device: int, name: bytes, number: Any) -> int:
        """Find a queue by its name and device number."""
        if number is None or not 0 < len(name) < _NAME_BYTES:
            return c.DRV_ERROR_INVALID_VALUE
        for each, queue in self._queues.items():
            if (queue.device, queue.name) == (device, name):
                number.value = each
                return 0
        return c.DRV_ERROR_NOT_EXIST

    def set_mode(self, number: int, mode: int) -> int:
        """Set how a queue tells of its messages: by push or pull."""
        if mode not in (c.QUEUE_MODE_PUSH, c.QUEUE_MODE_PULL):
            return c.DRV_ERROR_INVALID_VALUE
        queue = self._queues.get(number)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        queue.mode = mode
        return 0

    def rights(self, device: int, number: int) -> s.QueueShareAttr:
        """Return what the process may do with a queue: everything, or nothing where it is not there."""
        queue = self._queues.get(number)
        allowed = int(queue is not None and queue.device == device)
        return s.QueueShareAttr(manage=allowed, read=allowed, write=allowed)

    def all_of(self, device: int) -> list[s.QueQueryQuesOfProcInfo]:
        """Return numbers and rights of the queues with a device number."""
        return [
            s.QueQueryQuesOfProcInfo(qid=number, attr=self.rights(device, number))
            for number, queue in sorted(self._queues.items()) if queue.device == device
        ]  # fmt: skip

    def oldest(self, number: int) -> int | bytes:
        """Return when the next message was made, as it is told, or the driver's code."""
        queue = self._queues.get(number)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        if not queue.messages:
            return c.DRV_ERROR_QUEUE_EMPTY
        return ctypes.string_at(ctypes.byref(s.QueQueryQueueMbufInfo(timestamp=queue.messages[0].made_at)), 8)

    def _drop(self, queue: LocalQueue) -> None:
        mbuf = queue.messages.popleft()
        for member in mbuf.chain():
            member.queued = False
        self._machine.buffers.free(mbuf)
