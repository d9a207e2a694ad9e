"""Submission and completion queues: creation, head and tail, CQE receipt, recovery."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from npuhal import constants as c
from npuhal import structs as s
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.calls import HalCalls
from runtime.driver.queues.send import SQE_BYTES, MappedRing, Sender
from runtime.driver.resource_table import QueueRecipe, ResourceTable
from runtime.errors.closing import Once

LOGIC_CQE_BYTES = 32
LOGIC_CQ_DEPTH = 4096
READ_FAILED = 0xFFFF
"""What a head or tail register reads as while the bus read fails (RTSQ registers are 16 bit)."""

NO_ID = 0xFFFFFFFF
"""Id of a queue that is not there."""

_EXT_INFO = struct.Struct("<64xQIIIII16x")
"""struct trs_ext_info_header (all zero for an ordinary queue), then the runtime's body, packed to 4 bytes: u64 which
parts are valid, u32 stream flags, SIMT stack base low and high, bytes per warp, bytes per diverged warp, and 16 bytes
of pool ids and stack bases that only virtual machines state."""

_BODY_STREAM, _SQ_AND_WAIT_LOCK = 1, 3
"""Bits of the body: its stream flags are valid; they are sqLock and waitLock."""

_OF_SQ = 0
"""Kind of ids in struct stream_backup_info."""

_REREADS = 100
_ANY_TASK = 0xFFFF
_RECV_BATCH = 32


class Ring(Protocol):
    """Where the tasks of a queue are, by their ids."""

    def position_behind(self, task_id: int | None) -> int:
        """Return the position behind a task that is pending; that of the oldest pending one for any other id."""


@dataclass(frozen=True, slots=True)
class SimtStack:
    """The stack pool of SIMT kernels: its base, and the bytes that each warp has, undivided and diverged."""

    base: int
    warp_bytes: int
    diverged_bytes: int


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """SQ info words 0..4: the stream of a queue, for the task scheduler."""

    stream_id: int
    priority: int = 0
    inf_nan: bool = True
    overflow: bool = False
    software_queue: bool = True
    group_id: int = 0
    control: bool = False
    shares_status: bool = True
    """The scheduler says in shared memory how far it is, and sends no reports (STARS: heads)."""
    status_sq: int = NO_ID
    """The queue whose memory that is."""
    sq_lock: bool = False
    simt_stack: SimtStack | None = None
    """Further SQ info of chips with SIMT kernels, behind the five words."""

    def words(self) -> tuple[int, int, int, int, int]:
        """Return the five words; bit 0 overflow, 1 INF/NAN mode, 3 software queue, 4..19 group, 20 control queue."""
        flags = (
            self.overflow | self.inf_nan << 1 | self.software_queue << 3 | self.group_id << 4 | self.control << 20
        )
        return self.stream_id, self.priority, flags, int(self.shares_status), self.status_sq

    def extension(self) -> bytes:
        """Return the 108 bytes of extended information that STARS v2 takes."""
        stack = self.simt_stack
        if stack is None:
            return bytes(_EXT_INFO.size)
        valid, locks = (_BODY_STREAM, _SQ_AND_WAIT_LOCK) if self.sq_lock else (0, 0)
        low, high = stack.base & 0xFFFFFFFF, stack.base >> 32 & 0xFFFF
        return _EXT_INFO.pack(valid, locks, low, high, stack.warp_bytes, stack.diverged_bytes)


@dataclass(frozen=True, slots=True)
class QueuePair:
    """Ids of one stream's queues and how its SQ memory can be reached."""

    sq_id: int
    cq_id: int
    logic_cq_id: int
    depth: int
    register_base: int
    ring_base: int


