"""HAL chapter "queues": queues bound to memory of their streams, and the old send in two steps (hal_semantics 6)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.hal.chapter import Chapter
from fakes.machine.blocks import Block, Kind
from fakes.machine.queues import SQE_BYTES
from npuhal import constants as c
from npuhal import structs as s

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.machine import Machine
    from fakes.machine.queues import SubmissionQueue

_UNBIND = 0xFFFFFFFF
_DEPTH_LIMIT = 32768
_PAGE = 2 << 20
_STAGED = 4


class StreamMemoryCalls(Chapter):
    """Functions of ascend_hal_base.h that bind and fill the memory of streams."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._own: dict[SubmissionQueue, tuple[Block, int, int]] = {}

    def halSqSwitchStreamBatch(self, devid: int, info: Any, count: int) -> int:
        """Bind queues to stream memory, or unbind them; all arguments are checked before the first one is switched."""
        device = self.device(devid)
        if device is None or info is None or not count:
            return c.DRV_ERROR_INVALID_VALUE
        entries = list((type(info) * count).from_address(ctypes.addressof(info)))
        if not all(self._fits(device, entry) for entry in entries):
            return c.DRV_ERROR_INVALID_VALUE
        for entry in entries:
            sq = device.queues[entry.sq_id]
            if entry.stream_id == _UNBIND:
                self._unbind(device, sq)
            else:
                self._bind(device, sq, entry)
        return 0

    def _fits(self, device: Device, entry: Any) -> bool:
        if entry.sq_id not in device.queues:
            return False
        if entry.stream_id == _UNBIND:
            return True
        size = entry.sq_depth * SQE_BYTES
        address = entry.stream_mem or 0
        block = self.machine.memory.find(address)
        return (
            0 < entry.sq_depth <= _DEPTH_LIMIT
            and block is not None and block.kind is Kind.DEVICE and address + size <= block.base + block.size
            and address // _PAGE == (address + size - 1) // _PAGE
        )  # fmt: skip

    def _bind(self, device: Device, sq: SubmissionQueue, entry: Any) -> None:
        self._own.setdefault(sq, (sq.ring, sq.depth, sq.stream_id))
        if device.by_stream.get(sq.stream_id) is sq:
            del device.by_stream[sq.stream_id]
        size = entry.sq_depth * SQE_BYTES
        memory = self.machine.memory
        pointer = memory.pointer(entry.stream_mem, size)
        sq.ring = Block(entry.stream_mem, size, size, Kind.DEVICE, device.index, pointer, alias=True)
        sq.depth, sq.stream_id = entry.sq_depth, entry.stream_id
        sq.reset()
        sq.logic = device.bound.get(sq.stream_id)
        device.by_stream[sq.stream_id] = sq
        device.activate(sq)

    def _unbind(self, device: Device, sq: SubmissionQueue) -> None:
        own = self._own.pop(sq, None)
        if own is None:
            return
        if device.by_stream.get(sq.stream_id) is sq:
            del device.by_stream[sq.stream_id]
        sq.ring, sq.depth, sq.stream_id = own
        sq.reset()
        sq.logic = device.bound.get(sq.stream_id)
        device.by_stream[sq.stream_id] = sq
        device.activate(sq)

    def halStreamTaskFill(self, devid: int, stream_id: int, memory: int, tasks: int, count: int) -> int:
        """Copy SQEs into the memory of a bound stream."""
        device = self.device(devid)
        if device is None or not memory or not tasks or not 1 <= count <= _DEPTH_LIMIT:
            return c.DRV_ERROR_INVALID_VALUE
        sq = device.by_stream.get(stream_id)
        if sq is None or sq not in self._own:
            return c.DRV_ERROR_INVALID_VALUE
        size = count * SQE_BYTES
        if not sq.ring.base <= memory <= sq.ring.base + sq.ring.size - size:
            return c.DRV_ERROR_NO_RESOURCES
        try:
            ctypes.memmove(self.machine.memory.pointer(memory, size), self.machine.memory.pointer(tasks, size), size)
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        if self.machine.checks is not None:
            self.machine.checks.filled(device, sq, memory, size)
        return 0

    # -- the old two-step send ----------------------------------------------------------------------------------------

    def halSqMemGet(self, devid: int, in_: Any, out: Any) -> int:
        """Hand out a staging area of at most four entries; the previous reservation is forgotten."""
        device = self.device(devid)
        sq = None if device is None or in_ is None else device.queues.get(in_.sqId)
        if sq is None or out is None or in_.type != c.DRV_NORMAL_TYPE or not in_.cmdCount:
            return c.DRV_ERROR_INVALID_VALUE
        if not sq.credit:
            return c.DRV_ERROR_OUT_OF_CMD_SLOT
        count = min(in_.cmdCount, _STAGED)
        sq.reserved = count
        if sq.staging is None:
            sq.staging = self.machine.memory.lend(bytes(_STAGED * SQE_BYTES))
        out.cmdCount, out.cmdPtr, out.pos = count, sq.staging.address, sq.tail
        return 0

    def halSqMsgSend(self, devid: int, info: Any) -> int:
        """Send exactly what was reserved."""
        device = self.device(devid)
        sq = None if device is None or info is None else device.queues.get(info.sqId)
        if sq is None or not sq.reserved or info.cmdCount != sq.reserved:
            return c.DRV_ERROR_INVALID_VALUE
        assert sq.staging is not None  # reserved, so handed out
        send = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=info.sqId, sqe_addr=sq.staging.address,
                                 sqe_num=sq.reserved)  # fmt: skip
        sq.reserved = 0
        return self.machine.send(devid, send)
