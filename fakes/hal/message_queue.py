"""HAL chapter "message_queue": queues of messages that a host process makes on a card and fills and empties itself.

Messages of buffers (halQueueEnQueueBuff, halQueueDeQueueBuff) are modelled; what moves mbufs, joins queues of several
processes or wakes processes on the device is absent.
"""

from __future__ import annotations

import ctypes
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fakes.hal.chapter import Chapter
from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.machine.ports import Machine

_SHALLOWEST, _DEEPEST = 2, 8192
_MOST = c.MAX_QUEUE_NUM


@dataclass(slots=True)
class _Queue:
    """Messages as (context, contents)."""

    name: str
    depth: int
    messages: deque[tuple[bytes, bytes]] = field(default_factory=deque)
    taken: int = 0
    put: int = 0


class MessageQueueCalls(Chapter):
    """Functions of ascend_hal_external.h and ascend_hal_base.h."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._queues: dict[int, dict[int, _Queue]] = {}
        """By card, once message queues were initialised there."""
        machine.on_close.append(self._drop)

    def halQueueInit(self, devid: int) -> int:
        """Prepare a card for message queues; again is REPEATED_INIT."""
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if devid in self._queues:
            return c.DRV_ERROR_REPEATED_INIT
        self._queues[devid] = {}
        return 0

    def halQueueCreate(self, devid: int, attributes: Any, qid: Any) -> int:
        """Make a queue; its number is the lowest that is free."""
        queues = self._queues.get(devid)
        if queues is None:
            return c.DRV_ERROR_UNINIT
        if attributes is None or qid is None or not _SHALLOWEST <= attributes.depth <= _DEEPEST:
            return c.DRV_ERROR_PARA_ERROR
        number = next(number for number in itertools.count() if number not in queues)
        if number >= _MOST:
            return c.DRV_ERROR_NO_RESOURCES
        queues[number] = _Queue(attributes.name.decode(errors="replace"), attributes.depth)
        qid.value = number
        return 0

    def halQueueDestroy(self, devid: int, qid: int) -> int:
        """Give a queue up, messages included."""
        if self._find(devid, qid) is None:
            return c.DRV_ERROR_NOT_EXIST
        del self._queues[devid][qid]
        self.machine.changed.notify_all()
        return 0

    def halQueueReset(self, devid: int, qid: int) -> int:
        """Drop the messages of a queue."""
        queue = self._find(devid, qid)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        queue.messages.clear()
        self.machine.changed.notify_all()
        return 0

    def halQueueQueryInfo(self, devid: int, qid: int, info: Any) -> int:
        """Tell name, depth and how many messages there are."""
        queue = self._find(devid, qid)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        if info is None:
            return c.DRV_ERROR_PARA_ERROR
        info.id, info.name, info.depth = qid, queue.name.encode(), queue.depth
        info.size = len(queue.messages)
        info.status = c.QUEUE_EMPTY if not queue.messages else c.QUEUE_NORMAL
        if len(queue.messages) >= queue.depth:
            info.status = c.QUEUE_FULL
        info.stat.enqueCnt, info.stat.dequeCnt = queue.put, queue.taken
        return 0

    def halQueueGetQidbyName(self, devid: int, name: int, qid: Any) -> int:
        """Find a queue by its name."""
        if not name or qid is None:
            return c.DRV_ERROR_PARA_ERROR
        wanted = ctypes.string_at(name).decode(errors="replace")
        for number, queue in self._queues.get(devid, {}).items():
            if queue.name == wanted:
                qid.value = number
                return 0
        return c.DRV_ERROR_NOT_EXIST

    def halQueueEnQueueBuff(self, devid: int, qid: int, vector: Any, timeout: int) -> int:
        """Put a message of all buffers, one behind the other, at most `timeout` ms (-1: for ever) after it was full."""
        if self._find(devid, qid) is None:
            return c.DRV_ERROR_NOT_EXIST
        if vector is None or not vector.count:
            return c.DRV_ERROR_PARA_ERROR
        memory, what = self.machine.memory, "halQueueEnQueueBuff from"
        context = memory.read(vector.context_base, vector.context_len, what) if vector.context_base else b""
        contents = b"".join(memory.read(base, size, what) for base, size in _buffers(vector))

        def put() -> bool:
            queue = self._find(devid, qid)
            if queue is None or len(queue.messages) >= queue.depth:
                return queue is None
            queue.messages.append((context, contents))
            queue.put += 1
            self.machine.changed.notify_all()
            return True

        return self._when(devid, qid, put, timeout, c.DRV_ERROR_QUEUE_FULL)

    def halQueuePeek(self, devid: int, qid: int, length: Any, timeout: int) -> int:
        """Tell how long the next message is, once there is one."""
        if self._find(devid, qid) is None:
            return c.DRV_ERROR_NOT_EXIST
        if length is None:
            return c.DRV_ERROR_PARA_ERROR

        def peek() -> bool:
            queue = self._find(devid, qid)
            if queue is None or not queue.messages:
                return queue is None
            length.value = len(queue.messages[0][1])
            return True

        return self._when(devid, qid, peek, timeout, c.DRV_ERROR_QUEUE_EMPTY)

    def halQueueDeQueueBuff(self, devid: int, qid: int, vector: Any, timeout: int) -> int:
        """Take the next message into buffers, which must have space for it; what is too small leaves it there."""
        if self._find(devid, qid) is None:
            return c.DRV_ERROR_NOT_EXIST
        if vector is None or not vector.count:
            return c.DRV_ERROR_PARA_ERROR
        small, memory = False, self.machine.memory

        def take() -> bool:
            nonlocal small
            queue = self._find(devid, qid)
            if queue is None or not queue.messages:
                return queue is None
            context, contents = queue.messages[0]
            if len(contents) > sum(size for _, size in _buffers(vector)):
                small = True
                return True
            queue.messages.popleft()
            queue.taken += 1
            for base, size in _buffers(vector):
                memory.write(base, contents[:size], "halQueueDeQueueBuff to")
                contents = contents[size:]
            if vector.context_base:
                memory.write(vector.context_base, context[: vector.context_len], "halQueueDeQueueBuff to")
            self.machine.changed.notify_all()
            return True

        rc = self._when(devid, qid, take, timeout, c.DRV_ERROR_QUEUE_EMPTY)
        return c.DRV_ERROR_PARA_ERROR if small else rc

    def _drop(self, devid: int) -> None:
        self._queues.pop(devid, None)

    def _find(self, devid: int, qid: int) -> _Queue | None:
        return self._queues.get(devid, {}).get(qid)

    def _when(self, devid: int, qid: int, done: Callable[[], bool], timeout: int, late: int) -> int:
        """Do something as soon as it can be done; `late` when that takes too long, NOT_EXIST for a queue that goes."""
        if not self.wait_for(timeout, done):
            return late
        return 0 if self._find(devid, qid) is not None else c.DRV_ERROR_NOT_EXIST


def _buffers(vector: Any) -> Iterator[tuple[int, int]]:
    """Yield (address, bytes) of the entries behind a buff_iovec."""
    entries = (s.iovec_info * vector.count).from_address(ctypes.addressof(vector) + ctypes.sizeof(s.buff_iovec))
    for entry in entries:
        yield entry.iovec_base or 0, entry.len