class _Allocation:
    """An allocation: unless it is `done`, for which one assignment is enough, what it may have got goes back.

    Attributes:
        info: what the driver answers.
    """

    __slots__ = ("_asked", "_calls", "done", "info")

    def __init__(self, calls: HalCalls, asked: Any) -> None:
        self._calls, self._asked, self.done = calls, asked, False
        self.info: Any = s.halSqCqOutputInfo()
        self.info.cqId = NO_ID

    def __enter__(self) -> _Allocation:
        return self

    def __exit__(self, *_: object) -> None:
        """Give back a queue that nobody was told of, and keep its numbers where the caller had them before."""
        asked = self._asked
        kept = asked.flag & (c.TSDRV_FLAG_SPECIFIED_CQ_ID | c.TSDRV_FLAG_SPECIFIED_SQ_ID)
        got = asked if self.info.cqId == NO_ID else self.info
        if self.done or (got is asked and not kept):
            return
        free = s.halSqCqFreeInfo()
        free.type, free.tsId, free.sqId, free.cqId = asked.type, asked.tsId, got.sqId, got.cqId
        free.flag = c.TSDRV_FLAG_RSV_SQ_ID | c.TSDRV_FLAG_RSV_CQ_ID if kept else 0
        self._calls.hal.halSqCqFree(self._calls.device_id, ctypes.byref(free))


