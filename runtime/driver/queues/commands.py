"""Queues of commands: sends in two steps, one completion queue for all, and what says how far a stream is.

The scheduler of such a chip has no head that says what was executed. It says so in a table that it shares with the
host (`status_table`), or in reports (`task_reports`); `Progress` is what both have in common. Sources: hal_semantics
4.4 and 4.8, core_spec 6.5.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Protocol

from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import replace
from runtime.driver.calls import HalCalls
from runtime.driver.queues.pairs import NO_ID, QueueDriver, QueueOptions, QueuePair, Ring
from runtime.driver.queues.send import SQE_BYTES, MappedRing, Sender
from runtime.driver.resource_table import ResourceTable

MOST_COMMANDS = 4
"""Commands of one reservation: the library stages 256 bytes."""

_REPORT_BYTES = 16
"""struct rtLogicReport_t."""


class Progress(Protocol):
    """How far the streams of a device are, as its scheduler says."""

    status_sq: int
    """The queue through which the table is shared; NO_ID where there is none."""

    def begin(self, stream_id: int) -> None:
        """Forget what was said of a stream: another one has its id from now on."""

    def last(self, stream_id: int) -> int | None:
        """Return the id of the last task that was executed; None before the first one."""

    def look(self, stream_id: int) -> bool:
        """Read what the device has said; tells whether there is something to take for a stream."""

    def take(self, stream_id: int) -> list[bytes]:
        """Return the reports about tasks of a stream that came since the last call."""

    def close(self) -> None:
        """Give back what it is read from."""


class CommandQueues(QueueDriver):
    """The SQ/CQ chapter for one device that takes commands."""

    __slots__ = ("_lock", "_pairs", "_progress", "_receives")

    logic_report_bytes = _REPORT_BYTES

    def __init__(
        self, calls: HalCalls, ts_id: int = 0, resource_table: ResourceTable | None = None, *, progress: Progress,
        receives: bool,
    ) -> None:
        """Args:
            progress: what says how far streams are.
            receives: whether there are logic CQs.
        """
        super().__init__(calls, ts_id, resource_table)
        self._progress, self._receives = progress, receives
        self._pairs: dict[int, tuple[int, int]] = {}
        """CQ and stream of each SQ."""
        self._lock = threading.Lock()

    # -- creation --------------------------------------------------------------------------------------------------

    def create(self, options: QueueOptions, *, depth: int, cqe_bytes: int, cq_depth: int, extended: bool,
               flags: int = 0, keep: QueuePair | None = None, shares_cq: bool = False) -> tuple[int, int]:
        """Allocate a hardware SQ; its CQ is that of the device's first one. See `QueueDriver.create`."""
        options = replace(options, shares_status=self._progress.status_sq != NO_ID, status_sq=self._progress.status_sq)
        with self._lock:
            shared = next(iter(self._pairs.values()), None)
            if shared is not None:
                keep = QueuePair(NO_ID if keep is None else keep.sq_id, shared[0], NO_ID, 0, 0, 0)
            pair = super().create(
                options, depth=depth, cqe_bytes=cqe_bytes, cq_depth=cq_depth, extended=extended, flags=flags, keep=keep,
                shares_cq=shared is not None,
            )
            self._pairs[pair[0]] = pair[1], options.stream_id
        self._progress.begin(options.stream_id)
        return pair

    def _free(
        self, kind: int, sq_id: int, cq_id: int, flags: int, again: Callable[[], object], forget: Callable[[], object]
    ) -> None:
        if kind != c.DRV_NORMAL_TYPE:
            super()._free(kind, sq_id, cq_id, flags, again, forget)
            return
        with self._lock:
            if len(self._pairs.keys() - {sq_id}):
                flags |= c.TSDRV_FLAG_REUSE_CQ
            super()._free(kind, sq_id, cq_id, flags, again, forget)
            self._pairs.pop(sq_id, None)

    def create_logic_cq(self, stream_id: int, thread_id: int, *, keep: QueuePair | None = None) -> int:
        """Allocate the software CQ of a stream, where there are such; NO_ID elsewhere."""
        return super().create_logic_cq(stream_id, thread_id, keep=keep) if self._receives else NO_ID

    def close(self) -> None:
        """Give back what progress is read from; no queue is left."""
        self._progress.close()

    # -- progress and reports ----------------------------------------------------------------------------------------

    def receive(
        self, logic_cq_id: int, stream_id: int, timeout_ms: int = 0, task_id: int = 0xFFFF
    ) -> list[bytes]:
        """Return reports about tasks of a stream: what its logic CQ holds, and what the scheduler says otherwise."""
        received = super().receive(logic_cq_id, stream_id, timeout_ms, task_id) if self._receives else []
        return received + self._progress.take(stream_id)

    def head_reader(self, sq_id: int, ring: Ring | None = None) -> Callable[[], int]:
        """Return a function that tells the position behind the last task that was executed."""
        if sq_id == NO_ID or ring is None:
            return super().head_reader(sq_id)
        last, stream_id, position_behind = self._progress.last, self._pairs[sq_id][1], ring.position_behind
        return lambda: position_behind(last(stream_id))

    def report_asker(self, sq_id: int) -> Callable[[], bool]:
        """Return a function that asks whether there may be a report; queues of commands have no such property."""
        if sq_id == NO_ID:
            return lambda: False
        if self._receives:
            return lambda: True
        look, stream_id = self._progress.look, self._pairs[sq_id][1]
        return lambda: look(stream_id)

    # -- sending ---------------------------------------------------------------------------------------------------

    def sender(self, sq_id: int, count: int = 1, ring: MappedRing | None = None) -> Sender:
        """Return a reusable send of at most `MOST_COMMANDS` commands."""
        return CommandSender(self, self.ts_id, sq_id, min(count, MOST_COMMANDS))


class CommandSender(Sender):
    """A reservation of slots, the commands that are written there, and the message that sends them."""

    __slots__ = ()

    def __init__(self, calls: HalCalls, ts_id: int, sq_id: int, count: int) -> None:
        self.buffer = bytearray(SQE_BYTES * count)
        staging = (ctypes.c_char * len(self.buffer)).from_buffer(self.buffer)
        source, wanted, got, message = (
            ctypes.addressof(staging), s.halSqMemGetInput(), s.halSqMemGetOutput(), s.halSqMsgInfo(),
        )
        for what in (wanted, message):
            what.type, what.tsId, what.sqId = c.DRV_NORMAL_TYPE, ts_id, sq_id
        info = s.halTaskSendInfo()
        info.sqe_addr, info.sqe_num = source, count
        reserve, ring_driver = calls.hal.raw_held("halSqMemGet"), calls.hal.raw_held("halSqMsgSend")
        asked, answer, sent = ctypes.byref(wanted), ctypes.byref(got), ctypes.byref(message)

        def send(device_id: int, _reference: Any) -> int:
            number = wanted.cmdCount = message.cmdCount = message.reportCount = info.sqe_num
            if rc := reserve(device_id, asked, answer):
                return int(rc)
            if got.cmdCount != number or not (slots := got.cmdPtr):
                return c.DRV_ERROR_OUT_OF_CMD_SLOT
            ctypes.memmove(slots, source, number * SQE_BYTES)
            return int(ring_driver(device_id, sent))

        self._keep = staging
        self.info, self.reference = info, ctypes.byref(info)
        self.device_id, self.sq_id, self.ring, self.most = calls.device_id, sq_id, None, count
        self.raw = self.made = self.send = send
