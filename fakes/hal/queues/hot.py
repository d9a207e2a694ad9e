"""The two functions of the hot path, halSqTaskSend and halSqCqQuery(SQ_HEAD), with everything they need at hand."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fakes.errors import MemoryFault
from fakes.machine.queues import SQE_BYTES
from fakes.schedule.scheduler import FULL, SEND
from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.blocks import Allocation
    from fakes.machine.ports import Machine

_SEND_INFO = struct.Struct("<IIIiQII")
"""halTaskSendInfo up to `pos`: type, tsId, sqId, timeout, sqe_addr, sqe_num, pos."""
_MOST_SOURCES = 1024
_QUERY_INFO = struct.Struct("<IIIII")
"""halSqCqQueryInfo up to `prop`."""


def blank(ring: Allocation, first: int, number: int) -> None:
    """Zero entries of a ring: what the library does when it is given no address."""
    ctypes.memset(ring.pointer + first * SQE_BYTES, 0, number * SQE_BYTES)


def make_sender(machine: Machine) -> Callable[[int, Any], int]:
    """Build halSqTaskSend with everything it needs at hand: it runs once per task."""
    devices = machine.devices
    count = len(devices)
    unpack = _SEND_INFO.unpack_from
    memory = machine.memory
    faults, checks = machine.faults, machine.checks
    normal, invalid = c.DRV_NORMAL_TYPE, c.DRV_ERROR_INVALID_VALUE
    no_resources, paused = c.DRV_ERROR_NO_RESOURCES, c.DRV_ERROR_STATUS_FAIL

    sources: dict[tuple[int, int], memoryview] = {}
    """What lies at addresses that entries came from, whatever that is: senders fill the same memory again."""

    def seen(address: int, number: int) -> memoryview:
        if len(sources) >= _MOST_SOURCES:
            sources.clear()
        size = number * SQE_BYTES
        source = sources[address, number] = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        return source

    def send(devid: int, info: Any) -> int:
        kind, ts, sq_id, _timeout, address, number, _pos = unpack(info)
        if not 0 <= devid < count:
            return invalid
        device = devices[devid]
        sq = device.queues.get(sq_id)
        if sq is None or kind != normal or ts:
            return invalid
        if not sq.sendable:
            return c.DRV_ERROR_NOT_SUPPORT
        if sq.paused:
            return paused
        if number >= sq.depth:
            return no_resources
        if device.active and not device.policy.idle_at_sends:
            device.turn(SEND)
        depth, tail = sq.depth, sq.tail
        if depth - 1 - (tail - sq.head) % depth < number:
            sq.full += 1
            device.turn(FULL)
            if depth - 1 - (tail - sq.head) % depth < number:
                return no_resources
        if faults.slow_credit and sq.slow_credit(0) < number and sq.slow_credit(faults.slow_credit) < number:
            return no_resources
        ring = sq.ring
        in_place = ring.base <= address < ring.base + ring.size
        if not address:
            blank(ring, tail, min(number, depth - tail))
            blank(ring, 0, number - min(number, depth - tail))
        elif in_place:
            if address != ring.base + tail * SQE_BYTES:
                return invalid
        else:
            if memory.base <= address < memory.end:  # Memory.owns
                try:
                    address = memory.pointer(address, number * SQE_BYTES, "halSqTaskSend from")
                except MemoryFault as fault:
                    machine.problem(str(fault))
                    return invalid
            source = sources.get((address, number))
            if source is None:
                source = seen(address, number)
            if tail + number <= depth:
                sq.space[tail * SQE_BYTES : (tail + number) * SQE_BYTES] = source
            else:
                first = (depth - tail) * SQE_BYTES
                sq.space[tail * SQE_BYTES : depth * SQE_BYTES] = source[:first]
                sq.space[: number * SQE_BYTES - first] = source[first:]
        if sq.seen_time != device.host_time:
            sq.seen_time = device.host_time
            sq.arrivals.append((sq.sent, device.host_time))
        sq.tail = (tail + number) % depth
        sq.sent += number
        device.active[sq_id] = sq
        device.in_vain = False
        info.pos = tail
        if checks is not None:
            checks.submitted(device, sq, tail, number)
        if machine.changed.waiting:
            machine.changed.notify_all()
        return 0

    return send


def make_head_reader(machine: Machine) -> Callable[[int, Any], int | None]:
    """Build the fast form of halSqCqQuery for what waits ask for: SQ_HEAD, and whether there is a completion entry.

    It returns None for anything else, which the slow path answers.
    """
    devices = machine.devices
    count = len(devices)
    unpack = _QUERY_INFO.unpack_from
    normal, head, entry = c.DRV_NORMAL_TYPE, c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_CQE_STATUS
    transient = bool(machine.options.transient)

    def query(devid: int, info: Any) -> int | None:
        kind, ts, sq_id, _cq, prop = unpack(info)
        if kind != normal or ts or not 0 <= devid < count:
            return None
        device = devices[devid]
        sq = device.queues.get(sq_id)
        if sq is None or not device.opened:
            return None
        if prop == head and not transient:
            info.value[0] = device.poll(sq)
        elif prop == entry:
            info.value[0] = sq.cqe_status
            sq.cqe_status = 0
        else:
            return None
        return 0

    return query