class QueueDriver(HalCalls):
    """The SQ/CQ chapter of the HAL for one device and task scheduler (struct halSqCq*Info)."""

    __slots__ = ("resource_table", "scheduler_version", "ts_id")

    logic_report_bytes = LOGIC_CQE_BYTES
    """Size of an entry of a logic CQ."""

    def __init__(self, calls: HalCalls, ts_id: int = 0, resource_table: ResourceTable | None = None) -> None:
        super().__init__(calls.hal, calls.device_id)
        self.ts_id = ts_id
        self.resource_table = resource_table or ResourceTable()
        self.scheduler_version = 0
        """What a scheduler of commands has said of itself when it was told of the first stream."""

    def create(self, options: QueueOptions, *, depth: int, cqe_bytes: int, cq_depth: int, extended: bool,
               flags: int = 0, keep: QueuePair | None = None, shares_cq: bool = False) -> tuple[int, int]:
        """Allocate a hardware SQ/CQ pair and return (sq id, cq id).

        Args:
            extended: pass the 108-byte info of STARS v2.
            flags: TSDRV_FLAG_* of the queue.
            keep: the pair whose ids, reserved when it was freed, the new one must have; SQ NO_ID: any.
            shares_cq: the CQ of `keep` is that of another queue, too.
        """
        self.resource_table.enter()
        info = self._alloc_input(c.DRV_NORMAL_TYPE, SQE_BYTES, cqe_bytes, depth, cq_depth)
        info.flag = flags
        if keep is not None:
            info.flag |= c.TSDRV_FLAG_SPECIFIED_SQ_ID if keep.sq_id != NO_ID else 0
            info.flag |= c.TSDRV_FLAG_REUSE_CQ if shares_cq else c.TSDRV_FLAG_SPECIFIED_CQ_ID
            info.sqId, info.cqId = keep.sq_id, keep.cq_id
        info.info[:] = options.words()
        extension = ctypes.create_string_buffer(options.extension(), _EXT_INFO.size)
        if extended:
            info.ext_info, info.ext_info_len = ctypes.addressof(extension), _EXT_INFO.size
        with self.resource_table.changing, _Allocation(self, info) as out:
            rc = self.hal.halSqCqAllocate(self.device_id, ctypes.byref(info), ctypes.byref(out.info))
            if not rc:
                recipe = QueueRecipe(out.info.cqId, options, depth, cqe_bytes, cq_depth, extended, flags)
                self.resource_table.queues[out.info.sqId] = recipe
            out.done = True
        if not rc:
            return out.info.sqId, out.info.cqId
        fault = self.fault(rc, "halSqCqAllocate", f"queue of stream id {options.stream_id}")
        if isinstance(fault, errors.ResourceExhausted):
            fault.hint = "too many streams hold a queue on this device: close streams that are no longer used"
        raise fault

    def create_logic_cq(self, stream_id: int, thread_id: int, *, keep: QueuePair | None = None) -> int:
        """Allocate the software CQ that collects a stream's completions and return its id; `keep` as in `create`."""
        info = self._alloc_input(c.DRV_LOGIC_TYPE, 0, self.logic_report_bytes, 0, LOGIC_CQ_DEPTH)
        if keep is not None:
            info.flag, info.cqId = c.TSDRV_FLAG_SPECIFIED_CQ_ID, keep.logic_cq_id
        info.info[0], info.info[1] = stream_id, thread_id & 0xFFFFFFFF
        with self.resource_table.changing, _Allocation(self, info) as out:
            rc = self.hal.halSqCqAllocate(self.device_id, ctypes.byref(info), ctypes.byref(out.info))
            if not rc:
                self.resource_table.logic_queues[out.info.cqId] = stream_id, thread_id
            out.done = True
        self.check(rc, "halSqCqAllocate", f"logic CQ of stream id {stream_id}")
        return int(out.info.cqId)

    def create_again(self) -> None:
        """Create every held queue again, under its ids and empty, after the device was opened again."""
        for cq_id, (stream_id, thread_id) in list(self.resource_table.logic_queues.items()):
            self.create_logic_cq(stream_id, thread_id, keep=QueuePair(NO_ID, NO_ID, cq_id, 0, 0, 0))
        for sq_id, recipe in list(self.resource_table.queues.items()):
            self.create(
                recipe.options, depth=recipe.depth, cqe_bytes=recipe.cqe_bytes, cq_depth=recipe.cq_depth,
                extended=recipe.extended, flags=recipe.flags, keep=QueuePair(sq_id, recipe.cq_id, NO_ID, 0, 0, 0),
            )

    def free(self, sq_id: int, cq_id: int, *, reserve: bool = False) -> None:
        """Free a hardware pair; the driver refuses while the task scheduler still uses it.

        Args:
            reserve: keep the ids for `create(keep=...)`.
        """
        flags = c.TSDRV_FLAG_RSV_SQ_ID | c.TSDRV_FLAG_RSV_CQ_ID if reserve else 0
        again, forget = partial(self.free, sq_id, cq_id, reserve=reserve), self.resource_table.queues.pop
        self._free(c.DRV_NORMAL_TYPE, sq_id, cq_id, flags, again, partial(forget, sq_id, None))

    def freeing(self, sq_id: int, cq_id: int, *, reserve: bool = False) -> Once:
        """Return what frees a pair that is held, once; `reserve` as in `free`."""
        return Once(self.resource_table.queues, sq_id, partial(self.free, sq_id, cq_id, reserve=reserve))

    def free_logic_cq(self, cq_id: int, *, reserve: bool = False) -> None:
        """Free a logic CQ; `reserve` as in `free`."""
        flags = c.TSDRV_FLAG_RSV_CQ_ID if reserve else 0
        again, forget = partial(self.free_logic_cq, cq_id, reserve=reserve), self.resource_table.logic_queues.pop
        self._free(c.DRV_LOGIC_TYPE, 0, cq_id, flags, again, partial(forget, cq_id, None))

    def freeing_logic_cq(self, cq_id: int, *, reserve: bool = False) -> Once:
        """Return what frees a logic CQ that is held, once; `reserve` as in `free`."""
        return Once(self.resource_table.logic_queues, cq_id, partial(self.free_logic_cq, cq_id, reserve=reserve))

    def _free(
        self, kind: int, sq_id: int, cq_id: int, flags: int, again: Callable[[], object], forget: Callable[[], object]
    ) -> None:
        info = s.halSqCqFreeInfo()
        info.flag = flags
        info.type, info.tsId, info.sqId, info.cqId = kind, self.ts_id, sq_id, cq_id
        what = "logic " * (kind == c.DRV_LOGIC_TYPE)
        self.give_back(
            self.resource_table, partial(self.hal.halSqCqFree, self.device_id, ctypes.byref(info)), again,
            "halSqCqFree", f"{what}sq {sq_id}, cq {cq_id}", forget,
        )

    def close(self) -> None:
        """Give back what the device has queues with; there is no queue any more."""

    def _alloc_input(self, kind: int, sqe_bytes: int, cqe_bytes: int, depth: int, cq_depth: int) -> Any:
        info = s.halSqCqInputInfo()
        info.type, info.tsId = kind, self.ts_id
        info.sqeSize, info.cqeSize, info.sqeDepth, info.cqeDepth = sqe_bytes, cqe_bytes, depth, cq_depth
        return info

    # -- properties ------------------------------------------------------------------------------------------------

    def query(self, sq_id: int, prop: str) -> tuple[int, int]:
        """Return words 0 and 1 of a property of an SQ."""
        info = self._property(s.halSqCqQueryInfo(), sq_id, prop)
        rc = self.hal.halSqCqQuery(self.device_id, ctypes.byref(info))
        self.check(rc, "halSqCqQuery", f"{prop}, sq {sq_id}")
        return int(info.value[0]), int(info.value[1])

    def register_base(self, sq_id: int) -> int:
        """Return the user address of the queue's registers; the word order is high, low."""
        high, low = self.query(sq_id, "DRV_SQCQ_PROP_SQ_REG_BASE")
        return high << 32 | low

    def ring_base(self, sq_id: int) -> int:
        """Return the address of a ring that SQEs may be built in, or 0 where the driver copies them itself."""
        if not self.query(sq_id, "DRV_SQCQ_PROP_SQ_MEM_ATTR")[0] & 1:
            return 0
        low, high = self.query(sq_id, "DRV_SQCQ_PROP_SQ_BASE")
        return high << 32 | low

    def head(self, sq_id: int) -> int:
        """Return the SQ head: positions before it are done. A failed bus read is repeated, at most 100 times."""
        return self._pointer(sq_id, "DRV_SQCQ_PROP_SQ_HEAD")

    def tail(self, sq_id: int) -> int:
        """Return the SQ tail: positions before it were handed to the device."""
        return self._pointer(sq_id, "DRV_SQCQ_PROP_SQ_TAIL")

    def _pointer(self, sq_id: int, prop: str) -> int:
        for _ in range(_REREADS):
            value, _ = self.query(sq_id, prop)
            if value & 0xFFFF != READ_FAILED:
                return value
        raise self.fault(c.DRV_ERROR_IOCRL_FAIL, "halSqCqQuery", f"{prop} of sq {sq_id} reads 0xFFFF again and again")

    def enabled(self, sq_id: int) -> bool:
        """Return whether the hardware executes this queue; a failing task disables it."""
        return bool(self.query(sq_id, "DRV_SQCQ_PROP_SQ_STATUS")[0] & 1)

    def set_head(self, sq_id: int, position: int) -> None:
        """Move the head over a failed task."""
        self._configure(sq_id, "DRV_SQCQ_PROP_SQ_HEAD", position)

    def set_tail(self, sq_id: int, position: int) -> None:
        """Say how far the entries of a queue go that were not sent, but lie in memory bound to it."""
        self._configure(sq_id, "DRV_SQCQ_PROP_SQ_TAIL", position)

    def enable(self, sq_id: int) -> None:
        """Let a disabled queue run again."""
        self._configure(sq_id, "DRV_SQCQ_PROP_SQ_STATUS", 1)

    def _configure(self, sq_id: int, prop: str, value: int) -> None:
        info = self._property(s.halSqCqConfigInfo(), sq_id, prop)
        info.value[0] = value
        rc = self.hal.halSqCqConfig(self.device_id, ctypes.byref(info))
        self.check(rc, "halSqCqConfig", f"{prop} = {value}, sq {sq_id}")

    def _property(self, info: Any, sq_id: int, prop: str) -> Any:
        info.type, info.tsId, info.sqId, info.prop = c.DRV_NORMAL_TYPE, self.ts_id, sq_id, getattr(c, prop)
        return info

    def keep_entries(self, sq_ids: Sequence[int]) -> None:
        """Let the driver keep what is in queues, for `bring_entries_back` (halStreamBackup)."""
        self._entries("halStreamBackup", sq_ids)

    def bring_entries_back(self, sq_ids: Sequence[int]) -> None:
        """Restore the kept entries of queues that were created again (halStreamRestore)."""
        self._entries("halStreamRestore", sq_ids)

    def _entries(self, call: str, sq_ids: Sequence[int]) -> None:
        column, info = (ctypes.c_uint32 * len(sq_ids))(*sq_ids), s.stream_backup_info()
        info.type, info.id_num, info.id_list = _OF_SQ, len(sq_ids), ctypes.addressof(column)
        rc = getattr(self.hal, call)(self.device_id, ctypes.byref(info))
        self.check(rc, call, f"{len(sq_ids)} queues")

    # -- memory of streams -----------------------------------------------------------------------------------------

    def switch(self, bindings: Sequence[tuple[int, int, int, int]]) -> None:
        """Let queues take their entries from memory of streams (struct sq_switch_stream_info), all in one call.

        Args:
            bindings: SQ id, stream id (NO_ID takes the queue away from its stream), depth, address of the memory.
        """
        rows = (s.sq_switch_stream_info * len(bindings))()
        for row, (sq_id, stream_id, depth, address) in zip(rows, bindings, strict=True):
            row.sq_id, row.stream_id, row.sq_depth, row.stream_mem = sq_id, stream_id, depth, address
        rc = self.hal.halSqSwitchStreamBatch(self.device_id, rows, len(bindings))
        self.check(rc, "halSqSwitchStreamBatch", f"{len(bindings)} queues")

    def fill(self, stream_id: int, address: int, sqes: bytearray | memoryview) -> None:
        """Copy SQEs into the memory of a stream that has a queue."""
        view = memoryview(sqes)
        source = (ctypes.c_char * len(view)).from_buffer(view)
        count = len(view) // SQE_BYTES
        rc = self.hal.halStreamTaskFill(self.device_id, stream_id, address, ctypes.addressof(source), count)
        self.check(rc, "halStreamTaskFill", f"{count} SQEs of stream id {stream_id}")

    # -- completion entries ----------------------------------------------------------------------------------------

    def receive(
        self, logic_cq_id: int, stream_id: int, timeout_ms: int = 0, task_id: int = _ANY_TASK
    ) -> list[bytes]:
        """Return up to 32 logic CQEs of 32 bytes; waits at most `timeout_ms` (0 = do not wait).

        A timeout gives an empty list. The stream and task ids only matter for CQEs with the match flag.
        """
        size = self.logic_report_bytes
        buffer = ctypes.create_string_buffer(size * _RECV_BATCH)
        info = s.halReportRecvInfo()
        info.type, info.tsId, info.cqId, info.timeout = c.DRV_LOGIC_TYPE, self.ts_id, logic_cq_id, timeout_ms
        info.cqe_addr = ctypes.addressof(buffer)
        info.cqe_num, info.stream_id, info.task_id = _RECV_BATCH, stream_id, task_id
        rc = self.hal.halCqReportRecv(self.device_id, ctypes.byref(info))
        if rc == c.DRV_ERROR_WAIT_TIMEOUT:
            return []
        self.check(rc, "halCqReportRecv", f"logic cq {logic_cq_id}")
        raw = buffer.raw
        return [raw[i * size : (i + 1) * size] for i in range(info.report_cqe_num)]

    # -- hot path --------------------------------------------------------------------------------------------------

    def sender(self, sq_id: int, count: int = 1, ring: MappedRing | None = None) -> Sender:
        """Return a reusable send of `count` SQEs on one queue, through its mapped ring if it has one."""
        return Sender(self, self.ts_id, sq_id, count, ring)

    @staticmethod
    def mapped_ring(pair: QueuePair) -> MappedRing | None:
        """Return the ring that SQEs of a queue are built in, or None where the driver copies them."""
        return MappedRing(pair.ring_base, pair.depth) if pair.ring_base else None

    def head_reader(self, sq_id: int, ring: Ring | None = None) -> Callable[[], int]:
        """Return a function that reads how far a queue is, cheaply: its head. Failed reads are repeated as by `head`.

        Args:
            ring: where the tasks are; needed where progress is told by their ids.
        """
        query, device_id, reference, words = self._prepared(sq_id, "DRV_SQCQ_PROP_SQ_HEAD")
        slow = self.head

        def read() -> int:
            if query(device_id, reference) == 0 and (head := words[0]) & 0xFFFF != READ_FAILED:
                return int(head)
            return slow(sq_id)

        return read

    def report_asker(self, sq_id: int) -> Callable[[], bool]:
        """Return a function that asks whether a CQE of a queue was delivered since it was last asked."""
        query, device_id, reference, words = self._prepared(sq_id, "DRV_SQCQ_PROP_SQ_CQE_STATUS")

        def ask() -> bool:
            if rc := query(device_id, reference):
                raise self.fault(rc, "halSqCqQuery", f"DRV_SQCQ_PROP_SQ_CQE_STATUS, sq {sq_id}")
            return bool(words[0])

        return ask

    def _prepared(self, sq_id: int, prop: str) -> tuple[Callable[..., int], int, Any, memoryview]:
        """Return an untyped query with its two arguments, and where word 0 of the answer will be."""
        kind: Any = s.halSqCqQueryInfo
        memory = bytearray(ctypes.sizeof(kind))
        info = self._property(kind.from_buffer(memory), sq_id, prop)
        words = memoryview(memory)[kind.value.offset :][:4].cast("I")
        return self.hal.raw("halSqCqQuery"), self.device_id, ctypes.byref(info), words
