"""HAL chapter "queues": SQs and CQs, sending, receiving, pointers and states (hal_semantics 4)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chips.traits import CompletionKind
from fakes.hal.chapter import Chapter
from fakes.hal.queues.callbacks import GROUPS, await_call
from fakes.hal.queues.hot import make_sender
from fakes.machine.driver import QUEUE_NUMBERS, SCHEDULERS
from fakes.machine.identity import QUEUE_PAGE
from fakes.machine.queues import ANY_SQ, SQE_BYTES, LogicQueue, SubmissionQueue
from fakes.schedule.scheduler import SEND, WAIT
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.ports import Machine

_DEPTH_LIMIT = 65535
_LOGIC_DEPTH_LIMIT = 65536
_TRANSIENT = 0xFFFF
_SPECIFIED_SQ, _SPECIFIED_CQ = c.TSDRV_FLAG_SPECIFIED_SQ_ID, c.TSDRV_FLAG_SPECIFIED_CQ_ID
_NO_SEND = c.TSDRV_FLAG_ONLY_SQCQ_ID | c.TSDRV_FLAG_NO_SQ_MEM


_TABLE_BYTES = 1024 * 64
"""The table of streams: entries of the SHM queue, and bytes of one."""
_STAGING = 256
"""Bytes that the library stages entries in: no entry is larger."""
_MAPPED_TYPES = (c.DRV_NORMAL_TYPE, c.DRV_SHM_TYPE, c.DRV_CTRL_TYPE)
_FLAG_WORD = 7
"""The value of a setting in which flags stand: the library clears it."""
_MAPPED = frozenset((
    c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_TAIL, c.DRV_SQCQ_PROP_SQ_CQE_STATUS, c.DRV_SQCQ_PROP_SQ_BASE,
    c.DRV_SQCQ_PROP_SQ_DEPTH, c.DRV_SQCQ_PROP_SQE_SIZE, c.DRV_SQCQ_PROP_SQ_MEM_ATTR,
))  # fmt: skip
"""Properties that the library reads from what it has mapped; others it asks the kernel for."""
_JETTIES = (c.DRV_SQCQ_PROP_H2D_ASYNC_JETTY_INFO, c.DRV_SQCQ_PROP_D2D_ASYNC_JETTY_INFO)
_CQ_TYPES = (c.DRV_NORMAL_TYPE, c.DRV_CALLBACK_TYPE, c.DRV_LOGIC_TYPE)


def _is_mapped(in_: Any) -> bool:
    """Whether the library maps a ring of its own for the queue."""
    plain = not in_.flag & (c.TSDRV_FLAG_REUSE_SQ | c.TSDRV_FLAG_ONLY_SQCQ_ID)
    return in_.type in _MAPPED_TYPES and (in_.type != c.DRV_NORMAL_TYPE or plain)


def _entry_bytes(in_: Any) -> int:
    """Return the size of an entry that the library looks at: that of queues which are sent to."""
    return in_.sqeSize if in_.type in (*_MAPPED_TYPES, c.DRV_CALLBACK_TYPE) else 0


class QueueCalls(Chapter):
    """Functions of ascend_hal_base.h and trs_pkg.h about queues."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.send = machine.send = make_sender(machine)
        self._tabled = machine.chip.traits.completion is CompletionKind.STATUS_TABLE
        """Whether a table of streams is shared with the host."""

    # -- creation -----------------------------------------------------------------------------------------------------

    def halSqCqAllocate(self, devid: int, in_: Any, out: Any) -> int:
        """Create a queue pair (NORMAL) or a logic CQ (LOGIC)."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or in_ is None or out is None or in_.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        if not 0 <= in_.type < c.DRV_INVALID_TYPE or max(in_.cqeSize, _entry_bytes(in_)) > _STAGING:
            return c.DRV_ERROR_INVALID_VALUE
        if device is None or not device.opened:
            return c.DRV_ERROR_OUT_OF_MEMORY if _is_mapped(in_) else c.DRV_ERROR_OPEN_FAILED
        if in_.tsId >= self.schedulers(device):
            return c.DRV_ERROR_IOCRL_FAIL
        if in_.type == c.DRV_NORMAL_TYPE:
            return self._allocate_pair(device, in_, out)
        if in_.type == c.DRV_LOGIC_TYPE:
            return self._allocate_logic(device, in_, out)
        if in_.type == c.DRV_SHM_TYPE and self._tabled:
            return self._allocate_table(device, out)
        if in_.type == c.DRV_CALLBACK_TYPE:
            return self._allocate_callback(device, in_, out)
        return c.DRV_ERROR_NOT_SUPPORT

    def _allocate_pair(self, device: Device, in_: Any, out: Any) -> int:
        if in_.sqeSize != SQE_BYTES or not 0 < in_.cqeSize <= 256 or in_.cqeSize % 4:
            return c.DRV_ERROR_INVALID_VALUE
        if not (0 < in_.sqeDepth <= _DEPTH_LIMIT and 0 < in_.cqeDepth <= _DEPTH_LIMIT):
            return c.DRV_ERROR_INVALID_VALUE
        shares = bool(in_.flag & c.TSDRV_FLAG_REUSE_CQ)  # the schedulers of commands have one CQ for all streams
        if in_.flag & c.TSDRV_FLAG_REUSE_SQ or (shares and not self._shares_cq(device, in_.cqId)):
            return c.DRV_ERROR_INVALID_VALUE
        sq_id = self._take(device, "sq", in_.sqId if in_.flag & _SPECIFIED_SQ else None)
        if sq_id is None:
            return c.DRV_ERROR_NO_RESOURCES
        cq_id = in_.cqId
        if not shares:
            cq_id = self._take(device, "cq", in_.cqId if in_.flag & _SPECIFIED_CQ else None)
        if cq_id is None:
            device.ids["sq"].give(sq_id)
            return c.DRV_ERROR_NO_RESOURCES
        stream = in_.info[0]
        entries = 1 if in_.flag & c.TSDRV_FLAG_NO_SQ_MEM else in_.sqeDepth
        ring = self.machine.memory.allocate_host(entries * SQE_BYTES, device=device.index, label=f"SQ {sq_id}")
        old = self.machine.driver.first
        sq = SubmissionQueue(
            sq_id, cq_id, stream, in_.sqeDepth, ring, in_.cqeSize, in_.cqeDepth, device.index,
            in_place=old or device.identity.in_place, sendable=not in_.flag & _NO_SEND,
            registers=device.identity.rtsq_base + sq_id * QUEUE_PAGE, logic=device.bound.get(stream),
        )  # fmt: skip
        device.queues[sq_id] = sq
        device.by_stream[stream] = sq
        out.sqId, out.cqId, out.queueVAddr, out.flag = sq_id, cq_id, 0, 0
        return 0

    def _shares_cq(self, device: Device, cq_id: int) -> bool:
        """Whether a queue may use the CQ of others."""
        commands = self.machine.chip.traits.completion is not CompletionKind.HEADS
        return commands and any(sq.cq_id == cq_id for sq in device.queues.values())

    def _allocate_table(self, device: Device, out: Any) -> int:
        """Share the table in which the scheduler says how far streams are (fixed size, hal_semantics 4.2)."""
        if device.commands.table is not None:
            return c.DRV_ERROR_NO_RESOURCES
        memory = self.machine.memory
        device.commands.table = memory.allocate_host(_TABLE_BYTES, device=device.index, label="table of streams")
        ctypes.memset(device.commands.table.pointer, 0, _TABLE_BYTES)
        out.sqId, out.cqId, out.queueVAddr, out.flag = 0, 0, device.commands.table.base, 0
        return 0

    def _allocate_logic(self, device: Device, in_: Any, out: Any) -> int:
        if not (0 < in_.cqeDepth <= _LOGIC_DEPTH_LIMIT and 0 < in_.cqeSize <= 32):
            return c.DRV_ERROR_INVALID_VALUE
        cq_id = self._take(device, "cq", in_.cqId if in_.flag & _SPECIFIED_CQ else None)
        if cq_id is None:
            return c.DRV_ERROR_NO_RESOURCES
        made = device.logic[cq_id] = LogicQueue(cq_id, in_.cqeDepth, in_.cqeSize, in_.info[0])
        for stream, bound in device.bound.items():
            if bound.cq_id == cq_id:  # its number was kept, and with it the binding
                device.bound[stream] = made
                if stream in device.by_stream:
                    device.by_stream[stream].logic = made
        out.sqId, out.cqId, out.queueVAddr, out.flag = ANY_SQ, cq_id, 0, 0
        return 0

    def _allocate_callback(self, device: Device, in_: Any, out: Any) -> int:
        """A callback pair: its CQ is a bit of the group's bitmap; what the host sends back goes as a notify."""
        if not (32 <= in_.cqeSize <= 64 and 32 <= in_.cqeDepth <= 1024 and in_.grpId < GROUPS):
            return c.DRV_ERROR_INVALID_VALUE
        number = next((cq for cq in range(1024) if cq not in device.host_calls.groups), None)
        if number is None:
            return c.DRV_ERROR_NO_RESOURCES
        device.host_calls.groups[number] = in_.grpId
        out.sqId, out.cqId, out.queueVAddr, out.flag = number, number, 0, 0
        return 0

    def _take(self, device: Device, kind: str, wanted: int | None) -> int | None:
        pool = device.ids[kind]
        if wanted is None:
            return pool.take()
        if pool.take_this(wanted):
            return wanted
        held = device.logic.keys() | {sq.cq_id for sq in device.queues.values()} if kind == "cq" else device.queues
        return wanted if wanted in pool.used and wanted not in held else None  # an interrupted call has taken it

    def halSqCqFree(self, devid: int, info: Any) -> int:
        """Destroy a queue; whoever waits for it is woken."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or info is None or info.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        if not 0 <= info.type < c.DRV_INVALID_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        if device is None or not device.opened:
            return c.DRV_ERROR_OPEN_FAILED
        if info.type == c.DRV_LOGIC_TYPE:
            logic = device.logic.get(info.cqId)
            if logic is None:
                return c.DRV_ERROR_INVALID_VALUE
            logic.freed = True
            if not info.flag & c.TSDRV_FLAG_RSV_CQ_ID:  # else a new one of that number has the same streams
                device.bound = {stream: cq for stream, cq in device.bound.items() if cq is not logic}
            for sq in device.queues.values():
                if sq.logic is logic:
                    sq.logic = None
            self.machine.changed.notify_all()
            self._release(device, "cq", info.cqId, info.flag & c.TSDRV_FLAG_RSV_CQ_ID)
            del device.logic[info.cqId]  # last, as in `_destroy`
            return 0
        if info.type == c.DRV_CALLBACK_TYPE:
            freed = device.host_calls.free(info.cqId)
            self.machine.changed.notify_all()
            return 0 if freed else c.DRV_ERROR_INVALID_VALUE
        if info.type == c.DRV_SHM_TYPE and device.commands.table is not None:
            device.commands.free_table(self.machine.memory)
            return 0
        if info.type != c.DRV_NORMAL_TYPE:
            return c.DRV_ERROR_INVALID_VALUE
        found = device.queues.get(info.sqId)
        if found is None or found.cq_id != info.cqId:
            return c.DRV_ERROR_INVALID_VALUE
        if found.ring.alias:  # it is bound to the memory of a stream
            return c.DRV_ERROR_IOCRL_FAIL
        self._destroy(device, found, info.flag)
        return 0

    @staticmethod
    def _release(device: Device, kind: str, number: int, reserve: int) -> None:
        """Give an id back, or keep it for who allocates it by its number."""
        if reserve:
            device.ids[kind].reserve(number)
        else:
            device.ids[kind].give(number)

    def _destroy(self, device: Device, sq: SubmissionQueue, flags: int = 0) -> None:
        """Take a queue away. It goes from the table last: what an interrupt breaks off before is done by another call.
        """
        if self.machine.checks is not None:
            self.machine.checks.destroyed(sq)
        sq.destroyed = True
        device.active.pop(sq.sq_id, None)
        if device.by_stream.get(sq.stream_id) is sq:
            del device.by_stream[sq.stream_id]
        self.machine.memory.free(sq.ring.base)
        self.machine.changed.notify_all()
        if not any(other.cq_id == sq.cq_id for other in device.queues.values() if other is not sq):
            self._release(device, "cq", sq.cq_id, flags & c.TSDRV_FLAG_RSV_CQ_ID)
        self._release(device, "sq", sq.sq_id, flags & c.TSDRV_FLAG_RSV_SQ_ID)
        del device.queues[sq.sq_id]

    # -- sending ------------------------------------------------------------------------------------------------------

    def halSqTaskSend(self, devid: int, info: Any) -> int:
        """Put SQEs into a ring; NO_RESOURCES at once when they do not fit."""
        return c.DRV_ERROR_INVALID_VALUE if info is None else self.send(devid, info)

    # -- state --------------------------------------------------------------------------------------------------------

    def halSqCqQuery(self, devid: int, info: Any) -> int:
        """Read a property of a queue into value[0..]."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or info is None or info.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        sq = None
        if info.type == c.DRV_NORMAL_TYPE:
            if info.prop in _JETTIES and self.machine.options.args != "ub":
                return c.DRV_ERROR_NOT_SUPPORT
            sq = device.queues.get(info.sqId) if device is not None and device.opened and not info.tsId else None
            if sq is None and info.prop in _MAPPED:
                return c.DRV_ERROR_INVALID_VALUE
        if device is None or not device.opened:
            return c.DRV_ERROR_OPEN_FAILED
        if info.type == c.DRV_LOGIC_TYPE and info.prop in (c.DRV_SQCQ_PROP_CQ_DEPTH, c.DRV_SQCQ_PROP_CQE_SIZE):
            logic = device.logic.get(info.cqId)
            if logic is None:
                return c.DRV_ERROR_IOCRL_FAIL
            info.value[0] = logic.depth if info.prop == c.DRV_SQCQ_PROP_CQ_DEPTH else logic.entry_bytes
            return 0
        answer = None if sq is None else _QUERIES.get(info.prop)
        if sq is None or answer is None:
            return c.DRV_ERROR_IOCRL_FAIL
        values = answer(device, sq)
        if values is None:
            return c.DRV_ERROR_IOCRL_FAIL if self.machine.driver.first else c.DRV_ERROR_NOT_SUPPORT
        for index, value in enumerate(values):
            info.value[index] = value
        return 0

    def halSqCqConfig(self, devid: int, info: Any) -> int:
        """Change the state or the pointers of a queue; only value[0] is read."""
        if not 0 <= devid < QUEUE_NUMBERS or info is None or info.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        prop, value, checks = info.prop, info.value[0], self.machine.checks
        if prop == c.DRV_SQCQ_PROP_SQCQ_RESET and self.machine.driver.first:
            return c.DRV_ERROR_NOT_SUPPORT
        info.value[_FLAG_WORD] = 0
        device = self.device(devid)
        pausing = prop in (c.DRV_SQCQ_PROP_SQ_PAUSE, c.DRV_SQCQ_PROP_SQ_RESUME)
        normal = info.type == c.DRV_NORMAL_TYPE
        sq = device.queues.get(info.sqId) if device is not None and device.opened and not info.tsId else None
        if normal and sq is None and info.sqId != ANY_SQ:
            return c.DRV_ERROR_NOT_EXIST
        if pausing and not normal:
            return c.DRV_ERROR_PARA_ERROR
        if device is None or not device.opened:
            return c.DRV_ERROR_OPEN_FAILED
        if not normal:
            return self._configure_logic(device, info)
        if pausing:
            return self._pause(device, info.sqId, prop == c.DRV_SQCQ_PROP_SQ_PAUSE)
        if sq is None:
            pointers = (c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_TAIL, c.DRV_SQCQ_PROP_SQCQ_RESET)
            return c.DRV_ERROR_INVALID_VALUE if prop in pointers else c.DRV_ERROR_IOCRL_FAIL
        if prop == c.DRV_SQCQ_PROP_SQ_STATUS:
            sq.enabled = bool(value & 1)
        elif prop == c.DRV_SQCQ_PROP_SQ_HEAD:
            if sq.paused or value >= sq.depth:
                return c.DRV_ERROR_STATUS_FAIL
            if checks is not None and (value - sq.head) % sq.depth:
                checks.giving_up(sq)
            sq.reset(value, sq.tail)
        elif prop == c.DRV_SQCQ_PROP_SQ_TAIL:
            if sq.paused or value >= sq.depth:
                return c.DRV_ERROR_STATUS_FAIL
            sq.tail = value
        elif prop == c.DRV_SQCQ_PROP_SQ_DISABLE_TO_ENABLE:
            return self._enable_when_disabled(sq, value)
        elif prop == c.DRV_SQCQ_PROP_SQCQ_RESET:
            if checks is not None:
                checks.giving_up(sq)
            sq.reset()
        else:
            return c.DRV_ERROR_IOCRL_FAIL
        device.activate(sq)
        self.machine.changed.notify_all()
        return 0

    def _configure_logic(self, device: Device, info: Any) -> int:
        """Change a queue that is no stream's: what the kernel does not know is swallowed."""
        if info.type == c.DRV_LOGIC_TYPE and info.prop == c.DRV_SQCQ_PROP_SQCQ_RESET:
            logic = device.logic.get(info.cqId)
            if logic is None:
                return c.DRV_ERROR_NOT_EXIST
            logic.entries.clear()
        return 0

    def _pause(self, device: Device, sq_id: int, paused: bool) -> int:
        device.disturb()
        if sq_id == ANY_SQ:
            for sq in device.queues.values():
                sq.paused = paused
            return 0
        found = device.queues.get(sq_id)
        if found is None:
            return c.DRV_ERROR_NOT_EXIST
        found.paused = paused
        return 0

    def _enable_when_disabled(self, sq: SubmissionQueue, limit_ms: int) -> int:
        deadline = time.monotonic() + limit_ms / 1000
        while sq.enabled:
            left = deadline - time.monotonic()
            if left <= 0 or not self.machine.changed.wait(left):
                return c.DRV_ERROR_WAIT_TIMEOUT
        sq.enabled = True
        return 0

    # -- receiving ----------------------------------------------------------------------------------------------------

    def halCqReportRecv(self, devid: int, info: Any) -> int:
        """Receive completions: reports of a logic CQ, or raw entries of a hardware CQ."""
        device = self.device(devid)
        if not 0 <= devid < QUEUE_NUMBERS or info is None or info.tsId >= SCHEDULERS:
            return c.DRV_ERROR_INVALID_VALUE
        info.res[0] = 1  # the version of the struct
        if device is None or info.type not in _CQ_TYPES or info.tsId:
            return c.DRV_ERROR_INVALID_VALUE
        if info.type == c.DRV_NORMAL_TYPE:
            pair = next((sq for sq in device.queues.values() if sq.cq_id == info.cqId), None)
            if pair is None:
                return c.DRV_ERROR_INVALID_VALUE
            info.report_cqe_num = 0
            return self._receive(device, info, lambda: pair.receive_hardware(info.cqe_num), lambda: pair.destroyed)
        if info.type == c.DRV_CALLBACK_TYPE:
            return self._receive_call(device, info)
        logic = device.logic.get(info.cqId)
        if logic is None:
            return c.DRV_ERROR_INVALID_VALUE
        info.report_cqe_num = 0
        stream, task = info.stream_id, info.task_id
        return self._receive(device, info, lambda: logic.take(info.cqe_num, stream, task), lambda: logic.freed)

    def _receive_call(self, device: Device, info: Any) -> int:
        """One request of a host function: of a group, whose number stands where that of a CQ does, uncounted."""
        report = await_call(self, device, info.cqId, info.timeout) if info.cqe_addr else c.DRV_ERROR_PARA_ERROR
        if isinstance(report, int):
            return report
        self.machine.memory.write(info.cqe_addr, report, "halCqReportRecv to")
        if self.machine.checks is not None:
            self.machine.checks.heard(device, info.type, device.host_calls.queue_of(report))
        return 0

    def _receive(self, device: Device, info: Any, take: Callable[[], list[bytes]], gone: Callable[[], bool]) -> int:
        timeout = info.timeout
        if timeout < -1 or not info.cqe_num or not info.cqe_addr:
            return c.DRV_ERROR_IOCRL_FAIL

        def poll() -> None:
            if timeout or not self._tabled:
                device.turn(WAIT if timeout else SEND)
            elif (asking := device.by_stream.get(info.stream_id)) is not None:
                device.poll(asking)  # the host looks at the table of streams, too

        reports = self.await_reports(device, timeout, poll, take, gone, c.DRV_ERROR_IOCRL_FAIL)
        if isinstance(reports, int):
            return reports
        if reports:
            self.machine.memory.write(info.cqe_addr, b"".join(reports), "halCqReportRecv to")
            info.report_cqe_num = len(reports)
            for sq in device.queues.values():
                device.observe(sq)
            if self.machine.checks is not None:
                self.machine.checks.heard(device, info.type, info.cqId)
        return 0

    def drvDfxShowReport(self, _devid: int) -> None:
        """Write the driver's queue state to the kernel log: nothing to see here."""


