"""Message queues between the threads of a program, and channels: queues whose messages are tensors (acl_tdt.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from npuhal.records import dataclass
from runtime import errors
from runtime.driver.message_queue import CONTEXT_BYTES, NAME_BYTES, MessageDriver, QueueState
from runtime.errors.arguments import octets, several, whole

if TYPE_CHECKING:
    import numpy as np

    from runtime.core.device.device import Device

SelfQueue = TypeVar("SelfQueue", bound="MessageQueue")

_HEAD = struct.Struct("<iiIIiIIHH24xQ")
"""Before each item: version, kind, its index, how many there are, data type, dimensions, bytes between this head and
the data, slices, which slice this is, bytes of data."""
_DIM = struct.Struct("<q")
_UNIT = 64
_NAME_VERSION = 1
_NUMPY = MappingProxyType({
    0: "f4", 1: "f2", 2: "i1", 3: "i4", 4: "u1", 6: "i2", 7: "u2", 8: "u4", 9: "i8", 10: "u8", 11: "f8", 12: "?",
})  # fmt: skip
"""aclDataType -> NumPy's name."""


class ItemKind(IntEnum):
    """What an item of a message is (acltdtTensorType)."""

    TENSOR = 0
    END_OF_SEQUENCE = 1
    ABNORMAL = 2
    SLICE_TENSOR = 3
    END_TENSOR = 4


SENDABLE = (ItemKind.TENSOR, ItemKind.END_OF_SEQUENCE, ItemKind.ABNORMAL)
"""Kinds that a host may send; slices come from devices."""


