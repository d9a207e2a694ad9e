"""The send call: buffer and info struct prepared once, through the mapped ring of a queue that has one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from runtime.driver.calls import HalCalls

SQE_BYTES = 64


class MappedRing:
    """SQ memory that is mapped into this process (STARS v2): where the next SQE goes, and how it gets there.

    SQEs are put together in a staging buffer and copied in one piece, because the mapping may be device memory, which
    takes whole 64-byte units only. The send that follows names the position, and the driver only moves the tail
    (hal_semantics 4.3, zero-copy). Entries that wrap around the end are left to the driver to copy.
    """

    __slots__ = ("base", "depth", "entries", "tail")

    def __init__(self, base: int, depth: int) -> None:
        self.depth = depth
        self.move(base)

    def move(self, base: int) -> None:
        """Go on at the first position of a ring at another address."""
        self.base = base
        self.entries = memoryview((ctypes.c_char * (SQE_BYTES * self.depth)).from_address(base)).cast("B")
        self.tail = 0
        """Position of the next SQE; moved by whoever sends, under the stream's lock."""

    def through(self, send: Callable[..., int], info: Any, staging: bytearray) -> Callable[..., int]:
        """Return `send` with the copy into the ring in front of it; it sends what `info.sqe_num` says."""
        depth, source = self.depth, ctypes.addressof((ctypes.c_char * len(staging)).from_buffer(staging))

        def send_in_place(device_id: int, reference: Any) -> int:
            tail, count = self.tail, info.sqe_num
            if tail + count <= depth:
                at = tail * SQE_BYTES
                self.entries[at : at + count * SQE_BYTES] = memoryview(staging)[: count * SQE_BYTES]
                info.sqe_addr = self.base + at
            else:
                info.sqe_addr = source
            rc = send(device_id, reference)
            if not rc:
                self.tail = (tail + count) % depth
            return rc

        def send_one_in_place(device_id: int, reference: Any) -> int:
            tail = self.tail
            at = tail * SQE_BYTES
            self.entries[at : at + SQE_BYTES] = staging
            info.sqe_addr = self.base + at
            if rc := send(device_id, reference):
                return rc
            self.tail = (tail + 1) % depth
            return 0

        return send_one_in_place if len(staging) == SQE_BYTES else send_in_place


class Sender:
    """One halSqTaskSend, prepared once: a staging buffer for the SQEs and an info struct.

    `send()` is untyped on purpose: it may only be called as `send(device_id, reference)`.
    """

    __slots__ = ("_keep", "buffer", "device_id", "info", "made", "most", "raw", "reference", "ring", "send", "sq_id")

    def __init__(self, calls: HalCalls, ts_id: int, sq_id: int, count: int, ring: MappedRing | None) -> None:
        self.buffer = bytearray(SQE_BYTES * count)
        staging = (ctypes.c_char * len(self.buffer)).from_buffer(self.buffer)
        info = s.halTaskSendInfo()
        info.type, info.tsId, info.sqId, info.timeout = c.DRV_NORMAL_TYPE, ts_id, sq_id, 0
        info.sqe_addr = ctypes.addressof(staging)
        info.sqe_num = count
        self._keep = staging
        self.info, self.reference = info, ctypes.byref(info)
        self.device_id, self.sq_id, self.ring = calls.device_id, sq_id, ring
        self.most = count
        """SQEs that one send takes."""
        self.raw = calls.hal.raw_held("halSqTaskSend")
        """The driver's function, and the mapped ring."""
        self.made = self.raw if ring is None else ring.through(self.raw, info, self.buffer)
        """What `send` is, unless somebody has put something in its place."""
        self.send = self.made