def _read_and_clear(_device: Device, sq: SubmissionQueue) -> tuple[int, ...]:
    status, sq.cqe_status = sq.cqe_status, 0
    return (status,)


def _pointer(device: Device, value: int) -> tuple[int, ...]:
    """A head or tail; now and then the read fails when the option asks for it."""
    one_of = device.machine.options.transient
    return (_TRANSIENT if one_of and device.rng.randrange(one_of) == 0 else value,)


def _head(device: Device, sq: SubmissionQueue) -> tuple[int, ...]:
    """The head, after a look; of looks in vain behind each other only the first may fail, see `Device.turn`."""
    before = device.in_vain
    head = device.poll(sq)
    return (head,) if before and device.in_vain else _pointer(device, head)


def _split(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32


_QUERIES: dict[int, Callable[[Any, SubmissionQueue], tuple[int, ...] | None]] = {
    c.DRV_SQCQ_PROP_SQ_STATUS: lambda d, sq: (int(sq.enabled),),
    c.DRV_SQCQ_PROP_SQ_HEAD: _head,
    c.DRV_SQCQ_PROP_SQ_TAIL: lambda d, sq: _pointer(d, sq.tail),
    c.DRV_SQCQ_PROP_SQ_CQE_STATUS: _read_and_clear,
    c.DRV_SQCQ_PROP_SQ_REG_BASE: lambda d, sq: (*reversed(_split(sq.registers)), QUEUE_PAGE),
    c.DRV_SQCQ_PROP_SQ_BASE: lambda d, sq: _split(sq.ring.base) if sq.in_place else None,
    c.DRV_SQCQ_PROP_SQ_DEPTH: lambda d, sq: None if d.machine.driver.first else (sq.depth,),
    c.DRV_SQCQ_PROP_SQE_SIZE: lambda d, sq: None if d.machine.driver.first else (SQE_BYTES,),
    c.DRV_SQCQ_PROP_SQ_MEM_ATTR: lambda d, sq: (int(sq.in_place),),
    c.DRV_SQCQ_PROP_CQ_DEPTH: lambda d, sq: (sq.cq_depth,),
    c.DRV_SQCQ_PROP_CQE_SIZE: lambda d, sq: (sq.cqe_bytes,),
}
"""Property -> the words it gives; None: the product does not answer it."""
