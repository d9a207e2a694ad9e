"""Copies: SDMA with reduce and memset, PCIe DMA by addresses or by the driver's descriptor chain."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fakes.checkers.access import READ, WRITE
from fakes.errors import TaskFault
from fakes.executor.task import once
from fakes.faults import Effect
from fakes.machine.blocks import Kind
from fakes.machine.queues import SQE_BYTES, WQE, WQE_MARK
from fakes.machine.views import view
from fakes.schedule.scheduler import D2H, H2D, SDMA, copy_ns

if TYPE_CHECKING:
    from fakes.executor.task import Task

_DTYPES = {0x00: "int8", 0x10: "int16", 0x20: "int32", 0x30: "uint8", 0x40: "uint16", 0x50: "uint32",
           0x60: "float16", 0x70: "float32"}  # fmt: skip
_BFP16 = 0x80
_OPERATIONS = {1: "add", 2: "maximum", 3: "minimum", 4: "equal"}
_MEMSET = 5
_CACHE_OPERATIONS = {6: "prefetch", 7: "write back", 8: "invalidate", 9: "flush"}
_BAD_OPCODE = 0xF0


def engine_for(task: Task, dst: int, src: int) -> str:
    """Return the engine that moves data between two addresses."""
    memory = task.machine.memory
    to, origin = memory.find(dst), memory.find(src)
    if origin is None or origin.kind is not Kind.DEVICE:
        return H2D
    return SDMA if to is not None and to.kind is Kind.DEVICE else D2H


def reach(task: Task, address: int, size: int, use: str, *, writes: bool = False) -> int:
    """Return where bytes really are; memory of another card needs P2P from this one."""
    memory = task.machine.memory
    pointer = memory.pointer(address, size, use, writes=writes)
    task.device.check_reach(address, size, use)
    return pointer


def carry(task: Task, dst: int, src: int, size: int) -> None:
    """Copy bytes; the caller charges the engine."""
    target = reach(task, dst, size, "copy to", writes=True)
    ctypes.memmove(target, reach(task, src, size, "copy from"), size)
    task.touch(src, size, READ)
    task.touch(dst, size, WRITE)


def move(task: Task, dst: int, src: int, size: int, pieces: int = 1) -> None:
    """Copy bytes and charge the engine for them."""
    carry(task, dst, src, size)
    engine = engine_for(task, dst, src)
    task.device.wrote()
    task.detail = f"{engine} {size} bytes {src:#x} -> {dst:#x}" if pieces == 1 else f"{engine} {pieces} pieces"
    task.occupy(copy_ns(engine, size), engine)


def _reduce(task: Task, dst: int, src: int, size: int, opcode: int) -> None:
    import numpy as np

    kind, operation = opcode & 0xF0, opcode & 0x0F
    to = task.device.reach(dst, size, "reduce to", writes=True)
    origin = task.device.reach(src, size, "reduce from")
    reduce = getattr(np, _OPERATIONS[operation])
    if kind == _BFP16:
        halves = [view(at, "uint16", size // 2) for at in (to, origin)]
        left, right = ((half.astype("uint32") << 16).view("float32") for half in halves)
        result = once(task, partial(reduce, left), right).astype("float32")
        halves[0][:] = (result.view("uint32") + 0x8000) >> 16
    else:
        dtype = np.dtype(_DTYPES[kind])
        left, right = (view(at, dtype, size // dtype.itemsize) for at in (to, origin))
        left[:] = once(task, partial(reduce, left), right)
    task.touch(src, size, READ)
    task.touch(dst, size, WRITE)
    task.device.wrote()
    task.detail = f"reduce {opcode:#04x} {size} bytes {src:#x} -> {dst:#x}"
    task.occupy(copy_ns(SDMA, size), SDMA)


def _memset(task: Task, dst: int, size: int, word: int) -> None:
    pointer = reach(task, dst, size, "memset", writes=True)
    pattern = word.to_bytes(4, "little")
    if len(set(pattern)) == 1:
        ctypes.memset(pointer, pattern[0], size)
    else:
        ctypes.memmove(pointer, (pattern * (size // 4 + 1))[:size], size)
    task.touch(dst, size, WRITE)
    task.device.wrote()
    task.detail = f"memset {size} bytes at {dst:#x}"
    task.occupy(copy_ns(SDMA, size), SDMA)


def transfer(task: Task, opcode: int, dst: int, src: int, size: int) -> None:
    """Do what an SDMA opcode says."""
    operation = opcode & 0x0F
    if opcode == 0:
        move(task, dst, src, size)
    elif opcode == _MEMSET:
        _memset(task, src, size, dst & 0xFFFFFFFF)
    elif opcode in _CACHE_OPERATIONS:
        task.detail = f"cache {_CACHE_OPERATIONS[opcode]} {size} bytes at {src:#x}"
        task.occupy(copy_ns(SDMA, 0), SDMA)
    elif opcode & 0xF0 <= _BFP16 and operation in _OPERATIONS:
        _reduce(task, dst, src, size, opcode)
    else:
        raise TaskFault(f"the SDMA engine has no operation {opcode:#04x}", Effect.SQE_ERROR.value)


def _address_at(task: Task, address: int) -> int:
    word = task.device.reach(address, 8, "address read")
    return int.from_bytes(ctypes.string_at(word, 8), "little")


def sdma(task: Task) -> int:
    """SDMA copy, reduce, memset and cache operations of both generations."""
    fields = task.fields
    src, dst = fields["src"], fields["dst"]
    if fields["pre_p"]:  # the scheduler looks up first what lies at the two addresses
        src, dst = (_address_at(task, at) for at in (src, dst))
    if fields.get("d2d_offset") or fields.get("d2d_offset_flag"):
        src += fields["src_offset_high"] << 32 | fields["src_offset_low"]
        dst += fields["dst_offset_high"] << 32 | fields["dst_offset_low"]
    transfer(task, fields["opcode"], dst, src, fields["length"])
    return 1


def _into_queue(task: Task) -> int:
    """Write over part of an entry that waits in a queue; `dst` is the queue's id and, low, the entry's position."""
    fields = task.fields
    sq_id, position = fields["dst"] >> 32, fields["dst"] & 0xFFFFFFFF
    sq = task.device.queues.get(sq_id)
    if sq is None or position >= sq.depth or fields["offset"] + fields["length"] > SQE_BYTES:
        raise TaskFault(f"no bytes {fields['offset']}.. at position {position} of queue {sq_id}",
                        Effect.SQE_ERROR.value)  # fmt: skip
    source = task.machine.memory.device_pointer(fields["src"], fields["length"], "copy from")
    ctypes.memmove(sq.ring.base + position * SQE_BYTES + fields["offset"], source, fields["length"])
    task.detail = f"{D2H} {fields['length']} bytes {fields['src']:#x} -> entry {position} of queue {sq_id}"
    task.occupy(copy_ns(D2H, fields["length"]), D2H)
    return 1


def pcie_dma(task: Task) -> int:
    """PCIe DMA: by addresses that the driver converts, or by the chain that drvMemConvertAddr built."""
    fields = task.fields
    if not (fields["is_converted"] if "is_converted" in fields else fields["converted"]):
        if fields.get("sqe_update") or fields.get("dsa_update"):
            return _into_queue(task)
        move(task, fields["dst"], fields["src"], fields["length"])
        return 1
    _by_chain(task, fields["sq_addr"], fields["sq_tail"])
    return 1


def _by_chain(task: Task, address: int, nodes: int) -> None:
    """Run the chain that drvMemConvertAddr built at an address."""
    chain = task.device.dma.get(address)
    if chain is None:
        raise TaskFault(f"no DMA chain at {address:#x}: never converted, or destroyed", Effect.SQE_ERROR.value)
    if len(chain) != nodes:
        text = f"the DMA chain at {address:#x} has {len(chain)} nodes, not {nodes}"
        raise TaskFault(text, Effect.SQE_ERROR.value)
    total = 0
    for dst, src, size in chain:
        carry(task, dst, src, size)
        total += size
    engine = engine_for(task, chain[0][0], chain[0][1])
    task.device.wrote()
    task.detail = f"{engine} {total} bytes {chain[0][1]:#x} -> {chain[0][0]:#x}"
    task.occupy(copy_ns(engine, total), engine)


_POINTER_V1 = struct.Struct("<B11xIQQ")
"""rtStarsSdmaSqe_t and the addresses behind it: opcode, length, source, destination."""
_POINTER_V2 = struct.Struct("<32xQQI12x")
"""rtDavidMemcpyAddrInfo: source, destination, length."""


def _descriptor(task: Task, layout: struct.Struct) -> tuple[int, ...]:
    pointer = task.machine.memory.device_pointer(task.fields["descriptor"], layout.size, "descriptor read")
    return layout.unpack(ctypes.string_at(pointer, layout.size))


def by_pointer_v1(task: Task) -> int:
    """SDMA whose descriptor lies in memory, STARS v1."""
    opcode, size, src, dst = _descriptor(task, _POINTER_V1)
    transfer(task, opcode, dst, src, size)
    return 1


def by_pointer_v2(task: Task) -> int:
    """SDMA whose descriptor lies in memory, STARS v2."""
    src, dst, size = _descriptor(task, _POINTER_V2)
    move(task, dst, src, size)
    return 1


_CONVERTED, _BY_ADDRESS = 1, 2
"""What the addresses of a copy command are: a prepared transfer, or where the addresses lie; else themselves."""
_REDUCTIONS = {10: 1, 11: 2, 12: 3, 13: 4}
"""By direction (task_info.hpp, RT_MEMCPY_DIR_*): the operation of the engine."""
_REDUCED = {0: 0x70, 1: 0x60, 2: 0x10, 4: 0x00, 5: 0x20, 6: 0x80, 10: 0x50}
"""By rtDataType_t: the type of the engine."""


def command(task: Task) -> int:
    """Copy command: of plain addresses, of addresses in memory, or a transfer that the driver has prepared."""
    fields = task.fields
    src, dst, size = fields["src"], fields["dst"], fields["length"]
    if fields["convert"] == _CONVERTED:
        _by_chain(task, src, size)
        return 1
    if fields["convert"] == _BY_ADDRESS:
        src, dst = (_address_at(task, at) for at in (src, dst))
    if fields["with_offsets"]:
        src += fields["src_offset_high"] << 32 | fields["src_offset_low"]
        dst += fields["dst_offset_high"] << 32 | fields["dst_offset_low"]
    return _directed(task, dst, src, size)


def reduce_command(task: Task) -> int:
    """Reduction command."""
    return _directed(task, task.fields["dst"], task.fields["src"], task.fields["length"])


def _directed(task: Task, dst: int, src: int, size: int) -> int:
    """Copy or reduce, as the direction of a command says."""
    operation = _REDUCTIONS.get(task.fields["dir"])
    if operation is None:
        move(task, dst, src, size)
        return 1
    kind = _REDUCED.get(task.fields["data_type"])
    if kind is None:
        raise TaskFault(f"nothing is reduced of data type {task.fields['data_type']}", Effect.SQE_ERROR.value)
    _reduce(task, dst, src, size, kind | operation)
    return 1


def cache_operation(task: Task) -> int:
    """Cache operations and barriers: the fake has no caches."""
    task.occupy(copy_ns(SDMA, 0), SDMA)
    return 1


def by_cpu(task: Task) -> int:
    """A copy that a CPU does in place of SDMA."""
    move(task, task.fields["dst"], task.fields["src"], task.fields["length"])
    return 1


def follow(task: Task, address: int) -> None:
    """Run the copies that the driver keeps at an address for an entry over UB."""
    chain = task.device.dma.get(address)
    if chain is None:
        raise TaskFault(f"no copy is kept at {address:#x}: never created, or destroyed", Effect.SQE_ERROR.value)
    total = 0
    for dst, src, size in chain:
        carry(task, dst, src, size)
        total += size
    engine = engine_for(task, chain[0][0], chain[0][1])
    task.device.wrote()
    task.detail = f"{engine} {total} bytes over UB {chain[0][1]:#x} -> {chain[0][0]:#x}"
    task.occupy(copy_ns(engine, total), engine)


def chain_of(task: Task) -> int | None:
    """Return where the copies of a queued UB entry are kept; None where that is not known."""
    if task.layout == "async_dma":
        mark, address, _size = WQE.unpack(task.following(1))
        return int(address) if mark == WQE_MARK else None
    queued = task.device.jetties.get(task.fields["jetty_1"], [])
    index = task.fields["pi_1"]
    return queued[index - 1] if 1 <= index <= len(queued) else None


def direct(task: Task) -> int:
    """ASYNCDMA: the work queue element follows in the ring."""
    mark, address, _size = WQE.unpack(task.following(1))
    if mark != WQE_MARK:
        text = "the entry behind an ASYNCDMA task is no work queue element of this driver"
        raise TaskFault(text, Effect.SQE_ERROR.value)
    follow(task, address)
    return 1 + task.fields["sqe_length"]


COPIES = frozenset({"sdma", "pcie_dma", "memcpy_cpu", "async_dma", "ub_doorbell"})
"""Layouts of entries whose ends can be told before they run."""


def ends(task: Task) -> list[tuple[int, int, int]]:
    """Return (destination, source, bytes) of the pieces that a queued copy will move; source 0 for a memset."""
    fields = task.fields
    if task.layout in ("async_dma", "ub_doorbell"):
        return list(task.device.dma.get(chain_of(task) or 0, ()))
    if task.layout == "pcie_dma" and (fields["is_converted"] if "is_converted" in fields else fields["converted"]):
        return list(task.device.dma.get(fields["sq_addr"], ()))
    if task.layout != "sdma":
        return [(fields["dst"], fields["src"], fields["length"])]
    if fields["pre_p"] or fields.get("d2d_offset") or fields.get("d2d_offset_flag"):
        return []  # known only when it runs
    if fields["opcode"] in _CACHE_OPERATIONS:
        return []
    src, dst = fields["src"], fields["dst"]
    return [(src, 0, fields["length"])] if fields["opcode"] == _MEMSET else [(dst, src, fields["length"])]


Handler = Callable[["Task"], int]

STARS: Mapping[str, tuple[str, Handler]] = {
    "sdma": ("copy", sdma), "pcie_dma": ("copy", pcie_dma), "memcpy_cpu": ("copy", by_cpu),
    "sdma_pointer": ("copy", by_pointer_v1), "cmo": ("cache", cache_operation), "barrier": ("barrier", cache_operation),
}  # fmt: skip
STARS_V2: Mapping[str, tuple[str, Handler]] = {
    "sdma": ("copy", sdma), "memset": ("memset", sdma), "pcie_dma": ("copy", pcie_dma),
    "async_dma": ("copy", direct), "sdma_pointer": ("copy", by_pointer_v2), "cmo": ("cache", cache_operation),
}  # fmt: skip
COMMANDS: Mapping[str, tuple[str, Handler]] = {
    "memcpy": ("copy", command), "memcpy_offsets": ("copy", command), "reduce_async_v2": ("copy", reduce_command),
}
STARS_SMALL: Mapping[str, tuple[str, Handler]] = {"memcpy": ("copy", by_cpu)}
