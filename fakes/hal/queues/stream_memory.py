"""HAL chapter "queues": queues bound to memory of their streams, and the old send in two steps (hal_semantics 6)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.hal.chapter import Chapter
from fakes.machine import aborts
from fakes.machine.blocks import Allocation, Kind
from fakes.machine.queues import SQE_BYTES, StreamMemory
from npuhal import constants as c
from npuhal import structs as s

if TYPE_CHECKING:
    from fakes.machine.card import Device
    from fakes.machine.lent import Lent
    from fakes.machine.ports import Machine
    from fakes.machine.queues import SubmissionQueue

_UNBIND = 0xFFFFFFFF
_DEPTH_LIMIT = 32768
_PAGE = 2 << 20
_STAGED = 4


def _begin(memory: int, count: int) -> StreamMemory | None:
    """Return the memory of a stream that begins at an address: what is left of that page of 2 MiB."""
    end = (memory // _PAGE + 1) * _PAGE
    return StreamMemory(memory, end) if memory and memory + count * SQE_BYTES <= end else None


def _starts(region: StreamMemory, memory: int, old: bool) -> bool:
    """Whether tasks may be written at an address of the memory of a stream."""
    if old:
        return memory in (0, region.base)
    return region.base <= memory <= region.base + region.tail * SQE_BYTES


class StreamMemoryCalls(Chapter):
    """Functions of ascend_hal_base.h that bind and fill the memory of streams."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._own: dict[SubmissionQueue, tuple[Allocation, int, int]] = {}
        self._commands: dict[tuple[int, int], Lent] = {}

    def halSqSwitchStreamBatch(self, devid: int, info: Any, count: int) -> int:
        """Bind queues to stream memory, or unbind them; all arguments are checked before the first one is switched."""
        device = self.device(devid)
        if device is None or info is None:
            return c.DRV_ERROR_INVALID_VALUE
        if not 0 < count <= device.ids["stream"].limit:
            return c.DRV_ERROR_IOCRL_FAIL
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
        ring = Allocation(entry.stream_mem, size, size, Kind.DEVICE, device.index, pointer, alias=True)
        sq.lie_in(ring, entry.sq_depth)
        sq.stream_id = entry.stream_id
        written = device.stream_memory.get(sq.stream_id)
        if written is None or written.base != entry.stream_mem:
            device.stream_memory[sq.stream_id] = StreamMemory(entry.stream_mem, entry.stream_mem + size)
        sq.reset()
        sq.logic = device.bound.get(sq.stream_id)
        device.by_stream[sq.stream_id] = sq
        if self.machine.checks is not None:
            self.machine.checks.bound(device, sq)
        device.activate(sq)

    def _unbind(self, device: Device, sq: SubmissionQueue) -> None:
        own = self._own.get(sq)
        if own is None:
            return
        if device.by_stream.get(sq.stream_id) is sq:
            del device.by_stream[sq.stream_id]
        ring, depth, sq.stream_id = own
        sq.lie_in(ring, depth)
        sq.reset()
        sq.logic = device.bound.get(sq.stream_id)
        device.by_stream[sq.stream_id] = sq
        if self.machine.checks is not None:
            self.machine.checks.bound(device, sq)
        device.activate(sq)
        del self._own[sq]  # last: what an interrupt breaks off before is done again

    def halStreamTaskFill(self, devid: int, stream_id: int, memory: int, tasks: int, count: int) -> int:
        """Write SQEs to the memory of a stream, whether it has a queue by then or not.

        The first call says where the memory begins. STARS v1 goes on behind what is written, and only ever takes the
        beginning (or NULL); later chips write where they are told to, without gaps.
        """
        device = self.device(devid)
        if device is None or not tasks or not 1 <= count <= _DEPTH_LIMIT:
            return c.DRV_ERROR_INVALID_VALUE
        sq = device.by_stream.get(stream_id)
        if stream_id not in device.ids["stream"].used and (sq is None or sq not in self._own):
            return c.DRV_ERROR_INVALID_VALUE
        old = self.machine.driver.first
        region = device.stream_memory.get(stream_id) or _begin(memory, count)
        if region is None or not _starts(region, memory, old):
            return c.DRV_ERROR_INVALID_VALUE
        address, size = region.base + region.tail * SQE_BYTES if old else memory, count * SQE_BYTES
        if address + size > region.end:
            return c.DRV_ERROR_NO_RESOURCES
        try:
            self.machine.memory.copy(address, tasks, size, "halStreamTaskFill")
        except MemoryFault as fault:
            self.machine.problem(str(fault))
            return c.DRV_ERROR_INVALID_VALUE
        region.tail = max(region.tail, (address - region.base) // SQE_BYTES + count)
        device.stream_memory[stream_id] = region
        checks = self.machine.checks
        if checks is not None and sq is not None and sq in self._own:
            checks.filled(device, sq, address, size)
        elif checks is not None:
            checks.host_copy(address, tasks, size, "halStreamTaskFill")
        return 0

    # -- the old two-step send ----------------------------------------------------------------------------------------

    def halSqMemGet(self, devid: int, in_: Any, out: Any) -> int:
        """Hand out a staging area of at most four entries; the previous reservation is forgotten."""
        device = self.device(devid)
        if device is not None and in_ is not None and out is not None and in_.type == c.DRV_CALLBACK_TYPE:
            return self._lend_command(device, in_, out)
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
        if device is not None and info is not None and info.type == c.DRV_CALLBACK_TYPE:
            return self._send_command(device, info)
        sq = None if device is None or info is None else device.queues.get(info.sqId)
        if sq is None or not sq.reserved or info.cmdCount != sq.reserved:
            return c.DRV_ERROR_INVALID_VALUE
        assert sq.staging is not None  # reserved, so handed out
        send = s.halTaskSendInfo(type=c.DRV_NORMAL_TYPE, sqId=info.sqId, sqe_addr=sq.staging.address,
                                 sqe_num=sq.reserved)  # fmt: skip
        sq.reserved = 0
        return self.machine.send(devid, send)

    # -- commands of the host to a callback queue ---------------------------------------------------------------------

    def _lend_command(self, device: Device, in_: Any, out: Any) -> int:
        if in_.sqId not in device.host_calls.groups or not in_.cmdCount:
            return c.DRV_ERROR_INVALID_VALUE
        area = self._commands.get((device.index, in_.sqId))
        if area is None:
            area = self._commands[device.index, in_.sqId] = self.machine.memory.lend(bytes(_STAGED * SQE_BYTES))
        out.cmdCount, out.cmdPtr, out.pos = 1, area.address, 0
        return 0

    def _send_command(self, device: Device, info: Any) -> int:
        """The host lets a stream go on that waits behind a blocking callback."""
        area = self._commands.get((device.index, info.sqId))
        if area is None or info.cmdCount != 1:
            return c.DRV_ERROR_INVALID_VALUE
        signal = aborts.recorded(device, self.machine.memory.read(area.address, SQE_BYTES, "halSqMsgSend from"))
        if signal is None:
            return c.DRV_ERROR_NOT_SUPPORT
        self.fire(device, *signal)
        return 0
