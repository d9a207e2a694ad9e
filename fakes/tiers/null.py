"""null://: accepts and completes everything at once, for measuring what our own code costs.

Nothing is executed: a send moves the tail, the head is always the tail, every wait for a completion is answered with
the completion asked for. Memory is real, all else is that of the fake.
"""

from __future__ import annotations

import ctypes
from typing import Any

from chips.completion import Cqe, pack_logic_cqe
from fakes.machine.queues import SubmissionQueue, completion
from fakes.tiers.direct import REFERENCE, DirectApi
from npuhal import constants as c


class NullApi(DirectApi):
    """The backend of null://."""

    listens = False

    def raw(self, name: str) -> Any:
        """Return the functions that make up the cost of a launch, as short as they can be."""
        if name == "halSqTaskSend":
            return self._sender()
        if name == "halSqCqQuery":
            return self._reader(super().raw(name))
        if name in _MOVERS:
            return _accept  # nothing is executed, so nobody reads the arguments that these bring to the device
        return super().raw(name)

    def _bind(self, prototype: Any) -> Any:
        if prototype.name in ("halSqTaskSend", "halSqCqQuery"):
            return self.raw(prototype.name)
        if prototype.name == "halCqReportRecv":
            return self._receiver(super()._bind(prototype))
        return super()._bind(prototype)

    def _sender(self) -> Any:
        queues = [device.queues for device in self.fake.devices]
        invalid = c.DRV_ERROR_INVALID_VALUE

        def send(devid: int, pointer: Any) -> int:
            try:
                info = pointer._obj
                queues[devid][info.sqId].sent += info.sqe_num
            except (KeyError, AttributeError, IndexError):
                return invalid
            return 0

        return send

    def _reader(self, fallback: Any) -> Any:
        devices = self.fake.devices
        count = len(devices)
        pointers = (c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_TAIL)

        def query(devid: int, pointer: Any) -> Any:
            info = pointer._obj if type(pointer) is REFERENCE else pointer
            if info.prop == c.DRV_SQCQ_PROP_SQ_CQE_STATUS:
                info.value[0] = 0  # what is waited for is answered in the wait itself
                return 0
            if info.prop not in pointers or not 0 <= devid < count:
                return fallback(devid, pointer)
            sq = devices[devid].queues.get(info.sqId)
            if sq is None:
                return c.DRV_ERROR_INVALID_VALUE
            info.value[0] = sq.sent % sq.depth
            return 0

        return query

    def _receiver(self, fallback: Any) -> Any:
        devices = self.fake.devices

        def receive(devid: int, pointer: Any) -> Any:
            info = pointer._obj if type(pointer) is REFERENCE else pointer
            logic = devices[devid].logic.get(info.cqId) if info.type == c.DRV_LOGIC_TYPE else None
            if logic is None:
                return fallback(devid, pointer)
            sq = devices[devid].by_stream.get(logic.stream_id)
            info.report_cqe_num = 0
            if sq is None or not sq.sent or not info.timeout:
                return 0 if not info.timeout else c.DRV_ERROR_WAIT_TIMEOUT
            data = pack_logic_cqe(_completion(sq, info, devices[devid].identity.ts_version))[: logic.entry_bytes]
            ctypes.memmove(info.cqe_addr, data, len(data))
            info.report_cqe_num = 1
            return 0

        return receive


_MOVERS = frozenset({"halMemcpySumbit", "halMemcpyWait", "drvMemcpy"})


def _accept(*_arguments: Any) -> int:
    return 0


def _completion(sq: SubmissionQueue, info: Any, ts_version: int) -> Cqe:
    """The completion the caller waits for: of its task, at the last position sent."""
    code = ts_version if sq.sent == 1 else 0
    position = (sq.sent - 1) % sq.depth
    return completion(info.stream_id & 0xFFFF, info.task_id & 0xFFFF, sq.sq_id, position, 3, error_code=code)