@dataclass(frozen=True, slots=True)
class Item:
    """A tensor, or a sign, in a message.

    Attributes:
        data_type: as aclDataType counts.
        slices, slice_number: of how many parts this is which; 0 where it is whole.
    """

    kind: ItemKind
    data_type: int = -1
    dims: tuple[int, ...] = ()
    data: bytes = b""
    slices: int = 0
    slice_number: int = 0

    @classmethod
    def of(cls, array: Any) -> Item:
        """Return the item of an array; InvalidArgument 107000 for a type that devices have not."""
        import numpy as np

        found = np.asarray(array)
        for code, name in _NUMPY.items():
            if found.dtype == np.dtype(name):
                return cls(ItemKind.TENSOR, code, found.shape, found.tobytes())
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"Channel.send: arrays holds one of {found.dtype}, which devices do not have",
            hint=f"there are {', '.join(np.dtype(name).name for name in _NUMPY.values())}",
        )

    def array(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the item's numbers; as bytes where NumPy has no such type."""
        import numpy as np

        name = _NUMPY.get(self.data_type)
        flat = np.frombuffer(self.data, "u1" if name is None else name)
        return flat if name is None else flat.reshape(self.dims)


def packed(items: Iterable[Item]) -> bytes:
    """Return the message of some items: heads and dimensions, padded so that each is followed by its data."""
    listed, message, before = list(items), bytearray(), 0
    for index, item in enumerate(listed):
        size = _HEAD.size + _DIM.size * len(item.dims)
        head_bytes = -(-(size + before) // _UNIT) * _UNIT - before - _HEAD.size
        message += _HEAD.pack(
            0, item.kind, index, len(listed), item.data_type, len(item.dims), head_bytes, item.slices,
            item.slice_number, len(item.data),
        )
        message += b"".join(map(_DIM.pack, item.dims)).ljust(head_bytes, b"\0") + item.data
        before = len(item.data)
    return bytes(message)


def unpacked(message: bytes) -> tuple[str, list[Item]]:
    """Return the name and the items of a message; InternalError 507000 for one that is cut off."""
    name, items = "", []
    for version, item in _items(message):
        if version == _NAME_VERSION:
            name = item.data.decode(errors="replace")
        else:
            items.append(item)
    return name, items


def _items(message: bytes) -> Iterator[tuple[int, Item]]:
    at, left = 0, 1
    while left:
        if at + _HEAD.size > len(message):
            raise _cut_off(at, len(message))
        version, kind, index, count, data_type, rank, head_bytes, slices, number, size = _HEAD.unpack_from(message, at)
        at += _HEAD.size
        begin = at + max(head_bytes, rank * _DIM.size)
        if begin + size > len(message) or kind not in tuple(ItemKind):
            raise _cut_off(at, len(message))
        dims = tuple(_DIM.unpack_from(message, at + dim * _DIM.size)[0] for dim in range(rank))
        yield version, Item(ItemKind(kind), data_type, dims, message[begin : begin + size], slices, number)
        at, left = begin + size, count - index - 1


def _cut_off(at: int, size: int) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_INTERNAL_ERROR", f"a message of {size} bytes holds no item at byte {at}",
        hint="send with Channel.send, or in the form of acltdtSendTensor",
    )


class MessageQueue:
    """A queue of messages of bytes on a device; `device.create_message_queue` makes it.

    Any threads of the process may put and get. Close it, or use it with `with`; closing drops what is in it.
    """

    def __init__(self, device: Device, name: str, depth: int) -> None:
        device.check_open()
        if len(name.encode()) > NAME_BYTES or depth < 2:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"a message queue {name!r} for {depth} messages",
                hint=f"names have up to {NAME_BYTES} bytes, queues space for 2 messages or more",
            )
        self.device, self.name, self.depth = device, name, depth
        self._driver = MessageDriver(device.hal, device.device_id)
        self._driver.prepare()
        self.number = self._driver.create(name, depth)
        self._open = True

    def put(self, contents: bytes, context: bytes = b"", *, timeout_ms: int = -1) -> None:
        """Put a message, waiting for space.

        Args:
            context: up to 96 bytes that go with it.
            timeout_ms: milliseconds to wait; 0 does not wait, -1 waits for ever.

        Raises:
            ResourceExhausted 207014: the queue stayed full.
            InvalidArgument 107000: an empty message, or too long a context.
        """
        self.check_open()
        contents = octets("MessageQueue.put", "contents", contents, "pass bytes")
        context = octets("MessageQueue.put", "context", context, "pass bytes")
        if not contents or len(context) > CONTEXT_BYTES:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"a message of {len(contents)} bytes with {len(context)} beside it",
                hint=f"pass one byte or more, and up to {CONTEXT_BYTES} beside it",
            )
        self._driver.send(self.number, contents, context, whole("MessageQueue.put", "timeout_ms", timeout_ms))

    def get(self, *, timeout_ms: int = -1) -> tuple[bytes, bytes]:
        """Take the next message, waiting for one, and return it and the 96 bytes that go with it.

        Raises:
            StreamError 207013: the queue stayed empty.
        """
        size = self.next_size(timeout_ms=timeout_ms)
        return self._driver.receive(self.number, size, 0)

    def next_size(self, *, timeout_ms: int = -1) -> int:
        """Return the bytes of the next message, waiting for one as `get` does."""
        self.check_open()
        return self._driver.peek(self.number, whole("MessageQueue.get", "timeout_ms", timeout_ms))

    def state(self) -> QueueState:
        """Return name, depth and size as the driver has them."""
        self.check_open()
        return self._driver.state(self.number)

    def __len__(self) -> int:
        return self.state().size

    def clear(self) -> None:
        """Drop the messages that are in the queue."""
        self.check_open()
        self._driver.clear(self.number)

    def check_open(self) -> None:
        """Raise InvalidHandle 107017 when the queue was closed, or its device."""
        self.device.check_open()
        if not self._open:
            raise errors.fault("ACL_ERROR_RT_INVALID_HANDLE", f"{self!r} was closed", hint="make a new one")

    def close(self) -> None:
        """Give the queue up; again does nothing."""
        if self._open and not self.device.closed:
            self._driver.destroy(self.number)
        self._open = False

    def __enter__(self: SelfQueue) -> SelfQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} {self.number} {self.name!r} of device {self.device.user_id}, {self.depth} messages at most>"


class Channel(MessageQueue):
    """A queue whose messages are lists of tensors; `device.create_channel` makes it.

    >>> with device.create_channel("batches", capacity=4) as channel:
    ...     channel.send([images, labels])
    ...     images, labels = channel.receive()
    """

    def send(self, arrays: Iterable[Any], *, timeout_ms: int = -1) -> None:
        """Send arrays as one message; see `put` for times and errors."""
        given = several("Channel.send", "arrays", arrays, object, "pass a list of arrays")
        self.send_items([Item.of(array) for array in given], timeout_ms=timeout_ms)

    def receive(self, *, timeout_ms: int = -1) -> list[Any]:
        """Return the arrays of the next message; see `get` for times and errors. Signs in it are left out."""
        items = self.receive_items(timeout_ms=timeout_ms)[1]
        return [item.array() for item in items if item.kind not in (ItemKind.END_OF_SEQUENCE, ItemKind.ABNORMAL)]

    def send_items(self, items: list[Item], *, timeout_ms: int = -1) -> None:
        """Send tensors and signs as one message."""
        if not items:
            raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", "a message without tensors", hint="send one or more")
        self.put(packed(items), timeout_ms=timeout_ms)

    def receive_items(self, *, timeout_ms: int = -1) -> tuple[str, list[Item]]:
        """Return the name that the sender gave the next message, and its tensors and signs."""
        return unpacked(self.get(timeout_ms=timeout_ms)[0])
