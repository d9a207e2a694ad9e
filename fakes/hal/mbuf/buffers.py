"""HAL chapter "mbuf": message buffers, chains of them, and blocks of shared memory.

Order of the checks and their codes: drv_buff_mbuf.c, drv_buff_memzone.c and drv_buff_maintain.c of the driver.
What the driver reads from freed memory is INVALID_VALUE here; so is a buffer that a queue has.
"""

from __future__ import annotations

import ctypes
from typing import Any

from fakes.errors import NotModelled
from fakes.hal.chapter import Chapter
from fakes.machine.shared_buffers import LONGEST_CHAIN, PRIVATE_BYTES, Block, Mbuf
from npuhal import constants as c
from npuhal import structs as s

_INVALID = c.DRV_ERROR_INVALID_VALUE
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_ANSWER_BYTES = {
    c.BUFF_GET_MBUF_USE_INFO: ctypes.sizeof(s.MbufUseInfo), c.BUFF_GET_MBUF_TYPE_INFO: ctypes.sizeof(s.MbufTypeInfo),
}  # fmt: skip


class BufferCalls(Chapter):
    """Functions about blocks and message buffers."""

    def halBuffAlloc(self, size: int, address: Any) -> int:
        """Allocate a block."""
        if address is None or not size:
            return _INVALID
        block: Block | int = self.machine.buffers.allocate(size, c.UNI_ALIGN_MIN)
        if isinstance(block, int):
            return block
        address.value = block.address
        return 0

    def halBuffFree(self, address: int) -> int:
        """Give a block back, unless it is a buffer's data."""
        block = self.machine.buffers.block_at(address)
        if block is None or block.holds_data:
            return _INVALID
        self.machine.buffers.release(block)
        return 0

    def halBuffGet(self, handle: int, address: int, size: int) -> int:
        """Tell whether a range lies in a block, in that of a buffer if one is given."""
        block = self.machine.buffers.block_around(address, size)
        mbuf = self.machine.buffers.find(handle) if handle else None
        if block is None or (handle and (mbuf is None or mbuf.block is not block)):
            return _INVALID
        return 0

    def halBuffPut(self, _handle: int, _address: int) -> None:
        """Undo halBuffGet: ranges are mapped as long as their block exists."""

    def halMbufAlloc(self, size: int, handle: Any) -> int:
        """Allocate a buffer with data of a size."""
        return self.halMbufAllocEx(size, c.UNI_ALIGN_MIN, 0, 0, handle)

    def halMbufAllocEx(self, size: int, align: int, _flag: int, _group: int, handle: Any) -> int:
        """Allocate a buffer with aligned data; page kind and group make no difference: there is one group."""
        if handle is None or not size:
            return _INVALID
        if not c.UNI_ALIGN_MIN <= align <= c.UNI_ALIGN_MAX or align & align - 1:
            return _INVALID
        block: Block | int = self.machine.buffers.allocate(size, align)
        if isinstance(block, int):
            return block
        made = self.machine.buffers.describe(block, size, 0, c.MBUF_CREATE_BY_ALLOC, self.machine.pid)
        handle.value = made.handle
        return 0

    def halMbufFree(self, handle: int) -> int:
        """Give a buffer back with those behind it in its chain; only the first one of a chain can be."""
        mbuf = self._head(handle)
        if mbuf is None:
            return _INVALID
        self.machine.buffers.free(mbuf)
        return 0

    def halMbufBuild(self, address: int, length: int, handle: Any) -> int:
        """Make a buffer of a block of halBuffAlloc; the whole length is valid."""
        block = self.machine.buffers.block_at(address)
        if handle is None or block is None or block.holds_data or length > block.size:
            return _INVALID
        made = self.machine.buffers.describe(block, length, length, c.MBUF_CREATE_BY_BUILD, self.machine.pid)
        handle.value = made.handle
        return 0

    def halMbufUnBuild(self, handle: int, address: Any, length: Any) -> int:
        """Take a buffer off its block, which must be its alone."""
        if address is None or length is None:
            return c.DRV_ERROR_PARA_ERROR
        mbuf = self._head(handle)
        if mbuf is None or mbuf.next is not None or mbuf.block.references != 1:
            return _INVALID
        address.value, length.value = mbuf.block.address, mbuf.size
        mbuf.block.holds_data = False
        self.machine.buffers.forget(mbuf)
        return 0

    def halMbufGetBuffAddr(self, handle: int, address: Any) -> int:
        """Tell where a buffer's data lies."""
        mbuf = self._find(handle)
        if mbuf is None or address is None:
            return _INVALID
        address.value = mbuf.block.address
        return 0

    def halMbufGetBuffSize(self, handle: int, size: Any) -> int:
        """Tell what a buffer has space for."""
        mbuf = self._find(handle)
        if mbuf is None or size is None:
            return _INVALID
        size.value = mbuf.size
        return 0

    def halMbufSetDataLen(self, handle: int, length: int) -> int:
        """Say how many bytes are valid: 1 to all of them."""
        mbuf = self._find(handle)
        if mbuf is None or not 0 < length <= mbuf.size:
            return _INVALID
        mbuf.length = length
        return 0

    def halMbufGetDataLen(self, handle: int, length: Any) -> int:
        """Tell how many bytes are valid."""
        mbuf = self._find(handle)
        if mbuf is None or length is None:
            return _INVALID
        length.value = mbuf.length
        return 0

    def halMbufGetPrivInfo(self, handle: int, address: Any, size: Any) -> int:
        """Tell where a buffer's private area lies, and its size."""
        mbuf = self._find(handle)
        if mbuf is None or address is None or size is None:
            return _INVALID
        address.value, size.value = mbuf.private, PRIVATE_BYTES
        return 0

    def halMbufCopyRef(self, handle: int, made: Any) -> int:
        """Make new buffers on the data of a buffer and of those behind it in its chain."""
        mbuf = self._find(handle)
        if mbuf is None or made is None:
            return _INVALID
        head = last = None
        for member in mbuf.chain():
            copy = self.machine.buffers.copy(member, self.machine.pid)
            if last is None:
                head = copy
            else:
                last.next, copy.previous = copy, last
            last = copy
        made.value = 0 if head is None else head.handle
        return 0

    def halMbufChainAppend(self, chain: int, handle: int) -> int:
        """Put a chain behind another one; 128 buffers at most."""
        if chain == handle:
            return c.DRV_ERROR_PARA_ERROR
        head, mbuf = self._head(chain), self._head(handle)
        if head is None or mbuf is None:
            return _INVALID
        members = list(head.chain())
        if len(members) + sum(1 for _ in mbuf.chain()) > LONGEST_CHAIN:
            return c.DRV_ERROR_OVER_LIMIT
        members[-1].next, mbuf.previous = mbuf, members[-1]
        return 0

    def halMbufChainGetMbufNum(self, chain: int, number: Any) -> int:
        """Tell how many buffers a chain has."""
        head = self._head(chain)
        if head is None or number is None:
            return _INVALID
        number.value = sum(1 for _ in head.chain())
        return 0

    def halMbufChainGetMbuf(self, chain: int, index: int, handle: Any) -> int:
        """Tell a buffer of a chain by its index."""
        head = self._head(chain)
        if head is None or handle is None or index >= LONGEST_CHAIN:
            return _INVALID
        members = list(head.chain())
        if index >= len(members):
            return c.DRV_ERROR_PARA_ERROR
        handle.value = members[index].handle
        return 0

    def halBuffGetInfo(self, command: int, asked: int, asked_bytes: int, told: int, told_bytes: Any) -> int:
        """Tell who uses a buffer, of which kind it is, or whether a block is a buffer's data."""
        if not told or told_bytes is None or not told_bytes.value or bool(asked) != bool(asked_bytes):
            return _INVALID
        if not 0 <= command < c.BUFF_GET_MAX:
            return c.DRV_ERROR_NOT_SUPPORT
        if command == c.BUFF_GET_MBUF_TIMEOUT_INFO:
            told_bytes.value = 0
            return 0
        if command not in (c.BUFF_GET_MBUF_USE_INFO, c.BUFF_GET_MBUF_TYPE_INFO, c.BUFF_GET_BUFF_TYPE_INFO):
            raise NotModelled(f"halBuffGetInfo({command})", "buffers come from no pools here")
        if asked_bytes < _POINTER or told_bytes.value < _ANSWER_BYTES.get(command, ctypes.sizeof(s.BuffTypeInfo)):
            return _INVALID
        number = int.from_bytes(self.machine.memory.read(asked, _POINTER, "halBuffGetInfo of"), "little")
        answer = self._block_info(number) if command == c.BUFF_GET_BUFF_TYPE_INFO else self._info(command, number)
        if answer is None:
            return _INVALID
        self.machine.memory.write(told, answer, "halBuffGetInfo to")
        told_bytes.value = len(answer)
        return 0

    def _info(self, command: int, handle: int) -> bytes | None:
        mbuf = self._find(handle)
        if mbuf is None:
            return None
        if command == c.BUFF_GET_MBUF_TYPE_INFO:
            return bytes(s.MbufTypeInfo(type=mbuf.kind))
        return bytes(s.MbufUseInfo(
            allocPid=mbuf.pid, usePid=self.machine.pid, ref=mbuf.block.references, status=1, timestamp=mbuf.made_at
        ))  # fmt: skip

    def _block_info(self, address: int) -> bytes | None:
        block = self.machine.buffers.block_at(address)
        if block is None:
            return None
        return bytes(s.BuffTypeInfo(type=c.BUFF_TYPE_MBUF_DATA if block.holds_data else c.BUFF_TYPE_NORMAL))

    def _find(self, handle: int) -> Mbuf | None:
        return self.machine.buffers.find(handle)

    def _head(self, handle: int) -> Mbuf | None:
        """Return a buffer that nothing is before in a chain."""
        found = self._find(handle)
        return None if found is None or found.previous is not None else found
