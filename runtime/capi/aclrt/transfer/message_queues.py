"""Message queues by name (acl_tdt_queue.h), as a host has them: attributes, queues, data put and taken by copy.

Rights of other processes and buffers in queues are refused on a host (`routes`, `buffers`).
"""

from __future__ import annotations

import ctypes

from npuhal.records import dataclass, field
from npuhal.words import count
from runtime import errors
from runtime.capi.aclrt.checks import null, refuse, zero
from runtime.capi.aclrt.entry import Out, entry, need, object_of, wrong
from runtime.capi.aclrt.kinds import I32, U32, Address, Enum, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.driver.esched import Asked, ScheduleDriver
from runtime.driver.message_queue import CONTEXT_BYTES, NAME_BYTES
from runtime.feature.messages import MessageQueue
from runtime.memory import caller

_NAME, _DEPTH = 0, 1
"""acltdtQueueAttrType."""
_DEFAULT_DEPTH = 8
_POINTER, _WORD = ctypes.sizeof(ctypes.c_void_p), ctypes.sizeof(ctypes.c_uint32)


@dataclass(slots=True, eq=False)
class QueueAttributes:
    """What a queue is to be; the name where the caller can read it."""

    name: ctypes.Array[ctypes.c_char] = field(default_factory=lambda: ctypes.create_string_buffer(NAME_BYTES + 1))
    depth: int = _DEFAULT_DEPTH


@entry()
def acltdtCreateQueueAttr(acl: Acl) -> Handle:
    """Make attributes with their defaults, no name and 8 messages, and return the handle."""
    return acl.runtime.handles.add(QueueAttributes())


@entry(null("attr"))
def acltdtDestroyQueueAttr(acl: Acl, attr: Handle) -> None:
    """Give attributes up."""
    _attributes(acl, "acltdtDestroyQueueAttr", attr)
    acl.runtime.handles.remove(attr)


@entry(null("attr", "param"))
def acltdtSetQueueAttr(acl: Acl, attr: Handle, type: Enum, len: Size, param: Address) -> None:
    """Set the name (type 0, a pointer to a pointer) or the depth (1, a pointer to 32 bits)."""
    call, size = "acltdtSetQueueAttr", len
    found = _attributes(acl, call, attr)
    need(call, param=param)
    capacity = _size_of_kind(call, type)
    if size > capacity:
        raise wrong(call, size, "len", f"[0, {capacity}]", message="EH0009")
    given = caller.read(param, size) if size else b""
    if capacity == _WORD:
        found.depth = int.from_bytes(given + found.depth.to_bytes(_WORD, "little")[size:], "little")
        return
    text = int.from_bytes(given, "little")
    if not text:
        raise errors.fault("ACL_ERROR_INVALID_PARAM", f"{call}: the name is NULL", hint="let param point to a pointer")
    name = caller.text(text)
    if name[NAME_BYTES:]:
        raise wrong(call, name.decode(errors="replace"), "name", f"one of up to {NAME_BYTES} bytes")
    found.name.value = name


@entry(null("attr", "param", "paramRetSize"))
def acltdtGetQueueAttr(
    acl: Acl, attr: Handle, type: Enum, len: Size, paramRetSize: Out[Size], param: Address
) -> None:
    """Write the name's address (type 0) or the depth (1) to `param`."""
    call = "acltdtGetQueueAttr"
    found = _attributes(acl, call, attr)
    need(call, param=param, paramRetSize=paramRetSize)
    capacity = _size_of_kind(call, type)
    if len < capacity:
        raise wrong(call, len, "len", f"{capacity} or more", message="EH0009")
    value = ctypes.addressof(found.name) if capacity == _POINTER else found.depth
    caller.write(param, value.to_bytes(capacity, "little"), capacity)
    paramRetSize.value = capacity


@entry(null("qid"))
def acltdtCreateQueue(acl: Acl, attr: Handle, qid: Out[U32]) -> None:
    """Make a queue on the thread's device, with attributes or the defaults; gives its number."""
    call = "acltdtCreateQueue"
    wanted = _attributes(acl, call, attr) if attr else QueueAttributes()
    device = acl.runtime.current_context().device
    queue = MessageQueue(device, wanted.name.value.decode(errors="replace"), wanted.depth)
    acl.queues[device.user_id, queue.number] = queue
    qid.value = queue.number


@entry()
def acltdtDestroyQueue(acl: Acl, qid: U32) -> None:
    """Give a queue up, with what is in it; one that routes go from or to is refused (500001)."""
    call = "acltdtDestroyQueue"
    queue = _queue(acl, call, qid)
    bound = routes_of(acl, qid)
    if bound:
        raise errors.fault(
            "ACL_ERROR_FAILURE", f"{call}: {queue!r} is part of {count(bound, 'route')}",
            hint="unbind them first (acltdtUnbindQueueRoutes)",
        )
    queue.close()
    del acl.queues[queue.device.user_id, queue.number]


@entry(
    null("data"), zero("dataSize"),
    refuse("userDataSize and not userData", "userData", "the bytes that userDataSize counts", "EH0008"),
)  # fmt: skip
def acltdtEnqueueData(
    acl: Acl, qid: U32, data: Address, dataSize: Size, userData: Address, userDataSize: Size,
    timeout: I32, rsv: U32,
) -> None:  # fmt: skip
    """Put a copy of data and of up to 96 bytes beside it: -1 waits for space, 0 does not, else milliseconds."""
    call = "acltdtEnqueueData"
    aside = caller.read(userData, userDataSize) if userData else b""
    _queue(acl, call, qid).put(caller.read(data, dataSize), aside, timeout_ms=timeout)


@entry(null("data", "retDataSize"), zero("dataSize"), null("dataSize"))
def acltdtDequeueData(
    acl: Acl, qid: U32, data: Address, dataSize: Size, retDataSize: Out[Size], userData: Address,
    userDataSize: Size, timeout: I32,
) -> None:  # fmt: skip
    """Take the next message into memory of the caller's; `retDataSize` tells its size also where there is no space."""
    call = "acltdtDequeueData"
    queue = _queue(acl, call, qid)
    retDataSize.value = size = queue.next_size(timeout_ms=timeout)
    if size > dataSize:
        raise wrong(call, dataSize, "dataSize", f"{size} or more")
    contents, aside = queue.get(timeout_ms=0)
    caller.write(data, contents, size)
    if userData:
        caller.write(userData, aside, min(userDataSize, CONTEXT_BYTES))


def routes_of(acl: Acl, queue: int) -> int:
    """Return how many routes a queue of the thread's device is part of; where nobody has bound any, nobody is asked."""
    device = acl.runtime.current_context().device
    if device.user_id not in acl.routed:
        return 0
    return ScheduleDriver(device.hal, device.device_id).count(Asked.EITHER, queue, queue)


def _size_of_kind(call: str, kind: int) -> int:
    if kind not in (_NAME, _DEPTH):
        raise wrong(call, kind, "type", "0 (name) or 1 (depth)")
    return _POINTER if kind == _NAME else _WORD


def _attributes(acl: Acl, call: str, attr: int) -> QueueAttributes:
    return object_of(acl, call, QueueAttributes, attr=attr)


def _queue(acl: Acl, call: str, qid: int) -> MessageQueue:
    device = acl.runtime.current_context().device
    found = acl.queues.get((device.user_id, qid))
    if found is None:
        raise errors.fault(
            "ACL_ERROR_INVALID_QUEUE_ID", f"{call}: device {device.user_id} has no message queue {qid}",
            hint="pass the number that acltdtCreateQueue gave, on the same device",
        )
    return found
