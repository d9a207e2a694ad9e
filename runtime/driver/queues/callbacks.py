"""Queues through which the device asks the host to call functions (DRV_CALLBACK_TYPE, struct trs_cb_cqe)."""

from __future__ import annotations

import ctypes
import struct
from functools import partial
from typing import Any

from npuhal import constants as c
from npuhal import structs as s
from npuhal.tuples import NamedTuple
from runtime.driver.calls import HalCalls
from runtime.driver.resource_table import ResourceTable

DEFAULT_GROUPS = 128
"""Callback groups of a driver that does not say how many it has."""

_SQE_BYTES, _CQE_BYTES = 64, 32
_SQ_DEPTH, _CQ_DEPTH = 1, 512
_REPORT = struct.Struct("<HHHHHHBxHQQ")
_NOTHING = (c.DRV_ERROR_WAIT_TIMEOUT, c.DRV_ERROR_NO_EVENT, c.DRV_ERROR_IOCRL_FAIL)
"""What a wait answers that has brought nothing: in time, at once, or because the queue was freed."""


class CallbackReport(NamedTuple):
    """One request to call a function; ids as the task that asks for it has them."""

    stream_id: int
    task_id: int
    block: bool
    event_id: int
    function: int
    data: int


class CallbackDriver(HalCalls):
    """The callback queues of one device."""

    __slots__ = ("resource_table", "ts_id")

    def __init__(self, calls: HalCalls, ts_id: int = 0, resource_table: ResourceTable | None = None) -> None:
        super().__init__(calls.hal, calls.device_id)
        self.ts_id = ts_id
        self.resource_table = resource_table or ResourceTable()

    def group_count(self) -> int:
        """Return how many callback groups there are; their ids begin at 0."""
        count, size = ctypes.c_uint32(0), ctypes.c_size_t(4)
        rc = self.hal.halTsdrvCtl(
            self.device_id, c.TSDRV_CTL_CMD_CB_GROUP_NUM_GET, None, 0, ctypes.addressof(count), ctypes.byref(size)
        )
        return DEFAULT_GROUPS if rc else count.value

    def create(self, group_id: int) -> tuple[int, int]:
        """Allocate the queue pair of a group and return (sq id, cq id)."""
        info: Any = s.halSqCqInputInfo()
        info.type, info.tsId, info.grpId = c.DRV_CALLBACK_TYPE, self.ts_id, group_id
        info.sqeSize, info.cqeSize, info.sqeDepth, info.cqeDepth = _SQE_BYTES, _CQE_BYTES, _SQ_DEPTH, _CQ_DEPTH
        out: Any = s.halSqCqOutputInfo()
        rc = self.hal.halSqCqAllocate(self.device_id, ctypes.byref(info), ctypes.byref(out))
        self.check(rc, "halSqCqAllocate", f"callback queue of group {group_id}")
        return int(out.sqId), int(out.cqId)

    def free(self, sq_id: int, cq_id: int) -> None:
        """Free a pair; who waits for it is woken."""
        info: Any = s.halSqCqFreeInfo()
        info.type, info.tsId, info.sqId, info.cqId = c.DRV_CALLBACK_TYPE, self.ts_id, sq_id, cq_id
        self.give_back(
            self.resource_table, partial(self.hal.halSqCqFree, self.device_id, ctypes.byref(info)),
            partial(self.free, sq_id, cq_id), "halSqCqFree", f"callback cq {cq_id}",
        )

    def receive(self, group_id: int, timeout_ms: int) -> CallbackReport | None:
        """Return the next request to a group; None when none comes in time, or a queue of it is freed meanwhile.

        The driver takes requests as events of the group's thread: its number stands where that of a CQ does for other
        types, and nothing is counted.
        """
        buffer = ctypes.create_string_buffer(_CQE_BYTES)
        info: Any = s.halReportRecvInfo()
        info.type, info.tsId, info.cqId, info.timeout = c.DRV_CALLBACK_TYPE, self.ts_id, group_id, timeout_ms
        info.cqe_addr, info.cqe_num = ctypes.addressof(buffer), 1
        rc = self.hal.halCqReportRecv(self.device_id, ctypes.byref(info))
        if rc in _NOTHING:
            return None
        self.check(rc, "halCqReportRecv", f"callbacks of group {group_id}")
        _, stream_id, task_id, _, _, _, block, event_id, function, data = _REPORT.unpack(buffer.raw)
        return CallbackReport(stream_id, task_id, bool(block), event_id, function, data)
