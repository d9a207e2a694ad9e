"""null://: accepts and completes everything at once, for measuring what our own code costs.

Nothing is executed: a send moves the tail, the head is always the tail, every wait for a completion is answered with
the completion asked for. Only the first task of a queue is looked at: where it asks for a report, as the question for
the scheduler's version does when a device is opened, there is one. Memory is real, all else is that of the fake.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from chips.completion import Cqe, pack_logic_cqe
from fakes.machine.queues import SQE_BYTES, SubmissionQueue, completion
from fakes.tiers.direct import REFERENCE, DirectApi
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.machine import Machine


class NullApi(DirectApi):
    """The backend of null://."""

    tries_addresses = False

    def _untyped(self, name: str) -> Any:
        """Return the functions that make up the cost of a launch, as short as they can be."""
        if name == "halSqTaskSend":
            return self._sender()
        if name == "halSqCqQuery":
            return self._reader(super()._untyped(name))
        if name == "halSqMsgSend" and self.fake.plugin.commands is not None:
            return self._message_sender(super()._untyped(name))
        if name in _MOVERS:
            return _accept  # nothing is executed, so nobody reads the arguments that these bring to the device
        return super()._untyped(name)

    def __init__(self, url: str, machine: Machine) -> None:
        self._begun: list[dict[int, SubmissionQueue]] = [{} for _ in machine.devices]
        """Per card the queues whose first task was sent; the others take the slow path."""
        self._delivered: set[tuple[int, int]] = set()
        """Card and number of queues that have a report, until it was asked whether they have one."""
        self._header = machine.plugin.layouts["header"]
        self.listens = machine.checks is not None
        super().__init__(url, machine)

    def _bind(self, prototype: Any) -> Any:
        if prototype.name in ("halSqCqAllocate", "halSqCqFree"):
            return self._forgetting(super()._bind(prototype))
        if prototype.name in ("halSqTaskSend", "halSqCqQuery", "halSqMsgSend"):
            return self.raw(prototype.name)
        if prototype.name == "halCqReportRecv":
            return self._receiver(super()._bind(prototype))
        return super()._bind(prototype)

    def _sender(self) -> Any:
        queues, first = self._begun, self._first

        def send(devid: int, pointer: Any) -> int:
            try:
                info = pointer._obj
                queues[devid][info.sqId].sent += info.sqe_num
            except (KeyError, AttributeError, IndexError):
                return first(devid, pointer)
            return 0

        return send

    def _first(self, devid: int, pointer: Any) -> int:
        """Send the first tasks of a queue; also what a send answers that is wrong."""
        try:
            info = pointer._obj
            sq = self.fake.devices[devid].queues[info.sqId]
        except (KeyError, AttributeError, IndexError):
            return c.DRV_ERROR_INVALID_VALUE
        self._begun[devid][info.sqId] = sq
        sq.sent += info.sqe_num
        if info.sqe_addr:
            self._look(devid, sq, ctypes.string_at(info.sqe_addr, self._header.size))
        return 0

    def _look(self, devid: int, sq: SubmissionQueue, raw: bytes) -> None:
        """Deliver the report of a queue's first task if its header asks for one."""
        fields = self._header.decode(raw)
        if not fields["wr_cqe"]:
            return
        serial = fields.get("task_sn", 0)
        stream_id, task_id = fields.get("stream_id", serial & 0xFFFF) & 0x7FFF, fields.get("task_id", serial >> 16)
        version = self.fake.devices[devid].identity.ts_version
        sq.deliver(completion(stream_id, task_id, sq.sq_id, 0, fields["type"], error_code=version))
        self._delivered.add((devid, sq.sq_id))

    def _message_sender(self, fallback: Any) -> Any:
        """Send commands, and say at once that they are done."""
        devices, entry = self.fake.devices, SQE_BYTES

        def send(devid: int, pointer: Any) -> Any:
            if rc := fallback(devid, pointer):
                return rc
            info = referred(pointer)
            device = devices[devid]
            sq = device.queues.get(info.sqId)
            if sq is not None:
                last = sq.ring.pointer + (sq.tail - 1) % sq.depth * entry
                task_id = int.from_bytes(ctypes.string_at(last + 2, 2), "little")
                sq.head = sq.tail
                device.active.pop(sq.sq_id, None)
                device.commands.write_row(sq.stream_id, task_id)
                device.commands.report(sq.stream_id, task_id, sq.sq_id, sq.head, 0)
            return 0

        return send

    def _forgetting(self, call: Any) -> Any:
        """Let a call that makes or frees a queue forget the one that had its number."""

        def forget(devid: int, info: Any, *made: Any) -> Any:
            answer = call(devid, info, *made)
            if not answer and (given := referred(info)).type == c.DRV_NORMAL_TYPE:
                self._begun[devid].pop(referred(made[0]).sqId if made else given.sqId, None)
            return answer

        return forget

    def _reader(self, fallback: Any) -> Any:
        devices = self.fake.devices
        count = len(devices)
        status, delivered = c.DRV_SQCQ_PROP_SQ_CQE_STATUS, self._delivered
        pointers = (c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_TAIL)

        def query(devid: int, pointer: Any) -> Any:
            info = referred(pointer)
            if info.prop == status:  # of what is waited for, the wait itself gives the report
                info.value[0] = 0
                if delivered and (devid, info.sqId) in delivered:
                    delivered.remove((devid, info.sqId))
                    info.value[0] = 1
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
            info = referred(pointer)
            logic = devices[devid].logic.get(info.cqId) if info.type == c.DRV_LOGIC_TYPE else None
            if logic is None:
                return fallback(devid, pointer)
            sq = devices[devid].by_stream.get(logic.stream_id)
            info.report_cqe_num = 0
            if reports := logic.take(info.cqe_num, info.stream_id, info.task_id):
                ctypes.memmove(info.cqe_addr, b"".join(reports), len(reports) * logic.entry_bytes)
                info.report_cqe_num = len(reports)
                return 0
            if sq is None or not sq.sent or not info.timeout:
                return 0 if not info.timeout else c.DRV_ERROR_WAIT_TIMEOUT
            data = pack_logic_cqe(_completion(sq, info, devices[devid].identity.ts_version))[: logic.entry_bytes]
            ctypes.memmove(info.cqe_addr, data, len(data))
            info.report_cqe_num = 1
            return 0

        return receive


_MOVERS = frozenset({"halMemcpySumbit", "halMemcpyWait", "drvMemcpy"})


def referred(pointer: Any) -> Any:
    """Return what an argument made by byref() refers to."""
    return pointer._obj if type(pointer) is REFERENCE else pointer


def _accept(*_arguments: Any) -> int:
    return 0


def _completion(sq: SubmissionQueue, info: Any, ts_version: int) -> Cqe:
    """The completion the caller waits for: of its task, at the last position sent."""
    code = ts_version if sq.sent == 1 else 0
    position = (sq.sent - 1) % sq.depth
    return completion(info.stream_id & 0xFFFF, info.task_id & 0xFFFF, sq.sq_id, position, 3, error_code=code)
