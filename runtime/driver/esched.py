"""Messages to the queue schedule, the process of a device that passes messages of queues on (qs_client.h).

A request names a block of device memory with a head and one row per route; the schedule writes what became of each
route into the row. Layouts: QsRouteHead, QueueRoute, QueueRouteList, QueueRouteQuery, QsProcMsgRsp, packed.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from enum import IntEnum

from chips.memory_rules import internal_flags
from npuhal import constants as c
from npuhal import structs as s
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.driver.calls import HalCalls
from runtime.driver.memory import MemoryDriver

HEAD = struct.Struct("<IIIQ")
"""Bytes of all, routes, request, a word of the schedule's."""
ROW = struct.Struct("<IIiHH24x")
"""Source, target, status, and their kinds: 0 is a queue."""
QUESTION = struct.Struct("<8xIIIHH16x")
"""What is asked (`Asked`), source, target, and their kinds."""
REQUEST = struct.Struct("<8xQ24x")
"""Where head and rows are."""
GREETING = struct.Struct("<8xiIH22x")
"""Process, group of its events, version of its message buffers."""
REPLY = struct.Struct("<8xiIHH20x")
"""Code, a number (routes), and the version of the schedule."""
MOST_ROUTES = 1 << 16
_LONGEST_MS = 30_000
"""How long the schedule may take."""


class Request(IntEnum):
    """What is asked of the schedule (QueueSubEventType)."""

    BIND = 2049
    GREET = 2050
    UNBIND = 2051
    QUERY = 2052
    COUNT = 2053


class Asked(IntEnum):
    """Which routes a question is about (QsQueryType)."""

    SOURCE = 0
    TARGET = 1
    BOTH = 2
    EITHER = 3
    FAILED = 100


class Route(NamedTuple):
    """From one queue to another, by their numbers; the status is 0 unbound, 1 bound, 2 a queue of it has failed."""

    source: int
    target: int
    status: int = 0


class ScheduleDriver(HalCalls):
    """The queue schedule of one device."""

    __slots__ = ()

    def greet(self, pid: int) -> None:
        """Make this process known to the schedule."""
        self._ask(Request.GREET, GREETING.pack(pid, 0, 1))

    def change(self, routes: Iterable[Route], *, bind: bool) -> list[Route]:
        """Bind or unbind routes, and return them as they are then.

        Raises:
            InternalError 500001: one of them cannot be bound; the others are.
        """
        wanted, request = tuple(routes), Request.BIND if bind else Request.UNBIND
        return self._rows(request, b"", wanted)

    def count(self, asked: int, source: int, target: int) -> int:
        """Return how many routes a question is about."""
        return self._ask(Request.COUNT, QUESTION.pack(asked, source, target, 0, 0))

    def query(self, asked: int, source: int, target: int) -> list[Route]:
        """Return the routes that a question is about."""
        count = self.count(asked, source, target)
        question = QUESTION.pack(asked, source, target, 0, 0)
        return self._rows(Request.QUERY, question, (Route(0, 0),) * count) if count else []

    def _rows(self, request: Request, question: bytes, rows: tuple[Route, ...]) -> list[Route]:
        """Send rows in device memory, and return them as the schedule leaves them there."""
        body = question + b"".join(ROW.pack(*row, 0, 0) for row in rows)
        memory, size = MemoryDriver(self.hal, self.device_id), HEAD.size + len(body)
        address = memory.alloc(size, internal_flags())
        try:
            memory.write(address, HEAD.pack(size, len(rows), request, 0) + body)
            self._ask(request, REQUEST.pack(address))
            image = memory.read(address, size)[HEAD.size + len(question):]
        finally:
            memory.free(address)
        return [Route(*row[:3]) for row in ROW.iter_unpack(image)]

    def _ask(self, request: Request, message: bytes) -> int:
        """Send a message, wait for the answer, and return its number."""
        call = "halEschedSubmitEventSync"
        if not self.hal.has(call):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "the driver's library cannot reach the queue schedule",
                hint=f"use a driver that has {call}",
            )
        text, answer = ctypes.create_string_buffer(message, len(message)), ctypes.create_string_buffer(REPLY.size)
        event = s.event_summary(
            pid=self._process(), event_id=c.EVENT_QS_MSG, subevent_id=request, msg_len=len(message),
            msg=ctypes.addressof(text), dst_engine=c.ACPU_DEVICE,
        )
        reply = s.event_reply(buf=ctypes.addressof(answer), buf_len=REPLY.size)
        rc = self.hal.halEschedSubmitEventSync(self.device_id, ctypes.byref(event), _LONGEST_MS, ctypes.byref(reply))
        self.check(rc, call, f"{request.name.lower()} of routes, device {self.device_id}")
        code, number, *_ = REPLY.unpack(answer.raw)
        if code:
            raise errors.fault(
                "ACL_ERROR_FAILURE", f"{request.name.lower()} of routes: the queue schedule of device {self.device_id} "
                f"answers {code}", hint="routes join two queues that exist, without loops, and none passes on "
                "what another has brought",
            )
        return int(number)

    def _process(self) -> int:
        """Return the id of the process on the device that takes messages for the schedule."""
        asked, found = s.halQueryDevpidInfo(), ctypes.c_int32()
        asked.hostpid, asked.devid, asked.proc_type = self.hal.drvDeviceGetBareTgid(), self.device_id, \
            c.DEVDRV_PROCESS_CP1
        self.check(self.hal.halQueryDevpid(asked, ctypes.byref(found)), "halQueryDevpid", f"device {self.device_id}")
        return found.value
