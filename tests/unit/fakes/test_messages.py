"""Message queues of the fake: who may do what when, and what a wait ends with."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import npuhal
from npuhal import constants as c
from npuhal import structs as s


@pytest.fixture(scope="module", params=["fake", "fake-abi"])
def hal(request: pytest.FixtureRequest) -> Iterator[npuhal.HalApi]:
    backend = npuhal.open_hal(f"{request.param}://ascend910b3")
    yield backend
    backend.close()


@pytest.fixture
def queue(hal: npuhal.HalApi) -> Iterator[int]:
    """A queue for two messages."""
    assert hal.halQueueInit(0) in (0, c.DRV_ERROR_REPEATED_INIT)
    number = made(hal, 2)
    yield number
    assert hal.halQueueDestroy(0, number) in (0, c.DRV_ERROR_NOT_EXIST)


def made(hal: npuhal.HalApi, depth: int, name: bytes = b"q") -> int:
    number = ctypes.c_uint32(99)
    assert hal.halQueueCreate(0, ctypes.byref(s.QueueAttr(name=name, depth=depth)), ctypes.byref(number)) == 0
    return number.value


class Vector:
    """Several buffers, and 8 bytes beside them."""

    def __init__(self, *contents: bytes, aside: bytes = b"") -> None:
        self.buffers = [ctypes.create_string_buffer(data, len(data)) for data in contents]
        self.aside = ctypes.create_string_buffer(aside, 8)
        self.block = ctypes.create_string_buffer(ctypes.sizeof(s.buff_iovec) + 16 * len(contents))
        head = s.buff_iovec.from_buffer(self.block)
        head.context_base, head.context_len, head.count = ctypes.addressof(self.aside), 8, len(contents)
        entries = (s.iovec_info * len(contents)).from_buffer(self.block, ctypes.sizeof(s.buff_iovec))
        for entry, buffer in zip(entries, self.buffers, strict=True):
            entry.iovec_base, entry.len = ctypes.addressof(buffer), len(buffer)
        self.reference = ctypes.byref(head)

    @property
    def contents(self) -> list[bytes]:
        return [buffer.raw for buffer in self.buffers]


def test_messages_go_through_whole_and_in_order(hal: npuhal.HalApi, queue: int) -> None:
    assert hal.halQueueEnQueueBuff(0, queue, Vector(b"ab", b"cde", aside=b"one").reference, 0) == 0
    assert hal.halQueueEnQueueBuff(0, queue, Vector(b"second").reference, 0) == 0
    assert hal.halQueueEnQueueBuff(0, queue, Vector(b"third").reference, 5) == c.DRV_ERROR_QUEUE_FULL
    assert state(hal, queue) == (2, c.QUEUE_FULL)
    length = ctypes.c_uint64()
    assert hal.halQueuePeek(0, queue, ctypes.byref(length), 0) == 0
    assert length.value == 5
    small, fitting = Vector(bytes(4)), Vector(bytes(1), bytes(9))
    assert hal.halQueueDeQueueBuff(0, queue, small.reference, 0) == c.DRV_ERROR_PARA_ERROR
    assert hal.halQueueDeQueueBuff(0, queue, fitting.reference, 0) == 0
    assert fitting.contents == [b"a", b"bcde" + bytes(5)]
    assert fitting.aside.value == b"one"
    assert state(hal, queue) == (1, c.QUEUE_NORMAL)
    assert hal.halQueueReset(0, queue) == 0
    assert state(hal, queue) == (0, c.QUEUE_EMPTY)
    assert hal.halQueueDeQueueBuff(0, queue, fitting.reference, 5) == c.DRV_ERROR_QUEUE_EMPTY


def state(hal: npuhal.HalApi, queue: int) -> tuple[int, int]:
    info = s.QueueInfo()
    assert hal.halQueueQueryInfo(0, queue, ctypes.byref(info)) == 0
    assert (info.id, info.name, info.depth) == (queue, b"q", 2)
    assert info.stat.enqueCnt - info.stat.dequeCnt >= info.size
    return info.size, info.status


@pytest.mark.parametrize(("end", "code"), [
    (lambda hal, queue: hal.halQueueEnQueueBuff(0, queue, Vector(b"x").reference, 0), 0),
    (lambda hal, queue: hal.halQueueDestroy(0, queue), c.DRV_ERROR_NOT_EXIST),
])  # fmt: skip
def test_a_wait_ends_with_a_message_or_with_the_queue(
    hal: npuhal.HalApi, queue: int, end: Callable[[npuhal.HalApi, int], Any], code: int
) -> None:
    answers: list[int] = []
    length = ctypes.c_uint64()
    waiter = threading.Thread(target=lambda: answers.append(hal.halQueuePeek(0, queue, ctypes.byref(length), 10_000)))
    waiter.start()
    assert end(hal, queue) == 0
    waiter.join(60)
    assert answers == [code]


def test_what_is_refused(hal: npuhal.HalApi, queue: int) -> None:
    number = ctypes.c_uint32()
    assert hal.halQueueInit(7) == c.DRV_ERROR_INVALID_DEVICE
    for depth in (0, 1, 8193):
        attributes = ctypes.byref(s.QueueAttr(depth=depth))
        assert hal.halQueueCreate(0, attributes, ctypes.byref(number)) == c.DRV_ERROR_PARA_ERROR
    assert hal.halQueueCreate(0, None, ctypes.byref(number)) == c.DRV_ERROR_PARA_ERROR
    assert hal.halQueueEnQueueBuff(0, queue, None, 0) == c.DRV_ERROR_PARA_ERROR
    assert hal.halQueuePeek(0, queue, None, 0) == c.DRV_ERROR_PARA_ERROR
    assert hal.halQueueDestroy(0, queue + 50) == c.DRV_ERROR_NOT_EXIST
    assert hal.halQueueEnQueue(0, queue, None) == c.DRV_ERROR_NOT_SUPPORT


def test_queues_are_found_by_name(hal: npuhal.HalApi, queue: int) -> None:
    other, number = made(hal, 5, b"other"), ctypes.c_uint32()
    name = ctypes.create_string_buffer(b"other")
    assert hal.halQueueGetQidbyName(0, ctypes.addressof(name), ctypes.byref(number)) == 0
    assert number.value == other != queue
    assert hal.halQueueDestroy(0, other) == 0
    assert hal.halQueueGetQidbyName(0, ctypes.addressof(name), ctypes.byref(number)) == c.DRV_ERROR_NOT_EXIST


def test_queues_come_after_their_start() -> None:
    hal = npuhal.open_hal("fake://ascend910b3")
    number = ctypes.c_uint32()
    assert hal.halQueueCreate(0, ctypes.byref(s.QueueAttr(depth=2)), ctypes.byref(number)) == c.DRV_ERROR_UNINIT
    assert [hal.halQueueInit(0), hal.halQueueInit(0)] == [0, c.DRV_ERROR_REPEATED_INIT]
    hal.close()
