"""Message queues of the driver (ascend_hal_base.h, chapter of halQueue*): bytes from one thread of a host to another.

Every wait is cut into slices, so that no thread is inside the driver for long.
"""

from __future__ import annotations

import ctypes
import queue
import time
from collections.abc import Callable

from npuhal import constants as c
from npuhal import structs as s
from npuhal.changed import start_thread
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.driver.calls import HalCalls

NAME_BYTES = c.QUEUE_MAX_STR_LEN - 1
"""Longest name of a queue."""
CONTEXT_BYTES = 96
"""Bytes beside its contents that a message may carry."""
FIRST_CALL_S = 30.0
"""How long the driver may take for its first call about message queues."""
_SLICE_MS = 200


class QueueState(NamedTuple):
    """What a queue holds now."""

    name: str
    depth: int
    size: int


class MessageDriver(HalCalls):
    """The message queues of one device, by number."""

    __slots__ = ()

    def prepare(self) -> None:
        """Make the device ready for message queues, if it is not.

        Raises:
            NotSupported 207000: the driver has none.
            Timeout 507046: the driver does not answer.
        """
        if not self.hal.has("halQueueInit"):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "the driver's library has no message queues",
                hint="use a driver that has halQueueInit",
            )
        rc = self._first_call()
        if rc != c.DRV_ERROR_REPEATED_INIT:
            self.check(rc, "halQueueInit", f"device {self.device_id}")

    def _first_call(self) -> int:
        """Call halQueueInit, which waits for processes of the driver; not for ever, whatever it waits for."""
        answers: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()

        def work() -> None:
            try:
                answers.put(self.hal.halQueueInit(self.device_id))
            except BaseException as problem:
                answers.put(problem)

        start_thread(work, "npuhal message queues")
        try:
            answer = answers.get(timeout=FIRST_CALL_S)
        except queue.Empty:
            raise errors.fault(
                "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT",
                f"the driver did not get message queues of device {self.device_id} ready within {FIRST_CALL_S:g} s",
                hint="its queue service does not answer: look at the device's processes with npu-smi info and dmesg",
            ) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def create(self, name: str, depth: int) -> int:
        """Make a queue for up to `depth` messages and return its number."""
        attributes, number = s.QueueAttr(depth=depth, name=name.encode()), ctypes.c_uint32()
        attributes.workMode = c.QUEUE_MODE_PULL
        rc = self.hal.halQueueCreate(self.device_id, ctypes.byref(attributes), ctypes.byref(number))
        self.check(rc, "halQueueCreate", f"queue {name!r} of {depth} messages")
        return number.value

    def destroy(self, number: int) -> None:
        """Give a queue up."""
        self.check(self.hal.halQueueDestroy(self.device_id, number), "halQueueDestroy", f"queue {number}")

    def clear(self, number: int) -> None:
        """Drop the messages of a queue."""
        self.check(self.hal.halQueueReset(self.device_id, number), "halQueueReset", f"queue {number}")

    def state(self, number: int) -> QueueState:
        """Return name, depth and how many messages a queue has."""
        info = s.QueueInfo()
        rc = self.hal.halQueueQueryInfo(self.device_id, number, ctypes.byref(info))
        self.check(rc, "halQueueQueryInfo", f"queue {number}")
        return QueueState(info.name.decode(errors="replace"), info.depth, info.size)

    def send(self, number: int, contents: bytes, context: bytes, timeout_ms: int) -> None:
        """Put a message, waiting for space; ResourceExhausted 207014 when there is none in time."""
        vector = _Vector(len(contents), len(context))
        ctypes.memmove(vector.contents, contents, len(contents))
        ctypes.memmove(vector.context, context, len(context))
        self._within(
            timeout_ms, c.DRV_ERROR_QUEUE_FULL, "halQueueEnQueueBuff", number,
            lambda slice_ms: self.hal.halQueueEnQueueBuff(self.device_id, number, vector.reference, slice_ms),
        )

    def peek(self, number: int, timeout_ms: int) -> int:
        """Return the bytes of the next message, waiting for one; StreamError 207013 when none comes in time."""
        length = ctypes.c_uint64()
        self._within(
            timeout_ms, c.DRV_ERROR_QUEUE_EMPTY, "halQueuePeek", number,
            lambda slice_ms: self.hal.halQueuePeek(self.device_id, number, ctypes.byref(length), slice_ms),
        )
        return length.value

    def receive(self, number: int, size: int, timeout_ms: int) -> tuple[bytes, bytes]:
        """Take a message of up to `size` bytes and return contents and context; see `peek`."""
        vector = _Vector(size, CONTEXT_BYTES)
        self._within(
            timeout_ms, c.DRV_ERROR_QUEUE_EMPTY, "halQueueDeQueueBuff", number,
            lambda slice_ms: self.hal.halQueueDeQueueBuff(self.device_id, number, vector.reference, slice_ms),
        )
        return vector.contents.raw[:size], vector.context.raw[:CONTEXT_BYTES]

    def _within(self, timeout_ms: int, late: int, call: str, number: int, ask: Callable[[int], int]) -> None:
        deadline = None if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
        while True:
            left = _SLICE_MS if deadline is None else int(max(deadline - time.monotonic(), 0) * 1000)
            rc = ask(min(left, _SLICE_MS))
            if rc != late or (deadline is not None and time.monotonic() >= deadline):
                self.check(rc, call, f"queue {number} of device {self.device_id}")
                return


class _Vector:
    """One buffer and its context, as the driver takes them (struct buff_iovec)."""

    def __init__(self, size: int, context_size: int) -> None:
        self.contents = ctypes.create_string_buffer(max(size, 1))
        self.context = ctypes.create_string_buffer(max(context_size, 1))
        self._block = ctypes.create_string_buffer(ctypes.sizeof(s.buff_iovec) + ctypes.sizeof(s.iovec_info))
        head = s.buff_iovec.from_buffer(self._block)
        head.context_base, head.context_len, head.count = ctypes.addressof(self.context), context_size, 1
        entry = s.iovec_info.from_buffer(self._block, ctypes.sizeof(s.buff_iovec))
        entry.iovec_base, entry.len = ctypes.addressof(self.contents), size
        self.reference = ctypes.byref(head)
