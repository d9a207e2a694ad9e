"""Small device-memory tables that the task scheduler reads: SQ registers, executed-times words, names, error ring."""

from __future__ import annotations

import struct
import threading

from chips.memory_rules import internal_flags
from npuhal.process_memory import blank
from runtime import errors
from runtime.driver.memory import MemoryDriver
from runtime.errors.closing import each

_CAPABILITY_MAGIC = 0xA55A2022
_CAPABILITY_HEADER = struct.Struct("<IIII16x")
_SNAPSHOT_BYTES = 17 * 1024
_SCHEDULER_CAPABILITY_BYTES = 10 * 1024
_RUNTIME_CAPABILITY_BYTES = 2 * 1024

_COUNTER_BYTES = 8
"""The program that starts a model counts in 2 bytes, but reads 8."""


class SqRegisterTable:
    """One u64 per SQ id: where the queue's registers are, for condition programs that start other queues."""

    def __init__(self, memory: MemoryDriver, entries: int) -> None:
        self._memory = memory
        self.size = entries * 8
        with memory.new(self.size, internal_flags()) as self.address:
            memory.fill(self.address, self.size, 0, self.size)

    def write(self, sq_id: int, register_base: int) -> None:
        """Publish a queue's register address."""
        self._memory.write(self.address + sq_id * 8, struct.pack("<Q", register_base))

    def close(self) -> None:
        """Free the table."""
        self._memory.free(self.address)


class ExecutedWords:
    """Two bytes of device memory per stream (v100), all ones at first: how often a model stream was executed."""

    def __init__(self, memory: MemoryDriver) -> None:
        self._memory = memory
        self._addresses: dict[int, int] = {}

    def take(self, stream_id: int) -> int:
        """Allocate and preset the word of a stream."""
        with self._memory.new(_COUNTER_BYTES, internal_flags(hbm=True)) as address:
            self._memory.fill(address, 2, 0xFF, 2)
        self._addresses[stream_id] = address
        return address

    def address(self, stream_id: int) -> int:
        """Return where the word of a stream lies, taking one where there is none yet."""
        return self._addresses.get(stream_id) or self.take(stream_id)

    def holds(self, stream_id: int) -> bool:
        """Whether a stream has a word."""
        return stream_id in self._addresses

    def give_back(self, stream_id: int) -> None:
        """Free the word of a stream."""
        self._memory.free(self._addresses.pop(stream_id))


class NamePool:
    """Names of AICPU libraries and functions, kept in device memory and written once each; it grows by blocks."""

    SIZE = 64 * 1024
    _ALIGN = 64

    def __init__(self, memory: MemoryDriver) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._names: dict[str, int] = {}
        self._blocks: list[int] = []
        self._used = 0
        self._grow()

    def _grow(self) -> None:
        self._blocks.append(self._memory.alloc(self.SIZE, internal_flags(hbm=True)))
        self._used = 0

    def address_of(self, name: str) -> int:
        """Return where a name lies on the device; an empty name is address 0.

        Raises:
            InvalidArgument 107000: the name is longer than a block, or holds a NUL.
            OutOfMemory 207001: the device has no space for another block.
        """
        if not name:
            return 0
        address = self._names.get(name)
        if address is None:
            with self._lock:
                address = self._names.get(name) or self._write(name)
        return address

    def _write(self, name: str) -> int:
        data = name.encode() + b"\0"
        if len(data) > self.SIZE or b"\0" in data[:-1]:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"a name of {len(data) - 1} bytes, {name[:60]!r}, cannot be kept on the "
                f"device: at most {self.SIZE - 1} bytes without a NUL", hint="check the names in its JSON file",
            )
        if self._used + len(data) > self.SIZE:
            self._grow()
        address = self._blocks[-1] + self._used
        self._memory.write(address, data)
        self._used += -(-len(data) // self._ALIGN) * self._ALIGN
        self._names[name] = address
        return address

    def close(self) -> None:
        """Free the pool."""
        blocks, self._blocks = self._blocks, []
        each(map(self._memory.freeing, reversed(blocks)))


class ErrorRing:
    """The buffer that the scheduler fills with details of failed tasks; also carries the capabilities of both sides."""

    def __init__(self, memory: MemoryDriver, size: int) -> None:
        self._memory, self.size = memory, size
        image = blank(size)  # megabytes, of which a few bytes are set
        tail = _SNAPSHOT_BYTES + _SCHEDULER_CAPABILITY_BYTES + _RUNTIME_CAPABILITY_BYTES
        depth = _RUNTIME_CAPABILITY_BYTES - _CAPABILITY_HEADER.size
        _CAPABILITY_HEADER.pack_into(image, size - tail, _CAPABILITY_MAGIC, 0, 1, depth)
        with memory.new(size, internal_flags(huge=True, hbm=True)) as self.address:
            memory.write(self.address, image)

    def scheduler_capabilities(self) -> bytes:
        """Return the capability bits that the scheduler has written; empty from a firmware that writes none."""
        where = self.address + self.size - _SNAPSHOT_BYTES - _SCHEDULER_CAPABILITY_BYTES
        block = self._memory.read(where, _SCHEDULER_CAPABILITY_BYTES)
        magic, head, tail, depth = _CAPABILITY_HEADER.unpack_from(block)
        body = block[_CAPABILITY_HEADER.size :]
        if magic != _CAPABILITY_MAGIC or depth != len(body) or head == tail:
            return b""
        return body[: tail if tail > head else depth]

    def close(self) -> None:
        """Free the buffer."""
        self._memory.free(self.address)
