"""HAL chapter "message_queue": queues that a host process makes on a card and fills and empties itself, by copy.

Numbers from `FIRST` on are queues of the host, whose messages are buffers. What wakes processes on the device or
joins queues of several devices is not modelled.
"""

from __future__ import annotations

import ctypes
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fakes.errors import NotModelled
from fakes.hal.chapter import Chapter
from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass, field

if TYPE_CHECKING:
    from fakes.hal.message_queue.local import LocalQueues
    from fakes.machine.ports import Machine

FIRST = c.MAX_QUEUE_NUM // 2
"""Number of the first queue of the host; what lies before belongs to cards."""
SHALLOWEST, DEEPEST = 2, 8192
"""Depths that queues may have."""
_WORD = ctypes.sizeof(ctypes.c_uint32)
_EVENTS = "nothing waits for the events of a queue here"


@dataclass(slots=True)
class Queue:
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
        self._queues: dict[int, dict[int, Queue]] = machine.message_queues
        """By card, once message queues were initialised there."""
        self._local_enabled = False
        """Whether queues of the host are allowed."""
        self._started: set[int] = set()
        """Cards for which halQueueInit came after queues of the host were allowed."""
        machine.on_close.append(self._drop)

    @cached_property
    def _local(self) -> LocalQueues:
        from fakes.hal.message_queue.local import LocalQueues

        return LocalQueues(self.machine)

    def halQueueInit(self, devid: int) -> int:
        """Prepare a card for message queues; again is REPEATED_INIT, unless queues of the host are allowed."""
        if self.device(devid) is None:
            return c.DRV_ERROR_INVALID_DEVICE
        if self._local_enabled:
            self._started.add(devid)
            self._queues.setdefault(devid, {})
            return 0
        if devid in self._queues:
            return c.DRV_ERROR_REPEATED_INIT
        self._queues[devid] = {}
        return 0

    def halQueueCreate(self, devid: int, attributes: Any, qid: Any) -> int:
        """Make a queue; its number is the lowest that is free."""
        if self._local_enabled and attributes is not None and attributes.deploy_type == c.LOCAL_QUEUE_DEPLOY:
            if devid not in self._started:
                return c.DRV_ERROR_UNINIT
            return c.DRV_ERROR_INVALID_VALUE if qid is None else self._local.create(devid, attributes, qid)
        queues = self._queues.get(devid)
        if queues is None:
            return c.DRV_ERROR_UNINIT
        if attributes is None or qid is None or not SHALLOWEST <= attributes.depth <= DEEPEST:
            return c.DRV_ERROR_PARA_ERROR
        number = next(number for number in itertools.count() if number not in queues)
        if number >= FIRST:
            return c.DRV_ERROR_NO_RESOURCES
        queues[number] = Queue(attributes.name.decode(errors="replace"), attributes.depth)
        qid.value = number
        return 0

    def halQueueDestroy(self, devid: int, qid: int) -> int:
        """Give a queue up, messages included."""
        if self._is_local(qid):
            return self._local.destroy(qid)
        if self._find(devid, qid) is None:
            return c.DRV_ERROR_NOT_EXIST
        del self._queues[devid][qid]
        if devid in self.machine.schedules:
            self.machine.schedules[devid].gone(qid)
        self.machine.changed.notify_all()
        return 0

    def halQueueReset(self, devid: int, qid: int) -> int:
        """Drop the messages of a queue."""
        if self._is_local(qid):
            return self._local.reset(qid)
        queue = self._find(devid, qid)
        if queue is None:
            return c.DRV_ERROR_NOT_EXIST
        queue.messages.clear()
        self._moved(devid)
        return 0

    def halQueueQueryInfo(self, devid: int, qid: int, info: Any) -> int:
        """Tell name, depth and how many messages there are."""
        if self._is_local(qid):
            return c.DRV_ERROR_INVALID_VALUE if info is None else self._local.describe(qid, info)
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
        text = self._text(name)
        if self._local_enabled:
            return self._local.number_of(devid, text, qid)
        wanted = text.decode(errors="replace")
        for number, queue in self._queues.get(devid, {}).items():
            if queue.name == wanted:
                qid.value = number
                return 0
        return c.DRV_ERROR_NOT_EXIST

    def halQueueEnQueueBuff(self, devid: int, qid: int, vector: Any, timeout: int) -> int:
        """Put a message of all buffers, one behind the other, at most `timeout` ms (-1: for ever) after it was full."""
        if refused := self._refusal(devid, qid, vector is not None and vector.count):
            return refused
        memory, what = self.machine.memory, "halQueueEnQueueBuff from"
        context = memory.read(vector.context_base, vector.context_len, what) if vector.context_base else b""
        contents = b"".join(memory.read(base, size, what) for base, size in _buffers(vector))

        def put() -> bool:
            queue = self._find(devid, qid)
            if queue is None or len(queue.messages) >= queue.depth:
                return queue is None
            queue.messages.append((context, contents))
            queue.put += 1
            self._moved(devid)
            return True

        return self._when(devid, qid, put, timeout, c.DRV_ERROR_QUEUE_FULL)

    def halQueuePeek(self, devid: int, qid: int, length: Any, timeout: int) -> int:
        """Tell how long the next message is, once there is one."""
        if refused := self._refusal(devid, qid, length is not None):
            return refused

        def peek() -> bool:
            queue = self._find(devid, qid)
            if queue is None or not queue.messages:
                return queue is None
            length.value = len(queue.messages[0][1])
            return True

        return self._when(devid, qid, peek, timeout, c.DRV_ERROR_QUEUE_EMPTY)

    def halQueueDeQueueBuff(self, devid: int, qid: int, vector: Any, timeout: int) -> int:
        """Take the next message into buffers, which must have space for it; what is too small leaves it there."""
        if refused := self._refusal(devid, qid, vector is not None and vector.count):
            return refused
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
            self._moved(devid)
            return True

        rc = self._when(devid, qid, take, timeout, c.DRV_ERROR_QUEUE_EMPTY)
        return c.DRV_ERROR_PARA_ERROR if small else rc

    def halQueueGrant(self, devid: int, qid: int, pid: int, _rights: Any) -> int:
        """Let another process use a queue, which changes nothing for the one process here."""
        if self.device(devid) is None or not 0 <= qid < c.MAX_QUEUE_NUM or pid <= 0:
            return c.DRV_ERROR_INVALID_VALUE
        if not self._exists(devid, qid):
            return c.DRV_ERROR_NOT_EXIST
        if pid != self.machine.pid:
            raise NotModelled("halQueueGrant to another process", "queues here are of one process")
        return 0

    def halQueueAttach(self, devid: int, qid: int, timeout: int) -> int:
        """Take part in a queue: its maker does so already."""
        if self.device(devid) is None or qid >= c.MAX_QUEUE_NUM or timeout < -1:
            return c.DRV_ERROR_INVALID_VALUE
        if not self._exists(devid, qid):
            raise NotModelled("halQueueAttach to a queue of another process", "queues here are of one process")
        return 0

    def halQueueEnQueue(self, devid: int, qid: int, handle: int) -> int:
        """Put a message buffer into a queue of the host; those of cards take copies only."""
        if not self._is_local(qid):
            return c.DRV_ERROR_NOT_SUPPORT
        if self.device(devid) is None or qid >= c.MAX_QUEUE_NUM:
            return c.DRV_ERROR_INVALID_VALUE
        return self._local.put(qid, handle)

    def halQueueDeQueue(self, devid: int, qid: int, handle: Any) -> int:
        """Take a message buffer from a queue of the host; those of cards give copies only."""
        if not self._is_local(qid):
            return c.DRV_ERROR_NOT_SUPPORT
        if self.device(devid) is None or qid >= c.MAX_QUEUE_NUM:
            return c.DRV_ERROR_INVALID_VALUE
        return self._local.take(qid, handle)

    def halQueueSubscribe(self, _devid: int, qid: int, _group: int, _kind: int) -> int:
        """Refuse to tell of messages: cards do not tell hosts."""
        return self._unheard("halQueueSubscribe", qid)

    def halQueueSubF2NFEvent(self, _devid: int, qid: int, _group: int) -> int:
        """Refuse to tell of space: cards do not tell hosts."""
        return self._unheard("halQueueSubF2NFEvent", qid)

    def halQueueSet(self, devid: int, command: int, given: Any) -> int:
        """Allow queues of the host, or set the mode of one."""
        if command == c.QUEUE_ENABLE_LOCAL_QUEUE:
            self._local_enabled = True
            return 0
        if command == c.QUEUE_ENABLE_CLIENT_EVENT_MCAST:
            raise NotModelled("halQueueSet(QUEUE_ENABLE_CLIENT_EVENT_MCAST)", _EVENTS)
        if not self._local_enabled:
            return c.DRV_ERROR_NOT_SUPPORT
        size = ctypes.sizeof(s.QueueSetInput)
        if self.device(devid) is None or command != c.QUEUE_SET_WORK_MODE or given is None or not given.inBuff:
            return c.DRV_ERROR_INVALID_VALUE
        if given.inLen != size:
            return c.DRV_ERROR_INVALID_VALUE
        wanted = s.QueueSetWorkMode.from_buffer_copy(self.machine.memory.read(given.inBuff, size, "halQueueSet from"))
        return self._local.set_mode(wanted.qid, wanted.workMode) if self._is_local(wanted.qid) else \
            c.DRV_ERROR_NOT_SUPPORT

    def halQueueQuery(self, devid: int, command: int, asked: Any, told: Any) -> int:
        """Tell rights, the queues of the process, the age of a message, or a fact of the driver."""
        if not 0 <= command < c.QUEUE_QUERY_CMD_MAX:
            return c.DRV_ERROR_NOT_SUPPORT
        if self.device(devid) is None or asked is None or told is None or not told.outBuff:
            return c.DRV_ERROR_INVALID_VALUE
        if command == c.QUEUE_QUERY_SUPPORT_INTER_DEV_QUE:
            raise NotModelled("halQueueQuery(QUEUE_QUERY_SUPPORT_INTER_DEV_QUE)", "no queue here joins devices")
        if command == c.QUEUE_QUERY_MAX_IOVEC_NUM:
            return self._answer(told, c.QUEUE_MAX_IOVEC_NUM.to_bytes(_WORD, "little"), keeps_length=True)
        if command == c.QUEUE_QUERY_QUES_OF_CUR_PROC and self._local_enabled:
            return self._answer(told, b"".join(map(bytes, self._local.all_of(devid))))
        if command != c.QUEUE_QUERY_DEPLOY_TYPE and not self._local_enabled:
            return c.DRV_ERROR_NOT_SUPPORT
        wrong = c.DRV_ERROR_PARA_ERROR if command == c.QUEUE_QUERY_DEPLOY_TYPE else c.DRV_ERROR_INVALID_VALUE
        if not asked.inBuff or asked.inLen < _WORD:
            return wrong
        number = int.from_bytes(self.machine.memory.read(asked.inBuff, _WORD, "halQueueQuery of"), "little")
        if number >= c.MAX_QUEUE_NUM:
            return wrong
        if command == c.QUEUE_QUERY_DEPLOY_TYPE:
            kind = c.LOCAL_QUEUE_DEPLOY if self._is_local(number) else c.CLIENT_QUEUE_DEPLOY
            return self._answer(told, kind.to_bytes(_WORD, "little"), wrong, keeps_length=True)
        if command == c.QUEUE_QUERY_QUE_ATTR_OF_CUR_PROC:
            return self._answer(told, bytes(self._local.rights(devid, number)))
        oldest = self._local.oldest(number)
        return oldest if isinstance(oldest, int) else self._answer(told, oldest)

    def _answer(
        self, told: Any, answer: bytes, short: int = c.DRV_ERROR_INVALID_VALUE, *, keeps_length: bool = False
    ) -> int:
        if told.outLen < len(answer):
            return short
        self.machine.memory.write(told.outBuff, answer, "halQueueQuery to")
        if not keeps_length:
            told.outLen = len(answer)
        return 0

    def _unheard(self, call: str, qid: int) -> int:
        if self._is_local(qid):
            raise NotModelled(f"{call} for a queue of the host", _EVENTS)
        return c.DRV_ERROR_NOT_SUPPORT

    def _refusal(self, devid: int, qid: int, given: object) -> int:
        """Return why a message cannot be moved: a queue of the host, none at all, no place for it; 0 where it can."""
        if self._is_local(qid):
            return c.DRV_ERROR_NOT_SUPPORT
        if self._find(devid, qid) is None:
            return c.DRV_ERROR_NOT_EXIST
        return 0 if given else c.DRV_ERROR_PARA_ERROR

    def _is_local(self, qid: int) -> bool:
        return self._local_enabled and qid >= FIRST

    def _exists(self, devid: int, qid: int) -> bool:
        return self._local.exists(qid) if self._is_local(qid) else self._find(devid, qid) is not None

    def _text(self, address: int) -> bytes:
        """Return the name at an address, without its end; as long as no queue's where there is none."""
        for length in range(c.QUEUE_MAX_STR_LEN):
            if self.machine.memory.read(address + length, 1, "a queue's name at") == b"\0":
                text: bytes = self.machine.memory.read(address, length, "a queue's name at") if length else b""
                return text
        return bytes(c.QUEUE_MAX_STR_LEN)

    def _moved(self, devid: int) -> None:
        """Tell the routes of a card, and whoever waits, that there is a message or space."""
        if devid in self.machine.schedules:
            self.machine.schedules[devid].pass_on()
        self.machine.changed.notify_all()

    def _drop(self, devid: int) -> None:
        self._queues.pop(devid, None)
        self.machine.schedules.pop(devid, None)

    def _find(self, devid: int, qid: int) -> Queue | None:
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
